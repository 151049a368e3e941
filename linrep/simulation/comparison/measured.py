"""What a run came to, and what it took, as rows of a comparison."""

from __future__ import annotations

from typing import Any

from linrep.algorithms.errors import errors
from linrep.problems.clients import ClientData
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
        The axis, of :data:`linrep.simulation.comparison.result.AXES`.

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
            "samples": _samples(trace, place, given, drawn),
            "floats": float(sum(sent)) if sent else float("nan"),
            "seconds": trace.wall_time * done / trace.rounds if trace.rounds else trace.wall_time,
        }

    if test is not None or not there or (along == "samples" and once):
        last = errors(trace, truth) if test is None else {"unexplained": 1.0 - trace.score(test)}
        last = last or {name: float(trace[name][-1]) for name in there}
        return [spent(-1) | {"stop_reason": trace.stop_reason} | last], trace.settings
    rows = []
    for place in range(len(trace.recorded)):
        row = {name: float(trace[name][place]) for name in there}
        rows.append(spent(place) | row | {"stop_reason": trace.stop_reason})
    return rows, trace.settings


def _draws_once(settings, drawn):
    """Tell whether all rounds saw the same samples; a start may draw some of its own."""
    return settings["batches"] == "fixed" if "batches" in settings else len(drawn) == 1


def _samples(trace, place, given, drawn):
    """Return how many samples were seen: as the trace says, or what a user's own method drew."""
    if isinstance(given, ClientData):
        return len(given.y)
    if "samples" in trace:
        return int(trace["samples"][place])
    done = 1.0 if len(drawn) == 1 or not trace.rounds else trace.recorded[place] / trace.rounds
    return round(done * sum(drawn))
