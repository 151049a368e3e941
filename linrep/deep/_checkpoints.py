"""Checkpoints of runs: written whole or not at all, read as data only."""

from __future__ import annotations

import hashlib
import json
import time
from pathlib import Path

import numpy as np
import torch

from linrep._lib import atomic as files
from linrep._lib.fingerprint import fingerprint
from linrep.deep.source import source

_FORMAT = 3
_PLAIN = (int, float, str, tuple)  # what a network's layers are set by


class Checkpoint:
    """The file from which a run goes on, written now and then and at its end."""

    def __init__(self, path, every, identity):
        self.path, self.every = Path(path), every
        self.identity = json.dumps(identity, default=repr)
        self.due = time.perf_counter() + every

    def save(self, course, last):
        """Write the file beside its place, then put it there, if it is time or the last round."""
        began, state = time.perf_counter(), course.state
        if not last and (state.round == 0 or began < self.due):
            return
        content = {
            "format": _FORMAT,
            "identity": self.identity,
            **vars(state),
            "recorded": course.rounds,
            "metrics": {name: torch.as_tensor(np.array(v)) for name, v in course.metrics.items()},
            "seconds": course.seconds,
        }
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with files.whole(self.path) as draft:
            torch.save(content, draft)
        now = time.perf_counter()
        self.due = now + (max(self.every, 20.0 * (now - began)) if self.every else 0.0)

    def resume(self, course):
        """Let a run go on from the file, which is read as data only, if it is there."""
        if not self.path.exists():
            return
        device = course.federation.device
        try:
            content = torch.load(self.path, map_location=device, weights_only=True)
            if content["format"] != _FORMAT:
                raise ValueError(f"its format is {content['format']}, not {_FORMAT}")
            there = dict(json.loads(content["identity"]))
            metrics = {name: list(values.numpy()) for name, values in content["metrics"].items()}
            values = {name: content[name] for name in vars(course.state)}
            rounds, seconds = list(content["recorded"]), float(content["seconds"])
        except Exception as error:  # whatever a file that is no checkpoint makes torch raise
            # Torch's own words advise to execute what is in it.
            clear = isinstance(error, OSError | ValueError) and "weights_only" not in str(error)
            reason = error if clear else "it is damaged, or holds something else than numbers"
            raise ValueError(f"checkpoint {self.path} cannot be read: {reason}") from None
        here = json.loads(self.identity)
        for name in sorted(here | there, key=lambda name: (name != "method", name)):
            if here.get(name) != there.get(name):
                long = name in ("model", "weights", "data") or isinstance(here.get(name), dict)
                what = "" if long else f": {there.get(name)!r} there, {here.get(name)!r} here"
                raise ValueError(
                    f"checkpoint {self.path} is of another run, which differs in {name}{what}"
                )
        vars(course.state).update(values)
        course.rounds, course.metrics = rounds, metrics
        course.began -= seconds


def identity(federation, method, settings):
    """Return what a run is, but for its length and where it is computed."""
    weights = hashlib.sha256()
    for name, value in federation.start().shared.items():
        weights.update(f"{name} {tuple(value.shape)}".encode() + value.cpu().numpy().tobytes())
    functions = {k: fingerprint(v) for k, v in vars(federation.sgd).items() if callable(v)}
    layers = [
        [type(layer), {k: v for k, v in vars(layer).items() if isinstance(v, _PLAIN)}]
        for layer in federation.model.train().modules()
    ]
    return {
        **settings,
        **functions,
        "seed": [federation.seed.entropy, list(federation.seed.spawn_key)],
        "code of linrep.deep": source(),
        "code of the method": fingerprint(type(method)),
        "model": [str(federation.model), federation.frozen, fingerprint(layers)],
        "weights": weights.hexdigest(),
        "data": federation.data.digest,
    }
