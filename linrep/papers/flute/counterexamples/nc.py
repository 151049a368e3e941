"""(60) at m = 3, m' = 2: its left side has norm 1."""

from fractions import Fraction


def square(own, classes, power=Fraction(1, 2)) -> Fraction:
    """Return the squared norm of uu' * (I - 11'/classes) over (classes - 1)^power."""
    entries = own * (1 - Fraction(1, classes)) ** 2 + Fraction(own * (own - 1), classes**2)
    return entries / Fraction(classes - 1) ** round(2 * power)


def sides(own=2, classes=3) -> tuple[Fraction, Fraction]:
    """Return the squared norms of both sides of (60), claimed to be equal."""
    return Fraction(1), square(own, classes)
