"""What networks do that their parameters do not tell, found by trying them."""

from __future__ import annotations

from contextlib import suppress

import torch
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap

from linrep.deep import layers
from linrep.deep.models.base import Model

#: On a processor, clients of networks of more parameters are trained one after another: launching
#: operations, which stepping together saves, takes little of their time.
LARGEST_TOGETHER = 200_000


def steps_together(model: nn.Module, stacks: bool, device: torch.device) -> bool:
    """Tell whether clients are trained together, and not one after another.

    It never depends on a timing, so that the same run has the same digits everywhere.
    """
    size = sum(value.numel() for value in model.parameters())
    return stacks and (device.type != "cpu" or size <= LARGEST_TOGETHER)


def in_parts(model: nn.Module) -> bool:
    """Tell whether outputs are head(representation(x)), each with parameters of its own."""
    whole = type(model).forward is Model.forward and not model.side_information
    return whole and len(dict(model.named_parameters())) == len(
        list(model.named_parameters(remove_duplicate=False))
    )


def find_stacks(model: nn.Module, x: Tensor, z: Tensor) -> bool:
    """Tell whether torch.func can step many copies of a network together.

    It cannot where it does not know an operation, or where the network draws from torch's generator
    in training mode, as functional dropout does. A network that keeps something from step to step
    is refused.
    """
    inputs = (x, z.expand(len(x), -1)) if getattr(model, "side_information", False) else (x,)
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
    with torch.no_grad(), layers.seeded(0, x.device):
        before = _generator(x.device)
        functional_call(model, after, inputs)
        draws = not torch.equal(before, _generator(x.device))
    for name, _ in model.named_buffers():
        if name not in ours and not torch.equal(state[name], after[name]):
            owner = type(model.get_submodule(name.rpartition(".")[0])).__name__
            raise ValueError(
                f"model must keep nothing from step to step but averages of BatchNorm, {name} of a "
                f"{owner} changes"
            )
    return not draws and _stacks(model, state, inputs)


def _stacks(model, state, inputs):
    """Tell whether torch.func knows all operations of a network, for many copies of it."""
    names = [name for name, value in model.named_parameters() if value.requires_grad]
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
    finally:
        model.train()
    return True


def _generator(device):
    return torch.cuda.get_rng_state(device) if device.type == "cuda" else torch.get_rng_state()
