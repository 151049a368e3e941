"""FedSGD on simulated batches: the law of the sampled ones."""

import numpy as np
import pytest
from scipy.stats import kstest

import linrep as lr
from linrep.algorithms.fedrep.gram import coordinates, embed
from tests.algorithms.fedrep.test_gram import smallest_p
from tests.algorithms.support import off_by
from tests.tools import FALSE_ALARM, first_of

ROUNDS = (1, 2, 4)
RUNS = 1000

#: Changes to n = 4, d = 9, k = 2, m = 3, noise 0.3, full participation, a start that is no frame.
SETTINGS = {
    "plain": {},
    "no noise": {"noise": 0.0},
    "m = 1": {"m": 1},
    "m = k": {"m": 2},
    "k = 1": {"k": 1},
    "k = m = 1": {"k": 1, "m": 1},
    "d = k": {"d": 2},
    "d = k + 1": {"d": 4, "k": 3},
    "d < 2k": {"d": 5, "k": 3},
    "d = 2k": {"d": 4},
    "d = 2k + 1": {"d": 5},
    "d = m": {"d": 6, "m": 6},
    "part of the clients": {"participation": 0.5},
    "one client": {"n": 1, "k": 1},
    "heads of 0": {"head": 0.0},
    "start at the truth": {"at_truth": True},
}


def draw(batches, rng, *, n=4, d=9, k=2, m=3, noise=0.3, head=0.7, at_truth=False, source=int,
         runs=RUNS, **settings):  # fmt: skip
    """Return metrics at several rounds, and what is invariant of B and w, one row per run."""
    truth = lr.SharedRepresentation.random(n=n, d=d, k=k, noise=noise, rng=1)
    B = truth.B if at_truth else 0.5 * np.random.default_rng(2).standard_normal((d, k))
    options = {"step_size": 0.1, "rounds": max(ROUNDS)} | settings
    rows = []
    for seed in rng.integers(2**63, size=runs):
        trace = lr.fedsgd(
            truth,
            m=m,
            batches=batches,
            start=(B, np.full((n, k), head)),
            rng=source(seed),
            **options,
        )
        metrics = [trace[name][t] for name in ("distance", "loss", "head_error", "population_risk")
                   for t in ROUNDS]  # fmt: skip
        B_end = trace.state["B"]
        inner = (B_end.T @ B_end)[np.triu_indices(k)]
        rows.append([*metrics, *(truth.B.T @ B_end).ravel(), *inner, *trace.state["w"]])
    return np.array(rows)


@pytest.mark.slow
@pytest.mark.parametrize("name", first_of(SETTINGS))
def test_simulated_batches_have_the_law_of_sampled_ones(name, fresh_rng):
    one = draw("fresh", fresh_rng, **SETTINGS[name])
    other = draw("gram", fresh_rng, **SETTINGS[name])
    assert smallest_p(one, other) > FALSE_ALARM / len(SETTINGS)


@pytest.mark.slow
@pytest.mark.parametrize("by", [-1, 1])
@pytest.mark.parametrize(
    ("degrees", "changes"),
    [(3, {"k": 3, "d": 7}), (2, {"m": 1, "n": 1, "k": 1, "d": 4, "at_truth": True})],
    ids=["of the residual's length", "of the directions outside"],
)
def test_a_degree_of_freedom_too_many_or_too_few_is_caught(degrees, by, changes, fresh_rng):
    changes = changes | {"runs": 3 * RUNS}
    one = draw("fresh", fresh_rng, **changes)
    other = draw("gram", fresh_rng, source=off_by(by, chisquare=degrees), **changes)
    assert smallest_p(one, other) < FALSE_ALARM / len(SETTINGS)


def slopes(batches, noise, seeds):
    """Take a round of one client whose error v lies along B* = B; return X' r there, r' r and v."""
    m, step_size, w = 3, 0.1, 0.5
    truth = lr.SharedRepresentation.random(n=1, d=4, k=1, noise=noise, rng=1)
    v = w - truth.W.item()
    found = []
    for seed in seeds:
        trace = lr.fedsgd(
            truth, m=m, rounds=1, batches=batches, start=(truth.B, [[w]]), step_size=step_size,
            rng=int(seed),
        )  # fmt: skip
        moved = 1.0 - (truth.B.T @ trace.state["B"]).item()
        found.append((m * moved / (step_size * w), 2 * m * trace["loss"][1]))
    return *np.array(found).T, v


@pytest.mark.parametrize("batches", ["fresh", "gram"])
def test_without_noise_the_gradient_along_the_error_is_known_from_the_loss(batches):
    """Which is why the normal numbers lose their share along v."""
    slope, loss, v = slopes(batches, 0.0, range(5))
    np.testing.assert_allclose(slope * v, loss, rtol=1e-12)


