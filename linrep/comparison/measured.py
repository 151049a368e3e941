"""What a run came to, and what it took, as rows of a comparison."""

from __future__ import annotations

from typing import Any

import numpy as np

from linrep import subspace
from linrep.algorithms._setup import FROM_SAMPLES
from linrep.problems.clients import ClientData
from linrep.problems.regression import ImplicitRepresentation
from linrep.trace import Trace

METRICS = ("distance", "population_risk")


def measured(
    trace: Trace,
    *,
    truth: Any,
    given: Any,
    drawn: list[int],
    test: ClientData | None,
    m: int | None,
    along: str,
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return rows of a run, its last state or that of every recorded round, and its settings.

    Parameters
    ----------
    trace : Trace
    truth : SharedRepresentation, LowRankRegression or None
        What its models are compared with.
    given : object
        What the method was handed: samples, or a truth to draw from.
    drawn : list of int
        Sizes of what the method drew from it by itself.
    test : ClientData or None
        Held-out samples, where there is no truth.
    m : int or None
        Samples per client and batch.
    along : str
        The axis, of :data:`linrep.comparison.result.AXES`.

    Returns
    -------
    rows : list of dict
        ``rounds``, ``samples``, ``floats``, ``seconds`` so far, metrics, and ``stop_reason``.
    settings : dict
    """
    there = [name for name in METRICS if name in trace]
    once = isinstance(given, ClientData) or _draws_once(trace.settings, drawn)

    def spent(place):
        done = int(trace.recorded[place])
        sent = [trace[name][place] for name in ("floats_up", "floats_down") if name in trace]
        return {
            "rounds": done,
            "samples": _samples(trace, given, drawn, m, done),
            "floats": float(sum(sent)) if sent else float("nan"),
            "seconds": trace.wall_time * done / trace.rounds if trace.rounds else trace.wall_time,
        }

    if test is not None or not there or (along == "samples" and once):
        last = _of_state(trace, truth, test) or {name: float(trace[name][-1]) for name in there}
        return [spent(-1) | {"stop_reason": trace.stop_reason} | last], trace.settings
    rows = []
    for place in range(len(trace.recorded)):
        row = {name: float(trace[name][place]) for name in there}
        rows.append(spent(place) | row | {"stop_reason": trace.stop_reason})
    return rows, trace.settings


def _draws_once(settings, drawn):
    """Tell whether all rounds saw the same samples; a start may draw some of its own."""
    return settings["batches"] == "fixed" if "batches" in settings else len(drawn) == 1


def _samples(trace, given, drawn, m, done):
    """Return how many samples all clients have seen together: those that they hold, or drew."""
    if isinstance(given, ClientData):
        return len(given.y)
    settings = trace.settings
    if "batches" not in settings:  # a method of one's own, which draws as it goes
        share = 1.0 if len(drawn) == 1 or not trace.rounds else done / trace.rounds
        return round(share * sum(drawn))
    if _draws_once(settings, drawn):
        return given.n * m
    a_round = settings.get("participants", given.n) * m
    if settings["batches"] in ("split", "gram_split"):
        a_round *= 2
    from_samples = settings.get("start") in FROM_SAMPLES
    return done * a_round + (given.n * m if from_samples else 0)


def _of_state(trace, truth, test):
    """Return metrics of the last state, none where the truth stores nothing to compare it with."""
    if test is not None:
        return {"unexplained": 1.0 - trace.score(test)}
    found: dict[str, float] = {}
    if truth is None or isinstance(truth, ImplicitRepresentation):
        return found
    models = trace.models if _has_models(trace.state) else None
    if models is not None:
        found["population_risk"] = float(0.5 * np.mean(np.sum((models - truth.theta) ** 2, axis=1)))
    if hasattr(truth, "B"):
        B = trace.state.get("B")
        if B is None and models is not None:
            B = _leading(models, truth.k)
        if B is not None:
            found["distance"] = subspace.distance_or_nan(B, truth.B)
    return found


def _leading(models, k):
    """Return the k leading right singular vectors of a matrix of models, None below that rank."""
    if not np.isfinite(models).all() or np.linalg.matrix_rank(models) < k:
        return None
    return np.linalg.svd(models, full_matrices=False)[2][:k].T


def _has_models(state):
    return "theta" in state or any(set(pair) <= set(state) for pair in (("B", "W"), ("U", "V")))
