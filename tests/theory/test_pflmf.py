from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import linrep as lr
from linrep.theory import pflmf as theory
from linrep.theory import pflmf_rounds
from tests.problems.test_objectives import KINDS, draw
from tests.reference import pflmf as naive
from tests.strategies import seeds
from tests.tools import COMPILED, first_of

SMOOTH = KINDS[:-1]


def start(rng, problem, k=2, scale=1.0):
    return tuple(scale * rng.standard_normal((size, k)) for size in (problem.d, problem.n))


def setting(p=0.4, K=3, step_size=0.1, in_U=1.0, in_V=1.0, **other):
    return theory.Setting(p, K, step_size, in_U, in_V, **other)


@given(seeds, st.sampled_from(SMOOTH), st.sampled_from([0.0, 0.1, 1.0, 10.0]))
def test_gradients_change_no_faster_than_the_local_smoothness(seed, kind, radius):
    rng = np.random.default_rng(seed)
    problem = draw(kind, rng)
    U, V = start(rng, problem)
    found = theory.local_smoothness(problem, U, V, radius, 0.5 * radius)
    ends = []
    for _ in range(2):
        moves = [rng.standard_normal(factor.shape) for factor in (U, V)]
        ends.append([
            factor + limit * move / np.linalg.norm(move)
            for factor, limit, move in zip((U, V), (radius, 0.5 * radius), moves, strict=True)
        ])  # fmt: skip
    one, other = (problem.factor_gradients(*end) for end in ends)
    moved = [np.linalg.norm(a - b) for a, b in zip(*ends, strict=True)]
    slack = 1.0 + 1e-9
    in_U, in_V = (np.linalg.norm(a - b) for a, b in zip(one[1:], other[1:], strict=True))
    assert in_U <= slack * (found.own_U * moved[0] + found.cross * moved[1])
    assert in_V <= slack * (found.cross * moved[0] + found.own_V * moved[1])
    assert in_U <= slack * found.in_U * sum(moved)
    assert in_V <= slack * found.in_V * sum(moved)
    assert found.largest == max(found.in_U, found.in_V)


def test_the_blocks_are_reached_by_a_quadratic_function():
    problem = lr.QuadraticObjectives(np.zeros((1, 1)))
    found = theory.local_smoothness(problem, [[2.0]], [[3.0]], 0.0, 0.0)
    # F = (uv)^2/2: second derivatives v^2, u^2, and 2uv.
    assert (found.own_U, found.own_V, found.cross) == pytest.approx((9.0, 4.0, 12.0))


def test_statements_have_the_printed_constants():
    bound = theory.theorem1(3.0, smoothness=2.0, step_size=0.1, rounds=50, noise=0.5)
    assert bound.start == pytest.approx(2 * 3 / (0.1 * 50 * (1 - 0.4)))
    assert bound.noise == pytest.approx(2 * 0.1 * 2 * 0.25 / (1 - 0.4))
    assert bound.total == bound.start + bound.noise
    assert theory.theorem1(3.0, smoothness=2.0, step_size=0.25, rounds=50).start == np.inf
    assert theory.step_size_limit(2.0) == 0.25
    assert theory.head_step_size(0.2, 0.5, 4) == pytest.approx(0.025)
    T = np.array([1, 4, 100])
    steps = theory.corollary2_step_size(2.0, T)
    np.testing.assert_allclose(steps, 0.25 / np.sqrt(T))
    several = theory.theorem1(3.0, smoothness=2.0, step_size=steps, rounds=T, noise=0.5)
    closed = theory.corollary2(3.0, smoothness=2.0, rounds=T, noise=0.5)
    np.testing.assert_allclose(several.start, closed.start)
    np.testing.assert_allclose(several.noise, closed.noise)
    assert closed.start[0] == np.inf
    exact = theory.theorem1(
        3.0, smoothness=2.0, step_size=theory.corollary2_step_size(2.0), rounds=T
    )
    np.testing.assert_allclose(exact.total, theory.corollary2(3.0, smoothness=2.0, rounds=T).total)


