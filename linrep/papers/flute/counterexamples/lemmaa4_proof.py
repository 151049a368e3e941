"""Lemma A.4, proof: the remainder of a start of n = d = 2, alpha = 10^-4, delta' = 1/2."""

from fractions import Fraction


def sides(alpha_power=2) -> tuple[Fraction, Fraction]:
    """Return the probability that the display claims, and an upper bound of the true one.

    The density of |g|, g normal, is at most 2/sqrt(2 pi) < 4/5, as pi > 25/8, and an entry of
    Theta_res^0 is alpha g: it is at most alpha^p w with probability 4/5 alpha^(p - 1) w at most,
    where w = 2 sqrt(2) + sqrt(2 log 4) < 283/100 + 167/100.
    """
    power = Fraction(1, 10 ** round(4 * (alpha_power - 1)))
    return Fraction(1, 2), min(Fraction(1), Fraction(4, 5) * power * Fraction(9, 2))
