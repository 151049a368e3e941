from unittest import mock

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from linrep._lib import memory
from linrep.kernels import moments
from tests.tools import EPS


@st.composite
def weighted_samples(draw):
    """Samples, their weights, which may be zero, and a number of eigenvectors."""
    N, d = draw(st.integers(1, 8)), draw(st.integers(1, 8))
    X = draw(arrays(np.float64, (N, d), elements=st.floats(-10.0, 10.0)))
    weights = draw(arrays(np.float64, N, elements=st.floats(0.0, 10.0)))
    return X, weights, draw(st.integers(1, d))


def second_moment(X, weights):
    """The sum as it is written, a sample at a time."""
    total = np.zeros((X.shape[1], X.shape[1]))
    for x, weight in zip(X, weights, strict=True):
        total += weight * np.outer(x, x)
    return total


@pytest.mark.parametrize("largest", [memory.DENSE, 0], ids=["written down", "by inner products"])
@given(case=weighted_samples())
@example((np.eye(3), np.ones(3), 2))  # repeated eigenvalues
@example((np.zeros((2, 5)), np.ones(2), 2))
@example((np.array([[1.0, 0.0, 0.0], [0.0, 1e-6, 0.0]]), np.ones(2), 2))
def test_they_are_the_leading_eigenvectors(largest, case):
    X, weights, k = case
    with mock.patch.object(memory, "DENSE", largest):
        V = moments.leading_eigenvectors(X, weights, k)
    M = second_moment(X, weights)
    tolerance = 100 * max(X.shape) * EPS
    assert V.shape == (X.shape[1], k)
    np.testing.assert_allclose(V.T @ V, np.eye(k), rtol=0, atol=tolerance)
    # Of repeated eigenvalues the vectors are not determined, the values are.
    np.testing.assert_allclose(
        V.T @ M @ V,
        np.diag(np.linalg.eigvalsh(M)[::-1][:k]),
        rtol=0,
        atol=tolerance * np.trace(M) + 1e-300,  # products of tiny numbers underflow
    )


@pytest.mark.parametrize(
    ("shape", "large"), [((3, 5), True), ((5, 5), False), ((3, 4), False)], ids=str
)
def test_large_is_more_than_the_limit_and_than_the_samples(shape, large):
    with mock.patch.object(memory, "DENSE", 16):
        assert moments.are_large(np.zeros(shape)) == large


@pytest.mark.parametrize("largest", [memory.DENSE, 0])
def test_a_moment_that_overflows_is_told(largest):
    X = np.array([[1e200, 0.0, 0.0]])
    with (
        mock.patch.object(memory, "DENSE", largest),
        pytest.raises(FloatingPointError, match="second moment"),
    ):
        moments.leading_eigenvectors(X, np.ones(1), 1)
