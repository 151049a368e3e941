"""Claim 1: with d = 4 and m = 2 samples a ratio of d/(2m) excludes no parameter of RIP."""

from fractions import Fraction


def left_open(d: int, m: int, share: Fraction = Fraction(1, 2)) -> Fraction:
    """Return the length of what a ratio of share d/m leaves of the parameters, 0 or less for none.

    A ratio contradicts delta if it is more than 1 + delta, of which the largest values are near 2.
    """
    return 2 - share * d / m


def sides() -> tuple[Fraction, Fraction]:
    """Return 1 + delta of a parameter that is to be excluded, and the ratio: less than it."""
    d, m = 4, 2
    delta = 1 - left_open(d, m) / 2
    return 1 + delta, Fraction(d, 2 * m)
