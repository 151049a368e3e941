"""Work a client can do alone: its own model, or a head on a representation others learned."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linrep._lib import memory
from linrep._lib import validation as check
from linrep._lib.arguments import checked
from linrep._lib.clock import Stopwatch
from linrep.algorithms._setup import BATCHES, read_problem
from linrep.algorithms.fedrep.gram import coordinates, require_gaussian
from linrep.algorithms.registry import algorithm
from linrep.algorithms.ridges import read_penalty
from linrep.kernels.fedrep import fit_heads as fit_heads_kernel
from linrep.kernels.linalg import RANK_TOLERANCE
from linrep.kernels.rounds import workspace
from linrep.problems.clients import ClientData
from linrep.problems.prediction import origin
from linrep.problems.random import RNGLike, stream, streams
from linrep.problems.regression import ImplicitRepresentation, SharedRepresentation
from linrep.trace import Trace

__all__ = ["fit_heads", "fit_new_clients", "local_only", "simulate_heads"]

#: Dimensions above which LAPACK, client by client, fits fewer samples than that sooner than the
#: kernel, which multiplies them by B = I.
_WIDE = 256
#: Norm of X B, over those of X and B, below which columns of X B that are rounding may be taken for
#: what they are not, if the largest of these columns is all that they are compared with.
_SMALL = 1e-2


def fit_heads(data: ClientData, B: ArrayLike, *, ridge: ArrayLike = 0.0) -> NDArray[np.float64]:
    """Fit every client's head by least squares, or ridge regression, on a frozen representation.

    Parameters
    ----------
    data
    B : array_like, shape (d, k)
        Representation; need not be orthonormal.
    ridge : float or array_like, shape (n,), default 0
        Penalty of all heads, or of each; :func:`ridge_penalty` finds one. As it stands beside a sum
        over samples, a client with more of them is shrunk less.

    Returns
    -------
    ndarray, shape (n, k)
        Row i minimizes ||y_i - X_i B w||^2 + ridge ||w||^2, with minimum norm where that is not
        unique: singular values of X_i B below 1e-13 times the largest count as 0, and so do those
        below 1e-13 times the norms of X_i and B, which are rounding.

    Notes
    -----
    FedRep, Section 5.1, "Generalization to new clients". A single new client is
    ``fit_heads(ClientData.from_list([(X, y)]), B)[0]``.
    """
    B = check.array("B", B, (data.d, None))
    k = B.shape[1]
    X, y, offsets = data.X, data.y, data.offsets
    penalties = read_penalty("ridge", ridge, data.n)
    if penalties.any():
        X, y, offsets = _with_rows(data, B, penalties)
        B = np.eye(k)
    W = np.zeros((data.n, k))
    work = workspace(k, len(B), int(np.diff(offsets).max()), 1)
    fit_heads_kernel(X, y, offsets, np.ascontiguousarray(B.T), W, work)
    Z, firsts = X @ B, offsets[:-1]
    with np.errstate(over="ignore"):
        length = np.linalg.norm(B)
    norms = np.sqrt(np.add.reduceat(np.einsum("sd,sd->s", X, X), firsts)) * length
    small = np.sqrt(np.add.reduceat(np.einsum("sk,sk->s", Z, Z), firsts)) < _SMALL * norms
    for i in np.flatnonzero(small):
        rows = slice(offsets[i], offsets[i + 1])
        U, values, VT = np.linalg.svd(Z[rows], full_matrices=False)
        kept = values > RANK_TOLERANCE * max(norms[i], values[0])
        if not kept.all():
            W[i] = ((U.T @ y[rows])[kept] / values[kept]) @ VT[kept]
    return W


def _with_rows(data, B, penalties):
    """Return what least squares with a ridge is least squares of: X B over root(penalty) I."""
    k, n = B.shape[1], data.n
    offsets = data.offsets + k * np.arange(n + 1)
    samples = np.arange(len(data.y)) + k * np.repeat(np.arange(n), data.m)
    X, y = np.zeros((offsets[-1], k)), np.zeros(offsets[-1])
    X[samples], y[samples] = data.X @ B, data.y
    rows = offsets[1:, None] - k + np.arange(k)
    X[rows] = np.sqrt(penalties)[:, None, None] * np.eye(k)
    return X, y, offsets


def fit_models(data: ClientData) -> NDArray[np.float64]:
    """Fit every client's model (d,) by least squares, of minimum norm where it is not unique."""
    wide = data.d > _WIDE and data.m.max() < data.d
    if not wide and data.d**2 <= memory.DENSE:
        return fit_heads(data, np.eye(data.d))
    clients = map(data.client, range(data.n))
    return np.array([np.linalg.lstsq(X, y, RANK_TOLERANCE)[0] for X, y in clients])


