"""What networks do that their parameters do not tell, found by trying them."""

from __future__ import annotations

from contextlib import suppress
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap

from linrep.deep import layers
from linrep.deep.training import block

#: On a processor, clients of networks of more parameters are trained one after another: launching
#: operations, which stepping together saves, takes little of their time.
LARGEST_TOGETHER = 200_000


class Traits(NamedTuple):
    """What a network does that its parameters do not tell.

    Its outputs may be what its head makes of its representation, each with parameters of its own,
    in training mode, too, and without side information; it may draw from torch's generator in
    training mode, as functional dropout does; and several copies may be stacked, as torch.func
    knows all of its operations.
    """

    in_parts: bool
    draws: bool
    stacks: bool


def steps_together(model: nn.Module, traits: Traits, device: torch.device) -> bool:
    """Tell whether clients are trained together, and not one after another.

    It never depends on a timing, so that the same run has the same digits everywhere.
    """
    size = sum(value.numel() for value in model.parameters())
    return traits.stacks and (device.type != "cpu" or size <= LARGEST_TOGETHER)


def find_traits(model: nn.Module, x: Tensor, z: Tensor) -> Traits:
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
    stacks = not draws and _stacks(model, state, inputs)
    model.train()
    return Traits(in_parts, draws, stacks)


def _stacks(model, state, inputs):
    """Tell whether torch.func knows all operations of a network, for many copies of it."""
    names = [name for name, value in model.train().named_parameters() if value.requires_grad]
    moving = {name: value[None] for name, value in state.items() if name in names}
    rest = {name: value[None] for name, value in state.items() if name not in names}

    def total(moving, rest):
        return functional_call(model, {**rest, **moving}, inputs).sum()

    try:
        vmap(grad(total) if moving else total)(moving, rest)  # as in training
        with torch.no_grad():
            model.eval()
            vmap(total)(moving, rest)
    except RuntimeError:
        return False
    return True


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
