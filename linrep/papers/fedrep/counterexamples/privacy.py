"""Section 4.2: a client of one sample, x = (1, -2, 2) and y = 3, sends Z = y^2 x x'."""

from fractions import Fraction

X, Y = (1, -2, 2), 3


def statistic() -> list[list[int]]:
    """Return Z."""
    return [[Y**2 * a * b for b in X] for a in X]


def found() -> list[Fraction]:
    """Return the sample that Z shows, up to a factor: its first row over its first entry."""
    row = statistic()[0]
    return [Fraction(entry, row[0]) for entry in row]


def error() -> Fraction:
    """Return how far it is from the sample over the sample's first entry."""
    return sum((abs(a - Fraction(b, X[0])) for a, b in zip(found(), X, strict=True)), Fraction(0))


def sides() -> tuple[Fraction, Fraction]:
    """Return an error that is claimed to remain, one millionth, and the one that does: 0."""
    return Fraction(1, 10**6), error()
