"""Largest eigenvalues and singular triples by Lanczos, repeatable to the bit from scipy 1.17 on."""

from __future__ import annotations

from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator, eigsh

# Where the Krylov space is exhausted ARPACK goes on from a random vector, which scipy from 1.17 on
# draws from the system's entropy unless it is given a generator, as its svds does not.
_REPEATABLE: dict[str, Any] = {"rng": 0} if "rng" in signature(eigsh).parameters else {}


def largest_eigenvalue(A, start: NDArray[np.float64], tol: float = 0.0) -> float:
    """Return the largest eigenvalue of a symmetric matrix or operator, from a vector on."""
    found = eigsh(A, k=1, which="LA", v0=start, tol=tol, return_eigenvectors=False, **_REPEATABLE)
    return float(found[0])


def largest_singular_value(A, start: NDArray[np.float64], tol: float = 0.0) -> float:
    """Return the largest singular value of a matrix or operator, as :func:`singular_triples`."""
    return float(singular_triples(A, 1, start, tol)[1][0])


def singular_triples(A, count: int, start: NDArray[np.float64], tol: float = 0.0):
    """Return the leading singular vectors and values, fewer than the shorter side is long.

    Parameters
    ----------
    A : matrix, sparse array or LinearOperator, shape (a, b)
    count : int
    start : ndarray, shape (min(a, b),)
        Where the iteration starts.
    tol : float, default 0
        Relative, of the singular values; 0 for what the machine can.

    Returns
    -------
    U, size, V : ndarray, shape (a, count), (count,), (b, count)

    Raises
    ------
    ArpackError
        If they are not found, as where they are too close to each other.
    """
    wide = A.shape[0] < A.shape[1]
    tall = A.T if wide else A
    side = tall.shape[1]
    gram = LinearOperator((side, side), matvec=lambda v: tall.T @ (tall @ v), dtype=np.float64)
    vectors = eigsh(gram, k=count, v0=start, tol=tol**2, **_REPEATABLE)[1]
    vectors = np.linalg.qr(vectors)[0]
    U, size, VT = np.linalg.svd(tall @ vectors, full_matrices=False)
    V = vectors @ VT.T
    return (V, size, U) if wide else (U, size, V)
