"""Lemma C.11 after a round of one step from U = c U* + W/100, V = V*/c, c = 32.

d = 16, k = r = sigma = C = 1, z = 1, W orthogonal to U*. Nothing leaves the event.
"""

from fractions import Fraction
from typing import Any


def sides(c_power: Any = 1, limit_power: Any = 5) -> tuple[Fraction, Fraction]:
    """Return the fall of the loss that is promised, and the one that comes, as shares of it."""
    d, c, error = 16, Fraction(32), Fraction(1, 100)
    star, V = Fraction(1, 4), 1 / c
    U = [c / 4 + error * (-1) ** i / 4 for i in range(d)]
    most, mu = c * Fraction(1001, 1000), 2 * c**2  # with room for the step
    eta = 1 / (132 * mu**2 * most**limit_power)
    start = sum((u * V - star) ** 2 for u in U) / 2
    after = Fraction(0)
    for item in range(d):
        x = U[item] * V - star
        rows = [u - eta * x * V * (i == item) for i, u in enumerate(U)]
        end = V - eta * x * U[item]
        squares = [(u * end - star) ** 2 for u in rows]
        assert max(sum(u * u for u in rows), end**2) <= most**2
        assert d * max(u * u for u in rows) <= mu
        assert d * max(squares) <= mu * sum(squares)
        assert sum(squares) / 2 <= most * start
        after += sum(squares) / 2 / d
    return eta / (2 * most**c_power * d), 1 - after / start
