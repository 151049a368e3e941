"""Theorem 1 with noise of U and V, each +-1e-5, at Corollary 2's step size: F = (u v)^2/2, K = 1.

From u = 1, v = 1/100; |v| never exceeds M = v + T p eta sigma, nor |u - 1| the number
d = T eta (2 M^2 + sigma). On [1 - d, 1 + d] x [-M, M], as M <= 1/2, L = (1 + d)^2; F* = 0.
"""

from fractions import Fraction

P, T, V, SIGMA = Fraction(1, 50), 10_000, Fraction(1, 100), Fraction(1, 10**5)


def terms() -> tuple[Fraction, Fraction, Fraction, Fraction]:
    """Return a lower bound of the mean of E (dF/dV)^2, F^0 - F*, L and eta = 1/(2 L sqrt T).

    A participant's E v^2 falls by at most the factor (1 - p eta L)^2, noise adds to it, and
    (1 - x)^t >= 1 - t x.
    """
    eta_L = Fraction(1, 200)
    M = V + T * P * eta_L * SIGMA
    d = T * eta_L * (2 * M**2 + SIGMA)
    L = (1 + d) ** 2
    lost = P * (1 - (1 - P * eta_L) ** 2)
    return (1 - d) ** 4 * V**2 * (1 - Fraction(T - 1, 2) * lost), V**2 / 2, L, eta_L / L


def sides() -> tuple[Fraction, Fraction]:
    """Return a lower bound of the mean of E (dF/dV)^2, a part of the left side, and the right one.

    The right side is (2 (F^0 - F*)/(eta T) + 2 eta L sigma^2)/(1 - 2 eta L).
    """
    left, gap, L, eta = terms()
    return left, (2 * gap / (eta * T) + 2 * eta * L * SIGMA**2) / (1 - 2 * eta * L)
