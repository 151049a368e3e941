"""Runs of the centralized solvers: where they begin, when they end, and what they return."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import nullcontext
from threading import current_thread, main_thread
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linrep._lib import validation as check
from linrep._lib.threads import one_thread
from linrep.algorithms import _imc_ridge as ridges
from linrep.algorithms._imc_core import Core
from linrep.algorithms._imc_joint import Joint, relative_gap
from linrep.algorithms._setup import read_pair
from linrep.algorithms.diagnosis import Note, tell
from linrep.problems.completion import Observations
from linrep.trace import MOST_ROUNDS, Trace, columns

Values = NDArray[np.float64]
Walk = Iterator[tuple[Values, Values]]

_SMALL = 1000  # unknowns of a linear system
_EXACT = 1e-10  # relative residual below which differences are rounding
STALLED = 1e-7  # relative decrease of the objective that ends a run on entries with noise


def is_exact(observations: Observations) -> bool:
    """Tell whether entries are known to be those of a matrix of low rank, without noise."""
    return observations.truth is not None and observations.truth.noise == 0.0


def follow(
    name: str,
    plan: ridges.Plan,
    factors: tuple[Values, Values],
    walk: Walk,
    iterations: int,
    tolerance: float,
    settings: dict[str, Any] | None = None,
    *,
    judged: bool = True,
    certified: bool = False,
) -> Trace:
    """Take steps until the residual is small enough or stalls, and return the best factors.

    Unless ``judged``, the walk finds out by itself that it stalls. If ``certified``, settings have
    the gap to the nuclear norm's dual problem.
    """
    core, ridge = plan.core, plan.ridge
    iterations = check.count("iterations", iterations, minimum=0, most=MOST_ROUNDS)
    tolerance = check.real("tolerance", tolerance, minimum=0.0)
    judged = judged and not is_exact(core.observations)
    U, V = factors
    rows, reason = [core.measure(U, V)], "rounds"
    before = core.objective(U, V, ridge)
    best = (before, U, V, 1)
    with _threads_for(core), np.errstate(over="ignore", invalid="ignore"):
        for _ in range(iterations):
            try:
                new = next(walk)
            except np.linalg.LinAlgError:  # a factor lost rank
                reason = "singular"
                break
            except StopIteration:
                reason = "converged"
                break
            objective = core.objective(*new, ridge)
            if not math.isfinite(objective):
                reason = "diverged"
                break
            U, V = new
            row = core.measure(U, V)
            rows.append(row)
            if objective < best[0]:
                best = objective, U, V, len(rows)
            last, residual = rows[-2]["residual"], row["residual"]
            stalled = judged and abs(before - objective) <= STALLED * before
            if residual <= tolerance or (residual < _EXACT and residual >= last) or stalled:
                reason = "converged"
                break
            before = objective
    if not is_exact(core.observations) and rows[-1]["residual"] >= _EXACT:
        _, U, V, count = best
        rows = rows[:count]
    notes: tuple[str, ...] = ()
    if reason == "diverged" and core.observations.truth is None:
        text = (
            f"{name} diverged, and its state is that of iteration {len(rows) - 1}: leave "
            "step_size, damped and ridge at their defaults, or take a larger ridge"
        )
        notes = tell(Note("the run diverged", text))
    if certified:
        residuals = -core.residuals(U, V)
        largest = 0.0 if ridges.negligible(core) else float(core.leading(residuals, 1)[1][0])
        found = core.objective(U, V, ridge), core.values, residuals, largest, ridge
        settings = {"duality_gap": relative_gap(*found)}
    return make_trace(name, plan, U, V, rows, reason, settings, notes)


def follow_joint(
    name: str,
    plan: ridges.Plan,
    joint: Joint,
    iterations: int,
    tolerance: float,
    given: tuple[Values, Values] | None = None,
    *,
    certified: bool = False,
) -> Trace:
    """Fit factors and biases together, from those that are there or given, until they stall."""
    iterations = check.count("iterations", iterations, minimum=0, most=MOST_ROUNDS)
    tolerance = check.real("tolerance", tolerance, minimum=0.0)
    if given is not None:
        joint.take(*given)
    rows, reason = [_measure(joint)], "rounds"
    walk = iter(()) if joint.negligible() else joint.fit(plan.ridge, STALLED)
    for _ in range(iterations):
        if next(walk, None) is None:
            reason = "converged"
            break
        rows.append(_measure(joint))
        if rows[-1]["residual"] <= tolerance:
            reason = "converged"
            break
    settings = {"duality_gap": joint.gap(plan.ridge)} if certified else {}
    plan = plan._replace(biases=joint.biases)
    return make_trace(name, plan, joint.U, joint.V, rows, reason, settings)


def _measure(joint):
    """Return a row of metrics, as Core.measure does."""
    seen = joint.observations
    row = {"residual": float(np.linalg.norm(joint.residuals) / np.linalg.norm(seen.values))}
    if seen.truth is not None:
        row["error"] = seen.truth.deviation(joint.U, joint.V) / seen.truth.norm
    return row


def _threads_for(core):
    """Let one thread do the linear algebra of small systems: sharing them takes twice as long."""
    # The limit is the process's: threads that leave in another order would not restore it.
    if current_thread() is main_thread() and sum(core.shape) * (core.k or 1) < _SMALL:
        return one_thread(known=True)
    return nullcontext()


def is_spectral(start: Any) -> bool:
    """Tell whether a run begins with the leading part of the entries."""
    if isinstance(start, str):
        check.choice("start", start, ("spectral",))
        return True
    return False


def make_empty(core: Core) -> tuple[Values, Values]:
    """Return factors without columns."""
    return np.zeros((core.shape[0], 0)), np.zeros((core.shape[1], 0))


def read_start(plan: ridges.Plan, start: Any) -> tuple[Values, Values]:
    """Return factors in the bases."""
    core = plan.core
    if is_spectral(start):
        if plan.ridge > 0.0 or ridges.negligible(core):
            return ridges.soft_spectral(core, plan.ridge)
        return core.spectral()
    if isinstance(start, Trace):
        raise ValueError("start must be 'spectral' or a pair (U, V), got a Trace")
    assert core.k is not None
    (a, p), k = core.shape, core.k
    U, V = read_pair(start, "'spectral'", U=(a, k), V=(p, k))
    return core.left.inner(U), core.right.inner(V)


def make_trace(name, plan: ridges.Plan, U, V, rows, reason, settings=None, notes=()) -> Trace:
    """Return the trace of a run that came to these factors between the bases."""
    core, biases = plan.core, plan.biases
    width = max(core.k or 1, U.shape[1])  # columns that did not pay are 0
    U, V = (np.pad(factor, ((0, 0), (0, width - factor.shape[1]))) for factor in (U, V))
    U, V = core.left.given(U), core.right.given(V)
    known = {} if biases is None else biases.state()
    return Trace(
        algorithm=name,
        metrics=columns(rows),
        state={"U": U, "V": V, **known},
        settings={
            "problem": repr(core.observations), "k": core.k, **plan.settings, **(settings or {}),
        },
        stop_reason=reason,
        wall_time=plan.watch.seconds(),
        notes=notes,
    )  # fmt: skip