@pytest.mark.parametrize("sigma", [0.0, 0.2, 3.0])
@pytest.mark.parametrize(("T", "p", "K"), [(1, 1.0, 1), (50, 0.3, 1), (10_000, 0.6, 5)])
def test_the_best_step_of_the_sharp_form(sigma, T, p, K):
    given = {"smoothness": 2.0, "rounds": T, "noise": sigma}
    given |= {"participation": p, "local_steps": K}
    best = theory.sharp_step_size(3.0, **given)
    at_best = theory.sharp_stationarity_bound(3.0, step_size=best, **given).total
    steps = np.geomspace(1e-6, 1.0, 50_000)
    other = theory.sharp_stationarity_bound(3.0, step_size=steps, **given).total
    assert at_best == pytest.approx(other.min(), rel=1e-3)
    assert at_best <= other.min() * (1 + 1e-12)
    c, omega = theory.sharp_constants(p, K)
    a = 2.0 * 3.0 / T
    assert at_best == pytest.approx(2 * c * a + 2 * np.sqrt((c * a) ** 2 + omega * sigma**2 * a))


@pytest.mark.parametrize("kind", ["identity", "shared", "weights", "own", "logistic", "custom"])
@pytest.mark.parametrize("K", [1, 3])
def test_expectations_are_those_over_all_patterns(kind, K):
    rng = np.random.default_rng(0)
    problem = draw(kind, rng, n=4)
    U, V = start(rng, problem, scale=0.5)
    s = setting(p=0.3, K=K, step_size=0.2, head_step_size=0.4)
    found = pflmf_rounds.expected_round(s, problem, U, V)
    gradients = [lambda x, i=i: problem.evaluate(i, x)[1] for i in range(4)]
    sums = {}
    for pattern in product([0, 1], repeat=4):
        weight = np.prod([0.3 if each else 0.7 for each in pattern])
        D = np.array(pattern, dtype=float)[:, None]
        new_U, path = naive.appendix_a1(U, V, gradients, np.flatnonzero(pattern), 0.2, 0.4, K)
        in_V = [naive.factor_gradients(U, each, gradients)[1] for each in path[:-1]]
        seen = {
            "value": problem.value(V @ U.T),
            "after_V": problem.value(path[-1] @ U.T),
            "after_U": problem.value(V @ new_U.T),
            "after_both": problem.value(path[-1] @ new_U.T),
            "delta_U": np.sum(naive.factor_gradients(U, V, gradients)[0] ** 2),
            "delta_V": np.mean([np.sum(g**2) for g in in_V]),
            "steps_V": np.array([np.sum(g**2) for g in in_V]),
            "masked_V": np.array([np.sum((D * g) ** 2) for g in in_V]),
            "sum_V": np.sum(np.sum(in_V, axis=0) ** 2),
            "masked_sum_V": np.sum((D * np.sum(in_V, axis=0)) ** 2),
            "moved_V": np.sum((path[-1] - V) ** 2),
        }
        for name, number in seen.items():
            sums[name] = sums.get(name, 0.0) + weight * number
    for name, expected in sums.items():
        np.testing.assert_allclose(getattr(found, name), expected, rtol=1e-10, err_msg=name)


