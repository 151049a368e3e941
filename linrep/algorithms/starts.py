"""Starting points: from moments, at random, by projected gradient, or from clients' own models."""

from __future__ import annotations

from itertools import pairwise
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import eigh

from linrep._lib import memory
from linrep._lib import validation as check
from linrep._lib.arguments import checked
from linrep._lib.weights import reciprocal_shares
from linrep.algorithms import ridges
from linrep.algorithms.whitening import is_feasible, whitening
from linrep.kernels import moments
from linrep.kernels.fedrep import fit_heads
from linrep.kernels.linalg import RANK_TOLERANCE, reject
from linrep.kernels.rounds import workspace
from linrep.problems.clients import ClientData
from linrep.problems.random import RNGLike, stream
from linrep.problems.subspace import random_frame
from linrep.trace import MOST_ROUNDS

__all__ = [
    "models_start",
    "moments_start",
    "projected_gradient_start",
    "random_start",
    "truncated_start",
]

Values = NDArray[np.float64]

_ROUNDING = 1e-12  # of the loss of models that are 0: smaller differences of losses are none
_CHOOSERS = 64  # clients, at most, on whose samples the ridge of the models is chosen
_DEPENDENT = 1e-8  # share of a direction that others do not explain, from which on it is one
_CANDIDATES: WeakKeyDictionary[ClientData, dict[int, tuple[Values, Values]]] = WeakKeyDictionary()
TRUNCATION = 36.0  # labels of more than six root mean squares do not count


