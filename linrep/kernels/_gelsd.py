"""LAPACK's least squares, called as numba itself calls it, without what surrounds that call."""

import numba
import numpy as np
from numba._helperlib import c_helpers  # type: ignore[attr-defined]
from numba.np.linalg import F_INT_nbtype, F_INT_nptype, ensure_lapack

from linrep.kernels.jit import kernel
from linrep.kernels.linalg import RANK_TOLERANCE, finite

if "ez_gelsd" not in c_helpers:
    raise ImportError("LAPACK's DGELSD")
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


@kernel(counted=True)
def minimum_norm_solution(A, m, y, w):
    """Write into w the least-squares solution of minimum norm of A[:, :m]' w = y, NaN if none.

    By singular value decomposition; singular values below RANK_TOLERANCE times the largest count
    as 0.
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
        error = _gelsd(
            _KIND, m, k, 1, columns.ctypes, m, right.ctypes, max(m, k), singular_values.ctypes,
            RANK_TOLERANCE, rank.ctypes,
        )  # fmt: skip
        good = error == 0
    for a in range(k):
        w[a] = right[a] if good else np.nan


def attempt():
    """Raise if a solution is wrong."""
    w = np.empty(2)
    minimum_norm_solution(np.array([[2.0, 0.0], [0.0, 4.0]]), 2, np.ones(2), w)
    if not np.allclose(w, [0.5, 0.25]):
        raise ArithmeticError("a solution of least squares is wrong")
