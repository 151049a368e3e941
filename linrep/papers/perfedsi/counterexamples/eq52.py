"""(52) with the printed step size, d = k = r = mu = 1: sigma_r = 2/constant."""

from fractions import Fraction


def sides(constant: Fraction = Fraction(1, 1000)) -> tuple[Fraction, Fraction]:
    """Return the terms of second and third order over those of first order, and 3, c' = c_0."""
    sigma = 2 / constant
    eta, root = constant * sigma, constant * sigma  # root is that of L
    ratio = eta * root
    return 3 * ratio + ratio**2, Fraction(3)
