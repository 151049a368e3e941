"""Observation B.2 for a client with 3/5, 3/10 and 1/10 of its samples in its three classes."""

from fractions import Fraction

SHARES = Fraction(3, 5), Fraction(3, 10), Fraction(1, 10)


def sides(shares=SHARES) -> tuple[Fraction, Fraction]:
    """Return what stationarity of (54) leaves along h_2 - h_3 in its slope in h_1, and 0.

    Let (56) and (57) hold: heads h are a simplex, whose sum is 0, and features are multiples f_c =
    a_c h_c of them. Slopes in f_c are 0 only if each wrong class j has the same probability q_c/2,
    and then a_c is proportional to q_c. Slopes in biases are 0 only if all p_c q_c are equal, to r
    say, where p are the shares. The slope in h_1 then has, up to a factor and multiples of h_1,
    q_2 h_2 + q_3 h_3, so along h_2 - h_3 half of q_2 - q_3 = r/p_2 - r/p_3; here that is over r.
    """
    _, second, third = shares
    return abs(1 / second - 1 / third) / 2, Fraction(0)
