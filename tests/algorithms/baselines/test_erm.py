import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.linalg import norm

import linrep as lr
from linrep import ClientData, LowRankRegression, empirical_risk_minimizer
from tests.algorithms.support import clients_of, loss
from tests.reference import fedrep as reference
from tests.strategies import seeds


@given(seeds, st.integers(1, 6), st.integers(1, 6), st.data())
def test_with_orthogonal_covariates_it_is_the_truncated_decomposition(seed, n, d, data):
    truth = LowRankRegression.random(n=n, d=d, rng=seed)
    k = data.draw(st.integers(1, min(n, d)))
    X = np.sqrt(d) * np.eye(d)
    fit = empirical_risk_minimizer(
        ClientData.from_list([(X, X @ phi) for phi in truth.theta]), k, restarts=2, rng=seed
    )
    rest = norm(truth.Phi - truth.best(k).Phi) ** 2 / (2 * n)
    assert fit.loss == pytest.approx(rest, rel=1e-9, abs=1e-14)
    if truth.gap(k) > 1e-2:
        np.testing.assert_allclose(fit.B @ fit.W.T, truth.best(k).Phi, atol=1e-7)


@pytest.mark.compiled
@pytest.mark.parametrize(("m", "k"), [(8, 1), (8, 2), (12, 3), (3, 2)])
def test_it_is_a_stationary_point_that_no_method_undercuts(m, k):
    truth = LowRankRegression.random(n=8, d=6, singular_values=[4, 3, 2, 1, 0.5], noise=0.3, rng=5)
    data = truth.draw(m, rng=6)
    fit = empirical_risk_minimizer(data, k, rng=7)
    assert fit.loss == pytest.approx(loss(data, fit.W @ fit.B.T), rel=1e-10, abs=1e-20)
    assert fit.loss <= fit.losses.min() * (1 + 1e-12) + 1e-20  # with few samples it is zero
    gradient = np.zeros_like(fit.B)
    for (X, y), w in zip(clients_of(data), fit.W, strict=True):
        gradient += reference.client_gradient(X, y, fit.B, w) / 8
    assert norm(gradient) < 1e-9
    flute = lr.flute(data, k=k, step_size=0.02, rounds=20_000, record=20_000, rng=0)
    assert fit.loss <= flute["loss"][-1] * (1 + 1e-9)
    further = empirical_risk_minimizer(data, k, restarts=0, starts=[flute.state["B"]])
    assert len(further.losses) == 2
    assert further.loss <= flute["loss"][-1] * (1 + 1e-9) + 1e-20
    fedrep = lr.fedrep(data, k=k, rounds=300, rng=0)
    assert fit.loss <= fedrep["loss"][-1] * (1 + 1e-9)
