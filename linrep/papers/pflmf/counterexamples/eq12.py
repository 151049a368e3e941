"""(12), times K: one client with F = (u v)^2/2 at u = 1, v = 1/100, without noise.

On [0, 1] x [0, 1/2] second derivatives are at most 1: L_V = 1.
"""

from fractions import Fraction


def sides(
    p: Fraction = Fraction(1, 2), K: int = 20, masked: bool = False
) -> tuple[Fraction, Fraction]:
    """Return both sides at eta = 49/100 and eta_v = p eta/K.

    A local step takes a participant's v, which is its gradient, times 1 - eta_v; others keep
    theirs, which count on the left unless `masked`.
    """
    eta_v, v = p * Fraction(49, 100) / K, Fraction(1, 100)
    squares = p * sum((1 - eta_v) ** (2 * k) for k in range(K)) + (0 if masked else (1 - p) * K)
    decrease = p * (1 - (1 - eta_v) ** (2 * K)) * v**2 / 2
    return eta_v * (1 - eta_v / 2) * (1 if masked else p) * squares * v**2, decrease
