"""The last display of step (C) before its sum, k = 19: F = (u v)^2/2 at u = 1, v = 1/1000, K = 20.

One client, without noise. On [0, 1] x [0, 1/2] second derivatives are at most 1: L = 1.
"""

from fractions import Fraction


def sides() -> tuple[Fraction, Fraction]:
    """Return E F(U^+, V_20) - E F(U^+, V_19), and what the display has; p = 1/10, eta = 49/100."""
    p, eta, v, K, k = Fraction(1, 10), Fraction(49, 100), Fraction(1, 1000), 20, 19
    eta_v = p * eta / K
    c = 1 - eta_v
    participant = c ** (2 * k) * v**2
    gradient = p * (p * participant + (1 - p) * v**2)
    left = -((1 - eta * v**2) ** 2) * p * (1 - c**2) * participant / 2
    right = -eta_v * (1 - eta_v * Fraction(K + 1, 2)) * gradient
    return left, right + eta**2 * p / (2 * K) * v**4