@pytest.mark.slow
@pytest.mark.parametrize("kind", first_of(["shared", "own"]))
def test_expectations_with_noise_are_those_of_many_rounds(kind, fresh_rng):
    rng = np.random.default_rng(1)
    problem = draw(kind, rng, n=3, d=2)
    U, V = start(rng, problem, scale=0.5)
    trials, K = (20_000 if COMPILED else 2000), 2
    s = setting(p=0.6, K=K, step_size=0.3, noise=0.8, head_step_size=0.5)
    found = pflmf_rounds.expected_round(s, problem, U, V)
    in_U = problem.factor_gradients(U, V).in_U
    rows = []
    for _ in range(trials):
        D = (fresh_rng.random((3, 1)) < 0.6).astype(float)
        new_U = U - 0.3 * (in_U + 0.8 / 2.0 * fresh_rng.standard_normal((2, 2)))
        W, squares, total = V, [], 0.0
        for _ in range(K):
            g = problem.gradients(W @ U.T) @ U / 3
            squares.append([np.sum(g**2), np.sum((D * g) ** 2)])
            total = total + g
            W = W - 0.5 * D * (g + 0.8 / np.sqrt(6.0) * fresh_rng.standard_normal((3, 2)))
        rows.append([
            problem.value(W @ U.T), problem.value(V @ new_U.T), problem.value(W @ new_U.T),
            *np.ravel(squares), np.sum(total**2), np.sum((D * total) ** 2), np.sum((W - V) ** 2),
        ])  # fmt: skip
    rows = np.array(rows)
    both = np.stack([found.steps_V, found.masked_V], axis=1).ravel()
    expected = np.array([
        found.after_V, found.after_U, found.after_both, *both, found.sum_V, found.masked_sum_V,
        found.moved_V,
    ])  # fmt: skip
    error = np.abs(rows.mean(axis=0) - expected)
    # Six standard errors, ten comparisons; what does not vary agrees to rounding.
    assert (error <= 6.0 * rows.std(axis=0) / np.sqrt(trials) + 1e-10).all()


def test_a_scalar_quadratic_has_its_closed_form():
    problem = lr.QuadraticObjectives(np.zeros((1, 1)))
    s = setting(p=0.3, K=4, step_size=0.5)
    found = pflmf_rounds.expected_round(s, problem, np.ones((1, 1)), np.full((1, 1), 2.0))
    shrink = 1.0 - 0.3 * 0.5 / 4
    np.testing.assert_allclose(found.steps_V, 4 * (0.3 * shrink ** (2 * np.arange(4)) + 0.7))
    assert found.after_V == pytest.approx(2 * (0.3 * shrink**8 + 0.7))


@pytest.mark.compiled
@pytest.mark.parametrize("seed", range(20))
def test_a_round_of_one_number_is_its_closed_form_and_the_kernels(seed):
    """Of h (u v - a)^2/2: with c = 1 - eta_v h u^2 a participant's u v - a is c times as large."""
    rng = np.random.default_rng(seed)
    h, p, K = 10.0 ** rng.uniform(-1.0, 1.0), float(rng.choice([0.02, 0.5, 1.0])), 1 + seed % 7
    u, v, a = rng.standard_normal(3)
    eta = 0.4 / (h * max(u * u, v * v, 2.0 * abs(u * v) + abs(a)))
    problem = lr.QuadraticObjectives([[a]], [[h]])
    U, V, s = np.full((1, 1), u), np.full((1, 1), v), setting(p=p, K=K, step_size=eta)
    found = pflmf_rounds.expected_round(s, problem, U, V)
    error, c = u * v - a, 1.0 - s.head_step_size * h * u * u
    moved, new = (a + c**K * error) / u, u - eta * h * error * v
    squares = (h * u * error) ** 2 * c ** (2.0 * np.arange(K))
    close = {"rel": 1e-9, "abs": 1e-9 * h}
    assert found.after_V == pytest.approx(0.5 * h * error**2 * (p * c ** (2 * K) + 1 - p), **close)
    both = p * (new * moved - a) ** 2 + (1.0 - p) * (new * v - a) ** 2
    assert found.after_both == pytest.approx(0.5 * h * both, **close)
    assert found.delta_U == pytest.approx((h * error * v) ** 2, **close)
    assert found.delta_V == pytest.approx(p * squares.mean() + (1.0 - p) * squares[0], **close)
    trace = lr.pflmf(
        problem, k=1, step_size=eta, head_step_size=s.head_step_size, local_steps=K, rounds=1,
        aggregate="full", start=(U, V), rng=0,
    )  # fmt: skip
    assert trace["objective"][-1] == pytest.approx(0.5 * h * (new * moved - a) ** 2, **close)
    assert trace["average_V"][-1] == pytest.approx(squares.mean(), **close)


