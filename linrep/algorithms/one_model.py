"""One model for all clients: FedSGD and FedAvg on a shared representation and a shared head."""

from __future__ import annotations

import numpy as np

from linrep import _validation as check
from linrep.algorithms._setup import prepare
from linrep.algorithms.trace import Trace, run_rounds
from linrep.kernels import designs
from linrep.kernels.linalg import orthonormalize
from linrep.kernels.one_model import one_model_round
from linrep.kernels.rounds import DISTANCE, HEAD_ERROR, POPULATION_RISK, measure
from linrep.problems.regression import SharedRepresentation


def fedavg(
    problem,
    *,
    m=None,
    k: int | None = None,
    rounds: int = 100,
    batches: str | None = None,
    start="moments",
    participation: float = 1.0,
    local_steps: int = 1,
    step_size: float,
    rng=None,
) -> Trace:
    r"""Run FedAvg on a single model: all clients share the representation B and the head w.

    Each round, every participating client starts from (B, w), takes `local_steps` gradient steps
    on :math:`\frac1{2m_i}\|y_i - X_i B w\|^2` in both at once, and the server averages the results.

    Parameters
    ----------
    problem, m, k, rounds, participation, rng
        As in :func:`fedrep`.
    batches : {"fresh", "fixed"}, optional
        As in :func:`fedrep`; a fresh batch serves all local steps of a round.
    start : {"moments", "random", "projected_gradient"}, ndarray (d, k), or pair (B, W)
        As in :func:`fedrep`; the shared head starts at the mean of the starting heads.
    local_steps : int, default 1
        Gradient steps per client and round; 1 is FedSGD.
    step_size : float
        Step size, for B and w alike.

    Returns
    -------
    Trace
        State ``B`` (d, k), ``w`` (k,), and ``W`` (n, k) with every row equal to w.

    Raises
    ------
    ValueError, TypeError
        If an argument is out of range or does not fit the others.

    Notes
    -----
    The one-model baseline of FedRep, equation (5) and Section 5.1. B is not orthonormalized;
    distances are to its span.
    """
    rounds = check.integer("rounds", rounds, minimum=0)
    if batches is None:
        batches = "fresh" if isinstance(problem, SharedRepresentation) else "fixed"
    check.choice("batches", batches, ("fixed", "fresh"))
    local_steps = check.integer("local_steps", local_steps, minimum=1)
    step_size = check.real("step_size", step_size, above=0.0)
    setup = prepare(
        problem, m=m, k=k, batches=batches, start=start, participation=participation, rng=rng
    )
    truth, n, d, k = setup.truth, setup.n, setup.d, setup.k
    order = np.arange(n)
    schedule = np.empty((1, setup.participants), dtype=np.int64)
    sumT, head_sum, localT, local = np.empty((k, d)), np.empty(k), np.empty((k, d)), np.empty(k)
    work = np.empty(2 * d + setup.largest)

    def step(state, _):
        designs.draw_participants(setup.participation_rng, order, schedule)
        data, participants = setup.data, schedule[0]
        if data is None:
            data = setup.source.draw(setup.largest, rng=setup.data_rng, clients=participants)
            participants = np.arange(setup.participants)
        loss = one_model_round(
            data.X, data.y, data.offsets, participants, state["BT"], state["w"], step_size,
            local_steps, sumT, head_sum, localT, local, work,
        )  # fmt: skip
        return {
            "BT": sumT / setup.participants,
            "w": head_sum / setup.participants,
            "loss": loss,
        }

    start_state = {
        "BT": np.ascontiguousarray(setup.B.T),
        "w": setup.W.mean(axis=0),
        "loss": np.nan,
    }
    trace = run_rounds(
        step,
        start_state,
        rounds=rounds,
        measure=_one_model_metrics(truth, n),
        algorithm="FedSGD" if local_steps == 1 else "FedAvg",
        final=lambda state: {
            "B": state["BT"].T.copy(),
            "w": state["w"],
            "W": np.tile(state["w"], (n, 1)),
        },
        settings={
            "problem": repr(problem),
            "m": m,
            "k": k,
            "rounds": rounds,
            "batches": batches,
            "start": setup.start,
            "participation": participation,
            "participants": setup.participants,
            "local_steps": local_steps,
            "step_size": step_size,
        },
    )
    trace.metrics |= setup.floats(trace.rounds, (d + 1) * k)
    return trace


def fedsgd(problem, *, step_size: float, **settings) -> Trace:
    """Run FedSGD on a single model (B, w): :func:`fedavg` with one local step.

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


def _one_model_metrics(truth, n):
    names = ("loss",) if truth is None else ("distance", "loss", "head_error", "population_risk")
    if truth is not None:
        truthT = np.ascontiguousarray(truth.B.T)
        k, d = truthT.shape
        moment = truth.W.T @ truth.W / n
        scratch = [np.empty((k, d)), np.empty((k, d)), *(np.empty((k, k)) for _ in range(3))]
        row = np.empty(4)

    def metrics(state):
        BT, w = state["BT"], state["w"]
        finite = np.isfinite(BT).all() and np.isfinite(w).all()
        if not finite or not orthonormalize(BT.copy()) > BT.shape[1] * np.finfo(np.float64).eps:
            return dict.fromkeys(names, np.nan)
        if truth is None:
            return {"loss": state["loss"]}
        measure(BT, np.tile(w, (n, 1)), truthT, truth.W, moment, False, *scratch, row)
        return {
            "distance": row[DISTANCE],
            "loss": state["loss"],
            "head_error": row[HEAD_ERROR],
            "population_risk": row[POPULATION_RISK],
        }

    return metrics
