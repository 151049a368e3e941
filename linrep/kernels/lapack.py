"""Least squares of minimum norm.

``np.linalg.lstsq`` compiles some sixty functions, for shapes, types and results that heads do not
have; the routine behind it is DGELSD of SciPy's LAPACK, which `_gelsd` calls where it can.
"""

import numba
import numpy as np

from linrep.kernels.jit import kernel, private
from linrep.kernels.linalg import RANK_TOLERANCE

_gelsd = None if numba.config.DISABLE_JIT else private("_gelsd")

if _gelsd is not None:
    minimum_norm_solution = _gelsd.minimum_norm_solution
else:

    @kernel(counted=True)
    def minimum_norm_solution(A, m, y, w):
        """Write into w the least-squares solution of minimum norm of A[:, :m]' w = y, NaN if none.

        By singular value decomposition; singular values below RANK_TOLERANCE times the largest
        count as 0.
        """
        equations, right = np.ascontiguousarray(A[:, :m].T), y[:m].copy()
        if np.isfinite(equations).all() and np.isfinite(right).all():
            w[:] = np.linalg.lstsq(equations, right, RANK_TOLERANCE)[0]
        else:
            w[:] = np.nan
