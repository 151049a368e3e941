"""Steps of pFL^MF's derivations that no check measures and no line says."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
import sympy as sp

from linrep.papers.pflmf import corollary2, model
from linrep.theory import pflmf, pflmf_rounds

STEPS = (1, 2, 5, 20, 200)


def patterns(n):
    return np.array(list(product((0.0, 1.0), repeat=n)))


def chances(D, p):
    return p ** D.sum(axis=1) * (1.0 - p) ** (D.shape[1] - D.sum(axis=1))


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


def test_eq11_corrected():
    f = model.Scalar((2, -1), (1, 0), (0, 3))
    u, v, p, K, eta = (
        Fraction(2, 3),
        [Fraction(1), Fraction(-1, 2)],
        Fraction(1, 3),
        2,
        Fraction(1, 4),
    )
    s = Fraction(1, 2)
    for k in range(K):
        left = masked = Fraction(0)
        for weight, row, path in _noisy_paths(f, u, v, p, K, eta, s):
            slopes = [u * x for x in f.slopes(u, path[k])]
            masked += weight * sum(d * g**2 for d, g in zip(row, slopes, strict=True))
            for sign in (-1, 1):  # fresh noise of the step; the clients' parts do not mix
                moved = sum(d * (g + s * sign) ** 2 for d, g in zip(row, slopes, strict=True))
                left += weight * moved / 2
        assert left == masked + p * 2 * s**2
        r = model.exact_round(f, u, v, p, K, eta, Fraction(1), 2 * s**2)
        assert r.masked[k] == masked


@pytest.mark.parametrize("n", [1, 3])
def test_step_c_corrected(n):
    rng = np.random.default_rng(n)
    problem = model.drawn(rng, "cosine", n, 2)
    U, V = rng.standard_normal((2, 2)), rng.standard_normal((n, 2))
    new_U, p, K = U + 0.1 * rng.standard_normal((2, 2)), 0.3, 3
    s = pflmf.Setting(p, K, 0.3, 1.0, 1.0)
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
