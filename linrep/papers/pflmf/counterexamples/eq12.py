"""(12), times K: one client with F = (u v)^2/2 at u = 1, v = 1/100, without noise.

On [0, 1] x [0, 1/2] second derivatives are at most 1: L_V = 1. p = 1/2, K = 20, eta = 49/100.
"""

from fractions import Fraction


def sides() -> tuple[Fraction, Fraction]:
    """Return both sides at eta_v = p eta/K.

    A local step takes a participant's v, which is its gradient, times 1 - eta_v, and no other's.
    """
    p, K, v = Fraction(1, 2), 20, Fraction(1, 100)
    eta_v = p * Fraction(49, 100) / K
    squares = p * sum((1 - eta_v) ** (2 * k) for k in range(K)) + (1 - p) * K
    decrease = p * (1 - (1 - eta_v) ** (2 * K)) * v**2 / 2
    return eta_v * (1 - eta_v / 2) * p * squares * v**2, decrease
