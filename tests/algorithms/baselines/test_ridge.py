import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import linrep as lr
from linrep.algorithms import ridges
from tests.algorithms.support import own
from tests.reference import baselines as reference
from tests.strategies import cases, seeds
from tests.tools import rank_is_clear

penalties = st.sampled_from([1e-3, 0.1, 1.0, 30.0])


def alike(actual, expected, tolerance=1e-7):
    """Assert that arrays agree up to rounding in systems of a condition of up to a million."""
    scale = 1.0 + np.abs(expected).max()
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tolerance * scale)


@given(cases(k_within_n=False), penalties, st.booleans())
def test_heads_with_a_ridge_solve_their_normal_equations(case, penalty, each):
    penalty = penalty * (1.0 + np.arange(case.n)) if each else penalty
    W = lr.fit_heads(own(case), case.B, ridge=penalty)
    shared = np.broadcast_to(penalty, case.n)
    for (X, y), w, mu in zip(case.clients, W, shared, strict=True):
        alike(w, reference.ridge(X @ case.B, y, mu))


@given(cases(), st.floats(0.5, 3.0))
def test_a_penalty_of_zero_among_others_is_least_squares_of_minimum_norm(case, penalty):
    assume(case.n > 1)
    ridge = np.zeros(case.n)
    ridge[0] = penalty
    W = lr.fit_heads(own(case), case.B, ridge=ridge)
    assume(all(rank_is_clear(X @ case.B) for X, _ in case.clients))
    alike(W[1:], lr.fit_heads(own(case), case.B)[1:], 1e-6)


@given(cases(), penalties)
def test_ridge_is_each_clients_own(case, penalty):
    trace = lr.ridge(own(case), penalty=penalty)
    expected = [reference.ridge(X, y, penalty) for X, y in case.clients]
    alike(trace.state["theta"], np.array(expected))
    assert trace.settings["penalty"] == penalty
    assert trace.settings["leave_one_out"] is False
    zero = reference.objective(case.clients, np.zeros((case.n, case.d)), np.zeros(case.n))
    alike(trace["loss"][0], zero)
    fitted = reference.objective(case.clients, trace.state["theta"], np.zeros(case.n))
    alike(trace["loss"][1], fitted)


def test_a_client_may_have_more_samples_than_are_calculated_with_at_once(fresh_rng):
    X = fresh_rng.standard_normal((3000, 50))
    data = lr.ClientData(X, X[:, 0] + fresh_rng.standard_normal(3000), np.array([0, 2900, 3000]))
    spectra = ridges.decompose(data.X, data.y, data.offsets)
    assert [each.clients.tolist() for each in spectra] == [[1], [0]]
    found = lr.ridge(data)
    alike(
        found.state["theta"][0], reference.ridge(X[:2900], data.y[:2900], found.settings["penalty"])
    )


@given(cases(), penalties)
def test_errors_at_samples_left_out_are_those_of_fits_without_them(case, penalty):
    spectra = ridges.decompose(case.X, case.y, case.offsets)
    errors = np.concatenate([each.left_out(penalty).ravel() for each in spectra])

    def fit(clients):
        return [reference.ridge(X, y, penalty) for X, y in clients]

    alike(errors, reference.left_out(in_blocks(case.clients, spectra), fit))


def in_blocks(clients, spectra):
    """Return clients in the order in which they are decomposed."""
    return [clients[i] for each in spectra for i in each.clients]


@given(cases(n=(1, 4), m=(2, 7)), penalties)
def test_models_around_a_mean_solve_the_system_for_all_of_them(case, penalty):
    trace = lr.ridge_to_mean(own(case), penalty=penalty)
    models, mean = reference.around_mean(case.clients, penalty)
    assume(rank_is_clear(case.X))
    alike(trace.state["theta"], models, 1e-6)
    alike(trace.state["mean"], mean, 1e-6)
    alike(trace.state["theta"].mean(axis=0), trace.state["mean"], 1e-6)