def moments_start(
    data: ClientData, k: int, *, weights: str | ArrayLike = "clients"
) -> NDArray[np.float64]:
    r"""Return the top-k eigenvectors of the clients' mean second moment of labels and covariates.

    .. math:: \frac1n \sum_i Z_i, \qquad
              Z_i = \frac1{m_i} \sum_j (y_i^j)^2\, x_i^j (x_i^j)^\top

    Parameters
    ----------
    data, k
    weights : {"clients", "samples"} or array_like, shape (n,)
        Of the mean over clients: all alike, as in the papers, or by their numbers of samples,
        which is best where clients differ in nothing else.

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
    squares = data.y**2 / np.repeat(data.m * reciprocal_shares(weights, data.m), data.m)
    if moments.are_large(data.X):
        return np.ascontiguousarray(moments.leading_eigenvectors(data.X, squares, k))
    second_moment = (data.X * squares[:, None]).T @ data.X
    _, vectors = eigh(second_moment, subset_by_index=[data.d - k, data.d - 1])
    return np.ascontiguousarray(vectors[:, ::-1])


def truncated_start(
    data: ClientData,
    k: int,
    *,
    truncation: float = TRUNCATION,
    weights: str | ArrayLike = "clients",
) -> NDArray[np.float64]:
    r"""Return the top-k right singular vectors of the matrix of truncated cross moments.

    .. math:: \hat\Theta_i = \frac1{m_i} \sum_j y_i^j\, x_i^j\,
              \mathbf 1\{(y_i^j)^2 \le \alpha\}, \qquad
              \alpha = \tilde C\, \frac1N \sum_{i, j} (y_i^j)^2

    Parameters
    ----------
    data, k
    truncation : float, default 36
        :math:`\tilde C`, positive: labels of more than its root times the root mean square do not
        count.
    weights : {"clients", "samples"} or array_like, shape (n,)
        Of the clients' rows in the sum of squares whose eigenvectors the singular vectors are: all
        alike, as in the paper, or by their numbers of samples.

    Returns
    -------
    ndarray, shape (d, k)
        Frame, largest singular value first.

    Notes
    -----
    Nayer and Vaswani, *Fast and sample-efficient federated low rank matrix recovery from
    column-wise linear and quadratic projections*, 2023. Their code for images takes six root mean
    squares, which is the default; their theorem a :math:`\tilde C` that grows with the square of
    the condition number.
    """
    return truncated_spectrum(data, k, truncation, weights)[0]


def truncated_spectrum(
    data: ClientData, k: int, truncation: float, weights: str | ArrayLike = "clients"
) -> tuple[NDArray[np.float64], float]:
    r"""Return the frame of :func:`truncated_start`, and the matrix's largest singular value.

    That over the root of n, which estimates :math:`\|W^*\|_2/\sqrt n`.
    """
    roots = np.sqrt(data.n / reciprocal_shares(weights, data.m))
    k = check.rank(k, data.n, data.d)
    truncation = check.real("truncation", truncation, above=0.0)
    n, d = data.n, data.d
    needed = data.X.size + n * d + min(n, d) ** 2
    memory.require("a copy of the samples", needed, n=n, samples=len(data.y), d=d)
    used = np.abs(data.y) <= np.sqrt(truncation) * root_mean_square(data.y)
    labels = np.where(used, data.y, 0.0) / np.repeat(data.m, data.m)
    moments = np.add.reduceat(data.X * labels[:, None], data.offsets[:-1], axis=0)
    moments *= roots[:, None]
    if d <= n:
        values, vectors = eigh(moments.T @ moments, subset_by_index=[d - k, d - 1])
        largest = float(np.sqrt(max(values[-1], 0.0)))
        return np.ascontiguousarray(vectors[:, ::-1]), largest / np.sqrt(n)
    _, spectrum, VT = np.linalg.svd(moments, full_matrices=False)
    return np.ascontiguousarray(VT[:k].T), float(spectrum[0]) / np.sqrt(n)


def root_mean_square(values: NDArray[np.float64]) -> float:
    """Return the root mean square, without an overflow of the squares."""
    largest = float(np.abs(values).max()) or 1.0
    return largest * float(np.sqrt(np.mean((values / largest) ** 2)))


def models_start(data: ClientData, k: int) -> NDArray[np.float64]:
    r"""Return the directions in which the clients' own models differ most from 0, or from pooling.

    The models are shrunk to their mean, as :func:`linrep.ridge_to_mean` does, on columns of equal
    size. Their top-k right singular vectors, in coordinates in which the pooled covariates have
    second moment I, are one start; the pooled model with the leading directions of what the models
    add to it is another, whose training loss is at most that of the pooled model. The one with the
    lower training loss is returned.

    Parameters
    ----------
    data, k

    Returns
    -------
    ndarray, shape (d, k)
        Frame, in the coordinates of the data: the same span, mapped, if columns are scaled, and if
        all samples are transformed by one linear map but for the models' ridge.

    Raises
    ------
    ValueError
        If `k` is out of range, or d above 4096: the covariates' second moment is formed.

    Notes
    -----
    Of no paper. It is computed in one place, with clients' samples, and needs no Gaussian
    covariates, as the moments of labels and covariates do.
    """
    k = check.rank(k, data.n, data.d)
    if not is_feasible(data):
        raise ValueError(f"data must have d at most {int(memory.DENSE**0.5)}, got {data.d}")
    coordinates = whitening(data).widened(k)
    Z = coordinates.covariates(data.X)
    frames = [_first_independent(rows, k) for rows in _candidates(data, Z, coordinates)]
    first, second = (_least_loss(Z, data.y, data.offsets, frame) for frame in frames)
    whole = np.mean(np.add.reduceat(data.y**2, data.offsets[:-1]) / (2.0 * data.m))
    return coordinates.frame(frames[int(second < first - _ROUNDING * whole)])


def _candidates(data, Z, coordinates):
    """Return the directions of the models, and the pooled one with those away from it.

    They are found once for the same data and as many coordinates.
    """
    known = _CANDIDATES.setdefault(data, {})
    if (size := Z.shape[1]) not in known:
        models = np.zeros((data.n, size))
        if rank := coordinates.rank:  # covariates that are 0 have no models
            scaled = _near_their_mean(Z[:, :rank] * coordinates.spectrum, data)
            models[:, :rank] = scaled * coordinates.spectrum
        pooled = Z.T @ (data.y / np.repeat(data.m * data.n, data.m))
        away = np.vstack([pooled, _directions(models - pooled)])
        known[size] = _directions(models), away
    return known[size]


def _near_their_mean(X, data):
    """Return the clients' ridge regressions towards their mean (n, r).

    The ridge is chosen as by :func:`linrep.ridge_to_mean`, on some of the clients where there are
    many.
    """
    clients = [(X[first:last], data.y[first:last]) for first, last in pairwise(data.offsets)]
    some = clients[:: -(-data.n // _CHOOSERS)]
    offsets = np.cumsum([0, *(len(labels) for _, labels in some)])
    Z, y = (np.concatenate(parts) for parts in zip(*some, strict=True))
    penalty, _ = ridges.best_around_mean(ridges.decompose(Z, y, offsets))
    maps = [_ridge_map(Z, penalty) for Z, _ in clients]
    shares = sum(each @ Z for each, (Z, _) in zip(maps, clients, strict=True))
    alone = sum(each @ labels for each, (_, labels) in zip(maps, clients, strict=True))
    mean = np.linalg.lstsq(shares, alone, RANK_TOLERANCE)[0]
    return np.array([
        mean + each @ (labels - Z @ mean) for each, (Z, labels) in zip(maps, clients, strict=True)
    ])  # fmt: skip


def _ridge_map(X, penalty):
    """Return the matrix (r, m) that takes a client's labels to its ridge regression."""
    m, r = X.shape
    if m < r:
        return np.linalg.solve(X @ X.T + penalty * np.eye(m), X).T
    return np.linalg.solve(X.T @ X + penalty * np.eye(r), X.T)


