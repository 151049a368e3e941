"""Scalar inequalities of the derivations on pFL^MF: x = eta L, participation p, local steps K."""

from fractions import Fraction as Q

from linrep.claims.certificates import certificate


def _round(x, p, K):
    return [x > 0, 2 * x <= 1, p > 0, p <= 1, K >= 1]


@certificate("pflmf.eq16.resummed", "the factor of the participants' gradients is not negative")
def factor(x, p, K):
    q = p * x
    return [x > 0, x <= 1, p > 0, p <= 1, K >= 1], 1 - q / (2 * K) - q * x / 2 >= 0


def _other_sum(x, p):
    return [x > 0, x <= 1, p > 0, p <= 1]


@certificate("pflmf.theorem1.corrected", "from the other sum: C is at most 2")
def weight_C(x, p, root2):
    C = p + (1 - p) * (1 + p * x / root2) ** 2
    return [*_other_sum(x, p), root2 > 0, root2**2 == 2], C <= 2


@certificate("pflmf.theorem1.corrected", "from the other sum: (1 - x)(2 + x) <= 2 - q - q x")
def weight_V(x, p):
    return _other_sum(x, p), (1 - x) * (2 + x) <= 2 - p * x - p * x**2


@certificate("pflmf.theorem1.corrected", "from the other sum: what the first noise leaves")
def noise_left(x, p):
    first = (1 - x) * (1 + p**3 * (1 + x)) / 2
    return _other_sum(x, p), 1 - first >= Q(3, 2) * (1 - p) * p**3


@certificate("pflmf.theorem1.corrected", "from the other sum: the second noise")
def noise_right(x, p, root2):
    given = [*_other_sum(x, p), root2 > 0, root2**2 == 2]
    return given, (1 - x) * (p * x / 2 + 1 / root2) <= Q(3, 2)


@certificate(
    "pflmf.theorem1.corrected",
    "U fixed, K = 1, T to infinity: the left side over the right one is at most 1",
    instance=True,
)
def exact_family(u, x, *, p_power=2):
    given = [u > 0, u <= 1, x > 0, 2 * x < 1]
    return given, _bounded(u, p_power, lambda p: (1 - 2 * x) / (2 - p * x))


@certificate(
    "pflmf.corollary2.constants",
    "U fixed, K = 1, no noise, T to infinity: the left side over the right one is at most 1",
    instance=True,
)
def exact_constants(u, *, p_power=2, start=2):
    # At x = 1/4, where the start's constant is 2 in exact_family.
    return [u > 0, u <= 1], _bounded(u, p_power, lambda p: 4 / (start * (8 - p)))


@certificate(
    "pflmf.corollary2",
    "U fixed, K = 1, no noise: 1/T bounds a lower bound of the left side",
    instance=True,
)
def exact_rate(s, p, *, T_power=1):
    # T = s^b for a power of a/b. The gradient's square falls by the share d in a round, and
    # (1 - d)^T <= 1/(1 + T d), so that the left side is at least 2 L(F^0 - F*)/(1 + T d).
    power = Q(T_power).limit_denominator(100)
    a, b = power.numerator, power.denominator
    d = p**2 * (8 - p) / 16
    return [s >= 1, p > 0, p <= 1], 2 * p**2 * s**a <= 16 * (1 + d * s**b)


def _bounded(u, p_power, ratio):
    """Say that the limit of left over right side, p^(p_power - 2) times a ratio, is at most 1.

    p = u^b for a power of a/b, so that all exponents are whole.
    """
    power = Q(p_power).limit_denominator(100)
    a, b = power.numerator, power.denominator
    if a >= 2 * b:
        return (u ** (a - 2 * b) if a > 2 * b else 1) * ratio(u**b) <= 1
    return ratio(u**b) <= u ** (2 * b - a)


@certificate(
    "pflmf.corollary2.constants",
    "for eta = 1/(2 L sqrt(T)): 2/(eta T (1 - 2 eta L)) = 4 L/(sqrt(T) - 1)",
)
def start(L, root):
    eta = 1 / (2 * L * root)  # root is that of T
    given = [L > 0, root > 1]
    return given, 2 / (eta * root**2 * (1 - 2 * eta * L)) == 4 * L / (root - 1)


