"""(50) with one client and sample, d = k = 1: x = 2, q = w = 1. Of R^1 the only net is {1, -1}."""

from fractions import Fraction


def matrix(x: int, q: int | Fraction, w: int) -> Fraction:
    """Return (<x, q> x - q) w."""
    return Fraction((x * q * x - q) * w)


def sides() -> tuple[Fraction, Fraction]:
    """Return the square of the norm, and twice the largest value on the net."""
    value = matrix(2, 1, 1)
    return abs(value) ** 2, 2 * max(u * value * v for u in (1, -1) for v in (1, -1))
