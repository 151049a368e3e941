"""Lemma C.7, the bound on U: V = c at its limit, c = 4, U = 1.01 U*/c; C = tau = k = r = 1.

d = 16 and z = 1. After every item the factors are in the event, with mu = 2.
"""

from fractions import Fraction
from typing import Any


def sides(factor: Fraction | int = 1, powers: Any = 1) -> tuple[Fraction, Fraction]:
    """Return E|U+ - U|^2 and its bound, which has the factor and so many powers of c."""
    d, root, eta = 16, 2, Fraction(1, 1000)  # root is that of c = 4
    star, V = Fraction(1, 4), Fraction(root**2)
    row = Fraction(101, 100) * star / V
    x = row * V - star
    loss = d * x**2 / 2
    after = [row - eta * x * V, V - eta * x * row]
    error = [after[0] * after[1] - star] + [row * after[1] - star] * (d - 1)
    squares = sum(y * y for y in error)
    assert max(V, after[1]) <= root**2
    assert d * max(row, after[0]) ** 2 <= 2
    assert d * max(y * y for y in error) <= 2 * squares
    assert squares / 2 <= root**2 * loss
    moment = (eta * x * V) ** 2  # of every item
    bound = factor * eta**2 * (Fraction(1, d) + Fraction(1, d**2)) * loss
    return moment, bound * Fraction(root) ** (2 * powers)
