"""Lemma A.6: one step on signs, n = 2, d = k = 1, Phi = (1/2, 0): lambda*_1 = Delta = 1."""

from fractions import Fraction
from math import ceil, comb

LOG_100 = Fraction(461, 100)  # from above


def samples() -> int:
    """Return an odd N that is asked for, at least, for delta = 1/100 and c_1 = 1."""
    N = ceil(288 * (2 + LOG_100))  # max(d, n) = 2
    return N + 1 - N % 2


def sides() -> tuple[Fraction, Fraction]:
    """Return a lower bound of the probability of leaving in one step, and the 2 delta allowed.

    B = 1 and w = (1, 0) are in R_s, with sigma_1^2(Theta) = 2. Samples x and labels' noises are
    signs, the noises times sigma = N. The mean m of N signs, N odd, is positive with probability
    1/2, and then at least 1/N. As x^2 = 1, B and w_1 become 1 - eta/2 + eta sigma m, which is
    above 1: so sigma_1^2 is above 2.
    """
    N = samples()
    positive = Fraction(sum(comb(N, j) for j in range((N + 1) // 2, N + 1)), 2**N)
    smallest = N * Fraction(1, N)  # sigma m
    return positive if smallest > Fraction(1, 2) else Fraction(0), Fraction(2, 100)
