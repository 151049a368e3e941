"""Theorem 5.1, d = M = k = 1, Phi = l = 10^-6, no noise, signs for samples, alpha = 1/10."""

from fractions import Fraction

ROOT, DELTA = Fraction(1, 1000), Fraction(1, 4)
L = ROOT**2
ETA = 1 / (57 * L)  # Delta^2/(228 l^3), Delta being 2 l
INSTANCE = {"d = M = k": 1, "Phi": "1/1000000", "alpha": "1/10", "delta": "1/4", "x": "signs"}


def sides(alpha=Fraction(1, 10)) -> tuple[Fraction, Fraction]:
    """Return 1 - delta, and an upper bound of the probability that the error is ever below l.

    As x^2 = 1, every sample tells the gradient exactly. With p = (b + w)/sqrt(2), q = (b - w)/
    sqrt(2) and s = b^2 + w^2, a step multiplies p by 1 + 1/57 - a and q by 1 - 1/57 - a, where a =
    (eta/2) s. If a >= 3 both factors are below -1 - 56/57, that of q more so: s grows for ever,
    and bw = (p^2 - q^2)/2 stays negative if it was. The error |bw - l| is above l then. Signs of b
    and w are independent of s, and Pr[s >= 6/eta] = exp(-3/(eta alpha^2)) >= 1 - 3/(eta alpha^2).
    """
    large = max(Fraction(0), 1 - 3 / (ETA * Fraction(alpha) ** 2))
    return 1 - DELTA, 1 - large / 2
