import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import linrep as lr
from linrep.algorithms.baselines import factorization
from linrep.theory import asymptotics
from tests.algorithms.support import loss, own
from tests.reference import estimators as reference
from tests.strategies import cases
from tests.tools import complaint, first_of

SPECTRAL = {
    "moments": (lr.method_of_moments, reference.second_moment),
    "pairs": (lr.cross_moments, reference.cross_moment),
}


@pytest.mark.parametrize(("estimator", "moment"), SPECTRAL.values(), ids=SPECTRAL)
@given(case=cases(orthonormal=True, noise=(0.0, 0.1)), seed=st.integers(0, 9))
def test_spectral_estimators_span_the_leading_eigenvectors_of_the_naive_moment(
    estimator, moment, case, seed
):
    """Where eigenvalues are equal eigenvectors are not unique; the sum that they catch is.

    A client of weight 2 is two, one of weight 0 none.
    """
    data, weights = own(case), "clients"
    counts = np.ones(data.n, dtype=int)
    if seed:
        counts = weights = np.random.default_rng(seed).integers(0, 3, data.n)
    seen = (counts > 0) & (data.m > (estimator is lr.cross_moments))
    if not seen.any():
        with complaint(
            ValueError,
            "two samples" if estimator is lr.cross_moments and data.m.max() == 1 else "weights",
        ):
            estimator(data, k=case.k, weights=weights)
        return
    trace = estimator(data, k=case.k, weights=weights)
    B, W = trace.state["B"], trace.state["W"]
    np.testing.assert_allclose(B.T @ B, np.eye(case.k), atol=1e-12)
    repeated = zip(case.clients, counts, strict=True)
    matrix = moment([client for client, count in repeated for _ in range(count)])
    largest = np.sort(np.linalg.eigvalsh(matrix))[::-1][: case.k].sum()
    scale = np.abs(matrix).max()
    assert np.trace(B.T @ matrix @ B) == pytest.approx(largest, rel=1e-9, abs=1e-10 * scale)
    np.testing.assert_array_equal(W, lr.fit_heads(data, B))
    assert trace["loss"][-1] == pytest.approx(loss(data, W @ B.T), rel=1e-9, abs=1e-18)


@pytest.mark.parametrize(
    "estimator",
    [
        lambda data, **options: lr.method_of_moments(data, k=2, **options).state["B"],
        lambda data, **options: lr.cross_moments(data, k=2, **options).state["B"],
        lambda data, **options: lr.truncated_start(data, 2, **options),
    ],
)
def test_weights_by_samples_are_nearer_where_sizes_differ(estimator):
    truth = lr.SharedRepresentation.random(n=100, d=20, k=2, noise=0.5, rng=0)
    m = np.repeat([4, 200], 50)
    data = truth.draw(m, rng=1)
    by = {name: estimator(data, weights=name) for name in ("clients", "samples")}
    np.testing.assert_array_equal(estimator(data), by["clients"])
    np.testing.assert_array_equal(estimator(data, weights=m), by["samples"])
    best = asymptotics.best_weights(truth, m=m)
    assert lr.subspace.distance(estimator(data, weights=best), truth.B) < 0.3
    errors = {name: lr.subspace.distance(B, truth.B) for name, B in by.items()}
    assert 2.0 * errors["samples"] < errors["clients"]
    for wrong, words in (("m", "weights"), (-m, "weights"), (m[:3], "weights"), (0 * m, "weights")):
        with complaint(ValueError, words):
            estimator(data, weights=wrong)


def test_a_truncated_start_counts_a_client_of_weight_two_twice():
    truth = lr.SharedRepresentation.random(n=8, d=6, k=2, noise=0.5, rng=0)
    data, counts = truth.draw(5, rng=1), np.array([2, 0, 1, 1, 3, 1, 2, 1])
    twice = [data.client(i) for i, count in enumerate(counts) for _ in range(count)]
    both = (
        lr.truncated_start(data, 2, truncation=1e9, weights=counts),
        lr.truncated_start(lr.ClientData.from_list(twice), 2, truncation=1e9),
    )
    assert lr.subspace.distance(*both) < 1e-10


def test_clients_of_one_sample_do_not_count_among_pairs():
    truth = lr.SharedRepresentation.random(n=12, d=5, k=2, noise=0.3, rng=0)
    m = np.array([1, 4, 1, 3, 6, 2, 1, 5, 2, 2, 3, 4])
    data = truth.draw(m, rng=1)
    with_pairs = lr.ClientData.from_list([data.client(i) for i in range(data.n) if data.m[i] > 1])
    both = [lr.cross_moments(each, k=2).state["B"] for each in (data, with_pairs)]
    assert lr.subspace.distance(*both) < 1e-10


def gradient(clients, B, W):
    """Central differences of the naive objective."""
    entries, step = np.concatenate([B.ravel(), W.ravel()]), 1e-5

    def value(entries):
        return reference.balanced_objective(
            clients, entries[: B.size].reshape(B.shape), entries[B.size :].reshape(W.shape)
        )

    moves = step * np.eye(len(entries))
    return np.array([(value(entries + e) - value(entries - e)) / (2 * step) for e in moves])


