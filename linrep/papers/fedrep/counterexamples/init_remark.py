"""Section 4.2: the start by the method of moments on signs in R^3, with infinitely many samples.

B* = (e_1, e_2), and two clients have heads (7, 1)/5 and (1, 7)/5, of norm sqrt(2).
"""

from collections.abc import Iterable
from fractions import Fraction
from itertools import product

HEADS = (Fraction(7, 5), Fraction(1, 5)), (Fraction(1, 5), Fraction(7, 5))
VECTORS = (1, 1, 0), (0, 0, 1), (1, -1, 0)


def mean() -> list[list[Fraction]]:
    """Return E y^2 x x' over the 8 sign vectors and both clients."""
    signs = list(product((-1, 1), repeat=3))
    weighted = [((a * x[0] + b * x[1]) ** 2 / 16, x) for a, b in HEADS for x in signs]
    return [[total(y * x[i] * x[j] for y, x in weighted) for j in range(3)] for i in range(3)]


def eigenvalues() -> list[Fraction]:
    """Return its eigenvalues, of the eigenvectors in their order."""
    M, values = mean(), []
    for v in VECTORS:
        image = [total(M[i][j] * v[j] for j in range(3)) for i in range(3)]
        value = image[v.index(1)]
        if image != [value * entry for entry in v]:
            raise ValueError(f"{v} is no eigenvector")
        values.append(value)
    return values


def total(terms: Iterable[Fraction]) -> Fraction:
    """Return the sum of fractions."""
    return sum(terms, Fraction(0))


def squared_distance() -> Fraction:
    """Return that of the span of the two leading eigenvectors from B*."""
    values = eigenvalues()
    top = sorted(VECTORS, key=lambda v: values[VECTORS.index(v)])[-2:]
    return max(Fraction(v[2] ** 2, sum(entry**2 for entry in v)) for v in top)


def sides() -> tuple[Fraction, Fraction]:
    """Return the squared distance of the start, and the square of 9/10, farther than it may be."""
    return squared_distance(), Fraction(81, 100)
