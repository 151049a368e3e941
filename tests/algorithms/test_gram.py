"""Batches, models and heads drawn from their law: the law of the sampled and fitted ones."""

import numpy as np
import pytest
from scipy.stats import ks_2samp

import linrep as lr
from linrep.algorithms.fedrep.gram import coordinates, embed, lift
from linrep.problems.subspace import frame_at_distance, principal_angles
from tests.tools import FALSE_ALARM, first_of

ROUNDS = (1, 2, 4)
METRICS = ("distance", "loss", "head_error", "population_risk")

#: Of fedrep: changes to n = 6, d = 9, k = 2, m = 6, noise 0.3, all clients, exact heads.
FEDREP = {
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
#: Of fedsgd: changes to n = 4, d = 9, k = 2, m = 3, noise 0.3, all clients, a start of no frame.
FEDSGD = {
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


def draw_fedrep(batches, rng, *, n=6, d=9, k=2, m=6, noise=0.3, heads="sphere", distance=0.6,
                **settings):  # fmt: skip
    """Return metrics at several rounds and sines of all angles at the end, one row per run."""
    truth = lr.SharedRepresentation.random(n=n, d=d, k=k, noise=noise, heads=heads, rng=1)
    start = truth.B if distance == 0.0 or d == k else frame_at_distance(
        truth.B, distance, angles="single", rng=2
    )  # fmt: skip
    options = {"step_size": 0.2, "rounds": max(ROUNDS)} | settings
    rows = []
    for seed in rng.integers(2**63, size=1000):
        trace = lr.fedrep(truth, m=m, batches=batches, start=start, rng=int(seed), **options)
        metrics = [trace[name][t] for name in METRICS for t in ROUNDS]
        rows.append([*metrics, *np.sin(principal_angles(trace.state["B"], truth.B))])
    return np.array(rows)


def draw_fedsgd(batches, rng, *, n=4, d=9, k=2, m=3, noise=0.3, head=0.7, at_truth=False,
                **settings):  # fmt: skip
    """Return metrics at several rounds, and what is invariant of B and w, one row per run."""
    truth = lr.SharedRepresentation.random(n=n, d=d, k=k, noise=noise, rng=1)
    B = truth.B if at_truth else 0.5 * np.random.default_rng(2).standard_normal((d, k))
    options = {"step_size": 0.1, "rounds": max(ROUNDS), "start": (B, np.full((n, k), head))}
    rows = []
    for seed in rng.integers(2**63, size=1000):
        trace = lr.fedsgd(truth, m=m, batches=batches, rng=int(seed), **options | settings)
        metrics = [trace[name][t] for name in METRICS for t in ROUNDS]
        B_end = trace.state["B"]
        inner = (B_end.T @ B_end)[np.triu_indices(k)]
        rows.append([*metrics, *(truth.B.T @ B_end).ravel(), *inner, *trace.state["w"]])
    return np.array(rows)


def draw_local(batches, rng, *, m, n=2, d=5, k=2, noise=0.5):
    """Return risk and loss, and their product, which tells whether they depend on each other."""
    truth = lr.SharedRepresentation.random(n=n, d=d, k=k, noise=noise, rng=1)
    rows = []
    for seed in rng.integers(2**63, size=2000):
        trace = lr.local_only(truth, m=m, batches=batches, rng=int(seed))
        risk, loss = trace["population_risk"][1], trace["loss"][1]
        rows.append([risk, loss, risk * loss])
    return np.array(rows)


def draw_heads(how, rng, *, m, d=7, k=2, noise=0.3, columns=None, at_truth=False):
    """Return the heads of clients of one truth, and what tells of their joint law."""
    truth = lr.SharedRepresentation.random(n=k, d=d, k=k, noise=noise, rng=1)
    truth = truth.with_heads(np.tile(truth.W[0], (2000, 1)))
    B = truth.B if at_truth else lr.subspace.random_frame(d, columns or k, 2)
    if how == "simulated":
        W = lr.simulate_heads(truth, B, m, rng=int(rng.integers(2**63)))
    else:
        W = lr.fit_heads(truth.draw(m, rng=rng), B)
    error = W - truth.theta @ B
    return np.column_stack([W, np.linalg.norm(W, axis=1), np.linalg.norm(error, axis=1),
                            np.sum(W * error, axis=1), np.prod(error, axis=1)])  # fmt: skip


#: What draws, with which batches, and simulated ones; settings, and tests of such settings.
KINDS = {
    "fedrep": (draw_fedrep, "fresh", "gram", FEDREP, 2 * len(FEDREP)),
    "fedrep, split": (draw_fedrep, "split", "gram_split", FEDREP, 2 * len(FEDREP)),
    "fedsgd": (draw_fedsgd, "fresh", "gram", FEDSGD, len(FEDSGD)),
    "local": (draw_local, "fixed", "gram", LOCAL, len(LOCAL)),
    "heads": (draw_heads, "fitted", "simulated", HEADS, len(HEADS)),
}


def marked(kind, *values, first=False):
    """Return a test's parameters, slow but where they are quick."""
    quick = kind == "heads" or (kind == "local" and first)
    mark = pytest.mark.compiled if quick else pytest.mark.slow
    return pytest.param(kind, *values, marks=mark)


def smallest_p(one, other):
    """Return Holm's smallest adjusted p-value of Kolmogorov-Smirnov tests, column by column.

    Samples are rounded, so that what is one number up to rounding errors is a tie.
    """
    columns = zip(one.round(7).T, other.round(7).T, strict=True)
    values = [ks_2samp(left, right, method="asymp").pvalue for left, right in columns]
    return min(values) * len(values)


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        marked(kind, name, first=not place)
        for kind, (_, _, _, settings, _) in KINDS.items()
        for place, name in enumerate(settings)
    ],
)
def test_what_is_simulated_has_the_law_of_what_is_sampled(kind, name, fresh_rng):
    draw, sampled, simulated, settings, tests = KINDS[kind]
    one = draw(sampled, fresh_rng, **settings[name])
    other = draw(simulated, fresh_rng, **settings[name])
    assert smallest_p(one, other) > FALSE_ALARM / tests


