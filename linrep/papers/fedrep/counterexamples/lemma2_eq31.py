"""(31), second inequality, at k = 2 and rn = 50: 121 k^3 log(rn) <= k (12 sqrt(k log(rn)) - 1)^2.

3 < log 50 < 4, as e < 14/5 and e > 27/10.
"""

from fractions import Fraction


def bounds_of_log_50() -> tuple[int, int]:
    """Return whole numbers below and above log 50."""
    low, high = 3, 4
    if not Fraction(14, 5) ** low < 50 < Fraction(27, 10) ** high:
        raise ValueError("no bounds of log 50")
    return low, high


def sides() -> tuple[Fraction, Fraction]:
    """Return a lower bound of the left side, and an upper one of the right, without its -1."""
    k, (low, high) = 2, bounds_of_log_50()
    return Fraction(121 * k**3 * low), Fraction(k * 144 * k * high)
