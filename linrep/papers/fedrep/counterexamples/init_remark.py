"""Section 4.2: the start by the method of moments on signs in R^3, with infinitely many samples.

B* = (e_1, e_2), and two clients have heads (7, 1)/5 and (1, 7)/5, of norm sqrt(2).
"""

from fractions import Fraction
from itertools import product

HEADS = (Fraction(7, 5), Fraction(1, 5)), (Fraction(1, 5), Fraction(7, 5))
VECTORS = (1, 1, 0), (0, 0, 1), (1, -1, 0)


def image(v: tuple[int, ...]) -> list[Fraction]:
    """Return M v, M = E y^2 x x' over the 8 sign vectors and both clients."""
    found = [Fraction(0)] * 3
    for (a, b), x in product(HEADS, product((-1, 1), repeat=3)):
        weight = (a * x[0] + b * x[1]) ** 2 * sum(s * t for s, t in zip(x, v, strict=True)) / 16
        found = [entry + weight * s for entry, s in zip(found, x, strict=True)]
    return found


def eigenvalues() -> list[Fraction]:
    """Return those of M, of the eigenvectors in their order."""
    values = [image(v)[v.index(1)] for v in VECTORS]
    for v, value in zip(VECTORS, values, strict=True):
        if image(v) != [value * entry for entry in v]:
            raise ValueError(f"{v} is no eigenvector")
    return values


def squared_distance() -> Fraction:
    """Return that of the span of the two leading eigenvectors from B*."""
    values = eigenvalues()
    top = sorted(VECTORS, key=lambda v: values[VECTORS.index(v)])[-2:]
    return max(Fraction(v[2] ** 2, sum(entry**2 for entry in v)) for v in top)


def sides() -> tuple[Fraction, Fraction]:
    """Return the squared distance of the start, and the square of 9/10, farther than it may be."""
    return squared_distance(), Fraction(81, 100)
