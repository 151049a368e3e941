"""Steps of PerFedSI's derivations that no check looks at."""

from itertools import product

import numpy as np
import pytest
import sympy as sp

from linrep.papers.perfedsi import eq44_to_52, lemma_c11
from linrep.papers.perfedsi.definition_c03 import one_row
from linrep.papers.perfedsi.lemma_c05 import flattest
from linrep.papers.perfedsi.model import (
    edge,
    longest_steps,
    random_truth,
    sizes,
    split,
    unbalanced,
    vanishing_runs,
)
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


def draw(shape, rng, tilt=1.0):
    """Return Z, M*, U, V, E, S's root, and c_z."""
    n, d, p, k = shape
    while True:
        Z = rng.standard_normal((max(n, p), p))
        if np.linalg.cond(Z) < 1e3:
            break
    stars = [rng.standard_normal((rows, k)) for rows in (d, p)]
    U, V = (
        size * (star + rng.standard_normal(star.shape))
        for size, star in zip((tilt, 1.0 / tilt), stars, strict=True)
    )
    values, frame = np.linalg.eigh(Z.T @ Z / len(Z))
    M, c_z = stars[0] @ stars[1].T, max(values[-1], 1.0 / values[0], 1.0)
    return Z, M, U, V, U @ V.T - M, frame * np.sqrt(values) @ frame.T, c_z


@pytest.fixture(params=product(SHAPES, range(3)), ids=str)
def state(request, fresh_rng):
    return draw(request.param[0], fresh_rng, tilt=2.0 ** fresh_rng.uniform(-2, 2))


def test_assumption3_2(fresh_rng):
    """Squared rows of norm 1 add up to M, and so do k eigenvalues."""
    for k in (1, 2, 5, 16):
        Z = fresh_rng.standard_normal((3 * k, k))
        Z /= np.linalg.norm(Z, axis=1, keepdims=True)
        values = np.linalg.eigvalsh(Z.T @ Z)
        assert values.sum() == pytest.approx(3 * k)
        assert values[0] <= 3 * ROOM


def test_definitionc3_corrected(state):
    Z, star, U, V, E, root, c_z = state
    assert norm(U, 2) * norm(V, 2) >= (norm(star, 2) - norm(E, 2)) / ROOM
    assert norm(E, 2) <= norm(E @ root) * np.sqrt(c_z) * ROOM
    errors = Z @ E.T
    mu = len(U) * np.max(errors**2 / np.sum(errors**2, axis=1, keepdims=True))
    for row in E:
        square = np.sum((Z @ row) ** 2)
        assert len(Z) / c_z * (row @ row) / ROOM <= square <= mu / len(U) * norm(errors) ** 2 * ROOM
    assert norm(errors) ** 2 <= c_z * len(Z) * norm(E) ** 2 * ROOM


@pytest.mark.parametrize("error", [1.0, 1e-2, 1e-4])
def test_lemmac5_corrected(state, fresh_rng, error):
    _, star, U, V, _, root, c_z = state
    k = U.shape[1]
    if error < 1.0:
        left, values, right = np.linalg.svd(star)
        U, V = left[:, :k] * values[:k] / 3.0, 3.0 * right[:k].T
        U, V = (A + error * fresh_rng.standard_normal(A.shape) for A in (U, V))
    E, truth, heads = (U @ V.T - star) @ root, star @ root, root @ V
    in_U, in_V = E @ heads, root @ E.T @ U
    other = np.eye(len(U)) - U @ np.linalg.pinv(U)
    outside, inside = other @ E, E - other @ E
    # The two gradients see the error outside of U's range and inside.
    np.testing.assert_allclose(outside, -other @ truth, atol=1e-9)
    X, values, Y = np.linalg.svd(truth, full_matrices=False)
    X, values, Y = X[:, :k], values[:k], Y[:k].T
    np.testing.assert_allclose(other @ truth @ heads, other @ X * values @ (Y.T @ heads), atol=1e-9)
    assert norm(in_U) * ROOM + 1e-12 >= smallest(Y.T @ heads) * norm(outside)
    assert norm(in_V) * ROOM + 1e-12 >= smallest(U) * norm(inside) / np.sqrt(c_z)
    assert norm(inside) ** 2 + norm(outside) ** 2 == pytest.approx(norm(E) ** 2)
    # Near the truth.
    weakest = np.linalg.svd(star, compute_uv=False)[k - 1]
    assert values[-1] * ROOM >= weakest / np.sqrt(c_z)
    assert smallest(Y.T @ heads) * norm(U, 2) * ROOM + 1e-12 >= values[-1] - norm(E, 2)
    assert smallest(U) * norm(V, 2) * ROOM + 1e-12 >= weakest - norm(U @ V.T - star, 2)