@pytest.mark.parametrize(
    ("method", "settings"), first_of([(lr.fedrep, {}), (lr.fedsgd, {"step_size": 0.1})])
)
def test_a_stored_and_an_implicit_truth_of_equal_heads_have_one_law(method, settings, fresh_rng):
    stored = lr.SharedRepresentation.random(n=5, d=12, k=2, noise=0.2, rng=0)
    implicit = lr.ImplicitRepresentation(stored.W, 12, 0.2)
    run = {"m": 5, "rounds": 2, "batches": "gram", "start": "random"} | settings
    samples = []
    for truth in (stored, implicit):
        seeds = fresh_rng.integers(2**63, size=500)
        traces = [method(truth, rng=int(seed), **run) for seed in seeds]
        samples.append(np.array([[trace[name][-1] for name in METRICS] for trace in traces]))
    assert smallest_p(*samples) > FALSE_ALARM


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


@pytest.mark.parametrize(("d", "k"), [(9, 2), (5, 2), (4, 2), (4, 3), (3, 3), (2, 1)])
def test_coordinates_are_those_of_what_is_lifted_or_embedded(d, k):
    rng = np.random.default_rng(d)
    truth = lr.SharedRepresentation.random(n=5, d=d, k=k, rng=rng)
    C, Phi = coordinates(lr.subspace.random_frame(d, k, rng), truth.B)
    np.testing.assert_allclose(C.T @ C + Phi.T @ Phi, np.eye(k), atol=1e-14)
    lifted = lift(truth, C, Phi, rng)
    np.testing.assert_allclose(lifted.T @ lifted, np.eye(k), atol=1e-13)
    C_again, Phi_again = coordinates(lifted, truth.B)
    np.testing.assert_allclose(C_again, C, atol=1e-13)
    np.testing.assert_allclose(Phi_again.T @ Phi_again, Phi.T @ Phi, atol=1e-13)
    B = rng.standard_normal((d, k))
    embedded = embed(truth, *coordinates(truth.B, B), rng)
    np.testing.assert_allclose(embedded.T @ embedded, B.T @ B, atol=1e-13)
    np.testing.assert_allclose(truth.B.T @ embedded, truth.B.T @ B, atol=1e-13)


@pytest.mark.parametrize("columns", [(0, 2), (2, 0), (2, 1)])
def test_coordinates_of_frames_that_share_a_direction(columns):
    """What B* adds to span(B) has one direction; its first column may have no part in it."""
    C, Phi = coordinates(np.eye(3)[:, columns], np.eye(3, 2))
    np.testing.assert_allclose(C.T @ C + Phi.T @ Phi, np.eye(2), atol=1e-15)
    assert Phi.shape == (1, 2)
    np.testing.assert_allclose(np.linalg.norm(Phi), 1.0)


