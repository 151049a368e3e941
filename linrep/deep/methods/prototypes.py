"""Methods that know the classes by means of features."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.func import functional_call
from torch.nn import functional as F

from linrep._lib import validation as check
from linrep.deep.methods.base import HEAD, FedAvg, weighted
from linrep.deep.state import State, gather, scatter
from linrep.deep.training import Phase, belongs, sample_loss, setting
from linrep.problems.random import keyed

#: Names under which a state's shared tensors hold class means and covariance.
_GAUSSIANS = ("gaussians.means", "gaussians.covariance")
#: Mixtures of a client's Gaussian features with the server's, of which the best is taken.
_BETAS = torch.linspace(0.0, 1.0, 11)
#: Class means of so few samples are the server's, as in pFedFDA's public code.
_TOO_FEW = 2

#: Class means (..., classes, k) and covariance (..., k, k).
Gaussians = tuple[Tensor, Tensor]


@dataclass(frozen=True)
class FedAS(FedAvg):
    """FedAS (Yang, Huang, Ye, CVPR 2024): aligned representations, weights by Fisher information.

    A participant first moves the server's representation so that features come near to their class
    means, as its own representation of its last round has them; then it trains. The server weights
    clients by the squared gradients of their batches, the trace of the empirical Fisher
    information, and evenly if all are zero. Clients are judged by the models that they kept.

    The authors' public code differs in two points. Clients align one model after each other, each
    from where the one before left it, not each the server's; and alignment has batches of 16 and no
    momentum, here the run's.

    Attributes
    ----------
    align_epochs : int
    align_lr : float
        1 and 0.01 in public code.
    """

    align_epochs: int = setting(1, check.integer, minimum=0)
    align_lr: float = setting(0.01, above=0.0)

    def start(self, federation):
        """Return a state in which clients have whole models, and the server a representation."""
        self._need_classes(federation)
        self._need_parts(federation)
        return self._start_with_models(federation, HEAD)

    def _align(self, network, params, batch, context):
        """Return the mean squared distances from the class means, added over a batch's classes."""
        features = network.features(params, batch)
        squares = ((features - context["means"][batch.y]) ** 2).mean(1)
        counts = (batch.y[:, None] == batch.y).to(features) @ batch.weight.to(features)
        return (batch.weight * squares / counts.clamp(min=1.0)).sum()

    def local(self, federation, state, part):
        """Align, train, and keep the models; nothing is averaged before the server weighs it."""
        old = state.own(part)
        heads = {name: value for name, value in old.items() if name not in state.shared}
        means = [
            _class_means(x, y, x.new_zeros(federation.classes, x.shape[1]))
            for x, y in federation.features({}, old, part)
        ]
        aligned = federation.train(
            state.shared, heads, part,
            (Phase(frozen=HEAD, epochs=self.align_epochs, lr=self.align_lr),), round=state.round,
            objective=self._align, purpose="alignment",
            context={"means": torch.stack(means)},
        )  # fmt: skip
        new = federation.train(state.shared, aligned, part, self.phases(), round=state.round)
        scatter(state.personal, part, old | new)
        return {}

    def server(self, federation, state, clients):
        """Average the participants' representations by the information in their samples."""
        models = gather(state.personal, clients)
        federation.model.eval()
        picked = federation.pick("train", clients)
        weights = torch.zeros(len(clients), dtype=federation.dtype, device=federation.device)
        for k, count in enumerate(picked.counts):
            mine = {name: value[k] for name, value in models.items()}
            x = federation.see(picked.places[k, :count])
            weights[k] = _information(federation, mine, x, picked.y[k, :count])
        weights = weights if weights.sum() else torch.ones_like(weights)
        weights = weights / weights.sum()
        for name in state.shared.keys() - set(federation.frozen):
            state.shared[name] = weighted(weights, models[name])

    def floats(self, state):
        """Return the numbers of the representation, and the information, which is not sent back."""
        return super().floats(state) + 1


