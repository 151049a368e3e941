"""(28): the ratio of the one-step bounds, and 1 - x/6, at x = eta Delta = 1/36."""

from fractions import Fraction


def sides() -> tuple[Fraction, Fraction]:
    """Return (3/2 - x/8)/(3/2 + x/8), which is 1 - 2x/(12 + x), and 1 - x/6."""
    x, three = Fraction(1, 36), Fraction(3, 2)
    return (three - x / 8) / (three + x / 8), 1 - x / 6
