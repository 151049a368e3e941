"""(13) at k = 1: one client with F = (u v - 1)^2/2 at u = 1/10, v = 0, p = K = 1, no noise.

On [0, 1/10] x [0, 1/10], which the round does not leave, v^2, 2uv - 1 and u^2, the second
derivatives, are at most 1 in size: L = 1. U stays, as its gradient (u v - 1) v is 0.
"""

from fractions import Fraction


def sides(
    eta: Fraction = Fraction(2, 5), at_end: bool = True, displacement: Fraction | int = 0
) -> tuple[Fraction, Fraction]:
    """Return E F(U^+, V_1) - F(U, V_1), and what (13) has for it.

    The last gradient is that at V_1, or, if not `at_end`, that at V^t, with which the right side is
    smaller. `displacement` is the coefficient of L_U |V_1 - V|^2/2.
    """
    u = Fraction(1, 10)
    v = eta * u  # the head's step from 0, where its gradient is -u
    square = ((u * v - 1) * v) ** 2
    right = -eta * (1 - eta / 2) * square + (eta**2 / 2 * square if at_end else 0)
    return Fraction(0), right + displacement * v**2 / 2
