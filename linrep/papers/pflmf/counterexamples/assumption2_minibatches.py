"""A mini-batch of one of two samples, x = 0 or 1 and y = 0: the loss (x u v)^2/2 at u = v = R."""

from fractions import Fraction


def variance(radius: Fraction) -> Fraction:
    """Return the variance of the gradient in u, x^2 u v^2: of 0 and R^3, with equal chances."""
    gradients = [x**2 * radius**3 for x in (0, 1)]
    mean = sum(gradients, Fraction(0)) / 2
    return sum(((each - mean) ** 2 for each in gradients), Fraction(0)) / 2


def sides(bound: Fraction = Fraction(10**12)) -> tuple[Fraction, Fraction]:
    """Return a variance above the bound sigma^2, whatever this is, and the bound."""
    radius = Fraction(1)
    while variance(radius) <= bound:
        radius *= 2
    return variance(radius), bound
