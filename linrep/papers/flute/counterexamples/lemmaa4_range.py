"""Lemma A.4 at delta = 0: a start of scale alpha = 1/10 where lambda*_1 = 1."""

from fractions import Fraction


def sides(delta=0, inverse=10) -> tuple[Fraction, Fraction]:
    """Return 1 - delta, and an upper bound of the probability of Claim A.3, alpha = 1/inverse.

    Claim A.3 wants sigma_1(Theta^0) <= 1, so |g| <= 1/alpha for an entry alpha g of Theta^0, g
    normal. |g| is between 1/alpha and 1/alpha + 1 with the probability sqrt(2/pi) exp(-(1/alpha +
    1)^2/2) at least, where sqrt(2/pi) > 3/4 and e < 3.
    """
    above = Fraction(3, 4) / 3 ** -(-((inverse + 1) ** 2) // 2)
    return 1 - Fraction(delta), 1 - above
