"""Federated averaging, what every method is made from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from linrep._lib import validation as check
from linrep.deep.federation import Federation
from linrep.deep.state import Clients, State, expand, gather, scatter
from linrep.deep.training import Parameters, Phase, check_settings, loss, setting

HEAD = ("head",)


@dataclass(frozen=True)
class FedAvg:
    """Federated averaging (McMahan et al., 2017).

    Attributes
    ----------
    epochs : int
        Local epochs of all that moves.
    weighted : bool
        Average clients in proportion to their training samples, instead of evenly.
    ft : {None, "head", "all"}
        What each client fine-tunes after the last round: FedRep's paper, Section 5.2, the head.
    ft_epochs : int
        For how long.

    Notes
    -----
    What methods replace takes the `federation`, a :class:`linrep.deep.federation.Federation`; the
    `state` of a run, a :class:`linrep.deep.state.State`, at the round's start; and clients, an
    integer array (c,): a `part` of those of a round, trained at once, or all `clients` of it.
    """

    epochs: int = setting(1, check.integer, minimum=1)
    weighted: bool = False
    ft: str | None = setting(None, check.choice, allowed=("head", "all"))
    ft_epochs: int = setting(10, check.integer, minimum=1)

    #: Blocks that stay with the clients.
    personal: ClassVar[tuple[str, ...]] = ()
    #: Whether all clients take part in every round, whatever the participation of a run.
    everyone: ClassVar[bool] = False
    #: What local steps decrease; a method that adds to it defines a function of the same name.
    objective: ClassVar[Callable[..., Tensor]] = staticmethod(loss)

    def __post_init__(self):
        check_settings(self)

    def network(self, make: Callable[[], nn.Module]) -> Callable[[], nn.Module]:
        """Return what makes the network that is trained, from what makes the user's.

        Parameters
        ----------
        make : callable
        """
        return make

    def start(self, federation: Federation) -> State:
        """Return the state before the first round.

        Parameters
        ----------
        federation
        """
        return federation.start(self.personal)

    def phases(self) -> tuple[Phase, ...]:
        """Return the phases of a client's local training in a round, in order."""
        return (Phase(epochs=self.epochs),)

    def begin(self, federation: Federation, state: State, part: Clients) -> Parameters:
        """Return what clients start a round with besides the shared parameters.

        Parameters
        ----------
        federation, state, part
        """
        apart = {name: value for name, value in state.personal.items() if name not in state.shared}
        return gather(apart, part)

    def context(self, federation: Federation, state: State, part: Clients) -> Mapping[str, Any]:
        """Return what else the objective needs, tensors (c, ...).

        Parameters
        ----------
        federation, state, part
        """
        return {}

    def end(self, federation: Federation, state: State, part: Clients, new: Parameters) -> None:
        """Keep what stays with the clients; ``state.shared`` still is what they started from.

        Parameters
        ----------
        federation, state, part
        new : dict of str to Tensor, shapes (c, ...)
            The clients' parameters after training.
        """
        scatter({k: v for k, v in state.personal.items() if k not in state.shared}, part, new)

    def aggregate(self, old: Tensor, mean: Tensor) -> Tensor:
        """Return a shared tensor after a round.

        Parameters
        ----------
        old, mean : Tensor
            The one before, and the clients' mean.
        """
        return mean

    def server(self, federation: Federation, state: State, clients: Clients) -> None:
        """Take the server's own step, after the clients' results are averaged.

        Parameters
        ----------
        federation, state, clients
        """

    def weights(self, federation: Federation, clients: Clients) -> Tensor:
        """Return the clients' weights in a mean, (c,).

        Parameters
        ----------
        federation, clients
        """
        sizes = federation.counts("train", clients) if self.weighted else np.ones(clients.shape)
        shares = sizes / sizes.sum()
        return torch.as_tensor(shares, dtype=federation.dtype, device=federation.device)

    def local(self, federation: Federation, state: State, part: Clients) -> Parameters:
        """Return what clients of a round send, and keep what stays with them.

        Parameters
        ----------
        federation, state, part
        """
        new = self._train(federation, state, part, self.phases())
        self.end(federation, state, part, new)
        return new

    def _train(self, federation, state, part, phases):
        """Return what clients have after some phases from the start of a round."""
        return federation.train(
            state.shared, self.begin(federation, state, part), part, phases, round=state.round,
            objective=self.objective, context=self.context(federation, state, part),
        )  # fmt: skip

    def round(self, federation: Federation, state: State, clients: Clients) -> None:
        """Run one round, which changes the state.

        Parameters
        ----------
        federation, state, clients
        """
        sums: Parameters = {}
        parts = list(federation.parts(clients))
        weights = self.weights(federation, clients).split([len(part) for part in parts])
        for part, weight in zip(parts, weights, strict=True):
            new = self.local(federation, state, part)
            for name in state.shared.keys() & new.keys():
                total = weighted(weight, new[name])
                sums[name] = sums[name] + total if name in sums else total
        for name, mean in sums.items():
            # Averages of batch normalization are no parameters, along which a server may step.
            if name not in federation.buffers:
                mean = self.aggregate(state.shared[name], mean)
            state.shared[name] = mean
        self.server(federation, state, clients)
        state.round += 1

    def models(
        self, federation: Federation, state: State, part: Clients
    ) -> tuple[Parameters, Parameters]:
        """Return shared and own parameters of the models by which clients are judged.

        Parameters
        ----------
        federation, state, part
        """
        shared = {name: value for name, value in state.shared.items() if name not in state.personal}
        return shared, state.own(part)

    def fine_tuned(
        self, federation: Federation, state: State, part: Clients
    ) -> tuple[Parameters, Parameters]:
        """Return the models after the fine-tuning that `ft` asks for.

        Parameters
        ----------
        federation, state, part
        """
        shared, own = self.models(federation, state, part)
        phase = Phase(HEAD if self.ft == "head" else (), epochs=self.ft_epochs)
        own = federation.train(
            shared, own, part, (phase,), round=state.round, purpose="fine-tuning"
        )
        return {name: value for name, value in shared.items() if name not in own}, own

    def floats(self, state: State) -> int:
        """Return the numbers that a client of a round sends; it is sent as many.

        Parameters
        ----------
        state : State
        """
        return count(state.shared)

    def _start_with_models(self, federation, blocks=()):
        """Return a state in which clients have whole models, and the server one without blocks."""
        models = federation.start(all_personal=True).personal
        return State(federation.start(blocks).shared, models)

    def _need_classes(self, federation):
        """Raise an error if labels are no classes."""
        if federation.y.is_floating_point():
            raise ValueError(f"data must have classes for {type(self).__name__}, not real labels")

    def _need_parts(self, federation, side=False):
        """Raise an error if the network is no head on a representation of samples."""
        model = federation.model
        if not (federation.in_parts or (side and hasattr(model, "representation"))):
            raise ValueError(
                f"model must be a linrep.deep.models.Model for {type(self).__name__}, a head on a "
                f"representation{'' if side else ', without side information'}"
            )


def anchored(federation: Federation, state: State, part: Clients) -> Mapping[str, Any]:
    """Return the context of :func:`penalized`: the shared parameters that a round began with."""
    moving = {k: value for k, value in state.shared.items() if k in federation.parameters}
    return {"anchor": expand(moving, part)}


def penalized(penalty, network, params, batch, context):
    """Return the loss of a batch with (penalty/2)||θ - anchor||²."""
    squares = [((params[name] - value) ** 2).sum() for name, value in context["anchor"].items()]
    return loss(network, params, batch) + 0.5 * penalty * torch.stack(squares).sum()


def count(values: Parameters, axes: int = 0) -> int:
    """Return how many numbers tensors hold for each place of their first axes."""
    return sum(int(np.prod(value.shape[axes:])) for value in values.values())


def weighted(weights: Tensor, values: Tensor) -> Tensor:
    """Return weighted sums over clients."""
    return torch.einsum("c,c...->...", weights.to(values.dtype), values)