@pytest.mark.compiled
def test_noise_moves_U_by_its_variance():
    rng = np.random.default_rng(0)
    problem = lr.QuadraticObjectives(rng.standard_normal((5, 3)))
    U, V = rng.standard_normal((3, 2)), rng.standard_normal((5, 2))
    gradient = float(np.sum(problem.factor_gradients(U, V).in_U ** 2))
    moved = [
        np.sum((lr.pflmf(
            problem, k=2, step_size=0.1, head_step_size="theorem", aggregate="full", rounds=1,
            start=(U, V), gradient_noise=np.sqrt(gradient), stationarity=False, rng=seed,
        ).state["U"] - U) ** 2)
        for seed in range(400)
    ]  # fmt: skip
    error = 5.0 * np.std(moved) / np.sqrt(len(moved))
    assert np.mean(moved) == pytest.approx(0.02 * gradient, abs=error)


def rigorous(rng, kind, p, K, eta_L, noise=0.0):
    """Return a problem, a state and a setting whose L holds on a ball that the round stays in."""
    problem = draw(kind, rng, n=3, d=2)
    U, V = start(rng, problem, scale=10.0 ** rng.uniform(-1.5, 0.5))
    radius = 0.5
    for _ in range(60):
        found = theory.local_smoothness(problem, U, V, radius, radius)
        s = setting(p, K, eta_L / found.largest, found.in_U, found.in_V, noise=noise)
        in_U = s.step_size * np.linalg.norm(problem.factor_gradients(U, V).in_U)
        path = pflmf_rounds.local_path(s, problem, U, V).means
        if in_U <= radius and max(np.linalg.norm(each - V) for each in path) <= radius:
            return problem, U, V, s
        radius *= 2.0
    raise AssertionError("no ball found")


@given(
    seeds, st.sampled_from(["identity", "shared", "own", "logistic"]),
    st.sampled_from([0.02, 0.3, 1.0]), st.sampled_from([1, 2, 7]),
    st.sampled_from([0.01, 0.2, 0.5]), st.sampled_from([None, 0.02, 0.5, 1.0]),
)  # fmt: skip
def test_the_weights_of_a_round_hold_in_every_round(seed, kind, p, K, eta_L, split):
    problem, U, V, s = rigorous(np.random.default_rng(seed), kind, p, K, eta_L)
    r = pflmf_rounds.expected_round(s, problem, U, V)
    w = theory.sharp_weights(s.step_size * s.largest, p, K, split)
    left = s.step_size * (w.weight_U * r.delta_U + w.weight_V * r.delta_V)
    assert left <= (r.value - r.after_both) * (1.0 + 1e-9) + 1e-13 * (1.0 + r.value)
    assert 0.0 < w.weight_V <= p**2


@given(seeds, st.sampled_from([0.05, 0.5, 1.0]), st.sampled_from([1, 4]))
def test_the_weights_of_a_round_hold_with_noise(seed, p, K):
    rng = np.random.default_rng(seed)
    # The function is quadratic in U and in V; noise small next to the ball leaves it rarely.
    problem, U, V, s = rigorous(rng, "identity", p, K, 0.3, noise=1e-3)
    r = pflmf_rounds.expected_round(s, problem, U, V)
    w = theory.sharp_weights(s.step_size * s.largest, p, K)
    noise = w.noise * s.noise**2
    left = s.step_size * (w.weight_U * r.delta_U + w.weight_V * r.delta_V - noise)
    assert left <= (r.value - r.after_both) * (1.0 + 1e-9) + 1e-13 * (1.0 + r.value)


