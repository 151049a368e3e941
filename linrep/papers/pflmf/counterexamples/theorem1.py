"""Theorem 1 without noise: one client with F = (u v)^2/2 from u = 1, v = 1/100, K = 1.

Second derivatives are at most L = 1 on [0, 1] x [0, 1/2], which no round leaves, and F* = 0.
"""

from fractions import Fraction


def terms(
    p: Fraction = Fraction(1, 10), T: int = 200, eta: Fraction = Fraction(1, 4)
) -> tuple[Fraction, Fraction, Fraction]:
    """Return a lower bound of the mean of E (dF/dV)^2, and the gap and factor of the right side.

    u and v only fall. A round lessens u by at most eta v^2, and E v^2 by the share
    p (1 - (1 - p eta)^2) of itself; (1 - x)^t >= 1 - t x.
    """
    v = Fraction(1, 100)
    least_u = 1 - T * eta * v**2
    lost = p * (1 - (1 - p * eta) ** 2)
    least = least_u**4 * v**2 * (1 - Fraction(T - 1, 2) * lost)
    return least, v**2 / 2, 1 / (eta * T * (1 - 2 * eta))


def sides() -> tuple[Fraction, Fraction]:
    """Return a lower bound of the mean of E (dF/dV)^2, a part of the left side, and the right one.

    The right side is 2 (F^0 - F*)/(eta T (1 - 2 eta L)).
    """
    left, gap, factor = terms()
    return left, 2 * gap * factor
