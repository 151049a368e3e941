"""Clients, a network and local SGD on a device: what methods are written with.

Axes are those of :mod:`linrep.deep.state`.
"""

from __future__ import annotations

import copy
import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.random import SeedSequence
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.func import functional_call, vmap
from torch.nn import functional as F
from torch.nn.utils.rnn import pad_sequence

from linrep import _atomic as files
from linrep import _validation as check
from linrep.deep import features, layers
from linrep.deep.data import FederatedData
from linrep.deep.state import Clients, State, expand
from linrep.deep.training import (
    ENGINES,
    SGD,
    Objective,
    Parameters,
    Phase,
    Work,
    belongs,
    check_blocks,
    loss,
    sample_loss,
    schedule,
)
from linrep.random import keyed

_DRAWING = threading.Lock()
DTYPES = {"float32": torch.float32, "float64": torch.float64}
#: Environment variable with the device that "auto" stands for.
DEVICE_VARIABLE = "LINREP_DEVICE"
#: On a processor, networks of more parameters are trained one by one: see `choose_engine`.
LARGEST_TOGETHER = 200_000


def choose_engine(device: torch.device, model: nn.Module) -> str:
    """Return the engine for a network on a device, as `linrep bench deep` has found it faster.

    Stepping together saves the cost of launching operations, which on a processor is most of the
    time for networks of up to `LARGEST_TOGETHER` parameters. The choice never depends on a timing
    there, so that the same run has the same digits everywhere; elsewhere it is "measure".

    Parameters
    ----------
    device : torch.device
    model : nn.Module
        Only its number of parameters matters.
    """
    if device.type != "cpu":
        return "measure"
    size = sum(value.numel() for value in model.parameters())
    return "vmap" if size <= LARGEST_TOGETHER else "loop"


def measured_engine(federation: Federation) -> str:
    """Return the engine that is faster for a network on this device, timed once and stored.

    The choices are in ``linrep/engines.json`` of the user's cache folder: a device, a version of
    torch, a network and a size of batch have one each.

    Parameters
    ----------
    federation : Federation
        Trained for a few steps by either engine, from its start.
    """
    shapes = [tuple(value.shape[1:]) for value in federation.start().shared.values()]
    batch = (federation.sgd.batch_size, *federation.x.shape[1:])
    what = f"{type(federation.model).__name__} {shapes} {batch} {federation.compile}"
    key = f"{describe(federation.device)}, torch {torch.__version__}, {what}"
    store = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    store = store / "linrep" / "engines.json"
    known = json.loads(store.read_text("utf-8")) if store.is_file() else {}
    if known.get(key) not in ENGINES:
        seconds = {}
        for federation.engine in ENGINES:
            for _ in range(2):  # the first warms up
                seconds[federation.engine] = _seconds_of_steps(federation)
        known[key] = min(seconds, key=lambda name: seconds[name])
        store.parent.mkdir(parents=True, exist_ok=True)
        files.write(store, json.dumps(known, indent=1).encode())
    return known[key]


def _seconds_of_steps(federation, steps=5):
    """Return the seconds that a few steps of a part of the clients take."""
    part = next(federation.everyone())
    began = time.perf_counter()
    found = federation.train(federation.start().shared, {}, part, (Phase(steps=steps),), round=0)
    next(iter(found.values())).sum().item()  # waits for an accelerator
    federation.samples_trained = 0
    return time.perf_counter() - began


