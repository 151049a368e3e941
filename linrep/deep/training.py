"""Local SGD of many clients at once: named blocks, one schedule of batches, stepped together.

A *worker* is a client of one federation in one round. Everything that differs between workers has
a first axis of length K: parameters, batches, and what else an objective needs. Workers that are
trained one after another, as large networks are on a processor, differ in rounding alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap
from torch.nn import functional as F
from torch.utils._pytree import tree_map

from linrep._lib import display as show
from linrep._lib import validation as check
from linrep.deep import layers

__all__ = ["SGD", "Batch", "Network", "Phase", "loss", "sample_loss"]

Parameters = dict[str, Tensor]

#: Batches of at most so many places are padded to their size: recorded rows are of such batches,
#: and sums over fewer places are rounded otherwise.
PADDED = 256


def setting(default: Any, kind: Callable[..., Any] = check.real, **limits: Any) -> Any:
    """Return a dataclass's field that :func:`check_settings` looks at, unless None is its default.

    `kind` is a check of `linrep._lib.validation`, and `limits` its arguments.
    """
    return field(default=default, metadata={"check": partial(kind, **limits)})


def or_none(name: str, value: Any, **limits: Any) -> int | None:
    """Check a whole number that may be None."""
    return None if value is None else check.integer(name, value, **limits)


def check_settings(instance: Any) -> None:
    """Raise an error if a setting of a dataclass, or of those it derives from, is out of range."""
    for kind in type(instance).__mro__:
        for each in getattr(kind, "__dataclass_fields__", {}).values():
            value = getattr(instance, each.name)
            if "check" in each.metadata and not (value is None and each.default is None):
                each.metadata["check"](each.name, value)


@dataclass(frozen=True)
class SGD:
    """Local steps: gradient descent with momentum, which restarts in every phase.

    Attributes
    ----------
    lr : float
        Step size.
    momentum, weight_decay : float
        As in torch: v <- momentum v + g + weight_decay θ; θ <- θ - lr v.
    batch_size : int or None
        The last batch of an epoch may be smaller; None for all samples of a client in one.
    augment : callable, optional
        ``augment(x)`` changes the samples (b, ...) of a step before images are normalized, and
        keeps their shape and type. It may draw from torch's generator, which is seeded for each
        client and step.
    """

    lr: float = setting(0.01, above=0.0)
    momentum: float = setting(0.0, minimum=0.0)
    weight_decay: float = setting(0.0, minimum=0.0)
    batch_size: int | None = setting(10, or_none, minimum=1)
    augment: Callable[[Tensor], Tensor] | None = None

    def __post_init__(self):
        check_settings(self)
        if self.augment is not None and not callable(self.augment):
            raise TypeError(f"augment must be a function, got {self.augment!r}")

    def batches(self, sizes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how many batches an epoch of clients of these sizes has.

        Parameters
        ----------
        sizes : ndarray of int
        """
        return np.sign(sizes) if self.batch_size is None else -(-sizes // self.batch_size)

    @property
    def settings(self) -> dict[str, Any]:
        """What is set, a function by its name."""
        given = {k: v for k, v in vars(self).items() if v is not None or k == "batch_size"}
        return {k: name_of(value) if callable(value) else value for k, value in given.items()}


def name_of(function: Callable) -> str:
    """Return the name of a function, of a partial one with its arguments."""
    if isinstance(function, partial):
        given = [*map(repr, function.args), *(f"{k}={v!r}" for k, v in function.keywords.items())]
        return f"{name_of(function.func)}({', '.join(given)})"
    return getattr(function, "__qualname__", None) or type(function).__qualname__


@dataclass(frozen=True)
class Phase:
    """A part of a client's round: the blocks that move, and for how long.

    Attributes
    ----------
    blocks : tuple of str
        Names or beginnings of names of parameters ("head", "representation.conv1"); the others are
        frozen. The empty tuple stands for all.
    frozen : tuple of str
        Blocks that do not move all the same.
    epochs : int
        Passes over the client's samples.
    steps : int, optional
        Number of batches instead, over as many passes as they take.
    lr : float, optional
        Instead of the run's.
    """

    blocks: tuple[str, ...] = ()
    frozen: tuple[str, ...] = ()
    epochs: int = setting(1, check.integer, minimum=0)
    steps: int | None = setting(None, check.integer, minimum=0)
    lr: float | None = setting(None, above=0.0)

    def __post_init__(self):
        check_settings(self)

    def trained(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return the names of what moves.

        Parameters
        ----------
        names : sequence of str
            Of all parameters and statistics.
        """
        check_blocks((*self.blocks, *self.frozen), names)
        moving = names if not self.blocks else [n for n in names if belongs(n, self.blocks)]
        return tuple(name for name in moving if not belongs(name, self.frozen))


def belongs(name: str, blocks: Sequence[str]) -> bool:
    """Tell whether a parameter is in one of the blocks."""
    return any(name == block or name.startswith(f"{block}.") for block in blocks)


def block(params: Parameters, name: str) -> Parameters:
    """Return the parameters of one child of the model, if any, by the names they have in it."""
    return {
        key.removeprefix(f"{name}."): value
        for key, value in params.items()
        if belongs(key, (name,))
    }


def check_blocks(blocks: Sequence[str], names: Sequence[str]) -> None:
    """Raise an error if a block names no parameter."""
    for block in blocks:
        if not any(belongs(name, (block,)) for name in names):
            parts = (name.split(".") for name in names)
            known = sorted({".".join(p[:depth]) for p in parts for depth in range(1, len(p) + 1)})
            hint = "; head= of a run names another" if block == "head" else ""
            raise ValueError(f"no block {block!r} in this model; it has {', '.join(known)}{hint}")


class Batch(NamedTuple):
    """Samples of one step.

    Attributes
    ----------
    x, y : Tensor, shapes (b, ...) and (b,)
        What the network sees, and labels.
    weight : Tensor, shape (b,)
        1 for samples and 0 for padding.
    z : Tensor, shape (p,)
        Side information of the client; p may be 0.
    """

    x: Tensor
    y: Tensor
    weight: Tensor
    z: Tensor

    def __repr__(self):
        return show.line(self)

    def mean(self, values: Tensor) -> Tensor:
        """Return the mean over the samples, 0 if there is none.

        Parameters
        ----------
        values : Tensor, shape (b,)
        """
        return (self.weight * values).sum() / self.weight.sum().clamp(min=1.0)


class Network:
    """A model as a function of parameters, as objectives see it.

    What layers write down on the way, such as running statistics, is kept in `buffers`.

    Parameters
    ----------
    model : nn.Module
        With children ``representation`` and ``head`` where these are run apart.
    buffers : dict of str to Tensor
    from_features : bool, default False
        Whether a batch's x are features, so that only the head is run.
    """

    def __init__(self, model: nn.Module, buffers: Parameters, from_features: bool = False):
        self._model = model
        self._from_features = from_features
        self.buffers = dict(buffers)

    def _call(self, name, params, *inputs):
        prefix = f"{name}." if name else ""
        state = {**params, **{key: value.clone() for key, value in self.buffers.items()}}
        state = block(state, name) if name else state
        result = functional_call(self._model.get_submodule(name), state, inputs)
        noted = {prefix + key: value for key, value in state.items()}
        self.buffers = {key: noted.get(key, value) for key, value in self.buffers.items()}
        return result

    def peek(self, weight: Tensor) -> Network:
        """Return the network restricted to part of the batch's samples; its notes are thrown away.

        Parameters
        ----------
        weight : Tensor, shape (b,)
            1 for the samples that count.
        """
        masks = {name: weight for name in layers.per_batch(self._model)["mask"]}
        masks = {name: value for name, value in masks.items() if name in self.buffers}
        return Network(self._model, self.buffers | masks, self._from_features)

    def _inputs(self, batch):
        side = getattr(self._model, "side_information", False)
        return (batch.x, batch.z) if side else (batch.x,)

    def features(self, params: Parameters, batch: Batch) -> Tensor:
        """Return the representation of the samples, (b, ...).

        Parameters
        ----------
        params : dict of str to Tensor
        batch : Batch
        """
        if self._from_features:
            return batch.x
        return self._call("representation", params, *self._inputs(batch))

    def head(self, params: Parameters, features: Tensor) -> Tensor:
        """Return what the head makes of features.

        Parameters
        ----------
        params : dict of str to Tensor
        features : Tensor, shape (b, ...)
        """
        return self._call("head", params, features)

    def __call__(self, params: Parameters, batch: Batch) -> Tensor:
        """Return the outputs of the samples, (b, classes)."""
        if self._from_features:
            return self.head(params, batch.x)
        return self._call("", params, *self._inputs(batch))


#: ``objective(network, params, batch, context)``: what a worker's steps decrease.
Objective = Callable[[Network, Parameters, Batch, Any], Tensor]


def sample_loss(outputs: Tensor, y: Tensor) -> Tensor:
    """Return the cross entropy of every sample, or half the squared error of real labels.

    Parameters
    ----------
    outputs : Tensor, shape (b, classes)
        One column for real labels.
    y : Tensor, shape (b,)
        Classes, or real labels.
    """
    if y.is_floating_point():
        return 0.5 * (outputs.reshape(y.shape) - y) ** 2
    return F.cross_entropy(outputs, y, reduction="none")


def loss(network: Network, params: Parameters, batch: Batch, context: Any = None) -> Tensor:
    """Return the mean loss of a batch: the objective of all methods that add nothing.

    Parameters
    ----------
    network : Network
    params : dict of str to Tensor
    batch : Batch
    context : optional
        Not read.
    """
    return batch.mean(sample_loss(network(params, batch), batch.y))


@dataclass(frozen=True)
class Schedule:
    """Which of their samples K workers see in T steps, (K, T, b), and keys for what layers draw.

    Padding has the position 0 and the weight False.
    """

    position: NDArray[np.int64]
    weight: NDArray[np.bool_]
    key: NDArray[np.int64]


def schedule(
    sizes: Sequence[int] | NDArray[np.int64],
    streams: Sequence[np.random.Generator],
    *,
    batch_size: int | None,
    epochs: int = 1,
    steps: int | None = None,
) -> Schedule:
    """Return the batches of workers with so many samples, each from a stream of its own.

    An epoch is one permutation of the samples; a batch never holds samples of two epochs. Without a
    size a batch has as many places as the largest worker has samples; with one, no more than that,
    but for `PADDED` of them.
    """
    most = max(1, *sizes)
    batch_size = most if batch_size is None else min(batch_size, max(most, PADDED))
    plans = []
    for size, stream in zip(sizes, streams, strict=True):
        per_epoch = -(-size // batch_size)
        count = epochs * per_epoch if steps is None else steps
        passes = -(-count // per_epoch) if per_epoch else 0
        rows = np.full((passes, per_epoch * batch_size), -1, dtype=np.int64)
        for row in rows:
            row[:size] = stream.permutation(size)
        batches = rows.reshape(-1, batch_size)[:count]
        plans.append((batches, stream.integers(2**62, size=len(batches))))
    longest = max((len(rows) for rows, _ in plans), default=0)
    position = np.full((len(plans), longest, batch_size), -1, dtype=np.int64)
    key = np.zeros((len(plans), longest), dtype=np.int64)
    for worker, (rows, keys) in enumerate(plans):
        position[worker, : len(rows)] = rows
        key[worker, : len(rows)] = keys
    return Schedule(np.maximum(position, 0), position >= 0, key)


@dataclass(frozen=True)
class Work:
    """Everything K workers need for a phase; tensors are (K, ...), views where workers share them.

    ``fetch(step, rows)`` returns the samples of a step, with padding, of a slice of the workers;
    a `gradient`, if there is one, is that of all workers at once, in place of autograd.
    """

    model: nn.Module
    start: Parameters
    buffers: Parameters
    trained: tuple[str, ...]
    batches: Schedule
    fetch: Callable[[int, slice], tuple[Tensor, Tensor]]
    z: Tensor
    objective: Objective
    context: Any
    sgd: SGD
    from_features: bool = False
    gradient: Callable[[Parameters, Batch], Parameters] | None = None
    draws: bool = False

    def value(self, params, frozen, buffers, batch, context):
        """Return a worker's objective at a batch, and its buffers after it."""
        network = Network(self.model, buffers, self.from_features)
        return self.objective(network, {**frozen, **params}, batch, context), network.buffers


def _split(work):
    trained = {name: work.start[name] for name in work.trained}
    frozen = {name: value for name, value in work.start.items() if name not in trained}
    return trained, frozen


def _per_batch(work):
    """Return a function of key and padding that gives what layers must know of a step."""
    names = layers.per_batch(work.model)
    prefix = "head." if work.from_features else ""
    names = {kind: [n for n in each if n.startswith(prefix)] for kind, each in names.items()}
    return lambda key, weight: (
        dict.fromkeys(names["key"], key) | dict.fromkeys(names["mask"], weight)
    )


def train_together(work: Work) -> Parameters:
    """Return what has moved, and buffers, after all workers stepped at once (torch.func)."""
    trained, frozen = _split(work)
    trained = {name: value.clone() for name, value in trained.items()}
    device = work.z.device
    dtype = next(iter(work.start.values())).dtype
    weights = torch.as_tensor(work.batches.weight, dtype=dtype, device=device)
    keys = torch.as_tensor(work.batches.key, device=device)
    active = work.batches.weight[:, :, 0]  # clients differ in size: the first steps of each
    gradient: Callable[..., Any] = work.gradient or vmap(grad(work.value, has_aux=True))
    set_now, step, buffers = _per_batch(work), stepper(work.sgd, trained), work.buffers
    for t in range(weights.shape[1]):
        x, y = work.fetch(t, slice(None))
        batch = Batch(x, y, weights[:, t], work.z)
        if work.gradient is None:
            seen = buffers | set_now(keys[:, t], weights[:, t])
            gradients, noted = gradient(trained, frozen, seen, batch, work.context)
        else:
            gradients, noted = gradient({**frozen, **trained}, batch), buffers
        moving = None if active[:, t].all() else torch.as_tensor(active[:, t], device=device)
        buffers = {name: where(moving, noted[name], value) for name, value in buffers.items()}
        step(gradients, moving)
    return trained | buffers


def train_one_by_one(work: Work) -> Parameters:
    """Return what has moved, and buffers, after one worker after another (plain autograd)."""
    device = work.z.device
    trained, frozen = _split(work)
    results = {name: value.clone() for name, value in trained.items()}
    results |= {name: value.clone() for name, value in work.buffers.items()}
    everyone = torch.ones(1, dtype=next(iter(work.start.values())).dtype, device=device)
    set_now, counts = _per_batch(work), work.batches.weight.sum(-1)
    for worker, sizes in enumerate(counts):
        params = {name: value[worker].clone().requires_grad_() for name, value in trained.items()}
        fixed = {name: value[worker] for name, value in frozen.items()}
        buffers = {name: value[worker] for name, value in work.buffers.items()}
        context = tree_map(lambda value, at=worker: value[at], work.context)
        step = stepper(work.sgd, params)
        for t, size in enumerate(sizes[sizes > 0].tolist()):
            x, y = work.fetch(t, slice(worker, worker + 1))
            # Without the padding, so that layers need not know of it.
            batch = Batch(x[0, :size], y[0, :size], everyone.expand(size), work.z[worker])
            number = int(work.batches.key[worker, t])
            seen = buffers | set_now(torch.tensor(number, device=device), everyone)
            with layers.seeded(number, device) if work.draws else nullcontext():
                value, noted = work.value(params, fixed, seen, batch, context)
            gradients = torch.autograd.grad(value, list(params.values()), materialize_grads=True)
            buffers = {name: noted[name].detach() for name in buffers}
            with torch.no_grad():
                step(dict(zip(params, gradients, strict=True)))
        for name, value in (params | buffers).items():
            results[name][worker] = value.detach()
    return results


def stepper(sgd: SGD, trained: Parameters) -> Callable[..., None]:
    """Return a function that moves parameters in place along gradients."""
    optimizer = torch.optim.SGD(
        list(trained.values()), lr=sgd.lr, momentum=sgd.momentum, weight_decay=sgd.weight_decay
    )

    def step(gradients, moving=None):
        before = {} if moving is None else {n: value.clone() for n, value in trained.items()}
        for name, value in trained.items():
            value.grad = gradients[name]
        optimizer.step()
        optimizer.zero_grad()  # which results would keep
        for name, value in before.items():  # workers that do not move
            trained[name].copy_(where(moving, trained[name], value))

    return step


def where(chosen: Tensor | None, new: Tensor, old: Tensor) -> Tensor:
    """Return the new values where the first axes are chosen, all of them if that is None."""
    return new if chosen is None else torch.where(beside(chosen, new), new, old)


def beside(values: Tensor, other: Tensor) -> Tensor:
    """Return values of the first axes of another tensor with as many axes as that has."""
    return values.reshape(*values.shape, *[1] * (other.ndim - values.ndim))
