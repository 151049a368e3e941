"""(5): M = 1, d = k = r = 1, z = 1, U = 2, V = 1 and M* = 1."""

from fractions import Fraction


def sides(weight: Fraction | int = 1) -> tuple[Fraction, Fraction]:
    """Return the mean of the clients' losses as the first form has it, and the second form."""
    error = Fraction(2 * 1 - 1)
    return Fraction(weight) * error**2, error**2 / 2
