"""Step sizes that a method can find by itself."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator

from linrep._lib.lanczos import largest_eigenvalue
from linrep.algorithms.local import fit_heads
from linrep.algorithms.starts import root_mean_square
from linrep.kernels.linalg import RANK_TOLERANCE
from linrep.problems.clients import ClientData
from linrep.problems.regression import SharedRepresentation

_DENSE = 32  # entries of B up to which the curvature operator is written out


class Units(NamedTuple):
    """The root mean square of all covariates' entries, and the standard deviation of all labels.

    Steps and starts that are found in them give the same predictions in whatever units data come.
    """

    covariates: float
    labels: float

    @property
    def models(self) -> float:
        """The size of a model that predicts labels of this size."""
        return self.labels / self.covariates


def units_of(data: ClientData | None) -> Units:
    """Return the units of data of one's own.

    1 and 1 where a truth is known, whose covariates have covariance I, and for what is 0; of labels
    that are all the same their size.
    """
    if data is None or data.truth is not None:
        return Units(1.0, 1.0)
    labels = root_mean_square(data.y)
    spread = root_mean_square(data.y - np.mean(data.y))
    varies = spread > RANK_TOLERANCE * labels
    return Units(root_mean_square(data.X) or 1.0, (spread if varies else labels) or 1.0)


def largest_second_moment(data: ClientData) -> float:
    r"""Return the largest eigenvalue of the mean of all :math:`X_i^\top X_i/m_i`, to 1e-6."""
    size = root_mean_square(data.X)
    if not size > 0.0:
        return 0.0
    X = data.X / (size * np.sqrt(np.repeat(data.m * data.n, data.m))[:, None])
    d = data.d
    if d <= _DENSE:
        return size**2 * float(np.linalg.eigvalsh(X.T @ X)[-1])
    operator = LinearOperator((d, d), matvec=lambda v: X.T @ (X @ v), dtype=np.float64)
    start = np.abs(X).sum(axis=0)
    return size**2 * largest_eigenvalue(operator, start, tol=1e-6)


def theorem_step_size(truth: SharedRepresentation, participants: int) -> float:
    """Return the largest step size FedRep's Theorem 1 allows, 1/(4 sigma_max^2)."""
    largest = truth.sigma_max(participants)
    if not largest > 0.0:
        raise ValueError("step_size='theorem' needs heads that are not all zero")
    return 0.25 / largest**2


def smoothness_step_size(data: ClientData, B: NDArray[np.float64]) -> float:
    r"""Return 1/(4L), L the largest curvature of the training loss in the representation.

    The curvature is that of :math:`\frac1n \sum_i \frac1{2m_i}\|y_i - X_i B w_i\|^2` in B at
    the heads that fit `B` (d, k) best, the largest eigenvalue of :math:`V \mapsto \frac1n \sum_i
    \frac1{m_i} X_i^\top X_i V w_i w_i^\top`. With infinitely many samples of covariance I and
    B = B* this is the theorem's limit for full participation.
    """
    W = fit_heads(data, B)
    shape = B.shape
    scale = np.sqrt(np.repeat(data.m * data.n, data.m))[:, None]
    X, heads = data.X / scale, np.repeat(W, data.m, axis=0)

    def curvature(V):
        return (X.T @ (np.sum((X @ V.reshape(shape)) * heads, axis=1)[:, None] * heads)).ravel()

    if not W.any():
        largest = 0.0
    elif B.size <= _DENSE:
        largest = np.linalg.eigvalsh(np.array([curvature(V) for V in np.eye(B.size)]))[-1]
    else:
        operator = LinearOperator((B.size, B.size), matvec=curvature, dtype=np.float64)
        largest = largest_eigenvalue(operator, np.ravel(B), tol=1e-6)
    if not largest > 0.0:
        raise ValueError("step_size='smoothness' needs heads and samples that are not all zero")
    return float(0.25 / largest)


def require_stored(batches: str) -> None:
    """Refuse to find a step where every round draws samples of its own."""
    if batches in ("fresh", "gram"):
        raise ValueError(
            f"step_size must be given with batches={batches!r}: it can be found on stored samples"
        )
