"""Rounds of networks as published codes run them: client after client, in plain torch.

A copy of the network, a DataLoader that shuffles, samples that are normalized one at a time,
torch's optimizer, and an average of state dicts. It finds the images in memory and needs no PIL,
which spares it some of those codes' work.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from itertools import chain, islice, repeat
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset

from linrep.deep.collapse import neural_collapse
from linrep.deep.data import FederatedData
from linrep.deep.methods import FLUTE, Ditto, FedAvg, FedProx, Local, Scaffold
from linrep.deep.training import schedule
from linrep.problems.random import keyed

#: ``batches(client, number, round)`` are the samples and labels of a client's steps in a phase.
Batches = Callable[[int, int, int], Iterable[tuple[Tensor, Tensor]]]


class _Images(Dataset):
    """A client's images, each made a tensor and normalized when it is asked for."""

    def __init__(self, data, places, dtype):
        self.x, self.y = data.x[places], data.y[places]
        self.mean = torch.as_tensor(data.mean, dtype=dtype).reshape(-1, 1, 1)
        self.std = torch.as_tensor(data.std, dtype=dtype).reshape(-1, 1, 1)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, index):
        x = torch.from_numpy(self.x[index]).to(self.mean.dtype).div(255.0)
        return x.sub_(self.mean).div_(self.std), int(self.y[index])


class PlainLoop:
    """Rounds of all clients with a method that trains some blocks and keeps some, such as FedRep.

    Parameters
    ----------
    method : FedAvg
        Its phases and the blocks that clients keep are read.
    data : FederatedData
        Images.
    model : nn.Module
        The start.
    sgd : SGD
        Step size, momentum and size of a batch.
    device : str
    dtype : torch.dtype

    Attributes
    ----------
    model : nn.Module
        The server's.
    personal : list of dict of str to Tensor
        What each client keeps.
    """

    def __init__(
        self, method: Any, data: FederatedData, model: nn.Module, sgd: Any, device: str,
        dtype: torch.dtype,
    ):  # fmt: skip
        self.method, self.sgd, self.device, self.round_number = method, sgd, device, 0
        self.model = copy.deepcopy(model).to(device, dtype)
        self.images = [_Images(data, places, dtype) for places in data.train]
        state = copy.deepcopy(self.model.state_dict())
        self.personal = [{name: state[name].clone() for name in self.kept()} for _ in self.images]

    def names(self) -> list[str]:
        """Return the names of all parameters."""
        return [name for name, _ in self.model.named_parameters()]

    def kept(self) -> list[str]:
        """Return the names of what clients keep."""
        blocks = tuple(f"{block}." for block in self.method.personal)
        return [name for name in self.names() if f"{name}.".startswith(blocks)]

    def shuffled(self, client: int, number: int, round: int) -> Iterable[tuple[Tensor, Tensor]]:
        """Return a client's batches in a phase, in an order of their own each time."""
        phase = self.method.phases()[number]
        loader = DataLoader(self.images[client], batch_size=self.sgd.batch_size, shuffle=True)
        if phase.steps is None:
            return chain.from_iterable(repeat(loader, phase.epochs))
        return islice(chain.from_iterable(repeat(loader)), phase.steps)

    def as_linrep(self, client: int, number: int, round: int) -> Iterable[tuple[Tensor, Tensor]]:
        """Return the batches that linrep takes of a client in a phase, from seed 0."""
        phase, images = self.method.phases()[number], self.images[client]
        stream = keyed(np.random.SeedSequence(0), "batches", round, number, client)
        batches = schedule(
            [len(images)], [stream], batch_size=self.sgd.batch_size, epochs=phase.epochs,
            steps=phase.steps,
        )  # fmt: skip
        rows = zip(batches.position[0], batches.weight[0], strict=True)
        return DataLoader(images, batch_sampler=[row[real].tolist() for row, real in rows])

    def loss(self, net: nn.Module, x: Tensor, y: Tensor, client: int) -> Tensor:
        """Return what a step decreases."""
        return F.cross_entropy(net(x), y)

    def correct(self, net: nn.Module, client: int) -> None:
        """Change gradients before a step."""

    def steps(self, net: nn.Module, client: int, batches: Batches, loss: Any = None) -> None:
        """Train a client's network through the phases of a round."""
        net.train()
        for number, phase in enumerate(self.method.phases()):
            trained = phase.trained(self.names())
            for name, value in net.named_parameters():
                value.requires_grad_(name in trained)
            optimizer = torch.optim.SGD(
                [value for value in net.parameters() if value.requires_grad],
                lr=phase.lr or self.sgd.lr, momentum=self.sgd.momentum,
            )  # fmt: skip
            for x, y in batches(client, number, self.round_number):
                optimizer.zero_grad()
                (loss or self.loss)(net, x.to(self.device), y.to(self.device), client).backward()
                self.correct(net, client)
                optimizer.step()

    def local(self, client: int, batches: Batches) -> dict[str, Tensor]:
        """Return what a client sends, after its part of a round."""
        net = copy.deepcopy(self.model)
        net.load_state_dict(self.personal[client], strict=False)
        self.steps(net, client, batches)
        state = net.state_dict()
        self.personal[client] = {name: state.pop(name) for name in self.kept()}
        return state

    def server(self) -> None:
        """Take the server's own step."""

    def round(self, batches: Batches | None = None) -> None:
        """Run one round."""
        clients = range(len(self.images))
        states = [self.local(client, batches or self.shuffled) for client in clients]
        average = {name: torch.stack([s[name] for s in states]).mean(0) for name in states[0]}
        self.model.load_state_dict(average, strict=False)
        self.server()
        self.round_number += 1

    def distance(self, net: nn.Module) -> Tensor:
        """Return half the squared distance of a network from the server's."""
        pairs = zip(net.parameters(), self.model.parameters(), strict=True)
        return (
            0.5 * torch.stack([((mine - other.detach()) ** 2).sum() for mine, other in pairs]).sum()
        )