@settings(max_examples=20)
@given(cases(m=(1, 8), noise=(0.1, 1.0)), st.integers(0, 5))
def test_the_factorization_ends_where_the_naive_objective_is_stationary(case, seed):
    rng = np.random.default_rng(seed)
    start = rng.standard_normal((case.d, case.k)), rng.standard_normal((case.n, case.k))
    trace = lr.linear_factorization(own(case), k=case.k, start=start, rounds=5000, tolerance=1e-7)
    square = np.mean(case.X**2) or 1.0  # covariates that are 0 have no units
    first = reference.balanced_objective(case.clients, *start, square)
    assert trace["objective"][0] == pytest.approx(first, rel=1e-10)
    assert (np.diff(trace["objective"]) <= 0).all()
    B, W = trace.state["B"], trace.state["W"]
    np.testing.assert_allclose(B.T @ B, np.eye(case.k), atol=1e-10)
    assert trace["loss"][-1] == pytest.approx(loss(own(case), W @ B.T), rel=1e-6, abs=1e-9)
    # The product in its balanced factors, where the second term is 0: then of the same objective.
    U, values, VT = np.linalg.svd(B @ W.T, full_matrices=False)
    root = np.sqrt(values[: case.k] / np.sqrt(case.n))
    scaled = U[:, : case.k] * root, VT[: case.k].T * root * np.sqrt(case.n)
    last = reference.balanced_objective(case.clients, *scaled, square)
    assert last <= trace["objective"][-1] * (1 + 1e-7) + 1e-12
    if trace.stop_reason == "converged":
        assert np.abs(gradient(case.clients, *scaled)).max() < 1e-5


def test_the_factorization_ends_early_only_as_converged():
    data = lr.SharedRepresentation.random(n=20, d=6, k=2, noise=0.5, rng=0).draw(10, rng=1)
    short = lr.linear_factorization(data, k=2, rounds=3, rng=2)
    assert (short.rounds, short.stop_reason) == (3, "rounds")
    long = lr.linear_factorization(data, k=2, rounds=2000, rng=2)
    assert long.stop_reason == "converged"
    np.testing.assert_allclose(long["objective"][:4], short["objective"])
    assert "distance" in long
    assert long.notes == ()


@pytest.mark.parametrize("scale", [2.0**-200, 2.0**-20, 2.0**20, 2.0**200])
def test_the_factorization_does_not_depend_on_the_labels_units(scale):
    """By powers of 2, so that nothing is rounded otherwise."""
    data = lr.SharedRepresentation.random(n=20, d=6, k=2, noise=0.5, rng=0).draw(10, rng=1)
    data = own(data)
    scaled = lr.ClientData(data.X, scale * data.y, data.offsets)
    one = lr.linear_factorization(data, k=2, rounds=2000, rng=2)
    other = lr.linear_factorization(scaled, k=2, rounds=2000, rng=2)
    assert one.stop_reason == other.stop_reason == "converged"
    np.testing.assert_array_equal(other["loss"], scale**2 * one["loss"])
    np.testing.assert_array_equal(other.models, scale * one.models)
    B, W = one.state["B"], one.state["W"]
    starts = (B, W), (B * np.sqrt(scale), W * np.sqrt(scale))
    again = [
        lr.linear_factorization(each, k=2, start=start, rounds=5)
        for each, start in zip((data, scaled), starts, strict=True)
    ]
    np.testing.assert_array_equal(again[1].models, scale * again[0].models)


def test_labels_whose_squares_overflow_are_refused():
    data = lr.SharedRepresentation.random(n=6, d=3, k=2, rng=0).draw(5, rng=1)
    with complaint(ValueError, "y of data must be between"):
        lr.linear_factorization(lr.ClientData(data.X, 1e200 * data.y, data.offsets), k=2, rng=0)
    zero = lr.linear_factorization(lr.ClientData(data.X, 0.0 * data.y, data.offsets), k=2, rng=0)
    assert zero.stop_reason == "converged"


def test_the_factorization_says_where_it_gave_up(monkeypatch):
    data = lr.SharedRepresentation.random(n=6, d=3, k=2, noise=0.1, rng=0).draw(5, rng=1)
    solve = factorization.minimize

    def abnormal(*args, **kwargs):
        found = solve(*args, **kwargs)
        found.status, found.message = 2, "ABNORMAL"
        return found

    monkeypatch.setattr(factorization, "minimize", abnormal)
    with pytest.warns(lr.RunWarning, match="gave up: ABNORMAL"):
        trace = lr.linear_factorization(data, k=2, rng=0)
    assert (trace.stop_reason, len(trace.notes)) == ("rounds", 1)


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize(
    ("n", "published", "here"),
    first_of([(400, (0.979, 0.353), (0.978, 0.347)), (1600, (0.635, 0.165), (0.626, 0.167))]),
)
def test_published_errors_of_the_method_of_moments_and_the_factorization(n, published, here):
    """Tripuraneni, Jin and Jordan: d = 100, r = 5, 25 samples a task, noise 1, heads N(0, I/5).

    The means over five draws are those of docs/comparing.md. One draw's standard deviation is near
    0.03 at 400 tasks; how many the published numbers are of is not known.
    """
    found = []
    for seed in range(5):
        truth = lr.SharedRepresentation.random(
            n=n, d=100, k=5, heads="gaussian", noise=1.0, rng=seed
        )
        data = truth.draw(25, rng=100 + seed)
        traces = [
            lr.method_of_moments(data, k=5),
            lr.linear_factorization(data, k=5, rng=seed),
        ]
        found.append([trace["distance"][-1] for trace in traces])
    means = np.mean(found, axis=0)
    np.testing.assert_allclose(means, here, atol=6e-4)  # rounded to three digits
    np.testing.assert_allclose(means, published, atol=0.03)
