"""(64) after a round of one step from V = 1 at its limit c = 1: half of the items do not move.

The other half make V larger, and so lead out of the event. d = 16, k = r = sigma = 1, mu = 3 and
z = 1 at all of M = 20 clients; the chance that the others stay is the same on both sides.
"""

from fractions import Fraction


def sides(before: int = 0, rho: Fraction | None = None) -> tuple[Fraction, Fraction]:
    """Return rho, that of (15) if none is given, and by what share E[L 1_G] falls in the round.

    With `before` the second G is that of the round's start.
    """
    d, eta, low, high, size = 16, Fraction(1, 10**6), 39599, 40399, 40001
    star = [Fraction(low, 4 * size), Fraction(high, 4 * size)] * 8  # of norm 1
    row = Fraction(low, 4 * size)
    start = [row - s for s in star]
    left, chance = Fraction(0), Fraction(0)
    for item, x in enumerate(start):
        V = 1 - eta * x * row
        U = [row - eta * x * (i == item) for i in range(d)]
        squares = [(u * V - s) ** 2 for u, s in zip(U, star, strict=True)]
        if V > 1:
            continue
        assert d * max(u * u for u in U) <= 3
        assert d * max(squares) <= 3 * sum(squares)
        left, chance = left + sum(squares, Fraction(0)) / d, chance + Fraction(1, d)
    right = sum(x * x for x in start) * (1 if before else chance)
    return eta / (2 * d) if rho is None else rho, 1 - left / right
