import numpy as np
import pytest

import linrep as lr
from linrep.algorithms.pflmf.rounds import Compiled, General, is_compiled
from linrep.kernels.pflmf import Settings
from tests.problems.test_objectives import KINDS, draw
from tests.reference import pflmf as naive
from tests.tools import COMPILED

LONG = 3000 if COMPILED else 300


def quadratic(n=12, d=4, rng=0):
    return lr.QuadraticObjectives(np.random.default_rng(rng).standard_normal((n, d)))


def functions(problem):
    return [lambda x, i=i: problem.evaluate(i, x)[1] for i in range(problem.n)]


@pytest.mark.parametrize("aggregate", ["participants", "full"])
@pytest.mark.parametrize("sampling", ["bernoulli", "fixed"])
def test_runs_and_what_theorem_1_bounds_are_the_papers(aggregate, sampling):
    problem = quadratic()
    settings = {
        "k": 2, "step_size": 0.3, "head_step_size": "theorem", "participation": 0.5,
        "local_steps": 3, "aggregate": aggregate, "sampling": sampling, "rng": 5,
    }  # fmt: skip
    trace = lr.pflmf(problem, rounds=6, **settings)
    start = lr.pflmf(problem, rounds=0, **settings).state
    one_round = naive.algorithm_1 if aggregate == "participants" else naive.appendix_a1
    assert trace.settings["head_step_size"] == pytest.approx(0.5 * 0.3 / 3)
    U, V, before = start["U"], start["V"], start["V"]
    first, sums, reach, sent = (U, V), np.zeros(2), np.zeros(2), 0
    for t in range(6):
        found = lr.pflmf(problem, rounds=t + 1, **settings).state
        took_part = np.flatnonzero(np.any(found["V"] != before, axis=1))
        gradients = functions(problem)
        new_U, path = one_round(U, V, gradients, took_part, 0.3, 0.05, 3)
        sums += naive.stationarity(U, path, gradients)
        reach[0] = max(reach[0], np.linalg.norm(new_U - first[0]))
        reach[1] = max(reach[1], *(np.linalg.norm(each - first[1]) for each in path))
        sent += 4 * 2 * (12 if aggregate == "full" else len(took_part))
        U, V, before = new_U, path[-1], found["V"]
        np.testing.assert_allclose(found["U"], U, atol=1e-12)
        np.testing.assert_allclose(found["V"], V, atol=1e-12)
        averages = trace["average_U"][t + 1], trace["average_V"][t + 1]
        np.testing.assert_allclose(averages, sums / (t + 1), rtol=1e-9)
        reaches = trace["reach_U"][t + 1], trace["reach_V"][t + 1]
        np.testing.assert_allclose(reaches, reach, rtol=1e-9)
        assert trace["floats_up"][t + 1] == trace["floats_down"][t + 1] == sent
        if sampling == "fixed":
            assert len(took_part) == 6


@pytest.mark.parametrize("kind", KINDS[:6])
def test_compiled_rounds_are_the_general_ones(kind):
    rng = np.random.default_rng(0)
    problem = draw(kind, rng, n=7, d=4, ridge=0.3)
    assert is_compiled(problem)
    U, V = rng.standard_normal((4, 2)), rng.standard_normal((7, 2))
    masks, scales = rng.random((5, 7)) < 0.6, rng.random(5) / 7
    noise = 0.1 * rng.standard_normal((5, 2, 4)), 0.1 * rng.standard_normal((5, 3, 7, 2))
    for everyone in (False, True):
        settings = Settings(0.1, 0.3, 0.3 / 7, everyone, True)
        pair = [kind(problem, U, V, settings, local_steps=3) for kind in (Compiled, General)]
        for steps in pair:
            assert steps.run(masks, scales, noise)[0] == 5
        for one, other in zip(*(each.state for each in pair), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-11)
        np.testing.assert_allclose(pair[0].totals, pair[1].totals, rtol=1e-9)


