"""Lemma A.14's net of 9^(M + k) points beside its s, at d = M = 10, k = 1, delta = 1/e."""

from fractions import Fraction

LOG_9 = Fraction(21972, 10000)  # from below


def sides(d=10, k=1, M=10, ell=1, scale=1) -> tuple[Fraction, Fraction]:
    """Return a lower bound of log(1/delta) + (M + k) log 9, and the exponent N c s^2/....

    s^2 is scale lambda*_1 (k lambda*_1^2 + E) (log(1/delta) + 6 max(d, M))/(N c), and it is divided
    by what the sum of (c_i c_B)^2 is at most: 4 lambda*_1 (k lambda*_1^2 + E) for scale 1, 18 times
    the first of these where that is the scale.
    """
    share = Fraction(scale, 4 if scale == 1 else 18)
    return ell + (M + k) * LOG_9, (ell + 6 * max(d, M)) * share
