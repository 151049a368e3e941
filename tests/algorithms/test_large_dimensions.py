"""Where d is large and samples are few, nothing of size d x d is made, and nothing else changes."""

import tracemalloc
from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.linalg import norm

import linrep as lr
from linrep._lib import memory
from linrep.algorithms import biases
from linrep.problems import LeastSquaresObjectives, LowRankRegression, QuadraticObjectives
from tests.algorithms.support import clients_of, own
from tests.reference import fedrep as reference
from tests.reference import flute as flute_reference
from tests.strategies import cases, seeds
from tests.tools import EPS, UNITS, close

D, N_CLIENTS, M, K = 20_000, 3, 5, 2
SAMPLES = N_CLIENTS * M * D


@contextmanager
def nothing_dense():
    """Let no matrix be small enough to be made where less memory would do."""
    before = memory.DENSE
    memory.DENSE = 0
    try:
        yield
    finally:
        memory.DENSE = before


def large(call):
    """Return what a call returns that takes every size for a large one."""
    with nothing_dense():
        return call()


def sizes(data):
    """Draw n, d, k and m, with d from k on and m from 1 on, above and below k."""
    n, d = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 9))
    return n, d, data.draw(st.integers(1, min(n, d))), data.draw(st.integers(1, 6))


@given(cases())
def test_moments_starts_are_leading_eigenvectors(case):
    """Judged by eigenvalues and residuals, which unlike eigenvectors are well conditioned."""
    data, k = own(case), case.k
    M = reference.moments_matrix(case.clients)
    values = np.linalg.eigvalsh(M)[::-1][:k]
    error = UNITS * EPS * norm(M)
    for V in (
        lr.moments_start(data, k),
        large(lambda: lr.moments_start(data, k)),
        large(lambda: lr.kernels.moments_start(case.X, case.y, case.offsets, k)),
    ):
        close(V.T @ V, np.eye(k), UNITS * EPS)
        close(V.T @ M @ V, np.diag(values), error)
        close(M @ V, V * values, error)


def test_a_moments_start_of_labels_that_are_all_zero_is_a_frame():
    data = lr.ClientData.from_list([(np.ones((1, 7)), [0.0])] * 3)
    B = large(lambda: lr.moments_start(data, 3))
    np.testing.assert_allclose(B.T @ B, np.eye(3), atol=1e-14)


def test_second_moments_that_overflow_are_refused():
    X = np.ones((2, 9))
    with nothing_dense(), pytest.raises(FloatingPointError, match="not finite"):
        lr.kernels.moments_start(X, np.array([1e200, 1.0]), np.array([0, 2]), 1)


@given(seeds, st.data())
def test_models_of_single_clients_are_of_least_norm(seed, data):
    n, d, k, m = sizes(data)
    samples = lr.SharedRepresentation.random(n=n, d=d, k=k, noise=0.5, rng=seed).draw(m, rng=seed)
    found = large(lambda: lr.local_only(samples)).state["theta"]
    expected = [np.linalg.pinv(X) @ y for X, y in clients_of(samples)]
    for (X, _), theta, wanted in zip(clients_of(samples), found, expected, strict=True):
        np.testing.assert_allclose(theta, wanted, rtol=1e-8, atol=1e-10 * np.linalg.cond(X) ** 2)


@given(seeds, st.data())
def test_rounds_of_the_population_are_those_on_the_matrix_itself(seed, data):
    n, d, k, _ = sizes(data)
    truth = LowRankRegression.random(n=n, d=d, rng=seed)
    rng = np.random.default_rng(seed)
    B, W = rng.standard_normal((d, k)), rng.standard_normal((n, k))
    eta = 0.01
    run = {"k": k, "step_size": eta, "batches": "population"}
    trace = large(lambda: lr.flute(truth, rounds=7, start=(B, W), **run))
    # A run that goes on has no start of its own to take directions from.
    half = large(lambda: lr.flute(truth, rounds=4, start=(B, W), **run))
    joined = large(lambda: lr.flute(truth, rounds=3, start=half, **run))
    for _ in range(7):
        B, W = flute_reference.population_round(
            truth.Phi, B, W, eta, 2.0 * 0.25 * eta, 4.0 * 0.125 * eta
        )
    size = 1e-12 * (norm(B) + norm(W))
    for found in (trace, joined):
        close(found.state["B"], B, size)
        close(found.state["W"], W, size)


