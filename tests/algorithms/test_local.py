import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.linalg import norm

import linrep as lr
from tests.algorithms.support import clients_of, own, streams, truths
from tests.reference import fedrep as reference
from tests.strategies import cases, seeds
from tests.tools import EPS, UNITS, close, exact_head_error, rank_is_clear


@given(cases(k_within_n=False))
def test_fit_heads_is_least_squares_client_by_client(case):
    assume(all(rank_is_clear(X @ case.B) for X, _ in case.clients))
    W = lr.fit_heads(own(case), case.B)
    for (X, y), w in zip(case.clients, W, strict=True):
        expected = reference.head_least_squares(X, y, case.B)
        close(w, expected, exact_head_error(X @ case.B, y, expected))


@given(seeds, st.integers(1, 4), st.integers(1, 3), st.integers(0, 3))
def test_fit_heads_takes_any_number_of_columns_and_dependent_ones(seed, d, more, m):
    """Minimum norm where the head is not unique: columns said twice share their weight."""
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((d + m, d)), rng.standard_normal(d + m)
    B = np.hstack([np.eye(d)] * (1 + more))
    data = lr.ClientData.from_list([(X, y)])
    assume(rank_is_clear(X))
    single, several = lr.fit_heads(data, np.eye(d))[0], lr.fit_heads(data, B)[0]
    close(several, np.tile(single / (1 + more), 1 + more), 2 * exact_head_error(X, y, single))


@given(truths(), seeds, st.integers(1, 8))
def test_local_only_fits_each_client_on_the_data_fedrep_has(truth, seed, m):
    trace = lr.local_only(truth, m=m, rng=seed)
    data = truth.draw(m, rng=streams(seed)[0])
    clients = clients_of(data)
    assume(all(rank_is_clear(X) for X, _ in clients))
    expected = reference.local_only(clients)
    errors = [exact_head_error(X, y, w) for (X, y), w in zip(clients, expected, strict=True)]
    close(trace.state["theta"], expected, np.array(errors)[:, None])
    check_rows(trace, clients, truth)
    same = lr.local_only(data)
    np.testing.assert_array_equal(same.state["theta"], trace.state["theta"])
    np.testing.assert_array_equal(same["loss"], trace["loss"])


def check_rows(trace, clients, truth):
    """Row 0 is the zero model, row 1 the fitted one."""
    n, theta = len(clients), trace.state["theta"]
    for row, models in enumerate((np.zeros_like(theta), theta)):
        pairs = list(zip(clients, models, strict=True))
        loss = sum(norm(X @ w - y) ** 2 / (2 * len(y)) for (X, y), w in pairs) / n
        size = sum((norm(X) * norm(w) + norm(y)) ** 2 for (X, y), w in pairs)
        close(trace["loss"][row], loss, UNITS * EPS * size)
        if truth is not None:
            risk = norm(models - truth.theta) ** 2 / (2 * n)
            size = norm(models) ** 2 + norm(truth.theta) ** 2
            close(trace["population_risk"][row], risk, UNITS * EPS * size)


@pytest.mark.parametrize("m", [[3, 40], [3, 400]])
def test_many_dimensions_are_fitted_as_few_are(m):
    # Above 256 dimensions LAPACK takes clients of fewer samples one by one.
    rng = np.random.default_rng(0)
    sizes = [rng.standard_normal((rows, 300)) for rows in m]
    data = lr.ClientData.from_list([(X, rng.standard_normal(len(X))) for X in sizes])
    expected = [np.linalg.lstsq(*data.client(i), rcond=None)[0] for i in range(2)]
    assert np.allclose(lr.local_only(data).state["theta"], expected, rtol=0, atol=1e-10)
