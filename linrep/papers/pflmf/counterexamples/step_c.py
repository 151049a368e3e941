"""Step (C), summed over k: one client with F = (u v)^2/2 at u = 1, v = 1/1000, without noise.

On [0, 1] x [0, 1/2], which the round does not leave, second derivatives are at most 1: L = 1.
p = 1/4, K = 20, eta = 49/100.
"""

from fractions import Fraction


def sides() -> tuple[Fraction, Fraction]:
    """Return both sides at eta_v = p eta/K.

    V takes its local steps at u = 1, as in (12); U^+ = 1 - eta v^2.
    """
    p, K, eta, v = Fraction(1, 4), 20, Fraction(49, 100), Fraction(1, 1000)
    eta_v = p * eta / K
    c = 1 - eta_v
    squares = p * sum(c ** (2 * k) for k in range(K)) + (1 - p) * K
    left = eta_v * p * (1 - eta_v * Fraction(K + 1, 2)) * squares * v**2 - eta**2 * p / 2 * v**4
    return left, (1 - eta * v**2) ** 2 * p * (1 - c ** (2 * K)) * v**2 / 2