def simulate_heads(
    truth: SharedRepresentation,
    B: ArrayLike | tuple[ArrayLike, ArrayLike],
    m: int,
    *,
    rng: RNGLike = None,
) -> NDArray[np.float64]:
    r"""Draw the heads that clients would fit on a frozen representation, without their samples.

    Parameters
    ----------
    truth : SharedRepresentation
        Of a Gaussian design; its clients are those that fit. For new clients,
        ``truth.with_heads(W)``.
    B : array_like, shape (d, k), or pair (C, Phi)
        Representation, orthonormal columns; or its coordinates, C = B' B* and Phi with Phi' Phi =
        I - C' C, as in the state of a run with simulated batches.
    m : int
        Samples per client.
    rng

    Returns
    -------
    ndarray, shape (n, k)
        Heads of the same law as those of ``fit_heads(truth.draw(m), B)``, in time and memory free
        of m and d.

    Raises
    ------
    ValueError, TypeError
        If the design is not Gaussian, `B` has no orthonormal columns, or an argument is out of
        range.

    Notes
    -----
    With :math:`s^2 = \|\Phi w^*\|^2 + \sigma^2` and a standard normal t in R^k, the head is
    :math:`C w^* + s\, t / \chi_{|m - k| + 1}`, projected for m < k on a random subspace of m
    dimensions; see the documentation on simulated batches.

    Examples
    --------
    >>> import numpy as np
    >>> import linrep as lr
    >>> truth = lr.SharedRepresentation.random(n=50, d=10**6, k=3, store=False, rng=0)
    >>> trace = lr.fedrep(truth, m=10**5, rounds=50, batches="gram", start=0.5, rng=1)
    >>> new = truth.with_heads(np.random.default_rng(2).standard_normal((20, 3)))
    >>> lr.simulate_heads(new, (trace.state["C"], trace.state["Phi"]), m=10, rng=3).shape
    (20, 3)
    """
    require_gaussian("simulate_heads", truth)
    C, Phi = _read_frame(truth, B)
    m = check.count("m", m, most=check.WHOLE)
    rng = stream(rng, "data")
    k = len(C)
    s = np.sqrt(np.sum((truth.W @ Phi.T) ** 2, axis=1) + truth.noise**2)
    spread = s / np.sqrt(rng.chisquare(abs(m - k) + 1, truth.n))
    W = truth.W @ C.T + spread[:, None] * rng.standard_normal((truth.n, k))
    if m < k:
        Q = np.linalg.qr(rng.standard_normal((truth.n, k, m)))[0]
        W = (Q @ (Q.transpose(0, 2, 1) @ W[:, :, None]))[:, :, 0]
    return W


def _read_frame(truth, B):
    """Return C and Phi of a frame, or of a pair."""
    if isinstance(B, tuple):
        if len(B) != 2:
            raise ValueError(f"B must be a matrix or a pair (C, Phi), got a tuple of {len(B)}")
        C = check.array("C", B[0], (None, truth.k))
        Phi = B[1] if np.shape(B[1]) == (0, truth.k) else check.array("Phi", B[1], (None, truth.k))
        if np.abs(C.T @ C + Phi.T @ Phi - np.eye(truth.k)).max() > 1e-8:
            raise ValueError("C and Phi must be coordinates of frames: C' C + Phi' Phi = I")
        return C, Phi
    if isinstance(truth, ImplicitRepresentation):
        raise ValueError("B must be a pair (C, Phi) for a truth that stores no B*")
    B = check.array("B", B, (truth.d, None))
    if np.abs(B).max() > 2.0 or np.abs(B.T @ B - np.eye(B.shape[1])).max() > 1e-8:
        raise ValueError("B must have orthonormal columns; see linrep.subspace.orthonormalize")
    return coordinates(B, truth.B)


