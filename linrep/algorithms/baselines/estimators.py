r"""Estimators of a representation that are computed in one place, from all samples at once.

Each returns a Trace of one row, with the metric ``loss`` and, where there is a truth of rank k,
``distance`` and ``population_risk``. Its state is ``B`` (d, k) of orthonormal columns and ``W``
(n, k), the heads fitted on it by least squares.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import eigh
from scipy.optimize import minimize

from linrep._lib import display as show
from linrep._lib import memory
from linrep._lib import validation as check
from linrep._lib.arguments import checked
from linrep._lib.clock import Stopwatch
from linrep._lib.weights import named, reciprocal_shares
from linrep.algorithms.diagnosis import diagnose_estimate, own_data
from linrep.algorithms.errors import representation_errors
from linrep.algorithms.local import fit_heads, fit_models, heads_loss
from linrep.algorithms.registry import algorithm
from linrep.algorithms.starts import moments_start
from linrep.problems.clients import ClientData
from linrep.problems.prediction import origin
from linrep.problems.random import RNGLike, stream
from linrep.problems.regression import SharedRepresentation
from linrep.problems.subspace import orthonormalize, random_frame
from linrep.trace import Trace

__all__ = ["cross_moments", "empirical_risk_minimizer", "erm", "method_of_moments"]

_DENSE = 600  # entries of B up to which Newton's method follows
_NEWTON_STEPS = 30
_NULL = 1e-9  # curvature, relative to the largest, below which a direction is left alone


@algorithm("regression")
def method_of_moments(data: ClientData, *, k: int, weights: str | ArrayLike = "clients") -> Trace:
    r"""Estimate the representation by the method of moments, and fit every client's head on it.

    .. math:: \hat B = \text{top-}k \text{ eigenvectors of }
              \frac1n \sum_i \frac1{m_i} \sum_j (y_i^j)^2\, x_i^j (x_i^j)^\top

    Parameters
    ----------
    data : ClientData
        Gaussian covariates of identity covariance are what the estimator is made for.
    k
    weights : {"clients", "samples"} or array_like, shape (n,)
        Of the mean over clients: all alike, or by their numbers of samples, which is best where
        clients differ in nothing else.

    Returns
    -------
    Trace
        Of one row: ``loss``, with a truth of rank k also ``distance`` and ``population_risk``.

    Notes
    -----
    Tripuraneni, Jin and Jordan, *Provable meta-learning of linear representations*, 2021, of
    clients with equally many samples: theirs is the mean over samples; over clients it is that of
    FedRep's start. The mean of the moment is
    :math:`2 B^* \Gamma B^{*\top}` plus a multiple of the identity, where :math:`\Gamma` is the
    heads' second moment.

    Examples
    --------
    >>> import linrep as lr
    >>> truth = lr.SharedRepresentation.random(n=200, d=10, k=2, rng=0)
    >>> bool(lr.method_of_moments(truth.draw(50, rng=1), k=2)["distance"][-1] < 0.2)
    True
    """
    watch = Stopwatch()
    k = check.rank(k, data.n, data.d)
    B = moments_start(data, k, weights=weights)
    return _estimate("method of moments", data, B, watch, {"weights": named(weights)})


@algorithm("regression")
def cross_moments(data: ClientData, *, k: int, weights: str | ArrayLike = "clients") -> Trace:
    r"""Estimate the representation from products of different samples of a client.

    .. math:: \hat B = \text{top-}k \text{ eigenvectors of }
              \frac1n \sum_i \frac1{m_i (m_i - 1)} \sum_{j \neq l} y_i^j y_i^l\, x_i^j (x_i^l)^\top

    Unlike the method of moments it is not biased by noise that depends on the covariates, or by
    their fourth moments: with covariates of identity covariance the moment's mean is
    :math:`B^* \Gamma B^{*\top}`, whatever else their law is.

    Parameters
    ----------
    data : ClientData
        Clients of one sample have no pair, and do not count.
    k
    weights : {"clients", "samples"} or array_like, shape (n,)
        Of the mean over clients: all alike, or by their numbers of samples. Best are those of
        :func:`linrep.theory.asymptotics.starts.best_weights`, between these numbers and their
        squares.

    Returns
    -------
    Trace
        Of one row: ``loss``, with a truth of rank k also ``distance`` and ``population_risk``.

    Raises
    ------
    ValueError, TypeError
        If an argument is out of range, or no client has two samples.

    Notes
    -----
    Duchi, Feldman, Hu and Talwar, *Subspace recovery from heterogeneous data with non-isotropic
    noise*, 2022. Cost O(N d^2) for N samples.

    Examples
    --------
    >>> import linrep as lr
    >>> truth = lr.SharedRepresentation.random(n=200, d=10, k=2, rng=0)
    >>> bool(lr.cross_moments(truth.draw(50, rng=1), k=2)["distance"][-1] < 0.1)
    True
    """
    watch = Stopwatch()
    k = check.rank(k, data.n, data.d)
    if not (data.m > 1).any():
        raise ValueError("data must have a client with at least two samples")
    d, parts = data.d, reciprocal_shares(weights, data.m, 2)
    # The sum over pairs is that over all products without those of a sample with itself. Scaled
    # by its root, so that one copy of the samples is enough.
    pairs = np.where(data.m > 1, data.m * (data.m - 1.0), 1.0) * parts
    labelled = data.X * (data.y / np.sqrt(np.repeat(pairs, data.m)))[:, None]
    sums = np.add.reduceat(labelled, data.offsets[:-1], axis=0)
    moment = sums.T @ sums - labelled.T @ labelled
    vectors = eigh(moment, subset_by_index=[d - k, d - 1])[1]
    B = np.ascontiguousarray(vectors[:, ::-1])
    return _estimate("cross moments", data, B, watch, {"weights": named(weights)})


def _estimate(
    algorithm: str,
    data: ClientData,
    B: NDArray[np.float64],
    watch: Stopwatch,
    settings: Mapping[str, Any] | None = None,
) -> Trace:
    """Return the trace of a representation (d, k) with the heads fitted on it, of one row.

    B has orthonormal columns, the watch runs since the estimator was called, and settings are those
    besides the problem and k.
    """
    W = fit_heads(data, B)
    metrics = {"loss": np.array([heads_loss(data, B, W)])}
    truth = data.truth
    if isinstance(truth, SharedRepresentation) and truth.k == B.shape[1]:
        errors = representation_errors(B, W, truth)
        metrics |= {name: np.array([value]) for name, value in errors.items()}
    metrics["samples"] = np.array([float(len(data.y))])
    state = {"B": B, "W": W}
    return Trace(
        algorithm=algorithm,
        metrics=metrics,
        state=state,
        settings={"problem": repr(data), "k": B.shape[1], **(settings or {})},
        wall_time=watch.seconds(),
        notes=diagnose_estimate(data, state) if own_data(data) is not None else (),
        **origin(data),
    )


class Fit(NamedTuple):
    """The best of several descents.

    Attributes
    ----------
    B : ndarray, shape (d, k)
        Orthonormal columns.
    W : ndarray, shape (n, k)
        Each client's least-squares head.
    loss : float
        Mean over clients of (1/2m)||y_i - X_i B w_i||^2.
    losses : ndarray, shape (descents,)
        Where each descent ended: from the clients' own models, from random frames, from given
        starts. `loss` is the least of them, or below where Newton's method went on.
    """

    B: NDArray[np.float64]
    W: NDArray[np.float64]
    loss: float
    losses: NDArray[np.float64]

    def __repr__(self):
        return show.line(self)


def empirical_risk_minimizer(
    data: ClientData,
    k: int,
    *,
    restarts: int = 10,
    starts: Iterable[ArrayLike] = (),
    rng: RNGLike = None,
) -> Fit:
    r"""Minimize the training loss over all models of rank k.

    .. math:: \min_{B, W} \frac1n \sum_i \frac1{2m_i} \|y_i - X_i B w_i\|^2

    Parameters
    ----------
    data, k
    restarts : int, default 10
        Descents from random frames, besides the one from the truncated decomposition of the
        clients' own least-squares models.
    starts : iterable of array_like, shape (d, k), optional
        More representations to descend from, such as where a method ended.
    rng

    Returns
    -------
    Fit
        A minimum of the loss to rounding, the global one if any start led there.

    Notes
    -----
    FLUTE, equation (2), halved. The heads are eliminated (variable projection); L-BFGS, then
    Newton's method from the best end point.
    """
    n, d = data.n, data.d
    k = check.rank(k, n, d)
    restarts = check.integer("restarts", restarts, minimum=0)
    rng = stream(rng, "start")
    full = d * d <= memory.DENSE
    frames = [np.linalg.svd(fit_models(data), full_matrices=full)[2][:k].T]
    frames += [random_frame(d, k, rng) for _ in range(restarts)]
    frames += [orthonormalize(check.array("starts", start, (d, k))) for start in starts]
    loss = _Loss(data)
    # A power of two, which changes no digit but where the solver stops.
    size = float(np.mean(np.add.reduceat(data.y**2, data.offsets[:-1]) / data.m))
    unit = 4.0 ** np.round(0.5 * np.log2(size)) if size > 0.0 else 1.0

    def function(entries):
        value, gradient, _ = loss(entries.reshape(d, k))
        return value / unit, gradient.ravel() / unit

    options = {"maxiter": 5_000, "maxfun": 10_000, "ftol": 0.0, "gtol": 1e-11, "maxcor": 30}
    ends = [
        minimize(function, frame.ravel(), jac=True, method="L-BFGS-B", options=options)
        for frame in frames
    ]
    losses = np.array([end.fun for end in ends]) * unit
    B = orthonormalize(ends[losses.argmin()].x.reshape(d, k))
    if B.size <= _DENSE:
        B = _newton(loss, B)
    value, _, W = loss(B)
    return Fit(B, W, float(value), losses)


class _Loss:
    """The training loss as a function of B, the heads being the best for it."""

    def __init__(self, data):
        self.data = data
        self.client = np.repeat(np.arange(data.n), data.m)
        self.weights = 1.0 / (data.n * data.m[self.client])

    def __call__(self, B):
        """Return the loss, its gradient and the heads."""
        W = fit_heads(self.data, B)
        heads = W[self.client]
        residual = np.sum((self.data.X @ B) * heads, axis=1) - self.data.y
        weighted = self.weights * residual
        return 0.5 * weighted @ residual, (self.data.X * weighted[:, None]).T @ heads, W

    @cached_property
    def moments(self):
        """The clients' second moments (d, d), which only small problems need."""
        return [X.T @ X / len(X) for X, _ in map(self.data.client, range(self.data.n))]

    def hessian(self, B, W):
        """Return the matrix of second derivatives (d k, d k) of the loss in B, heads following."""
        (d, k), n = B.shape, self.data.n
        H = np.zeros((d * k, d * k))
        for i, (S, w) in enumerate(zip(self.moments, W, strict=True)):
            X, y = self.data.client(i)
            g = X.T @ (X @ (B @ w) - y) / len(y)
            H += np.kron(S, np.outer(w, w)) / n
            mixed = np.kron(g[:, None], np.eye(k)) + np.kron(S @ B, w[:, None])
            H -= mixed @ np.linalg.pinv(B.T @ S @ B, hermitian=True) @ mixed.T / n
        return 0.5 * (H + H.T)


