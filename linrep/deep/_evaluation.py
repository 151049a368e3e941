"""Evaluation of all clients by the models that a method gives them, and the traces of runs."""

from __future__ import annotations

import time

import numpy as np

from linrep.deep.collapse import neural_collapse
from linrep.deep.state import expand
from linrep.trace import Trace


class History:
    """Metrics of S runs, a row for each evaluated round, and the time that they took."""

    def __init__(self):
        self.rounds, self.metrics = [], {}
        self.seconds_before = -time.perf_counter()

    @property
    def seconds(self):
        """The time so far, with that before the run was interrupted."""
        return self.seconds_before + time.perf_counter()

    def resume(self, rounds, metrics, seconds):
        """Take over the metrics and the time of a run that goes on."""
        self.rounds, self.metrics = list(rounds), metrics
        self.seconds_before += seconds

    def add(self, round, values):
        """Append the metrics of a round, arrays of shape (S,)."""
        self.rounds.append(round)
        for name, value in values.items():
            self.metrics.setdefault(name, []).append(value)


def by_client(federation, models_of, state):
    """Return what all clients' models come to, arrays (S, n)."""
    pieces = []
    for part in federation.everyone():
        shared, personal = models_of(federation, state, part)
        piece = federation.evaluate(shared, personal, part)
        heads = (expand(shared, part) | personal).get("head.weight")
        if heads is not None and federation.classes > 1 and not federation.y.is_floating_point():
            present = (federation.class_counts(part) > 0).to(federation.dtype)
            for name, local in (("nc2_global", False), ("nc2_local", True)):
                value = neural_collapse(heads, present, local)
                piece[name] = value.cpu().double().numpy()
        pieces.append(piece)
    return {name: np.concatenate([piece[name] for piece in pieces], 1) for name in pieces[0]}


def judge(outcome):
    """Return metrics of what clients' models come to, arrays of shape (S,)."""
    collapses = [name for name in ("nc2_global", "nc2_local") if name in outcome]
    return {
        "accuracy": _mean(_accuracies(outcome), outcome["size"] > 0),
        "weighted_accuracy": _share(outcome["correct"].sum(1), outcome["size"].sum(1)),
        "test_loss": _mean(outcome["loss"], outcome["size"] > 0),
        **{name: outcome[name].mean(1) for name in collapses},
    }


def trace_of(run, method, state, history, settings, outcome, tuned):
    """Return the trace of one of the runs; `tuned` is what fine-tuned models come to, or None."""
    metrics = {name: np.array(values)[:, run] for name, values in history.metrics.items()}
    if tuned is not None:
        metrics["fine_tuned"] = np.full(len(history.rounds), np.nan)
        metrics["fine_tuned"][-1] = _mean(_accuracies(tuned), tuned["size"] > 0)[run]
    values = {f"shared.{name}": value[run] for name, value in state.shared.items()}
    values |= {f"personal.{name}": value[run] for name, value in state.personal.items()}
    arrays = {name: value.cpu().numpy() for name, value in values.items()}
    finite = all(np.isfinite(value).all() for value in arrays.values())
    arrays["accuracies"] = _accuracies(outcome)[run]
    return Trace(
        algorithm=type(method).__name__,
        metrics=metrics,
        state=arrays,
        settings=dict(settings),
        stop_reason="rounds" if finite else "diverged",
        wall_time=history.seconds,
        recorded=np.array(history.rounds),
    )


def _accuracies(outcome):
    """Return the accuracy of each client (S, n), NaN without test samples."""
    return _share(outcome["correct"], outcome["size"])


def _mean(values, tested):
    """Return means over the clients (S, n) that have test samples."""
    return _share(np.where(tested, values, 0.0).sum(1), tested.sum(1))


def _share(part, total):
    """Return part / total, NaN where the total is 0."""
    return np.divide(part, total, out=np.full(np.shape(part), np.nan), where=total > 0)
