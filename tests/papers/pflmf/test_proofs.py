"""Steps of pFL^MF's derivations that no check measures and no line says."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
import sympy as sp

from linrep.papers.pflmf import corollary2, model, theorem1_sharp
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
    x, p, K, beta, c, a = sp.symbols("x p K beta c a", positive=True)
    q, s = p * x, p / K + 4 * p * (1 - p) * beta
    # 3: the first weight with (2c - 1) a = p^2.
    w_U = 1 - x / 2 - p**2 * x / (2 * a)
    assert sp.simplify(w_U.subs(a, p**2 / (2 * c - 1)) - (1 - c * x)) == 0
    # 4: the sums over local steps, and the factor with b = q beta.
    b = q * beta
    assert sp.simplify(1 + b + (1 + 1 / b) * q**2 * beta**2 - (1 + b) ** 2) == 0
    for steps in STEPS:
        j = np.arange(steps)
        assert max(np.sum(j[each + 1 :]) for each in j) <= steps * (steps - 1) / 2
        assert np.sum(j**2) == steps * (steps - 1) * (2 * steps - 1) / 6
    # 5: what is left of 1 - q/(2K) - a x/2, a = 2c - s.
    C = p + (1 - p) * (1 + b) ** 2
    left = 1 - q / (2 * K) - (2 * c - s) * x / 2 - (1 - c * x) * C
    factored = (1 - p) * p * beta * x**2 * (2 * c - p * beta + c * p * beta * x)
    assert sp.expand(left - factored) == 0
    # The best step: y = c x.
    G, N, r, y = sp.symbols("G N r y", positive=True)
    gap = (G / (y * (1 - y)) + N * y / (1 - y) - 2 * G * (1 + r)).subs(N, G * (r**2 - 1))
    assert sp.simplify(gap - G * (1 - (1 + r) * y) ** 2 / (y * (1 - y))) == 0
    # Attained: a round of one client with curvature 1, and the functions of Uv that tend to it.
    g, h = sp.symbols("g h")
    hessian = sp.ones(2, 2)
    after = 0
    for taking, chance in ((1, p), (0, 1 - p)):
        z = sp.Matrix([-x * g, -taking * p * x * h])
        after += chance * ((sp.Matrix([g, h]).T * z)[0] + (z.T * hessian * z)[0] / 2)
    stated = (1 - x / 2) * g**2 + p**2 * (1 - p * x / 2) * h**2 - p**2 * x * g * h
    assert sp.expand(-after / x - stated) == 0
    for p, c in theorem1_sharp.EXACT:
        assert (2 * c - 1) * (2 * c - p) == p**2
        squares, decrease = theorem1_sharp.steep(p, c, Fraction(1, 2), 10**6)
        limit, right = theorem1_sharp.one_round(p, Fraction(1, 2), c, 2 * c - p, 1, 1, 1)
        assert (1 - c / 2) * squares == pytest.approx(limit, rel=1e-4)
        assert decrease == pytest.approx(right, rel=1e-4)


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
