"""LAPACK's least squares, called as numba itself calls it, without what surrounds that call.

``np.linalg.lstsq`` compiles some sixty functions, for shapes, types and results that heads do not
have; the routine behind both is DGELSD of SciPy's LAPACK.
"""

import numba
import numpy as np
from numba.np.linalg import F_INT_nbtype, F_INT_nptype, ensure_lapack

from linrep.kernels.jit import kernel
from linrep.kernels.linalg import finite

if not numba.config.DISABLE_JIT:
    ensure_lapack()  # raises where SciPy's LAPACK has integers of another width than numba's calls
_KIND = ord("d")
_pointer, _size = numba.types.CPointer(numba.float64), numba.intp
_gelsd = numba.types.ExternalFunction(
    "numba_ez_gelsd",
    numba.intc(
        numba.types.char,
        _size,  # rows
        _size,  # columns
        _size,  # right-hand sides
        _pointer,  # the matrix, column after column, which is destroyed
        _size,  # its leading dimension
        _pointer,  # the right-hand side, then the solution
        _size,  # its leading dimension
        _pointer,  # singular values
        numba.float64,  # share of the largest one from which on others count as 0
        numba.types.CPointer(F_INT_nbtype),  # rank
    ),
)


def _by_numpy(A, m, y, w):
    """Write the least-squares solution of minimum norm, without external functions."""
    A, y = A[:, :m], y[:m]
    good = np.isfinite(A).all() and np.isfinite(y).all()
    w[:] = np.linalg.lstsq(A.T, y, rcond=None)[0] if good else np.nan


@kernel(counted=True)
def minimum_norm_solution(A, m, y, w):
    """Write into w the least-squares solution of minimum norm of A[:, :m]' w = y, NaN if none.

    By singular value decomposition; the rank is that of ``numpy.linalg.lstsq`` by default.
    """
    k = A.shape[0]
    columns, right = np.empty((k, m)), np.empty(max(m, k))
    singular_values, rank = np.empty(min(m, k)), np.empty(1, F_INT_nptype)
    good = True
    for j in range(m):
        right[j] = y[j]
        good = good and finite(y[j])
    for a in range(k):
        for j in range(m):
            columns[a, j] = A[a, j]
            good = good and finite(A[a, j])
    if good:
        cutoff = np.finfo(np.float64).eps * max(m, k)
        error = _gelsd(
            _KIND, m, k, 1, columns.ctypes, m, right.ctypes, max(m, k), singular_values.ctypes,
            cutoff, rank.ctypes,
        )  # fmt: skip
        good = error == 0
    for a in range(k):
        w[a] = right[a] if good else np.nan


if numba.config.DISABLE_JIT:
    minimum_norm_solution = _by_numpy