def test_sides_are_the_printed_ones():
    s = theory.Setting(0.4, 3, 0.1, 2.0, 5.0, noise=0.7)
    eta_v = 0.4 * 0.1 / 3
    assert s.head_step_size == pytest.approx(eta_v)
    assert s.largest == 5.0
    problem = draw("identity", np.random.default_rng(0))
    r = pflmf_rounds.expected_round(s, problem, *start(np.random.default_rng(1), problem))
    left, right = theory.step_A(s, r)
    assert left == pytest.approx(eta_v * 0.4 * (1 - eta_v * 2.5) * r.delta_V)
    assert right == pytest.approx((r.value - r.after_V) / 3 + eta_v**2 * 5 * 0.49 / 2)
    left, right = theory.step_B(s, r)
    assert left == pytest.approx(0.1 * (1 - 0.2) * r.delta_U)
    assert right == pytest.approx(r.value - r.after_U + 0.01 * 2 * 0.49 / 2)
    left, right = theory.step_B_last(s, r)
    assert left == pytest.approx(r.after_both - r.after_V)
    assert right == pytest.approx(0.01 * (r.delta_U + 0.49) + eta_v**2 * r.sum_V)
    full = theory.step_B_last(s, r, masked=True, head_noise=True).rhs
    assert full == pytest.approx(0.01 * (r.delta_U + 0.49) + r.moved_V)
    # Without D the others' rows are counted too: their gradients stay, their noise adds up.
    whole = theory.step_B_last(s, r, head_noise=True).rhs
    assert whole - full == pytest.approx(eta_v**2 * (r.sum_V - r.masked_sum_V + 0.6 * 3 * 0.49))
    left, right = theory.step_C(s, r)
    assert left == pytest.approx(
        eta_v * 0.4 * (1 - eta_v * 4 * 2.5) * 3 * r.delta_V - 0.01 * 0.4 * 2.5 * r.delta_U
    )
    assert right == pytest.approx(r.after_U - r.after_both + eta_v**2 * 3 * 5 * 0.49 / 2)
    chain = theory.equation16(s, r)
    assert chain[0] == pytest.approx(0.1 * (1 - 1.0) * (r.delta_U + r.delta_V))
    assert chain[1] == pytest.approx(0.1 * 0.4 * (1 - 0.1 * 0.4 * 5 / 6) * r.delta_V)
    assert chain[3] - chain[2] == pytest.approx(0.01 * 5 * 0.49 * (1 - 1 / 3))
    assert chain[3] == pytest.approx(2 * (r.value - r.after_both) + 2 * 0.01 * 5 * 0.49)
    assert theory.auxiliary(0.5, 0.4, 3) == pytest.approx(0.25 * (1.4 * 3 + 1) / 3)
    assert theory.Inequality(2.0, 1.0).ratio == 2.0
    assert theory.Inequality(-2.0, 1.0).ratio == 0.0


@given(seeds, st.integers(1, 4), st.floats(0.05, 0.95))
def test_lemmas(seed, n, p):
    rng = np.random.default_rng(seed)
    A, B = rng.standard_normal((n, 3)), rng.standard_normal((3, 2))
    assert np.linalg.norm(A @ B) <= theory.lemma3(A, B) * (1 + 1e-12)
    X, Y = rng.standard_normal((2, 3, 2))
    assert np.sum(X * Y) <= theory.lemma4(X, Y, p) + 1e-12
    assert theory.lemma4(X, p * X, p) == pytest.approx(p * np.sum(X**2))
    stack = rng.standard_normal((n, 2, 2))
    assert np.sum(np.sum(stack, axis=0) ** 2) <= theory.lemma5(stack) * (1 + 1e-12)
    moments = np.zeros(2)
    for pattern in product([0, 1], repeat=n):
        weight = np.prod([p if each else 1.0 - p for each in pattern])
        D = np.diag(np.array(pattern, dtype=float))
        moments += weight * np.array([np.sum((D @ A) ** 2), np.linalg.norm(D, 2)])
    np.testing.assert_allclose(moments, [theory.lemma6(A, p), theory.lemma7(n, p)], rtol=1e-10)
    assert theory.lemma7(n, 1.0) == 1.0


def test_a_trace_has_the_left_side():
    A = 0.05 * np.random.default_rng(0).standard_normal((40, 3))
    problem, begin = lr.QuadraticObjectives(A), (np.eye(3), np.zeros((40, 3)))
    L = theory.local_smoothness(problem, *begin, 0.6, 0.6).largest
    trace = lr.pflmf(
        problem, k=3, step_size=0.25 / L, head_step_size="theorem", local_steps=5, rounds=200,
        aggregate="full", start=begin, rng=0,
    )  # fmt: skip
    bound = theory.theorem1(
        trace["objective"][0], smoothness=L, step_size=0.25 / L, rounds=trace.recorded[1:]
    )
    assert ((trace["average_U"] + trace["average_V"])[1:] <= bound.total).all()
    assert max(trace["reach_U"][-1], trace["reach_V"][-1]) < 0.6