class LocalLoop(PlainLoop):
    """Every client for itself."""

    def kept(self):
        """Return the names of all blocks, which clients keep."""
        return self.names()


class FedProxLoop(PlainLoop):
    """Local models near the server's."""

    def loss(self, net, x, y, client):
        """Return the penalized loss."""
        return super().loss(net, x, y, client) + self.method.mu * self.distance(net)


class DittoLoop(PlainLoop):
    """A model of one's own near the server's, beside that of federated averaging."""

    def __init__(self, *case):
        super().__init__(*case)
        state = self.model.state_dict()
        self.personal = [copy.deepcopy(state) for _ in self.images]

    def near(self, net, x, y, client):
        """Return the penalized loss."""
        return self.loss(net, x, y, client) + self.method.penalty * self.distance(net)

    def local(self, client, batches):
        """Train the server's network and the client's own, which stays near it."""
        for is_personal in (True, False):
            net = copy.deepcopy(self.model)
            if is_personal:
                net.load_state_dict(self.personal[client])
            self.steps(net, client, batches, self.near if is_personal else None)
            if is_personal:
                self.personal[client] = net.state_dict()
        return net.state_dict()


class ScaffoldLoop(PlainLoop):
    """Gradients corrected by control variates, which momentum makes shorter."""

    def __init__(self, *case):
        super().__init__(*case)
        self.pushed = self.way = 0.0
        zeros = {name: torch.zeros_like(value) for name, value in self.model.named_parameters()}
        self.of_server, self.of_client = zeros, [dict(zeros) for _ in self.images]

    def correct(self, net, client):
        """Add the server's control variate less the client's."""
        self.pushed = self.pushed * self.sgd.momentum + 1.0
        self.way += self.pushed
        for name, value in net.named_parameters():
            value.grad += self.of_server[name] - self.of_client[client][name]

    def local(self, client, batches):
        """Train, and set the client's control variate by the way that it went."""
        self.pushed = self.way = 0.0
        state, before = super().local(client, batches), dict(self.model.named_parameters())
        for name, control in self.of_client[client].items():
            moved = (before[name].detach() - state[name]) / (self.way * self.sgd.lr)
            self.of_client[client][name] = control - self.of_server[name] + moved
        return state

    def server(self):
        """Set the server's control variate to the mean."""
        self.of_server = {
            name: torch.stack([controls[name] for controls in self.of_client]).mean(0)
            for name in self.of_server
        }


class FLUTELoop(PlainLoop):
    """Losses with penalties, and a step of the server on the heads."""

    def __init__(self, *case):
        super().__init__(*case)
        like = self.model.head.weight
        self.present = [
            torch.as_tensor(np.isin(np.arange(len(like)), images.y)).to(like)
            for images in self.images
        ]

    def loss(self, net, x, y, client):
        """Return the loss of a client with the penalties of (10)."""
        features, head = net.representation(x), net.head.weight
        return (
            F.cross_entropy(net.head(features), y)
            + self.method.lambda1 * (features**2).sum(1).mean()
            + self.method.lambda2 * (head**2).sum()
            + self.method.lambda3 * neural_collapse(head, self.present[client])
        )

    def server(self):
        """Step down the collapse of each head."""
        for network, present in zip(self.personal, self.present, strict=True):
            head = network["head.weight"].detach().requires_grad_()
            (gradient,) = torch.autograd.grad(neural_collapse(head, present), head)
            network["head.weight"] = head.detach() - self.method.server_lr * gradient


_LOOPS: dict[type[FedAvg], type[PlainLoop]] = {
    Local: LocalLoop,
    FedProx: FedProxLoop,
    Ditto: DittoLoop,
    Scaffold: ScaffoldLoop,
    FLUTE: FLUTELoop,
}


def plain_loop(method: FedAvg, *case: Any) -> PlainLoop:
    """Return the rounds of a method; the others are those of :class:`PlainLoop`."""
    return _LOOPS.get(type(method), PlainLoop)(method, *case)
