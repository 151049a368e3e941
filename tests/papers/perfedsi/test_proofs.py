"""The steps of PerFedSI's proofs, at random shapes and those at the edge."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
import sympy as sp

from linrep.papers.perfedsi import _slowest, eq44_to_50, eq47_to_52
from linrep.papers.perfedsi._instances import longest_steps
from linrep.papers.perfedsi._states import edge, unbalanced
from linrep.papers.perfedsi._terms import after_a_step, sharp_iterates
from linrep.papers.perfedsi.definition_c03 import _one_row
from linrep.problems import SideInformationCompletion
from linrep.theory import perfedsi as theory
from linrep.theory.perfedsi_rounds import State, Walks, progress, sequences

# M, d, k, r: fewer items than directions, single ones, and r = k = d among them.
SHAPES = ((6, 5, 3, 2), (3, 4, 3, 3), (7, 3, 5, 2), (9, 4, 1, 1), (4, 1, 2, 1), (1, 3, 1, 1))
ROOM = 1.0 + 1e-9


def norm(A, order="fro"):
    return float(np.linalg.norm(A, order if np.ndim(A) == 2 else None))


def smallest(A):
    return float(np.linalg.svd(A, compute_uv=False)[min(A.shape) - 1])


def draw(shape, rng, error=1.0, tilt=1.0):
    """Return Z, U*, V*, U, V, E, and S, c_z with roots of S and its inverse."""
    n, d, p, k = shape
    while True:
        Z = rng.standard_normal((max(n, p), p))
        if np.linalg.cond(Z) < 1e3:
            break
    stars = [rng.standard_normal((rows, k)) for rows in (d, p)]
    U, V = (
        size * (star + error * rng.standard_normal(star.shape))
        for size, star in zip((tilt, 1.0 / tilt), stars, strict=True)
    )
    S = Z.T @ Z / len(Z)
    values, frame = np.linalg.eigh(S)
    c_z = max(values[-1], 1.0 / values[0], 1.0)
    root = frame * np.sqrt(values) @ frame.T
    return Z, stars[0] @ stars[1].T, U, V, U @ V.T - stars[0] @ stars[1].T, S, root, c_z


@pytest.fixture(params=product(SHAPES, range(3)), ids=str)
def state(request, fresh_rng):
    return draw(request.param[0], fresh_rng, tilt=2.0 ** fresh_rng.uniform(-2, 2))


def test_eq11_13(state):
    Z, _star, U, V, E, S, *_ = state
    d, (u, w) = len(U), (sp.symbols("u:2"), sp.symbols("v:2"))
    z, y = sp.symbols("z y")
    half = (u[0] * w[0] * z + u[1] * w[1] * z - y) ** 2 / 2  # k = 1, r = 2
    x = u[0] * w[0] * z + u[1] * w[1] * z - y
    assert all(sp.expand(sp.diff(half, u[j]) - x * w[j] * z) == 0 for j in (0, 1))
    assert all(sp.expand(sp.diff(half, w[j]) - x * z * u[j]) == 0 for j in (0, 1))
    steps_U, steps_V = 0.0, 0.0
    for z_m in Z:
        x, v = E @ z_m, V.T @ z_m
        in_U = sum(x[i] * np.outer(np.eye(d)[i], v) for i in range(d)) / d
        in_V = sum(x[i] * np.outer(z_m, U[i]) for i in range(d)) / d
        # The client's gradient over d.
        np.testing.assert_allclose(in_U, np.outer(E @ z_m, V.T @ z_m) / d, atol=1e-12)
        np.testing.assert_allclose(in_V, np.outer(z_m, U.T @ E @ z_m) / d, atol=1e-12)
        steps_U, steps_V = steps_U + in_U / len(Z), steps_V + in_V / len(Z)
    np.testing.assert_allclose(d * steps_U, E @ S @ V, atol=1e-11)
    np.testing.assert_allclose(d * steps_V, S @ E.T @ U, atol=1e-11)
    # The j-th participant is each client equally often, with replacement or without.
    for replacement in (True, False):
        draws = [
            chosen for chosen in product(range(4), repeat=3)
            if replacement or len(set(chosen)) == 3
        ]  # fmt: skip
        for j in range(3):
            counts = np.bincount([chosen[j] for chosen in draws], minlength=4)
            assert (counts == len(draws) / 4).all()


def test_remark2_2(state):
    Z, _, _, V, *_ = state
    for b in (np.zeros(V.shape[1]), np.ones(V.shape[1])):
        assert all(((0.0 * V).T @ z + b == b).all() for z in Z)


def test_assumption3_2(fresh_rng):
    for k, power in product((1, 2, 5, 16), (0.0, 0.5)):
        Z = fresh_rng.standard_normal((3 * k, k))
        Z *= k**power / np.linalg.norm(Z, axis=1, keepdims=True)
        values = np.linalg.eigvalsh(Z.T @ Z)
        assert values.sum() == pytest.approx(3 * k * k ** (2 * power))
        assert 3 * k / values[0] * ROOM >= k ** (1 - 2 * power)


def test_lower_bound_corrected():
    d, M, r, left = sp.symbols("d M r left", positive=True)
    # (d + M) r - left r = (M - left) r + d r, both not negative where left = d k^(3/2) <= M.
    assert sp.expand((d + M) * r - left * r - (M - left) * r - d * r) == 0


def test_definitionc3_corrected(state):
    Z, star, U, V, E, _S, root, c_z = state
    values = np.linalg.svd(star, compute_uv=False)
    loss = norm(E @ Z.T) ** 2 / (2 * len(Z))
    assert norm(E, 2) <= norm(E @ root) * norm(np.linalg.inv(root), 2) * ROOM
    assert norm(np.linalg.inv(root), 2) <= np.sqrt(c_z) * ROOM
    assert norm(E @ root) == pytest.approx(np.sqrt(2.0 * loss))
    assert norm(U, 2) * norm(V, 2) >= (values[0] - norm(E, 2)) / ROOM
    errors = Z @ E.T
    mu = len(U) * np.max(errors**2 / np.sum(errors**2, axis=1, keepdims=True))
    for row in E:
        square = np.sum((Z @ row) ** 2)
        assert square <= mu / len(U) * norm(E @ Z.T) ** 2 * ROOM
        assert square * ROOM >= len(Z) / c_z * (row @ row)
    assert norm(E @ Z.T) ** 2 <= c_z * len(Z) * norm(E) ** 2 * ROOM
    assert norm(E) ** 2 <= E.shape[1] * norm(E, 2) ** 2 * ROOM


def test_lemmac5_corrected(state, fresh_rng):
    Z, star, U, V, E, _S, root, c_z = state
    k = U.shape[1]
    for error in (1.0, 1e-2, 1e-4):
        E = error * E if error < 1.0 else E
        U, V = (U, V) if error == 1.0 else _nearby(star, k, error, fresh_rng)
        E = U @ V.T - star
        _both_gradients(star, U, V, E, root, c_z)
        _twentieth(Z, star, U, V, E)
        _near(star, U, V, E, root, c_z)
    _flat(fresh_rng)


def _nearby(star, k, error, rng):
    left, values, right = np.linalg.svd(star)
    U, V = left[:, :k] * values[:k] / 3.0, 3.0 * right[:k].T
    return U + error * rng.standard_normal(U.shape), V + error * rng.standard_normal(V.shape)


def _both_gradients(star, U, V, E, root, c_z):
    k = U.shape[1]
    other = np.eye(len(U)) - U @ np.linalg.pinv(U)
    error, heads, truth = E @ root, root @ V, star @ root
    in_U, in_V = E @ root @ root @ V, root @ root @ E.T @ U
    np.testing.assert_allclose(in_U, error @ heads, atol=1e-9)
    np.testing.assert_allclose(in_V, root @ error.T @ U, atol=1e-9)
    np.testing.assert_allclose(other @ error, -other @ truth, atol=1e-9)
    X, values, Y = np.linalg.svd(truth, full_matrices=False)
    X, values, Y = X[:, :k], values[:k], Y[:k].T
    np.testing.assert_allclose(other @ truth @ heads, other @ X * values @ (Y.T @ heads), atol=1e-9)
    assert norm(in_U) * ROOM >= norm(other @ error @ heads)
    assert norm(other @ error @ heads) * ROOM + 1e-12 >= smallest(Y.T @ heads) * norm(other @ error)
    inside = error - other @ error
    assert norm(in_V) * ROOM >= norm(U.T @ inside) / np.sqrt(c_z)
    assert norm(U.T @ inside) * ROOM + 1e-12 >= smallest(U) * norm(inside)
    assert norm(inside) ** 2 + norm(other @ error) ** 2 == pytest.approx(norm(error) ** 2)


def _twentieth(Z, star, U, V, E):
    k = U.shape[1]
    Y = np.linalg.svd(star @ Z.T)[2][:k].T
    frame = np.linalg.svd(star)[0][:, :k]
    gradient = norm(E @ Z.T @ Z @ V) ** 2 + norm(Z.T @ Z @ E.T @ U) ** 2  # M^2 times it
    assert smallest(U) * ROOM >= smallest(frame.T @ U)
    least = min(smallest(Y.T @ Z @ V) ** 2, smallest(Z) ** 2 * smallest(U) ** 2)
    assert gradient * ROOM >= least * norm(E @ Z.T) ** 2


def _near(star, U, V, E, root, c_z):
    k = U.shape[1]
    weakest = np.linalg.svd(star, compute_uv=False)[k - 1]
    truth, error, heads = star @ root, E @ root, root @ V
    Y = np.linalg.svd(truth)[2][:k].T
    least = np.linalg.svd(truth, compute_uv=False)[k - 1]
    assert least * ROOM >= weakest / np.sqrt(c_z)
    assert smallest(U @ heads.T @ Y) * ROOM + 1e-12 >= least - norm(error, 2)
    assert smallest(Y.T @ heads) * norm(U, 2) * ROOM >= smallest(U @ heads.T @ Y)
    product_of = np.linalg.svd(U @ V.T, compute_uv=False)[k - 1]
    assert product_of * ROOM + 1e-12 >= weakest - norm(E, 2)
    assert smallest(U) * norm(V, 2) * ROOM >= product_of
    if norm(error) <= weakest / (4.0 * np.sqrt(c_z)):
        gradient = norm(E @ root @ root @ V) ** 2 + norm(root @ root @ E.T @ U) ** 2
        bound = 9 / 8 * weakest**2 / (c_z * max(norm(U, 2), norm(V, 2)) ** 2)
        assert gradient * ROOM >= bound * 0.5 * norm(error) ** 2


def _flat(rng):
    d, p, k = 5, 4, 2
    *_, root, _ = draw((8, d, p, k), rng)
    U = 3.0 * np.linalg.qr(rng.standard_normal((d, k)))[0]
    V = rng.standard_normal((p, k))
    w = np.linalg.svd(root @ V)[2][-1]
    x = np.linalg.svd(U.T)[2][-1] * 1e-6
    E, moved = np.outer(x, V @ w), U + np.outer(x, w)
    gradient = norm(E @ root @ root @ V) ** 2 + norm(root @ root @ E.T @ moved) ** 2
    least = smallest(root @ V)
    assert norm(E @ root) ** 2 == pytest.approx(1e-12 * least**2)
    assert gradient / (0.5 * norm(E @ root) ** 2) == pytest.approx(2.0 * least**2)


def test_lemmac6(state, fresh_rng):
    _, star, U, V, E, S, _, c_z = state
    A, B = (fresh_rng.standard_normal(F.shape) for F in (U, V))
    in_U = (A @ V.T + U @ B.T) @ S @ V + E @ S @ B
    in_V = S @ (A @ V.T + U @ B.T).T @ U + S @ E.T @ A

    def gradient(t):
        X, Y = U + t * A, V + t * B
        return (X @ Y.T - star) @ S @ Y, S @ (X @ Y.T - star).T @ X

    h = 1e-5
    for derivative, plus, minus in zip((in_U, in_V), gradient(h), gradient(-h), strict=True):
        scale = norm(derivative) + norm(plus)
        assert norm((plus - minus) / (2 * h) - derivative) <= 1e-5 * scale
    top = norm(star, 2)
    c = max(norm(U, 2), norm(V, 2)) / np.sqrt(top)
    assert norm(E, 2) <= (c**2 + 1) * top * ROOM
    a, b = norm(A), norm(B)
    assert norm(in_U) <= c_z * top * (c**2 * a + (2 * c**2 + 1) * b) * ROOM
    assert norm(in_V) <= c_z * top * ((2 * c**2 + 1) * a + c**2 * b) * ROOM
    both = np.array([[c**2, 2 * c**2 + 1], [2 * c**2 + 1, c**2]])
    assert norm(both, 2) == pytest.approx(3 * c**2 + 1)
    x, unit, scale = sp.symbols("x sigma_1 c_z", positive=True)
    f = scale * x * (x**2 + unit)
    assert sp.expand(sp.diff(f, x) - scale * (3 * x**2 + unit)) == 0
    y, share = sp.symbols("c h", positive=True)
    rest = 3 * y**2 * (1 - share) ** 2 + 1 - (1 - share) ** 2 * (3 * y**2 + 1)
    assert sp.expand(rest - share * (2 - share)) == 0  # not negative for h <= 1
    a = sp.symbols("a", positive=True)  # c^2
    root = sp.sqrt(2) / 7
    room = sp.expand(16 * a**2 + 2 - (3 * a + 1) ** 2)
    assert room == sp.expand(7 * a**2 - 6 * a + 1)
    assert sp.solve(room, a) == [sp.Rational(3, 7) - root, sp.Rational(3, 7) + root]
    assert room.subs(a, 1) > 0
    beyond = 5 * a**2 - 4 * a + sp.Rational(1, 2)
    assert max(sp.solve(beyond, a)) < sp.Rational(65, 100)
    for on_U, rest in ((4, beyond), (8, sp.Rational(13, 2) * a**2 - 4 * a + sp.Rational(3, 4))):
        share = sp.Rational(1, on_U) + (2 * a + 1) ** 2 / (12 * a**2 + 2) - 1
        assert sp.simplify(share + rest / (12 * a**2 + 2)) == 0
    assert sp.discriminant(rest, a) < 0
    room = sp.expand(20 * a**2 + 2 - (3 * a + 1) ** 2)
    assert room == sp.expand(11 * a**2 - 6 * a + 1)
    assert sp.discriminant(room, a) < 0


def test_lemmac7_corrected(state, fresh_rng):
    Z, _star, U, V, E, _S, *_ = state
    d = len(U)
    z = Z[0]
    x, v = E @ z, V.T @ z
    # Means over the item.
    in_U = [x[i] * np.outer(np.eye(d)[i], v) for i in range(d)]
    in_V = [x[i] * np.outer(z, U[i]) for i in range(d)]
    assert sum(norm(y) ** 2 for y in in_U) == pytest.approx((x @ x) * (v @ v))
    assert norm(sum(in_U)) == pytest.approx(np.sqrt((x @ x) * (v @ v)))
    rows = np.sum(U**2, axis=1)
    assert sum(norm(y) ** 2 for y in in_V) == pytest.approx((z @ z) * np.sum(x**2 * rows))
    assert norm(sum(in_V)) == pytest.approx(norm(z) * norm(U.T @ x))
    assert norm(v) <= norm(V, 2) * norm(z) * ROOM
    assert norm(U.T @ x) <= norm(U, 2) * norm(x) * ROOM
    # Means over C independent participants of one law; Jensen over the steps.
    for C in (1, 2, 3):
        values = fresh_rng.standard_normal((4, 2))
        mean = np.mean(
            [norm(values[list(draw)].mean(axis=0)) ** 2 for draw in product(range(4), repeat=C)]
        )
        square, centre = np.mean(np.sum(values**2, axis=1)), norm(values.mean(axis=0)) ** 2
        assert mean == pytest.approx(square / C + (1 - 1 / C) * centre)
        steps = fresh_rng.standard_normal((C, 3))
        assert norm(steps.sum(axis=0)) ** 2 <= C * np.sum(steps**2) * ROOM
    # Equal entries of x and U, k = r = 1.
    u, e = np.full(d, 0.5), np.full(d, 0.1)
    assert np.sum(e**2 * u**2) / d == pytest.approx((e @ e) * (u @ u) / d**2)


def test_eq44_50_corrected(state):
    Z, star, U, V, E, *_ = state
    d = len(U)
    for z in Z:
        x, v = E @ z, V.T @ z
        in_U = sum(x[i] * np.outer(np.eye(d)[i], v) for i in range(d)) / d
        in_V = sum(x[i] * np.outer(z, U[i]) for i in range(d)) / d
        np.testing.assert_allclose(in_U, np.outer(x, v) / d, atol=1e-12)
        np.testing.assert_allclose(in_V, np.outer(z, U.T @ x) / d, atol=1e-12)
        # (44) to (46) as they are printed, with these means.
        first = star @ np.outer(z, z) @ in_V
        second = U @ in_V.T @ np.outer(z, z) @ V
        third = in_U @ V.T @ np.outer(z, z) @ V
        assert norm(first) == pytest.approx((z @ z) * norm(star @ z) * norm(U.T @ x) / d)
        assert norm(second) == pytest.approx((z @ z) * norm(U @ U.T @ x) * norm(v) / d)
        assert norm(third) == pytest.approx(norm(x) * norm(v) ** 3 / d)
        assert norm(U @ U.T @ x) <= norm(U, 2) ** 2 * norm(x) * ROOM
        assert norm(star @ z) <= norm(star, 2) * norm(z) * ROOM
        assert norm(v) <= norm(V, 2) * norm(z) * ROOM
        assert np.all(np.abs(U @ v) <= np.linalg.norm(U, axis=1) * norm(v) * ROOM)


def test_privacy_corrected(state):
    Z, star, U, V, *_ = state
    z, d, eta = Z[0], len(U), 0.1
    items = [0, d - 1, 0]
    walk_U, walk_V, row = U.copy(), V.copy(), 0.0
    for place, item in enumerate(items):
        u, v = walk_U[item].copy(), walk_V.T @ z
        rho = u @ v - star[item] @ z
        walk_U[item] -= eta * rho * v
        walk_V = walk_V - eta * rho * np.outer(z, u)
        row = row + eta * rho * u
        if place == 0:
            found = (V - walk_V) @ U[item] / (eta * U[item] @ U[item])
            np.testing.assert_allclose(found, rho * z, atol=1e-9 * norm(rho * z))
            for sign in (1.0, -1.0):
                guess = sign * found * norm(z) / norm(found)
                rating = U[item] @ V.T @ guess - sign * norm(found) / norm(z)
                assert abs(rating) == pytest.approx(abs(star[item] @ z))
    np.testing.assert_allclose(walk_V - V, -np.outer(z, row), atol=1e-9 * norm(walk_V))
    assert set(np.flatnonzero(np.any(walk_U != U, axis=1))) == set(items)


def test_eq3_bias(fresh_rng):
    A, a = fresh_rng.standard_normal((3, 5)), fresh_rng.standard_normal(3)
    g, w = fresh_rng.standard_normal((2, 3)), fresh_rng.standard_normal((2, 2))
    for i, j in product((0, 1), repeat=2):
        whole = A @ np.concatenate([g[i], w[j]]) + a
        np.testing.assert_allclose(whole, A[:, :3] @ g[i] + (A[:, 3:] @ w[j] + a))
    # Vanishing mixed differences: f(g, w) = [f(g, w_0)] + [f(g_0, w) - f(g_0, w_0)].
    f = sp.Matrix(2, 2, sp.symbols("f:4"))
    mixed = f[0, 0] - f[0, 1] - f[1, 0] + f[1, 1]
    assert sp.expand(f[1, 1] - (f[1, 0] + f[0, 1] - f[0, 0]) - mixed) == 0


def test_one_hot():
    B, W, x = (
        sp.Matrix(*shape, sp.symbols(f"{name}:{shape[0] * shape[1]}"))
        for name, shape in (("b", (3, 2)), ("w", (4, 2)), ("x", (3, 1)))
    )
    for m in range(4):
        z = sp.Matrix(4, 1, [int(place == m) for place in range(4)])
        masked = (B.T * x).multiply_elementwise(W.T * z)
        assert sp.expand(sum(masked) - (W[m, :] * B.T * x)[0]) == 0


def test_lemmac11_corrected(state, fresh_rng):
    Z, star, U, V, E, *_ = state
    z, eta = Z[0], 0.05
    x, v, d = E @ z, V.T @ z, len(U)
    weights = fresh_rng.random(d)
    sums_U, sums_V = np.zeros(U.shape), np.zeros(V.shape)
    for i, weight in enumerate(weights):
        e = np.eye(d)[i]
        after_U = U - eta * x[i] * np.outer(e, v)
        after_V = V - eta * x[i] * np.outer(z, U[i])
        later, heads = (after_U @ after_V.T - star) @ z, after_V.T @ z
        np.testing.assert_allclose(heads - v, -eta * x[i] * (z @ z) * U[i], atol=1e-9)
        move = (v @ heads) * e + (z @ z) * U @ U[i]
        np.testing.assert_allclose(later - x, -eta * x[i] * move, atol=1e-9)
        parts_U = (
            (v @ heads) * np.outer(e, heads) + (z @ z) * np.outer(U @ U[i], heads)
            + (z @ z) * np.outer(x, U[i])
        )  # fmt: skip
        row = (v @ heads) * (U[i] - eta * x[i] * v) + (z @ z) * U[i] @ U.T @ after_U + x[i] * v
        changes = np.outer(later, heads) - np.outer(x, v), np.outer(z, later @ after_U - x @ U)
        np.testing.assert_allclose(changes[0], -eta * x[i] * parts_U, atol=1e-8)
        np.testing.assert_allclose(changes[1], -eta * x[i] * np.outer(z, row), atol=1e-8)
        sums_U += weight * x[i] * parts_U
        sums_V += weight * x[i] * np.outer(z, row)
    # The bounds of the terms, with the norms that there are in the place of those of the event.
    size = norm(x)
    assert norm(U.T @ (x * weights)) <= norm(U, 2) * size * ROOM
    nu = max(norm(v), max(norm(v - eta * x[i] * (z @ z) * U[i]) for i in range(d)))
    rows = np.max(np.sum(U**2, axis=1))
    top, length = norm(U, 2), norm(z)
    assert np.sum(x**2 * np.sum(U**2, axis=1)) <= size**2 * rows * ROOM
    in_U = nu**3 + length**2 * top**2 * nu + eta * length**4 * top * size * rows
    in_U += length**2 * size * top
    assert norm(sums_U) <= size * in_U * ROOM
    in_V = length * nu**2 * (top + eta * size * nu) + length * size * nu
    in_V += length**3 * (top**3 + eta * size * rows * nu)
    assert norm(sums_V) <= size * in_V * ROOM


def test_lemmac11_corrected_arithmetic():
    # Exponents are those of c, c_z, mu, k, r: all at least 1, and all that is small is 1/132.
    small = Fraction(1, 132)
    assert 3 + 1 + 2 * (2 * small) <= Fraction(404, 100)
    assert np.exp(2 / 132) <= 1.0153
    assert 4.04 * 1.0153 * np.sqrt(2) <= 6.0
    assert 4 * small <= Fraction(1, 33)
    assert Fraction(32, 33) >= Fraction(1, 33)
    # sqrt(2) 6 (tau^2/2) with |grad L| <= 2 c sqrt(c_z sigma_1 L): 6 sqrt(2) <= 9.
    assert 6.0 * np.sqrt(2.0) <= 9.0
    c, r, mu = sp.symbols("c r mu", positive=True)
    gap = 4 * r * c**2 * mu - (2 * c**2 + r * (c**2 + mu))
    shifted = sp.Poly(sp.expand(gap.subs({c: c + 1, r: r + 1, mu: mu + 1})), c, r, mu)
    assert min(shifted.coeffs()) >= 0  # for c, r, mu of 1 or more
    assert 2 * 2 * 4 <= 16
    assert 9 + 16 <= 25
    assert Fraction(9, 8) - 25 * small >= Fraction(1, 2)
    beta = sp.Poly(sp.expand((4 * c**2 - (3 * c**2 + 1)).subs(c, c + 1)), c)
    assert min(beta.coeffs()) >= 0


def test_lemmac11_corrected_rounds():
    """The stopped moves, their mean, and the whole bound, by enumeration."""
    for c in (1.0, 3.0):
        state = unbalanced(c, 2.0, d=4, p=4, c_z=2.0)
        limits = Walks(state, sequences(4, 2), 0.0).limits()
        setting = state.setting(limits)
        eta = theory.step_size_limit(setting, 2, c_power=7.0, condition_power=1.0)
        walks = Walks(state, sequences(4, 2), eta)
        kept = walks.kept(limits, 1)
        mean = walks.mean(walks.gradients(1)[0], kept)
        start = walks.mean(walks.gradients(0)[0], kept)
        unit = (setting.p * setting.mu * setting.largest) ** 1.5 * np.sqrt(state.loss)
        assert np.linalg.norm(mean - start) <= 6 * eta / 4 * setting.c**3 * unit
        steep = np.hypot(*(np.linalg.norm(part) for part in state.gradients))
        assert steep <= 2 * setting.c * np.sqrt(setting.c_z * setting.largest * state.loss)
        move = max(np.sqrt(sum(np.sum(part[m, w] ** 2) for part in walks.shifts[-1]))
                   for m, w in np.ndindex(kept.shape))  # fmt: skip
        assert steep * move <= state.loss / 33


def _stopped(walks, limits):
    """Return the moves of all walks, which stand still once they have left the event."""
    moves = [0.0 * part for part in walks.shifts[0]]
    for s in range(walks.steps):
        kept = walks.kept(limits, s)[..., None, None]
        moves = [
            move + kept * (after - before)
            for move, after, before in zip(moves, walks.shifts[s + 1], walks.shifts[s], strict=True)
        ]
    return moves


@pytest.mark.parametrize(("d", "c", "steps"), [(2, 1.0, 1), (4, 2.0, 2), (4, 1.0, 3), (2, 2.0, 3)])
def test_lemmac11_corrected_stopped_walks(d, c, steps):
    """(c), (d), (e) and the round, where every other item leads out: one client, C = 1."""
    state, limits = edge(d, c=c)
    s = state.setting(limits)
    eta = theory.step_size_limit(s, steps, c_power=7.0, condition_power=1.0)
    walks = Walks(state, sequences(d, steps), eta)
    out = 1.0 - float(walks.kept(limits, steps).mean())
    assert 0.0 < out < 1.0
    moves, loss = _stopped(walks, limits), state.loss
    slope = sum(
        np.sum(gradient * move.mean(axis=(0, 1)))
        for gradient, move in zip(state.gradients, moves, strict=True)
    )
    square = sum(np.sum(gradient**2) for gradient in state.gradients)
    drift = 9.0 * (eta * steps / d) ** 2 * s.c**4 * s.mu**1.5 * loss  # c_z, k, r, sigma_1 are 1
    assert slope + eta * steps / d * square <= drift + loss * out / 33.0
    beta, moment = 3.0 * s.c**2 + 1.0, np.mean(sum(np.sum(move**2, axis=(2, 3)) for move in moves))
    assert 0.5 * beta * moment <= 16.0 * (eta * steps) ** 2 / d * s.mu**2 * s.c**5 * loss
    # The bracket of (c) on every walk, and its mean over those that stay, in what they gain.
    each = sum(
        np.sum(gradient * move, axis=(2, 3))
        for gradient, move in zip(state.gradients, moves, strict=True)
    )
    assert np.all(np.abs(each) <= loss / 33.0)
    kept = walks.kept(limits, steps)
    for move, end in zip(moves, walks.shifts[-1], strict=True):
        np.testing.assert_array_equal(move[kept > 0.0], end[kept > 0.0])
    assert np.all((-state.gain(*moves) - each) * kept <= 0.5 * beta * sum(
        np.sum(move**2, axis=(2, 3)) for move in moves
    ) + 1e-15 * loss)  # fmt: skip


def test_lemmac10_corrected():
    tau = sp.symbols("tau", positive=True)
    s = sp.symbols("s", integer=True)
    total = sp.summation(s, (s, 0, tau - 1))
    assert sp.expand(total - tau * (tau - 1) / 2) == 0
    assert 6.0 * np.sqrt(2.0) / 2.0 <= 10.0
    # The drift under the event of all clients, at one of the shortest steps that lead out of it.
    state, limits = edge(4)
    setting = state.setting(limits)
    eta = 1.0 / (132.0 * 2 * setting.p * setting.k * setting.mu**2 * setting.c**2)
    walks = Walks(state, sequences(4, 2), eta)
    unit = setting.c**3 * (setting.p * setting.mu) ** 1.5 * np.sqrt(state.loss)
    for s_ in (0, 1, 2):
        in_U, in_V, chance = walks.drift(limits, s_)
        assert s_ == 0 or chance < 1.0
        assert max(norm(in_U), norm(in_V)) <= (6.0 * s_ * eta / 4 + 1e-12) * unit


def test_eq47_51_corrected():
    """By matrices; then the families at which bounds are attained, and the ones of others."""
    found = [max(ratios) for ratios in zip(*map(_higher_order, sharp_iterates()), strict=True)]
    np.testing.assert_allclose(found, 1.0, rtol=0.01)
    for name, of in (("terms", eq44_to_50), ("terms", eq47_to_52)):
        at = next(iter(sharp_iterates()))
        assert len(getattr(of, name)(at)) == len(of.NAMES)


def _higher_order(at):
    powers = {"two": 2, "loss_power": 1, "c_power": 2, "mu_power": 2, "mu_U_power": 0.5}
    right = eq47_to_52.bounds(at, **powers, cube_power=1)
    means = [np.zeros(at.U.shape) for _ in range(4)]
    d = len(at.U)
    for share, z, x, v in at.clients:
        zz = np.outer(z, z)
        for i, e in enumerate(np.eye(d)):
            G, H = np.outer(e * x[i], v), x[i] * np.outer(z, at.U[i])
            for mean, product_of in zip(
                means,
                (G @ H.T @ zz @ at.V, G @ at.V.T @ zz @ H, at.U @ H.T @ zz @ H, G @ H.T @ zz @ H),
                strict=True,
            ):
                mean += share * product_of
    sizes = [norm(mean) for mean in means]
    np.testing.assert_allclose(
        sizes, [eq47_to_52.terms(at)[place] / 1.0 for place in (0, 1, 2, 4)], rtol=1e-9
    )
    return [size / right[place] for size, place in zip(sizes, (0, 1, 2, 4), strict=True)]


def test_an_iterate_after_a_step_is_that():
    """Of (11) and (12), with all constants that it names."""
    for side in ("U", "V", "both"):
        at = after_a_step(4.0, 3, 2.0, side)
        loss = sum(share * (x @ x) / 2 for share, _, x, _ in at.clients)
        assert loss / at.loss == pytest.approx(4.0, rel=0.01)
        assert at.c == pytest.approx(4.0, rel=0.01)
        assert at.mu_z == pytest.approx(max(z @ z for z in at.Z) / 3)
        assert max(norm(at.U, 2), norm(at.V, 2)) <= at.c * ROOM


def test_eq52_corrected():
    x = sp.symbols("x", nonnegative=True)
    eta, root, k, r, mu, d = sp.symbols("eta root k r mu d", positive=True)
    unit = eta * k ** sp.Rational(3, 2) * mu ** sp.Rational(3, 2) * root / d
    terms = 3 * eta**2 * k**2 * sp.sqrt(r) * mu**3 * root**2 / d**2
    terms += eta**3 * k ** sp.Rational(5, 2) * r * mu ** sp.Rational(9, 2) * root**3 / d**3
    ratio = eta * sp.sqrt(k * r) * mu ** sp.Rational(3, 2) * root
    assert sp.simplify(terms / unit - (3 * ratio / d + ratio**2 / d**2)) == 0
    assert (3 * x + x**2).subs(x, sp.Rational(3, 4)) < 3


def test_assumptionc1_twice():
    for clients, participants in ((3, 2), (4, 3), (5, 3)):
        draws = list(product(range(clients), repeat=participants))
        share = Fraction(sum(len(set(draw)) < participants for draw in draws), len(draws))
        none = Fraction(1)
        for j in range(participants):
            none *= 1 - Fraction(j, clients)
        assert share == 1 - none <= Fraction(participants * (participants - 1), 2 * clients)


@pytest.mark.parametrize("c_z", [2.0, 4.0])
def test_an_error_unlike_in_one_row(c_z):
    """The closed form of definitionC3.corrected, by its matrices."""
    d = int(c_z**4)
    cases = {at["c_z"]: ratio for ratio, _, at in _one_row(2.0)}
    E = np.column_stack([np.full(d, d**-0.5), np.eye(d)[0]])
    Z = np.sqrt(c_z) * np.array([[1.0, 1.0 / c_z], [1.0, -1.0 / c_z]])
    x = E @ Z.T
    mu = (d * (x**2).max(axis=0) / (x**2).sum(axis=0)).max()
    assert theory.scaling(Z).c_z == pytest.approx(c_z)
    ratio = theory.incoherence(E) / (c_z**2 * mu)
    assert ratio == pytest.approx(cases.get(c_z, ratio))
    assert ratio <= 1.0


def moves(truth, U, V, longer):
    """Return the largest moves of a factor and of the error in a round, over their bounds."""
    found = longest_steps(truth, U, V, longer=longer)
    factors = [np.linalg.norm(A - A[0], 2, (1, 2)).max() for A in (found.U, found.V)]
    most = (found.share * truth.singular_values[0]) ** 0.5 / (132 * found.c**4)
    errors = found.U @ found.V.swapaxes(1, 2) - truth.M
    least = norm(errors[0], 2) / (66 * len(U) ** 0.5)
    return max(factors) / most, np.linalg.norm(errors - errors[0], 2, (1, 2)).max() / least


@pytest.mark.parametrize("longer", [1.0, 1e5])
def test_definition3_1(longer, fresh_rng):
    """Clients move within the bounds with the steps of Theorem C.4, not with far longer ones."""
    truth = SideInformationCompletion(np.full((16, 1), 0.25), np.eye(2, 1), np.eye(2))
    found = [moves(truth, truth.U, np.array([[1.0], [2e-3]]), longer)]
    for n, d, p, k in ((2, 8, 2, 1), (3, 12, 3, 2), (4, 5, 2, 2)):
        for _ in range(20):
            Z, M, U, V, *_ = draw((n, d, p, k), fresh_rng)
            left, values, right = np.linalg.svd(M, full_matrices=False)
            truth = SideInformationCompletion(left[:, :k] * values[:k], right[:k].T, Z)
            if longer == 1.0:
                found.append(moves(truth, U, V, longer))
    worst = np.max(found, axis=0)
    assert (worst <= 1.0).all() if longer == 1.0 else (worst > 1.0).all()


@pytest.mark.parametrize("c", [1, 3])
def test_the_slowest_rounds(c):
    """One of them by another enumeration, and how near the corners of Lemma C.5 are."""
    at = _slowest.Slow(c, 4, 4)
    weak = 0.25
    U, V = (np.array(A, dtype=float) for A in _slowest._start(at))
    Z = np.array(_slowest._CLIENTS) * [1.0, 1.0, 0.5]
    truth = SideInformationCompletion(np.diag([1.0, weak]), np.eye(3, 2), Z.astype(float))
    state = State(truth, U, V)
    walks = Walks(state, sequences(2, 1), 1e-7)
    fall, chance = progress(walks, walks.limits())
    found = _slowest.falls(at, lambda setting: (1e-7, fall))[0]
    assert chance == 1.0
    assert found == pytest.approx(1.0, rel=1e-6)
    loss, in_U, in_V = theory.loss_and_gradients(truth, U, V)
    slope = 2.0 * weak**2 / (4.0 * c**2)
    assert (norm(in_U) ** 2 + norm(in_V) ** 2) / loss == pytest.approx(slope, rel=1e-2)


def test_theorem3_3_local():
    rng = np.random.default_rng(0)
    # A step, at any pair and from any pair with the product M*.
    for _, d, p, r in SHAPES:
        U_star, V_star = rng.standard_normal((d, r)), rng.standard_normal((p, r))
        U, V = rng.standard_normal((d, r)), rng.standard_normal((p, r))
        z, i, eta = rng.standard_normal(p), int(rng.integers(d)), 0.1
        u, v = U[i].copy(), V.T @ z
        x = u @ v - U_star[i] @ V_star.T @ z
        q = (U - U_star)[i] @ ((V - V_star).T @ z)
        before = norm(U - U_star) ** 2 + norm(V - V_star) ** 2
        U[i] -= eta * x * v
        V -= eta * x * np.outer(z, u)
        after = norm(U - U_star) ** 2 + norm(V - V_star) ** 2
        moved = (eta * x) ** 2 * (v @ v + z @ z * (u @ u))
        assert after == pytest.approx(before - 2 * eta * x * (x + q) + moved, rel=1e-9)
    # The nearest pair of one product: U*' dU = dV' V*, so that the cross term is not negative.
    U_star, V_star = rng.standard_normal((5, 2)), rng.standard_normal((4, 2))
    dU, dV = rng.standard_normal((5, 2)), rng.standard_normal((4, 2))
    dV += V_star @ np.linalg.solve(V_star.T @ V_star, (U_star.T @ dU).T - V_star.T @ dV)
    G = U_star.T @ dU
    assert np.allclose(G, dV.T @ V_star)
    assert np.sum((U_star @ dV.T) * (dU @ V_star.T)) == pytest.approx(np.sum(G * G))
    # Numbers. R is at most root(sigma_r)/24, twice which is 1/12.
    F = Fraction
    assert 1 - 2 * F(1, 24) == F(11, 12)
    assert F(11, 12) - F(1, 48) == F(43, 48)
    assert 1 + F(301, 100) / 24 <= F(1126, 1000)
    assert 2 * F(1126, 1000) ** 2 <= F(26, 10)
    assert F(26, 10) / 21 <= F(1, 8)
    assert F(1) - F(1, 8) == F(7, 8)
    share = F(7, 4) * F(49, 64) * F(43, 48) ** 2
    assert share >= F(10752, 10000)
    assert 2 * F(1004, 1000) ** 2 / 24**2 <= F(36, 10000)
    assert share - F(36, 10000) >= 1
    assert np.exp(2.01 / (21 * 24**2)) <= 1.004
    assert 1.126 * np.sqrt(2.0) <= 1.593
    assert np.sqrt(2.6) * np.exp(1 / 8) * 1.593 <= 3.0
    assert 12 * 24 == 288