@given(seeds, st.integers(2, 4), st.integers(1, 4), penalties)
def test_errors_around_a_mean_are_those_of_fits_without_the_sample(seed, n, d, penalty):
    """With more samples than unknowns in all, so that none is alone in a direction."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 6, n) + d
    clients = [(rng.standard_normal((m, d)), rng.standard_normal(m)) for m in sizes]
    data = lr.ClientData.from_list(clients)
    spectra = ridges.decompose(data.X, data.y, data.offsets)
    residuals, free = ridges._left_out_around_mean(spectra, penalty)

    def fit(clients):
        return reference.around_mean(clients, penalty)[0]

    alike(residuals / free, reference.left_out(in_blocks(clients, spectra), fit), 1e-6)


@given(seeds, st.integers(1, 5), st.booleans())
def test_the_penalty_taken_is_the_best_of_those_tried(seed, n, per_client):
    rng = np.random.default_rng(seed)
    data = lr.ClientData.from_list(
        [(rng.standard_normal((m, 3)), rng.standard_normal(m)) for m in rng.integers(2, 7, n)]
    )
    found = lr.ridge_penalty(data, per_client=per_client)
    clients = [data.client(i) for i in range(n)]
    largest = max(np.linalg.norm(X, 2) for X, _ in clients) ** 2
    tried = largest * 10.0 ** np.arange(-12, 4.1, 0.5)

    def error(penalty, i):
        X, y = clients[i]
        errors = reference.left_out([(X, y)], lambda rest: [reference.ridge(*rest[0], penalty)])
        return np.sum(errors**2)

    # Normal equations without a decomposition lose digits where penalties are small.
    tried = tried[tried > 1e-7 * largest]
    errors = np.array([[error(penalty, i) for penalty in tried] for i in range(n)])
    totals = errors if per_client else np.tile(errors.sum(axis=0), (n, 1))
    for i, penalty in enumerate(found):
        taken = error(penalty, i) if per_client else sum(error(penalty, j) for j in range(n))
        assert taken <= totals[i].min() * (1 + 1e-5)
    trace = lr.ridge(data, per_client=per_client)
    np.testing.assert_array_equal(trace.settings["penalty"], found if per_client else found[0])
    assert trace.settings["leave_one_out"] is True


def test_single_samples_and_no_covariates_take_the_largest_penalty():
    data = lr.ClientData.from_list([([[1.0, 2.0]], [3.0])])
    assert lr.ridge_penalty(data)[0] == pytest.approx(5e4)
    assert lr.ridge_to_mean(data).settings["penalty"] == pytest.approx(5e4)
    nothing = lr.ClientData.from_list([(np.zeros((3, 2)), np.ones(3))])
    np.testing.assert_array_equal(lr.ridge(nothing).state["theta"], np.zeros((1, 2)))
    np.testing.assert_array_equal(lr.ridge_to_mean(nothing).state["theta"], np.zeros((1, 2)))


@given(cases())
def test_pooled_is_least_squares_on_all_samples(case):
    assume(rank_is_clear(case.X))
    trace = lr.pooled(own(case))
    expected = np.linalg.pinv(case.X) @ case.y
    alike(trace.state["theta"], np.tile(expected, (case.n, 1)), 1e-6)


def test_heads_of_new_clients_take_a_ridge():
    truth = lr.SharedRepresentation.random(n=6, d=4, k=2, noise=0.1, rng=0)
    trace = lr.fedrep(truth.draw(9, rng=1), k=2, rounds=3)
    new = lr.ClientData.from_list([truth.draw(3, rng=2).client(0)], names=["new"])
    found = lr.fit_new_clients(trace, new, ridge=2.0)
    W = lr.fit_heads(new, trace.state["B"], ridge=2.0)
    np.testing.assert_array_equal(found.state["W"], W)
    assert np.linalg.norm(W) < np.linalg.norm(lr.fit_heads(new, trace.state["B"]))