def _newton(loss, B):
    """Take Newton steps for as long as they shrink the gradient; B stays a frame."""
    value, gradient, W = loss(B)
    for _ in range(_NEWTON_STEPS):
        curvature, directions = np.linalg.eigh(loss.hessian(B, W))
        along = directions.T @ gradient.ravel()
        scale = np.abs(curvature).max()
        # Directions that only change the basis of B are flat, and so is what interpolates.
        use = np.abs(curvature) > _NULL * scale
        step = directions[:, use] @ (along[use] / np.abs(curvature[use]))
        candidate = B - step.reshape(B.shape)
        if not use.any() or np.linalg.matrix_rank(candidate) < B.shape[1]:
            return B
        candidate = orthonormalize(candidate)
        after = loss(candidate)
        smaller = np.linalg.norm(after[1]) < np.linalg.norm(gradient)
        if not smaller or after[0] > value * (1.0 + 1e-12):
            return B
        B, (value, gradient, W) = candidate, after
    return B


def erm(
    data: ClientData,
    *,
    k: int,
    restarts: int = 10,
    rng: RNGLike = None,
) -> Trace:
    """Return the model of rank k with the least training loss found by many descents.

    Parameters
    ----------
    data, k
    restarts : int, default 10
        As in :func:`empirical_risk_minimizer`, whose minimum this is as a trace.
    rng

    Returns
    -------
    Trace
        Of one row: ``loss``, with a truth of rank k also ``distance`` and ``population_risk``.
        State ``B`` (d, k) with orthonormal columns and ``W`` (n, k).

    Notes
    -----
    FLUTE, equation (2). What iterative methods on the same samples approach from above: a loss
    that one of them ends with above this one's is of another stationary point, or not of one yet.

    Examples
    --------
    >>> import linrep as lr
    >>> truth = lr.SharedRepresentation.random(n=20, d=8, k=2, noise=0.3, rng=0)
    >>> data = truth.draw(10, rng=1)
    >>> best = lr.erm(data, k=2, restarts=2, rng=2)
    >>> bool(best["loss"][-1] <= lr.alternating_least_squares(data, k=2)["loss"][-1] + 1e-12)
    True
    """
    watch = Stopwatch()
    fit = empirical_risk_minimizer(data, k, restarts=restarts, rng=rng)
    return _estimate("empirical risk minimizer", data, fit.B, watch, {"restarts": restarts})


checked(globals(), units=False)
