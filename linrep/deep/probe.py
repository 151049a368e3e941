"""What networks and optimizers do that their parameters do not tell, found by trying them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.func import functional_call

from linrep.deep import layers
from linrep.deep.training import SGD, block, name_of, stepper


class Traits(NamedTuple):
    """What a network does that its parameters do not tell.

    Attributes
    ----------
    in_parts : bool
        Its outputs are what its head makes of its representation, each with parameters of its own;
        False if it takes side information.
    draws : bool
        It draws from torch's generator in training mode, as functional dropout does.
    """

    in_parts: bool
    draws: bool


def traits(model: nn.Module, x: Tensor, z: Tensor) -> Traits:
    """Return what a network does.

    Parameters
    ----------
    model : nn.Module
    x : Tensor, shape (b, ...)
        A few samples, as the network sees them.
    z : Tensor, shape (p,)
        Side information of a client.

    Raises
    ------
    ValueError
        If a step changes buffers other than batch normalization's averages: these would pass from
        client to client.
    """
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
        in_parts = not side and hasattr(model, "representation") and hasattr(model, "head")
        if in_parts:
            in_parts = _agrees(model.eval(), state, x)
    model.train()
    return Traits(in_parts, draws)


def is_entrywise(sgd: SGD, shapes: Mapping[str, Sequence[int]]) -> bool:
    """Tell whether steps of an optimizer move each entry of a parameter by itself.

    Parameters
    ----------
    sgd : SGD
    shapes : mapping of str to sequence of int
        Those of a network's parameters.

    Raises
    ------
    ValueError
        If it cannot make steps.
    """
    if sgd.optimizer is None:
        return True
    generator = torch.Generator().manual_seed(0)
    start, gradient = (
        {  # of two workers, stacked
            name: torch.randn(
                2, *(min(2, length) for length in shape), generator=generator, dtype=torch.float64
            )
            for name, shape in shapes.items()
        }
        for _ in range(2)
    )

    def moved(workers):
        now = {name: value[workers].clone() for name, value in start.items()}
        step = stepper(replace(sgd, schedule=None).at(0), now)
        for _ in range(2):  # the second depends on what the first has left
            step({name: value[workers] for name, value in gradient.items()})
        return now

    try:
        together, *alone = (moved(workers) for workers in (slice(None), 0, 1))
    except (AttributeError, RuntimeError, TypeError, ValueError) as error:
        raise ValueError(
            f"optimizer must be one of torch for a list of parameters, whose step takes no "
            f"closure; {name_of(sgd.optimizer)}: {error}"
        ) from None
    return all(
        torch.allclose(value, torch.stack([own[name] for own in alone]), rtol=0.0, atol=1e-12)
        for name, value in together.items()
    )


def _agrees(model, state, x):
    """Tell whether a network computes head(representation(x))."""
    whole = functional_call(model, state, (x,))
    try:
        features = functional_call(model.representation, block(state, "representation"), (x,))
        outputs = functional_call(model.head, block(state, "head"), (features,))
    except Exception:  # whatever parts raise that are made for something else
        return False
    same = outputs.shape == whole.shape
    return same and torch.allclose(outputs, whole, rtol=1e-3, atol=1e-5, equal_nan=True)


def _generator(device):
    return torch.cuda.get_rng_state(device) if device.type == "cuda" else torch.get_rng_state()
