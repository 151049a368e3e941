"""Lemma C.10 for one step of M = 20 clients, all alike, from V = 1 at its limit c = 1.

d = 16, z = 1, and c_0 is any that the start has: every other item makes V larger, and so leads out
of the event, mu = 11/10.
"""

from fractions import Fraction
from math import isqrt

DIGITS = 10**40


def root(square: Fraction, up: int) -> Fraction:
    """Return a lower bound of the root, or an upper one."""
    return Fraction(isqrt(int(square * DIGITS**2)) + up, DIGITS)


def sides(future: int = 1) -> tuple[Fraction, Fraction]:
    """Return a lower bound of the left side and an upper one of the right.

    Without `future` the event is that of the round's start.
    """
    d, clients, eta, V = 16, 20, Fraction(1, 10**9), Fraction(1)
    mu, size, error = Fraction(11, 10), Fraction(9999, 10001), Fraction(200, 10001)
    row = size / 4
    star = [row - error * (-1) ** i / 4 for i in range(d)]  # of norm 1
    x = [row - s for s in star]
    squares = sum(y * y for y in x)

    def regular(U, V):
        found = [(u * V - s) ** 2 for u, s in zip(U, star, strict=True)]
        return (
            max(sum(u * u for u in U), V * V) <= 1
            and d * max(u * u for u in U) <= mu
            and d * max(found) <= mu * sum(found)
            and sum(found) <= squares  # L_m <= c min(L, c_0)
        )

    assert regular([row] * d, V)
    kept = [
        regular([row - eta * y * V * (j == i) for j in range(d)], V - eta * y * row) or not future
        for i, y in enumerate(x)
    ]
    share = Fraction(sum(kept), d)
    # d times an item's gradient, in the mean over the items, less the gradient.
    in_U = [y * keep - share * y for y, keep in zip(x, kept, strict=True)]
    in_V = sum(y * row * keep - share * y * row for y, keep in zip(x, kept, strict=True))
    left = share ** (2 * (clients - 1)) * (sum(y * y for y in in_U) + in_V**2)
    return root(left, 0), 10 * eta / d * root(mu**3 * squares / 2, 1)
