"""Theorem 1 without noise: one client with F = (u v)^2/2 from u = 1, v = 1/100, K = 1."""

from fractions import Fraction


def sides() -> tuple[Fraction, Fraction]:
    """Return a lower bound of the mean of E (dF/dV)^2, a part of the left side, and the right one.

    u and v only fall, so that L = 1 where they are. A round lessens u by at most eta v^2, and E v^2
    by the share p (1 - (1 - p eta)^2) of itself; (1 - x)^t >= 1 - t x.
    """
    p, eta, T, v = Fraction(1, 10), Fraction(1, 4), 200, Fraction(1, 100)
    least_u = 1 - T * eta * v**2
    lost = p * (1 - (1 - p * eta) ** 2)
    left = least_u**4 * v**2 * (1 - Fraction(T - 1, 2) * lost)
    gap = v**2 / 2
    return left, 2 * gap / (eta * T * (1 - 2 * eta))
