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
from linrep.algorithms._imc_core import Core
from linrep.algorithms._setup import read_pair
from linrep.algorithms.diagnosis import Note, tell
from linrep.problems.completion import Observations
from linrep.trace import MOST_ROUNDS, Trace, columns

Values = NDArray[np.float64]
Walk = Iterator[tuple[Values, Values]]

_SMALL = 1000  # unknowns of a linear system
_EXACT = 1e-10  # relative residual below which differences are rounding
_STALLED = 1e-7  # relative decrease of the objective that ends a run on entries with noise


def is_exact(observations: Observations) -> bool:
    """Tell whether entries are known to be those of a matrix of low rank, without noise."""
    return observations.truth is not None and observations.truth.noise == 0.0


def follow(
    name: str,
    core: Core,
    factors: tuple[Values, Values],
    walk: Walk,
    iterations: int,
    tolerance: float,
    settings: dict[str, Any] | None = None,
) -> Trace:
    """Take steps until the residual is small enough or stalls, and return the best factors."""
    iterations = check.count("iterations", iterations, minimum=0, most=MOST_ROUNDS)
    tolerance = check.real("tolerance", tolerance, minimum=0.0)
    judged = not is_exact(core.observations)
    U, V = factors
    with _threads_for(core), np.errstate(over="ignore", invalid="ignore"):
        rows, reason = [core.measure(U, V)], "rounds"
        before = core.objective(U, V)
        best = (before, U, V, 1)
        for _ in range(iterations):
            try:
                new = next(walk)
            except np.linalg.LinAlgError:  # a factor lost rank
                reason = "singular"
                break
            except StopIteration:
                reason = "converged"
                break
            objective = core.objective(*new)
            if not math.isfinite(objective):
                reason = "diverged"
                break
            U, V = new
            row = core.measure(U, V)
            rows.append(row)
            if objective < best[0]:
                best = objective, U, V, len(rows)
            last, residual = rows[-2]["residual"], row["residual"]
            stalled = judged and abs(before - objective) <= _STALLED * before
            if residual <= tolerance or (residual < _EXACT and residual >= last) or stalled:
                reason = "converged"
                break
            before = objective
    if judged and rows[-1]["residual"] >= _EXACT:
        _, U, V, count = best
        rows = rows[:count]
    notes: tuple[str, ...] = ()
    if reason == "diverged" and core.observations.truth is None:
        text = (
            f"{name} diverged, and its state is that of iteration {len(rows) - 1}: take a smaller "
            "k or, where it was given, leave step_size at its default"
        )
        notes = tell(Note("the run diverged", text))
    return make_trace(name, core, U, V, rows, reason, settings, notes)


def _threads_for(core):
    """Let one thread do the linear algebra of small systems: sharing them takes twice as long."""
    # The limit is the process's: threads that leave in another order would not restore it.
    if current_thread() is main_thread() and sum(core.shape) * (core.k or 1) < _SMALL:
        return one_thread(known=True)
    return nullcontext()


def read_start(core: Core, start: Any) -> tuple[Values, Values]:
    """Return factors in the bases."""
    if isinstance(start, str):
        check.choice("start", start, ("spectral",))
        return core.spectral()
    if isinstance(start, Trace):
        raise ValueError("start must be 'spectral' or a pair (U, V), got a Trace")
    assert core.k is not None
    (a, p), k = core.shape, core.k
    U, V = read_pair(start, "'spectral'", U=(a, k), V=(p, k))
    return core.left.inner(U), core.right.inner(V)


def make_trace(
    name, core: Core, U, V, rows, reason, settings=None, notes=(), recorded=None
) -> Trace:
    """Return the trace of a run that came to these factors between the bases."""
    return Trace(
        algorithm=name,
        metrics=columns(rows),
        state={"U": core.left.given(U), "V": core.right.given(V)},
        settings={"problem": repr(core.observations), "k": core.k, **(settings or {})},
        stop_reason=reason,
        wall_time=core.watch.seconds(),
        notes=notes,
        recorded=recorded,
    )
