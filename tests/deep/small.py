"""Tiny ragged federations and networks, one of each kind that the package has."""

import os
from unittest import mock

import numpy as np
import torch

from linrep.deep import SGD, Federation, models
from linrep.deep import federation as module
from linrep.deep.data import FederatedData
from linrep.deep.models.factored import Factored

#: LINREP_TEST_DEVICE=cuda runs the tests there, but for those that are worked out by hand.
DEVICE = os.environ.get("LINREP_TEST_DEVICE", "cpu")
CLASSES = 3
SIZES = (7, 3, 12, 5)
TESTED = (4, 2, 5, 1)
SIDE = np.array([[1.0, 0.2], [0.1, 1.0], [0.5, -0.4], [0.0, 0.0]])
EMBEDDING = np.random.default_rng(1).normal(size=(6, 3))


def split(sizes=SIZES, tested=TESTED):
    """Return the places of each client's training and test samples, all mixed up."""
    order = np.random.default_rng(2).permutation(sum(sizes) + sum(tested))
    parts = np.split(order, np.cumsum([*sizes, *tested])[:-1])
    return tuple(parts[: len(sizes)]), tuple(parts[len(sizes) :])


def data(kind="vectors", sizes=SIZES, tested=TESTED, seed=0, reverse=False, **others):
    """Return clients with samples of a kind: vectors, images, tokens, or vectors to regress."""
    rng = np.random.default_rng(seed)
    train, test = (parts[::-1] if reverse else parts for parts in split(sizes, tested))
    count = sum(sizes) + sum(tested)
    x = {
        "vectors": lambda: rng.normal(size=(count, 5)).astype(np.float32),
        "real": lambda: rng.normal(size=(count, 5)).astype(np.float32),
        "images": lambda: rng.integers(256, size=(count, 1, 8, 8), dtype=np.uint8),
        "tokens": lambda: rng.integers(6, size=(count, 4)),
    }[kind]()
    if kind == "real":
        return FederatedData(x, rng.normal(size=count), train, test, classes=1, **others)
    if kind == "tokens":
        others["embedding"] = EMBEDDING
    if len(sizes) == len(SIDE):
        others["side"] = SIDE
    y = rng.integers(CLASSES, size=count)
    return FederatedData(x, y, train, test, classes=CLASSES, **others)


CONVOLUTIONS = {"widths": (2, 3), "hidden": (6,), "kernel": 3, "padding": 1}
BLOCKS = {"width": 4, "depth": 2}

#: By name: the kind of the data, and what makes the network.
NETWORKS = {
    "mlp": ("vectors", lambda: models.mlp(CLASSES, 5, hidden=(6,))),
    "linear": ("vectors", lambda: models.linear(5, 2, outputs=CLASSES)),
    "regression": ("real", lambda: models.linear(5, 2)),
    "lstm": ("tokens", lambda: models.lstm(EMBEDDING, CLASSES, hidden=4, width=4)),
    "cnn": ("images", lambda: models.cnn(CLASSES, 1, 8, **CONVOLUTIONS)),
    "cnn100": ("images", lambda: models.cnn100(CLASSES, 1, 8, **CONVOLUTIONS)),
    "blocks": ("images", lambda: models.blocks(CLASSES, 1, 8, **BLOCKS)),
    "concatenated": ("images", lambda: models.concatenated(CLASSES, 2, 1, 8, **BLOCKS)),
    "multiplied": ("images", lambda: models.multiplied(CLASSES, 2, 1, 8, layer=1, **BLOCKS)),
    "factored": ("vectors", lambda: Factored(NETWORKS["mlp"][1](), 3)),
}

EVERYONE = np.arange(len(SIZES))
#: One step a round, with all samples, and nothing but the gradient.
FULL = SGD(lr=0.2, momentum=0.0, weight_decay=0.0, batch_size=100)
FAST = SGD(lr=0.1, momentum=0.5, weight_decay=0.01, batch_size=4)


def federation(network="mlp", samples=None, *, sgd=FAST, dtype="float64", method=None, **settings):
    """Return a federation with a network of this file, and its data unless others are given."""
    kind, make = NETWORKS[network]
    make = make if method is None else method.network(make)
    samples = data(kind) if samples is None else samples
    return Federation(samples, make, sgd=sgd, dtype=dtype, device=DEVICE, **settings)


def stepping(engine):
    """Let clients be trained one after another ("loop"), or together ("vmap")."""
    return mock.patch.object(module, "steps_together", return_value=engine == "vmap")


def each_way(function):
    """Return what a function gives where clients are trained one after another, and together."""
    found = []
    for engine in ("loop", "vmap"):
        with stepping(engine):
            found.append(function())
    return found


def rounds(method, fed, count=2, participants=3, clients=None):
    """Return the state after some rounds, of clients that are drawn unless they are given."""
    state = method.start(fed)
    for _ in range(count):
        drawn = fed.sample("participation", state.round, participants)
        method.round(fed, state, drawn if clients is None else np.array(clients))
    return state


def tensors(state):
    """Return all that a state holds."""
    parts = (("shared", state.shared), ("personal", state.personal), ("extra", state.extra))
    return {f"{part}.{name}": value for part, values in parts for name, value in values.items()}


def copied(state):
    """Return the same, which later rounds leave alone."""
    return {name: value.clone() for name, value in tensors(state).items()}


def distance(one, other):
    """Return the largest difference of two states, relative to the largest number in them."""
    assert one.keys() == other.keys()
    size = max(float(value.abs().max()) for value in one.values())
    return max(float((one[k].double() - other[k].double()).abs().max()) for k in one) / size


def assert_close(one, other, tolerance=1e-12):
    """Compare tensors of the same names, relative to the largest number among them."""
    assert distance(dict(one), dict(other)) <= tolerance


def assert_equal(one, other):
    """Compare tensors of the same names bit by bit."""
    assert one.keys() == other.keys()
    for name in one:
        assert torch.equal(one[name], other[name]), name
