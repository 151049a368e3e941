"""Methods that know the classes by means of features."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch.func import functional_call
from torch.nn import functional as F

from linrep import _validation as check
from linrep.deep.methods.base import HEAD, FedAvg, weighted
from linrep.deep.state import State, gather, scatter
from linrep.deep.training import Phase, sample_loss


@dataclass(frozen=True)
class FedAS(FedAvg):
    """FedAS (Yang, Huang, Ye, CVPR 2024): aligned representations, weights by Fisher information.

    A participant first moves the server's representation towards the class means of features that
    its own, of its last round, makes of its samples; then it trains. The server weights clients by
    the squared gradients of their batches, the trace of the empirical Fisher information. Clients
    are judged by the models that they kept.

    Attributes
    ----------
    align_epochs : int
    align_lr : float
        1 and 0.01 in public code.
    """

    align_epochs: int = 1
    align_lr: float = 0.01

    def __post_init__(self):
        super().__post_init__()
        check.integer("align_epochs", self.align_epochs, minimum=0)
        check.real("align_lr", self.align_lr, above=0.0)

    def start(self, federation):
        """Return a state in which clients have whole models, and the server a representation."""
        own = federation.start(all_personal=True)
        return State(federation.start(HEAD).shared, own.personal)

    def align(self, network, params, batch, context):
        """Return the distance of a batch's class means from those of the client's own features.

        Parameters
        ----------
        network, params, batch
            As in :func:`linrep.deep.training.loss`.
        context : mapping
            ``means``, those of the client's own features by class.
        """
        features = network.features(params, batch)
        classes = torch.arange(len(context["means"]), device=features.device)
        members = (batch.y[:, None] == classes).to(features) * batch.weight[:, None]
        counts = members.sum(0)
        means = (members.T @ features) / counts.clamp(min=1.0)[:, None]
        return ((means - context["means"]) ** 2).mean(1) @ (counts > 0).to(features)

    def local(self, federation, state, part):
        """Align, train, and keep the models; nothing is averaged before the server weighs it."""
        old = state.own(part)
        heads = {name: value for name, value in old.items() if name not in state.shared}
        means = [
            _class_means(x, y, federation.classes) for x, y in federation.features({}, old, part)
        ]
        aligned = federation.train(
            state.shared, heads, part,
            (Phase(frozen=HEAD, epochs=self.align_epochs, lr=self.align_lr),), round=state.round,
            objective=self.align, purpose="alignment",
            context={"means": torch.stack(means).unflatten(0, part.shape)},
        )  # fmt: skip
        own = federation.train(state.shared, aligned, part, self.phases(), round=state.round)
        scatter(state.personal, part, own)
        return {}

    def server(self, federation, state, clients):
        """Average the participants' representations by the information in their samples."""
        own = gather(state.personal, clients)
        found = [
            _information(
                federation, {name: value.flatten(0, 1)[k] for name, value in own.items()}, x, y
            )
            for k, (x, y) in enumerate(federation.samples(clients))
        ]
        weights = torch.stack(found).reshape(clients.shape)
        weights = weights / weights.sum(1, keepdim=True)
        for name in state.shared:
            state.shared[name] = weighted(weights, own[name])


