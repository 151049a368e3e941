"""Layers that many clients can train at once under torch.func, and that know padded samples.

``functional_call`` under ``vmap`` and ``grad`` asks three things of a layer that torch's own
dropout and batch normalization do not give: randomness that is an argument, state that is a
value, and operations with a rule for vmap. Here the randomness is a buffer ``key``, the samples
that count are a buffer ``mask``, and running statistics are replaced, never written into. The
trainer sets ``key`` and ``mask`` before each step; ``per_batch`` names them.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.dropout import _DropoutNd

from linrep._lib.validation import integer, real

__all__ = ["BatchNorm", "Dropout", "converted"]

#: Constants of splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators,
#: 2014), as the signed integers that torch has.
_GAMMA = 0x9E3779B97F4A7C15 - 2**64
_FIRST = 0xBF58476D1CE4E5B9 - 2**64
_SECOND = 0x94D049BB133111EB - 2**64
_DRAWING = threading.RLock()
_DROPOUTS = (nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d)
_NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)


@contextmanager
def seeded(seed: int, device: torch.device | None = None) -> Iterator[None]:
    """Let torch draw from a seed, and leave its generator, which all threads share, as it was."""
    accelerators = [device] if device is not None and device.type == "cuda" else []
    with _DRAWING, torch.random.fork_rng(devices=accelerators):
        torch.manual_seed(seed)
        yield


class Dropout(_DropoutNd):
    """Dropout whose mask is a function of a key, the same in every engine and on every device.

    In training mode each element is set to zero with probability p, the others are divided by
    1 - p; in evaluation mode nothing happens. Whether an element is dropped depends on the buffer
    ``key`` (an int64 scalar), the salt and the element's index in the batch alone, through
    integer operations: a plain loop, vmap, CPU and CUDA drop the same elements, and samples that
    are appended to a batch change nothing for those before them. Each call changes the key, so that
    a layer that is used twice in a network draws twice.

    Parameters
    ----------
    p : float
        Probability of dropping an element, in [0, 1).
    salt : int, optional
        Tells the dropout layers of one network apart: with equal salts they draw the same numbers.
        At least 0. :func:`converted` numbers them.
    channels : bool, optional
        Drop whole channels (axis 1), as torch's Dropout1d, 2d and 3d do.
    """

    key: Tensor

    def __init__(self, p: float, salt: int = 0, channels: bool = False):
        if real("p", p, minimum=0.0) >= 1.0:
            raise ValueError(f"p must be less than 1, got {p:g}")
        super().__init__(p)
        self._draw_by_key(integer("salt", salt, minimum=0, maximum=2**63 - 1), channels)

    def _draw_by_key(self, salt: int, channels: bool) -> None:
        self.salt, self.channels = salt, channels
        self.register_buffer("key", torch.zeros((), dtype=torch.int64), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        """Return the input with elements dropped if in training mode.

        Parameters
        ----------
        x : Tensor
            Of any shape.
        """
        if not self.training or self.p == 0.0:
            return x
        shape = x.shape[:2] + (1,) * (x.ndim - 2) if self.channels else x.shape
        x = x * undropped(self.key, self.salt, shape, self.p) / (1.0 - self.p)
        self.key = self.key + 1
        return x

    def extra_repr(self) -> str:
        """Say how the layer was made."""
        return f"p={self.p:g}, salt={self.salt}"


def undropped(key: Tensor, salt: int, shape: torch.Size | tuple[int, ...], p: float) -> Tensor:
    """Return which elements of an array dropout keeps.

    Element i in row-major order gets the top 53 bits of output i of splitmix64, seeded by a hash
    of key and salt; it is kept if they, read as a number in [0, 1), are at least p.
    """
    start = _mix(_mix(key + _GAMMA) ^ salt)
    steps = torch.arange(1, math.prod(shape) + 1, device=key.device)
    bits = _shifted(_mix(start + steps * _GAMMA), 11)
    return (bits >= round(p * 2**53)).reshape(shape)


def _mix(z: Tensor) -> Tensor:
    """Scramble int64 numbers one to one; products wrap around modulo 2^64."""
    z = (z ^ _shifted(z, 30)) * _FIRST
    z = (z ^ _shifted(z, 27)) * _SECOND
    return z ^ _shifted(z, 31)


def _shifted(z: Tensor, places: int) -> Tensor:
    """Shift right as if unsigned: torch's shift repeats the sign, which is cut off here."""
    return (z >> places) & (2 ** (64 - places) - 1)