@given(seeds, st.data())
def test_the_best_model_of_rank_k_starts_from_the_same_models(seed, data):
    n, d, k, m = sizes(data)
    samples = lr.SharedRepresentation.random(n=n, d=d, k=k, noise=0.5, rng=seed).draw(m, rng=seed)
    fit = large(lambda: lr.empirical_risk_minimizer(samples, k, restarts=1, rng=seed))
    losses = [
        reference.client_loss(X, y, fit.B, w)
        for (X, y), w in zip(clients_of(samples), fit.W, strict=True)
    ]
    np.testing.assert_allclose(fit.loss, np.mean(losses), rtol=1e-9, atol=1e-20)
    usual = lr.empirical_risk_minimizer(samples, k, restarts=1, rng=seed)
    np.testing.assert_allclose(fit.losses[1:], usual.losses[1:], rtol=1e-12)


@given(seeds, st.data())
def test_federated_averaging_with_biases_is_the_same_on_samples(seed, data):
    n, d, _, m = sizes(data)
    truth = lr.BiasedRegression.random(n=n, d=d, p=2, noise=0.3, rng=seed)
    samples = truth.draw(m, rng=seed)
    run = {"step_size": 0.05, "rounds": 3, "local_steps": 2, "participation": 0.6, "rng": seed}
    found, expected = large(lambda: biases.fedavg(samples, **run)), biases.fedavg(samples, **run)
    for name, value in expected.state.items():
        np.testing.assert_allclose(found.state[name], value, rtol=1e-10, atol=1e-12)


@given(seeds, st.data())
def test_ridge_minimizers_have_no_gradient(seed, data):
    n, d, k, m = sizes(data)
    samples = lr.SharedRepresentation.random(n=n, d=d, k=k, noise=0.5, rng=seed).draw(m, rng=seed)
    problem = LeastSquaresObjectives(samples, ridge=0.1)
    theta = large(lambda: problem.minimizers)
    np.testing.assert_allclose(problem.gradients(theta), 0.0, atol=1e-11 * (1 + norm(samples.y)))


def regression():
    return lr.SharedRepresentation.random(n=N_CLIENTS, d=D, k=K, noise=0.1, rng=0)


def seen():
    return regression().draw(M, rng=0)


def biased():
    return lr.BiasedRegression.random(n=N_CLIENTS, d=D, p=2, rng=0).draw(M, rng=1)


def run(method, **settings):
    """Return a call of a method of few rounds, of so many samples a client."""
    return lambda: method(regression(), **{"m": M, "rounds": 2, "rng": 1} | settings)


CALLS = {
    "fedrep": run(lr.fedrep),
    "fedrep, fixed": run(lr.fedrep, batches="fixed"),
    "fedrep, data": lambda: lr.fedrep(lr.ClientData(*_arrays(seen())), k=K, rounds=2, rng=1),
    "fedrep, GD": run(lr.fedrep, local_steps=1),
    "fedrep, gram": run(lr.fedrep, batches="gram"),
    "fedrep, projected gradient": run(lr.fedrep, start="projected_gradient"),
    "fedavg": run(lr.fedavg, step_size=0.1, local_steps=2),
    "fedsgd": run(lr.fedsgd, step_size=0.1),
    "flute": run(lr.flute, step_size=0.1),
    "flute, fresh": run(lr.flute, step_size=0.1, batches="fresh"),
    "flute, population": run(lr.flute, step_size=0.1, batches="population", m=None),
    "pflmf": run(lr.pflmf, step_size=1e-3),
    "local": lambda: lr.local_only(regression(), m=M, rng=1),
    "best": lambda: lr.empirical_risk_minimizer(seen(), K, restarts=0),
    "pooled": lambda: biases.least_squares(biased()),
    "biases, local": lambda: biases.local_only(biased()),
    "biases, fedavg": lambda: biases.fedavg(biased(), step_size=0.01, rounds=2, rng=1),
    "moments": lambda: lr.moments_start(seen(), K),
    "kernels": lambda: lr.kernels.moments_start(*_arrays(seen()), K),
    "ridge": lambda: LeastSquaresObjectives(seen(), ridge=0.1).minimizers,
    "quadratic": lambda: QuadraticObjectives(regression().theta).best(1),
}


def _arrays(data):
    return data.X, data.y, data.offsets


def peak(call):
    """Return the numbers that a call has in memory at most, compilation apart."""
    call()
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1] / 8
    finally:
        tracemalloc.stop()


@pytest.mark.compiled
@pytest.mark.parametrize("name", CALLS)
def test_memory_is_that_of_samples_and_representations(name):
    """A matrix d x d would be a thousand times as much as samples and representation."""
    assert peak(CALLS[name]) < 12 * (SAMPLES + D * K)


@pytest.mark.compiled
def test_many_clients_make_no_matrix_of_pairs_of_them():
    """FLUTE's population has the clients on the other side of its matrix."""
    truth = LowRankRegression.random(n=D, d=4, singular_values=[2.0, 1.0], rng=0)
    run = {"k": 2, "rounds": 2, "step_size": 0.1, "batches": "population", "rng": 1}
    assert peak(lambda: lr.flute(truth, **run)) < 20 * D * 4
