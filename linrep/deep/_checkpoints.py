"""Checkpoints of runs: written whole or not at all, read as data only."""

from __future__ import annotations

import functools
import hashlib
import json
import time
import types
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import torch

from linrep import _atomic as files
from linrep.deep._evaluation import History

_FORMAT = 2


def identity(federation, settings):
    """Return what a run is, but for its length and where it is computed."""
    data = hashlib.sha256()
    data.update(federation.x.cpu().numpy().tobytes())
    for one in federation.data:
        for array in (one.y, one.mean, one.std, one.side, one.embedding):
            data.update(b"" if array is None else array.tobytes())
        for index in (*one.train, *one.test):
            data.update(np.int64(len(index)).tobytes() + np.ascontiguousarray(index).tobytes())
    weights = hashlib.sha256()
    for name, value in federation.start().shared.items():
        weights.update(f"{name} {tuple(value.shape)}".encode() + value.cpu().numpy().tobytes())
    functions = {
        name: content_of(value) for name, value in vars(federation.sgd).items() if callable(value)
    }
    return {
        **settings,
        **functions,
        "seeds": [[seed.entropy, list(seed.spawn_key)] for seed in federation.seeds],
        "model": str(federation.model),
        "weights": weights.hexdigest(),
        "data": data.hexdigest(),
    }


def content_of(value, within=()):
    """Return what a function computes with: its code, what it closes over, and its defaults.

    Functions that it calls by name are not looked into.
    """
    if id(value) in within:
        return "itself"
    within = (*within, id(value))
    parts: Iterable[Any] | None = None
    if isinstance(value, functools.partial):
        parts = [value.func, value.args, value.keywords]
    elif isinstance(value, types.FunctionType):
        cells = [cell.cell_contents for cell in value.__closure__ or ()]
        parts = [value.__code__, cells, value.__defaults__, value.__kwdefaults__]
    elif isinstance(value, types.CodeType):  # wherever its file is
        parts = [value.co_code.hex(), value.co_names, value.co_consts]
    elif isinstance(value, torch.Tensor | np.ndarray):
        parts = [hashlib.sha256(np.asarray(value).tobytes()).hexdigest()]
    elif isinstance(value, tuple | list):
        parts = value
    elif isinstance(value, Mapping):
        parts = [*value, *value.values()]
    elif " at 0x" in repr(value):  # an object without a name of its own
        name, owner = (getattr(value, part, None) for part in ("__qualname__", "__self__"))
        parts = [type(value), name or vars(value), owner]
    return repr(value) if parts is None else [content_of(part, within) for part in parts]


def save(path, identity, state, history):
    """Write a checkpoint beside its place, then put it there; return the seconds it took."""
    began = time.perf_counter()
    content = {
        "format": _FORMAT,
        "identity": json.dumps(identity, default=repr),
        "round": state.round,
        "shared": state.shared,
        "personal": state.personal,
        "extra": state.extra,
        "recorded": history.rounds,
        "metrics": {name: torch.as_tensor(np.array(v)) for name, v in history.metrics.items()},
        "seconds": history.seconds,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    with files.whole(path) as draft:
        torch.save(content, draft)
    return time.perf_counter() - began


def load(path, identity, state, device):
    """Fill a state from a checkpoint, which is read as data only, and return its history."""
    try:
        content = torch.load(path, map_location=device, weights_only=True)
        if content["format"] != _FORMAT:
            raise ValueError(f"its format is {content['format']}, not {_FORMAT}")
        other = dict(json.loads(content["identity"]))
        metrics = {name: list(values.numpy()) for name, values in content["metrics"].items()}
        history = History(content["recorded"], metrics, content["seconds"])
        values = [content[name] for name in ("shared", "personal", "extra", "round")]
    except Exception as error:  # whatever a file that is no checkpoint makes torch raise
        # Torch's own words advise to execute what is in it.
        clear = isinstance(error, OSError | ValueError) and "weights_only" not in str(error)
        reason = error if clear else "it is damaged, or holds something else than numbers"
        raise ValueError(f"checkpoint {path} cannot be read: {reason}") from None
    mine = json.loads(json.dumps(identity, default=repr))
    names = sorted(mine | other, key=lambda name: (name != "method", name))
    differing = [name for name in names if mine.get(name) != other.get(name)]
    if differing:
        name = differing[0]
        long = name in ("model", "weights", "data")
        what = "" if long else f": {other.get(name)!r} there, {mine.get(name)!r} here"
        raise ValueError(f"checkpoint {path} is of another run, which differs in {name}{what}")
    state.shared, state.personal, state.extra, state.round = values
    return history