@pytest.mark.parametrize("batches", first_of(["gram", "fresh"]))
def test_with_noise_that_share_is_the_noises(batches, fresh_rng):
    noise = 0.3
    slope, loss, v = slopes(batches, noise, fresh_rng.integers(2**63, size=RUNS))
    square = loss / (v**2 + noise**2)
    rest = (slope - square * v) / (noise * np.sqrt(square))
    assert kstest(rest, "norm").pvalue > FALSE_ALARM


@pytest.mark.slow
def test_a_stored_and_an_implicit_truth_of_equal_heads_have_one_law(fresh_rng):
    stored = lr.SharedRepresentation.random(n=5, d=12, k=2, noise=0.2, rng=0)
    implicit = lr.ImplicitRepresentation(stored.W, 12, 0.2)
    run = {"m": 5, "rounds": 2, "batches": "gram", "start": "random", "step_size": 0.1}
    samples = [
        np.array(
            [
                lr.fedsgd(truth, rng=int(seed), **run)[name][-1]
                for seed in fresh_rng.integers(2**63, size=RUNS)
                for name in ("distance", "loss", "head_error", "population_risk")
            ]
        ).reshape(RUNS, -1)
        for truth in (stored, implicit)
    ]
    assert smallest_p(*samples) > FALSE_ALARM


@pytest.mark.parametrize(("d", "k"), [(9, 2), (5, 2), (4, 2), (4, 3), (3, 3), (2, 1)])
def test_coordinates_and_embed_are_inverse(d, k):
    rng = np.random.default_rng(d)
    truth = lr.SharedRepresentation.random(n=5, d=d, k=k, rng=rng)
    B = rng.standard_normal((d, k))
    D, E = coordinates(truth.B, B)
    embedded = embed(truth, D, E, rng)
    np.testing.assert_allclose(embedded.T @ embedded, B.T @ B, atol=1e-13)
    np.testing.assert_allclose(truth.B.T @ embedded, truth.B.T @ B, atol=1e-13)


@pytest.mark.parametrize(("d", "k"), [(12, 3), (5, 3), (3, 3)])
def test_the_state_of_a_simulated_run_agrees_with_its_metrics(d, k):
    truth = lr.SharedRepresentation.random(n=7, d=d, k=k, noise=0.1, rng=0)
    trace = lr.fedsgd(truth, m=10, rounds=5, batches="gram", start="random", step_size=0.1, rng=1)
    B, W, D, E = (trace.state[name] for name in "BWDE")
    np.testing.assert_allclose(truth.B.T @ B, D, atol=1e-14)
    np.testing.assert_allclose(B.T @ B, D.T @ D + E.T @ E, atol=1e-14)
    np.testing.assert_array_equal(W, np.tile(trace.state["w"], (7, 1)))
    distance = lr.subspace.distance(B, truth.B)
    np.testing.assert_allclose(trace["distance"][-1], distance, rtol=1e-10, atol=1e-15)
    risk = 0.5 * np.mean(np.sum((W @ B.T - truth.theta) ** 2, axis=1))
    np.testing.assert_allclose(trace["population_risk"][-1], risk, rtol=1e-12)
    inside = W @ B.T - truth.theta
    inside = inside @ lr.subspace.orthonormalize(B)
    np.testing.assert_allclose(
        trace["head_error"][-1], np.sqrt(np.mean(np.sum(inside**2, axis=1))), rtol=1e-12
    )


def test_simulated_batches_start_and_select_as_sampled_ones_do():
    truth = lr.SharedRepresentation.random(n=6, d=8, k=2, rng=0)
    run = {"m": 4, "rounds": 3, "start": "moments", "participation": 0.5, "step_size": 0.1}
    sampled, simulated = (lr.fedsgd(truth, batches=b, rng=1, **run) for b in ("fresh", "gram"))
    assert list(sampled) == list(simulated)
    for name in ("distance", "head_error", "population_risk"):
        np.testing.assert_allclose(simulated[name][0], sampled[name][0], rtol=1e-12)
    for name in ("floats_up", "floats_down"):
        np.testing.assert_array_equal(simulated[name], sampled[name])
    assert np.isnan(simulated["loss"][0])
    assert simulated.settings == sampled.settings | {"batches": "gram"}


def test_neither_m_nor_d_bounds_a_simulation():
    truth = lr.SharedRepresentation.random(n=50, d=10**9, k=1, store=False, rng=0)
    same = truth.with_heads(np.ones((50, 1)))
    trace = lr.fedsgd(same, m=10**9, rounds=100, batches="gram", start=0.5, step_size=0.1, rng=1)
    assert trace["population_risk"][-1] < 0.01 * trace["population_risk"][0]
    assert trace.state.keys() == {"D", "E", "w", "W"}
    assert trace["floats_down"][-1] == 100 * 50 * (10**9 + 1)
