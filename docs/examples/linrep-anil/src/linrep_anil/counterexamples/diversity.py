"""A plane that FO-ANIL does not change where all heads are e_1: alpha = 1, beta = 1/2."""

from fractions import Fraction

#: Columns are orthonormal: (1, 0, 0) and (0, 3/5, 4/5); the truth is the plane of the first two.
B = [[Fraction(1), Fraction(0)], [Fraction(0), Fraction(3, 5)], [Fraction(0), Fraction(4, 5)]]
MODEL = [1, 0, 0]


def sides() -> tuple[Fraction, Fraction]:
    """Return the squared sine after a round, and 99/100 of the one before."""
    head = [sum(B[i][j] * MODEL[i] for i in range(3)) for j in range(2)]
    rest = [sum(B[i][j] * head[j] for j in range(2)) - MODEL[i] for i in range(3)]
    moved = [[B[i][j] - Fraction(1, 2) * rest[i] * head[j] for j in range(2)] for i in range(3)]
    assert moved == B
    return moved[2][1] ** 2, Fraction(99, 100) * B[2][1] ** 2