def test_lemmac6(state, fresh_rng):
    _, star, U, V, E, root, c_z = state
    A, B = (fresh_rng.standard_normal(F.shape) for F in (U, V))
    S = root @ root
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
    assert norm(in_U) <= c_z * top * (c**2 * norm(A) + (2 * c**2 + 1) * norm(B)) * ROOM
    assert norm(in_V) <= c_z * top * ((2 * c**2 + 1) * norm(A) + c**2 * norm(B)) * ROOM
    both = np.array([[c**2, 2 * c**2 + 1], [2 * c**2 + 1, c**2]])
    assert norm(both, 2) == pytest.approx(3 * c**2 + 1)


def test_lemmac11_corrected(state, fresh_rng):
    """What gradients change by in a step, and the bounds of the terms of that."""
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
    # With the norms that there are in the place of those of the event.
    size, top, length = norm(x), norm(U, 2), norm(z)
    nu = max(norm(v), max(norm(v - eta * x[i] * (z @ z) * U[i]) for i in range(d)))
    rows = np.max(np.sum(U**2, axis=1))
    in_U = nu**3 + length**2 * top**2 * nu + eta * length**4 * top * size * rows
    in_U += length**2 * size * top
    assert norm(sums_U) <= size * in_U * ROOM
    in_V = length * nu**2 * (top + eta * size * nu) + length * size * nu
    in_V += length**3 * (top**3 + eta * size * rows * nu)
    assert norm(sums_V) <= size * in_V * ROOM


def test_lemmac11_corrected_arithmetic():
    """All that is small is at most 1/132."""
    small = 1 / 132
    assert (4 + 4 * small) <= 4.04
    assert 4.04 * np.exp(2 * small) * np.sqrt(2) <= 6.0
    assert 6.0 * np.sqrt(2.0) <= 9.0
    c, r, mu = sp.symbols("c r mu", positive=True)
    for gap in (4 * r * c**2 * mu - (2 * c**2 + r * (c**2 + mu)), 4 * c**2 - (3 * c**2 + 1)):
        shifted = sp.Poly(sp.expand(gap.subs({c: c + 1, r: r + 1, mu: mu + 1})), c, r, mu)
        assert min(shifted.coeffs()) >= 0  # for c, r, mu of 1 or more


def stopped(walks, limits):
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
    moves, loss = stopped(walks, limits), state.loss
    slope = sum(
        np.sum(gradient * move.mean(axis=(0, 1)))
        for gradient, move in zip(state.gradients, moves, strict=True)
    )
    square = sum(np.sum(gradient**2) for gradient in state.gradients)
    drift = 9.0 * (eta * steps / d) ** 2 * s.c**4 * s.mu**1.5 * loss  # c_z, k, r, sigma_1 are 1
    assert slope + eta * steps / d * square <= drift + loss * out / 33.0
    beta, squares = 3.0 * s.c**2 + 1.0, sum(np.sum(move**2, axis=(2, 3)) for move in moves)
    assert 0.5 * beta * squares.mean() <= 16.0 * (eta * steps) ** 2 / d * s.mu**2 * s.c**5 * loss
    # The bracket of (c) on every walk, and its mean over those that stay, in what they gain.
    each = sum(
        np.sum(gradient * move, axis=(2, 3))
        for gradient, move in zip(state.gradients, moves, strict=True)
    )
    assert np.all(np.abs(each) <= loss / 33.0)
    kept = walks.kept(limits, steps)
    for move, end in zip(moves, walks.shifts[-1], strict=True):
        np.testing.assert_array_equal(move[kept > 0.0], end[kept > 0.0])
    assert np.all((-state.gain(*moves) - each) * kept <= 0.5 * beta * squares + 1e-15 * loss)


def test_lemmac10_corrected():
    """The drift under the event of all clients, at one of the shortest steps that lead out."""
    state, limits = edge(4)
    setting = state.setting(limits)
    eta = 1.0 / (132.0 * 2 * setting.p * setting.k * setting.mu**2 * setting.c**2)
    walks = Walks(state, sequences(4, 2), eta)
    unit = setting.c**3 * (setting.p * setting.mu) ** 1.5 * np.sqrt(state.loss)
    for s in (0, 1, 2):
        in_U, in_V, chance = walks.drift(limits, s)
        assert s == 0 or chance < 1.0
        assert max(norm(in_U), norm(in_V)) <= (6.0 * s * eta / 4 + 1e-12) * unit


