"""Alternating minimization for low-rank regression: exact heads, then the exact representation."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.sparse.linalg import LinearOperator, lsqr

from linrep._lib import memory
from linrep._lib import validation as check
from linrep._lib.arguments import checked
from linrep.algorithms._compression import compressed
from linrep.algorithms._setup import start_name
from linrep.algorithms.driver import run_rounds
from linrep.algorithms.errors import representation_errors
from linrep.algorithms.local import fit_heads
from linrep.algorithms.registry import algorithm
from linrep.algorithms.ridges import read_penalty
from linrep.algorithms.starts import moments_start, random_start
from linrep.problems.clients import ClientData
from linrep.problems.random import RNGLike
from linrep.problems.regression import SharedRepresentation
from linrep.trace import Trace

__all__ = ["alternating_least_squares"]

STARTS = ("moments", "random")
_DENSE = 512  # entries of B up to which the system for them is written out
_PIVOTS = 1e-7  # smallest over largest pivot above which a Cholesky factor is used
_ROUNDING = 1e-13  # of the residual, to which the system is solved otherwise


@algorithm("regression")
def alternating_least_squares(
    data: ClientData,
    *,
    k: int,
    ridge: ArrayLike = 0.0,
    rounds: int = 100,
    tolerance: float = 1e-8,
    start: str | ArrayLike = "moments",
    record: int | ArrayLike = 1,
    rng: RNGLike = None,
) -> Trace:
    r"""Minimize the loss at rank k alternately in the heads and the representation, both exactly.

    .. math:: \min_{B, W} \frac1n \sum_i \frac1{2m_i}
              \big(\|y_i - X_i B w_i\|^2 + \mu_i \|B w_i\|^2\big)

    What FedRep's rounds descend on, where the penalty is 0; with k = min(n, d) it is :func:`ridge`.

    Parameters
    ----------
    data, k
    ridge : float or array_like, shape (n,), default 0
        mu of all clients, or of each, as in :func:`fit_heads`: B has orthonormal columns.
    rounds : int, default 100
        At most so many; each minimizes first in B, then in the heads.
    tolerance : float, default 1e-8
        Stop as ``converged`` once a round takes no more than this share off the objective.
    start : {"moments", "random"} or array_like, shape (d, k)
        Representation, whose columns need not be orthonormal; see :func:`moments_start`.
    record, rng

    Returns
    -------
    Trace
        State ``B`` (d, k) with orthonormal columns and ``W`` (n, k), the heads fitted on it.
        Metrics ``loss``, without the penalty, and ``objective``, with it, which never increases;
        with a truth of rank k also ``distance`` and ``population_risk``.

    Notes
    -----
    Jain, Netrapalli and Sanghavi, *Low-rank matrix completion using alternating minimization*,
    2013, on samples of a regression. The system for B has d k unknowns: it is written out up to 512
    of them, and solved by LSQR above, at a cost of O(N d + N k) a step for N samples. Where it is
    singular, B changes as little as possible.
    """
    n, d = data.n, data.d
    k = check.rank(k, n, d)
    tolerance = check.real("tolerance", tolerance, minimum=0.0)
    penalties = read_penalty("ridge", ridge, n)
    if isinstance(start, str):
        check.choice("start", start, STARTS)
        B = moments_start(data, k) if start == "moments" else random_start(n, d, k, rng)[0]
    else:
        B = check.array("start", start, (d, k))
    rows = compressed(data, 4.0 * d * k * rounds)
    penalties = penalties * rows.m / data.m
    system = _System(rows, penalties)
    truth = data.truth
    known = truth if isinstance(truth, SharedRepresentation) and truth.k == k else None

    def fitted(B, before):
        B = np.ascontiguousarray(np.linalg.qr(B)[0])
        W = fit_heads(rows, B, ridge=penalties)
        loss, objective = system.values(B, W)
        return {"B": B, "W": W, "loss": loss, "objective": objective, "before": before}

    def step(state, _):
        # Heads with orthonormal columns, so that no column of B is out of their reach.
        heads, factor = np.linalg.qr(state["W"])
        B = state["B"] @ factor.T
        after = fitted(B + system.step(B, heads), state["objective"])
        # The exact step does not increase the objective; rounding errors in it may.
        return after if after["objective"] <= after["before"] else state | {"before": None}

    def stop(row):
        return row["share"] <= tolerance

    def measure(state):
        objective, before = state["objective"], state["before"]
        share = 1.0 if before is np.inf else 0.0
        if before not in (None, np.inf) and before > 0.0:
            share = (before - objective) / before
        row = {"loss": state["loss"], "objective": objective, "share": share}
        return row | representation_errors(state["B"], state["W"], known)

    trace = run_rounds(
        step, fitted(B, np.inf), rounds=rounds, measure=measure, stop=stop, record=record,
        algorithm="alternating least squares",
        final=lambda state: {"B": state["B"], "W": state["W"]},
        settings={
            "problem": repr(data), "k": k, "ridge": ridge, "rounds": rounds,
            "tolerance": tolerance, "start": start_name(start), "factored": rows is not data,
        },
        problem=data,
    )  # fmt: skip
    del trace.metrics["share"]
    return trace


class _System:
    """The least-squares problem for B: rows x_ij (x) w_i, over the square root of m_i."""

    def __init__(self, data: ClientData, penalties: NDArray[np.float64]):
        self._data = data
        self._client = np.repeat(np.arange(data.n), data.m)
        self._weights = 1.0 / data.m
        self._penalties = penalties / data.m
        self._moments: NDArray[np.float64] | None = None

    def residuals(self, B, W):
        """Return the samples' residuals (N,)."""
        return np.einsum("sk,sk->s", self._data.X @ B, W[self._client]) - self._data.y

    def values(self, B, W) -> tuple[float, float]:
        """Return the loss, and the objective, which has the penalty, too."""
        weights, n = self._weights[self._client], self._data.n
        loss = float(weights @ self.residuals(B, W) ** 2) / (2 * n)
        return loss, loss + float(self._penalties @ np.sum((W @ B.T) ** 2, axis=1)) / (2 * n)

    def step(self, B, W) -> NDArray[np.float64]:
        """Return by how much B (d, k) changes to the minimizer for these heads."""
        d, k = B.shape
        if d * k <= _DENSE and self._data.n * d * d <= memory.DENSE:
            return self._dense(B, W)
        return self._iterated(B, W)

    def _dense(self, B, W):
        (d, k), n = B.shape, self._data.n
        if self._moments is None:
            clients = map(self._data.client, range(n))
            self._moments = np.array([X.T @ X / len(X) for X, _ in clients])
            self._moments += self._penalties[:, None, None] * np.eye(d)
        weighted = self._weights[self._client] * self.residuals(B, W)
        slope = (self._data.X * weighted[:, None]).T @ W[self._client]
        slope += B @ ((W * self._penalties[:, None]).T @ W)
        squares = np.einsum("ia,ib->iab", W, W).reshape(n, k * k)
        H = (self._moments.reshape(n, d * d).T @ squares).reshape(d, d, k, k)
        H = H.transpose(0, 2, 1, 3).reshape(d * k, d * k)
        return -_solve(H, slope.ravel()).reshape(d, k)

    def _iterated(self, B, W):
        (d, k), X = B.shape, self._data.X
        heads = W[self._client] * np.sqrt(self._weights[self._client])[:, None]
        shrunk = W * np.sqrt(self._penalties)[:, None]
        penalized = bool(self._penalties.any())

        def forward(entries):
            B = entries.reshape(d, k)
            fitted = np.einsum("sk,sk->s", X @ B, heads)
            return np.concatenate([fitted, (shrunk @ B.T).ravel()]) if penalized else fitted

        def back(values):
            slope = X.T @ (heads * values[: len(X), None])
            if penalized:
                slope += values[len(X) :].reshape(-1, d).T @ shrunk
            return slope.ravel()

        rows = len(X) + (shrunk.shape[0] * d if penalized else 0)
        operator = LinearOperator((rows, d * k), matvec=forward, rmatvec=back, dtype=float)
        missing = -np.sqrt(self._weights[self._client]) * self.residuals(B, W)
        if penalized:
            missing = np.concatenate([missing, -(shrunk @ B.T).ravel()])
        settings: dict[str, Any] = {"atol": _ROUNDING, "btol": _ROUNDING}
        return lsqr(operator, missing, **settings, iter_lim=2 * d * k)[0].reshape(d, k)


def _solve(H, slope):
    """Return the solution of least norm of a positive semidefinite system."""
    try:
        factor = cho_factor(H)
        pivots = np.diag(factor[0])
        if pivots.min() > _PIVOTS * pivots.max():
            return cho_solve(factor, slope)
    except LinAlgError:
        pass
    return np.linalg.lstsq(H, slope, rcond=None)[0]


checked(globals(), units=False)
