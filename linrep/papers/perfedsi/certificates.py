"""Scalar inequalities of the proofs and derivations on PerFedSI, in their variables."""

from fractions import Fraction as Q

from linrep.claims.certificates import certificate


@certificate(
    "perfedsi.lemmaC11.corrected",
    "a round: (f) less (d) and (e) is at least 1/2 X/c_z^3",
)
def a_round(c_z, g):
    given = [c_z >= 1, g >= 0, 132 * g <= 1]
    return given, Q(9, 8) / c_z - 25 * g / c_z**3 >= Q(1, 2) / c_z**3


@certificate(
    "perfedsi.theorem3.3.local",
    "a round: what residuals take off less what q adds is at least sigma_r/c_z",
)
def a_round_near(c_z, k, radius, sigma):
    given = [c_z >= 1, k >= 1, sigma > 0, radius > 0, radius**2 * 576 * c_z**2 * k == sigma]
    taken = Q(7, 4) * Q(49, 64) * Q(43, 48) ** 2 * sigma / c_z
    return given, taken - 2 * Q(1004, 1000) ** 2 * k * c_z * radius**2 >= sigma / c_z