def test_eq44_52_terms():
    """By matrices as they are printed; the corrected bounds are attained."""
    both = {"two": 2, "loss_power": 1}
    of_first = {"first_power": 1, "c_power": 3, "last_power": 1, "k_power": 1.5, "mu_power": 1.5}
    of_higher = {"c_power": 2, "mu_power": 2, "mu_U_power": 0.5, "cube_power": 1}
    tight = []
    for at in eq44_to_52.sharp_iterates():
        d, means = len(at.U), [np.zeros(at.U.shape) for _ in range(7)]
        for share, z, x, v in at.clients:
            zz = np.outer(z, z)
            for i, e in enumerate(np.eye(d)):
                G, H = np.outer(e * x[i], v), x[i] * np.outer(z, at.U[i])
                for mean, term in zip(
                    means,
                    (
                        at.star @ zz @ H, at.U @ H.T @ zz @ at.V, G @ at.V.T @ zz @ at.V,
                        G @ H.T @ zz @ at.V, G @ at.V.T @ zz @ H, at.U @ H.T @ zz @ H,
                        G @ H.T @ zz @ H,
                    ),
                    strict=True,
                ):  # fmt: skip
                    mean += share * term
        found = list(map(norm, means))
        sides = eq44_to_52.first_order(at, **both, **of_first)
        sides |= eq44_to_52.higher_order(at, **both, **of_higher)
        left, right = np.transpose(list(sides.values()))
        matrices = [0, 1, 2, 4, 5, 6, 8]  # the others are no norms
        np.testing.assert_allclose(found, left[matrices], rtol=1e-9)
        tight.append(left / right)
    np.testing.assert_allclose(np.max(tight, axis=0), 1.0, rtol=0.01)


def test_an_iterate_after_a_step_is_that():
    """Of (11) and (12), with all constants that it names."""
    for side in ("U", "V", "both"):
        at = eq44_to_52.after_a_step(4.0, 3, 2.0, side)
        loss = sum(share * (x @ x) / 2 for share, _, x, _ in at.clients)
        assert loss / at.loss == pytest.approx(4.0, rel=0.01)
        assert at.c == pytest.approx(4.0, rel=0.01)
        assert at.mu_z == pytest.approx(max(z @ z for z in at.Z) / 3)
        assert max(norm(at.U, 2), norm(at.V, 2)) <= at.c * ROOM


def test_eq52_corrected():
    """The terms over those of first order, in the ratio that solvers are asked about."""
    eta, root, k, r, mu, d = sp.symbols("eta root k r mu d", positive=True)
    unit = eta * (k * mu) ** sp.Rational(3, 2) * root / d
    terms = 3 * eta**2 * k**2 * sp.sqrt(r) * mu**3 * root**2 / d**2
    terms += eta**3 * k ** sp.Rational(5, 2) * r * mu ** sp.Rational(9, 2) * root**3 / d**3
    ratio = eta * sp.sqrt(k * r) * mu ** sp.Rational(3, 2) * root
    assert sp.simplify(terms / unit - (3 * ratio / d + ratio**2 / d**2)) == 0


def test_an_error_unlike_in_one_row():
    """The closed form of definitionC3.corrected, by its matrices."""
    d, c_z = 256, 4.0
    E = np.column_stack([np.full(d, d**-0.5), np.eye(d)[0]])
    Z = np.sqrt(c_z) * np.array([[1.0, 1.0 / c_z], [1.0, -1.0 / c_z]])
    x = E @ Z.T
    mu = (d * (x**2).max(axis=0) / (x**2).sum(axis=0)).max()
    assert theory.scaling(Z).c_z == pytest.approx(c_z)
    assert theory.incoherence(E) / (c_z**2 * mu) == pytest.approx(next(one_row(2.0))[0])


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
    for n, d, p, k in ((2, 8, 2, 1), (3, 12, 3, 2), (4, 5, 2, 2)) * 20 if longer == 1.0 else ():
        Z, M, U, V, *_ = draw((n, d, p, k), fresh_rng)
        left, values, right = np.linalg.svd(M, full_matrices=False)
        truth = SideInformationCompletion(left[:, :k] * values[:k], right[:k].T, Z)
        found.append(moves(truth, U, V, longer))
    worst = np.max(found, axis=0)
    assert (worst <= 1.0).all() if longer == 1.0 else (worst > 1.0).all()


def test_vanishing_factors_stay_in_one_event():
    runs = list(vanishing_runs())
    assert len(runs) == 15
    for d, size, iterates in runs:
        assert len(iterates) == 4
        assert max(norm(U) for U, _ in iterates) <= 2.0 * size
        U, V = iterates[0]
        assert 0.5 * norm(U @ V.T - np.full((d, 1), d**-0.5) @ np.eye(1, 2)) ** 2 <= 0.5