@pytest.mark.parametrize(("d", "k"), [(12, 3), (5, 3), (3, 3)])
@pytest.mark.parametrize("method", [lr.fedrep, lr.fedsgd])
def test_the_state_of_a_simulated_run_agrees_with_its_metrics(method, d, k):
    truth = lr.SharedRepresentation.random(n=7, d=d, k=k, noise=0.1, rng=0)
    run = {"m": 10, "rounds": 5, "batches": "gram", "start": "random", "step_size": 0.1}
    trace = method(truth, rng=1, **run)
    B, W = trace.state["B"], trace.state["W"]
    if method is lr.fedsgd:
        D, E = trace.state["D"], trace.state["E"]
        np.testing.assert_allclose(truth.B.T @ B, D, atol=1e-14)
        np.testing.assert_allclose(B.T @ B, D.T @ D + E.T @ E, atol=1e-14)
        np.testing.assert_array_equal(W, np.tile(trace.state["w"], (7, 1)))
    elif d > k:
        sines = np.linalg.svd(trace.state["Phi"], compute_uv=False)
        np.testing.assert_allclose(sines[0], trace["distance"][-1], rtol=1e-12)
    error = W @ B.T - truth.theta
    expected = {
        "distance": lr.subspace.distance(B, truth.B),
        "population_risk": 0.5 * np.mean(np.sum(error**2, axis=1)),
        "head_error": np.linalg.norm(error @ lr.subspace.orthonormalize(B)) / np.sqrt(7),
    }
    for name, value in expected.items():
        np.testing.assert_allclose(trace[name][-1], value, rtol=1e-10, atol=1e-15)


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


@pytest.mark.compiled
def test_distances_far_below_rounding_stay_accurate():
    truth = lr.SharedRepresentation.random(n=40, d=20, k=2, rng=0)
    trace = lr.fedrep(truth, m=100, rounds=300, batches="gram", start=0.5, rng=1)
    assert 0.0 < trace["distance"][-1] < 1e-25
    ratios = trace["distance"][101:] / trace["distance"][100:-1]
    early = trace["distance"][11:40] / trace["distance"][10:39]
    np.testing.assert_allclose(np.median(ratios), np.median(early), rtol=0.05)


@pytest.mark.parametrize("m", [1, 10**9, 2 * 10**9])
def test_neither_m_nor_d_bounds_a_simulation(m):
    truth = lr.SharedRepresentation.random(n=50, d=10**9, k=3, noise=0.1, store=False, rng=0)
    run = {"m": m, "batches": "gram", "start": 0.5, "rng": 1}
    trace = lr.fedrep(truth, rounds=20, **run)
    assert (trace["distance"][-1] < 0.1 * trace["distance"][0]) == (m > 1)
    random = lr.fedrep(truth, m=10, rounds=1, batches="gram_split", start="random", rng=1)
    assert random["distance"][0] > 0.999
    same = truth.with_heads(np.ones((50, 3)))
    trace = lr.fedsgd(same, rounds=9, step_size=1e-3 / truth.d if m == 1 else 0.1, **run)
    assert trace.state.keys() == {"D", "E", "w", "W"}
    assert trace["floats_down"][-1] == 9 * 50 * 3 * (10**9 + 1)
    alone = lr.local_only(truth, m=m, batches="gram", rng=1)
    assert (alone.rounds, alone.state) == (1, {})
    assert np.isnan(alone["loss"][0])
    np.testing.assert_allclose(alone["population_risk"][0], 1.5)
    if m == 1:  # one direction of so many
        np.testing.assert_allclose(alone["population_risk"][1], 1.5, rtol=1e-6)
    if m > truth.d:  # d / (m - d) and (m - d) / m of half the noise's variance
        np.testing.assert_allclose(alone["population_risk"][1], 0.005, rtol=1e-3)
        np.testing.assert_allclose(alone["loss"][1], 0.0025, rtol=1e-3)


def test_heads_are_simulated_on_what_a_simulated_run_found():
    truth = lr.SharedRepresentation.random(n=50, d=10**9, k=3, store=False, rng=0)
    state = lr.fedrep(truth, m=10**9, rounds=20, batches="gram", start=0.5, rng=1).state
    new = truth.with_heads(np.ones((4, 3)))
    W = lr.simulate_heads(new, (state["C"], state["Phi"]), m=10**12, rng=2)
    np.testing.assert_allclose(W, new.W @ state["C"].T, atol=1e-4)
    nothing_outside = np.eye(3), np.zeros((0, 3))
    assert lr.simulate_heads(truth, nothing_outside, 3, rng=0).shape == (50, 3)


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


def test_a_client_alone_sees_one_batch_whatever_its_name():
    truth = lr.SharedRepresentation.random(n=5, d=4, k=2, rng=0)
    fixed, fresh, split = (
        lr.local_only(truth, m=3, batches=name, rng=0) for name in ("fixed", "fresh", "split")
    )
    np.testing.assert_array_equal(fixed.state["theta"], fresh.state["theta"])
    np.testing.assert_array_equal(fixed.state["theta"], split.state["theta"])
    one, two = (lr.local_only(truth, m=3, batches=name, rng=0) for name in ("gram", "gram_split"))
    np.testing.assert_array_equal(one["population_risk"], two["population_risk"])
