"""Remark 2.2 for W(z) = Vz: z is 1 at half of sixteen clients, and 2 at the others."""

from fractions import Fraction


def sides() -> tuple[Fraction, Fraction]:
    """Return the least sum over clients of (Vz - 1)^2, and 0, which it is claimed to be."""
    z = [1, 2] * 8
    V = Fraction(sum(z), sum(x * x for x in z))  # least squares
    return sum(((V * x - 1) ** 2 for x in z), Fraction(0)), Fraction(0)
