"""Rounds of one step from U = c U* + W/100, V = V*/c, c = 32, at the largest step size.

After two of them the loss has fallen by less than Lemma C.11 promises for one, and Theorem C.4,
whose (15) has T - 1 rounds, for T = 2. d = 16, k = r = sigma = C = tau = 1, z = 1, W orthogonal to
U*. Nothing leaves the event.
"""

from fractions import Fraction
from typing import Any


def sides(c_power: Any = 1, limit_power: Any = 5, rounds: int = 2) -> tuple[Fraction, Fraction]:
    """Return the promised fall of the loss in a round, and the one that comes in several."""
    d, c, error = 16, Fraction(32), Fraction(1, 100)
    star = Fraction(1, 4)
    most, mu = c * Fraction(1001, 1000), 2 * c**2  # with room for the steps
    eta = 1 / (132 * mu**2 * most**limit_power)

    def squares(U, V):
        return [(u * V - star) ** 2 for u in U]

    def ends(U, V):
        for item in range(d):
            x = U[item] * V - star
            rows = [u - eta * x * V * (i == item) for i, u in enumerate(U)]
            end = V - eta * x * U[item]
            after = squares(rows, end)
            assert max(sum(u * u for u in rows), end**2) <= most**2
            assert d * max(u * u for u in rows) <= mu
            assert d * max(after) <= mu * sum(after)
            assert sum(after) <= most * sum(squares(U, V))
            yield rows, end

    found = [([c / 4 + error * (-1) ** i / 4 for i in range(d)], 1 / c)]
    first = sum(squares(*found[0]))
    for _ in range(rounds):
        found = [end for start in found for end in ends(*start)]
    last = sum((sum(squares(*end)) for end in found), Fraction(0)) / len(found)
    return eta / (2 * most**c_power * d), 1 - last / first
