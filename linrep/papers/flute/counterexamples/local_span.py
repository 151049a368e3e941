"""Section 4.1, k = r = 2: Phi = [e_1 e_2] in three dimensions, B_1 = [e_1 e_3], w_1 = (1, 0)."""

from fractions import Fraction

B, W = [[1, 0], [0, 0], [0, 1]], [1, 0]
INSTANCE = {"Phi": [[1, 0], [0, 1], [0, 0]], "k": 2, "B_1": B, "w_1": W}


def sides() -> tuple[Fraction, Fraction]:
    """Return the square of what B_1's second column has outside the span of B*, and 0."""
    if [row[0] * W[0] + row[1] * W[1] for row in B] != [1, 0, 0]:
        raise ArithmeticError("B_1 and w_1 do not fit client 1")
    return Fraction(B[2][1] ** 2), Fraction(0)  # the span of B* is that of e_1 and e_2
