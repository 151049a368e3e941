"""Local models and heads drawn from their law: the law of the fitted ones."""

import numpy as np
import pytest

import linrep as lr
from linrep.algorithms.fedrep.gram import coordinates
from tests.algorithms.fedrep.test_gram import smallest_p
from tests.algorithms.support import off_by
from tests.tools import FALSE_ALARM, first_of

RUNS = 2000

#: Of local_only: changes to n = 2, d = 5, k = 2, noise 0.5.
LOCAL = {
    "m = 1": {"m": 1},
    "m = d - 1": {"m": 4},
    "m = d": {"m": 5},
    "m = d + 1": {"m": 6},
    "m = 3d": {"m": 15},
    "one client, m < d": {"m": 3, "n": 1, "k": 1},
    "one client, m > d": {"m": 8, "n": 1, "k": 1},
    "no noise, m < d": {"m": 2, "noise": 0.0},
    "no noise, m = d": {"m": 5, "noise": 0.0},
    "no noise, m > d": {"m": 9, "noise": 0.0},
    "d = k": {"m": 2, "d": 3, "k": 2},
    "d = m = 1": {"m": 1, "d": 1, "n": 1, "k": 1},
}


def draw_local(batches, rng, *, m, n=2, d=5, k=2, noise=0.5, source=int):
    """Return risk and loss, and their product, which tells whether they depend on each other."""
    truth = lr.SharedRepresentation.random(n=n, d=d, k=k, noise=noise, rng=1)
    rows = []
    for seed in rng.integers(2**63, size=RUNS):
        trace = lr.local_only(truth, m=m, batches=batches, rng=source(seed))
        risk, loss = trace["population_risk"][1], trace["loss"][1]
        rows.append([risk, loss, risk * loss])
    return np.array(rows)


@pytest.mark.parametrize("name", first_of(LOCAL))
def test_simulated_local_models_have_the_law_of_fitted_ones(name, fresh_rng):
    one = draw_local("fixed", fresh_rng, **LOCAL[name])
    other = draw_local("gram", fresh_rng, **LOCAL[name])
    assert smallest_p(one, other) > FALSE_ALARM / len(LOCAL)


@pytest.mark.slow
@pytest.mark.parametrize("by", [-1, 1])
@pytest.mark.parametrize(
    ("wrong", "changes"),
    [
        ({"chisquare": 3}, {"m": 7, "d": 3}),
        ({"chisquare": 2}, {"m": 4, "d": 3}),
        ({"chisquare": 5}, {"m": 8, "d": 3}),
        ({"chisquare": 3}, {"m": 3, "d": 8}),
        ({"chisquare": 2}, {"m": 3, "d": 4}),
        ({"beta": 1.5}, {"m": 2, "noise": 0.0}),
    ],
    ids=["d", "m - d + 1", "m - d", "m", "d - m + 1", "(d - m) / 2"],
)
def test_a_degree_of_freedom_of_a_local_model_is_caught(by, wrong, changes, fresh_rng):
    by = by / 2 if "beta" in wrong else by
    changes = {"n": 1, "k": 1, "noise": 2.0} | changes
    one = draw_local("fixed", fresh_rng, **changes)
    other = draw_local("gram", fresh_rng, source=off_by(by, **wrong), **changes)
    assert smallest_p(one, other) < FALSE_ALARM / len(LOCAL)


#: Of simulate_heads: changes to d = 7, k = 2, noise 0.3.
HEADS = {
    "m = 1": {"m": 1},
    "m = k": {"m": 2},
    "m = k + 1": {"m": 3},
    "m = 5k": {"m": 10},
    "no noise": {"m": 4, "noise": 0.0},
    "k = m = 1": {"m": 1, "k": 1},
    "k = 4, m = 2": {"m": 2, "k": 4},
    "k = 4, m = 3, no noise": {"m": 3, "k": 4, "noise": 0.0},
    "d = k": {"m": 3, "d": 2},
    "d = k, m < k": {"m": 1, "d": 2},
    "d = k + 1": {"m": 4, "d": 4, "k": 3},
    "d < 2k": {"m": 2, "d": 5, "k": 3},
    "frame of the truth": {"m": 4, "at_truth": True},
    "frame of more columns": {"m": 3, "columns": 4},
    "frame of fewer columns": {"m": 3, "columns": 1},
}


def draw_heads(simulated, rng, *, m, d=7, k=2, noise=0.3, columns=None, at_truth=False, by=0):
    """Return the heads of clients of one truth, and what tells of their joint law."""
    truth = lr.SharedRepresentation.random(n=k, d=d, k=k, noise=noise, rng=1)
    truth = truth.with_heads(np.tile(truth.W[0], (RUNS, 1)))
    B = truth.B if at_truth else lr.subspace.random_frame(d, columns or k, 2)
    if simulated:
        source = off_by(by, chisquare=abs(m - k) + 1) if by else int
        W = lr.simulate_heads(truth, B, m, rng=source(rng.integers(2**63)))
    else:
        W = lr.fit_heads(truth.draw(m, rng=rng), B)
    error = W - truth.theta @ B
    return np.column_stack([W, np.linalg.norm(W, axis=1), np.linalg.norm(error, axis=1),
                            np.sum(W * error, axis=1), np.prod(error, axis=1)])  # fmt: skip


