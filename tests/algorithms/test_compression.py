"""Rounds on triangular factors of the samples are those on the samples."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import linrep as lr
from linrep import ClientData
from linrep.algorithms import _compression as compression
from linrep.algorithms.flute import rounds as flute_rounds
from linrep.algorithms.personalized.methods import nuclear_norm
from linrep.kernels import flute as kernel
from tests.algorithms.support import clients_of
from tests.strategies import seeds
from tests.tools import close


@pytest.fixture
def factored(monkeypatch):
    """Return a function that calls another on samples, and then with those factored."""

    def both(run):
        traces = []
        for answer in (False, True):
            monkeypatch.setattr(compression, "pays", lambda m, d, work, answer=answer: answer)
            traces.append(run())
        assert [trace.settings["factored"] for trace in traces] == [False, True]
        return traces

    return both


@st.composite
def samples(draw, least=1):
    """Draw clients with fewer samples than dimensions, as many, and more; ranks may lack."""
    n, d = draw(st.integers(1, 4)), draw(st.integers(1, 5))
    rng = np.random.default_rng(draw(seeds))
    m = [draw(st.integers(least, 3 * d + 5)) for _ in range(n)]
    rank, noise = draw(st.integers(0, d)), draw(st.sampled_from([0.0, 0.3]))
    clients = []
    for size in m:
        X = rng.standard_normal((size, rank)) @ rng.standard_normal((rank, d))
        y = X @ rng.standard_normal(d) + noise * rng.standard_normal(size)
        clients.append((X, y))
    return ClientData.from_list(clients)


def rounding(data, theta):
    """Return the size that losses and second moments at a model are rounded at."""
    return 1.0 + np.max(np.abs(data.X)) ** 2 * (1.0 + theta @ theta) + np.max(data.y**2)


def losses(clients, theta):
    """Return half mean squared errors of a model, client by client."""
    return np.array([np.mean((X @ theta - y) ** 2) / 2.0 for X, y in clients])


@given(samples(), seeds)
def test_factors_have_the_losses_of_the_samples(data, seed):
    rows = compression.compressed(data, 1e30)
    assert (rows.m == np.minimum(data.m, data.d + 1)).all()
    assert (rows is data) == (data.m <= data.d + 1).all()
    theta = np.random.default_rng(seed).standard_normal(data.d)
    size = rounding(data, theta)
    of_rows, of_samples = (losses(clients_of(each), theta) for each in (rows, data))
    close(of_rows, of_samples, 1e-12 * size)
    for (R, r), (X, y) in zip(clients_of(rows), clients_of(data), strict=True):
        close(R.T @ R / len(r), X.T @ X / len(y), 1e-12 * size)
        close(R.T @ r / len(r), X.T @ y / len(y), 1e-12 * size)


@given(samples(least=2), seeds)
def test_factors_of_halves_have_the_losses_of_the_halves(data, seed):
    rows = compression.compressed_halves(data, 1e30)
    theta = np.random.default_rng(seed).standard_normal(data.d)

    def halves(of):
        for X, y in clients_of(of):
            first = len(y) - len(y) // 2
            yield X[:first], y[:first]
            yield X[first:], y[first:]

    size = rounding(data, theta)
    close(losses(halves(rows), theta), losses(halves(data), theta), 1e-12 * size)


@given(samples(), seeds)
def test_second_moments_of_flute_are_those_of_the_samples(data, seed):
    source = flute_rounds.source(None, data, int(data.m.max()), 1e30)
    model = np.random.default_rng(seed).standard_normal(data.d)
    residual, g = np.empty(int(data.m.max())), np.empty(data.d)
    assert (source.kind == kernel.GRAM) == (data.m.min() > data.d and data.m.max() > data.d + 1)
    size = rounding(data, model)
    for i, (X, y) in enumerate(clients_of(data)):
        loss = kernel.stored_client(source, i, model.copy(), residual, g)
        close(g, X.T @ (X @ model - y) / len(y), 1e-10 * size)
        close(loss, np.mean((X @ model - y) ** 2) / 2.0, 1e-10 * size)


def test_factors_are_taken_where_they_save_more_than_they_cost():
    d, m = 4, np.array([3, 5, 100, 200])  # two clients have more than d + 1
    cost = 3.0 * 25 * 300 + 2 * 1e5
    saved = 95 + 195
    assert not compression.pays(m, d, 0.99 * cost / saved)
    assert compression.pays(m, d, 1.01 * cost / saved)
    assert not compression.pays(m[:2], d, 1e30)


M = [7, 8, 40, (3, 6, 7, 8, 14, 15, 40, 50)]
GIVEN = {"k": 2, "rounds": 40, "rng": 0}
RUNS = {
    "exact heads": lambda data: lr.fedrep(data, participation=0.5, **GIVEN),
    "local steps": lambda data: lr.fedrep(data, local_steps=2, **GIVEN),
    "drawn": lambda data: lr.fedrep(data.truth, m=data.m, batches="fixed", **GIVEN),
    "altgdmin": lambda data: lr.altgdmin(data, **GIVEN),
    "fedavg": lambda data: lr.fedavg(
        data, step_size=0.05, local_steps=3, participation=0.5, **GIVEN
    ),
    "ridge": lambda data: lr.alternating_least_squares(
        data, ridge=0.3, tolerance=0.0, **GIVEN | {"rounds": 4}
    ),
    "flute": lambda data: lr.flute(data, step_size=0.05, participation=0.5, **GIVEN),
    "related": lambda data: nuclear_norm(data, penalty=0.1, step_size=0.1, rounds=40),
    "pflmf": lambda data: lr.pflmf(data, step_size=0.05, local_steps=2, stationarity=True, **GIVEN),
}


@pytest.mark.parametrize("m", M, ids=str)
@pytest.mark.parametrize("name", RUNS)
def test_methods_have_the_same_numbers_on_factors(factored, name, m):
    truth = lr.SharedRepresentation.random(n=8, d=6, k=2, noise=0.1, rng=0)
    data = truth.draw(np.array(m) if isinstance(m, tuple) else m, rng=1)
    on_samples, on_factors = factored(lambda: RUNS[name](data))
    assert list(on_samples) == list(on_factors)
    for metric in on_samples:
        np.testing.assert_allclose(on_factors[metric], on_samples[metric], rtol=0.0, atol=1e-10)
    for part, values in on_samples.state.items():
        close(on_factors.state[part], values, 1e-10)


@pytest.mark.parametrize("method", [lr.fedrep, lr.flute, lr.pflmf, lr.fedavg])
def test_a_run_that_goes_on_is_factored_as_one_long_run(method):
    data = lr.SharedRepresentation.random(n=5, d=4, k=2, noise=0.1, rng=0).draw(400, rng=1)
    settings = {"k": 2, "step_size": 0.05}
    first = method(data, rounds=300, rng=0, **settings)
    second = method(data, rounds=3, start=first, **settings)
    whole = method(data, rounds=303, rng=0, **settings)
    alone = method(data, rounds=3, rng=0, **settings)
    assert [each.settings["factored"] for each in (first, second, whole, alone)] == [True] * 3 + [
        False
    ]
    for part, values in whole.state.items():
        np.testing.assert_array_equal(second.state[part], values)