def _directions(models):
    """Return an orthonormal basis of all models, the right singular vectors first."""
    n, d = models.shape
    return np.linalg.svd(models, full_matrices=n < d)[2]


def _first_independent(rows, k):
    """Return a frame (k, r) of the first k rows that do not depend on those before them."""
    frame = np.empty((k, rows.shape[1]))
    count = 0
    for row in rows:
        length = float(np.linalg.norm(row))
        frame[count] = row
        after = reject(frame, count, frame[count], length)
        if after > _DEPENDENT * length:
            frame[count] /= after
            count += 1
        if count == k:
            break
    return frame


def _least_loss(Z, y, offsets, frame):
    """Return the least training loss of a frame (k, r), with heads fitted on it."""
    m = np.diff(offsets)
    W = np.zeros((m.size, len(frame)))
    k, size = frame.shape
    fit_heads(Z, y, offsets, frame, W, workspace(k, size, int(m.max()), 1))
    residuals = np.einsum("sk,sk->s", Z @ frame.T, np.repeat(W, m, axis=0)) - y
    return float(np.mean(np.add.reduceat(residuals**2, offsets[:-1]) / (2.0 * m)))


def random_start(
    n: int, d: int, k: int, rng: RNGLike = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return a Haar frame (d, k) and standard normal heads (n, k).

    Parameters
    ----------
    n, d, k : int
        Clients, ambient dimension, rank.
    rng

    Returns
    -------
    B : ndarray, shape (d, k)
    W : ndarray, shape (n, k)
    """
    n = check.integer("n", n, minimum=1)
    k = check.integer("k", k, minimum=1, maximum=check.integer("d", d, minimum=1))
    memory.require("the start", 3 * (n + d) * k, n=n, d=d, k=k)
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
    data, k
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
    heads, BT = np.zeros((data.n, k)), np.zeros((k, data.d))
    for _ in range(rounds):
        theta = heads @ BT
        for clients, X, y in blocks:
            with np.errstate(over="ignore", invalid="ignore"):  # which is said below
                residual = (X @ theta[clients, :, None])[..., 0] - y
                theta[clients] -= step / y.shape[1] * (residual[:, None] @ X)[:, 0]
        if not np.isfinite(theta).all():
            raise ValueError(f"step_size {step:g} makes projected gradient descent diverge")
        U, singular_values, VT = np.linalg.svd(theta, full_matrices=False)
        heads, BT = U[:, :k] * singular_values[:k], VT[:k]
    return np.ascontiguousarray(BT.T), heads


def _alike(data):
    """Yield runs of clients with equally many samples: their places, X (c, m, d) and y (c, m)."""
    ends = [0, *(1 + np.flatnonzero(np.diff(data.m))), data.n]
    for first, last in pairwise(ends):
        rows = slice(data.offsets[first], data.offsets[last])
        X, y = data.X[rows], data.y[rows]
        clients = last - first
        yield slice(first, last), X.reshape(clients, -1, data.d), y.reshape(clients, -1)


checked(globals(), units=False)
