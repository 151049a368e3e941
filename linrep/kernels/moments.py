"""Leading eigenvectors of second moments, which need not be written down."""

import numpy as np
from numpy.typing import NDArray

from linrep._lib import memory

Values = NDArray[np.float64]


def are_large(X: Values) -> bool:
    """Tell whether X'X of samples X (N, d) takes more memory than they do, and too much."""
    N, d = X.shape
    return d * d > memory.DENSE and d > N


def leading_eigenvectors(X: Values, weights: Values, k: int) -> Values:
    """Return the leading eigenvectors of sum_j weights_j x_j x_j'.

    Parameters
    ----------
    X : ndarray, shape (N, d)
        Samples as rows.
    weights : ndarray, shape (N,)
        Nonnegative.
    k : int
        How many, at most d.

    Returns
    -------
    ndarray, shape (d, k)
        Orthonormal columns, that of the largest eigenvalue first.

    Raises
    ------
    FloatingPointError
        If the second moment is not finite.

    Notes
    -----
    Where it would be large, the samples' inner products are decomposed instead: with A the samples
    times the roots of their weights, AA'u = s u gives A'A (A'u) = s A'u. That takes O(N^2 d)
    operations and the memory of another copy of the samples.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        if are_large(X) and k <= len(X):
            A = X * np.sqrt(weights)[:, None]
            return np.linalg.qr(A.T @ _leading(A @ A.T, k))[0]
        return _leading((X * weights[:, None]).T @ X, k)


def _leading(square, k):
    if not np.isfinite(square).all():
        raise FloatingPointError("the second moment is not finite")
    return np.linalg.eigh(square)[1][:, : -k - 1 : -1]  # in ascending order
