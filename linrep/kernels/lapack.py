"""Least squares of minimum norm.

``np.linalg.lstsq`` compiles some sixty functions, for shapes, types and results that heads do not
have; the routine behind it is DGELSD of SciPy's LAPACK, which `_gelsd` calls where it can.
"""

import numba
import numpy as np

from linrep.kernels.jit import kernel, private

_gelsd = None if numba.config.DISABLE_JIT else private("_gelsd")

if _gelsd is not None:
    minimum_norm_solution = _gelsd.minimum_norm_solution
else:

    @kernel(counted=True)
    def minimum_norm_solution(A, m, y, w):
        """Write into w the least-squares solution of minimum norm of A[:, :m]' w = y, NaN if none.

        By singular value decomposition; the rank is that of ``numpy.linalg.lstsq`` by default.
        """
        k = A.shape[0]
        equations, right = np.ascontiguousarray(A[:, :m].T), y[:m].copy()
        if np.isfinite(equations).all() and np.isfinite(right).all():
            w[:] = np.linalg.lstsq(equations, right, np.finfo(np.float64).eps * max(m, k))[0]
        else:
            w[:] = np.nan
