"""Which engine trains the clients of a federation: by rule on a processor, else by measurement."""

from __future__ import annotations

import hashlib
import math
import os
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from linrep._lib import atomic as files
from linrep._lib import validation as check
from linrep.deep import probe
from linrep.deep.devices import describe
from linrep.deep.state import Clients
from linrep.deep.training import ENGINES, SGD, Phase

#: On a processor, networks of more parameters are trained one by one: see `choose`.
LARGEST_TOGETHER = 200_000


def chosen(federation: Any, name: str) -> str:
    """Return the engine of a name, which may leave the choice open."""
    check.choice("engine", name, ("auto", *ENGINES, "measure"))
    given = name
    if name == "auto":
        name = choose(federation.device, federation.model)
    if name != "loop" and (reason := _alone(federation)):
        if given == "vmap":
            raise ValueError(f"engine must be 'loop' for {reason}")
        return "loop"
    if given == "auto" and name == "vmap":
        first = np.zeros((len(federation.seeds), 1), dtype=np.int64)
        if not math.isfinite(seconds(federation, "vmap", first, steps=1)):
            return "loop"
    return measured(federation) if name == "measure" else name


def _alone(federation):
    """Say what keeps clients from being trained together, if something does."""
    if federation.traits.draws:
        return (
            "a network that draws from torch's generator, as functional dropout does; "
            "torch.nn.Dropout can be trained by either"
        )
    if probe.is_entrywise(federation.sgd, federation.moving):
        return ""
    return (
        "an optimizer whose steps are not entry by entry, as those of SGD and Adam are: clients "
        "that are trained together share tensors"
    )


def choose(device: torch.device, model: nn.Module) -> str:
    """Return the engine for a network on a device, as `linrep bench deep` has found it faster.

    Stepping together saves the cost of launching operations, which on a processor is most of the
    time for networks of up to `LARGEST_TOGETHER` parameters. The choice never depends on a timing
    there, so that the same run has the same digits everywhere; elsewhere it is "measure".
    """
    if device.type != "cpu":
        return "measure"
    size = sum(value.numel() for value in model.parameters())
    return "vmap" if size <= LARGEST_TOGETHER else "loop"


def measured(federation: Any) -> str:
    """Return the engine that is faster for a network on this device, timed once and stored.

    The choices are in ``linrep/engines`` of the user's cache folder: a device, a version of torch,
    a network and what else steps depend on have a file each.
    """
    shapes = [tuple(value.shape[1:]) for value in federation.start().shared.values()]
    key = (
        f"{describe(federation.device)} with {torch.get_num_threads()} threads, "
        f"torch {torch.__version__}, "
        f"{type(federation.model).__name__} {shapes} {federation.dtype}, "
        f"{len(federation.seeds)} seeds, {federation.chunk} workers, "
        f"batches {(federation.sgd.batch_size, *federation.x.shape[1:])}, "
        f"mixed precision {federation.mixed_precision}, graphs"
    )
    folder = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    file = folder / "linrep" / "engines" / hashlib.sha256(key.encode()).hexdigest()[:16]
    try:
        name = file.read_text("utf-8").partition("\n")[0]
    except (OSError, ValueError):
        name = ""
    if name in ENGINES:
        return name
    part = next(federation.everyone())
    for _ in range(2):  # the first warms up
        took = {engine: seconds(federation, engine, part) for engine in ENGINES}
    name = min(took, key=lambda engine: took[engine])
    if math.isfinite(took[name]):  # what fails in either says so where it is trained
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            files.write(file, f"{name}\n{key}\n".encode())
        except OSError as error:
            warnings.warn(f"the faster engine is not remembered: {error}", stacklevel=2)
    return name


def seconds(federation: Any, engine: str, part: Clients, steps: int = 5) -> float:
    """Return the seconds of a few steps and an evaluation, infinity where torch refuses."""
    federation.engine = engine
    sgd, federation.sgd = federation.sgd, SGD(batch_size=federation.sgd.batch_size)
    began = time.perf_counter()
    shared = federation.start().shared
    try:
        own = federation.train(shared, {}, part, (Phase(steps=steps),), round=0)
        rest = {name: value for name, value in shared.items() if name not in own}
        federation.evaluate(rest, own, part)  # as numbers, for which an accelerator is waited
    except RuntimeError:  # an operation that vmap does not know
        return math.inf
    finally:
        federation.sgd, federation.samples_trained = sgd, 0
    return time.perf_counter() - began
