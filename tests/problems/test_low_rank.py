from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.linalg import norm

import linrep as lr
from linrep import LowRankRegression
from linrep.problems.samples import DESIGNS
from tests.strategies import seeds
from tests.tools import EPS, FALSE_ALARM, close, draws

shapes = st.tuples(st.integers(1, 9), st.integers(1, 9))
SHAPES = [(4, 7), (6, 6), (8, 3)]


@given(seeds, shapes, st.data())
def test_singular_values_are_the_prescribed_ones(seed, shape, data):
    """Repeated and zero ones, too; with per_client they are those of Phi/sqrt(n)."""
    n, d = shape
    numbers = st.sampled_from([0.0, 0.5, 1.0, 3.0])
    values = data.draw(st.lists(numbers, min_size=1, max_size=min(shape)))
    per_client = data.draw(st.booleans())
    truth = LowRankRegression.random(
        n=n, d=d, singular_values=values, per_client=per_client, rng=seed
    )
    expected = np.zeros(min(shape))
    expected[: len(values)] = sorted(values, reverse=True)
    expected *= np.sqrt(n) if per_client else 1.0
    close(truth.singular_values, expected, 100 * (1 + expected[0]) * EPS)
    assert truth.Phi.shape == (d, n)
    U, singular_values, V = truth.svd
    assert (U.shape, V.shape) == ((d, d), (n, n))
    Lambda = np.zeros((d, n))
    np.fill_diagonal(Lambda, singular_values)
    close(U @ Lambda @ V.T, truth.Phi, 100 * (1 + expected[0]) * EPS)


@given(seeds, shapes, st.data())
def test_the_best_model_is_the_nearest_of_its_rank(seed, shape, data):
    """Eckart and Young: the error is what the other singular values amount to."""
    n, d = shape
    truth = LowRankRegression.random(n=n, d=d, rng=seed)
    k = data.draw(st.integers(1, min(shape)))
    best = truth.best(k)
    values = np.append(truth.singular_values, 0.0)
    size = values[0]
    close(norm(best.Phi - truth.Phi), norm(values[k:]), 200 * size * EPS)
    close(best.B @ best.W.T, best.Phi, 0.0)
    close(best.B.T @ best.B, best.W.T @ best.W, 100 * size * EPS)
    close(best.gap, 2 * (values[k - 1] - values[k]), 0.0)
    shared = truth.representation(k)
    close(shared.theta.T, best.Phi, 200 * size * EPS)


@pytest.mark.parametrize("shape", SHAPES)
def test_columns_are_standard_normal_by_default(shape, fresh_rng):
    n, d = shape
    count = draws(2_000)
    entries = [LowRankRegression.random(n=n, d=d, rng=fresh_rng).Phi for _ in range(count)]
    squares = np.sum(np.square(entries), axis=(1, 2))
    z = (squares.mean() - n * d) / np.sqrt(2 * n * d / count)
    assert abs(z) < 6.0  # false alarm below FALSE_ALARM
    assert FALSE_ALARM > 1e-9


@given(seeds, shapes, st.integers(1, 4), st.sampled_from(list(DESIGNS)), st.booleans())
def test_samples_obey_the_model_and_are_those_of_every_truth_of_the_same_models(
    seed, shape, m, design, noisy
):
    n, d = shape
    truth = LowRankRegression.random(n=n, d=d, noise=0.2 * noisy, design=design, rng=seed)
    data = truth.draw(m, rng=seed)
    assert data.truth is truth
    if not noisy:
        for i in range(n):
            X, y = data.client(i)
            close(y, X @ truth.Phi[:, i], 10 * d * EPS * norm(X) * norm(truth.Phi[:, i]))
    shared = truth.representation(min(n, d)).draw(m, rng=seed)
    np.testing.assert_array_equal(shared.X, data.X)
    close(shared.y, data.y, 1e-12 * (1 + norm(data.X)) * (1 + truth.singular_values[0]))
    some = truth.draw(m, rng=seed, clients=[n - 1, 0])
    np.testing.assert_array_equal(some.truth.theta, truth.theta[[n - 1, 0]])


def test_fedrep_and_its_relatives_run_on_its_data():
    truth = LowRankRegression.random(n=12, d=6, singular_values=[3, 2, 1, 0.5], noise=0.1, rng=1)
    data = truth.draw(20, rng=2)
    trace = lr.fedrep(data, k=2, rounds=30, rng=3)
    assert list(trace) == ["loss", "truth_error", "floats_up", "floats_down", "samples"]
    measured = replace(data, truth=truth.representation(2))
    with_truth = lr.fedrep(measured, rounds=30, step_size=trace.step_size, rng=3)
    np.testing.assert_array_equal(with_truth["loss"], trace["loss"])
    expected = lr.subspace.distance(trace.state["B"], truth.best(2).U)
    close(with_truth["distance"][-1], expected, 1e-12)
    alone = lr.local_only(data)
    expected = 0.5 * np.mean(np.sum((alone.state["theta"] - truth.theta) ** 2, axis=1))
    close(alone["population_risk"][1], expected, 1e-12)
