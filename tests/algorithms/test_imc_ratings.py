"""Completion of entries whose truth is not known: biases, ridge, damping, the best iterate."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import linrep as lr
from linrep.algorithms import _imc_ridge as ridges
from linrep.algorithms import imc
from linrep.algorithms._imc_biases import fit_biases
from linrep.algorithms._imc_core import Core
from linrep.algorithms._imc_damped import damped_steps
from linrep.problems import Observations
from tests.reference import ratings as naive

WITH_RANK = {
    "gauss_newton": imc.gauss_newton,
    "alternating": imc.alternating,
    "balanced_gradient": imc.balanced_gradient,
}
ALL = WITH_RANK | {
    "nuclear_norm": lambda seen, k, **options: imc.nuclear_norm(seen, **options),
    "least_squares": lambda seen, k, **options: imc.least_squares(seen, **options),
}
seeds = st.integers(0, 2**32 - 1)


def draw(rng, d, n, entries, *, biases=1.0, rank=2, noise=0.5, A=None, Z=None):
    """Return ratings: biases, a matrix of low rank of size 1 an entry, and noise."""
    left = (
        rng.standard_normal((d, rank)) if A is None else A @ rng.standard_normal((A.shape[1], rank))
    )
    right = (
        rng.standard_normal((n, rank)) if Z is None else Z @ rng.standard_normal((Z.shape[1], rank))
    )
    whole = left @ right.T
    whole = whole / (np.sqrt(np.mean(whole**2)) or 1.0)
    whole = whole + biases * (rng.standard_normal((d, 1)) + rng.standard_normal(n))
    clients, items = np.divmod(rng.choice(n * d, entries, replace=False), d)
    values = whole[items, clients] + noise * rng.standard_normal(entries)
    return Observations(items, clients, values, Z, A, d=d, n=n)


@given(seeds, st.integers(1, 6), st.integers(1, 6), st.floats(0.1, 1.0))
def test_biases_are_the_best_predictions_for_the_moments_variances(seed, d, n, share):
    rng = np.random.default_rng(seed)
    seen = draw(rng, d, n, max(1, round(share * n * d)))
    found = fit_biases(seen)
    expected = naive.variances(seen.items, seen.clients, seen.values)
    np.testing.assert_allclose(found.variances, expected, rtol=1e-8, atol=1e-10)
    noise = max(expected[2], 1e-10 * np.var(seen.values))
    if noise < 1e-6 * np.var(seen.values) or len(seen) == 1:
        return  # the covariance's inverse is rounding
    offset, item, client = naive.predictions(
        seen.items, seen.clients, seen.values, d, n, (*expected[:2], noise)
    )
    np.testing.assert_allclose(found.offset, offset, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(found.item, item, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(found.client, client, rtol=1e-6, atol=1e-6)


def test_variances_are_found():
    """With 300 items and clients the estimates' standard errors are below a tenth."""
    rng = np.random.default_rng(0)
    d = n = 300
    whole = 0.7 * rng.standard_normal((d, 1)) + 0.4 * rng.standard_normal(n)
    items, clients = rng.integers(0, d, 20_000), rng.integers(0, n, 20_000)
    items, clients = np.unique(np.stack([items, clients]), axis=1)
    values = whole[items, clients] + rng.standard_normal(items.size)
    found = fit_biases(Observations(items, clients, values, d=d, n=n)).variances
    np.testing.assert_allclose(found, (0.49, 0.16, 1.0), rtol=0.3)


