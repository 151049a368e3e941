"""A representation that makes a new task worse."""

from fractions import Fraction


def sides() -> tuple[Fraction, Fraction]:
    """Return both mean errors for d = 2, k = 1, n = 5, noise 1 and a model that is missed by 1."""
    d, k, n, missed = 2, 1, 5, Fraction(1)
    return missed + (1 + missed) * Fraction(k, n - k - 1), Fraction(d, n - d - 1)
