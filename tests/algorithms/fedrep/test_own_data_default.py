"""FedRep as it runs by default on samples whose truth is not known."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

import linrep as lr
from tests.algorithms.support import loss
from tests.tools import sampled

pytestmark = pytest.mark.compiled

RANKS = (1, 2, 3, 5)
SCALES = 10.0 ** np.linspace(-6, 6, 12)


def of_normal_covariates(kappa=1.0, noise=0.5, m=12):
    truth = lr.SharedRepresentation.random(n=40, d=12, k=3, rng=0)
    W = truth.W * [1.0, kappa**-0.5, 1.0 / kappa]
    return replace(lr.SharedRepresentation(B=truth.B, W=W, noise=noise).draw(m, rng=1), truth=None)


def around_a_mean():
    """Ragged clients whose models are a common one plus two directions."""
    rng = np.random.default_rng(0)
    mean, B = rng.standard_normal(12), np.linalg.qr(rng.standard_normal((12, 2)))[0]
    parts = []
    for _ in range(40):
        X = rng.standard_normal((int(rng.integers(4, 50)), 12))
        w = mean + B @ rng.standard_normal(2)
        parts.append((X, X @ w + rng.standard_normal(len(X))))
    return lr.ClientData.from_list(parts)


def dummies_of_uneven_schools():
    """An intercept with all dummies, a large constant of each client, few who are in a group."""
    rng = np.random.default_rng(0)
    beta = np.r_[20.0, -3, 0, 3, 0.15, rng.normal(0, 4, 5)]
    parts = []
    for _ in range(30):
        m = int(rng.integers(12, 80))
        X = np.column_stack([
            np.ones(m), np.eye(3)[rng.integers(0, 3, m)], np.full(m, rng.integers(10, 60)),
            np.eye(5)[rng.integers(0, 5, m)],
        ])  # fmt: skip
        w = beta + np.r_[rng.normal(0, 4), np.zeros(4), rng.normal(0, 1, 5)]
        parts.append((X, X @ w + rng.normal(0, 11, m)))
    return lr.ClientData.from_list(parts)


def far_from_centred():
    return replace((data := of_normal_covariates()), X=data.X + 1e3)


def of_diabetes():
    datasets = pytest.importorskip("sklearn.datasets")
    X, y = datasets.load_diabetes(return_X_y=True)
    age = np.digitize(X[:, 0], np.quantile(X[:, 0], np.linspace(0, 1, 13)[1:-1]))
    return lr.ClientData.from_arrays(np.column_stack([X, np.ones(len(X))]), y, age)


SETS = {
    "normal": of_normal_covariates,
    "decaying heads": lambda: of_normal_covariates(kappa=10.0),
    "without noise": lambda: of_normal_covariates(noise=0.0),
    "around a mean": around_a_mean,
    "dummies": dummies_of_uneven_schools,
    "far from centred": far_from_centred,
    "diabetes": of_diabetes,
}


@pytest.mark.parametrize("name", sampled(SETS, 3))
def test_the_training_loss_is_that_of_a_good_fit(name):
    """Below pooled least squares, near the best of random starts, and falling with the rank."""
    data = SETS[name]()
    pooled, before = loss(data, lr.pooled(data).models), np.inf
    for k in RANKS:
        found = loss(data, lr.fedrep(data, k=k).models)
        assert found <= pooled * (1 + 1e-9)
        assert found <= before * 1.01 + 1e-12 * pooled
        before = found
        starts = [
            lr.alternating_least_squares(data, k=k, start="random", rng=seed)["loss"][-1]
            for seed in range(5)
        ]
        assert found <= 1.2 * min(found, *starts) + 1e-12 * pooled


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("name", ["normal", "around a mean"])
def test_units_of_single_columns_do_not_matter(name, k):
    data = SETS[name]()
    scaled = replace(data, X=data.X * SCALES)
    expected = lr.fedrep(data, k=k).predict(data)
    found = lr.fedrep(scaled, k=k).predict(scaled)
    np.testing.assert_allclose(found, expected, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize("rounds", sampled([0, 1, 5, 2, 30], 3))
@pytest.mark.parametrize("name", SETS)
def test_the_state_is_the_one_of_the_lowest_loss(name, rounds):
    data = SETS[name]()
    trace = lr.fedrep(data, k=3, rounds=rounds)
    B, W = trace.state["B"], trace.state["W"]
    np.testing.assert_allclose(B.T @ B, np.eye(3), atol=1e-10)
    assert (np.diff(trace["loss"][1:]) <= 0).all()
    if rounds:
        size = np.mean(data.y**2)
        assert loss(data, W @ B.T) == pytest.approx(trace["loss"][-1], rel=1e-6, abs=1e-12 * size)
        start = lr.models_start(data, 3)
        least = loss(data, lr.fit_heads(data, start) @ start.T)
        assert trace["loss"][1] == pytest.approx(least, rel=1e-6, abs=1e-12 * size)


def test_what_the_start_spans():
    """The better of the models' leading directions, and of the pooled model with what they add."""
    data = around_a_mean()
    for k in RANKS:
        B = lr.models_start(data, k)
        np.testing.assert_allclose(B.T @ B, np.eye(k), atol=1e-12)
    m = np.repeat(data.m, data.m)
    sizes = np.sqrt(np.sum(data.X**2 / m[:, None], axis=0) / data.n)
    own = replace(data, X=data.X / sizes)
    models = lr.ridge_to_mean(own).state["theta"] / sizes
    weighted = data.X / np.sqrt(m * data.n)[:, None]
    root = np.linalg.cholesky(weighted.T @ weighted)  # S = root root'
    leading = list(np.linalg.svd(models @ root)[2][:3])
    pooled = np.linalg.lstsq(weighted, data.y / np.sqrt(m * data.n), rcond=None)[0]
    others = np.linalg.svd((models - pooled) @ root)[2][:2]
    spans = [
        np.linalg.solve(root.T, np.transpose(each)) for each in (leading, [pooled @ root, *others])
    ]
    frames = [lr.subspace.orthonormalize(each) for each in spans]
    losses = [loss(data, lr.fit_heads(data, B) @ B.T) for B in frames]
    assert lr.subspace.distance(lr.models_start(data, 3), frames[np.argmin(losses)]) < 1e-7


