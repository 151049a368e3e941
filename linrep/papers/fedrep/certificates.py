"""Scalar inequalities of the proofs and derivations on FedRep, in their variables."""

from fractions import Fraction

from linrep.claims.certificates import certificate


@certificate("fedrep.theorem2.samples", "k/s^2 <= k kappa^2, as s kappa is at least 1")
def samples(k, s, kappa):
    return [k >= 1, s > 0, kappa >= 1, s * kappa >= 1], k / s**2 <= k * kappa**2


@certificate(
    "fedrep.theorem1", "a population round with k = 1: dist^2 falls by 1 - a E_0", instance=True
)
def population_round(a, x, first):
    # a is eta sigma^2, x the squared distance, and 1 - first is E_0.
    moved = (1 - a * (1 - x)) ** 2 * x
    kept = (1 - x) * (1 + a * x) ** 2
    given = [a > 0, 4 * a <= 1, x > 0, x <= first, first < 1]
    return given, moved / (moved + kept) <= (1 - a * (1 - first)) * x


# In the steps for normal covariates a, b, c stand for sqrt(k) and the like, M for sqrt(m).


@certificate("fedrep.theorem1.gaussian", "sqrt(k) + sqrt(2L) <= sqrt(m/32)")
def near(a, b, M, *, each=64):
    given = [a >= 0, b >= 0, M > 0, each * (a**2 + b**2) <= M**2]
    return given, 32 * (a + b) ** 2 <= M**2


@certificate("fedrep.theorem1.gaussian", "squared singular values of Z_i are at least 2m/3")
def gram(a, b, M):
    return [a >= 0, b >= 0, M > 0, 32 * (a + b) ** 2 <= M**2], 3 * (M - a - b) ** 2 >= 2 * M**2


@certificate("fedrep.theorem1.gaussian", "|g_i|^2 <= 81 m/64")
def residual(b, M, *, each=64):
    return [b >= 0, M > 0, each * b**2 <= M**2], 64 * (M + b) ** 2 <= 81 * M**2


@certificate("fedrep.theorem1.gaussian", "|zeta_i|^2 <= 3 k dist^2/64")
def head(a, b, M, s):
    given = [a >= 0, b >= 0, M > 0, s > 0, 32 * (a + b) ** 2 <= M**2, 3 * s**2 >= 2 * M**2]
    return given, 64 * (a + b) ** 2 <= 3 * s**2


@certificate("fedrep.theorem1.gaussian", "the matrix of all zeta_i is at most 7 sqrt(rn) dist/20")
def all_heads(x, y, *, each=64, together=900):
    given = [x >= 0, y >= 0, each * x**2 <= 1, together * y**2 <= 1]
    return given, 600 * (2 * x + y) ** 2 <= 49


@certificate("fedrep.theorem1.gaussian", "(sigma_max + 7/20)^2 <= (27 sigma_max/20)^2")
def size(p):
    return [p >= 1], (20 * p + 7) ** 2 <= (27 * p) ** 2


@certificate("fedrep.theorem1.gaussian", "a head is at most 61 sqrt(k)/50")
def longest(z):
    return [z >= 0, 64 * z**2 <= 3], 50 * (1 + z) <= 61


@certificate("fedrep.theorem1.gaussian", "(a + b + c)^2 <= 3 (a^2 + b^2 + c^2)")
def three_roots(a, b, c):
    return [a >= 0, b >= 0, c >= 0], (a + b + c) ** 2 <= 3 * (a**2 + b**2 + c**2)


@certificate("fedrep.theorem1.gaussian", "(2a + b)^2 <= 5 (a^2 + b^2)")
def two_roots(a, b):
    return [a >= 0, b >= 0], (2 * a + b) ** 2 <= 5 * (a**2 + b**2)


@certificate("fedrep.theorem1.gaussian", "2 k log(21) + t <= 6.09 (d + 2t)")
def exponent(k, d, t, log21):
    given = [k >= 1, d >= k, t >= 0, log21 >= 0, 200 * log21 <= 609]
    return given, 200 * k * log21 + 100 * t <= 609 * (d + 2 * t)


@certificate("fedrep.theorem1.gaussian", "the sum of the errors of a round")
def all_errors(u, p, q, r, *, share=Fraction(1, 2), together=900, each=64):
    # u is the root of 1/900, and p, q, r are the factors of T_2, T_1 and T_3.
    given = [u >= 0, together * u**2 <= 1, p >= 0, q >= 0, r >= 0, 25600 * p**2 <= 177147]
    given += [6400 * q**2 <= 443961, 2 * r**2 <= 15]
    taken = (p + q + r) * u + Fraction(61 * 609, 2000) * u**2
    return given, taken <= 1 - share - Fraction(1) / each


@certificate("fedrep.theorem1.gaussian", "errors so small leave the factor of a round")
def contraction(s, step, x, e, first, v, error, *, share=Fraction(1, 2), each=64):
    # x is k/m, e and first are E and E_0, v is sigma_min^2.
    given = [s >= 0, step >= 0, x >= 0, each * x <= 1, first > 0, e >= first, e <= 1, v > 0]
    given += [error <= (1 - share - Fraction(1) / each) * s * first * v]
    return given, s * (1 - step * (1 - x) * e * v) + step * error <= s * (
        1 - step * share * first * v
    )
