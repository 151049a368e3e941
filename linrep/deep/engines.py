"""Which engine trains the clients of a federation: by rule on a processor, else by measurement.

What networks and optimizers do that their parameters do not tell is found by trying them.
"""

from __future__ import annotations

import hashlib
import math
import os
import time
import warnings
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call

from linrep._lib import atomic as files
from linrep._lib import validation as check
from linrep.deep import layers
from linrep.deep.devices import describe
from linrep.deep.state import Clients
from linrep.deep.training import ENGINES, SGD, Parameters, Phase, block, name_of, stepper

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
    if is_entrywise(federation.sgd, federation.moving):
        return ""
    return (
        "an optimizer whose steps are not entry by entry, as those of SGD and Adam are: clients "
        "that are trained together share tensors"
    )


def choose(device: torch.device, model: nn.Module) -> str:
    """Return the engine for a network on a device, as it was found to be faster.

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
        trained = federation.train(shared, {}, part, (Phase(steps=steps),), round=0)
        frozen = {name: value for name, value in shared.items() if name not in trained}
        federation.evaluate(frozen, trained, part)  # as numbers, for which an accelerator is waited
    except RuntimeError:  # an operation that vmap does not know
        return math.inf
    finally:
        federation.sgd, federation.samples_trained = sgd, 0
    return time.perf_counter() - began


class Traits(NamedTuple):
    """What a network does that its parameters do not tell.

    Its outputs may be what its head makes of its representation, each with parameters of its own,
    in training mode, too, and without side information; and it may draw from torch's generator in
    training mode, as functional dropout does.
    """

    in_parts: bool
    draws: bool


def traits(model: nn.Module, x: Tensor, z: Tensor) -> Traits:
    """Return what a network does."""
    side = getattr(model, "side_information", False)
    inputs = (x, z.expand(len(x), -1)) if side else (x,)
    state = {n: v.detach().clone() for n, v in [*model.named_parameters(), *model.named_buffers()]}
    # Other parameters than those of the start, which a network's own buffers may have settled for.
    generator, moved = torch.Generator().manual_seed(0), dict(state)
    for name, value in model.named_parameters():  # tied ones once
        if value.is_floating_point():
            noise = torch.randn(value.shape, generator=generator).to(value)
            moved[name] = value.detach() + 0.1 * noise
    # Those that have a domain, such as scales, may make it fail.
    with suppress(Exception), torch.no_grad(), layers.seeded(0, x.device):
        functional_call(model.eval(), {n: v.clone() for n, v in moved.items()}, inputs)
        state = moved
    after = {name: value.clone() for name, value in state.items()}
    set_in_steps = layers.per_batch(model.train())
    ours = {*layers.statistics(model), *set_in_steps["key"], *set_in_steps["mask"]}
    with torch.no_grad():
        with layers.seeded(0, x.device):
            before = _generator(x.device)
            functional_call(model, after, inputs)
            draws = not torch.equal(before, _generator(x.device))
        for name, _ in model.named_buffers():
            if name not in ours and not torch.equal(state[name], after[name]):
                owner = model.get_submodule(name.rpartition(".")[0])
                raise ValueError(
                    f"model must keep nothing from step to step but averages of BatchNorm, "
                    f"{name} of a {type(owner).__name__} changes"
                )
        apart = not side and hasattr(model, "representation") and hasattr(model, "head")
        in_parts = apart and all(_agrees(model.train(mode), state, x) for mode in (False, True))
    model.train()
    return Traits(in_parts, draws)


def check_optimizer(sgd: SGD, parameters: Parameters) -> None:
    """Raise an error if an optimizer makes no steps of a client."""
    if sgd.optimizer is None or not parameters:
        return
    try:
        _stepped(sgd, parameters, 0)
    except Exception as error:  # whatever an optimizer of one's own raises
        reason = f"{type(error).__name__}: {error}".partition("\n")[0]
        raise ValueError(
            f"optimizer must make steps of the network's parameters without a closure, "
            f"{name_of(sgd.optimizer)} does not: {reason}"
        ) from None


def is_entrywise(sgd: SGD, parameters: Parameters) -> bool:
    """Tell whether an optimizer moves each entry by itself: then workers may be stacked."""
    if sgd.optimizer is None or not parameters:
        return True
    try:
        together = _stepped(sgd, parameters, slice(None))
    except Exception:  # it is made for parameters as networks have them
        return False
    alone = zip(*(_stepped(sgd, parameters, worker) for worker in range(2)), strict=True)
    return all(
        torch.allclose(both, torch.stack(each), rtol=0.0, atol=1e-6 * float(both.abs().max()))
        for both, each in zip(together, alone, strict=True)
        if both.numel()
    )


def _stepped(sgd, parameters, workers):
    """Return parameters of some of two workers after a short step, and after a long one."""
    generator = torch.Generator().manual_seed(0)
    start, gradient = (
        {
            name: torch.randn((2, *value.shape[1:]), generator=generator).to(value)[workers]
            for name, value in parameters.items()
        }
        for _ in range(2)
    )
    now, passed = {name: value.clone() for name, value in start.items()}, []
    with layers.seeded(0, next(iter(now.values())).device):
        step = stepper(replace(sgd, schedule=None).at(0), now)
        for scale in (1.0, 1e3):  # what clips gradients clips the second
            step({name: scale * value for name, value in gradient.items()})
            passed += [value.clone() for value in now.values()]
    return passed


def _agrees(model, state, x):
    """Tell whether a network, in its mode, computes head(representation(x))."""
    with layers.seeded(0, x.device):
        expected = functional_call(model, dict(state), (x,))
    try:
        with layers.seeded(0, x.device):
            features = functional_call(model.representation, block(state, "representation"), (x,))
            outputs = functional_call(model.head, block(state, "head"), (features,))
    except Exception:  # whatever parts raise that are made for something else
        return False
    same = outputs.shape == expected.shape
    return same and torch.allclose(outputs, expected, rtol=1e-3, atol=1e-5, equal_nan=True)


def _generator(device):
    return torch.cuda.get_rng_state(device) if device.type == "cuda" else torch.get_rng_state()
