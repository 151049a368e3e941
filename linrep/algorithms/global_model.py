"""One model for all clients: FedSGD and FedAvg on a shared representation and a shared head."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linrep import _validation as check
from linrep._clock import Stopwatch
from linrep.algorithms._schedule import Schedule
from linrep.algorithms._setup import Setup, prepare
from linrep.algorithms.gram import coordinates, embed, require_gaussian
from linrep.driver import Method, drive
from linrep.kernels import global_model as kernel
from linrep.kernels.fedrep import Samples
from linrep.kernels.linalg import orthonormalize
from linrep.kernels.rounds import (
    COMPLETED,
    DISTANCE,
    HEAD_ERROR,
    POPULATION_RISK,
    measure,
    truth_of,
    workspace,
)
from linrep.problems.clients import ClientData
from linrep.problems.regression import ImplicitRepresentation, SharedRepresentation
from linrep.random import RNGLike
from linrep.trace import Trace, read_rounds


def fedavg(
    problem: SharedRepresentation | ClientData,
    *,
    m: int | ArrayLike | None = None,
    k: int | None = None,
    rounds: int = 100,
    batches: str | None = None,
    start: str | float | ArrayLike | tuple[ArrayLike, ArrayLike] | Trace = "moments",
    participation: float = 1.0,
    local_steps: int = 1,
    step_size: float,
    record: int | ArrayLike = 1,
    rng: RNGLike = None,
) -> Trace:
    r"""Run FedAvg on a global model: all clients share the representation B and the head w.

    Each round, every participating client starts from (B, w), takes `local_steps` gradient steps
    on :math:`\frac1{2m_i}\|y_i - X_i B w\|^2` in both at once, and the server averages the results.

    Parameters
    ----------
    problem, m, k, rounds, participation, record, rng
        As in :func:`fedrep`.
    batches : {"fresh", "fixed", "gram"}, optional
        As in :func:`fedrep`; a fresh batch serves all local steps of a round, and ``"gram"`` takes
        one local step only.
    start : {"moments", "random", "projected_gradient"}, float, ndarray (d, k), (B, W) or Trace
        As in :func:`fedrep`; the shared head starts at the mean of the starting heads.
    local_steps : int, default 1
        Gradient steps per client and round; 1 is FedSGD.
    step_size : float
        Step size, for B and w alike.

    Returns
    -------
    Trace
        State ``B`` (d, k), ``w`` (k,), and ``W`` (n, k) with every row equal to w; with simulated
        batches also the coordinates of B against B* (:func:`fedrep` has those of B* against B):
        ``D`` = B*' B (k, k), and ``E`` (p, k) outside of B*, so that E' E = B' B - D' D.

    Raises
    ------
    ValueError, TypeError
        If an argument is out of range or does not fit the others.

    Notes
    -----
    The baseline of FedRep with a global model, equation (5) and Section 5.1. B is not
    orthonormalized; distances are to its span.
    """
    watch = Stopwatch()
    rounds = read_rounds(rounds, record)
    if batches is None:
        batches = "fresh" if isinstance(problem, SharedRepresentation) else "fixed"
    check.choice("batches", batches, ("fixed", "fresh", "gram"))
    local_steps = check.local_steps(local_steps)
    step_size = check.real("step_size", step_size, above=0.0)
    setup = prepare(
        problem, m=m, k=k, batches=batches, start=start, participation=participation, rng=rng
    )
    prepare_rounds = _simulated if batches == "gram" else _sampled
    return drive(
        _GlobalModel(setup, *prepare_rounds(setup, step_size, local_steps), ahead=min(rounds, 100)),
        algorithm="FedSGD" if local_steps == 1 else "FedAvg",
        rounds=rounds,
        record=record,
        settings={
            "problem": repr(problem),
            "m": m,
            "k": setup.k,
            "rounds": rounds,
            "batches": batches,
            "start": setup.start,
            "participation": participation,
            "participants": setup.participants,
            "local_steps": local_steps,
            "step_size": step_size,
        },
        watch=watch,
        sent=lambda recorded: setup.floats(recorded, (setup.d + 1) * setup.k),
        judged=True,
        problem=problem,
        start=start,
        rngs=setup.rngs,
    )


class _GlobalModel(Method):
    """Rounds on a global model; see :class:`linrep.driver.Method`."""

    most = 1
    saved_before_run = True

    def __init__(self, setup: Setup, B, truth, update, state_of, *, ahead):
        self._setup, self._update, self._state_of = setup, update, state_of
        self._BT, self._w = np.ascontiguousarray(B.T), setup.W.mean(axis=0)
        self._loss, self._done = np.nan, 0
        self._metrics = _metrics(truth, setup.n)
        self._schedule = Schedule(setup.participation_rng, setup.n, setup.participants, ahead)

    @property
    def state(self):
        shared = {"w": self._w, "W": np.tile(self._w, (self._setup.n, 1))}
        return self._state_of(self._BT.T.copy()) | shared

    def run(self, rounds):
        participants = self._schedule.next(1)[0]
        self._BT, self._w, self._loss = self._update(self._BT, self._w, participants)
        self._done += 1
        return 1, COMPLETED

    def measure(self):
        """Return a row of metrics, None where they are not finite."""
        row = self._metrics(self._BT, self._w, self._loss)
        return None if self._done and not np.isfinite(list(row.values())).all() else row

    def save(self):
        state = self._setup.data_rng.bit_generator.state  # a round makes new arrays
        return self._BT, self._w, self._loss, self._schedule.save(), state

    def restore(self, saved):
        self._BT, self._w, self._loss, schedule, state = saved
        self._schedule.restore(schedule)
        self._setup.data_rng.bit_generator.state = state


def fedsgd(
    problem: SharedRepresentation | ClientData, *, step_size: float, **settings: Any
) -> Trace:
    """Run FedSGD on a global model (B, w): :func:`fedavg` with one local step.

    Parameters
    ----------
    problem, step_size, **settings
        As in :func:`fedavg`, without `local_steps`.

    Returns
    -------
    Trace
    """
    if "local_steps" in settings:
        raise TypeError("fedsgd takes one local step; use fedavg for more")
    return fedavg(problem, step_size=step_size, local_steps=1, **settings)


def _sampled(setup: Setup, step_size, local_steps):
    """Return the start, the truth it is measured by, a round, and what the trace keeps of a B."""
    work = kernel.workspace(setup.k, setup.d, setup.largest)

    def update(BT, w, participants):
        data = setup.data
        if data is None:
            data = setup.source.draw(setup.largest, rng=setup.data_rng, clients=participants)
            participants = np.arange(setup.participants)
        loss = kernel.global_model_round(
            Samples(data.X, data.y, data.offsets), participants, BT, w, step_size, local_steps, work
        )
        return work.sumT / setup.participants, work.head_sum / setup.participants, loss

    return setup.B, setup.truth, update, lambda B: {"B": B}


def _simulated(setup: Setup, step_size, local_steps):
    """Return what _sampled does, in coordinates: B = B* D + N E is D over E, and B* is I over 0.

    The sum over clients of X' (X B w - y) is drawn in coordinates of B* and N, and in length
    outside of these. docs/gram.md derives it.
    """
    source, rng, m, k = setup.source, setup.data_rng, setup.largest, setup.k
    require_gaussian("batches='gram'", source)
    if local_steps > 1:
        raise ValueError(
            f"batches='gram' needs local_steps=1, got {local_steps}: each further step adds a "
            "direction X'X X'r per client"
        )
    implicit = isinstance(source, ImplicitRepresentation)
    start = setup.B if implicit else np.vstack(coordinates(source.B, setup.B))
    size = len(start)
    others = setup.d - size
    weight = 1.0 / (m * setup.participants)

    @np.errstate(over="ignore", invalid="ignore")  # the metrics tell when a run diverges
    def update(BT, w, participants):
        lack = np.tile(w @ BT, (len(participants), 1))
        lack[:, :k] -= source.W[participants]
        square = source.noise**2 + np.sum(lack**2, axis=1)
        s = np.sqrt(square)
        along = rng.chisquare(m, len(s))
        normal = rng.standard_normal(lack.shape)
        length = np.sqrt(square * along)
        shrink = np.zeros_like(s)
        np.divide(np.sum(lack * normal, axis=1), s * (s + source.noise), out=shrink, where=s > 0.0)
        total = np.sum(length**2)
        gradient = weight * ((along - length * shrink) @ lack + length @ normal)
        following = BT - step_size * np.outer(w, gradient)
        if others > 0:
            outside = weight * np.sqrt(rng.chisquare(others) * total)
            rows = np.vstack([following[:, k:].T, -step_size * outside * w])
            following[:, k:] = np.linalg.qr(rows)[1].T
        return following, w - step_size * (BT @ gradient), 0.5 * weight * total

    def state_of(B):
        state = {"D": B[:k], "E": B[k:]}
        return state if implicit else state | {"B": embed(source, B[:k], B[k:], rng)}

    return start, SharedRepresentation(np.eye(size, k), source.W), update, state_of


def _metrics(truth, n):
    names = ("loss",) if truth is None else ("distance", "loss", "head_error", "population_risk")
    if truth is not None:
        d, k = truth.B.shape
        known, work, row = truth_of(truth.B, truth.W), workspace(k, d, 1, 1), np.empty(4)

    def metrics(BT, w, loss):
        finite = np.isfinite(BT).all() and np.isfinite(w).all()
        if not finite or not orthonormalize(BT.copy()) > BT.shape[1] * np.finfo(np.float64).eps:
            return dict.fromkeys(names, np.nan)
        if truth is None:
            return {"loss": loss}
        measure(BT, np.tile(w, (n, 1)), known, False, work, row)
        return {
            "distance": row[DISTANCE],
            "loss": loss,
            "head_error": row[HEAD_ERROR],
            "population_risk": row[POPULATION_RISK],
        }

    return metrics