class BatchNorm(_BatchNorm):
    """Batch normalization, of vectors or images, over the samples that count.

    As torch's: in training mode channels are centred and scaled by the batch's mean and variance,
    and running averages take them up, the variance with n - 1 in its denominator; in evaluation
    mode the running averages are used. Samples with 0 in the buffer ``mask`` are left out of all
    statistics; a mask of shape (1,) counts for all samples. Running averages are new tensors each
    time: within ``functional_call(model, state, ...)`` they appear in the dict ``state``. A batch
    with fewer than two values per channel, which torch refuses, leaves them as they were.

    Parameters
    ----------
    channels : int
        Number of channels.
    eps : float, optional
        Added to the variance.
    momentum : float, optional
        Weight of the newest batch in the running averages.
    """

    mask: Tensor
    running_mean: Tensor
    running_var: Tensor

    def __init__(self, channels: int, eps: float = 1e-5, momentum: float = 0.1):
        channels = integer("channels", channels, minimum=1)
        eps, momentum = real("eps", eps, above=0.0), real("momentum", momentum, minimum=0.0)
        super().__init__(channels, eps, momentum)
        self._expect_padding()

    def _expect_padding(self) -> None:
        self.register_buffer("mask", torch.ones(1), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        """Return the normalized samples.

        Parameters
        ----------
        x : Tensor, shape (b, channels, ...)
        """
        if not self.training:
            averages = self.running_mean.detach(), self.running_var.detach()
            return F.batch_norm(x, *averages, self.weight, self.bias, eps=self.eps)
        mean, var = self._batch_statistics(x)
        scale = self.weight * torch.rsqrt(var + self.eps)
        return (x - _channels(mean, x)) * _channels(scale, x) + _channels(self.bias, x)

    def _batch_statistics(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return mean and variance over the samples that count; move the running averages."""
        weights = self.mask.to(self.running_mean.dtype).expand(x.shape[0])
        weights = weights.reshape(-1, *[1] * (x.ndim - 1))
        axes = (0, *range(2, x.ndim))
        count = weights.sum() * math.prod(x.shape[2:])
        mean = (weights * x).sum(axes) / count.clamp(min=1)
        var = (weights * (x - _channels(mean, x)) ** 2).sum(axes) / count.clamp(min=1)
        # A step of padding alone must change nothing, and one value has no variance.
        step = self.momentum * (count > 1).to(count.dtype)
        unbiased = var.detach() * (count / (count - 1).clamp(min=1))
        self.running_mean = self.running_mean + step * (mean.detach() - self.running_mean)
        self.running_var = self.running_var + step * (unbiased - self.running_var)
        return mean, var


def _channels(values: Tensor, x: Tensor) -> Tensor:
    """Return one number per channel in the shape that samples are broadcast with."""
    return values.reshape(-1, *[1] * (x.ndim - 2))


def converted(model: nn.Module) -> nn.Module:
    """Return a network with torch's batch normalization and dropout replaced, in place.

    Parameters
    ----------
    model : nn.Module
        Its weights and running averages stay; its dropout layers are numbered by their salts.
    """
    if not isinstance(model, nn.Module):
        raise TypeError(f"model must make a torch Module, got {type(model).__name__}")
    for name, module in model.named_modules():  # what they hold and share stays
        kind = type(module)
        if kind in _DROPOUTS and module.p < 1.0:
            module.__class__ = Dropout
            module._draw_by_key(0, channels=kind is not nn.Dropout)
        elif isinstance(module, _BatchNorm) and _wants_batches(module):
            raise ValueError(f"model's BatchNorm must have averages and a momentum, see {name!r}")
        elif kind in _NORMS and module.affine:
            module.__class__ = BatchNorm
            module._expect_padding()
    for salt, layer in enumerate(each for each in model.modules() if isinstance(each, Dropout)):
        layer.salt = salt
    return model


def _wants_batches(module: _BatchNorm) -> bool:
    """Tell whether batch normalization takes statistics otherwise than by a client's own steps."""
    return module.momentum is None or module.running_mean is None


def per_batch(model: nn.Module) -> dict[str, list[str]]:
    """Return the names of the buffers that have to be set before each training step."""
    kinds = {"key": Dropout, "mask": BatchNorm}
    return {
        name: [
            f"{prefix}.{name}".lstrip(".")
            for prefix, module in model.named_modules()
            if isinstance(module, kind)
        ]
        for name, kind in kinds.items()
    }


def statistics(model: nn.Module) -> dict[str, Tensor]:
    """Return by their names the buffers that training may change: averages of normalization."""
    stored = model.state_dict()
    return {k: v for k, v in model.named_buffers() if k in stored and v.is_floating_point()}


def depends_on_batch(model: nn.Module) -> bool:
    """Tell whether a layer draws or takes statistics over the batch.

    Then features must not be computed once and used again.
    """
    return any(isinstance(module, Dropout | BatchNorm) for module in model.modules())
