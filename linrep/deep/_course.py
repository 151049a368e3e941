"""A run under way: evaluation of all clients by the models that a method gives them, its trace."""

from __future__ import annotations

import time

import numpy as np
import torch

from linrep.deep.collapse import neural_collapse
from linrep.deep.devices import describe, synchronize
from linrep.deep.state import expand
from linrep.trace import Trace


class Course:
    """A run under way: where it stands, what is recorded of it, and how fast it trains."""

    def __init__(self, federation, method, participants, began):
        self.federation, self.method, self.participants = federation, method, participants
        self.state, self.outcome = method.start(federation), None
        self.rounds, self.metrics, self.began = [], {}, began
        self._seconds, self._samples = 0.0, 0

    @property
    def seconds(self):
        """The time so far, with that before the run was interrupted."""
        return time.perf_counter() - self.began

    def record(self):
        """Evaluate all clients, and return the metrics."""
        self.outcome = by_client(self.federation, self.method.models, self.state)
        sent = float(self.method.floats(self.state) * self.participants * self.state.round)
        metrics = judge(self.outcome) | {"floats_up": sent, "floats_down": sent}
        self.rounds.append(self.state.round)
        for name, value in metrics.items():
            self.metrics.setdefault(name, []).append(value)
        return metrics

    def step(self):
        """Run a round."""
        federation, state = self.federation, self.state
        clients = federation.sample("participation", state.round, self.participants)
        synchronize(federation.device)  # what evaluation left to do is not of this round
        samples, began = federation.samples_trained, time.perf_counter()
        self.method.round(federation, state, clients)
        synchronize(federation.device)
        self._seconds += time.perf_counter() - began
        self._samples += federation.samples_trained - samples  # evaluation may train, too

    def trace(self, settings):
        """Return the trace of the run."""
        if self.outcome is None:  # the checkpoint was of the last round
            self.outcome = by_client(self.federation, self.method.models, self.state)
        metrics = {name: np.array(values) for name, values in self.metrics.items()}
        if self.method.ft is not None:
            tuned = by_client(self.federation, self.method.fine_tuned, self.state)
            metrics["fine_tuned"] = np.full(len(self.rounds), np.nan)
            metrics["fine_tuned"][-1] = judge(tuned)["accuracy"]
        device = self.federation.device
        engine = "vmap" if self.federation.together else "loop"  # as records call them
        settings = settings | {"device": describe(device), "engine": engine}
        if self._seconds:
            settings["samples_per_second"] = round(self._samples / self._seconds)
        if device.type == "cuda":
            kinds = {"products": torch.backends.cuda.matmul, "convolutions": torch.backends.cudnn}
            rounded = [name for name, kind in kinds.items() if kind.allow_tf32]
            settings["tf32"] = ", ".join(rounded) or "nothing"
        arrays = {
            f"{kind}.{name}": value.cpu().numpy()
            for kind in ("shared", "personal")
            for name, value in getattr(self.state, kind).items()
        }
        finite = all(np.isfinite(value).all() for value in arrays.values())
        arrays["accuracies"] = _share(self.outcome["correct"], self.outcome["size"])
        return Trace(
            algorithm=type(self.method).__name__,
            metrics=metrics,
            state=arrays,
            settings=settings,
            stop_reason="rounds" if finite else "diverged",
            wall_time=self.seconds,
            recorded=np.array(self.rounds),
        )


def by_client(federation, models_of, state):
    """Return what all clients' models come to, arrays (n,)."""
    pieces = []
    for part in federation.parts(federation.all_clients):
        shared, personal = models_of(federation, state, part)
        piece = federation.evaluate(shared, personal, part)
        heads = (expand(shared, part) | personal).get("head.weight")
        if heads is not None and federation.classes > 1 and not federation.y.is_floating_point():
            present = federation.present(part)
            for name, local in (("nc2_global", False), ("nc2_local", True)):
                value = neural_collapse(heads, present, local)
                piece[name] = value.cpu().double().numpy()
        pieces.append(piece)
    return {name: np.concatenate([piece[name] for piece in pieces]) for name in pieces[0]}


def judge(outcome):
    """Return metrics of what clients' models come to; clients without test samples have none."""
    right, sizes = outcome["correct"], outcome["size"]
    tested = sizes > 0
    collapses = [name for name in ("nc2_global", "nc2_local") if name in outcome]
    return {
        "accuracy": _share(np.where(tested, _share(right, sizes), 0.0).sum(), tested.sum()),
        "weighted_accuracy": _share(right.sum(), sizes.sum()),
        "test_loss": _share(np.where(tested, outcome["loss"], 0.0).sum(), tested.sum()),
        **{name: outcome[name].mean() for name in collapses},
    }


def _share(part, total):
    """Return part / total, NaN where the total is 0."""
    return np.divide(part, total, out=np.full(np.shape(part), np.nan), where=total > 0)
