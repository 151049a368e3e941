"""Least squares of minimum norm."""

import numba
import numpy as np

from linrep.kernels.jit import kernel
from linrep.kernels.linalg import RANK_TOLERANCE, finite

if numba.config.DISABLE_JIT:

    def minimum_norm_solution(A, m, y, w):
        """Write into w the least-squares solution of minimum norm of A[:, :m]' w = y, NaN if none.

        By singular value decomposition; singular values below RANK_TOLERANCE times the largest
        count as 0.
        """
        if np.isfinite(A[:, :m]).all() and np.isfinite(y[:m]).all():
            w[:] = np.linalg.lstsq(A[:, :m].T, y[:m], RANK_TOLERANCE)[0]
        else:
            w[:] = np.nan

else:
    from linrep.kernels._numba import least_squares

    _gelsd, _RANK = least_squares()
    _KIND = ord("d")

    @kernel(counted=True)
    def minimum_norm_solution(A, m, y, w):
        """Do the same, compiled."""
        k = A.shape[0]
        columns, right = np.empty((k, m)), np.empty(max(m, k))
        singular_values, rank = np.empty(min(m, k)), np.empty(1, _RANK)
        good = True
        for j in range(m):
            right[j] = y[j]
            good = good and finite(y[j])
        for a in range(k):
            for j in range(m):
                columns[a, j] = A[a, j]
                good = good and finite(A[a, j])
        if good:
            error = _gelsd(
                _KIND, m, k, 1, columns.ctypes, m, right.ctypes, max(m, k), singular_values.ctypes,
                RANK_TOLERANCE, rank.ctypes,
            )  # fmt: skip
            good = error == 0
        for a in range(k):
            w[a] = right[a] if good else np.nan