@dataclass(frozen=True)
class PFedFDA(FedAvg):
    """pFedFDA (McLaughlin, Su, NeurIPS 2024): Gaussian features, and heads that follow from them.

    Representations are trained below the head of linear discriminant analysis with the server's
    class means and covariance and the client's own frequencies of classes. Means and covariance of
    the client's features then are mixed with the server's by a β in [0, 1] that has the least loss
    in a two-fold cross-validation, of eleven values (the authors minimize over β by L-BFGS); the
    server averages the mixtures. Clients are judged by the heads of theirs. To the covariance of
    their features comes the identity, as in the authors' code.

    Attributes
    ----------
    eps : float
        Weight of the identity in covariances, and least frequency of a class; the authors' 1e-4.
    """

    eps: float = 1e-4

    personal = HEAD

    def __post_init__(self):
        super().__post_init__()
        check.real("eps", self.eps, above=0.0)

    def start(self, federation):
        """Return a state with normal means and the identity as covariance."""
        state = super().start(federation)
        weight = state.personal.get("head.weight")
        if weight is None or "head.bias" not in state.personal or federation.classes < 2:
            raise ValueError("model must have a linear head with a bias, and data classes")
        identity = torch.eye(weight.shape[-1]).to(weight)
        for name, value in (
            ("means", weight),
            ("covariance", identity.expand(*weight.shape[:2], -1, -1)),
        ):
            state.extra[f"own.{name}"], state.extra[name] = value.clone(), value[:, 0].clone()
        return state

    def phases(self):
        """Return the epochs of the representation."""
        return (Phase(frozen=HEAD, epochs=self.epochs),)

    def begin(self, federation, state, part):
        """Return the heads that follow from the server's means and covariance."""
        priors = self._priors(federation, part)
        pairs = [
            [_discriminant(mean, covariance, prior, self.eps) for prior in row]
            for mean, covariance, row in zip(
                state.extra["means"], state.extra["covariance"], priors, strict=True
            )
        ]
        weight, bias = (
            torch.stack([torch.stack([pair[i] for pair in row]) for row in pairs]) for i in (0, 1)
        )
        return {"head.weight": weight, "head.bias": bias}

    def end(self, federation, state, part, new):
        """Fit means and covariances, mix them with the server's, and keep the heads."""
        own = {name: value for name, value in new.items() if not name.startswith("head.")}
        priors = self._priors(federation, part).flatten(0, 1)
        found = []
        for k, (x, y) in enumerate(federation.features({}, own, part)):
            server = [state.extra[name][k // part.shape[1]] for name in ("means", "covariance")]
            means, covariance = self._mixed(x, y, server, priors[k])
            head = _discriminant(means, covariance, priors[k], self.eps)
            found.append((means, covariance, *head))
        names = ("own.means", "own.covariance", "head.weight", "head.bias")
        values = {
            name: torch.stack(each).unflatten(0, part.shape)
            for name, each in zip(names, zip(*found, strict=True), strict=True)
        }
        scatter({name: state.extra[name] for name in names[:2]}, part, values)
        scatter(state.personal, part, values)

    def server(self, federation, state, clients):
        """Average means and covariances of the participants."""
        weights = self.weights(federation, clients)
        names = ("means", "covariance")
        own = gather({name: state.extra[f"own.{name}"] for name in names}, clients)
        state.extra |= {name: weighted(weights, value) for name, value in own.items()}

    def _priors(self, federation, part):
        """Return the clients' frequencies of classes, (S, c, classes)."""
        counts = federation.class_counts(part)
        found = counts / counts.sum(-1, keepdim=True) + self.eps
        return found / found.sum(-1, keepdim=True)

    def _mixed(self, x, y, server, prior):
        """Return means and covariance for the best β, of too few samples the server's."""
        betas = torch.linspace(0.0, 1.0, 11).tolist()
        # Every other sample of each class, classes in order.
        half = torch.argsort(y, stable=True)
        folds = [(half[i::2], half[1 - i :: 2]) for i in (0, 1)]
        if len(y) < 4:
            return server
        fits = [(_gaussian(x[fit], y[fit], server[0]), rest) for fit, rest in folds]

        def mix(local, beta):
            return [beta * a + (1.0 - beta) * b for a, b in zip(local, server, strict=True)]

        def held_out(beta):
            total = x.new_zeros(())
            for local, rest in fits:
                means, covariance = mix(local, beta)
                weight, bias = _discriminant(means, covariance, prior, self.eps)
                total += F.cross_entropy(F.linear(x[rest], weight, bias), y[rest])
            return total

        losses = torch.stack([held_out(beta) for beta in betas])
        return mix(_gaussian(x, y, server[0]), betas[int(losses.argmin())])


def _class_means(x, y, classes, otherwise=None):
    """Return the means of features by class, (classes, k); those of a class without samples 0."""
    members = F.one_hot(y, classes).to(x)
    counts = members.sum(0)[:, None]
    means = (members.T @ x) / counts.clamp(min=1.0)
    return means if otherwise is None else torch.where(counts > 0, means, otherwise)


def _gaussian(x, y, means):
    """Return class means, the server's where there are no samples, and covariance + identity."""
    own = _class_means(x, y, len(means), means)
    away = x - own[y]
    return own, away.T @ away / max(1, len(x) - 1) + torch.eye(x.shape[1]).to(x)


def _discriminant(means, covariance, prior, eps):
    """Return weight and bias of linear discriminant analysis."""
    k = len(covariance)
    identity = torch.eye(k).to(covariance)
    level = covariance.diagonal().mean().clamp(min=1e-12)
    weight = torch.linalg.solve((1.0 - eps) * covariance + eps * level * identity, means.T).T
    return weight, prior.log() - 0.5 * (means * weight).sum(1)


def _information(federation, params, x, y):
    """Return the squared norms of the gradients of the batches of a client, added."""
    total = torch.zeros((), dtype=federation.dtype, device=federation.device)
    moving = {name: value.detach().requires_grad_() for name, value in params.items()}
    for x_batch, y_batch in zip(*(z.split(federation.sgd.batch_size) for z in (x, y)), strict=True):
        outputs = functional_call(federation.model, moving, (x_batch,))
        value = sample_loss(outputs, y_batch).mean()
        gradients = torch.autograd.grad(value, list(moving.values()), allow_unused=True)
        total += sum((each**2).sum() for each in gradients if each is not None)
    return total