@pytest.mark.parametrize("start", ["random", "balanced", "zero", "spectral"])
def test_quadratic_functions_come_to_the_singular_value_decomposition(start):
    problem = quadratic(n=20, d=5)
    trace = lr.pflmf(
        problem, k=2, step_size=0.5, head_step_size=5.0, rounds=2 * LONG, record=100, start=start,
        rng=1,
    )  # fmt: skip
    left, s, right = np.linalg.svd(problem.A, full_matrices=False)
    theta = trace.state["V"] @ trace.state["U"].T
    atol = 1e-6 if COMPILED or start == "spectral" else 0.05
    np.testing.assert_allclose(theta, (left[:, :2] * s[:2]) @ right[:2], atol=atol)
    assert trace["gap"][-1] < atol
    assert trace["error"][-1] < atol


def test_a_start_from_the_local_models_is_balanced_and_pays_for_them():
    trace = lr.pflmf(quadratic(), k=2, step_size=0.1, rounds=0, start="spectral")
    U, V = trace.state["U"], trace.state["V"]
    np.testing.assert_allclose(U.T @ U, V.T @ V, atol=1e-12)
    assert trace["error"][0] < 1e-12
    assert (trace["floats_up"][0], trace["floats_down"][0]) == (12 * 4, 12 * 2)


@pytest.mark.parametrize("kind", ["softmax", "custom", "own"])
def test_any_function_will_do(kind):
    problem = draw(kind, np.random.default_rng(0), n=5, d=3, ridge=0.1)
    trace = lr.pflmf(problem, k=2, step_size=0.05, rounds=30, rng=0)
    assert trace["objective"][-1] < trace["objective"][0]
    assert trace.stop_reason == "rounds"


def test_heads_first_is_another_order():
    problem = quadratic()
    pair = [
        lr.pflmf(problem, k=2, step_size=0.3, rounds=1, order=order, rng=0).state
        for order in ("simultaneous", "alternating")
    ]
    np.testing.assert_allclose(pair[0]["V"], pair[1]["V"], atol=1e-14)
    U = lr.pflmf(problem, k=2, step_size=0.3, rounds=0, rng=0).state["U"]
    in_U = problem.factor_gradients(U, pair[1]["V"]).in_U
    np.testing.assert_allclose(pair[1]["U"], U - 0.3 * in_U, atol=1e-14)


def test_noise_has_the_expected_square():
    problem = quadratic(n=30, d=20)
    start = np.zeros((20, 3)), np.zeros((30, 3))
    settings = {
        "k": 3,
        "step_size": 1.0,
        "start": start,
        "aggregate": "full",
        "gradient_noise": 0.7,
    }
    squares = np.array([
        [np.sum(factor**2) for factor in lr.pflmf(problem, rounds=1, rng=seed, **settings)
         .state.values()]
        for seed in range(200)
    ])  # fmt: skip
    # At zero both gradients vanish. Chi-squares of 60 and 90 degrees of freedom, 200 each: five
    # standard errors of a mean relative to it are 6.5 and 5.3 percent.
    np.testing.assert_allclose(squares.mean(axis=0), 0.49, rtol=0.065)


def test_a_round_without_participants_changes_nothing_unless_all_are_asked():
    problem = quadratic()
    settings = {"k": 2, "step_size": 0.5, "participation": 1e-12, "gradient_noise": 0.1, "rng": 0}
    before = lr.pflmf(problem, rounds=0, **settings).state
    after = lr.pflmf(problem, rounds=4, **settings).state
    asked = lr.pflmf(problem, rounds=4, aggregate="full", **settings).state
    np.testing.assert_array_equal(before["U"], after["U"])
    np.testing.assert_array_equal(before["V"], asked["V"])
    assert np.abs(before["U"] - asked["U"]).max() > 0.0


