"""Section 3, at the smallest d that r << d allows: r = 2, d = 20, k = 100, M = 10,000.

All of << is by a factor of 10: r = d/10, and k^(3/2) = 1000 = M/10.
"""

from fractions import Fraction


def sides() -> tuple[Fraction, Fraction]:
    """Return the samples d k^(3/2) r with side information, and (d + M) r."""
    d, clients, root_of_k, r = 20, 10_000, 10, 2
    return Fraction(d * root_of_k**3 * r), Fraction((d + clients) * r)
