"""(61) near the truth: V = V* = 1, U = (1 - e) U*, z = 1, and c = c_z = mu = k = r = 1."""

from fractions import Fraction


def sides(error: Fraction = Fraction(1, 10**4)) -> tuple[Fraction, Fraction]:
    """Return |grad L|^2 and the square of the printed bound c sqrt(c_z) sigma_1 L."""
    loss = error**2 / 2
    in_U, in_V = -error, -error * (1 - error)  # along U*
    return in_U**2 + in_V**2, loss**2
