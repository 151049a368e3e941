"""Local SGD of many clients at once: named blocks, one schedule of batches, two engines.

A *worker* is a client of one federation in one round. Everything that differs between workers has
a first axis of length K: parameters, batches, and what else an objective needs. Engines differ in
how they get from worker to worker, in nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap
from torch.nn import functional as F

from linrep import _display as show
from linrep import _validation as check
from linrep.deep import layers

Parameters = dict[str, Tensor]


@dataclass(frozen=True)
class SGD:
    """Stochastic gradient descent with momentum, which starts anew in every phase.

    Attributes
    ----------
    lr : float
        Step size.
    momentum, weight_decay : float
        As in torch: v <- momentum v + g + weight_decay θ; θ <- θ - lr v.
    batch_size : int
        The last batch of an epoch may be smaller.
    """

    lr: float = 0.01
    momentum: float = 0.0
    weight_decay: float = 0.0
    batch_size: int = 10

    def __post_init__(self):
        check.real("lr", self.lr, above=0.0)
        check.real("momentum", self.momentum, minimum=0.0)
        check.real("weight_decay", self.weight_decay, minimum=0.0)
        check.integer("batch_size", self.batch_size, minimum=1)


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
    epochs: int = 1
    steps: int | None = None
    lr: float | None = None

    def __post_init__(self):
        check.integer("epochs", self.epochs, minimum=0)
        if self.steps is not None:
            check.integer("steps", self.steps, minimum=0)
        if self.lr is not None:
            check.real("lr", self.lr, above=0.0)

    def trained(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return the names of what moves.

        Parameters
        ----------
        names : sequence of str
            Of all parameters and statistics.

        Raises
        ------
        ValueError
            If there is no such block.
        """
        check_blocks((*self.blocks, *self.frozen), names)
        moving = names if not self.blocks else [n for n in names if belongs(n, self.blocks)]
        return tuple(name for name in moving if not belongs(name, self.frozen))


def belongs(name: str, blocks: Sequence[str]) -> bool:
    """Tell whether a parameter is in one of the blocks.

    Parameters
    ----------
    name : str
        Of the parameter.
    blocks : sequence of str
        Names or beginnings of names, as in :class:`Phase`.
    """
    return any(name == block or name.startswith(f"{block}.") for block in blocks)


