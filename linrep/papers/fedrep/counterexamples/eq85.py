"""(85): 1 - 4y <= 1 - a/2 is false where the error y is small against the gain a."""

from fractions import Fraction


def right_half(a: Fraction, y: Fraction) -> tuple[Fraction, Fraction]:
    """Return both sides of (85)'s second inequality."""
    return 1 - 4 * y, 1 - a / 2


def sides() -> tuple[Fraction, Fraction]:
    """Return them at a = 1/4 and y = a/100, which the hypothesis allows."""
    a = Fraction(1, 4)
    return right_half(a, a / 100)
