"""The steps of pFL^MF's proofs."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
import sympy as sp

import linrep as lr
from linrep.algorithms import personalized
from linrep.claims import decide, everywhere
from linrep.papers.pflmf import assumption1_2, corollary2, eq1_to_6, example1_2_3, model
from linrep.theory import pflmf_rounds

SHAPES = [(1, 1, 1), (2, 1, 3), (3, 2, 1), (4, 3, 3)]
STEPS = (1, 2, 5, 20, 200)


def holds(lhs, rhs, **region):
    found = everywhere(lhs, rhs, region)
    return decide(found).verdict == "holds"


def test_an_inequality_that_does_not_hold_is_not_proved():
    unit = Fraction(0), Fraction(1)
    assert holds(lambda x: x**2, lambda x: x + 0.01, x=unit)
    assert not holds(lambda x: x**2, lambda x: x - 0.01, x=unit)


def patterns(n):
    return np.array(list(product((0.0, 1.0), repeat=n)))


def chances(D, p):
    return p ** D.sum(axis=1) * (1.0 - p) ** (D.shape[1] - D.sum(axis=1))


def test_assumption1():
    d, k, n = 2, 2, 3
    x, y = (sp.Matrix(sp.symbols(f"{name}:{d}", real=True)) for name in "xy")
    v = sp.Matrix(sp.symbols(f"v:{k}", real=True))
    U = sp.Matrix(d, k, sp.symbols(f"u:{d * k}", real=True))
    f = sp.Function("f")
    # Of the clients only this one moves with U, as the other rows of V are zeros.
    value = f(*(U * v)) / n
    gradient = sp.Matrix(d, k, [sp.diff(value, entry) for entry in U])
    arguments = sp.symbols(f"z:{d}", real=True)
    own = sp.Matrix([sp.diff(f(*arguments), z) for z in arguments])
    own = own.subs(dict(zip(arguments, U * v, strict=True))).doit()
    assert sp.simplify(gradient - own * v.T / n) == sp.zeros(d, k)
    # The two points, and how far they are apart.
    length = (v.T * v)[0]
    one, other = (each * v.T / length for each in (x, y))
    assert sp.simplify(one * v - x) == sp.zeros(d, 1)
    apart = sp.expand((one - other).norm() ** 2 * length - (x - y).norm() ** 2)
    assert sp.simplify(apart) == 0


@pytest.mark.parametrize("shape", [(1, 1), (3, 2)])
def test_assumption2(shape):
    noise = assumption1_2.axis_noise(np.zeros(shape), 3.0)
    assert np.abs(noise.sum(axis=0)).max() == 0.0
    assert np.mean(np.sum(noise**2, axis=(1, 2))) == 9.0


@pytest.mark.parametrize("shape", [(1, 1), (3, 2)])
def test_eq10(shape):
    rng = np.random.default_rng(0)
    gradient, noise = rng.standard_normal(shape), rng.standard_normal((7, *shape))
    noise -= noise.mean(axis=0)
    found = np.mean(np.sum((gradient + noise) ** 2, axis=(1, 2)))
    mixed = 2.0 * np.sum(gradient * noise.mean(axis=0))
    terms = np.sum(gradient**2), mixed, np.mean(np.sum(noise**2, axis=(1, 2)))
    assert mixed == pytest.approx(0.0, abs=1e-14)
    assert found == pytest.approx(sum(terms))


def test_eq7():
    d, k, n = 2, 2, 2
    U = sp.Matrix(d, k, sp.symbols(f"u:{d * k}"))
    V = sp.Matrix(n, k, sp.symbols(f"v:{n * k}"))
    z = sp.symbols(f"z:{d}")
    functions = [sp.Function(f"f{i}") for i in range(n)]
    value = sum(f(*(U * V.row(i).T)) for i, f in enumerate(functions)) / n
    in_U, in_V = sp.zeros(d, k), []
    for i, f in enumerate(functions):
        slope = sp.Matrix([sp.diff(f(*z), each) for each in z])
        slope = slope.subs(dict(zip(z, U * V.row(i).T, strict=True))).doit()
        in_U += slope * V.row(i) / n
        in_V.append((U.T * slope / n).T)
    found = sp.Matrix(d, k, [sp.diff(value, entry) for entry in U])
    assert sp.simplify(found - in_U) == sp.zeros(d, k)
    found = sp.Matrix(n, k, [sp.diff(value, entry) for entry in V])
    assert sp.simplify(found - sp.Matrix.vstack(*in_V)) == sp.zeros(n, k)


@pytest.mark.parametrize("shape", SHAPES)
def test_lemma3(shape):
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal(shape[:2]), rng.standard_normal(shape[1:])
    norm = np.linalg.norm(A, 2)
    columns = np.linalg.norm(A @ B, axis=0)
    assert np.linalg.norm(A @ B) ** 2 == pytest.approx(np.sum(columns**2))
    assert (columns <= norm * np.linalg.norm(B, axis=0) * (1.0 + 1e-14)).all()
    aligned = np.outer(np.linalg.svd(A)[2][0], B[0])
    assert np.linalg.norm(A @ aligned) == pytest.approx(norm * np.linalg.norm(aligned))


def test_lemma4():
    a, x, y = sp.symbols("alpha x y", positive=True)
    square = (sp.sqrt(a) * x - y / sp.sqrt(a)) ** 2 / 2
    assert sp.expand(square - (a * x**2 / 2 + y**2 / (2 * a) - x * y)) == 0
    assert square.subs(y, a * x) == 0


@pytest.mark.parametrize("K", [1, 2, 5])
def test_lemma5(K):
    x = sp.symbols(f"x:{K}", real=True)
    mean = sum(x) / K
    spread = K * sum((each - mean) ** 2 for each in x)
    assert sp.expand(K * sum(each**2 for each in x) - sum(x) ** 2 - spread) == 0


@pytest.mark.parametrize("n", [1, 2, 3])
def test_lemma6(n):
    p, A = sp.symbols("p"), sp.Matrix(n, 2, sp.symbols(f"a:{2 * n}"))
    found = 0
    for row in product((0, 1), repeat=n):
        weight = sp.prod([p if each else 1 - p for each in row])
        found += weight * sum(each**2 for each in sp.diag(*row) * A)
    assert sp.expand(found - p * sum(each**2 for each in A)) == 0


@pytest.mark.parametrize("n", [1, 2, 4])
def test_lemma7(n):
    p, first, second = sp.symbols("p"), 0, 0
    for row in product((0, 1), repeat=n):
        weight = sp.prod([p if each else 1 - p for each in row])
        norm = sp.Matrix(sp.diag(*row)).norm(2)
        first, second = first + weight * norm, second + weight * norm**2
    assert sp.expand(first - (1 - (1 - p) ** n)) == 0
    assert sp.expand(second - first) == 0


def _noisy_paths(f, u, v, p, K, eta, s):
    """Yield weight, D and the heads of every outcome: noise +-s of each client."""
    n, step = len(v), p * eta / K
    for row in product((0, 1), repeat=n):
        weight = p ** sum(row) * (1 - p) ** (n - sum(row)) / Fraction(2) ** (n * K)
        for signs in product((-1, 1), repeat=n * K):
            heads, path = list(v), [list(v)]
            for k in range(K):
                slopes = [u * x for x in f.slopes(u, heads)]
                heads = [
                    x - step * d * (g + s * sign)
                    for x, d, g, sign in zip(
                        heads, row, slopes, signs[n * k : n * k + n], strict=True
                    )
                ]
                path.append(heads)
            yield weight, row, path


ROUND = (
    model.Scalar((2, -1), (1, 0), (0, 3)), Fraction(2, 3), [Fraction(1), Fraction(-1, 2)],
    Fraction(1, 3), 2, Fraction(1, 4),
)  # fmt: skip


def test_eq11_corrected():
    f, u, v, p, K, eta = ROUND
    s = Fraction(1, 2)
    for k in range(K):
        left = masked = Fraction(0)
        for weight, row, path in _noisy_paths(*ROUND, s):
            slopes = [u * x for x in f.slopes(u, path[k])]
            masked += weight * sum(d * g**2 for d, g in zip(row, slopes, strict=True))
            for sign in (-1, 1):  # fresh noise of the step; the clients' parts do not mix
                moved = sum(d * (g + s * sign) ** 2 for d, g in zip(row, slopes, strict=True))
                left += weight * moved / 2
        assert left == masked + p * 2 * s**2
        r = model.exact_round(f, u, v, p, K, eta, Fraction(1), 2 * s**2)
        assert r.masked[k] == masked


def test_eq12_corrected():
    # Term by term for quadratic functions of curvature L: equality in every step.
    L, step, v, noise, d = sp.symbols("L eta_v v xi d")
    gradient = L * v
    moved = L * (v - step * d * (gradient + noise)) ** 2 / 2
    stated = L * v**2 / 2 - step * gradient * d * (gradient + noise)
    stated += step**2 * L / 2 * (d * (gradient + noise)) ** 2
    assert sp.expand(moved - stated) == 0
    # Others are below: cos has curvature at most 1.
    x, y = np.random.default_rng(0).uniform(-4.0, 4.0, (2, 1000))
    assert (np.cos(y) <= np.cos(x) - np.sin(x) * (y - x) + 0.5 * (y - x) ** 2 + 1e-14).all()
    # The sum, D idempotent, noise of mean zero.
    f, u, v, p, K, eta = ROUND
    f = model.Scalar((1, 1), (1, 0), (0, 3))
    r = model.exact_round(f, u, v, p, K, eta, u**2 / 2, Fraction(1, 2))
    right = r.value - r.after_V + r.eta_v**2 * K * r.L * p * r.variance / 2
    assert r.eta_v * (1 - r.eta_v * r.L / 2) * sum(r.masked) == right


def test_step_b_corrected():
    eta, L, x, g, sigma = sp.symbols("eta L x g sigma", positive=True)
    inner = x * g
    split = x**2 + x * (g - x)
    assert sp.expand(inner - split) == 0
    lemma = x**2 - eta * L / 2 * x**2 - (g - x) ** 2 / (2 * eta * L)
    square = (sp.sqrt(eta * L) * x + (g - x) / sp.sqrt(eta * L)) ** 2 / 2
    assert sp.simplify(split - lemma - square) == 0
    smooth = -eta * lemma + eta**2 * L / 2 * (g**2 + sigma**2)
    stated = -eta * (1 - eta * L / 2) * x**2 + eta**2 * L / 2 * (g**2 + sigma**2)
    stated += L / 2 * ((g - x) / L) ** 2  # at most L |V_k - V|^2/2
    assert sp.simplify(smooth - stated) == 0
    at_start = -eta * g**2 + eta**2 * L / 2 * (g**2 + sigma**2)
    assert sp.simplify(at_start + eta * (1 - eta * L / 2) * g**2 - eta**2 * L / 2 * sigma**2) == 0


@pytest.mark.parametrize("n", [1, 3])
def test_step_c_corrected(n):
    rng = np.random.default_rng(n)
    problem = model.drawn(rng, "cosine", n, 2)
    U, V = rng.standard_normal((2, 2)), rng.standard_normal((n, 2))
    new_U, p, K = U + 0.1 * rng.standard_normal((2, 2)), 0.3, 3
    s = model.theory.Setting(p, K, 0.3, 1.0, 1.0)
    everyone = pflmf_rounds.local_path(s, problem, U, V).means

    def apart(heads):
        return problem.factor_gradients(new_U, heads).in_V - problem.factor_gradients(U, heads).in_V

    D = patterns(n)
    for k in range(K):
        squares = []
        for row in D:
            heads = V.copy()
            for _ in range(k):
                moved = problem.factor_gradients(U, heads).in_V
                heads = heads - s.head_step_size * row[:, None] * moved
            # The participants' heads are those of everyone.
            np.testing.assert_allclose(row[:, None] * heads, row[:, None] * everyone[k])
            squares.append(np.sum((row[:, None] * apart(heads)) ** 2))
        expected = p * np.sum(apart(everyone[k]) ** 2)
        assert chances(D, p) @ squares == pytest.approx(expected)
    # Coefficients of the sum over k.
    h, L, K, p, moved, Y = sp.symbols("eta_v L K p moved Y", positive=True)
    alpha = h * K * L
    total = -h * (1 - alpha / 2) * Y + h * K * p * L**2 * moved / (2 * alpha) + h**2 * L / 2 * Y
    assert sp.simplify(total - (-h * (1 - h * (K + 1) * L / 2) * Y + p * L / 2 * moved)) == 0


def test_eq16_corrected():
    eta, L, p, K, k, j = sp.symbols("eta L p K k j", positive=True)
    x, step = eta * L, p * eta / K
    q = p * x
    a = q**2 / (1 + x)
    assert sp.simplify(step / a * K * p * L**2 * eta**2 - eta * (1 + x)) == 0
    assert sp.simplify(step**2 * L * K * p - p**3 / K * eta**2 * L) == 0
    assert sp.simplify(eta * (2 - x) - eta * (1 + x) - eta * (1 - 2 * x)) == 0
    # 4: sums over local steps.
    later = sp.summation(k, (k, j + 1, K - 1))
    assert sp.simplify(sp.expand(K * (K - 1) / 2 - later - j * (j + 1) / 2)) == 0
    squares = sp.summation(k**2, (k, 0, K - 1))
    assert sp.simplify(squares - K * (K - 1) * (2 * K - 1) / 6) == 0
    gradients = 2 + 2 * L**2 * step**2 * K * (K - 1) / 2
    assert sp.simplify(gradients - (2 + q**2 * (K - 1) / K)) == 0
    noise = 2 * L**2 * step**2 * squares
    assert sp.simplify(noise - q**2 * (K - 1) * (2 * K - 1) / (3 * K)) == 0
    # 5, over p, and the last bound, with z = 1/K.
    unit, half = (Fraction(0), Fraction(1)), (Fraction(0), Fraction(1, 2))

    def difference(p, x, z):  # over p
        q = p * x
        return 1 - (1 - p) * p * x**2 * (1 - z) - p * x**2 / (1 + x) / (1 - q * z / 2)

    assert holds(lambda p, x, z: 0 * p, difference, p=unit, x=half, z=unit)
    C = p + (1 - p) * (2 + q**2 * (K - 1) / K)
    found = difference(p, x, 1 / K) * p - (2 - a / (1 - q / (2 * K)) - C)
    assert sp.simplify(found) == 0
    left = sp.simplify(eta * p**2 * (1 - q / (2 * K)) * (2 - a / (1 - q / (2 * K))) / (p * K))
    assert sp.simplify(left - step * (2 - q / K - a)) == 0
    rest = eta * p**2 * (1 - p) * q**2 * (K - 1) * (2 * K - 1) / (3 * K**2)
    stated = eta**2 * L * (1 - p) * p**4 * x * (K - 1) * (2 * K - 1) / (3 * K**2)
    assert sp.simplify(rest - stated) == 0

    def others(p, x, z):  # c - 1, its factors (1 - z)(2 - z) as K has them
        return p**3 * z + (1 - p) * p**4 * x * (1 - z) * (2 - z) / 3

    bound = Fraction(101, 100)  # 1 is attained at p = 1, K = 1
    assert holds(others, lambda p, x, z: 0 * p + bound.numerator / 100, p=unit, x=half, z=unit)
    for p, x, K in product(np.linspace(0.01, 1.0, 50), (0.1, 0.5), STEPS):
        assert others(p, x, 1.0 / K) <= 1.0 + 1e-15
        assert others(p, x, 1.0 / K) <= p**3 / K + (1 - 1 / K) * (1 - p) * p**4 / 3 + 1e-15


def _cosine_rounds(rng, count):
    """Yield means of the mean of cos(u v_i - a_i): gradients not linear, noise +-s enumerated.

    Of two clients with noise of different sizes; L is valid for all U and V that the noise leads
    to.
    """
    while count:
        p, x = float(rng.choice([0.05, 0.3, 0.7, 1.0])), float(rng.choice([0.01, 0.2, 0.5]))
        K, u, v, a = int(rng.integers(1, 4)), rng.uniform(-2, 2), *rng.uniform(-2, 2, (2, 2))
        s, s_U = 10.0 ** rng.uniform(-2.0, 0.5) * rng.random(2), 10.0 ** rng.uniform(-2.0, 0.5)
        noise, L = max(np.sum(s**2), s_U**2), 1.0
        for _ in range(50):
            eta = x / L
            far = np.abs(v) + p * eta * (abs(u) / 2 + s)
            far_U = abs(u) + eta * (np.mean(np.abs(v)) + s_U)
            needed = max(np.sum(far**2) / 2, far_U**2 / 2, (1.0 + far_U * far.max()) / np.sqrt(2.0))
            if needed <= L:
                break
            L = needed
        else:
            continue
        step = p * eta / K

        def value(u, v, a=a):
            return np.mean(np.cos(u * v - a), axis=-1)

        def in_V(u, v, a=a):
            return -np.sin(u * v - a) * u / 2

        g = float(np.mean(-np.sin(u * v - a) * v))
        signs = np.array(list(product((-1.0, 1.0), repeat=2 * K))).reshape(-1, K, 2)
        r = dict.fromkeys(("mid", "both", "Y", "delta"), 0.0)
        apart = np.zeros(K)
        mid = u - eta * g
        for D in patterns(2):
            weight, heads = float(chances(D[None], p)[0]), np.tile(v, (len(signs), 1))
            for k in range(K):
                h = in_V(u, heads)
                r["delta"] += weight * np.mean(np.sum(h**2, axis=1)) / K
                r["Y"] += weight * np.mean(np.sum(D * h**2, axis=1))
                change = np.sum(D * (in_V(mid, heads) - h) ** 2, axis=1)
                apart[k] += weight * np.mean(change)
                heads = heads - step * D * (h + s * signs[:, k])
            r["mid"] += weight * np.mean(value(mid, heads))
            ends = (value(mid + sign * eta * s_U, heads) for sign in (-1.0, 1.0))
            r["both"] += weight * np.mean([np.mean(each) for each in ends])
        count -= 1
        r["apart"] = float(apart.max())
        yield p, x, K, eta, L, noise, g, value(u, v), value(mid, v), r


def test_steps_of_eq16_corrected_on_functions_that_are_not_quadratic():
    violated = 0
    for p, x, K, eta, L, noise, g, start, first, r in _cosine_rounds(np.random.default_rng(3), 150):
        q, step, room = p * x, p * eta / K, 1e-12
        a, unit = q**2 / (1 + x), eta**2 * L * noise
        assert eta * (2 - x) * g**2 <= 2 * (start - first) + room
        assert r["apart"] <= p * L**2 * eta**2 * g**2 + room
        left = step * (2 - a - q / K) * r["Y"] - eta * (1 + x) * g**2 - p**3 / K * unit
        assert left <= 2 * (first - r["mid"]) + room
        assert 2 * r["both"] <= 2 * r["mid"] + unit + room
        others = (1 - p) * q**2 * noise * (K - 1) * (2 * K - 1) / (3 * K)
        C = p + (1 - p) * (2 + q**2 * (K - 1) / K)
        assert K * r["delta"] <= C * r["Y"] / p + others + room
        violated += K * r["delta"] > r["Y"] / p + room  # as if others moved as well
        weight = eta * p**2 * (1 - q / (2 * K))
        c = 1 + p**3 / K + (1 - p) * p**4 * x * (K - 1) * (2 * K - 1) / (3 * K**2)
        left = eta * (1 - 2 * x) * g**2 + weight * r["delta"]
        assert left <= 2 * (start - r["both"]) + c * unit + room
    assert violated > 0


def test_theorem1_sharp():
    x, p, K, beta = sp.symbols("x p K beta", positive=True)
    q = p * x
    # 3: both weights of Y together; 5: what is left of 1 - q (K + 1)/(2K).
    assert sp.simplify(q / (2 * K) + q / 2 - q * (K + 1) / (2 * K)) == 0
    assert sp.simplify(1 - (K + 1) / (2 * K) - (K - 1) / (2 * K)) == 0
    # 4: the sums over local steps, and the factor with b = q beta.
    b = q * beta
    assert sp.simplify(1 + b + (1 + 1 / b) * q**2 * beta**2 - (1 + b) ** 2) == 0
    for steps in STEPS:
        j = np.arange(steps)
        assert max(np.sum(j[each + 1 :]) for each in j) <= steps * (steps - 1) / 2
        assert np.sum(j**2) == steps * (steps - 1) * (2 * steps - 1) / 6
    # 5: the inequality of the weights, divided by x, and its slope at 0.
    C = p + (1 - p) * (1 + b) ** 2
    both = 1 - p * x * (1 - beta**2) - (1 - x) * C
    left = (1 - x) * (1 - p) * (2 * p * beta + p**2 * x * beta**2)
    assert sp.simplify(both / x - (1 - p + p * beta**2 - left)) == 0
    slope = (1 - p) * p * beta * (p * beta - 2)
    assert sp.simplify(sp.diff(left, x).subs(x, 0) - slope) == 0
    # The noise of (A) for K > 1, with beta^2 <= 1/2.
    largest = sp.sqrt(2) / 2
    assert sp.Rational(4, 3) * largest * (1 + largest) < 1.61
    share = np.linspace(0, 1, 1001)
    assert (1 + share**3 * (3.11 - 1.61 * share)).max() <= 2.5 + 1e-12


def test_eq16_resummed():
    eta, L, p, K = sp.symbols("eta L p K", positive=True)
    x, step = eta * L, p * eta / K
    q = p * x
    b = q / sp.sqrt(2)
    # 3: with S the sum of the squares, (1 + b) S + (1 + 1/b)(q^2/2) S.
    assert sp.simplify(1 + b + (1 + 1 / b) * q**2 / 2 - (1 + q / sp.sqrt(2)) ** 2) == 0
    assert sp.simplify((1 + 1 / b) * q**2 / 2 - (q**2 / 2 + q / sp.sqrt(2))) == 0
    assert sp.simplify(L**2 * step**2 * K**2 / 2 - q**2 / 2) == 0
    # 1 and 2.
    factor = step * (1 - q / (2 * K)) - eta * L**2 / 2 * step**2 * K
    assert sp.simplify(factor - eta * p / K * (1 - q / (2 * K) - q * x / 2)) == 0
    noise = step**2 * L * K * p / 2 + eta * L**2 / 2 * step**2 * K * K * p + eta**2 * L / 2
    assert sp.simplify(noise / eta - x / 2 * (1 + p**3 / K + p**3 * x)) == 0
    unit = (Fraction(0), Fraction(1))
    half = (Fraction(0), Fraction(999, 1000))  # at p = x = z = 1 it is 0
    assert holds(
        lambda p, x, z: p * x * z / 2 + p * x**2 / 2, lambda p, x, z: 1 + 0 * p, p=unit, x=half,
        z=unit,
    )  # fmt: skip
    y, g = np.random.default_rng(0).standard_normal((2, 5))
    assert 2 * y @ g >= g @ g - (y - g) @ (y - g)
    for K in STEPS:
        k = np.arange(K)
        assert np.sum(k**2) <= K**3 / 3
        assert max(np.sum(k[j + 1 :]) for j in k) <= K**2 / 2


def test_theorem1_corrected():
    eta, L, T, gap, sigma = sp.symbols("eta L T gap sigma", positive=True)
    unit, half = (Fraction(0), Fraction(1)), (Fraction(0), Fraction(1, 2))
    # 1 - q/(2K) >= 1 - 2x, divided by x, with z = 1/K.
    assert holds(lambda p, z: p * z / 2, lambda p, z: 2 + 0 * p, p=unit, z=unit)
    start = 2 * gap / (eta * T * (1 - 2 * eta * L))
    noise = 2 * eta * L * sigma**2 / (1 - 2 * eta * L)
    corollary = {eta: 1 / (2 * L * sp.sqrt(T))}
    assert sp.simplify(start.subs(corollary) - 4 * L * gap / (sp.sqrt(T) - 1)) == 0
    assert sp.simplify(noise.subs(corollary) - sigma**2 / (sp.sqrt(T) - 1)) == 0
    assert sp.simplify(start.subs({eta: 1 / (4 * L)}) - 16 * L * gap / T) == 0
    # From the other sum.
    root = 0.70711  # not below 1/sqrt 2

    def weights(p, x):
        C = p + (1 - p) * (1 + p * x * root) ** 2
        return (1 - x) * C

    assert holds(weights, lambda p, x: 2 - p * x - p * x**2, p=unit, x=half)
    # The same by hand.
    p, x = sp.symbols("p x", positive=True)
    C, q = p + (1 - p) * (1 + p * x / sp.sqrt(2)) ** 2, p * x
    assert sp.expand(C - 1 - (1 - p) * (sp.sqrt(2) * q + q**2 / 2)) == 0
    assert sp.expand(2 - x - x**2 - (1 - x) * (2 + x)) == 0
    assert (np.sqrt(2.0) * 0.5 + 0.125) / 4.0 <= 1.0
    assert holds(
        lambda p, x: (1 - x) * (p * x / 2 + root), lambda p, x: 1.5 + 0 * p, p=unit, x=half
    )
    for p, x in product(np.linspace(0.0, 1.0, 101), np.linspace(0.0, 0.5, 51)):
        first = 1.0 - (1.0 - x) * (0.5 + 0.5 * p**3 * (1.0 + x))
        assert first >= 0.5 * (1.0 - p**3) - 1e-15
        assert 0.5 * (1.0 - p**3) >= 1.5 * (1.0 - p) * p**3 - 1e-15
        assert (1.0 - 2.0 * x) / (1.0 - x) <= 1.0 - x + 1e-15


def test_abstract_claims():
    numbers = corollary2.other_minimum(weighted=True)
    assert numbers["largest entry of the gradient"] == 0
    assert min(list(numbers.values())[1:]) > 0
    # The same numbers from the function itself.
    u, v = sp.symbols("u:2"), sp.symbols("v:2")
    A, w = ((1, sp.Rational(1, 2)), (sp.Rational(1, 2), 1)), sp.Rational(1, 10)
    F = sum((1 if i == j else w) * (v[i] * u[j] - A[i][j]) ** 2 for i, j in product((0, 1), (0, 1)))
    F, x, y = F / 4, sp.Rational(19, 22), sp.Rational(21, 22)
    at = dict(zip((*u, *v), (1, -1, x, -x), strict=True))
    assert all(sp.diff(F, each).subs(at) == 0 for each in (*u, *v))
    H = sp.hessian(F, (u[1], *v)).subs(at)
    minors = [H[:size, :size].det() for size in (1, 2, 3)]
    assert [str(each) for each in minors] == [str(each) for each in list(numbers.values())[1:4]]
    right = F.subs(dict(zip((*u, *v), (1, 1, y, y), strict=True)))
    assert str(F.subs(at) - right) == str(numbers["F less F at the right signs"])
    problem = corollary2._stuck(weighted=True)
    models = np.outer([19 / 22, -19 / 22], [1.0, -1.0])
    assert problem.value(models) == pytest.approx(float(F.subs(at)))


def test_local_steps():
    q, K, k = sp.symbols("q K k", positive=True)
    growth = sp.summation((1 + q / K) ** k, (k, 0, K - 1))
    stated = K / q * ((1 + q / K) ** K - 1)
    for size, steps in product((0.1, 0.5), (1, 2, 7)):
        values = {q: size, K: steps}
        assert float(growth.subs(values)) == pytest.approx(float(stated.subs(values)))
    rng = np.random.default_rng(0)
    for kind in ("cosine", "logistic", "own"):
        problem = model.drawn(rng, kind, 3, 2)
        U, V = rng.standard_normal((2, 2)), rng.standard_normal((3, 2))
        L = model.theory.local_smoothness(problem, U, V, 0.0, 0.0).own_V
        h = problem.factor_gradients(U, V).in_V
        moved = V - 0.4 / L * h
        new = problem.factor_gradients(U, moved).in_V
        assert np.linalg.norm(new - h) <= 0.4 * np.linalg.norm(h) * (1.0 + 1e-12)
        if kind != "cosine":
            inner = np.sum((new - h) * (moved - V))
            assert inner >= np.sum((new - h) ** 2) / L * (1.0 - 1e-9)
            assert np.sum(new**2) <= np.sum(h**2)


def test_example1():
    rng = np.random.default_rng(0)
    X, y, theta = rng.standard_normal((9, 3)), rng.choice([-1.0, 1.0], 9), rng.standard_normal(3)
    for loss in (lambda m: np.logaddexp(0.0, -m), lambda m: (1.0 - m) ** 2):
        assert np.mean(loss(y * (X @ theta))) == np.mean(loss(-y * (X @ -theta)))
        both = [np.mean(loss(y * (X @ s)) + loss(-y * (X @ s))) for s in (theta, -theta, 0 * theta)]
        assert both[0] == pytest.approx(both[1])
        assert both[2] <= both[0]
    np.testing.assert_allclose((y - X @ theta) ** 2, (1.0 - y * (X @ theta)) ** 2)
    one = example1_2_3.optimum("logistic", X, y, 0.1, rng)
    two = example1_2_3.optimum("logistic", X, -y, 0.1, rng)
    for norm in example1_2_3.NORMS:
        assert np.linalg.norm(one - two, norm) == pytest.approx(2.0 * np.linalg.norm(one, norm))


def test_example2():
    rng = np.random.default_rng(0)
    n, d, r = 12, 5, 3
    models = rng.standard_normal((r, d))
    A = models[rng.integers(0, r, n)]
    assert np.linalg.matrix_rank(A) <= r
    root = rng.standard_normal((d, d))
    root = root @ root.T + np.eye(d)
    problem = lr.QuadraticObjectives(A, root @ root)
    theta = rng.standard_normal((n, d))
    assert problem.value(theta) == pytest.approx(np.sum(((A - theta) @ root) ** 2) / (2 * n))
    U, s, W = np.linalg.svd(A @ root, full_matrices=False)
    best = (U[:, : r - 1] * s[: r - 1]) @ W[: r - 1] @ np.linalg.inv(root)
    assert np.linalg.matrix_rank(best) == r - 1
    tail = np.sum(s[r - 1 :] ** 2) / (2 * n)
    assert problem.value(best) == pytest.approx(tail)
    for _ in range(50):  # none of that rank is better
        other = rng.standard_normal((n, r - 1)) @ rng.standard_normal((r - 1, d))
        near = best + 0.1 * (other - best) if rng.random() < 0.5 else other
        V = np.linalg.svd(near, full_matrices=False)
        near = (V[0][:, : r - 1] * V[1][: r - 1]) @ V[2][: r - 1]
        assert problem.value(near) >= tail
    own = personalized.local(problem).state["theta"]
    np.testing.assert_allclose(own, A, atol=1e-6)


def test_participation():
    p = sp.symbols("p")
    for n in (1, 2, 3):
        rows = list(product((0, 1), repeat=n))
        weights = [sp.prod([p if each else 1 - p for each in row]) for row in rows]
        for i in range(n):
            mean = sum(w * row[i] for w, row in zip(weights, rows, strict=True))
            assert sp.expand(mean - p) == 0
        for number in range(n + 1):
            chosen = [row for row in rows if sum(row) == number]
            assert Fraction(sum(row[0] for row in chosen), len(chosen)) == Fraction(number, n)


def test_eq16_auxiliary():
    x, p, K = sp.symbols("x p K", positive=True)
    bound = x / (2 * K) * K - (1 - x * p * (K + 1) / (2 * K))
    assert sp.simplify(bound - (x / 2 * ((1 + p) * K + p) / K - 1)) == 0
    unit, half = (Fraction(0), Fraction(1)), (Fraction(0), Fraction(1, 2))
    assert holds(
        lambda x, p, z: x / 2 * (1 + p + z), lambda x, p, z: 0.76 + 0 * x, x=half, p=unit, z=unit
    )
    G = np.random.default_rng(0).standard_normal((4, 3))
    spread = 4 * np.sum((G - G.mean(axis=0)) ** 2)
    assert 4 * np.sum(G**2) - np.sum(G.sum(axis=0) ** 2) == pytest.approx(spread)


def test_eq1_2():
    w, losses = sp.symbols("w:3"), sp.symbols("l:3")
    true = sum(a * b for a, b in zip(w, losses, strict=True))
    for m in (1, 2):
        mean = 0
        for chosen in product(range(3), repeat=m):
            mean += sp.prod([w[j] for j in chosen]) * sum(losses[j] for j in chosen) / m
        mean = sp.expand(mean.subs(w[2], 1 - w[0] - w[1]))
        assert sp.expand(mean - true.subs(w[2], 1 - w[0] - w[1])) == 0


def test_eq3_4():
    n, d = 3, 2
    theta = sp.symbols(f"t:{d}")
    own = sp.symbols(f"o:{n * d}")
    functions = [sp.Function(f"f{i}") for i in range(n)]
    separate = sum(f(*own[d * i : d * i + d]) for i, f in enumerate(functions)) / n
    together = separate.subs({own[d * i + j]: theta[j] for i in range(n) for j in range(d)})
    assert together == sum(f(*theta) for f in functions) / n
    for j in range(d):
        along = sum(sp.diff(separate, own[d * i + j]) for i in range(n))
        along = along.subs({own[d * i + j]: theta[j] for i in range(n) for j in range(d)}).doit()
        assert sp.simplify(along - sp.diff(together, theta[j])) == 0


@pytest.mark.parametrize(("n", "d", "rank", "k"), [(1, 1, 1, 1), (4, 3, 1, 2), (3, 5, 3, 3)])
def test_eq5_6(n, d, rank, k):
    rng = np.random.default_rng(0)
    theta = rng.standard_normal((n, rank)) @ rng.standard_normal((rank, d))
    U, V = eq1_to_6._factors(theta, k)
    assert (U.shape, V.shape) == ((d, k), (n, k))
    np.testing.assert_allclose(V @ U.T, theta, atol=1e-12)
    for i in range(n):
        np.testing.assert_allclose((U @ V.T)[:, i], U @ V[i])


@pytest.mark.parametrize("n", [1, 2, 7])
def test_figure1(n):
    rng = np.random.default_rng(n)
    a, theta = rng.standard_normal((n, 2)) + 1.0, rng.standard_normal(2)
    mean = a.mean(axis=0)
    split = np.mean(np.sum((mean - a) ** 2, axis=1)) + np.sum((theta - mean) ** 2)
    assert np.mean(np.sum((theta - a) ** 2, axis=1)) == pytest.approx(split)
    u = np.linalg.svd(a)[2][0]
    line = np.outer(a @ u, u)
    best = np.sum((line - a) ** 2)
    assert best == pytest.approx(np.sum(np.linalg.svd(a, compute_uv=False)[1:] ** 2))
    for _ in range(50):
        w = rng.standard_normal(2)
        w /= np.linalg.norm(w)
        assert np.sum((np.outer(a @ w, w) - a) ** 2) >= best - 1e-12
    assert 0.0 <= best <= n * np.mean(np.sum((mean - a) ** 2, axis=1)) + 1e-12


def test_separable():
    U = sp.Matrix(2, 2, sp.symbols("u1:5"))
    V = sp.Matrix(2, 2, sp.symbols("v1:5"))
    g = [[sp.Function(f"g{i}{j}") for j in range(2)] for i in range(2)]
    models = [U * V[i, :].T for i in range(2)]
    by_rows = sum(g[i][j](models[i][j]) for i in range(2) for j in range(2)) / 2
    for a, b in product(range(2), repeat=2):
        assert sp.diff(by_rows, U[0, a], U[1, b]) == 0
        assert sp.diff(by_rows, V[0, a], V[1, b]) == 0
    coupled = sum(x.dot(x) / 2 + x[0] * x[1] for x in models) / 2
    assert sp.expand(sp.diff(coupled, U[0, 0], U[1, 0])) == (V[0, 0] ** 2 + V[1, 0] ** 2) / 2
    assert sp.expand(sp.diff(coupled, U[0, 0], U[0, 1])) != 0
    assert sp.expand(sp.diff(coupled, V[0, 0], V[1, 0])) == 0


def test_corollary2_sharp():
    G, N, s, T, x = sp.symbols("G N s T x", positive=True)
    bound = G / (x * (1 - x)) + N * x / (1 - x)
    at = bound.subs({x: 1 / (2 * sp.sqrt(T))})
    assert sp.simplify(at - (4 * T * G + N) / (2 * sp.sqrt(T) - 1)) == 0
    assert bound.subs({x: sp.Rational(1, 2), N: 0}) == 4 * G
    # The best step: N = G (s^2 - 1).
    gap = G + N * x**2 - 2 * G * (1 + s) * x * (1 - x)
    assert sp.expand(gap.subs(N, G * (s**2 - 1)) - G * (1 - (1 + s) * x) ** 2) == 0
    best = bound.subs({x: 1 / (1 + s), N: G * (s**2 - 1)})
    assert sp.simplify(best - 2 * G * (1 + s)) == 0
    # Attained: L(u + v)^2/2 at eta = 1/(2L), in fractions.
    for L, u, v, rounds in ((Fraction(3), Fraction(2), Fraction(-5), 4), (Fraction(1, 2), 1, 1, 1)):
        e, total = u + v, Fraction(0)
        start = L * Fraction(e) ** 2 / 2
        for _ in range(rounds):
            total += 2 * (L * e) ** 2  # of both gradients
            e -= 2 * L * e / (2 * L)
        assert total / rounds == 4 * L * start / rounds
