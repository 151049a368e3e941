"""Methods whose clients have whole models, of their own or of a group of like clients."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import torch
from scipy.cluster.hierarchy import linkage, to_tree
from scipy.spatial.distance import squareform

from linrep.deep.methods.base import FedAvg, anchored, count, penalized, weighted
from linrep.deep.state import gather, scatter
from linrep.deep.training import loss, setting
from linrep.problems.random import keyed

#: Differences of cosines of updates in single precision that are rounding.
_SAME = 1e-6


@dataclass(frozen=True)
class Local(FedAvg):
    """Every client for itself.

    Attributes
    ----------
    everyone : bool
        Train all clients in every round, as the code of FedRep's authors does, and not those alone
        that are drawn, which take a share of the steps.
    """

    everyone: bool = False  # type: ignore[misc]

    def start(self, federation):
        """Return a state in which nothing is shared."""
        return federation.start(all_personal=True)


@dataclass(frozen=True)
class _Near(FedAvg):
    """Clients' whole models are trained near the shared one."""

    penalty: float = setting(0.0, minimum=0.0)

    def start(self, federation):
        """Return a state with a shared model and one for each client."""
        return self._start_with_models(federation)

    def local(self, federation, state, part):
        """Train the clients' models near the shared one; nothing is sent."""
        new = federation.train(
            {}, state.own(part), part, self.phases(), round=state.round,
            objective=partial(penalized, self.penalty), context=anchored(federation, state, part),
        )  # fmt: skip
        scatter(state.personal, part, new)
        return {}


@dataclass(frozen=True)
class FedMTL(_Near):
    """Multi-task learning near the mean: Σ f_i(w_i) + (λ/2) tr(W Ω W'), Ω = I - 11'/n.

    That is (λ/2) Σ ||w_i - mean||², the objective of Smith et al. (2017) with relations between
    clients that are all alike and known; their dual method is for linear models. The mean is that
    of all clients at the beginning of the round.

    Attributes
    ----------
    penalty : float
        λ, which no paper gives for networks.
    """

    penalty: float = 0.1

    def server(self, federation, state, clients):
        """Take the mean of all clients' models."""
        state.shared = {name: value.mean(0) for name, value in state.personal.items()}


@dataclass(frozen=True)
class Ditto(_Near):
    """A model of one's own near the averaged one: (λ/2)||v - w_t||² (Li et al., 2021).

    Both are trained for as many epochs, on the same batches.

    Attributes
    ----------
    penalty : float
        λ; 0.75 in FedRep's Table 1.
    """

    penalty: float = 0.75

    def local(self, federation, state, part):
        """Train the personalized models beside the global one."""
        super().local(federation, state, part)
        return FedAvg.local(self, federation, state, part)


@dataclass(frozen=True)
class APFL(FedAvg):
    """Mixtures α v_i + (1 - α) w of personalized and global models (Deng et al., 2020).

    Attributes
    ----------
    alpha : float
        Weight of the personalized model, fixed as in FedRep's Appendix A.2.
    """

    alpha: float = setting(0.25, minimum=0.0, maximum=1.0)

    def start(self, federation):
        """Return a state with a global model and one for each client."""
        if federation.buffers:
            raise ValueError("model must keep no running statistics, since APFL mixes weights")
        return self._start_with_models(federation)

    def objective(self, network, params, batch, context):
        """Return a loss whose gradients are those of the global model and of the mixture."""
        shared = {name[7:]: value for name, value in params.items() if name.startswith("shared.")}
        mixed = {
            name: self.alpha * params[f"own.{name}"] + (1.0 - self.alpha) * value.detach()
            for name, value in shared.items()
        }
        return loss(network, shared, batch) + loss(network, mixed, batch)

    def local(self, federation, state, part):
        """Step the global model and the mixture together."""
        still = tuple(f"{kind}.{name}" for kind in ("shared", "own") for name in federation.frozen)
        phases = [replace(phase, frozen=(*phase.frozen, *still)) for phase in self.phases()]
        new = federation.train(
            {f"shared.{name}": value for name, value in state.shared.items()},
            {f"own.{name}": value for name, value in state.own(part).items()},
            part, phases, round=state.round, objective=self.objective,
        )  # fmt: skip
        scatter(state.personal, part, {name: new[f"own.{name}"] for name in state.personal})
        moved = (name for name in state.shared if f"shared.{name}" in new)
        return {name: new[f"shared.{name}"] for name in moved}

    def models(self, federation, state, part):
        """Return the mixtures."""
        return {}, {
            name: self.alpha * value + (1.0 - self.alpha) * state.shared[name]
            for name, value in state.own(part).items()
        }


