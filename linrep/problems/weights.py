"""What clients or samples count, as factors of squared residuals."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linrep._lib import validation as check

Values = NDArray[np.float64]


def row_weights(weights: str | ArrayLike, offsets: NDArray[np.int64]) -> Values:
    """Return the factor of every sample's squared residual in its client's mean, shape (N,).

    Parameters
    ----------
    weights : {"client", "sample"} or array_like
        As :meth:`ClientData.weighted` takes them.
    offsets : ndarray of int, shape (n + 1,)
    """
    m = np.diff(offsets)
    n, N = m.size, int(offsets[-1])
    if isinstance(weights, str):
        check.choice("weights", weights, ("client", "sample"))
        values = np.ones(n if weights == "client" else N)
    else:
        values = check.numbers("weights", weights, minimum=0.0, maximum=check.LARGEST)
        if values.shape not in ((n,), (N,)):
            raise ValueError(
                f"weights must have shape ({n},), clients, or ({N},), samples, got {values.shape}"
            )
        if not values.any():
            raise ValueError("weights must not all be 0")
    values = values / values.max()
    if values.size == n:
        return np.repeat(values / values.mean(), m)
    return values * np.repeat(m, m) * (n / values.sum())


def unweighted(data: Any, what: str) -> None:
    """Raise unless data have no weights, whose square roots their rows are multiplied by.

    Parameters
    ----------
    data : ClientData
    what : str
        What would be done with them.
    """
    if data.weights is not None:
        raise ValueError(f"weighted data cannot be {what}: weights come last")
