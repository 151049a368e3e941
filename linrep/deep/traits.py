"""What networks are made of: whether they have parts, and whether copies step together."""

from __future__ import annotations

import torch
from torch import nn

from linrep.deep.models.base import Model

#: On a processor, clients of networks of more parameters are trained one after another: launching
#: operations, which stepping together saves, takes little of their time.
LARGEST_TOGETHER = 200_000
#: Torch's layers that neither draw nor keep anything, and that torch.func knows.
_LAYERS = {
    nn.AdaptiveAvgPool2d, nn.AvgPool2d, nn.Conv1d, nn.Conv2d, nn.ELU, nn.Flatten, nn.GELU,
    nn.GroupNorm, nn.Identity, nn.LayerNorm, nn.LeakyReLU, nn.Linear, nn.MaxPool2d, nn.ReLU,
    nn.Sequential, nn.Sigmoid, nn.SiLU, nn.Softplus, nn.Tanh, nn.Unflatten,
}  # fmt: skip


def in_parts(model: nn.Module) -> bool:
    """Tell whether outputs are head(representation(x)), each with parameters of its own."""
    tied = len(dict(model.named_parameters())) < len(
        list(model.named_parameters(remove_duplicate=False))
    )
    return type(model).forward is Model.forward and not model.side_information and not tied


def stacks(model: nn.Module) -> bool:
    """Tell whether torch.func can step many copies of a network, which is made of known layers."""
    for layer in model.modules():
        kind = type(layer)
        ours = kind.__module__.startswith("linrep.deep.") or kind.forward is Model.forward
        if not (ours or kind in _LAYERS) or layer._forward_hooks or layer._forward_pre_hooks:
            return False
    return True


def steps_together(model: nn.Module, device: torch.device) -> bool:
    """Tell whether clients are trained together, and not one after another.

    It never depends on a timing, so that the same run has the same digits everywhere.
    """
    size = sum(value.numel() for value in model.parameters())
    return stacks(model) and (device.type != "cpu" or size <= LARGEST_TOGETHER)