class Federation:
    """Clients' data, a network and settings of local SGD on a device.

    Parameters
    ----------
    data : FederatedData, or a sequence of them
        One for all seeds, or one for each.
    model : callable or Module
        ``model() -> Module`` makes the network with new weights for each seed; a Module is copied,
        weights included.
    sgd : SGD
        Of all local training that does not say otherwise.
    seeds : sequence of int or SeedSequence
        One for each run.
    device : str
        "auto" takes that of the environment variable LINREP_DEVICE, else CUDA if there is one.
    dtype : {"float32", "float64"}
    engine : {"auto", "loop", "vmap", "measure"}
        How clients are trained, one by one or together: "auto" is "measure" on an accelerator and
        else goes by the network's size, see :func:`choose_engine`; "measure" is the faster one for
        this network on this device, which is timed once and stored, see :func:`measured_engine`.
    chunk : int
        Most clients trained or held at once.
    cache : bool or "auto"
        Compute features once where only heads move: "auto" where this is exact, True raises where
        it is not.
    mixed_precision : bool
        Run networks in bfloat16 where torch deems it safe.
    compile : bool
        Let torch compile the gradient of engine "vmap"; on CUDA with graphs.

    Raises
    ------
    ValueError, TypeError
        If an argument is out of range, or the data of several seeds do not fit together.
    """

    def __init__(
        self,
        data: FederatedData | Sequence[FederatedData],
        model: Callable[[], nn.Module] | nn.Module,
        *,
        sgd: SGD | None = None,
        seeds: Sequence[int | SeedSequence] = (0,),
        device: str = "auto",
        dtype: str = "float32",
        engine: str = "auto",
        chunk: int = 64,
        cache: bool | str = "auto",
        mixed_precision: bool = False,
        compile: bool = False,
    ):
        self.sgd = SGD() if sgd is None else sgd
        self.seeds = [s if isinstance(s, SeedSequence) else SeedSequence(s) for s in seeds]
        if not self.seeds:
            raise ValueError("seeds must hold one at least")
        self.device = read_device(device)
        self.dtype = DTYPES[check.choice("dtype", dtype, DTYPES)]
        self.chunk = check.integer("chunk", chunk, minimum=1)
        if not isinstance(cache, bool):
            check.choice("cache", cache, ("auto",))
        self.cache = cache
        for name, value in (("mixed_precision", mixed_precision), ("compile", compile)):
            if not isinstance(value, bool):
                raise TypeError(f"{name} must be true or false, got {value!r}")
        self.mixed_precision, self.compile = mixed_precision, compile
        self.samples_trained = 0  # passes of a sample through a step, for throughput
        self._load(data)
        starts = []
        for seed in self.seeds:
            self.model = self._make(model, seed)
            starts.append(self._values())
        self._starts = {name: torch.stack([s[name] for s in starts]) for name in starts[0]}
        self.parameters = tuple(name for name, _ in self.model.named_parameters())
        self.buffers = tuple(name for name in self._starts if name not in self.parameters)
        check.choice("engine", engine, ("auto", *ENGINES, "measure"))
        if engine == "auto":
            engine = choose_engine(self.device, self.model)
        self.engine = measured_engine(self) if engine == "measure" else engine

    def __repr__(self):
        count = sum(value.numel() for value in self.model.parameters())
        return (
            f"Federation({self.n} clients, {len(self.seeds)} runs of a {type(self.model).__name__} "
            f"of {count} parameters on {self.device.type}, engine={self.engine!r})"
        )

    # Data and network

    def _load(self, data):
        each = list(data) if isinstance(data, Sequence) else [data]
        for one in each:
            if not isinstance(one, FederatedData):
                raise TypeError(f"data must be FederatedData, got {type(one).__name__}")
        each = each * len(self.seeds) if len(each) == 1 else each
        if len(each) != len(self.seeds):
            raise ValueError(
                f"data must be one or one for each of {len(self.seeds)} seeds, got {len(each)}"
            )
        first = each[0]
        for other in each[1:]:
            shapes = [
                (one.n, one.classes, one.x.shape[1:], one.x.dtype, one.y.dtype, np.shape(one.side))
                for one in (first, other)
            ]
            if shapes[0] != shapes[1]:
                raise ValueError("data of several seeds must agree in clients, classes and shapes")
        self.data = each
        self.n, self.classes = first.n, first.classes
        # Partitions of the same samples share them, unless labels are permuted.
        keys = [(id(one.x), one.y.tobytes()) for one in each]
        kinds = dict(zip(keys, each, strict=True))
        ends = np.cumsum([len(one.x) for one in kinds.values()])
        begins = {
            key: end - len(one.x) for (key, one), end in zip(kinds.items(), ends, strict=True)
        }
        self.x = torch.tensor(np.concatenate([one.x for one in kinds.values()])).to(self.device)
        y = torch.tensor(np.concatenate([one.y for one in kinds.values()]))
        self.y = y.to(self.device, self.dtype if y.is_floating_point() else y.dtype)
        self._places = {
            split: [
                [np.asarray(index) + begins[key] for index in getattr(one, split)]
                for key, one in zip(keys, each, strict=True)
            ]
            for split in ("train", "test")
        }
        self.sizes = {
            split: np.array([[len(index) for index in own] for own in places])
            for split, places in self._places.items()
        }
        self._scale = None
        if first.mean is not None:
            shape = (-1, *[1] * (first.x.ndim - 2))
            moments = [
                torch.stack([torch.as_tensor(getattr(one, name)).reshape(shape) for one in each])
                for name in ("mean", "std")
            ]
            self._scale = tuple(value.to(self.device, self.dtype) for value in moments)
        sides = [np.zeros((self.n, 0)) if one.side is None else one.side for one in each]
        self.side = torch.as_tensor(np.stack(sides)).to(self.device, self.dtype)

    def _make(self, model, seed):
        if isinstance(model, nn.Module):
            made = copy.deepcopy(model)
        else:
            # Layers draw their weights from a generator that all threads share.
            with _DRAWING, torch.random.fork_rng(devices=[]):
                torch.manual_seed(int(keyed(seed, "start").integers(2**63)))
                made = model()
            if not isinstance(made, nn.Module):
                raise TypeError(f"model must make a torch Module, got {type(made).__name__}")
        return layers.converted(made).to(self.device, self.dtype).train()

    def _values(self):
        layers.per_batch(self.model)  # raises where layers would see the padding
        values = dict(self.model.named_parameters()) | {
            name: self.model.get_buffer(name) for name in layers.statistics(self.model)
        }
        return {name: value.detach().clone() for name, value in values.items()}

    def start(self, personal: Sequence[str] = (), *, all_personal: bool = False) -> State:
        """Return the state before the first round; clients start from the same weights.

        Parameters
        ----------
        personal : sequence of str
            Blocks that stay with the clients.
        all_personal : bool
            Everything does.
        """
        check_blocks(personal, self.parameters)
        mine = {
            name: value
            for name, value in self._starts.items()
            if all_personal or belongs(name, personal)
        }
        shared = {name: value.clone() for name, value in self._starts.items() if name not in mine}
        everyone = np.tile(np.arange(self.n), (len(self.seeds), 1))
        return State(shared, {k: v.clone() for k, v in expand(mine, everyone).items()})

    # Clients of a round

    def sample(self, purpose: str, round: int, count: int) -> Clients:
        """Return clients of a round, (S, count), without replacement and in increasing order.

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
            return np.tile(np.arange(self.n), (len(self.seeds), 1))
        draws = (keyed(s, purpose, round).choice(self.n, count, replace=False) for s in self.seeds)
        return np.sort(np.stack(list(draws)), axis=1)

    def everyone(self) -> Iterator[Clients]:
        """Yield all clients, a part at a time."""
        yield from self.parts(np.tile(np.arange(self.n), (len(self.seeds), 1)))

    def parts(self, clients: Clients) -> Iterator[Clients]:
        """Yield clients in parts of at most `chunk` workers.

        Parameters
        ----------
        clients : ndarray of int, shape (S, c)
        """
        width = max(1, self.chunk // len(self.seeds))
        for begin in range(0, clients.shape[1], width):
            yield clients[:, begin : begin + width]

    def class_counts(self, part: Clients) -> Tensor:
        """Return how many of each client's training samples are of each class, (S, c, classes).

        Parameters
        ----------
        part : ndarray of int, shape (S, c)
            Clients.
        """
        places, counts = self._pick("train", part)
        real = self._real(places, counts)
        ones = F.one_hot(self.y[places].long(), self.classes) * real.unsqueeze(2)
        return ones.sum(1).to(self.dtype).unflatten(0, part.shape)

    def samples(self, part: Clients) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield what the network sees of each client's training samples, and their labels.

        The network is in evaluation mode meanwhile.

        Parameters
        ----------
        part : ndarray of int, shape (S, c)
            Clients.
        """
        self.model.eval()
        places, counts = self._pick("train", part)
        for k, (s, _) in enumerate(_workers(part)):
            index = places[k, : counts[k]]
            yield self._see(index, torch.full((), s, device=self.device)), self.y[index]

    def features(
        self, shared: Parameters, own: Parameters, part: Clients
    ) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield the representation of each client's training samples, and their labels.

        Parameters
        ----------
        shared, own : dict of str to Tensor, shapes (S, ...) and (S, c, ...)
            The representation's parameters, together.
        part : ndarray of int, shape (S, c)
            Clients.
        """
        self.model.eval()
        places, counts = self._pick("train", part)
        seen = self._features(shared, own, part, places, counts)
        for k, count in enumerate(counts):
            yield seen[k, :count], self.y[places[k, :count]]

    def _real(self, places, counts):
        """Tell samples from padding, (K, m)."""
        position = torch.arange(places.shape[1], device=self.device)
        return position < torch.as_tensor(counts, device=self.device).unsqueeze(1)

    def _pick(self, split, part):
        """Return padded places (K, m) of the workers' samples, and how many each has."""
        own = [self._places[split][s][client] for s, client in _workers(part)]
        counts = np.array([len(index) for index in own])
        places = np.zeros((len(own), counts.max(initial=0)), dtype=np.int64)
        for row, index in zip(places, own, strict=True):
            row[: len(index)] = index
        return torch.as_tensor(places, device=self.device), counts

    def _see(self, places, runs, draws=None):
        """Return what the network sees of samples (..., b); `runs` (...) says whose they are.

        With `draws`, how many of each row are samples and a seed, these are augmented.
        """
        x = self.x[places]
        if draws is not None and self.sgd.augment is not None:
            x = self._augmented(x, draws, self.sgd.augment)
        if self._scale is not None:
            mean, std = (value[runs].unsqueeze(runs.ndim) for value in self._scale)
            return (x.to(self.dtype) / 255.0 - mean) / std
        return x.to(self.dtype) if x.is_floating_point() else x

    def _augmented(self, x, draws, augment):
        # Torch's generator is all threads'.
        with _DRAWING, torch.random.fork_rng(devices=[]):
            for row, (size, seed) in enumerate(draws):
                torch.manual_seed(seed)
                changed = augment(x[row, :size])
                if changed.shape != x[row, :size].shape:
                    raise ValueError(
                        f"augment must keep the shape {tuple(x[row, :size].shape)}, it returned "
                        f"{tuple(changed.shape)}"
                    )
                x[row, :size] = changed
        return x

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
        """Return the clients' own values, (S, c, ...), after the phases of a round.

        Parameters
        ----------
        shared, own : dict of str to Tensor, shapes (S, ...) and (S, c, ...)
            Where the clients start: together, all that the objective needs. What moves is among
            the results whatever it was before.
        part : ndarray, shape (S, c)
            The clients.
        phases : sequence of Phase
            Done in order.
        round : int
            With the seed, the client and the place of the phase, key of the batches.
        objective, context : callable, mapping of Tensors (S, c, ...)
            See :data:`linrep.deep.training.Objective`.
        purpose : str
            Of the batches, for a method that trains twice in a round.
        """
        shared, own = dict(shared), dict(own)
        for place, phase in enumerate(phases):
            trained = phase.trained([*shared, *own])
            if not trained:
                continue
            draw = (purpose, round, place)
            new = self._run(shared, own, part, phase, trained, draw, objective, context or {})
            for name, value in new.items():
                shared.pop(name, None)
                own[name] = value
        return own

    def _run(self, shared, own, part, phase, trained, draw, objective, context):
        purpose, *key = draw
        workers = _workers(part)
        self.model.train()
        moving = tuple(name for name in trained if name not in self.buffers)
        places, counts = self._pick("train", part)
        streams = [keyed(self.seeds[s], purpose, *key, client) for s, client in workers]
        batches = schedule(
            counts, streams, batch_size=self.sgd.batch_size, epochs=phase.epochs, steps=phase.steps
        )
        runs = torch.as_tensor([s for s, _ in workers], device=self.device)
        y = self.y[places]

        position = torch.as_tensor(batches.position, device=self.device)
        workers_of = torch.arange(len(places), device=self.device).unsqueeze(1)

        def fetch(t, rows):
            at = workers_of[rows], position[rows, t]
            index = places[at]
            if self.sgd.augment is None:
                return self._see(index, runs[rows]), y[at]
            sizes = batches.weight[rows, t].sum(-1).tolist()
            seeds = batches.key[rows, t].tolist()
            return self._see(index, runs[rows], list(zip(sizes, seeds, strict=True))), y[at]

        everything = expand(shared, part) | own
        kept = {name: everything.pop(name) for name in self.buffers if name in everything}
        why_not = features.why_not_exact(self.model, moving)
        if self.sgd.augment is not None:
            why_not = why_not or "samples are augmented anew in every step"
        if self.cache is True and why_not and all(belongs(name, ("head",)) for name in moving):
            raise ValueError(f"cache must not be True for this model: {why_not}")
        gradient = None
        cached = bool(self.cache) and why_not is None
        if cached:
            seen = self._features(shared, own, part, places, counts)
            everything = {n: v for n, v in everything.items() if belongs(n, ("head",))}
            kept = {n: v for n, v in kept.items() if belongs(n, ("head",))}
            if objective is loss and features.linear_head(self.model):
                gradient = features.head_gradient

            def fetch(t, rows):
                at = workers_of[rows], position[rows, t]
                return seen[at], y[at]

        self.samples_trained += int(batches.weight.sum())
        work = Work(
            model=self.model,
            start=_flat(everything),  # of several runs a copy, hence only of what is used
            buffers=_flat(kept),
            trained=moving,
            batches=batches,
            fetch=fetch,
            z=self.side[runs, torch.as_tensor(part, device=self.device).reshape(-1)],
            objective=objective,
            context=_flat(context),
            sgd=self.sgd.at(key[0], phase.lr),
            from_features=cached,
            gradient=gradient,
            compile=self.compile,
        )
        # Heads on features are small, and have a closed form: together is faster everywhere.
        engine = "vmap" if gradient is not None else self.engine
        with self._precision():
            params, noted = ENGINES[engine](work)
        # Running statistics move with their block: those of a frozen one stay as they were.
        new = {name: value for name, value in (params | noted).items() if name in trained}
        return {name: value.unflatten(0, part.shape) for name, value in new.items()}

    def _precision(self):
        if not self.mixed_precision:
            return nullcontext()
        # Parameters move in place, so that copies of them in lower precision must not be kept.
        return torch.autocast(self.device.type, torch.bfloat16, cache_enabled=False)

    def _features(self, shared, own, part, places, counts):
        """Return features (K, m, ...) of the workers' samples, each of which is passed once."""
        module = self.model.representation
        real = self._real(places, counts)
        mine = [name for name in own if belongs(name, ("representation",))]
        together = {n: v for n, v in shared.items() if belongs(n, ("representation",))}
        width = part.shape[1]
        # The workers that have the same representation: those of a run, or each on its own.
        groups = [range(k, k + 1) for k in range(part.size)]
        if not mine:
            groups = [range(s * width, (s + 1) * width) for s in range(len(part))]
        found = None
        with self._precision():
            for group in groups:
                s = group[0] // width
                params = {name: value[s] for name, value in together.items()}
                params |= {name: own[name][s, group[0] % width] for name in mine}
                rows = slice(group[0], group[-1] + 1)
                index = places[rows][real[rows]]
                x = self._see(index, torch.full((), s, device=self.device))
                passed = features.in_pieces(module, features.block(params, "representation"), x)
                if found is None:
                    found = passed.new_zeros((*places.shape, *passed.shape[1:]), dtype=self.dtype)
                found[rows][real[rows]] = passed.to(self.dtype)
        return found

    # Evaluation

    def evaluate(self, shared: Parameters, own: Parameters, part: Clients) -> dict[str, NDArray]:
        """Return right answers and mean loss of clients' models on their test samples.

        Parameters
        ----------
        shared, own : dict of str to Tensor, shapes (S, ...) and (S, c, ...)
            The models, together.
        part : ndarray, shape (S, c)
            The clients.

        Returns
        -------
        dict of str to ndarray, shape (S, c)
            ``correct``, ``loss`` and ``size``; the loss of a client without samples is NaN.
        """
        places, counts = self._pick("test", part)
        self.model.eval()
        real = self._real(places, counts)
        outputs = self._outputs(shared, own, part, places, counts)
        y = self.y[places]
        losses = sample_loss(outputs.flatten(0, 1), y.flatten(0, 1)).reshape(real.shape)
        found = {"correct": torch.full(real.shape[:1], torch.nan, device=self.device)}
        if not y.is_floating_point():
            found["correct"] = ((outputs.argmax(-1) == y) & real).sum(1)
        found["loss"] = torch.where(real, losses, 0.0).sum(1) / real.sum(1)
        result = {
            name: value.cpu().double().numpy().reshape(part.shape) for name, value in found.items()
        }
        return result | {"size": counts.reshape(part.shape)}

    def _outputs(self, shared, own, part, places, counts):
        """Return outputs (K, m, classes) of the workers' samples, without gradients."""
        params = _flat(expand(shared, part) | own)
        side = getattr(self.model, "side_information", False)
        moved = any(belongs(name, ("representation",)) for name in own)
        with self._precision(), torch.no_grad():
            if hasattr(self.model, "representation") and not side and not moved:
                # With a representation that clients share, one pass over all their samples.
                seen = self._features(shared, own, part, places, counts)
                heads = features.block(params, "head")
                return vmap(lambda head, x: functional_call(self.model.head, head, (x,)))(
                    heads, seen
                )
            runs = torch.as_tensor([s for s, _ in _workers(part)], device=self.device)
            z = self.side[runs, torch.as_tensor(part, device=self.device).reshape(-1)]

            def call(own, x, z):
                inputs = (x, z.expand(len(x), -1)) if side else (x,)
                return functional_call(self.model, own, inputs)

            if self.engine == "vmap":
                pieces = places.split(max(1, features.SAMPLES_AT_ONCE // len(places)), 1)
                return torch.cat([vmap(call)(params, self._see(p, runs), z) for p in pieces], 1)
            rows = []
            for k, count in enumerate(counts):
                own = {name: value[k] for name, value in params.items()}
                rows.append(call(own, self._see(places[k, :count], runs[k]), z[k]))
            return pad_sequence(rows, batch_first=True)


def _workers(part):
    """Return run and client of the workers of a part, in order."""
    return [(s, int(client)) for s, row in enumerate(part) for client in row]


def _flat(values):
    """Return tensors (S, c, ...) of a nested mapping as (K, ...)."""
    if isinstance(values, Mapping):
        return {name: _flat(value) for name, value in values.items()}
    return values.flatten(0, 1)


def read_device(name: str) -> torch.device:
    """Return the device of a name.

    Parameters
    ----------
    name : str
        Torch's; "auto" is that of the environment variable LINREP_DEVICE, or else a CUDA device if
        there is one.

    Raises
    ------
    ValueError
        If torch does not know it, or it is not here.
    """
    if name == "auto":
        name = os.environ.get(DEVICE_VARIABLE, "auto")
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, TypeError, AssertionError, NotImplementedError) as error:
        reason = str(error).partition("\n")[0]
        raise ValueError(f"device must be one that is here, got {name!r}: {reason}") from None
    return device


def describe(device: torch.device) -> str:
    """Return the name of a device, as a trace has it.

    Parameters
    ----------
    device : torch.device
    """
    return torch.cuda.get_device_name(device) if device.type == "cuda" else str(device)
