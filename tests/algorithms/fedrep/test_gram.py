"""Batches simulated through their sufficient statistics: the law of the sampled ones."""

import numpy as np
import pytest
from scipy.stats import ks_2samp

import linrep as lr
from linrep.algorithms.fedrep.gram import coordinates, lift
from linrep.problems.subspace import frame_at_distance, principal_angles
from tests.tools import FALSE_ALARM, first_of

ROUNDS = (1, 2, 4)
RUNS = 1000

#: Changes to n = 6, d = 9, k = 2, m = 6, noise 0.3, full participation, exact heads.
SETTINGS = {
    "plain": {},
    "no noise": {"noise": 0.0},
    "m = 1": {"m": 1},
    "m = k": {"m": 2},
    "m = k + 1": {"m": 3},
    "m = 2k, a singular Wishart": {"m": 4, "noise": 0.0},
    "k = 1": {"k": 1, "m": 2},
    "k = m = 1": {"k": 1, "m": 1},
    "d = k + 1": {"k": 3, "d": 4},
    "d = 2k": {"d": 4},
    "d = 2k + 1": {"d": 5},
    "d = k": {"d": 2},
    "part of the clients": {"participation": 0.5},
    "one client": {"n": 1, "k": 1},
    "fewer participants than k": {"n": 3, "k": 3, "participation": 0.34, "m": 8},
    "three head steps": {"local_steps": 3},
    "one head step of given length, m < k": {"local_steps": 1, "head_step_size": 0.1, "m": 1},
    "heads of unequal norm": {"heads": "scaled_qr"},
    "start at the truth": {"distance": 0.0},
    "summed gradients": {"normalization": "published", "step_size": 0.03},
}


def draw(batches, rng, runs, *, n=6, d=9, k=2, m=6, noise=0.3, heads="sphere", distance=0.6,
         wrong_d=0, wrong_m=0, **settings):  # fmt: skip
    """Return metrics at several rounds and sines of all angles at the end, one row per run."""
    truth = lr.SharedRepresentation.random(n=n, d=d, k=k, noise=noise, heads=heads, rng=1)
    start = truth.B if distance == 0.0 or d == k else frame_at_distance(
        truth.B, distance, angles="single", rng=2
    )  # fmt: skip
    if wrong_d:
        C, Phi = coordinates(start, truth.B)
        truth = lr.SharedRepresentation(np.eye(d + wrong_d, k), truth.W, noise)
        start = lift(truth, C, Phi, np.random.default_rng(3))
    options = {"step_size": 0.2, "rounds": max(ROUNDS)} | settings
    rows = []
    for seed in rng.integers(2**63, size=runs):
        trace = lr.fedrep(
            truth, m=m + wrong_m, batches=batches, start=start, rng=int(seed), **options
        )
        metrics = [trace[name][t] for name in ("distance", "loss", "head_error", "population_risk")
                   for t in ROUNDS]  # fmt: skip
        rows.append([*metrics, *np.sin(principal_angles(trace.state["B"], truth.B))])
    return np.array(rows)


def smallest_p(one, other):
    """Return Holm's smallest adjusted p-value of Kolmogorov-Smirnov tests, column by column.

    Samples are rounded, so that what is one number up to rounding errors is a tie.
    """
    columns = zip(one.round(7).T, other.round(7).T, strict=True)
    values = [ks_2samp(left, right, method="asymp").pvalue for left, right in columns]
    return min(values) * len(values)


@pytest.mark.slow
@pytest.mark.parametrize(("sampled", "simulated"), [("fresh", "gram"), ("split", "gram_split")])
@pytest.mark.parametrize("name", first_of(SETTINGS))
def test_simulated_batches_have_the_law_of_sampled_ones(name, sampled, simulated, fresh_rng):
    one = draw(sampled, fresh_rng, RUNS, **SETTINGS[name])
    other = draw(simulated, fresh_rng, RUNS, **SETTINGS[name])
    assert smallest_p(one, other) > FALSE_ALARM / (2 * len(SETTINGS))


@pytest.mark.slow
@pytest.mark.parametrize(("sampled", "simulated"), [("fresh", "gram"), ("split", "gram_split")])
@pytest.mark.parametrize(
    "wrong", [{"wrong_m": 1, "m": 4}, {"wrong_m": -1, "m": 5}, {"wrong_d": 1, "d": 5, "n": 2}]
)
def test_a_degree_of_freedom_too_many_or_too_few_is_caught(wrong, sampled, simulated, fresh_rng):
    right = {name: value for name, value in wrong.items() if not name.startswith("wrong")}
    one = draw(sampled, fresh_rng, RUNS, **right)
    other = draw(simulated, fresh_rng, RUNS, **wrong)
    assert smallest_p(one, other) < FALSE_ALARM / (2 * len(SETTINGS))