@pytest.mark.parametrize("p", [1.0, 0.3, 0.1])
def test_the_weights_of_a_round_are_nearly_reached(p):
    """On functions that are flat but in V, all of the decrease is the heads'."""
    A = 5e-4 * np.random.default_rng(0).standard_normal((40, 3))
    problem, begin = lr.QuadraticObjectives(A), (np.eye(3), np.zeros((40, 3)))
    L = theory.local_smoothness(problem, *begin, 0.3, 0.1).largest
    T = round((2000 if COMPILED else 400) / p)
    trace = lr.pflmf(
        problem, k=3, step_size=0.25 / L, head_step_size="theorem", participation=p, rounds=T,
        aggregate="full", start=begin, record=T, rng=0,
    )  # fmt: skip
    w = theory.sharp_weights(0.25, p, 1, p)
    left = w.weight_U * trace["average_U"][-1] + w.weight_V * trace["average_V"][-1]
    right = trace["objective"][0] / (0.25 / L * T)
    assert (0.8 if COMPILED else 0.4) < left / right <= 1.0
    assert trace["reach_U"][-1] < 0.3
    assert trace["reach_V"][-1] < 0.1


@pytest.mark.parametrize("noise", [0.0, 0.7])
@pytest.mark.parametrize(("p", "K"), [(1.0, 1), (0.3, 1), (0.3, 4), (1.0, 3)])
def test_the_average_with_U_fixed_is_that_of_its_recursion(noise, p, K):
    h, square, step = 0.8, 3.0, 0.5
    s = setting(p=p, K=K, step_size=step, noise=noise)
    factor = 1.0 - p * step / K * h
    x, total, rounds = square, 0.0, [1, 2, 7, 30]
    means = []
    for t in range(30):
        moving, path = x, []
        for _ in range(K):
            path.append(moving)
            moving = factor**2 * moving + (p * step / K * h * noise) ** 2
        total += p * np.mean(path) + (1 - p) * x
        x = p * moving + (1 - p) * x
        means.append(total / (t + 1))
    found = pflmf_rounds.fixed_U_average(s, h, square, rounds)
    np.testing.assert_allclose(found, [means[T - 1] for T in rounds], rtol=1e-12)


def test_the_value_at_a_given_U_is_that_of_the_round():
    rng = np.random.default_rng(0)
    problem = lr.QuadraticObjectives(rng.normal(size=(3, 2)))
    U, V = rng.normal(size=(2, 1)), rng.normal(size=(3, 1))
    s = theory.Setting(0.4, 3, 0.1, 1.0, 1.0, noise=0.5)
    r = pflmf_rounds.expected_round(s, problem, U, V)
    assert pflmf_rounds.expected_value(s, problem, U, V, U) == pytest.approx(r.after_V)
    # Quadratic in U^+: the mean over its noise is that over the axes.
    spread = s.step_size * s.noise * np.eye(2)
    at = U - s.step_size * problem.factor_gradients(U, V).in_U
    values = [
        pflmf_rounds.expected_value(s, problem, U, V, at + sign * axis[:, None])
        for axis in spread
        for sign in (-1.0, 1.0)
    ]
    assert np.mean(values) == pytest.approx(r.after_both)


def test_the_noise_of_the_sum_is_at_most_what_theorem_1_takes():
    for p, K, x in product((1e-3, 0.3, 0.8, 1.0), (1, 2, 7, 1000), (1e-3, 0.5)):
        s = theory.Setting(p, K, x, 1.0, 1.0, noise=1.0)
        linear, general = theory.summed_noise(s, linear=True), theory.summed_noise(s)
        assert linear <= min(general, 1.0 + 1.0 / K)
        assert general <= 2.0
    assert theory.summed_noise(theory.Setting(0.5, 2, 0.4, 1.0, 1.0)) == pytest.approx(
        1.0 + 1.0 / 16.0 + 0.5 * 0.4 * 3.0 / (16.0 * 12.0)
    )
