"""Theorem 5.1's start for a small Phi: d = 2, alpha = 1/(10 d), lambda*_1 = 10^-6, delta = 1/2."""

from fractions import Fraction


def sides() -> tuple[Fraction, Fraction]:
    """Return 1 - delta, and an upper bound of the probability of Claim A.3.

    Claim A.3 wants sigma_1^2(Theta^0) <= lambda*_1, so that an entry alpha g of Theta^0 is at most
    10^-3. The density of |g|, g normal, is at most 2/sqrt(2 pi) < 4/5, as pi > 25/8.
    """
    root, alpha = Fraction(1, 1000), Fraction(1, 20)
    return Fraction(1, 2), Fraction(4, 5) * root / alpha
