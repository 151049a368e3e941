"""Starting points: method of moments, random, projected gradient on the unfactorized objective."""

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from linrep import _memory as memory
from linrep import _validation as check
from linrep.kernels import moments
from linrep.problems.clients import ClientData
from linrep.random import RNGLike, stream
from linrep.subspace import random_frame
from linrep.trace import MOST_ROUNDS

__all__ = ["moments_start", "projected_gradient_start", "random_start"]


def moments_start(data: ClientData, k: int) -> NDArray[np.float64]:
    r"""Return the top-k eigenvectors of the clients' mean second moment of labels and covariates.

    .. math:: \frac1n \sum_i Z_i, \qquad
              Z_i = \frac1{m_i} \sum_j (y_i^j)^2\, x_i^j (x_i^j)^\top

    Parameters
    ----------
    data : ClientData
        Samples of n clients.
    k : int
        Rank wanted, 1 <= k <= min(n, d).

    Returns
    -------
    ndarray, shape (d, k)
        Frame, largest eigenvalue first.

    Notes
    -----
    FedRep, Algorithm 2 (initialization) and Theorem 2. In dimensions above 4096 with fewer than d
    samples in all, N, the matrix is not formed: time O(N^2 d) and memory O(N d), instead of
    O(d^3) and O(d^2).
    """
    k = check.rank(k, data.n, data.d)
    memory.require("a copy of the samples", data.X.size, n=data.n, samples=len(data.y), d=data.d)
    weights = data.y**2 / np.repeat(data.m * data.n, data.m)
    if moments.are_large(data.X):
        return np.ascontiguousarray(moments.leading_eigenvectors(data.X, weights, k))
    second_moment = (data.X * weights[:, None]).T @ data.X
    _, vectors = eigh(second_moment, subset_by_index=[data.d - k, data.d - 1])
    return np.ascontiguousarray(vectors[:, ::-1])


def random_start(
    n: int, d: int, k: int, rng: RNGLike = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return a Haar frame (d, k) and standard normal heads (n, k).

    Parameters
    ----------
    n, d, k : int
        Clients, ambient dimension, rank.
    rng : optional
        Anything `numpy.random.default_rng` takes.

    Returns
    -------
    B : ndarray, shape (d, k)
    W : ndarray, shape (n, k)
    """
    rng = stream(rng, "start")
    return random_frame(d, k, rng), rng.standard_normal((n, k))


def projected_gradient_start(
    data: ClientData, k: int, *, rounds: int = 10, step_size: float | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    r"""Return the factors of a few rounds of projected gradient descent on the matrix of models.

    Starting from Theta = 0 in R^{n x d}, whose row i is client i's regression vector, each round
    takes a gradient step on :math:`\sum_i \frac1{2m_i}\|y_i - X_i\theta_i\|^2` and projects on the
    matrices of rank k by a truncated singular value decomposition.

    Parameters
    ----------
    data : ClientData
        Samples of n clients.
    k : int
        Rank, 1 <= k <= min(n, d).
    rounds : int, default 10
        At least 1.
    step_size : float, optional
        By default 1 / max_i lambda_max(X_i' X_i / m_i), with which the objective never increases.

    Returns
    -------
    B : ndarray, shape (d, k)
        Right singular vectors of the last Theta.
    W : ndarray, shape (n, k)
        Left singular vectors times singular values, so that Theta = W B'.

    Raises
    ------
    ValueError
        If the iterates stop being finite, or an argument is out of range.

    Notes
    -----
    FedRep, Appendix A.1, after Tu et al. (2016), Algorithm 1.
    """
    k = check.rank(k, data.n, data.d)
    rounds = check.count("rounds", rounds, most=MOST_ROUNDS)
    blocks = list(_alike(data))
    if step_size is None:
        smoothness = max(
            float(np.linalg.svd(X, compute_uv=False).max()) ** 2 / y.shape[1] for _, X, y in blocks
        )
        step = 1.0 / smoothness if smoothness > 0.0 else 0.0
    else:
        step = check.real("step_size", step_size, above=0.0)
    left, right = np.zeros((data.n, k)), np.zeros((k, data.d))
    for _ in range(rounds):
        theta = left @ right
        for clients, X, y in blocks:
            residual = (X @ theta[clients, :, None])[..., 0] - y
            theta[clients] -= step / y.shape[1] * (residual[:, None] @ X)[:, 0]
        if not np.isfinite(theta).all():
            raise ValueError(f"step_size {step:g} makes projected gradient descent diverge")
        U, singular_values, VT = np.linalg.svd(theta, full_matrices=False)
        left, right = U[:, :k] * singular_values[:k], VT[:k]
    return np.ascontiguousarray(right.T), left


def _alike(data):
    """Yield runs of clients with equally many samples: their places, X (c, m, d) and y (c, m)."""
    ends = [0, *(1 + np.flatnonzero(np.diff(data.m))), data.n]
    for first, last in pairwise(ends):
        rows = slice(data.offsets[first], data.offsets[last])
        X, y = data.X[rows], data.y[rows]
        clients = last - first
        yield slice(first, last), X.reshape(clients, -1, data.d), y.reshape(clients, -1)
