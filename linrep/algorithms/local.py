"""Work a client can do alone: its own model, or a head on a representation others learned."""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linrep import _validation as check
from linrep._random import streams
from linrep.algorithms._setup import read_problem
from linrep.algorithms.gram import require_gaussian
from linrep.algorithms.trace import Trace
from linrep.kernels.fedrep import fit_heads as fit_heads_kernel
from linrep.kernels.fedrep import workspace
from linrep.problems.clients import ClientData


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


def local_only(problem, *, m=None, batches: str = "fixed", rng=None) -> Trace:
    """Fit every client's own d-dimensional model by least squares, without collaboration.

    Parameters
    ----------
    problem : SharedRepresentation or ClientData
        A ground truth to draw from, or samples.
    m : int, optional
        Samples per client; with a SharedRepresentation only. For ``batches="fixed"`` also one
        number per client.
    batches : {"fixed", "gram"}, default "fixed"
        With ``"gram"`` nothing is fitted: loss and risk are drawn from the law that they have with
        samples of a Gaussian design, in time and memory free of m and d.
    rng : optional
        Anything `numpy.random.default_rng` takes. The data are those of :func:`fedrep` with
        fixed batches and the same seed.

    Returns
    -------
    Trace
        One round: row 0 is the zero model, row 1 the minimum-norm least-squares one. State
        ``theta`` (n, d), a regression vector per row. Nothing is communicated. With ``"gram"`` the
        state is empty, as only the lengths of the models' errors are drawn, and the loss of the
        zero model is NaN, as it is not independent of them.
    """
    began = time.perf_counter()
    check.choice("batches", batches, ("fixed", "gram"))
    truth, data, m = read_problem(problem, m, batches)
    data_rng, _, _ = streams(rng, "data", "participation", "start")
    if batches == "gram":
        require_gaussian("batches='gram'", truth)
        risks, losses = _simulate_local(truth, m, data_rng)
        metrics, state = {"loss": losses, "population_risk": risks}, {}
    else:
        data = truth.draw(m, rng=data_rng) if data is None else data
        theta = fit_heads(data, np.eye(data.d))
        metrics, state = {"loss": _losses(data, np.zeros_like(theta), theta)}, {"theta": theta}
        if truth is not None:
            risks = [0.5 * np.mean(np.sum((t - truth.theta) ** 2, axis=1)) for t in (0.0, theta)]
            metrics["population_risk"] = np.array(risks)
    metrics["floats_up"] = metrics["floats_down"] = np.zeros(2)
    return Trace(
        algorithm="local only",
        metrics=metrics,
        state=state,
        settings={"problem": repr(problem), "m": m, "batches": batches},
        wall_time=time.perf_counter() - began,
    )


def _simulate_local(truth, m, rng):
    """Draw training losses and population risks of the zero models and of the fitted ones.

    docs/gram.md derives the law.
    """
    n, d = truth.n, truth.d
    signal = np.sum(truth.W**2, axis=1)
    spread = truth.noise**2 * rng.chisquare(min(m, d), n) / rng.chisquare(abs(m - d) + 1, n)
    unseen = signal * rng.beta(0.5 * (d - m), 0.5 * m, n) if m < d else 0.0
    loss = truth.noise**2 * rng.chisquare(m - d, n).mean() / (2.0 * m) if m > d else 0.0
    risks = np.array([signal.mean(), np.mean(unseen + spread)]) / 2.0
    return risks, np.array([np.nan, loss])


def _losses(data, *models):
    losses = np.zeros(len(models))
    for i in range(data.n):
        X, y = data.client(i)
        for place, theta in enumerate(models):
            losses[place] += np.mean((X @ theta[i] - y) ** 2) / (2 * data.n)
    return losses
