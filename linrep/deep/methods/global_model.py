"""Methods whose clients are all judged by the global model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch.func import grad

from linrep.deep.methods.base import FedAvg, anchored, count, penalized
from linrep.deep.state import expand, gather, scatter
from linrep.deep.training import SGD, Phase, beside, loss, setting

#: By so many gradients PerFedAvg goes to both sides for the difference of two gradients.
_AWAY = 1e-3


@dataclass(frozen=True)
class FedProx(FedAvg):
    """Local objectives with a penalty (μ/2)||θ - θ_t||² (Li et al., 2018).

    Attributes
    ----------
    mu : float
        Weight of the penalty; 0.1 for CIFAR in FedRep's paper, Appendix A.2.
    """

    mu: float = setting(0.1, minimum=0.0)

    def context(self, federation, state, part):
        """Return the models that the round began with."""
        return anchored(federation, state, part)

    def objective(self, network, params, batch, context):
        """Return the penalized loss of a batch."""
        return penalized(self.mu, network, params, batch, context)


@dataclass(frozen=True)
class Scaffold(FedAvg):
    """SCAFFOLD: gradients corrected by control variates (Karimireddy et al., 2020), option II.

    A client's control variate is the mean of the gradients of its steps, as far as the way it went
    shows: with momentum a gradient also moves the steps after its own, which is counted.

    Attributes
    ----------
    global_lr : float
        Step of the server towards the clients' mean.
    """

    global_lr: float = setting(1.0, above=0.0)

    def start(self, federation):
        """Return a state with control variates of zero; the server's is the mean of all."""
        state = federation.start()
        for name in federation.parameters:
            value = state.shared[name]
            state.extra[f"control.{name}"] = value.new_zeros((federation.n, *value.shape))
            state.extra[f"server.{name}"] = torch.zeros_like(value)
        return state

    def context(self, federation, state, part):
        """Return the server's control variates less the clients'."""
        names = federation.parameters
        clients = gather({name: state.extra[f"control.{name}"] for name in names}, part)
        server = {name: state.extra[f"server.{name}"] for name in names}
        return {"control": {name: server[name] - clients[name] for name in names}}

    def objective(self, network, params, batch, context):
        """Return a loss whose gradient is the corrected one."""
        terms = [(params[name] * value).sum() for name, value in context["control"].items()]
        return loss(network, params, batch) + torch.stack(terms).sum()

    def end(self, federation, state, part, new):
        """Move the clients' control variates by what their steps have shown."""
        correction = self.context(federation, state, part)["control"]
        steps = self.epochs * federation.sgd.batches(federation.counts("train", part))
        way = federation.sgd.lr * travelled(steps, federation.sgd)
        scale = torch.as_tensor(1.0 / way)
        for name, value in correction.items():
            moved = state.shared[name] - new[name]
            moved = moved * beside(scale.to(moved), moved)
            scatter({name: state.extra[f"control.{name}"]}, part, {name: moved - value})

    def server(self, federation, state, clients):
        """Set the server's control variate to the mean of all clients'."""
        for name in federation.parameters:
            state.extra[f"server.{name}"] = state.extra[f"control.{name}"].mean(0)

    def aggregate(self, old, mean):
        """Return the server's step."""
        return old + self.global_lr * (mean - old)

    def floats(self, state):
        """Return the numbers of model and control variate, which running averages lack."""
        controls = {k: v for k, v in state.extra.items() if k.startswith("server.")}
        return super().floats(state) + count(controls)


def travelled(steps: NDArray[np.int64], sgd: SGD) -> NDArray[np.float64]:
    """Return by how many step sizes SGD moves, at least one step, along a constant gradient."""
    ahead = np.cumsum(sgd.momentum ** np.arange(steps.max(initial=1)))
    return np.cumsum(ahead)[steps - 1]


@dataclass(frozen=True)
class PerFedAvg(FedAvg):
    """A global model that is good after a step on a client's samples (Fallah et al., 2020).

    The samples of a batch are cut into support and target, one at least in each; a single one is
    both. With w' = w - α ∇f(w; support), the step is along
    ∇f(w'; target), less α times the Hessian at w times it: Hessian-free, where the product is a
    difference of two gradients at the support, where the paper draws other samples.

    Attributes
    ----------
    inner_lr : float
        α; 1e-4 in FedRep's Appendix A.2.
    support : float
        Share of a batch, 8 of 10 there.
    """

    inner_lr: float = setting(1e-4, above=0.0)
    support: float = setting(0.8, above=0.0, below=1.0)

    def context(self, federation, state, part):
        """Return α."""
        where = {"dtype": federation.dtype, "device": federation.device}
        return {"rate": torch.full(part.shape, self.inner_lr, **where)}

    def objective(self, network, params, batch, context):
        """Return a linear function whose gradient is the meta-gradient."""
        # By weights, since batches differ in how many samples they have.
        count = batch.weight.sum()
        cut = torch.minimum((self.support * count).round(), count - 1.0).clamp(min=1.0)
        first = batch.weight * (batch.weight.cumsum(0) <= cut)
        support = batch._replace(weight=first)
        target = batch._replace(weight=torch.where(count > 1.0, batch.weight - first, first))

        def gradient(at, samples):
            seen = network.peek(samples.weight)
            return grad(lambda values: loss(seen, fixed | values, samples))(at)

        def moved(along, by):
            return {name: value + by * along[name] for name, value in start.items()}

        fixed = {name: value.detach() for name, value in params.items()}
        start = {name: fixed[name] for name, value in params.items() if value.requires_grad}
        inner = moved(gradient(start, support), -context["rate"])
        direction = gradient(inner, target)
        ahead, behind = (gradient(moved(direction, by), support) for by in (_AWAY, -_AWAY))
        rate = context["rate"] / (2.0 * _AWAY)
        direction = {k: v - rate * (ahead[k] - behind[k]) for k, v in direction.items()}
        loss(network, fixed, batch)  # for what layers note of the batch
        terms = [(params[name] * value.detach()).sum() for name, value in direction.items()]
        return torch.stack(terms).sum()

    def models(self, federation, state, part):
        """Return the models after an epoch of each client's steps with inner_lr."""
        phase = Phase(lr=self.inner_lr)
        adapted = federation.train(
            state.shared, {}, part, (phase,), round=state.round, purpose="adaptation"
        )
        return {}, expand(state.shared, part) | adapted


@dataclass(frozen=True)
class PerFedSI(FedAvg):
    """Federated averaging of a network that takes clients' side information, (3) or (4)."""

    def start(self, federation):
        """Return the state; the network must take side information."""
        if not getattr(federation.model, "side_information", False):
            raise ValueError("model must take side information, as concatenation and mask do")
        return super().start(federation)