@algorithm("regression")
def local_only(
    problem: SharedRepresentation | ClientData,
    *,
    m: int | ArrayLike | None = None,
    batches: str = "fixed",
    rng: RNGLike = None,
) -> Trace:
    """Fit every client's own d-dimensional model by least squares, without collaboration.

    Parameters
    ----------
    problem : SharedRepresentation or ClientData
        A ground truth to draw from, or samples.
    m
    batches : {"fixed", "fresh", "split", "gram", "gram_split"}, default "fixed"
        As in :func:`fedrep`, beside which this runs in sweeps; a client alone sees one batch. With
        the last two nothing is fitted: loss and risk are drawn from the law that they have with
        samples of a Gaussian design, in time and memory free of m and d.
    rng

    Returns
    -------
    Trace
        One round: row 0 is the zero model, row 1 the minimum-norm least-squares one. State
        ``theta`` (n, d), a regression vector per row. Nothing is communicated. Simulated, the
        state is empty, as only the lengths of the models' errors are drawn, and the loss of the
        zero model is NaN, as it is not independent of them.
    """
    watch = Stopwatch()
    check.choice("batches", batches, BATCHES)
    truth, data, m = read_problem(problem, m, batches)
    data_rng, _, _ = streams(rng, "data", "participation", "start")
    if batches.startswith("gram"):
        require_gaussian(f"batches={batches!r}", truth)
        risks, losses = _simulate_local(truth, m, data_rng)
        metrics, state = {"loss": losses, "population_risk": risks}, {}
    else:
        data = truth.draw(m, rng=data_rng) if data is None else data
        theta = fit_models(data)
        metrics, state = model_metrics(data, theta), {"theta": theta}
    metrics["floats_up"] = metrics["floats_down"] = np.zeros(2)
    seen = np.sum(np.broadcast_to(np.asarray(m), problem.n)) if data is None else len(data.y)
    metrics["samples"] = np.array([0.0, seen])  # of one round, however they are drawn
    return Trace(
        algorithm="local only",
        metrics=metrics,
        state=state,
        settings={"problem": repr(problem), "m": m, "batches": batches},
        wall_time=watch.seconds(),
        **origin(data),
    )


def fit_new_clients(trace: Trace, data: ClientData, *, ridge: ArrayLike = 0.0) -> Trace:
    """Fit the heads of new clients on the representation that a run learned.

    Parameters
    ----------
    trace : Trace
        Of a method with a representation: its state has ``B``, or ``U`` of pFL^MF.
    data
    ridge : float or array_like, shape (n,), default 0
        Penalty of their heads, as of :func:`fit_heads`.

    Returns
    -------
    Trace
        Of one row, the clients' ``loss``; its state is ``B`` (d, k)
        and ``W`` (n, k), and its `predict` and `score` are for these clients.

    Raises
    ------
    ValueError, TypeError
        If the trace has no representation, or the data do not fit it.

    Notes
    -----
    FedRep, Section 5.1, "Generalization to new clients": :func:`fit_heads`, of minimum norm where
    a client has fewer samples than the representation has columns.

    Examples
    --------
    >>> import linrep as lr
    >>> truth = lr.SharedRepresentation.random(n=40, d=8, k=2, rng=0)
    >>> trace = lr.fedrep(truth.draw(30, rng=1), k=2, rounds=200)
    >>> new = truth.with_heads(-truth.W[:10])
    >>> bool(lr.fit_new_clients(trace, new.draw(5, rng=2)).score(new.draw(25, rng=3)) > 0.99)
    True
    """
    watch = Stopwatch()
    name = next((name for name in ("B", "U") if name in trace.state), None)
    if name is None:
        state = ", ".join(trace.state) or "nothing"
        raise ValueError(f"trace must have a representation, its state has {state}")
    check.same_columns("data", data.columns, trace.columns, "what the trace was learned from")
    B = trace.state[name]
    W = fit_heads(data, B, ridge=ridge)
    return Trace(
        algorithm=f"new clients of {trace.algorithm}",
        metrics={"loss": np.array([heads_loss(data, B, W)])},
        state={"B": B, "W": W},
        settings={"problem": repr(data), "learned by": trace.algorithm},
        wall_time=watch.seconds(),
        **origin(data),
    )


def heads_loss(data: ClientData, B: NDArray[np.float64], W: NDArray[np.float64]) -> float:
    """Return the mean over clients of (1/2m) ||y_i - X_i B w_i||^2."""
    residual = np.einsum("sk,sk->s", data.X @ B, np.repeat(W, data.m, axis=0)) - data.y
    losses = np.add.reduceat(residual**2, data.offsets[:-1]) / (2.0 * data.m)
    return float(losses.mean())


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


def model_metrics(data: ClientData, theta: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
    """Return loss and, with a truth, population risk of the zero models and of others (n, d)."""
    metrics = {"loss": _losses(data, np.zeros_like(theta), theta)}
    if data.truth is not None:  # of any kind: all it takes is the clients' models
        target = data.truth.theta
        risks = [0.5 * np.mean(np.sum((t - target) ** 2, axis=1)) for t in (0.0, theta)]
        metrics["population_risk"] = np.array(risks)
    return metrics


def _losses(data, *models):
    losses = np.zeros(len(models))
    for i in range(data.n):
        X, y = data.client(i)
        for row, theta in enumerate(models):
            losses[row] += np.mean((X @ theta[i] - y) ** 2) / (2 * data.n)
    return losses


checked(globals(), units=False)
