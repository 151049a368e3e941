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


@certificate("perfedsi.lemmaC5.corrected", "||E|| <= sigma_r/4 where L <= sigma_r^2/(32 c_z)")
def error(c_z, sigma, loss, norm):
    # norm is that of E: its square is at most 2 c_z L.
    given = [c_z >= 1, sigma > 0, loss >= 0, 32 * c_z * loss <= sigma**2, norm >= 0]
    return [*given, norm**2 <= 2 * c_z * loss], norm <= sigma / 4


@certificate("perfedsi.lemmaC6", "(3a + 1)^2 <= 16 a^2 + 2 for a = c^2 >= 1")
def printed(a):
    return [a >= 1], (3 * a + 1) ** 2 <= 16 * a**2 + 2


@certificate("perfedsi.lemmaC6", "(24): 1/4 + (2a + 1)^2/(12 a^2 + 2) <= 1 for a >= 1")
def display24(a):
    return [a >= 1], Q(1, 4) + (2 * a + 1) ** 2 / (12 * a**2 + 2) <= 1


@certificate("perfedsi.lemmaC6", "with 8 a^2 no condition on c: 1/8 + (2a + 1)^2/(12 a^2 + 2) <= 1")
def display24_with_8(a):
    return [a >= 0], Q(1, 8) + (2 * a + 1) ** 2 / (12 * a**2 + 2) <= 1


@certificate("perfedsi.lemmaC6", "with 8 a^2 no condition on c: (3a + 1)^2 <= 20 a^2 + 2")
def sum_with_8(a):
    return [a >= 0], (3 * a + 1) ** 2 <= 20 * a**2 + 2


@certificate("perfedsi.lemmaC6.least_constant", "3a(1 - h)^2 + 1 is at least (1 - h)^2 (3a + 1)")
def shorter_step(a, h):
    given = [a > 0, h >= 0, h <= 1]
    return given, 3 * a * (1 - h) ** 2 + 1 >= (1 - h) ** 2 * (3 * a + 1)


@certificate("perfedsi.lemmaC10.corrected", "sqrt(2) * 6 / 2 <= 10")
def constant(root2):
    return [root2 > 0, root2**2 == 2], 6 * root2 / 2 <= 10


@certificate(
    "perfedsi.lemmaC7.corrected",
    "the mean of C steps: (1 - 1/C) ||E y||^2 <= ||E y||^2",
)
def participants(C, first, second):
    # first is E||y||^2 and second ||E y||^2.
    given = [C >= 1, second >= 0, second <= first]
    return given, first / C + (1 - 1 / C) * second <= first / C + second


@certificate(
    "perfedsi.theorem3.3.local",
    "a round: what residuals take off less what q adds is at least sigma_r/c_z",
)
def a_round_near(c_z, k, radius, sigma):
    given = [c_z >= 1, k >= 1, sigma > 0, radius > 0, radius**2 * 576 * c_z**2 * k == sigma]
    taken = Q(7, 4) * Q(49, 64) * Q(43, 48) ** 2 * sigma / c_z
    return given, taken - 2 * Q(1004, 1000) ** 2 * k * c_z * radius**2 >= sigma / c_z