@certificate(
    "pflmf.corollary2.sharp",
    "eta = 1/(2 L sqrt(T)): both terms are (4 L (F^0 - F*) + 3 sigma^2/2)/(2 sqrt(T) - 1)",
)
def sharp_start(L, root):
    x = 1 / (2 * root)  # root is that of T
    bounds = L / (x * root**2 * (1 - x)) + Q(3, 2) * x / (1 - x)  # of gap = sigma = 1
    return [L > 0, root >= 1], bounds == (4 * L + Q(3, 2)) / (2 * root - 1)


@certificate(
    "pflmf.corollary2.sharp",
    "s^2 = 1 + N/G: G/(x (1 - x)) + N x/(1 - x) is at least 2 G (1 + s), for every step",
)
def best_step(x, s):
    # Over G: the difference is (1 - (1 + s) x)^2.
    return [x > 0, x < 1, s >= 1], 1 + (s**2 - 1) * x**2 >= 2 * (1 + s) * x * (1 - x)


@certificate(
    "pflmf.corollary2.sharp",
    "L (u + v)^2/2, p = K = 1, eta = 1/(2 L), no noise: the left side is equal to the right one",
)
def sharp_corollary_attained(L, e, T):
    left, right = _sharp_corollary(L, e, T, 4)
    return [L > 0, T >= 1], left == right


@certificate(
    "pflmf.corollary2.sharp",
    "the same functions: the left side is at most the right one",
    instance=True,
)
def sharp_corollary_example(L, e, T, *, start=4):
    left, right = _sharp_corollary(L, e, T, start)
    return [L > 0, T >= 1], left <= right


def _sharp_corollary(L, e, T, start):
    # The minimum is reached in the first of T rounds; before it both gradients are L e.
    return 2 * (L * e) ** 2 / T, start * L * (L * e**2 / 2) / T


def _sharp(x, p):
    return [x > 0, x <= 1, p > 0, p <= 1]


@certificate(
    "pflmf.theorem1.sharp", "step 3: the factor of the participants' gradients is not negative"
)
def sharp_factor(x, p, K):
    return [*_sharp(x, p), K >= 1], 1 - p * x * (K + 1) / (2 * K) >= 0


@certificate("pflmf.theorem1.sharp", "step 5: w_V >= p^2 (1 - x), b^2 = (K - 1)/(2 K)")
def sharp_weight(x, p, b, *, slack=1):
    C = p + (1 - p) * (1 + p * x * b) ** 2
    return [*_sharp(x, p), b >= 0, 2 * b**2 <= 1], (1 - slack * x) * C <= 1 - p * x * (1 - b**2)


@certificate("pflmf.theorem1.sharp", "step 5: from K = 2 on, 5/4 is enough for the noise")
def sharp_noise(p, b):
    steps = Q(4, 3) * p**3 * (1 - p) * b * (1 + b)
    return [p > 0, p <= 1, b >= 0, 2 * b**2 <= 1], 1 + Q(3, 2) * p**3 + steps <= Q(5, 2)


@certificate("pflmf.theorem1.sharp", "step 5: at K = 1, 3/2 is enough for the noise")
def sharp_noise_one(p, *, noise=Q(3, 2)):
    return [p > 0, p <= 1], (1 + 2 * p**3) / 2 <= noise


@certificate(
    "pflmf.theorem1.sharp",
    "L (u + v)^2/2, p = K = 1, no noise: the left side is equal to the right one",
)
def sharp_attained(L, x, e):
    left, right = _sharp_sides(L, x, e, 1, 1)
    return [L > 0, x > 0, x <= 1], left == right


@certificate(
    "pflmf.theorem1.sharp",
    "the same functions: the left side is at most the right one",
    instance=True,
)
def sharp_example(L, x, e, *, start=1, slack=1):
    left, right = _sharp_sides(L, x, e, start, slack)
    return [L > 0, x > 0, x <= 1], left <= right


def _sharp_sides(L, x, e, start, slack):
    # e = u + v becomes (1 - 2 x) e; both gradients are L e, and eta = x/L.
    decrease = L / 2 * (e**2 - (1 - 2 * x) ** 2 * e**2) * L / x
    return (1 - slack * x) * 2 * (L * e) ** 2, start * decrease