def test_an_unbiased_step_is_divided_by_the_expected_participants():
    problem = quadratic()
    run = {"k": 2, "step_size": 0.3, "participation": 0.5, "aggregate": "unbiased", "rng": 5}
    U, V = lr.pflmf(problem, rounds=0, **run).state.values()
    after = lr.pflmf(problem, rounds=1, **run).state
    took_part = np.flatnonzero(np.any(after["V"] != V, axis=1))
    assert len(took_part) not in (0, 6)
    slopes = [np.outer(problem.evaluate(i, U @ V[i])[1], V[i]) for i in took_part]
    np.testing.assert_allclose(after["U"], U - 0.3 * sum(slopes) / (0.5 * 12), atol=1e-14)


def test_truths_and_samples_are_least_squares():
    truth = lr.SharedRepresentation.random(n=10, d=4, k=2, rng=0)
    one = lr.pflmf(truth, m=15, step_size=0.5, rounds=20, rng=3)
    data = truth.draw(15, rng=np.random.default_rng(0))
    other = lr.pflmf(data, k=2, step_size=0.5, rounds=20, rng=3)
    assert one.state["U"].shape == other.state["U"].shape == (4, 2)
    assert one["truth_error"][0] == pytest.approx(other["truth_error"][0])
    low = lr.LowRankRegression.random(n=6, d=4, singular_values=[2.0, 1.0], rng=0)
    assert "truth_error" in lr.pflmf(low, m=5, k=1, step_size=0.1, rounds=2)


def test_what_theorem_1_bounds_may_be_left_out():
    run = {"k": 2, "step_size": 0.3, "rounds": 40, "participation": 0.5, "rng": 1}
    whole, bare = (lr.pflmf(quadratic(), stationarity=each, **run) for each in (True, False))
    np.testing.assert_array_equal(bare.state["U"], whole.state["U"])
    assert whole.metrics.keys() - bare.metrics.keys() == {
        "average_U", "average_V", "reach_U", "reach_V",
    }  # fmt: skip


def test_runs_end_when_converged_or_diverged():
    done = lr.pflmf(quadratic(), k=4, step_size=0.5, head_step_size=5.0, tolerance=1e-3, rng=0,
                    rounds=LONG)  # fmt: skip
    assert done.stop_reason == "converged"
    assert done["gradient_U"][-1] + done["gradient_V"][-1] <= 1e-6
    again = lr.pflmf(quadratic(), k=4, step_size=0.5, start=tuple(done.state.values()),
                     tolerance=1e-3)  # fmt: skip
    assert (again.stop_reason, again.rounds) == ("converged", 0)
    for options in ({}, {"order": "alternating"}):
        lost = lr.pflmf(quadratic(), k=2, step_size=1e4, rounds=100, rng=0, **options)
        assert lost.stop_reason == "diverged"
        assert np.isfinite(lost["objective"]).all()
        value = quadratic().value(lost.state["V"] @ lost.state["U"].T)
        assert value == lost["objective"][-1]


def test_a_start_for_data_in_large_units_is_small():
    """Without a step size; with one the start is what it was."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 4)) * [1e4, 1.0, 30.0, 1.0]
    owner = np.repeat(np.arange(10), 20)
    y = X @ np.array([1e-4, 1.0, 0.02, -1.0]) + 0.1 * rng.standard_normal(200)
    data = lr.ClientData.from_arrays(X, y, owner)
    run = {"k": 2, "rounds": 0, "rng": 0}
    trace = lr.pflmf(data, **run)
    scale = trace.settings["scale"]
    assert scale < 0.1
    given = lr.pflmf(data, scale=scale, step_size=1e-9, **run)
    np.testing.assert_allclose(trace.state["U"], given.state["U"])
    assert scale == pytest.approx(0.1 * (np.std(y) / np.sqrt(np.mean(X**2))) ** 0.5)
    assert lr.pflmf(data, step_size=1e-9, **run).settings["scale"] == 0.1
    parts = (X - X.mean(axis=0)) / X.std(axis=0), (y - y.mean()) / y.std(), owner
    assert lr.pflmf(lr.ClientData.from_arrays(*parts), **run).settings["scale"] <= 0.1