@pytest.mark.parametrize(("d", "k"), [(9, 2), (5, 2), (4, 2), (4, 3), (3, 3), (2, 1)])
def test_coordinates_and_lift_are_inverse(d, k):
    rng = np.random.default_rng(d)
    truth = lr.SharedRepresentation.random(n=5, d=d, k=k, rng=rng)
    B = lr.subspace.random_frame(d, k, rng)
    C, Phi = coordinates(B, truth.B)
    np.testing.assert_allclose(C.T @ C + Phi.T @ Phi, np.eye(k), atol=1e-14)
    lifted = lift(truth, C, Phi, rng)
    np.testing.assert_allclose(lifted.T @ lifted, np.eye(k), atol=1e-13)
    C_again, Phi_again = coordinates(lifted, truth.B)
    np.testing.assert_allclose(C_again, C, atol=1e-13)
    np.testing.assert_allclose(Phi_again.T @ Phi_again, Phi.T @ Phi, atol=1e-13)


@pytest.mark.parametrize("columns", [(0, 2), (2, 0), (2, 1)])
def test_coordinates_of_frames_that_share_a_direction(columns):
    """What B* adds to span(B) has one direction; its first column may have no part in it."""
    C, Phi = coordinates(np.eye(3)[:, columns], np.eye(3, 2))
    np.testing.assert_allclose(C.T @ C + Phi.T @ Phi, np.eye(2), atol=1e-15)
    assert Phi.shape == (1, 2)
    np.testing.assert_allclose(np.linalg.norm(Phi), 1.0)


def test_the_state_of_a_simulated_run_agrees_with_its_metrics():
    truth = lr.SharedRepresentation.random(n=7, d=12, k=3, noise=0.1, rng=0)
    trace = lr.fedrep(truth, m=10, rounds=5, batches="gram", start="random", rng=1)
    B, W = trace.state["B"], trace.state["W"]
    np.testing.assert_allclose(lr.subspace.distance(B, truth.B), trace["distance"][-1], rtol=1e-10)
    np.testing.assert_allclose(
        np.linalg.svd(trace.state["Phi"], compute_uv=False)[0], trace["distance"][-1], rtol=1e-12
    )
    risk = 0.5 * np.mean(np.sum((W @ B.T - truth.theta) ** 2, axis=1))
    np.testing.assert_allclose(risk, trace["population_risk"][-1], rtol=1e-10)
    heads = W - truth.theta @ B
    np.testing.assert_allclose(
        np.sqrt(np.mean(np.sum(heads**2, axis=1))), trace["head_error"][-1], rtol=1e-10
    )


@pytest.mark.compiled
def test_distances_far_below_rounding_stay_accurate():
    truth = lr.SharedRepresentation.random(n=40, d=20, k=2, rng=0)
    trace = lr.fedrep(truth, m=100, rounds=300, batches="gram", start=0.5, rng=1)
    assert 0.0 < trace["distance"][-1] < 1e-25
    ratios = trace["distance"][101:] / trace["distance"][100:-1]
    early = trace["distance"][11:40] / trace["distance"][10:39]
    np.testing.assert_allclose(np.median(ratios), np.median(early), rtol=0.05)


def test_neither_m_nor_d_bounds_a_simulation():
    truth = lr.SharedRepresentation.random(n=50, d=10**9, k=3, store=False, rng=0)
    assert truth.d == 10**9
    trace = lr.fedrep(truth, m=10**9, rounds=20, batches="gram", start=0.5, rng=1)
    assert trace["distance"][-1] < 0.1 * trace["distance"][0]
    random = lr.fedrep(truth, m=10, rounds=1, batches="gram_split", start="random", rng=1)
    assert random["distance"][0] > 0.999


@pytest.mark.compiled
def test_a_stored_and_an_implicit_truth_of_equal_heads_have_one_law(fresh_rng):
    stored = lr.SharedRepresentation.random(n=5, d=12, k=2, noise=0.2, rng=0)
    implicit = lr.ImplicitRepresentation(stored.W, 12, 0.2)
    samples = [
        np.array(
            [
                lr.fedrep(truth, m=5, rounds=2, batches="gram", start="random", rng=int(seed))[name]
                for seed in fresh_rng.integers(2**63, size=500)
                for name in ("distance", "population_risk")
            ]
        ).reshape(500, -1)
        for truth in (stored, implicit)
    ]
    assert smallest_p(*samples) > FALSE_ALARM
