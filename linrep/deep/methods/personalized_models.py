"""Methods whose clients have whole personalized models."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import torch

from linrep._lib import validation as check
from linrep.deep.methods.base import (
    FedAvg,
    anchored,
    count,
    penalized,
    start_with_models,
    weighted,
)
from linrep.deep.state import gather, scatter
from linrep.deep.training import Phase, loss, setting
from linrep.problems.random import keyed


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
        return start_with_models(federation)

    def _train_near(self, federation, state, part, epochs):
        own = federation.train(
            {}, state.own(part), part, (Phase(epochs=epochs),), round=state.round,
            objective=partial(penalized, self.penalty), context=anchored(federation, state, part),
        )  # fmt: skip
        scatter(state.personal, part, own)


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

    def local(self, federation, state, part):
        """Train the clients' models near the mean."""
        self._train_near(federation, state, part, self.epochs)
        return {}

    def server(self, federation, state, clients):
        """Take the mean of all clients' models."""
        state.shared = {name: value.mean(1) for name, value in state.personal.items()}


@dataclass(frozen=True)
class Ditto(_Near):
    """A model of one's own near the averaged one: (λ/2)||v - w_t||² (Li et al., 2021).

    Attributes
    ----------
    penalty : float
        λ; 0.75 in FedRep's Table 1.
    personal_epochs : int, optional
        Of the personalized model; by default as many as of the global one.
    """

    penalty: float = 0.75
    personal_epochs: int | None = setting(None, check.integer, minimum=0)

    def local(self, federation, state, part):
        """Train the personalized models beside the global one, on the same batches."""
        epochs = self.epochs if self.personal_epochs is None else self.personal_epochs
        self._train_near(federation, state, part, epochs)
        return super().local(federation, state, part)


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
        return start_with_models(federation)

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
        own = {
            name: self.alpha * value + (1.0 - self.alpha) * state.shared[name].unsqueeze(1)
            for name, value in state.own(part).items()
        }
        return {}, own


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
        """Train, or pull to the mean, each run by a coin of its own."""
        coins = [keyed(seed, "coin", state.round).random() for seed in federation.seeds]
        trains = torch.as_tensor(np.array(coins) >= self.p, device=federation.device)
        pull = self.alpha * self.penalty / (federation.n * self.p)
        weights = self.weights(federation, clients)
        means = {
            name: weighted(weights, value).unsqueeze(1)
            for name, value in gather(state.personal, clients).items()
        }
        for part in federation.parts(clients):
            own = state.own(part)
            new = {name: value - pull * (value - means[name]) for name, value in own.items()}
            if trains.any():
                trained = federation.train({}, own, part, self.phases(), round=state.round)
                for name, value in trained.items():
                    chosen = trains.reshape(-1, *[1] * (value.ndim - 1))
                    new[name] = torch.where(chosen, value, new[name])
            scatter(state.personal, part, new)
        state.round += 1

    def floats(self, state):
        """Return the numbers of a model, which is sent in a share p of the rounds: the mean."""
        return round(self.p * count(state.personal, axes=2))
