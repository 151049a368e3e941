"""Regression with a bias per client: least squares, federated averaging, every client alone.

A client's bias is a linear function of its side information z, <theta_2, z>: with z = 1 one bias
for all, with basis vectors one for each.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from linrep._lib import memory
from linrep._lib import validation as check
from linrep._lib.arguments import checked
from linrep.algorithms.driver import each_way, run_rounds
from linrep.kernels import designs
from linrep.problems.biases import BiasedRegression
from linrep.problems.clients import ClientData
from linrep.problems.prediction import origin
from linrep.problems.random import streams
from linrep.trace import Trace, columns

Values = NDArray[np.float64]
SIDES = ("given", "one", "each")


def least_squares(data: ClientData, *, side="given") -> Trace:
    """Fit all clients at once, which minimizes the server's objective.

    Parameters
    ----------
    data
    side : {"given", "one", "each"} or array_like, shape (n, p)
        Side information: the truth's, none (one bias for all), a basis vector per client, or other.

    Returns
    -------
    Trace
        Of one row: ``loss``, the half mean squared residual, a mean over the clients, and
        ``excess_risk``, where the truth is known: the mean over the clients of
        :meth:`BiasedRegression.excess_risks`. State ``theta`` (d,), ``theta_2`` (p,), ``biases``
        (n,). Of all solutions the one of least norm.

    Notes
    -----
    PerFedSI, Appendix B: equation (8) with ``side="one"``, the display after it otherwise. Clients
    weigh the same, whatever their samples.
    """
    data, Z = _read(data, side)
    weight = np.repeat(1.0 / np.sqrt(np.diff(data.offsets)), np.diff(data.offsets))
    design = np.hstack([data.X, np.repeat(Z, np.diff(data.offsets), axis=0)])
    solution = np.linalg.lstsq(weight[:, None] * design, weight * data.y, rcond=None)[0]
    return _at_once("least squares", data, Z, solution[: data.d], solution[data.d :])


def local_only(data: ClientData) -> Trace:
    """Fit every client alone: a regression vector and a bias each, of minimum norm.

    Parameters
    ----------
    data

    Returns
    -------
    Trace
        As of :func:`least_squares`; ``theta`` has shape (n, d), and ``theta_2`` is the biases.
    """
    data, _ = _read(data, "one")
    fits = []
    for first, last in zip(data.offsets[:-1], data.offsets[1:], strict=True):
        X = np.hstack([data.X[first:last], np.ones((last - first, 1))])
        fits.append(np.linalg.lstsq(X, data.y[first:last], rcond=None)[0])
    models = np.array(fits, dtype=np.float64)
    return _at_once("local only", data, np.eye(data.n), models[:, :-1], models[:, -1])


def fedavg(
    data: ClientData,
    *,
    side="given",
    step_size: float,
    rounds: int = 100,
    local_steps: int = 1,
    participation: float = 1.0,
    rng=None,
) -> Trace:
    r"""Run federated averaging on (theta, theta_2) from zero.

    Every participant takes `local_steps` gradient steps on its half mean squared residual in both;
    the server averages the results.

    Parameters
    ----------
    data, side
        As for :func:`least_squares`.
    step_size : float
        :math:`\eta`.
    rounds
    local_steps : int, default 1
        :math:`\tau`.
    participation : float, default 1
        Share of clients a round, rounded up.
    rng

    Returns
    -------
    Trace
        As for :func:`least_squares`, a row per round.

    Notes
    -----
    PerFedSI, Section 2, on the model of Appendix B. A client moves theta_2 along its z only, so
    that it steps on its bias <theta_2, z> instead, :math:`\|z\|^2` times as fast.
    """
    data, Z = _read(data, side)
    step_size = check.real("step_size", step_size, above=0.0)
    local_steps = check.local_steps(local_steps)
    participation = check.real("participation", participation, above=0.0, maximum=1.0)
    n, d, p = data.n, data.d, Z.shape[1]
    participants = int(np.ceil(participation * n))
    (rng,) = streams(rng, "participation")
    squares = np.sum(Z**2, axis=1)
    slopes = _slopes(data)
    speed = np.ones((n, d + 1))
    speed[:, -1] = squares
    order, schedule = np.arange(n), np.empty((1, participants), dtype=np.int64)
    along = np.divide(Z, squares[:, None], out=np.zeros_like(Z), where=squares[:, None] > 0.0)

    def step(state, _):
        theta, theta_2 = state
        designs.draw_participants(rng, order, schedule)
        some = schedule[0]
        begun = np.column_stack([np.tile(theta, (participants, 1)), Z[some] @ theta_2])
        local = begun.copy()
        for _ in range(local_steps):
            local -= step_size * speed[some] * slopes(some, local)
        moved = local - begun
        return theta + moved[:, :-1].mean(axis=0), theta_2 + moved[:, -1] @ along[some] / len(some)

    return run_rounds(
        step,
        (np.zeros(d), np.zeros(p)),
        rounds=rounds,
        measure=lambda state: _measure(data, state[0], Z @ state[1]),
        algorithm="FedAvg",
        final=lambda state: _state(Z, *state),
        settings={
            "problem": repr(data.truth), "side": side if isinstance(side, str) else "other",
            "rounds": rounds, "local_steps": local_steps, "participants": participants,
            "step_size": step_size,
        },
        sent=each_way(participants * (d + p)),
        problem=data,
    )  # fmt: skip


def _read(data, side):
    """Return the data, and the side information (n, p)."""
    if not isinstance(side, str):
        return data, check.array("side", side, (data.n, None))
    check.choice("side", side, SIDES)
    if side == "given":
        if not isinstance(data.truth, BiasedRegression):
            raise ValueError("side must be 'one', 'each' or an array for data without a truth")
        return data, data.truth.Z
    return data, np.ones((data.n, 1)) if side == "one" else np.eye(data.n)


def _slopes(data):
    """Return a function of clients and their models (x and bias) that gives their gradients."""
    if data.n * data.d**2 > max(memory.DENSE, data.X.size):
        return lambda some, models: np.array(
            [_slope(data.client(i), model) for i, model in zip(some, models, strict=True)]
        )
    moments, products = _moments(data)
    return lambda some, models: np.einsum("iab,ib->ia", moments[some], models) - products[some]


def _slope(samples, model):
    X, y = samples
    residual = (X @ model[:-1] + model[-1] - y) / len(y)
    return np.append(residual @ X, residual.sum())


def _moments(data):
    """Return every client's second moments of (x, 1), (n, d + 1, d + 1), and with its labels."""
    moments, products = np.empty((data.n, data.d + 1, data.d + 1)), np.empty((data.n, data.d + 1))
    for i, (first, last) in enumerate(zip(data.offsets[:-1], data.offsets[1:], strict=True)):
        X = np.hstack([data.X[first:last], np.ones((last - first, 1))])
        moments[i], products[i] = X.T @ X / len(X), X.T @ data.y[first:last] / len(X)
    return moments, products


def _at_once(name, data, Z, theta, theta_2) -> Trace:
    row = _measure(data, theta, Z @ theta_2)
    return Trace(
        algorithm=name,
        metrics=columns([row]),
        state=_state(Z, theta, theta_2),
        settings={"problem": repr(data.truth)},
        **origin(data),
    )


def _state(Z, theta, theta_2) -> dict[str, Values]:
    return {"theta": theta, "theta_2": theta_2, "biases": Z @ theta_2}


def _measure(data, theta, biases):
    """Return a row of metrics."""
    sizes = np.diff(data.offsets)
    owner = np.repeat(np.arange(data.n), sizes)
    vectors = theta if theta.ndim == 1 else theta[owner]
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows ends the run
        residual = np.sum(data.X * vectors, axis=1) + biases[owner] - data.y
        row = {"loss": float(0.5 * np.mean(np.bincount(owner, residual**2) / sizes))}
        if isinstance(data.truth, BiasedRegression) and np.isfinite(row["loss"]):
            row["excess_risk"] = float(np.mean(data.truth.excess_risks(theta, biases)))
    return row


checked(globals(), units=False)
