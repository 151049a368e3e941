"""Tests of the largest eigenvalues and singular triples by Lanczos."""

from inspect import signature

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import block_diag, csr_array
from scipy.sparse.linalg import eigsh

from linrep._lib.lanczos import largest_eigenvalue, largest_singular_value, singular_triples


@given(st.integers(3, 12), st.integers(3, 12), st.integers(0, 2**32 - 1))
def test_triples_are_those_of_the_whole_decomposition(a, b, seed):
    A = np.random.default_rng(seed).standard_normal((a, b))
    start, count = np.ones(min(a, b)), min(2, min(a, b) - 1)
    U, size, V = singular_triples(csr_array(A), count, start)
    exact = np.linalg.svd(A)
    assert size == pytest.approx(exact[1][:count], rel=1e-9)
    assert np.abs(U.T @ U - np.eye(count)).max() < 1e-9
    assert np.abs(A @ V - U * size).max() < 1e-7 * size[0]
    assert largest_singular_value(A, start) == pytest.approx(exact[1][0])
    assert largest_eigenvalue(A @ A.T, np.ones(a)) == pytest.approx(exact[1][0] ** 2)


@pytest.mark.skipif(
    "rng" not in signature(eigsh).parameters, reason="this scipy's ARPACK takes no generator"
)
def test_an_exhausted_krylov_space_leaves_the_bits_alone():
    # From ones, only two directions are ever met; ARPACK goes on from vectors of its own.
    A = csr_array(block_diag([np.eye(20), 3.0 * np.eye(20), np.zeros((5, 0))]))
    found = {singular_triples(A, 1, np.ones(40))[0].tobytes() for _ in range(8)}
    values = {largest_singular_value(A, np.ones(40)) for _ in range(8)}
    assert len(found) == 1
    assert len(values) == 1
    assert values.pop() == pytest.approx(3.0)
