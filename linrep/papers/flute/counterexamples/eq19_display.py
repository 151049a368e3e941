"""The display before (19) at lambda*_1 = lambda*_k = Delta = 1, eta at its limit 1/18."""

from fractions import Fraction


def sides(
    eta=Fraction(1, 18), middle=Fraction(1, 4), tail=Fraction(1, 8), loss=Fraction(71, 288)
) -> tuple[Fraction, Fraction]:
    """Return the right side of (19), which the last line is to exceed, and that line."""
    line = (1 - eta**2 / 2) * (1 + eta / 2) * (1 - Fraction(middle) * eta)
    return 1 + eta / 2 - Fraction(loss) * eta, line - Fraction(tail) * eta
