"""Methods whose clients add what a shared and a personal head make of the features."""

from __future__ import annotations

import copy
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from linrep.deep.methods.base import FedAvg, weighted
from linrep.deep.models.base import Model, SideInformationModel
from linrep.deep.state import expand, gather
from linrep.deep.training import Phase, sample_loss, setting

_OWN, _SHARED, _CONTEXT = "head.own", "head.shared", "head.context"
#: Squared widths of the Gaussian kernels, those of the authors' public code.
_WIDTHS = (10.0, 15.0, 20.0, 50.0)


class Sum(nn.Module):
    """The sum of a shared and a personal linear head."""

    def __init__(self, head: nn.Module):
        super().__init__()
        if not isinstance(head, nn.Linear):
            raise ValueError(
                f"model must have a linear head for two of them, it has a {type(head).__name__}"
            )
        self.shared, self.own = head, copy.deepcopy(head)

    def forward(self, features: Tensor) -> Tensor:
        """Return the sum of what the heads make of features."""
        return self.shared(features) + self.own(features)


class Conditional(Sum):
    """Two heads among which a policy divides each feature of each sample.

    The policy sees the features times `context`, the sum of a personal head's rows, which no
    gradient reaches.
    """

    def __init__(self, head: nn.Module):
        super().__init__(head)
        k = self.own.in_features
        self.context = nn.Parameter(self.own.weight.detach().sum(0))
        self.policy = nn.Sequential(nn.Linear(k, 2 * k), nn.LayerNorm(2 * k), nn.ReLU())

    def forward(self, features: Tensor) -> Tensor:
        """Return what the heads make of their shares of the features, added."""
        context = F.normalize(self.context.detach(), dim=0)
        shares = self.policy(features * context).unflatten(-1, (2, -1)).softmax(-2)
        for_own, for_shared = (features.unsqueeze(-2) * shares).unbind(-2)
        return self.own(for_own) + self.shared(for_shared)


@dataclass(frozen=True)
class FedRoD(FedAvg):
    """Fed-RoD with linear personal heads (Chen, Chao, 2022).

    Representation and shared head decrease the balanced softmax, the cross entropy of outputs plus
    the logarithms of the client's numbers of samples by class. The personal head decreases the
    cross entropy of the sum of both heads, which clients are judged by.
    """

    personal = (_OWN,)

    def network(self, make):
        """Return what makes the network with two heads."""
        return lambda: _with(make(), Sum)

    def start(self, federation):
        """Return the state; the balanced loss needs classes."""
        self._need_classes(federation)
        return super().start(federation)

    def context(self, federation, state, part):
        """Return the logarithms of the classes' frequencies among each client's samples."""
        return {"prior": federation.class_counts(part).log()}

    def objective(self, network, params, batch, context):
        """Return the balanced loss of the shared head and that of the sum, at fixed features."""
        features = network.features(params, batch)
        shared, own = (
            F.linear(x, params[f"{head}.weight"], params.get(f"{head}.bias"))
            for x, head in ((features, _SHARED), (features.detach(), _OWN))
        )
        outputs = (shared + context["prior"], shared.detach() + own)
        losses = (F.cross_entropy(each, batch.y, reduction="none") for each in outputs)
        return batch.mean(sum(losses))


@dataclass(frozen=True)
class FedCP(FedAvg):
    """FedCP: a policy that divides features between two heads (Zhang et al., KDD 2023).

    The shared head stands still in local training, and becomes the mean of the personal ones. In
    training the context of a client's policy is that of its personal head as the round began, in
    evaluation that of its personal head as it is; it is not differentiated.

    The authors' public code (PFLlib) differs in four points: it adds Gumbel noise to the policy's
    softmax; it averages even mixtures of the personal and the shared head; it draws the context of
    a client's first round at random; and it evaluates a client with the shared head and the policy
    of the last round in which the client took part.

    Attributes
    ----------
    penalty : float
        Weight λ of the maximum mean discrepancy between features of the client's and the server's
        representation. The paper tunes it.
    """

    penalty: float = setting(1.0, minimum=0.0)

    personal = (_OWN, _CONTEXT)

    def network(self, make):
        """Return what makes the network with heads and policy."""
        return lambda: _with(make(), Conditional)

    def phases(self):
        """Return the local epochs, in which the shared head and the context stand still."""
        return (Phase(frozen=(_SHARED, _CONTEXT), epochs=self.epochs),)

    def context(self, federation, state, part):
        """Return the server's representation."""
        names = [name for name in state.shared if name.startswith("representation.")]
        return {"server": expand({name: state.shared[name] for name in names}, part)}

    def objective(self, network, params, batch, context):
        """Return the loss with the penalty."""
        features = network.features(params, batch)
        value = batch.mean(sample_loss(network.head(params, features), batch.y))
        if not self.penalty:
            return value
        # The server's pass must leave the client's running averages alone.
        server = network.peek(batch.weight).features(context["server"], batch)
        return value + self.penalty * _discrepancy(features, server, batch.weight)

    def end(self, federation, state, part, new):
        """Keep the personal heads, and the contexts that follow from them."""
        context = new[f"{_OWN}.weight"].sum(-2)
        super().end(federation, state, part, new | {_CONTEXT: context})

    def server(self, federation, state, clients):
        """Make the shared head the mean of the personal ones."""
        weights = self.weights(federation, clients)
        heads = {k: v for k, v in state.personal.items() if k != _CONTEXT}
        for name, value in gather(heads, clients).items():
            state.shared[name.replace(_OWN, _SHARED)] = weighted(weights, value)


def _with(model, kind):
    """Return a model with another kind of head on the same representation."""
    if not hasattr(model, "representation"):
        raise ValueError("model must be a linrep.deep.models.Model for two heads")
    side = getattr(model, "side_information", False)
    made = SideInformationModel if side else Model
    return made(model.representation, kind(model.head))


def _discrepancy(x, y, weight):
    """Return the squared maximum mean discrepancy of features by a sum of Gaussian kernels."""

    def kernel(one, other):
        squares = ((one.unsqueeze(1) - other.unsqueeze(0)) ** 2).sum(-1)
        return sum(torch.exp(-0.5 * squares / width) for width in _WIDTHS)

    both = weight.unsqueeze(1) * weight.unsqueeze(0)
    values = kernel(x, x) + kernel(y, y) - 2.0 * kernel(x, y)
    return (both * values).sum() / both.sum().clamp(min=1.0)
