"""Least squares of minimum norm, against the routine it stands for."""

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import lstsq

from linrep.kernels.lapack import minimum_norm_solution
from linrep.kernels.linalg import RANK_TOLERANCE


def solve(A, y):
    """Solve A w = y by the kernel, which takes A transposed and wider than it is."""
    m, k = A.shape
    wide = np.full((k, m + 3), np.nan)
    wide[:, :m] = A.T
    w = np.empty(k)
    minimum_norm_solution(wide, m, y, w)
    return w


@st.composite
def systems(draw):
    """Draw equations of any shape and rank, conditioning up to 1e15, columns scaled apart."""
    m, k = draw(st.integers(1, 12)), draw(st.integers(1, 8))
    rank = min(draw(st.integers(1, 8)), m, k)
    condition, scale = draw(st.floats(0.0, 15.0)), draw(st.floats(0.0, 8.0))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    left = np.linalg.qr(rng.standard_normal((m, m)))[0][:, :rank]
    right = np.linalg.qr(rng.standard_normal((k, k)))[0][:, :rank]
    A = left * 10.0 ** -np.linspace(0.0, condition, rank) @ right.T
    return A * 10.0 ** rng.uniform(-scale, scale, k), rng.standard_normal(m)


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="NumPy's routine stands in for it")
@given(systems())
def test_it_is_the_routine_of_lapack_to_the_last_bit(system):
    """DGELSD, with the stated cut-off: also where a rank is close to call."""
    A, y = system
    expected = lstsq(A, y, cond=RANK_TOLERANCE, lapack_driver="gelsd")[0]
    np.testing.assert_array_equal(solve(A, y), expected)


def test_repeated_singular_values_and_no_equations_that_differ():
    np.testing.assert_allclose(solve(np.eye(3), np.arange(3.0)), np.arange(3.0), atol=1e-15)
    same = solve(np.ones((4, 3)), np.full(4, 6.0))
    np.testing.assert_allclose(same, [2.0, 2.0, 2.0], atol=1e-14)
    np.testing.assert_array_equal(solve(np.zeros((2, 3)), np.ones(2)), np.zeros(3))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_finite_has_no_solution(bad):
    A, y = np.eye(3), np.ones(3)
    A[1, 2] = bad
    assert np.isnan(solve(A, y)).all()
    assert np.isnan(solve(np.eye(3), np.array([1.0, bad, 1.0]))).all()
