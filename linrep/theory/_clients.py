"""What bounds ask of a problem: sizes of samples, Gaussian covariates, heads of full rank."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linrep._lib import validation as check
from linrep.problems.regression import SharedRepresentation

# Smallest over largest singular value up to which heads count as of lower rank.
_RANK = 1e-12


def read_sizes(truth: SharedRepresentation, m: ArrayLike) -> NDArray[np.float64]:
    """Return the numbers of samples of all clients, shape (n,), from one for all or one for each.

    Parameters
    ----------
    truth : SharedRepresentation
    m : int or array_like of int, shape (n,)
        At least 1.

    Raises
    ------
    ValueError, TypeError
        If they are not such numbers.
    """
    sizes = check.numbers("m", m, minimum=1.0, whole=True)
    if sizes.shape not in ((), (truth.n,)):
        raise ValueError(f"m must be one number or {truth.n}, one per client, got {sizes.shape}")
    return np.broadcast_to(sizes, (truth.n,)).copy()


def read_participants(share: float, n: int) -> float:
    """Return how many of n clients take part in a round, at least one.

    Parameters
    ----------
    share : float
        Above 0, at most 1.
    n : int
    """
    if share * n < 1.0 - _RANK:
        raise ValueError(f"participation must be at least 1/n = {1 / n:.3g}, got {share:g}")
    return share * n


def require_gaussian(truth: SharedRepresentation, what: str) -> None:
    """Raise ValueError unless the covariates are Gaussian.

    Parameters
    ----------
    truth : SharedRepresentation
    what : str
        What is known for them only, for the message.
    """
    if truth.design != "gaussian":
        raise ValueError(f"design must be 'gaussian' for {what}, got {truth.design!r}")


def require_spanning(truth: SharedRepresentation) -> None:
    """Raise ValueError unless the heads span R^k."""
    if not spans(truth.W):
        raise ValueError(
            f"W must have rank k = {truth.k}: heads that do not span R^k determine no "
            "representation of that rank"
        )


def spans(W: NDArray[np.float64]) -> bool:
    """Tell whether the rows span the space that they are in."""
    values = np.linalg.svd(W, compute_uv=False)
    return len(W) >= W.shape[1] and bool(values[-1] > _RANK * values[0])
