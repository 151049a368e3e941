"""Step (C), summed over k: one client with F = (u v)^2/2 at u = 1, v = 1/1000, without noise.

On [0, 1] x [0, 1/2], which the round does not leave, second derivatives are at most 1: L = 1.
"""

from fractions import Fraction


def sides(
    p: Fraction = Fraction(1, 4),
    K: int = 20,
    masked: bool = False,
    reach: Fraction | int = 1,
    factor: Fraction | int = 1,
) -> tuple[Fraction, Fraction]:
    """Return both sides at eta = 49/100 and eta_v = p eta/K.

    V takes its local steps at u = 1, as in (12); U^+ = 1 - eta v^2. `reach` is the
    coefficient of K L_V, `factor` that of the gradients of V.
    """
    eta, v = Fraction(49, 100), Fraction(1, 1000)
    eta_v = p * eta / K
    c = 1 - eta_v
    squares = p * sum(c ** (2 * k) for k in range(K)) + (0 if masked else (1 - p) * K)
    size = 1 - eta_v * (reach * K + 1) / 2
    left = factor * eta_v * (1 if masked else p) * size * squares * v**2
    left -= eta**2 * p / 2 * v**4
    return left, (1 - eta * v**2) ** 2 * p * (1 - c ** (2 * K)) * v**2 / 2
