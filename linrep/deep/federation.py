"""Clients, a network and local SGD on a device: what methods are written with.

Axes are those of :mod:`linrep.deep.state`.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.random import SeedSequence
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.func import vmap
from torch.nn.utils.rnn import pad_sequence

from linrep._lib import validation as check
from linrep.deep import features, layers, training
from linrep.deep.data import FederatedData
from linrep.deep.devices import read_device
from linrep.deep.samples import Samples
from linrep.deep.state import Clients, State, expand
from linrep.deep.training import SGD, Objective, Parameters, Phase, belongs, loss
from linrep.deep.traits import in_parts, stacks, steps_together
from linrep.problems.random import keyed

DTYPES = {"float32": torch.float32, "float64": torch.float64}


class Federation(Samples):
    """Clients' data, a network and settings of local SGD on a device.

    Parameters
    ----------
    data : FederatedData
        Samples of the clients.
    model : callable or Module
        ``model() -> Module`` makes the network with new weights; a Module is copied, weights
        included.
    sgd : SGD
        Of all local training that does not say otherwise.
    seed : int or SeedSequence
        Root of the streams of weights, participants, batches and dropout.
    device : str
        "auto" takes that of the environment variable LINREP_DEVICE, else CUDA if there is one.
    dtype : {"float32", "float64"}
    chunk : int
        Most clients trained or held at once.
    cache : bool
        Compute features once where only heads move and this is exact.

    Attributes
    ----------
    parameters, frozen, buffers : tuple of str
        Names of the parameters that may move, of those that torch would not differentiate, and of
        running statistics.
    in_parts : bool
        Whether the network is a :class:`linrep.deep.models.Model`, whose outputs are what its head
        makes of its representation; without side information.
    stacks, together : bool
        Whether clients could be trained together, and whether they are. They are where the network
        is made of layers that ``torch.func`` is known to know, but on a processor only up to
        200,000 parameters, beyond which it is slower; results are the same up to rounding.
    """

    def __init__(
        self,
        data: FederatedData,
        model: Callable[[], nn.Module] | nn.Module,
        *,
        sgd: SGD | None = None,
        seed: int | SeedSequence = 0,
        device: str = "auto",
        dtype: str = "float32",
        chunk: int = 64,
        cache: bool = True,
    ):
        self.sgd = SGD() if sgd is None else sgd
        self.seed = seed if isinstance(seed, SeedSequence) else SeedSequence(seed)
        dtype = check.choice("dtype", dtype, DTYPES)
        super().__init__(data, read_device(device), DTYPES[dtype])
        self.chunk = check.integer("chunk", chunk, minimum=1)
        self.cache = check.instance("cache", cache, bool)
        self.samples_trained = 0  # passes of a sample through a step, for throughput
        make = partial(copy.deepcopy, model) if isinstance(model, nn.Module) else model
        with layers.seeded(int(keyed(self.seed, "start").integers(2**63))):
            made = layers.converted(make())
        self.model = made.to(self.device, self.dtype).train()
        values = dict(self.model.named_parameters()) | layers.statistics(self.model)
        self._starts = {name: value.detach().clone() for name, value in values.items()}
        named = dict(self.model.named_parameters())
        self.buffers = tuple(name for name in self._starts if name not in named)
        self.frozen = tuple(name for name, value in named.items() if not value.requires_grad)
        self.parameters = tuple(name for name in named if name not in self.frozen)
        if getattr(self.model, "side_information", False) and not self.side.shape[-1]:
            raise ValueError("data must have side information of clients for this network")
        self.in_parts, self.stacks = in_parts(self.model), stacks(self.model)
        self.together = steps_together(self.model, self.device)

    def __repr__(self):
        count = sum(value.numel() for value in self.model.parameters())
        return (
            f"Federation({self.n} clients, a {type(self.model).__name__} of {count} parameters on "
            f"{self.device.type})"
        )

    def start(self, personal: Sequence[str] = (), *, all_personal: bool = False) -> State:
        """Return the state before the first round; clients start from the same weights.

        Parameters
        ----------
        personal : sequence of str
            Blocks that stay with the clients.
        all_personal : bool
            Everything does.
        """
        training.check_blocks(personal, tuple(self._starts))
        shared, mine = {}, dict(self._starts)
        for name in self._starts if not all_personal else ():
            if not belongs(name, personal):
                shared[name] = mine.pop(name).clone()
        return State(shared, {k: v.clone() for k, v in expand(mine, self.all_clients).items()})

    # Clients of a round

    def sample(self, purpose: str, round: int, count: int) -> Clients:
        """Return clients of a round, (count,), without replacement and in increasing order.

        Parameters
        ----------
        purpose : str
            Names the stream that is drawn from.
        round : int
            Its number.
        count : int
            Clients c in it, at most n.
        """
        if count == self.n:
            return self.all_clients
        return np.sort(keyed(self.seed, purpose, round).choice(self.n, count, replace=False))

    @property
    def all_clients(self) -> Clients:
        """Every client, (n,)."""
        return np.arange(self.n)

    def parts(self, clients: Clients) -> Iterator[Clients]:
        """Yield clients in parts of at most `chunk`.

        Parameters
        ----------
        clients : ndarray of int, shape (c,)
        """
        for begin in range(0, len(clients), self.chunk):
            yield clients[begin : begin + self.chunk]

    def features(
        self, shared: Parameters, own: Parameters, part: Clients
    ) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield the representation of each client's training samples, and their labels.

        Parameters
        ----------
        shared, own : dict of str to Tensor, shapes (...) and (c, ...)
            The representation's parameters, together.
        part : ndarray of int, shape (c,)
            Clients.
        """
        self.model.eval()
        picked = self.pick("train", part)
        seen = self._features(shared, own, part, picked)
        for k, count in enumerate(picked.counts):
            yield seen[k, :count], picked.y[k, :count]

    # Local work

    def train(
        self,
        shared: Parameters,
        own: Parameters,
        part: Clients,
        phases: Sequence[Phase],
        *,
        round: int,
        objective: Objective = loss,
        context: Any = None,
        purpose: str = "batches",
    ) -> Parameters:
        """Return the clients' own values, (c, ...), after the phases of a round.

        Parameters
        ----------
        shared, own : dict of str to Tensor, shapes (...) and (c, ...)
            Where the clients start: together, all that the objective needs. What moves is among
            the results whatever it was before.
        part : ndarray of int, shape (c,)
            The clients.
        phases : sequence of Phase
            Done in order.
        round : int
            With the seed, the client and the place of the phase, key of the batches.
        objective, context : callable, mapping of Tensors (c, ...)
            See :data:`linrep.deep.training.Objective`.
        purpose : str
            Of the batches, for a method that trains twice in a round.
        """
        shared, own = dict(shared), dict(own)
        for number, phase in enumerate(phases):
            named = phase.trained([*shared, *own])
            trained = tuple(name for name in named if name not in self.frozen)
            if not trained:
                continue
            sgd = self.sgd if phase.lr is None else replace(self.sgd, lr=phase.lr)
            streams = [keyed(self.seed, purpose, round, number, int(client)) for client in part]
            batches = training.schedule(
                self.counts("train", part), streams,
                batch_size=sgd.batch_size, epochs=phase.epochs, steps=phase.steps,
            )  # fmt: skip
            new = self._run(shared, own, part, trained, batches, sgd, objective, context or {})
            for name, value in new.items():
                shared.pop(name, None)
                own[name] = value
        return own

    def _run(self, shared, own, part, trained, batches, sgd, objective, context):
        """Return what moves in a phase, (c, ...), with the running statistics of its blocks."""
        self.model.train()
        picked = self.pick("train", part)
        moving = tuple(name for name in trained if name not in self.buffers)
        everything = expand(shared, part) | own
        # Without draws and statistics over the batch, features are those of every step.
        exact = self.in_parts and self.stacks and sgd.augment is None
        exact = exact and all(belongs(name, ("head",)) for name in moving)
        gradient, seen = None, None
        if self.cache and exact and not layers.depends_on_batch(self.model.representation):
            seen = self._features(shared, own, part, picked)
            everything = {n: v for n, v in everything.items() if belongs(n, ("head",))}
            if objective is loss and features.linear_head(self.model):
                gradient = features.head_gradient
        buffers = {name: everything.pop(name) for name in self.buffers if name in everything}
        position = torch.as_tensor(batches.position, device=self.device)
        row_of = torch.arange(len(part), device=self.device).unsqueeze(1)

        def fetch(t, rows):
            at = row_of[rows], position[rows, t]
            if seen is not None:
                return seen[at], picked.y[at]
            index, x = picked.places[at], None
            if sgd.augment is not None:
                sizes, keys = batches.weight[rows, t].sum(-1), batches.key[rows, t]
                x = self._augmented(sgd.augment, index, sizes, keys)
            return self.see(index, x), picked.y[at]

        self.samples_trained += int(batches.weight.sum())
        work = training.Work(
            model=self.model,
            start=everything,
            buffers=buffers,
            trained=moving,
            batches=batches,
            fetch=fetch,
            z=picked.z,
            objective=objective,
            context=context,
            sgd=sgd,
            from_features=seen is not None,
            gradient=gradient,
            draws=not self.stacks,
        )
        # Heads on features are small, and have a closed form: together is faster everywhere.
        together = self.together or gradient is not None
        step = training.train_together if together else training.train_one_by_one
        # Running statistics move with their block: those of a frozen one stay as they were.
        return {name: value for name, value in step(work).items() if name in trained}

    def _augmented(self, augment, index, sizes, keys):
        """Return samples (K, b, ...) as `augment` changes them, each worker's by its own draws."""
        x = self.x[index]
        for row, size, key in zip(x, sizes, keys, strict=True):
            if not size:
                continue
            samples = row[:size]
            with layers.seeded(int(key) ^ 1, self.device):  # the network itself draws from key
                changed = augment(samples)
            if changed.shape != samples.shape or changed.dtype != samples.dtype:
                raise ValueError(
                    f"augment must keep {samples.dtype} of shape {tuple(samples.shape)}, it "
                    f"returned {changed.dtype} of shape {tuple(changed.shape)}"
                )
            samples.copy_(changed)
        return x

    def _features(self, shared, own, part, picked):
        """Return features (K, m, ...) of the workers' samples, each of which is passed once."""
        module, result = self.model.representation, None
        places, real = picked.places, picked.real
        params = training.block(expand(shared, part) | own, "representation")
        # As many workers have the same representation: all of them, or each its own.
        alike = 1 if training.block(own, "representation") else len(part)
        for k in range(0, len(part), alike):
            rows = slice(k, k + alike)
            x = self.see(places[rows][real[rows]])
            mine = {name: value[k] for name, value in params.items()}
            passed = features.in_pieces(module, mine, x)
            if result is None:
                result = passed.new_zeros((*places.shape, *passed.shape[1:]), dtype=self.dtype)
            result[rows][real[rows]] = passed.to(self.dtype)
        return result

    # Evaluation

    def evaluate(self, shared: Parameters, own: Parameters, part: Clients) -> dict[str, NDArray]:
        """Return right answers and mean loss of clients' models on their test samples.

        Parameters
        ----------
        shared, own : dict of str to Tensor, shapes (...) and (c, ...)
            The models, together.
        part : ndarray of int, shape (c,)
            The clients.

        Returns
        -------
        dict of str to ndarray, shape (c,)
            ``correct``, ``loss`` and ``size``; the loss of a client without samples is NaN.
        """
        self.model.eval()
        picked = self.pick("test", part)
        y, tested = picked.y, picked.real
        outputs = self._outputs(shared, own, part, picked)
        losses = training.sample_loss(outputs.flatten(0, 1), y.flatten(0, 1)).reshape(tested.shape)
        size = tested.sum(1)
        correct = torch.full_like(losses[:, 0], torch.nan)
        if not y.is_floating_point():
            correct = ((outputs.argmax(-1) == y) & tested).sum(1)
        loss = torch.where(tested, losses, 0.0).sum(1) / size
        results = {"correct": correct, "loss": loss, "size": size}
        return {k: v.cpu().double().numpy() for k, v in results.items()}

    def _outputs(self, shared, own, part, picked):
        """Return outputs (K, m, classes) of the workers' samples, without gradients."""
        params = expand(shared, part) | own
        # With a representation that clients share, one pass over all their samples.
        once = self.in_parts and not training.block(own, "representation")
        if once:
            seen = self._features(shared, own, part, picked)
            params = {name: value for name, value in params.items() if belongs(name, ("head",))}

        network = training.Network(self.model, {}, from_features=once)

        def call(params, x, z):
            return network(params, training.Batch(x, x, x, z))

        def inputs(k, columns):
            if once:
                return seen[k, columns]
            return self.see(picked.places[k, columns])

        with torch.no_grad():
            if self.together or (once and features.linear_head(self.model)):
                width, every = max(1, features.SAMPLES_AT_ONCE // len(part)), slice(None)
                begins = range(0, picked.places.shape[1], width)
                pieces = (inputs(every, slice(begin, begin + width)) for begin in begins)
                return torch.cat([vmap(call)(params, piece, picked.z) for piece in pieces], 1)
            rows = []
            for k, count in enumerate(picked.counts):
                mine = {name: value[k] for name, value in params.items()}
                rows.append(call(mine, inputs(k, slice(max(1, count))), picked.z[k]))
            return pad_sequence(rows, batch_first=True)