def test_no_small_error_is_flatter_than_the_flattest(fresh_rng):
    truth = random_truth((2.0, 1.0), 3.0, fresh_rng)
    assert theory.scaling(truth.Z).c_z == pytest.approx(3.0)
    U, V = split(truth, 0.7)
    np.testing.assert_allclose(U @ V.T, truth.M, atol=1e-12)
    np.testing.assert_allclose(np.linalg.svd(U)[1], 0.7)
    ratios = []
    for _ in range(200):
        A, B = (F + 1e-6 * fresh_rng.standard_normal(F.shape) for F in (U, V))
        loss, slope = sizes(truth, A, B)
        ratios.append(slope**2 / loss)
    assert min(ratios) > flattest(truth, U, V) * (1.0 - 1e-3)


@pytest.mark.parametrize("c", [1, 3])
def test_the_slowest_rounds(c, monkeypatch):
    """One of them by another enumeration, and how near the corners of Lemma C.5 are."""
    at, weak = lemma_c11.Slow(c, 4, 4), 0.25
    U, V = (np.array(A, dtype=float) for A in lemma_c11.slow_start(at))
    Z = np.array(lemma_c11.CLIENTS) * [1.0, 1.0, 0.5]
    truth = SideInformationCompletion(np.diag([1.0, weak]), np.eye(3, 2), Z.astype(float))
    state = State(truth, U, V)
    walks = Walks(state, sequences(2, 1), 1e-7)
    fall, chance = progress(walks, walks.limits())
    assert chance == 1.0
    monkeypatch.setattr(lemma_c11, "promise", lambda *_: (1e-7, fall))
    found = lemma_c11.slow_falls(at, {})[0]
    assert found == pytest.approx(1.0, rel=1e-6)
    slope = 2.0 * weak**2 / (4.0 * c**2)
    assert sizes(truth, U, V)[1] ** 2 / state.loss == pytest.approx(slope, rel=1e-2)


def test_states_are_at_their_limits():
    state = unbalanced(4.0, 2.0)
    assert norm(state.V, 2) == pytest.approx(4.0)
    assert state.truth.singular_values.tolist() == pytest.approx([1.0, 0.5])
    limits = Walks(state, np.zeros((1, 0), dtype=int), 0.0).limits()
    assert (limits.c, limits.errors) == pytest.approx((4.0, 1.0))


@pytest.mark.parametrize("shape", SHAPES)
def test_theorem3_3_local(shape, fresh_rng):
    """A step, at any pair and from any pair with the product M*; and the nearest pair."""
    _, d, p, r = shape
    U_star, V_star = fresh_rng.standard_normal((d, r)), fresh_rng.standard_normal((p, r))
    U, V = fresh_rng.standard_normal((d, r)), fresh_rng.standard_normal((p, r))
    z, i, eta = fresh_rng.standard_normal(p), int(fresh_rng.integers(d)), 0.1
    u, v = U[i].copy(), V.T @ z
    x = u @ v - U_star[i] @ V_star.T @ z
    q = (U - U_star)[i] @ ((V - V_star).T @ z)
    before = norm(U - U_star) ** 2 + norm(V - V_star) ** 2
    U[i] -= eta * x * v
    V -= eta * x * np.outer(z, u)
    after = norm(U - U_star) ** 2 + norm(V - V_star) ** 2
    moved = (eta * x) ** 2 * (v @ v + z @ z * (u @ u))
    assert after == pytest.approx(before - 2 * eta * x * (x + q) + moved, rel=1e-9)
    # U*' dU = dV' V*, so that the cross term is not negative.
    dU, dV = fresh_rng.standard_normal((d, r)), fresh_rng.standard_normal((p, r))
    if r <= p:
        dV += V_star @ np.linalg.solve(V_star.T @ V_star, (U_star.T @ dU).T - V_star.T @ dV)
        G = U_star.T @ dU
        assert np.allclose(G, dV.T @ V_star)
        assert np.sum((U_star @ dV.T) * (dU @ V_star.T)) == pytest.approx(np.sum(G * G))


def test_theorem3_3_local_arithmetic():
    """R is at most root(sigma_r)/24, twice which is 1/12."""
    assert pytest.approx(43 / 48) == 1 - 2 / 24 - 1 / 48
    assert 1 + 3.01 / 24 <= 1.126
    assert 2 * 1.126**2 <= 2.6
    assert 2.6 / 21 <= 1 / 8
    assert np.exp(2.01 / (21 * 24**2)) <= 1.004
    assert 1.126 * np.sqrt(2.0) <= 1.593
    assert np.sqrt(2.6) * np.exp(1 / 8) * 1.593 <= 3.0
    assert 12 * 24 == 288