def check_blocks(blocks: Sequence[str], names: Sequence[str]) -> None:
    """Raise an error if a block names no parameter.

    Parameters
    ----------
    blocks : sequence of str
    names : sequence of str
        All parameters.

    Raises
    ------
    ValueError
        If a block names none.
    """
    for block in blocks:
        if not any(belongs(name, (block,)) for name in names):
            parts = (name.split(".") for name in names)
            known = sorted({".".join(p[:depth]) for p in parts for depth in range(1, len(p) + 1)})
            raise ValueError(f"no block {block!r} in this model; it has {', '.join(known)}")


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

    def _call(self, module, prefix, params, *inputs):
        state = {
            name.removeprefix(prefix): value
            for name, value in {**params, **self.buffers}.items()
            if name.startswith(prefix)
        }
        result = functional_call(module, state, inputs)
        self.buffers = {
            name: state[name.removeprefix(prefix)] if name.startswith(prefix) else value
            for name, value in self.buffers.items()
        }
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
        inputs = self._inputs(batch)
        return self._call(self._model.representation, "representation.", params, *inputs)

    def head(self, params: Parameters, features: Tensor) -> Tensor:
        """Return what the head makes of features.

        Parameters
        ----------
        params : dict of str to Tensor
        features : Tensor, shape (b, ...)
        """
        return self._call(self._model.head, "head.", params, features)

    def __call__(self, params: Parameters, batch: Batch) -> Tensor:
        """Return the outputs of the samples, (b, classes)."""
        if self._from_features:
            return self.head(params, batch.x)
        return self._call(self._model, "", params, *self._inputs(batch))


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

    Returns
    -------
    Tensor, shape (b,)
    """
    if y.is_floating_point():
        return 0.5 * (outputs.reshape(y.shape) - y) ** 2
    return F.cross_entropy(outputs, y, reduction="none")


def travelled(steps: NDArray[np.int64], sgd: SGD) -> NDArray[np.float64]:
    """Return by how many step sizes SGD moves, at least one step, along a constant gradient.

    Parameters
    ----------
    steps : ndarray of int
        Numbers of steps, at least 1.
    sgd : SGD
        Its momentum is read.
    """
    ahead = np.cumsum(sgd.momentum ** np.arange(steps.max(initial=1)))
    return np.cumsum(ahead)[steps - 1]


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
    """Which samples K workers see in T steps.

    Attributes
    ----------
    position : ndarray of int64, shape (K, T, b)
        Place of a sample among the client's own; 0 where there is none.
    weight : ndarray of bool, shape (K, T, b)
        False for padding.
    key : ndarray of int64, shape (K, T)
        For what layers draw.
    """

    position: NDArray[np.int64]
    weight: NDArray[np.bool_]
    key: NDArray[np.int64]

    @property
    def active(self) -> NDArray[np.bool_]:
        """Steps that a worker takes, (K, T): its first ones, since clients differ in size."""
        return self.weight[:, :, 0]


def schedule(
    sizes: Sequence[int],
    streams: Sequence[np.random.Generator],
    *,
    batch_size: int,
    epochs: int = 1,
    steps: int | None = None,
) -> Schedule:
    """Return the batches of workers with so many samples, each from a stream of its own.

    An epoch is one permutation of the samples; a batch never holds samples of two epochs.

    Parameters
    ----------
    sizes : sequence of int
        Samples of each worker.
    streams : sequence of numpy.random.Generator
        One for each worker.
    batch_size : int
    epochs : int, default 1
        Passes over the samples.
    steps : int, optional
        Number of batches instead, over as many passes as they take.

    Returns
    -------
    Schedule
    """
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
    """Everything K workers need for a phase.

    Attributes
    ----------
    model : Module
        In training mode.
    start : dict of str to Tensor, shapes (K, ...)
        Parameters; may be expanded views where workers share them.
    buffers : dict of str to Tensor, shapes (K, ...)
        What layers keep and the trainer does not set.
    trained : tuple of str
        Names of the parameters that move.
    batches : Schedule
    fetch : callable
        ``fetch(position, rows) -> (x, y)``: the samples at positions (..., b) of the workers `rows`
        (a slice), on the device.
    z : Tensor, shape (K, p)
        Side information; p may be 0.
    objective : callable
    context : mapping of Tensors, shapes (K, ...)
        What else the objective sees.
    sgd : SGD
    from_features : bool
        x are features, and only the head is run.
    gradient : callable, optional
        ``gradient(params, batch) -> gradients`` for all workers at once, in place of autograd.
    """

    model: nn.Module
    start: Parameters
    buffers: Parameters
    trained: tuple[str, ...]
    batches: Schedule
    fetch: Callable[[Tensor, slice], tuple[Tensor, Tensor]]
    z: Tensor
    objective: Objective
    context: Any
    sgd: SGD
    from_features: bool = False
    gradient: Callable[[Parameters, Batch], Parameters] | None = None

    def value(self, params, frozen, buffers, batch, context):
        """Return a worker's objective at a batch, and its buffers after it.

        Parameters
        ----------
        params, frozen : dict of str to Tensor
            The parameters that move, and those that do not.
        buffers : dict of str to Tensor
            What layers keep, and what they must know of this step.
        batch : Batch
        context
            What else the objective sees.
        """
        network = Network(self.model, buffers, self.from_features)
        return self.objective(network, {**frozen, **params}, batch, context), network.buffers


def _set_per_batch(work, buffers, key, weight):
    """Return buffers with what layers must know of this step: keys of draws, and the padding."""
    names = layers.per_batch(work.model)
    prefix = "head." if work.from_features else ""
    set_now = {name: key for name in names["key"]} | {name: weight for name in names["mask"]}
    return {**buffers, **{n: value for n, value in set_now.items() if n.startswith(prefix)}}


def _split(work):
    trained = {name: work.start[name] for name in work.trained}
    frozen = {name: value for name, value in work.start.items() if name not in trained}
    return trained, frozen


def train_together(work: Work) -> tuple[Parameters, Parameters]:
    """Return parameters and buffers after the phase, all workers stepping at once (torch.func).

    Parameters
    ----------
    work : Work
    """
    trained, frozen = _split(work)
    trained = {name: value.clone() for name, value in trained.items()}
    device = work.z.device
    dtype = next(iter(work.start.values())).dtype
    position = torch.as_tensor(work.batches.position, device=device)
    weights = torch.as_tensor(work.batches.weight, dtype=dtype, device=device)
    keys = torch.as_tensor(work.batches.key, device=device)
    active = work.batches.active
    per_worker = vmap(grad(work.value, has_aux=True))
    buffers, velocity = work.buffers, _at_rest(trained, work.sgd)
    for t in range(position.shape[1]):
        x, y = work.fetch(position[:, t], slice(None))
        batch = Batch(x, y, weights[:, t], work.z)
        if work.gradient is None:
            seen = _set_per_batch(work, buffers, keys[:, t], weights[:, t])
            gradients, noted = per_worker(trained, frozen, seen, batch, work.context)
            noted = {name: noted[name] for name in buffers}
        else:
            gradients, noted = work.gradient({**frozen, **trained}, batch), buffers
        moving = None if active[:, t].all() else torch.as_tensor(active[:, t], device=device)
        buffers = _keep(noted, buffers, moving)
        for name, value in trained.items():
            _step(value, gradients[name], velocity.get(name), work.sgd, moving)
    return {**work.start, **trained}, buffers


def train_one_by_one(work: Work) -> tuple[Parameters, Parameters]:
    """Return parameters and buffers after the phase, one worker after another (plain autograd).

    Parameters
    ----------
    work : Work
    """
    device = work.z.device
    dtype = next(iter(work.start.values())).dtype
    trained, frozen = _split(work)
    results = {name: value.clone() for name, value in trained.items()}
    kept = {name: value.clone() for name, value in work.buffers.items()}
    for worker, active in enumerate(work.batches.active):
        own = {name: value[worker].clone().requires_grad_() for name, value in trained.items()}
        fixed = {name: value[worker] for name, value in frozen.items()}
        buffers = {name: value[worker] for name, value in work.buffers.items()}
        context = _worker(work.context, worker)
        position = torch.as_tensor(work.batches.position[worker], device=device)
        weights = torch.as_tensor(work.batches.weight[worker], dtype=dtype, device=device)
        velocity = _at_rest(own, work.sgd)
        for t in range(int(active.sum())):
            x, y = work.fetch(position[None, t], slice(worker, worker + 1))
            batch = Batch(x[0], y[0], weights[t], work.z[worker])
            key = torch.as_tensor(work.batches.key[worker, t], device=device)
            value, noted = work.value(
                own, fixed, _set_per_batch(work, buffers, key, weights[t]), batch, context
            )
            gradients = torch.autograd.grad(value, list(own.values()), materialize_grads=True)
            buffers = {name: noted[name].detach() for name in buffers}
            with torch.no_grad():
                for (name, param), gradient in zip(own.items(), gradients, strict=True):
                    _step(param, gradient, velocity.get(name), work.sgd)
        for name, value in own.items():
            results[name][worker] = value.detach()
        for name, value in buffers.items():
            kept[name][worker] = value
    return {**work.start, **results}, kept


ENGINES = {"loop": train_one_by_one, "vmap": train_together}


def _at_rest(trained, sgd):
    """Return velocities of zero, none without momentum."""
    if not sgd.momentum:
        return {}
    return {name: torch.zeros_like(value) for name, value in trained.items()}


def _step(value, gradient, velocity, sgd, moving=None):
    """Take a step in place, of the workers that are moving; the gradient is left as it is."""
    if sgd.weight_decay:
        gradient = torch.add(gradient, value, alpha=sgd.weight_decay)
    if velocity is not None:
        gradient = velocity.mul_(sgd.momentum).add_(gradient)
    if moving is not None:
        gradient = _where(moving, gradient, torch.zeros_like(gradient))
    value.sub_(gradient, alpha=sgd.lr)


def _where(moving, new, old):
    if moving is None:
        return new
    return torch.where(moving.reshape(-1, *[1] * (new.ndim - 1)), new, old)


def _keep(new: Mapping[str, Tensor], old: Parameters, moving) -> Parameters:
    return {name: _where(moving, new[name], value) for name, value in old.items()}


def _worker(context, worker):
    """Return one worker's part of a nested mapping of tensors."""
    if isinstance(context, Mapping):
        return {name: _worker(value, worker) for name, value in context.items()}
    return context[worker]
