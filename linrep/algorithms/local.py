"""Work a client can do alone: its own model, or a head on a representation others learned."""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linrep import _validation as check
from linrep._random import streams
from linrep.algorithms.trace import Trace
from linrep.kernels.fedrep import fit_heads as fit_heads_kernel
from linrep.kernels.fedrep import workspace
from linrep.problems.clients import ClientData
from linrep.problems.regression import SharedRepresentation


def fit_heads(data: ClientData, B: ArrayLike) -> NDArray[np.float64]:
    """Fit every client's head by least squares on a frozen representation.

    Parameters
    ----------
    data : ClientData
        Samples, of new clients or old ones.
    B : array_like, shape (d, k)
        Representation; need not be orthonormal.

    Returns
    -------
    ndarray, shape (n, k)
        Row i minimizes ||y_i - X_i B w||, with minimum norm where that is not unique.

    Notes
    -----
    FedRep, Section 5.1, "Generalization to new clients". A single new client is
    ``fit_heads(ClientData.from_list([(X, y)]), B)[0]``.
    """
    if not isinstance(data, ClientData):
        raise TypeError(f"data must be ClientData, got {type(data).__name__}")
    B = check.array("B", B, (data.d, None))
    k = B.shape[1]
    W = np.zeros((data.n, k))
    work = workspace(k, data.d, int(data.m.max()), 1)
    fit_heads_kernel(data.X, data.y, data.offsets, np.ascontiguousarray(B.T), W, work)
    return W


def local_only(problem, *, m=None, rng=None) -> Trace:
    """Fit every client's own d-dimensional model by least squares, without collaboration.

    Parameters
    ----------
    problem : SharedRepresentation or ClientData
        A ground truth to draw from, or samples.
    m : int, optional
        Samples per client; with a SharedRepresentation only.
    rng : optional
        Anything `numpy.random.default_rng` takes. The data are those of :func:`fedrep` with
        fixed batches and the same seed.

    Returns
    -------
    Trace
        One round: row 0 is the zero model, row 1 the minimum-norm least-squares one. State
        ``theta`` (n, d), a regression vector per row. Nothing is communicated.
    """
    began = time.perf_counter()
    if isinstance(problem, SharedRepresentation):
        if m is None:
            raise ValueError("m must be given: the number of samples per client")
        data_rng, _, _ = streams(rng, "data", "participation", "start")
        data = problem.draw(m, rng=data_rng)
    elif isinstance(problem, ClientData):
        if m is not None:
            raise ValueError("m must not be given with ClientData, which has its samples already")
        data = problem
    else:
        raise TypeError(
            f"problem must be a SharedRepresentation or ClientData, got {type(problem).__name__}"
        )
    theta = fit_heads(data, np.eye(data.d))
    metrics = {"loss": _losses(data, np.zeros_like(theta), theta)}
    if data.truth is not None:
        target = data.truth.theta
        risks = [0.5 * np.mean(np.sum((t - target) ** 2, axis=1)) for t in (0.0, theta)]
        metrics["population_risk"] = np.array(risks)
    metrics["floats_up"] = metrics["floats_down"] = np.zeros(2)
    return Trace(
        algorithm="local only",
        metrics=metrics,
        state={"theta": theta},
        settings={"problem": repr(problem), "m": m},
        wall_time=time.perf_counter() - began,
    )


def _losses(data, *models):
    losses = np.zeros(len(models))
    for i in range(data.n):
        X, y = data.client(i)
        for place, theta in enumerate(models):
            losses[place] += np.mean((X @ theta[i] - y) ** 2) / (2 * data.n)
    return losses