@given(seeds, st.integers(1, 5), st.integers(1, 5), st.integers(1, 3), st.booleans(), st.booleans())
def test_least_squares_with_a_ridge_are_stationary(seed, d, n, k, on_items, on_clients):
    """The objective's derivative by each factor is 0 where it was fitted."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((d, min(d, 2))) if on_items else None
    Z = rng.standard_normal((n, min(n, 2))) if on_clients else None
    seen = draw(rng, d, n, rng.integers(1, n * d + 1), rank=1, A=A, Z=Z)
    core = Core(seen, None)
    V = rng.standard_normal((core.shape[1], k))
    U = core.left.fit(core.right.seen(V), core.values, 0.3)
    Q = np.eye(d) if A is None else core.left.basis
    P = np.eye(n) if Z is None else core.right.basis

    def objective(U, V):
        return naive.ridge_objective(U, V, Q, P, seen.items, seen.clients, seen.values, 0.3)

    np.testing.assert_allclose(core.objective(U, V, 0.3), objective(U, V), rtol=1e-9, atol=1e-12)
    least = objective(U, V)
    for _ in range(5):
        assert objective(U + 1e-3 * rng.standard_normal(U.shape), V) >= least
    half = core.pull(core.residuals(U, V), U, V)[0] + 0.3 * U
    np.testing.assert_allclose(half, 0.0, atol=1e-8 * (1.0 + np.abs(seen.values).sum()))


@pytest.mark.parametrize("columns", [3, 12])  # written out, and by matrix products
def test_fits_of_groups_with_a_ridge(columns, fresh_rng):
    seen = draw(fresh_rng, 9, 20, 60)
    core = Core(seen, None)
    vectors = fresh_rng.standard_normal((60, columns))
    found = core.left.fit(vectors, core.values, 0.7)
    for item in range(9):
        X, y = vectors[seen.items == item], seen.values[seen.items == item]
        expected = np.linalg.solve(X.T @ X + 0.7 * np.eye(columns), X.T @ y)
        np.testing.assert_allclose(found[item], expected, atol=1e-10)


@pytest.mark.parametrize("ridge", [0.0, 0.5])
def test_damped_steps_go_downhill_only(ridge, fresh_rng):
    seen = draw(fresh_rng, 15, 20, 100)
    core = Core(seen, 3)
    U, V = fresh_rng.standard_normal((15, 3)), fresh_rng.standard_normal((20, 3))
    before = core.objective(U, V, ridge)
    for count, (U, V) in enumerate(damped_steps(core, U, V, ridge)):  # noqa: B020
        after = core.objective(U, V, ridge)
        assert after < before
        before = after
        if count == 100:
            break
    assert count >= 3
    if ridge > 0.0:
        U, V = U.copy(), V.copy()
        slopes = core.pull(core.residuals(U, V), U, V)
        size = np.linalg.norm(seen.values)
        assert np.linalg.norm(slopes[0] + ridge * U) < 1e-3 * size


def test_solvers_with_a_ridge_have_one_minimizer(fresh_rng):
    """Where the rank does not bind, it is that of the nuclear norm, which is certified."""
    seen = draw(fresh_rng, 12, 15, 120)
    ridge = 2.0
    found = {}
    for name in (*WITH_RANK, "nuclear_norm"):
        trace = ALL[name](seen, 12, ridge=ridge, biases=False)
        found[name] = trace.state["U"] @ trace.state["V"].T
        size = np.linalg.svd(found[name], compute_uv=False).sum()
        missed = found[name][seen.items, seen.clients] - seen.values
        found[name + " objective"] = 0.5 * missed @ missed + ridge * size
    least = found["nuclear_norm objective"]
    for name in WITH_RANK:
        np.testing.assert_allclose(found[name + " objective"], least, rtol=1e-4)
    S = np.zeros((12, 15))
    S[seen.items, seen.clients] = seen.values - found["nuclear_norm"][seen.items, seen.clients]
    assert np.linalg.norm(S, 2) <= ridge * 1.002


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("sides", ["", "A", "Z", "AZ"])
def test_defaults_predict_ratings(name, sides, fresh_rng):
    rng = fresh_rng
    A = rng.standard_normal((40, 3)) if "A" in sides else None
    Z = rng.standard_normal((60, 4)) if "Z" in sides else None
    seen = draw(rng, 40, 60, 1200, A=A, Z=Z)
    training, test = seen.split(0.2, rng=0)
    biases = imc.biases_only(training).score(test, measure="rmse")
    trace = ALL[name](training, 2)
    error = trace.score(test, measure="rmse")
    assert error <= biases * (1.001 if name == "least_squares" and not sides else 0.85)
    assert trace.settings["biases"]
    assert trace.settings["ridge_rule"] == "held out"
    again = ALL[name](training, 2)
    np.testing.assert_array_equal(again.state["U"], trace.state["U"])


@pytest.mark.parametrize("name", ALL)
def test_entries_of_a_known_truth_are_fitted_without_biases_and_ridge(name):
    truth = lr.SideInformationCompletion.random(n=30, d=12, p=4, k=2, rng=0)
    trace = ALL[name](truth.observe(entries=200, rng=1), 2)
    assert (trace.settings["ridge"], trace.settings["biases"]) == (0.0, False)
    assert set(trace.state) == {"U", "V"}


@pytest.mark.parametrize("name", WITH_RANK)
@pytest.mark.parametrize("options", [{}, {"ridge": 0.0, "biases": False}])
def test_the_best_iterate_is_returned_and_noise_ends_the_run(name, options, fresh_rng):
    seen = draw(fresh_rng, 20, 25, 200)
    trace = WITH_RANK[name](seen, 3, **options)
    residual = trace["residual"]
    if options:
        assert residual[-1] == residual.min()
        missed = (trace.state["U"] @ trace.state["V"].T)[seen.items, seen.clients] - seen.values
        size = np.linalg.norm(seen.values)
        np.testing.assert_allclose(np.linalg.norm(missed) / size, residual[-1], rtol=1e-6)
    else:
        assert trace.stop_reason == "converged"


@pytest.mark.parametrize("undamped", ["gauss_newton", "balanced_gradient"])
def test_a_run_that_goes_uphill_ends_with_its_best(undamped, fresh_rng):
    seen = draw(fresh_rng, 12, 14, 60)
    plain = {"ridge": 0.0, "biases": False}
    more = {"damped": False} if undamped == "gauss_newton" else {"step_size": 50.0}
    trace = WITH_RANK[undamped](seen, 3, **plain, **more)
    assert trace["residual"][-1] == trace["residual"].min()
    assert all(np.isfinite(factor).all() for factor in trace.state.values())


def test_what_biases_explain_needs_no_factors():
    d, n = 5, 6
    values = np.add.outer(np.arange(d), np.arange(n)).astype(float)
    items, clients = (part.ravel() for part in np.indices((d, n)))
    seen = Observations(items, clients, values.ravel())
    for name, solve in ALL.items():
        trace = solve(seen, 2)
        np.testing.assert_allclose(trace.predict(seen), seen.values, atol=1e-4, err_msg=name)


@pytest.mark.parametrize("name", ALL)
def test_few_ratings_are_no_error(name):
    seen = Observations([0, 1], [0, 1], [1.0, 2.0])
    assert np.isfinite(ALL[name](seen, 1).predict(seen)).all()


def test_the_ridge_is_the_best_of_the_path(fresh_rng):
    seen = draw(fresh_rng, 20, 25, 300)
    core = Core(seen, 2)
    ridge = ridges.choose(seen, core, False, ridges.factor_path(2))
    training, held = seen.split(ridges.HELD_OUT, rng=ridges.SEED)
    path, part = ridges.factor_path(2), Core(training, 2)
    errors = {
        each: np.mean((held.values - (U @ V.T)[held.items, held.clients]) ** 2)
        for each, U, V, _ in ridges.by_turns(training, part, None, path, path.grid(part))
    }
    assert ridge in errors
    some = [errors[each] for each in errors if each >= ridge]
    assert errors[ridge] == min(some)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"ridge": -1.0}, ValueError, "ridge must be"),
        ({"biases": 1}, TypeError, "biases must be True, False or None, got 1"),
        ({"damped": "yes"}, TypeError, "damped must be True, False or None, got 'yes'"),
    ],
)
def test_bad_arguments_are_refused(options, error, words):
    with pytest.raises(error, match=words):
        imc.gauss_newton(Observations([0, 1], [0, 1], [1.0, 2.0]), 1, **options)


def test_perfedsi_finds_steps_and_predicts(fresh_rng):
    seen = draw(fresh_rng, 40, 60, 1200)
    training, test = seen.split(0.2, rng=0)
    biases = imc.biases_only(training).score(test, measure="rmse")
    trace = lr.perfedsi(training, k=2, rounds=4000, participants=10, record=1000, rng=0)
    assert trace.score(test, measure="rmse") < 0.9 * biases
    assert trace.settings["step_size"] == trace.settings["step_size_rule"] == "curvature"
    assert np.isnan(trace["step_size"][0])
    assert (trace["step_size"][1:] > 0.0).all()
    more = lr.perfedsi(training, k=2, rounds=1000, participants=10, record=1000, start=trace)
    once = lr.perfedsi(training, k=2, rounds=5000, participants=10, record=1000, rng=0)
    np.testing.assert_array_equal(more.state["U"], once.state["U"])


def test_perfedsi_with_a_step_is_the_papers():
    seen = Observations([0, 1, 0], [0, 1, 1], [1.0, 2.0, 3.0])
    trace = lr.perfedsi(seen, k=1, step_size=0.1, rounds=5, rng=0)
    assert (trace.settings["ridge"], trace.settings["biases"]) == (0.0, False)
    assert set(trace.state) == {"U", "V"}
    assert "step_size" not in trace.metrics


def test_perfedsi_converges_on_entries_of_a_known_truth():
    truth = lr.SideInformationCompletion.random(n=20, d=16, p=4, k=2, side="gaussian", rng=0)
    trace = lr.perfedsi(truth.observe(16, rng=1), rounds=20_000, record=20_000, rng=1)
    assert trace["error"][-1] < 1e-3
    with pytest.raises(ValueError, match="step_size must be given where entries are drawn"):
        lr.perfedsi(truth)
