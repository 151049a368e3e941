"""Scalar inequalities of the proofs and derivations on PerFedSI, in their variables."""

from fractions import Fraction as Q

from linrep.claims.certificates import certificate


@certificate(
    "perfedsi.theorem3.3.local",
    "a round: what residuals take off less what q adds is at least sigma_r/c_z",
)
def a_round_near(c_z, k, radius, sigma):
    given = [c_z >= 1, k >= 1, sigma > 0, radius > 0, radius**2 * 576 * c_z**2 * k == sigma]
    taken = Q(7, 4) * Q(49, 64) * Q(43, 48) ** 2 * sigma / c_z
    return given, taken - 2 * Q(1004, 1000) ** 2 * k * c_z * radius**2 >= sigma / c_z
