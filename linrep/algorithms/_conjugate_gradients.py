"""Linear systems with a positive definite matrix that is known by its products alone."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]


def solve(
    apply: Callable[[Values], Values],
    right: Values,
    diagonal: Values,
    *,
    tolerance: float,
    most: int,
) -> Values:
    """Return an approximate solution by conjugate gradients, preconditioned by the diagonal.

    Parameters
    ----------
    apply : callable
        The matrix times a vector.
    right : ndarray, shape (size,)
    diagonal : ndarray, shape (size,)
        Of the matrix, positive.
    tolerance : float
        Of the residual's norm, relative to the right-hand side's.
    most : int
        Iterations.
    """
    x, residual = np.zeros_like(right), right.copy()
    goal = tolerance * float(np.linalg.norm(right))
    scaled = residual / diagonal
    direction, along = scaled.copy(), float(residual @ scaled)
    for _ in range(most):
        if along <= 0.0 or np.linalg.norm(residual) <= goal:
            break
        product = apply(direction)
        curvature = float(direction @ product)
        if not curvature > 0.0:  # nothing but rounding is left
            break
        x += along / curvature * direction
        residual -= along / curvature * product
        scaled = residual / diagonal
        before, along = along, float(residual @ scaled)
        direction = scaled + along / before * direction
    return x
