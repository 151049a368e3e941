"""What networks and optimizers do that their parameters do not tell, found by trying them."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.func import functional_call

from linrep.deep import layers
from linrep.deep.training import SGD, Parameters, block, name_of, stepper


class Traits(NamedTuple):
    """What a network does that its parameters do not tell.

    Attributes
    ----------
    in_parts : bool
        Its outputs are what its head makes of its representation, each with parameters of its own,
        in training mode, too; False if it takes side information.
    draws : bool
        It draws from torch's generator in training mode, as functional dropout does.
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
        torch.allclose(found, torch.stack(own), rtol=0.0, atol=1e-6 * float(found.abs().max()))
        for found, own in zip(together, alone, strict=True)
        if found.numel()
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
    now, found = {name: value.clone() for name, value in start.items()}, []
    with layers.seeded(0, next(iter(now.values())).device):
        step = stepper(replace(sgd, schedule=None).at(0), now)
        for scale in (1.0, 1e3):  # what clips gradients clips the second
            step({name: scale * value for name, value in gradient.items()})
            found += [value.clone() for value in now.values()]
    return found


def _agrees(model, state, x):
    """Tell whether a network, in its mode, computes head(representation(x))."""
    with layers.seeded(0, x.device):
        whole = functional_call(model, dict(state), (x,))
    try:
        with layers.seeded(0, x.device):
            features = functional_call(model.representation, block(state, "representation"), (x,))
            outputs = functional_call(model.head, block(state, "head"), (features,))
    except Exception:  # whatever parts raise that are made for something else
        return False
    same = outputs.shape == whole.shape
    return same and torch.allclose(outputs, whole, rtol=1e-3, atol=1e-5, equal_nan=True)


def _generator(device):
    return torch.cuda.get_rng_state(device) if device.type == "cuda" else torch.get_rng_state()