@dataclass(frozen=True)
class PFedFDA(FedAvg):
    """pFedFDA (McLaughlin, Su, NeurIPS 2024): Gaussian features, and heads that follow from them.

    Representations are trained below the head of linear discriminant analysis with the server's
    class means and covariance and the client's own frequencies of classes. Means and covariance of
    the client's features then are mixed with the server's by a β in [0, 1], and the server averages
    the mixtures. Clients keep nothing: they are judged by the shared representation, below the head
    of a mixture that is fitted to its features of their training samples, as new clients would be.

    As in the authors' public code, means start uniform on [0, 1) and the covariance at the
    identity, the identity is added to the covariance of a client's features, and a class of at most
    two samples has the server's mean. That code differs in two points: it finds β by L-BFGS, here
    the best of eleven values; and its mixtures in training are of features met on the way, here of
    those after it.

    Attributes
    ----------
    eps : float
        Weight of the identity in covariances, and least frequency of a class; the authors' 1e-4.
    """

    eps: float = setting(1e-4, above=0.0)

    def start(self, federation):
        """Return a state with a representation, class means and covariance, all shared."""
        self._need_classes(federation)
        self._need_parts(federation)
        state = federation.start(HEAD)
        weight = state.personal.get("head.weight")
        if weight is None or "head.bias" not in state.personal:
            raise ValueError("model must have a linear head with a bias for PFedFDA")
        means = torch.as_tensor(keyed(federation.seed, "means").random(weight.shape[1:]))
        gaussians = means.to(weight), torch.eye(weight.shape[2]).to(weight)
        return State(state.shared | dict(zip(_GAUSSIANS, gaussians, strict=True)), {})

    def phases(self):
        """Return the epochs of the representation."""
        return (Phase(frozen=HEAD, epochs=self.epochs),)

    def begin(self, federation, state, part):
        """Return the heads that follow from the server's means and covariance."""
        server = [state.shared[name][None] for name in _GAUSSIANS]
        return self._heads(server, self._priors(federation, part))

    def local(self, federation, state, part):
        """Return representations, and the mixtures that follow from their features."""
        new = federation.train(
            _representation(state), self.begin(federation, state, part), part, self.phases(),
            round=state.round,
        )  # fmt: skip
        new = {name: value for name, value in new.items() if not belongs(name, HEAD)}
        gaussians = self._mixed(federation, state, {}, new, part)
        return new | dict(zip(_GAUSSIANS, gaussians, strict=True))

    def models(self, federation, state, part):
        """Return the shared representation, and heads of mixtures fitted to its features."""
        shared = _representation(state)
        gaussians = self._mixed(federation, state, shared, {}, part)
        return shared, self._heads(gaussians, self._priors(federation, part))

    def _priors(self, federation, part):
        """Return the clients' frequencies of classes, (c, classes)."""
        counts = federation.class_counts(part)
        priors = counts / counts.sum(-1, keepdim=True) + self.eps
        return priors / priors.sum(-1, keepdim=True)

    def _heads(self, gaussians, priors):
        """Return the heads of Gaussians (c or 1, ...)."""
        weight, bias = _discriminant(gaussians, priors, self.eps)
        return {"head.weight": weight.expand(*bias.shape, -1), "head.bias": bias}

    def _mixed(self, federation, state, shared, own, part):
        """Return the mixtures that follow from the clients' features."""
        server = tuple(state.shared[name] for name in _GAUSSIANS)
        clients = zip(
            federation.features(shared, own, part), self._priors(federation, part), strict=True
        )
        mixtures = [_mixed(x, y, server, prior, self.eps) for (x, y), prior in clients]
        means, covariance = (torch.stack(each) for each in zip(*mixtures, strict=True))
        return means, covariance


def _representation(state):
    """Return the shared parameters of the network."""
    return {name: value for name, value in state.shared.items() if name not in _GAUSSIANS}


def _information(federation, params, x, y):
    """Return the squared norms of the gradients of the batches of a client, added."""
    total = torch.zeros((), dtype=federation.dtype, device=federation.device)
    moving = {name: value.detach() for name, value in params.items()}
    able = [moving[name].requires_grad_() for name in federation.parameters]
    size = federation.sgd.batch_size or len(x)
    for x_batch, y_batch in zip(x.split(size), y.split(size), strict=True):
        outputs = functional_call(federation.model, moving, (x_batch,))
        value = sample_loss(outputs, y_batch).mean()
        gradients = torch.autograd.grad(value, able, allow_unused=True)
        total += sum((each**2).sum() for each in gradients if each is not None)
    return total


def _class_means(x: Tensor, y: Tensor, otherwise: Tensor, too_few: int = 0) -> Tensor:
    """Return the means of features by class, (classes, k)."""
    members = F.one_hot(y, len(otherwise)).to(x)
    counts = members.sum(0)[:, None]
    return torch.where(counts > too_few, (members.T @ x) / counts.clamp(min=1.0), otherwise)


def _fitted(x: Tensor, y: Tensor, means: Tensor) -> Gaussians:
    """Return class means, and the covariance around them plus the identity."""
    means = _class_means(x, y, means, _TOO_FEW)
    away = x - means[y]
    return means, away.T @ away / max(1, len(x) - 1) + torch.eye(x.shape[1]).to(x)


def _discriminant(gaussians: Gaussians, prior: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    """Return weight (..., classes, k) and bias (..., classes) of linear discriminant analysis."""
    means, covariance = gaussians
    identity = torch.eye(covariance.shape[-1]).to(covariance)
    level = covariance.diagonal(dim1=-2, dim2=-1).mean(-1)[..., None, None]
    shrunk = (1.0 - eps) * covariance + eps * level * identity
    weight = torch.linalg.solve(shrunk, means.mT).mT
    return weight, prior.log() - 0.5 * (means * weight).sum(-1)


def _mixed(x: Tensor, y: Tensor, server: Gaussians, prior: Tensor, eps: float) -> Gaussians:
    """Return β times the Gaussians of features plus 1 - β times the server's, for the best β.

    That is the one of least loss in a two-fold cross-validation, among samples of classes that
    have two at least; without such samples it is 0.
    """
    seen = (torch.bincount(y, minlength=len(prior)) > 1)[y].nonzero()[:, 0]
    if not len(seen):
        return server
    order = seen[torch.argsort(y[seen], stable=True)]  # every other sample of each class
    losses = torch.zeros(())
    for fit, judge in ((order[0::2], order[1::2]), (order[1::2], order[0::2])):
        gaussians = _mixtures(_fitted(x[fit], y[fit], server[0]), server)
        losses = losses + _losses(gaussians, x[judge], y[judge], prior, eps)
    means, covariance = _mixtures(_fitted(x, y, server[0]), server)
    best = losses.argmin()
    return means[best], covariance[best]


def _mixtures(own: Gaussians, server: Gaussians) -> Gaussians:
    """Return the mixtures for all β, (eleven, ...)."""
    betas = _BETAS.to(own[0])[:, None, None]
    means, covariance = (betas * a + (1.0 - betas) * b for a, b in zip(own, server, strict=True))
    return means, covariance


def _losses(gaussians, x, y, prior, eps):
    """Return the mean losses of several Gaussians' classifiers."""
    weight, bias = _discriminant(gaussians, prior, eps)
    outputs = x @ weight.mT + bias.unsqueeze(-2)
    labels = y.expand(len(outputs), -1)
    return F.cross_entropy(outputs.mT, labels, reduction="none").mean(1)
