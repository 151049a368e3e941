"""The last step of Lemma A.18's proof: d = 2, k = 1, Lambda_1 = 1, B = (1, 0)', W = (1, 1)."""

from fractions import Fraction


def sides() -> tuple[Fraction, Fraction]:
    """Return the squares of |2X| and of |X + X'|, claimed to be equal, for X = BW - diag(1, 0)."""
    X = [[0, 1], [0, 0]]
    places = [(i, j) for i in range(2) for j in range(2)]
    doubled = sum((X[i][j] + X[j][i]) ** 2 for i, j in places)
    return Fraction(4 * sum(X[i][j] ** 2 for i, j in places)), Fraction(doubled)
