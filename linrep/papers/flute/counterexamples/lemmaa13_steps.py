"""Lemma A.14's net of 9^(M + k) points beside its s, at d = M = 10, k = 1, delta = 1/e."""

from fractions import Fraction

LOG_9 = Fraction(21972, 10000)  # from below


def sides() -> tuple[Fraction, Fraction]:
    """Return a lower bound of log(1/delta) + (M + k) log 9, and the exponent N c s^2/....

    s^2 is lambda*_1 (k lambda*_1^2 + E) (log(1/delta) + 6 max(d, M))/(N c), and it is divided by
    what the sum of (c_i c_B)^2 is at most: 4 lambda*_1 (k lambda*_1^2 + E).
    """
    return 1 + (10 + 1) * LOG_9, Fraction(1 + 6 * 10, 4)