@dataclass(frozen=True)
class L2GD(FedAvg):
    """Local models drawn to their mean in a random share of the rounds (Hanzely, Richtárik, 2020).

    With probability p a round pulls x_i <- x_i - (αλ/(np))(x_i - mean), otherwise clients train.
    FedRep's Appendix A.2 trains for epochs, with the run's step size, where the algorithm takes one
    step of size α/(n(1 - p)).

    Attributes
    ----------
    p, alpha, penalty : float
        0.9, 0.25 and λ = 1 in FedRep's Appendix A.2.
    everyone : bool
        Pull or train all clients in every round, as the algorithm and the code of FedRep's authors
        do, and not those alone that are drawn: these train less often, with p = 0.9 and a tenth
        of the clients drawn in one round of a hundred.
    """

    p: float = setting(0.9, above=0.0, below=1.0)
    alpha: float = setting(0.25, above=0.0)
    penalty: float = setting(1.0, minimum=0.0)
    everyone: bool = False  # type: ignore[misc]

    def start(self, federation):
        """Return a state in which nothing is shared."""
        if self.alpha * self.penalty > federation.n * self.p:
            raise ValueError(
                "alpha times penalty must be at most n p, where models are pulled all the way to "
                f"their mean, got {self.alpha * self.penalty:g} for {federation.n} clients"
            )
        return federation.start(all_personal=True)

    def round(self, federation, state, clients):
        """Train, or pull to the mean, by a coin."""
        trains = keyed(federation.seed, "coin", state.round).random() >= self.p
        pull = self.alpha * self.penalty / (federation.n * self.p)
        weights = self.weights(federation, clients)
        drawn = gather(state.personal, clients)
        means = {name: weighted(weights, value) for name, value in drawn.items()}
        for part in federation.parts(clients):
            old = state.own(part)
            if trains:
                new = federation.train({}, old, part, self.phases(), round=state.round)
            else:
                new = {name: value - pull * (value - means[name]) for name, value in old.items()}
            scatter(state.personal, part, new)
        state.round += 1

    def floats(self, state):
        """Return the numbers of a model, which is sent in a share p of the rounds: the mean."""
        return round(self.p * count(state.personal, axes=1))


@dataclass(frozen=True)
class CFL(FedAvg):
    """Clustered federated learning (Sattler, Müller, Samek, 2021).

    Each cluster has a model, the mean of its participants'. Where the clients' last updates have a
    mean shorter than `eps1` while one of them is longer than `eps2`, the cluster is cut in two so
    that the largest cosine between the parts is least (single linkage). The cosine of an update of
    zero with any other is 0; three clients or more whose cosines are all the same stay together.

    The paper has all clients in each round; here a cluster is cut once all of its clients have
    taken part in it. The authors' public code differs in two points: it cuts by complete linkage,
    and neither clusters of two clients nor any in the first twenty rounds.

    Attributes
    ----------
    eps1, eps2 : float
        0.4 and 1.6 in the authors' code.
    """

    eps1: float = setting(0.4, minimum=0.0)
    eps2: float = setting(1.6, minimum=0.0)

    def start(self, federation):
        """Return a state with one cluster, and no updates (NaN)."""
        state = federation.start(all_personal=True)
        n, device = federation.n, federation.device
        size = sum(state.personal[name][0].numel() for name in federation.parameters)
        state.extra["cluster"] = torch.zeros(n, dtype=torch.int64, device=device)
        state.extra["update"] = torch.full((n, size), torch.nan, device=device)
        return state

    def round(self, federation, state, clients):
        """Train, average within clusters, and cut those that pull apart."""
        for part in federation.parts(clients):
            old = state.own(part)
            new = federation.train({}, old, part, self.phases(), round=state.round)
            moved = [(new[k] - old[k]).flatten(1) for k in federation.parameters]
            update = torch.cat(moved, dim=1).to(state.extra["update"])
            scatter({"update": state.extra["update"]}, part, {"update": update})
            scatter(state.personal, part, new)
        weights = self.weights(federation, clients)
        cluster, update = state.extra["cluster"], state.extra["update"]
        chosen = torch.as_tensor(clients, device=federation.device)
        for number in cluster[chosen].unique().tolist():
            members, present = cluster == number, cluster[chosen] == number
            share = weights[present] / weights[present].sum()
            for value in state.personal.values():
                value[members] = torch.tensordot(share.to(value), value[chosen[present]], dims=1)
            self._cut(cluster, update, members)
        state.round += 1

    def _cut(self, cluster, update, members):
        """Cut a cluster in two if its clients' updates ask for it; both forget them."""
        updates = update[members]
        if len(updates) < 2 or not torch.isfinite(updates).all():
            return
        if updates.mean(0).norm() >= self.eps1 or updates.norm(dim=1).max() <= self.eps2:
            return
        second = _second_part(updates.cpu().double().numpy())
        if not second:
            return
        cluster[members.nonzero()[:, 0][second]] = int(cluster.max()) + 1
        update[members] = torch.nan

    def floats(self, state):
        """Return the numbers of a model, that of the client's cluster."""
        return count(state.personal, axes=1)


def _second_part(updates):
    """Return the places of one of the parts into which updates (c, size) are cut, if they are."""
    norms = np.linalg.norm(updates, axis=1, keepdims=True)
    unit = np.divide(updates, norms, out=np.zeros_like(updates), where=norms > 0)
    away = 1.0 - unit @ unit.T
    np.fill_diagonal(away, 0.0)
    distances = squareform(away, checks=False)
    if len(distances) > 1 and np.ptp(distances) <= _SAME:
        return []
    # What single linkage joins last; a tie there leaves two parts, too.
    return to_tree(linkage(distances, method="single")).get_right().pre_order()
