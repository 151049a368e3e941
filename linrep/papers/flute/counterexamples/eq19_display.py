"""The display before (19) at lambda*_1 = lambda*_k = Delta = 1, eta at its limit 1/18."""

from fractions import Fraction


def sides() -> tuple[Fraction, Fraction]:
    """Return the right side of (19), which the last line is to exceed, and that line."""
    eta = Fraction(1, 18)
    line = (1 - eta**2 / 2) * (1 + eta / 2) * (1 - eta / 4) - eta / 8
    return 1 + eta / 2 - Fraction(71, 288) * eta, line