def test_covariates_that_are_zero_and_clients_of_one_sample():
    rng = np.random.default_rng(0)
    empty = lr.ClientData(np.zeros((8, 3)), rng.standard_normal(8), np.array([0, 4, 8]))
    trace = lr.fedrep(empty, k=2)
    assert trace["loss"][-1] == pytest.approx(loss(empty, np.zeros((2, 3))))
    np.testing.assert_array_equal(trace.state["W"], 0.0)
    single = lr.ClientData(rng.standard_normal((5, 3)), rng.standard_normal(5), np.arange(6))
    assert lr.fedrep(single, k=2)["loss"][-1] < 1e-20


def test_with_a_truth_or_a_start_it_is_the_papers():
    truth = lr.SharedRepresentation.random(n=10, d=6, k=2, noise=0.1, rng=0)
    drawn = truth.draw(12, rng=1)
    assert lr.fedrep(drawn, rounds=2).settings["start"] == "moments"
    assert lr.fedrep(truth, m=5, rounds=2, rng=0).settings["start"] == "moments"
    own = replace(drawn, truth=None)
    assert lr.fedrep(own, k=2, rounds=2).settings["start"] == "models"
    assert lr.fedrep(own, k=2, rounds=2).settings["coordinates"] == "whitened"
    for start in ("moments", truth.B, (truth.B, truth.W)):
        given = lr.fedrep(own, k=2, rounds=5, start=start)
        assert given.settings["coordinates"] == "given"
    assert lr.fedrep(own, k=2, rounds=2, step_size=0.1).settings["coordinates"] == "given"


@pytest.mark.parametrize("size", [1e-12, 1e-15, 1e-18, 0.0])
def test_a_column_that_is_rounding_is_none(size):
    rng = np.random.default_rng(0)
    data, later = of_normal_covariates(), of_normal_covariates()
    noise = size * rng.standard_normal((2, len(data.y)))
    with_noise = replace(data, X=np.column_stack([data.X, noise[0]]))
    # What is rounding in double precision is larger in single precision.
    later = replace(later, X=np.column_stack([data.X, 1e8 * noise[1]]))
    trace = lr.fedrep(with_noise, k=2)
    if size < 1e-13:
        plain = lr.fedrep(data, k=2)
        assert trace.score(later) == pytest.approx(plain.score(data), abs=1e-3)
        assert any("rank 12 of 13" in note for note in trace.notes)


def test_a_run_that_met_a_wide_tolerance_has_stalled():
    data = of_normal_covariates()
    with pytest.warns(lr.RunWarning, match="as converged, although .* take a smaller tolerance"):
        trace = lr.linear_factorization(data, k=2, tolerance=0.5, rng=0)
    assert trace.stop_reason == "stalled"
    assert "stalled after" in trace.summary()
    assert lr.linear_factorization(data, k=2, rng=0).stop_reason == "converged"


@pytest.mark.parametrize("far", [1e4, 1e6])
@pytest.mark.parametrize("name", ["linear_factorization", "flute", "pflmf", "altmin_gd"])
def test_labels_far_from_centred_stop_no_method_silently(name, far):
    data = of_normal_covariates()
    data = replace(data, X=np.column_stack([data.X, np.ones(len(data.y))]), y=data.y + far)
    trace = getattr(lr, name)(data, k=2, rng=0)
    alone = lr.ridge_to_mean(data).score(data)
    assert trace.notes or trace.score(data) > alone - 0.3


def test_a_run_that_ends_while_its_loss_falls_says_so():
    data = around_a_mean()
    with pytest.warns(lr.RunWarning, match="still falls.*more rounds"):
        lr.flute(data, k=3, rounds=25, rng=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", lr.RunWarning)
        lr.fedrep(data, k=2, rounds=300)
