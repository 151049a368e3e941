"""Theorem C.4 for T = 2 from U = c U* + W/100, V = V*/c, c = 32: (15) has T - 1 rounds.

d = 16, k = r = sigma = C = tau = 1, z = 1, W orthogonal to U*. Nothing leaves the event.
"""

from fractions import Fraction
from typing import Any


def sides(c_power: Any = 1, limit_power: Any = 5) -> tuple[Fraction, Fraction]:
    """Return the fall of the loss that is promised, and the one that comes, as shares of it."""
    d, c, error = 16, Fraction(32), Fraction(1, 100)
    star = Fraction(1, 4)
    most, mu = c * Fraction(1001, 1000), 2 * c**2  # with room for the steps
    eta = 1 / (132 * mu**2 * most**limit_power)

    def errors(U, V):
        return [u * V - star for u in U]

    def ends(U, V):
        level = sum(x * x for x in errors(U, V))
        for item in range(d):
            x = U[item] * V - star
            rows = [u - eta * x * V * (i == item) for i, u in enumerate(U)]
            end = V - eta * x * U[item]
            squares = [y * y for y in errors(rows, end)]
            assert max(sum(u * u for u in rows), end**2) <= most**2
            assert d * max(u * u for u in rows) <= mu
            assert d * max(squares) <= mu * sum(squares)
            assert sum(squares) <= most * level
            yield rows, end

    start = [c / 4 + error * (-1) ** i / 4 for i in range(d)], 1 / c
    losses = [sum(x * x for x in errors(*last)) for one in ends(*start) for last in ends(*one)]
    mean = sum(losses) / len(losses)
    return eta / (2 * most**c_power * d), 1 - mean / sum(x * x for x in errors(*start))
