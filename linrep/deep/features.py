"""Features computed once while the representation is frozen, and heads trained on them."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from linrep.deep.training import Batch, Parameters

# What passes at once should fill an accelerator, and stay in the caches of a processor.
SAMPLES_AT_ONCE = 2048
_SAMPLES_IN_CACHE = 128


def in_pieces(module: nn.Module, params: Parameters, x: Tensor) -> Tensor:
    """Return a module's outputs for many samples, a limited number of them at a time."""
    size = SAMPLES_AT_ONCE
    if x.device.type == "cpu":
        size = _SAMPLES_IN_CACHE
        if x.ndim == 4:  # a processor's convolutions and poolings are faster with channels last
            x = x.contiguous(memory_format=torch.channels_last)
    with torch.no_grad():
        pieces = [
            torch.func.functional_call(module, params, (piece,)) for piece in torch.split(x, size)
        ]
    return torch.cat(pieces)


def linear_head(model: nn.Module) -> bool:
    """Tell whether the head is one linear layer, whose gradient has a closed form."""
    return type(getattr(model, "head", None)) is nn.Linear


def head_gradient(params: Parameters, batch: Batch) -> Parameters:
    """Return the gradient of the mean loss in linear heads, all workers at once.

    With R the softmax of the outputs less the labels, or the residuals of real labels, both over
    the number of samples, the gradients are R'x and the sum of R.
    """
    outputs = torch.matmul(batch.x, params["head.weight"].mT)
    if "head.bias" in params:
        outputs = outputs + params["head.bias"].unsqueeze(-2)
    if batch.y.is_floating_point():
        residual = outputs - batch.y.reshape(outputs.shape)
    else:
        residual = torch.softmax(outputs, dim=-1)
        residual = residual - torch.nn.functional.one_hot(batch.y, outputs.shape[-1])
    count = batch.weight.sum(-1, keepdim=True).clamp(min=1.0)
    residual = residual * (batch.weight / count).unsqueeze(-1)
    gradient = {"head.weight": torch.matmul(residual.mT, batch.x)}
    if "head.bias" in params:
        gradient["head.bias"] = residual.sum(-2)
    return gradient
