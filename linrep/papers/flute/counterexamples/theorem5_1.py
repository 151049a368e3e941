"""Theorem 5.1, d = M = 2, k = 1, Phi = diag(l, l/2), l = 10^-6, no noise, alpha = 1/(10 d)."""

from fractions import Fraction

L, DELTA = Fraction(1, 10**6), Fraction(1, 4)
ETA = 1 / (228 * L)  # Delta^2/(228 lambda_1^3), Delta being l
INSTANCE = {
    "d = M": 2, "k": 1, "Phi": "diag(l, l/2), l = 1/1000000", "alpha": "1/20", "delta": "1/4",
    "N": "to infinity",
}  # fmt: skip


def sides(alpha=Fraction(1, 20)) -> tuple[Fraction, Fraction]:
    """Return 1 - delta, and an upper bound of the probability that the error is ever below l/2.

    With N = oo, w = (w_1, w_2) and s = |b|^2 + |w|^2 a step is b' = (1 - x) b + h Phi w and
    w' = (1 - y) w + h Phi b, where x, y >= eta s/2, h being eta (A.1) or 2 eta ((5), (6)). If
    eta s >= 6, then |1 - x|, |1 - y| >= 2 and h l <= 1/114, so that s grows for ever; and
    b_1'w_1' = ((1 - x)(1 - y) + h^2 l^2) b_1 w_1 + h l ((1 - x) b_1^2 + (1 - y) w_1^2) stays
    negative if b_1 w_1 was: the mean error is |b_1 w_1 - l|/2 > l/2 at least, in any round. Signs
    are independent of s, s/alpha^2 is chi^2 with 4 degrees of freedom, and with u = 3/(eta alpha^2)
    Pr[eta s >= 6] = exp(-u) (1 + u) >= 1 - u^2/2.
    """
    u = 3 / (ETA * Fraction(alpha) ** 2)
    return 1 - DELTA, 1 - max(Fraction(0), 1 - u**2 / 2) / 2
