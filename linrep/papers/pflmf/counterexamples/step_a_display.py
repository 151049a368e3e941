"""The display above (12) at k = 1: one client with F = (u v)^2/2 at u = 1, v = 1/100, no noise.

On [0, 1] x [0, 1/2] second derivatives are at most 1: L_V = 1. p = 1/2, K = 2, eta = 49/100.
"""

from fractions import Fraction


def sides() -> tuple[Fraction, Fraction]:
    """Return E F(V_2) - E F(V_1), and what the display has for it, in the mean over D.

    Given that the client does not take part, the left side is 0 and the right one is below 0, too.
    """
    p, v = Fraction(1, 2), Fraction(1, 100)
    eta_v = p * Fraction(49, 100) / 2
    participant = (1 - eta_v) ** 2 * v**2
    gradient = p * (p * participant + (1 - p) * v**2)
    left = p * ((1 - eta_v) ** 2 - 1) * participant / 2
    return left, -eta_v * (1 - eta_v / 2) * gradient
