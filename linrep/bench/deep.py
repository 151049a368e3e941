"""Timings of the deep experiments: cached features, clients trained at once, and whole rounds.

All data are drawn: images of noise, two classes a client. Rounds stand next to the same work as
published codes do it, client after client: see ``linrep.bench._plain_rounds``. On CUDA both run
there as well. What is compared must first agree in double precision, on the same batches.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import nn

from linrep.bench._plain_rounds import PlainLoop, plain_loop
from linrep.bench.timing import TOLERANCE, Record, largest_difference, make_records, take_turns
from linrep.deep import models
from linrep.deep.data import FederatedData
from linrep.deep.engines import choose
from linrep.deep.federation import Federation
from linrep.deep.methods import (
    FLUTE,
    HEAD,
    PFLMF,
    Ditto,
    FedAvg,
    FedPer,
    FedProx,
    FedRep,
    LGFedAvg,
    Local,
    Scaffold,
)
from linrep.deep.training import ENGINES, SGD, Phase

#: Clients of a round: a tenth of the 100 in the papers.
CLIENTS, CLASSES, HEAD_EPOCHS = 10, 10, 10
_SGD = SGD(lr=0.01, momentum=0.5, batch_size=10)


@dataclass(frozen=True)
class Network:
    """A network, and the shape of the samples it is timed on."""

    make: Callable[[], nn.Module]
    shape: tuple[int, ...]


NETWORKS = {
    "linear 64": Network(partial(models.linear, 64, 5, outputs=CLASSES), (64,)),
    "MLP 64-32": Network(partial(models.mlp, CLASSES, 64, hidden=(32,)), (64,)),
    "MLP 64-200-200": Network(partial(models.mlp, CLASSES, 64), (64,)),
    "MLP 784-200-200": Network(partial(models.mlp, CLASSES, 784), (784,)),
    "MLP 64-800-800": Network(partial(models.mlp, CLASSES, 64, hidden=(800, 800)), (64,)),
    "small CNN, 8 pixels": Network(
        partial(models.cnn, CLASSES, 1, 8, widths=(6, 16), hidden=(32,), kernel=3, padding=1),
        (1, 8, 8),
    ),
    "CNN, 16 pixels": Network(partial(models.cnn, CLASSES, 3, 16), (3, 16, 16)),
    "CNN, 32 pixels": Network(partial(models.cnn, CLASSES, 3, 32), (3, 32, 32)),
}
#: Pixels, samples of a client, and timed calls.
CACHES = ((16, 100, 3), (16, 500, 1), (32, 100, 1))
#: Clients at once.
WIDTHS = (10, 50)
METHODS = {
    "FedAvg": FedAvg(),
    "FedRep": FedRep(head_epochs=HEAD_EPOCHS),
    "Local": Local(),
    "FedPer": FedPer(),
    "LG-FedAvg": LGFedAvg(),
    "FedProx": FedProx(),
    "SCAFFOLD": Scaffold(),
    "Ditto": Ditto(),
    "FLUTE": FLUTE(),
    "pFL^MF": PFLMF(steps_U=10, lr_v=1e-4, order="alternating"),  # as its published code
}
#: Of these the rounds are timed at 32 pixels as well.
AT_32_PIXELS = ("FedAvg", "FedRep")
#: Samples of a client, and timed calls.
ROUNDS = (100, 3)
_STEPS = 5  # of a client, in timings of engines


def measure() -> Iterator[list[Record]]:
    """Time the head phase with cached features, engines, and whole rounds, on every device.

    Yields
    ------
    list of Record
        Of one case.
    """
    for device in devices():
        for size, samples, repetitions in CACHES:
            yield cache(size, samples, repetitions, device=device)
        for name in NETWORKS:
            for clients in WIDTHS:
                yield engines(name, clients, device=device)
        for size, methods in ((16, tuple(METHODS)), (32, AT_32_PIXELS)):
            for method in methods:
                yield rounds(method, size, *ROUNDS, device=device)


def devices() -> list[str]:
    """Return the processor, and CUDA where torch finds it."""
    return ["cpu", "cuda"] if torch.cuda.is_available() else ["cpu"]


def cache(size: int, samples: int, repetitions: int, *, device: str = "cpu") -> list[Record]:
    """Time FedRep's head phase with features computed once, and in every step.

    Results must agree after two steps in double precision.

    Parameters
    ----------
    size, samples, repetitions : int
        Pixels of the images, samples of a client, timed calls.
    device : str
        Of torch.
    """
    network = Network(partial(models.cnn, CLASSES, 3, size), (3, size, size))
    data = draw(network.shape, CLIENTS, samples)

    def build(cached, phase, dtype):
        return _local(data, network, phase, device=device, dtype=dtype, cache=cached)

    difference = _difference(partial(build, phase=Phase(HEAD, steps=2)), (True, False))
    timed = partial(build, phase=Phase(HEAD, epochs=HEAD_EPOCHS), dtype="float32")
    return _make_records(
        f"{HEAD_EPOCHS} epochs of the heads of {CLIENTS} clients, the representation frozen",
        f"CNN, {size} pixels, {samples} samples", device,
        {"cached": timed(True), "not cached": timed(False)}, repetitions, 1.0, difference,
    )  # fmt: skip


def engines(name: str, clients: int, repetitions: int = 5, *, device: str = "cpu") -> list[Record]:
    """Time local steps of clients one by one, and of all of them together.

    Results must agree after two steps in double precision. The note tells which is taken, by
    ``linrep.deep.engines.choose``.

    Parameters
    ----------
    name : str
        Key of `NETWORKS`.
    clients : int
        Trained at once.
    repetitions : int
        Timed calls of each engine.
    device : str
        Of torch.
    """
    network = NETWORKS[name]
    model = network.make()
    data = draw(network.shape, clients, _STEPS * _SGD.batch_size)

    def build(engine, phase, dtype):
        return _local(
            data, network, phase, device=device, dtype=dtype, engine=engine, chunk=clients
        )

    difference = _difference(partial(build, phase=Phase(steps=2)), ENGINES)
    timed = partial(build, phase=Phase(steps=_STEPS), dtype="float32")
    words = {"loop": "one by one", "vmap": "together"}
    size = sum(value.numel() for value in model.parameters())
    taken = words.get(choose(torch.device(device), model))  # on CUDA, what is measured
    return _make_records(
        f"A client's step on a batch of {_SGD.batch_size}",
        f"{name}, {size} parameters, {clients} clients", device,
        {words[engine]: timed(engine) for engine in ENGINES}, repetitions, _STEPS * clients,
        difference, warm=True, notes={taken: "taken"} if taken else {},
    )  # fmt: skip


def rounds(
    method: str, size: int, samples: int, repetitions: int, *, device: str = "cpu"
) -> list[Record]:
    """Time whole rounds, and the same rounds in a plain loop over clients.

    Results must agree after two rounds on the same batches in double precision. The note is how
    many samples pass in a second, all epochs counted, and the most memory that each has on CUDA.

    Parameters
    ----------
    method : str
        Key of `METHODS`.
    size, samples, repetitions : int
        Pixels of the images, samples of a client, timed calls.
    device : str
        Of torch.
    """
    case = RoundCase.draw(METHODS[method], size, samples, device)
    difference = RoundCase.draw(METHODS[method], size, 15, device, "float64").difference()
    calls, memory = {}, {}
    for name, build in (("linrep", case.linrep), ("plain loop", case.plain)):
        calls[name], memory[name] = _with_peak(build, device)
    counted = case.federation()
    case.method.round(counted, case.method.start(counted), np.arange(counted.n)[None])
    passes = counted.samples_trained
    records = _make_records(
        f"A round of {CLIENTS} clients", f"{method}, {size} pixels, {samples} samples", device,
        calls, repetitions, 1.0, difference,
    )  # fmt: skip

    def noted(record):
        used = memory[record.contender]
        mebibytes = "" if math.isnan(used) else f", {used / 2**20:.0f} MiB"
        return replace(record, note=f"{passes / record.seconds:.0f} samples/s{mebibytes}")

    return [noted(record) if record.agree else record for record in records]


def _make_records(
    table, case, device, calls, repetitions, work, difference, *, warm=False, notes=None
) -> list[Record]:
    """Time calls; return the records."""
    where = "" if device == "cpu" else f" ({torch.cuda.get_device_name(device)})"
    return make_records(
        table + where, case, take_turns(calls, repetitions, warm=warm), work,
        agree=bool(difference <= TOLERANCE), difference=difference, notes=notes,
    )  # fmt: skip


# What is timed.


def draw(shape: tuple[int, ...], clients: int, samples: int) -> FederatedData:
    """Return noise, images or vectors, with labels of two classes for each client."""
    rng = np.random.default_rng(0)
    total = clients * samples
    if len(shape) == 3:
        x = rng.integers(256, size=(total, *shape), dtype=np.uint8)
    else:
        x = rng.standard_normal((total, *shape)).astype(np.float32)
    y = (np.repeat(np.arange(clients), samples) + rng.integers(2, size=total)) % CLASSES
    train = tuple(np.arange(total).reshape(clients, samples))
    test = (np.empty(0, dtype=np.int64),) * clients
    return FederatedData(x, y, train, test, classes=CLASSES)


def _start(network: Network) -> nn.Module:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return network.make()


def _synchronize(call, device):
    """Return a call that ends when the device has done its work."""
    if device == "cpu":
        return call

    def waited():
        result = call()
        torch.cuda.synchronize()
        return result

    return waited


def _local(data, network, phase, *, device, **settings):
    """Return local work of all clients, from the same start each time."""
    federation = Federation(data, _start(network), sgd=_SGD, device=device, **settings)
    start, part = federation.start().shared, np.arange(federation.n)[None]
    return _synchronize(lambda: federation.train(start, {}, part, (phase,), round=0), device)


def _difference(build, ways: Iterable[Any]) -> float:
    """Return the largest difference between the results of two ways in double precision."""
    results = [build(way, dtype="float64")() for way in ways]
    return largest_difference([[value.cpu().numpy() for value in r.values()] for r in results])


def _with_peak(build, device):
    """Return what is to be timed, and the most bytes that it has on the device."""
    if device == "cpu":
        return build(), math.nan
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    call = build()
    call()
    return call, float(torch.cuda.max_memory_allocated() - before)


@dataclass(frozen=True)
class RoundCase:
    """Rounds of all clients of some data with a method."""

    method: FedAvg
    data: FederatedData
    model: nn.Module
    device: str
    dtype: str

    @classmethod
    def draw(cls, method, size, samples, device, dtype="float32") -> RoundCase:
        """Return rounds of the papers' CNN on noise."""
        make = method.network(partial(models.cnn, CLASSES, 3, size))
        network = Network(make, (3, size, size))
        return cls(method, draw(network.shape, CLIENTS, samples), _start(network), device, dtype)

    def federation(self) -> Federation:
        """Return the clients of the case, as linrep trains them."""
        return Federation(self.data, self.model, sgd=_SGD, device=self.device, dtype=self.dtype)

    def linrep(self) -> Callable[[], Any]:
        """Return a call that runs one more round."""
        federation = self.federation()
        state = self.method.start(federation)
        clients = np.arange(federation.n)[None]
        return _synchronize(lambda: self.method.round(federation, state, clients), self.device)

    def loop(self) -> PlainLoop:
        """Return the clients for a plain loop."""
        dtype = getattr(torch, self.dtype)
        return plain_loop(self.method, self.data, self.model, _SGD, self.device, dtype)

    def plain(self) -> Callable[[], Any]:
        """Return a call that runs one more round in a plain loop."""
        return _synchronize(self.loop().round, self.device)

    def difference(self) -> float:
        """Return the largest difference between parameters after two rounds on the same batches."""
        federation, plain = self.federation(), self.loop()
        state = self.method.start(federation)
        for _ in range(2):  # what clients and server keep is used in the second
            self.method.round(federation, state, np.arange(federation.n)[None])
            plain.round(plain.as_linrep)
        shared = plain.model.state_dict()
        personal = {name: torch.stack([p[name] for p in plain.personal]) for name in state.personal}
        pairs = [(value[0], shared[name]) for name, value in state.shared.items()]
        pairs += [(value[0], personal[name]) for name, value in state.personal.items()]
        results = ([value.cpu().numpy() for value in values] for values in zip(*pairs, strict=True))
        return largest_difference(results)
