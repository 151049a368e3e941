"""Appendix A.1: of two clients, k = 1, heads are a unit vector; Assumption 3 asks for norm 1 each.

W* is sqrt(k) Q, Q of orthonormal columns: its squared row norms have sum k^2, and mean k^2/n.
"""

from fractions import Fraction


def mean(n: int, k: int, scale: int) -> Fraction:
    """Return the mean squared row norm of sqrt(scale) Q, Q of n rows and k columns."""
    return Fraction(k * scale, n)


def sides() -> tuple[Fraction, Fraction]:
    """Return the square of 1, which is claimed to be each row's norm, and the longest row's."""
    head = Fraction(3, 5), Fraction(4, 5)
    squares = [entry**2 for entry in head]
    if sum(squares) / 2 != mean(2, 1, 1):
        raise ValueError("not a unit vector")
    return Fraction(1), max(squares)
