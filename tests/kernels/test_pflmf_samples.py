"""Descents of pFL^MF's losses on samples against derivatives of the losses themselves."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import approx_fprime

from linrep.kernels.pflmf_samples import LEAST_SQUARES, LOGISTIC, head_descent, slopes
from tests.strategies import seeds


def mean_loss(loss, scores, y):
    if loss == LOGISTIC:
        return np.mean(np.logaddexp(0.0, -y * scores))
    return 0.5 * np.mean((scores - y) ** 2)


@pytest.mark.parametrize("loss", [LEAST_SQUARES, LOGISTIC])
@given(seeds, st.integers(1, 6), st.integers(1, 4), st.sampled_from([0.0, 0.7]))
def test_descents_are_those_of_the_loss(loss, seed, m, k, ridge):
    rng = np.random.default_rng(seed)
    X, U, v = rng.standard_normal((m, 5)), rng.standard_normal((5, k)), rng.standard_normal(k)
    y = np.where(rng.random(m) < 0.5, -1.0, 1.0) if loss == LOGISTIC else rng.standard_normal(m)
    Z = np.ascontiguousarray((X @ U).T)
    residual, h = np.empty(m), np.empty(k)
    slopes(loss, Z, y, v, residual)
    expected = -approx_fprime(X @ U @ v, lambda scores: mean_loss(loss, scores, y))
    np.testing.assert_allclose(residual, expected, rtol=1e-4, atol=1e-5)
    square = head_descent(Z, residual, ridge, U.T @ U, v, h)

    def objective(v):
        return mean_loss(loss, X @ U @ v, y) + 0.5 * ridge * np.sum((U @ v) ** 2)

    expected = -approx_fprime(v, objective)
    np.testing.assert_allclose(h, expected, rtol=1e-4, atol=1e-4 * (1.0 + np.abs(expected).max()))
    np.testing.assert_allclose(square, h @ h, rtol=1e-13)