@pytest.mark.compiled
@pytest.mark.parametrize("name", HEADS)
def test_simulated_heads_have_the_law_of_fitted_ones(name, fresh_rng):
    one = draw_heads(False, fresh_rng, **HEADS[name])
    other = draw_heads(True, fresh_rng, **HEADS[name])
    assert smallest_p(one, other) > FALSE_ALARM / len(HEADS)


@pytest.mark.compiled
@pytest.mark.parametrize("by", [-1, 1])
@pytest.mark.parametrize("changes", [{"m": 3}, {"m": 3, "k": 4}])
def test_a_degree_of_freedom_of_a_head_is_caught(by, changes, fresh_rng):
    one = draw_heads(False, fresh_rng, **changes)
    other = draw_heads(True, fresh_rng, by=by, **changes)
    assert smallest_p(one, other) < FALSE_ALARM / len(HEADS)


@pytest.mark.parametrize("m", [1, 10**9, 2 * 10**9])
def test_neither_m_nor_d_bounds_a_local_model(m):
    truth = lr.SharedRepresentation.random(n=50, d=10**9, k=3, noise=0.1, store=False, rng=0)
    trace = lr.local_only(truth, m=m, batches="gram", rng=1)
    assert (trace.rounds, trace.state) == (1, {})
    assert np.isnan(trace["loss"][0])
    np.testing.assert_allclose(trace["population_risk"][0], 1.5)
    if m == 1:  # one direction of so many
        np.testing.assert_allclose(trace["population_risk"][1], 1.5, rtol=1e-6)
    if m > truth.d:  # d / (m - d) and (m - d) / m of half the noise's variance
        np.testing.assert_allclose(trace["population_risk"][1], 0.005, rtol=1e-3)
        np.testing.assert_allclose(trace["loss"][1], 0.0025, rtol=1e-3)


def test_heads_are_simulated_on_what_a_simulated_run_found():
    truth = lr.SharedRepresentation.random(n=50, d=10**9, k=3, store=False, rng=0)
    state = lr.fedrep(truth, m=10**9, rounds=20, batches="gram", start=0.5, rng=1).state
    new = truth.with_heads(np.ones((4, 3)))
    W = lr.simulate_heads(new, (state["C"], state["Phi"]), m=10**12, rng=2)
    np.testing.assert_allclose(W, new.W @ state["C"].T, atol=1e-4)
    np.testing.assert_array_equal(
        W, lr.simulate_heads(new, (state["C"], state["Phi"]), m=10**12, rng=2)
    )


@pytest.mark.parametrize(("d", "k"), [(9, 3), (5, 3), (3, 3)])
@pytest.mark.parametrize("m", [2, 3, 7])
def test_a_frame_and_its_coordinates_give_the_same_heads(d, k, m):
    truth = lr.SharedRepresentation.random(n=6, d=d, k=k, noise=0.1, rng=0)
    B = lr.subspace.random_frame(d, k, 1)
    W = lr.simulate_heads(truth, B, m, rng=2)
    np.testing.assert_array_equal(W, lr.simulate_heads(truth, coordinates(B, truth.B), m, rng=2))


def test_heads_without_noise_on_the_right_frame_are_the_true_ones():
    truth = lr.SharedRepresentation.random(n=6, d=9, k=3, rng=0)
    np.testing.assert_allclose(lr.simulate_heads(truth, truth.B, 3, rng=1), truth.W, atol=1e-12)
    W = lr.simulate_heads(truth, truth.B, 2, rng=1)
    np.testing.assert_allclose(np.sum(W * (truth.W - W), axis=1), 0.0, atol=1e-14)


TRUTH = lr.SharedRepresentation.random(n=5, d=4, k=2, rng=0)
IMPLICIT = lr.ImplicitRepresentation(TRUTH.W, 4)
FULL, EMPTY = np.eye(2), np.zeros((0, 2))


def test_a_pair_with_nothing_outside_is_accepted():
    assert lr.simulate_heads(IMPLICIT, (FULL, EMPTY), 3, rng=0).shape == (5, 2)


def test_a_client_alone_sees_one_batch_whatever_its_name():
    fixed, fresh, split = (
        lr.local_only(TRUTH, m=3, batches=name, rng=0) for name in ("fixed", "fresh", "split")
    )
    np.testing.assert_array_equal(fixed.state["theta"], fresh.state["theta"])
    np.testing.assert_array_equal(fixed.state["theta"], split.state["theta"])
    one, two = (lr.local_only(TRUTH, m=3, batches=name, rng=0) for name in ("gram", "gram_split"))
    np.testing.assert_array_equal(one["population_risk"], two["population_risk"])
