"""The best model of rank k for given samples, found by a solver instead of a federated method."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize

from linrep._lib import display as show
from linrep._lib import memory
from linrep._lib import validation as check
from linrep._lib.arguments import checked
from linrep._lib.clock import Stopwatch
from linrep.algorithms.baselines._estimate import estimate
from linrep.algorithms.local import fit_heads, fit_models
from linrep.problems.clients import ClientData
from linrep.problems.random import RNGLike, stream
from linrep.problems.subspace import orthonormalize, random_frame
from linrep.trace import Trace

__all__ = ["empirical_risk_minimizer", "erm"]

_DENSE = 600  # entries of B up to which Newton's method follows
_NEWTON_STEPS = 30
_NULL = 1e-9  # curvature, relative to the largest, below which a direction is left alone


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
    data : ClientData
        Samples of n clients.
    k : int
        Rank, 1 <= k <= min(n, d).
    restarts : int, default 10
        Descents from random frames, besides the one from the truncated decomposition of the
        clients' own least-squares models.
    starts : iterable of array_like, shape (d, k), optional
        More representations to descend from, such as where a method ended.
    rng : optional
        Anything `numpy.random.default_rng` takes.

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
    data : ClientData
    k : int
        Rank, at most min(n, d).
    restarts : int, default 10
        As in :func:`empirical_risk_minimizer`, whose minimum this is as a trace.
    rng : optional
        Anything `numpy.random.default_rng` takes.

    Returns
    -------
    Trace
        Of one row: ``loss``, with a truth of rank k also ``distance`` and ``population_risk``.
        State ``B`` (d, k) with orthonormal columns and ``W`` (n, k).

    Raises
    ------
    ValueError, TypeError
        If an argument is out of range.

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
    return estimate("empirical risk minimizer", data, fit.B, watch, {"restarts": restarts})


checked(globals(), units=False)
