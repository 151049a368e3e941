"""Methods of federated learning: each is what it does beyond federated averaging.

A method is a frozen dataclass of its settings. Where code that authors published does something
else than their paper, a setting chooses; the paper is the default. A method of one's own derives
from :class:`FedAvg` and replaces what differs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import grad, vmap

from linrep import _validation as check
from linrep.deep import models
from linrep.deep.collapse import neural_collapse
from linrep.deep.federation import Clients, Federation, State, expand, gather, keyed, scatter
from linrep.deep.training import Batch, Network, Parameters, Phase, loss, travelled

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
    """

    epochs: int = 1
    weighted: bool = False
    ft: str | None = None
    ft_epochs: int = 10

    #: Blocks that stay with the clients.
    personal: ClassVar[tuple[str, ...]] = ()
    #: What local steps decrease; a method that adds to it defines a function of the same name.
    objective: ClassVar[Callable[..., Tensor]] = staticmethod(loss)

    def __post_init__(self):
        check.integer("epochs", self.epochs, minimum=1)
        check.integer("ft_epochs", self.ft_epochs, minimum=1)
        if self.ft is not None:
            check.choice("ft", self.ft, ("head", "all"))

    def network(self, make: Callable[[], nn.Module]) -> Callable[[], nn.Module]:
        """Return what makes the network that is trained, from what makes the user's."""
        return make

    def start(self, federation: Federation) -> State:
        """Return the state before the first round."""
        return federation.start(self.personal)

    def phases(self) -> tuple[Phase, ...]:
        """Return what a client does in a round."""
        return (Phase(epochs=self.epochs),)

    def begin(self, federation: Federation, state: State, part: Clients) -> Parameters:
        """Return what clients start a round with besides the shared parameters."""
        own = {name: value for name, value in state.personal.items() if name not in state.shared}
        return gather(own, part)

    def context(self, federation: Federation, state: State, part: Clients) -> Mapping[str, Any]:
        """Return what else the objective needs, tensors (S, c, ...)."""
        return {}

    def end(self, federation: Federation, state: State, part: Clients, new: Parameters) -> None:
        """Keep what stays with the clients; `state.shared` still is what they started from."""
        scatter({k: v for k, v in state.personal.items() if k not in state.shared}, part, new)

    def aggregate(self, old: Tensor, mean: Tensor) -> Tensor:
        """Return a shared tensor (S, ...) from the one before and the clients' mean."""
        return mean

    def server(self, federation: Federation, state: State, clients: Clients) -> None:
        """Do what the server does after averaging."""

    def weights(self, federation: Federation, clients: Clients) -> Tensor:
        """Return the clients' weights in a mean, (S, c)."""
        sizes = np.ones(clients.shape)
        if self.weighted:
            sizes = np.take_along_axis(federation.sizes["train"], clients, axis=1)
        shares = sizes / sizes.sum(1, keepdims=True)
        return torch.as_tensor(shares, dtype=federation.dtype, device=federation.device)

    def local(self, federation: Federation, state: State, part: Clients) -> Parameters:
        """Return what clients (S, c) of a round send, and keep what stays with them."""
        new = federation.train(
            state.shared,
            self.begin(federation, state, part),
            part,
            self.phases(),
            round=state.round,
            objective=self.objective,
            context=self.context(federation, state, part),
        )
        self.end(federation, state, part, new)
        return new

    def round(self, federation: Federation, state: State, clients: Clients) -> None:
        """Run one round with clients (S, c), changing the state."""
        sums: Parameters = {}
        parts = list(federation.parts(clients))
        weights = self.weights(federation, clients).split([part.shape[1] for part in parts], 1)
        for part, weight in zip(parts, weights, strict=True):
            new = self.local(federation, state, part)
            for name in state.shared.keys() & new.keys():
                total = _weighted(weight, new[name])
                sums[name] = sums[name] + total if name in sums else total
        for name, mean in sums.items():
            state.shared[name] = self.aggregate(state.shared[name], mean)
        self.server(federation, state, clients)
        state.round += 1

    def models(
        self, federation: Federation, state: State, part: Clients
    ) -> tuple[Parameters, Parameters]:
        """Return shared and own parameters of the models by which clients are judged."""
        shared = {name: value for name, value in state.shared.items() if name not in state.personal}
        return shared, state.own(part)

    def fine_tuned(
        self, federation: Federation, state: State, part: Clients
    ) -> tuple[Parameters, Parameters]:
        """Return the models after the fine-tuning that `ft` asks for."""
        shared, own = self.models(federation, state, part)
        phase = Phase(HEAD if self.ft == "head" else (), epochs=self.ft_epochs)
        own = federation.train(
            shared, own, part, (phase,), round=state.round, purpose="fine-tuning"
        )
        return {name: value for name, value in shared.items() if name not in own}, own

    def floats(self, state: State) -> int:
        """Return the numbers that a client of a round sends; it is sent as many."""
        return _count(state.shared)


def _count(values: Parameters, axes: int = 1) -> int:
    """Return how many numbers tensors hold for each place of their first axes."""
    return sum(int(np.prod(value.shape[axes:])) for value in values.values())


def _weighted(weights: Tensor, values: Tensor) -> Tensor:
    """Return weighted sums over clients, (S, ...)."""
    return torch.einsum("sc,sc...->s...", weights.to(values.dtype), values)


def _squared_distance(params: Parameters, anchor: Mapping[str, Tensor]) -> Tensor:
    return torch.stack([((params[k] - value) ** 2).sum() for k, value in anchor.items()]).sum()


def _parameters(federation: Federation, values: Parameters) -> Parameters:
    """Return what moves by gradients, running statistics left out."""
    return {name: value for name, value in values.items() if name in federation.parameters}


@dataclass(frozen=True)
class Local(FedAvg):
    """Every client for itself."""

    def start(self, federation):
        """Return a state in which nothing is shared."""
        return federation.start(all_personal=True)


@dataclass(frozen=True)
class FedProx(FedAvg):
    """Local objectives with a penalty (μ/2)||θ - θ_t||² (Li et al., 2018).

    Attributes
    ----------
    mu : float
        Weight of the penalty; 0.1 for CIFAR in FedRep's paper, Appendix A.2.
    """

    mu: float = 0.1

    def __post_init__(self):
        super().__post_init__()
        check.real("mu", self.mu, minimum=0.0)

    def context(self, federation, state, part):
        """Return the models that the round began with."""
        return {"anchor": expand(_parameters(federation, state.shared), part)}

    def objective(self, network: Network, params: Parameters, batch: Batch, context) -> Tensor:
        """Return the penalized loss of a batch."""
        return loss(network, params, batch) + 0.5 * self.mu * _squared_distance(
            params, context["anchor"]
        )


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

    global_lr: float = 1.0

    def __post_init__(self):
        super().__post_init__()
        check.real("global_lr", self.global_lr, above=0.0)

    def start(self, federation):
        """Return a state with control variates of zero; the server's is the mean of all."""
        state = federation.start()
        size = (len(federation.seeds), federation.n)
        for name in federation.parameters:
            value = state.shared[name]
            state.extra[f"control.{name}"] = value.new_zeros((*size, *value.shape[1:]))
            state.extra[f"server.{name}"] = torch.zeros_like(value)
        return state

    def context(self, federation, state, part):
        """Return the server's control variates less the clients'."""
        names = federation.parameters
        own = gather({name: state.extra[f"control.{name}"] for name in names}, part)
        server = {name: state.extra[f"server.{name}"].unsqueeze(1) for name in names}
        return {"control": {name: server[name] - own[name] for name in names}}

    def objective(self, network, params, batch, context):
        """Return a loss whose gradient is the corrected one."""
        terms = [(params[name] * value).sum() for name, value in context["control"].items()]
        return loss(network, params, batch) + torch.stack(terms).sum()

    def end(self, federation, state, part, new):
        """Move the clients' control variates by what their steps have shown."""
        correction = self.context(federation, state, part)["control"]
        sizes = np.take_along_axis(federation.sizes["train"], part, axis=1)
        steps = self.epochs * -(-sizes // federation.sgd.batch_size)
        scale = torch.as_tensor(1.0 / (federation.sgd.lr * travelled(steps, federation.sgd)))
        for name, value in correction.items():
            moved = state.shared[name].unsqueeze(1) - new[name]
            moved = moved * scale.to(moved).reshape(*scale.shape, *[1] * (moved.ndim - 2))
            scatter({name: state.extra[f"control.{name}"]}, part, {name: moved - value})

    def server(self, federation, state, clients):
        """Set the server's control variate to the mean of all clients'."""
        for name in federation.parameters:
            state.extra[f"server.{name}"] = state.extra[f"control.{name}"].mean(1)

    def aggregate(self, old, mean):
        """Return the server's step."""
        return old + self.global_lr * (mean - old)

    def floats(self, state):
        """Return the numbers of model and control variate."""
        return 2 * super().floats(state)


@dataclass(frozen=True)
class FedPer(FedAvg):
    """Shared representation and personal heads, moved together (Arivazhagan et al., 2019).

    Attributes
    ----------
    personal : tuple of str
        Blocks that stay with the clients.
    """

    personal: tuple[str, ...] = HEAD  # type: ignore[misc]


@dataclass(frozen=True)
class LGFedAvg(FedPer):
    """LG-FedAvg, personal representations and a shared head (Liang et al., 2020); PR-SH.

    The papers' personal layers are the first two convolutional ones: FedRep, Appendix A.2, and
    PerFedSI, Appendix D.
    """

    personal: tuple[str, ...] = ("representation.conv1", "representation.conv2")  # type: ignore[misc]


@dataclass(frozen=True)
class FedRep(FedPer):
    """FedRep: heads first, on a frozen representation, then the representation.

    Attributes
    ----------
    head_epochs : int
        Ten in the paper, Section 5.2; `epochs` are those of the representation.
    first_head : {"own", "mean"}
        What a client that takes part for the first time begins with: its own head, or the mean of
        the heads of the round before.
    """

    head_epochs: int = 10
    first_head: str = "own"

    def __post_init__(self):
        super().__post_init__()
        check.integer("head_epochs", self.head_epochs, minimum=0)
        check.choice("first_head", self.first_head, ("own", "mean"))

    def phases(self):
        """Return the heads' epochs and the representation's."""
        heads = (Phase(self.personal, epochs=self.head_epochs),) if self.personal else ()
        return (*heads, Phase(frozen=self.personal, epochs=self.epochs))

    def start(self, federation):
        """Return a state that knows who has taken part."""
        state = super().start(federation)
        if self.first_head == "mean":
            shape = (len(federation.seeds), federation.n)
            state.extra["met"] = torch.zeros(shape, dtype=torch.bool, device=federation.device)
        return state

    def server(self, federation, state, clients):
        """Hand the mean of the round's heads to all that never took part, if asked to."""
        if self.first_head == "own":
            return
        met = state.extra["met"]
        present = torch.ones(clients.shape, dtype=torch.bool, device=met.device)
        scatter({"met": met}, clients, {"met": present})
        means = {k: v.mean(1, keepdim=True) for k, v in gather(state.personal, clients).items()}
        for name, value in state.personal.items():
            known = met.reshape(*met.shape, *[1] * (value.ndim - 2))
            state.personal[name] = torch.where(known, value, means[name])


@dataclass(frozen=True)
class Ditto(FedAvg):
    """A model of one's own near the averaged one: (λ/2)||v - w_t||² (Li et al., 2021).

    Attributes
    ----------
    penalty : float
        λ; 0.75 in FedRep's Table 1.
    personal_epochs : int, optional
        Of one's own model; by default as many as of the shared one.
    """

    penalty: float = 0.75
    personal_epochs: int | None = None

    def __post_init__(self):
        super().__post_init__()
        check.real("penalty", self.penalty, minimum=0.0)
        if self.personal_epochs is not None:
            check.integer("personal_epochs", self.personal_epochs, minimum=0)

    def start(self, federation):
        """Return a state with a shared model and one for each client."""
        own = federation.start(all_personal=True)
        return State(federation.start().shared, own.personal)

    def near(self, network, params, batch, context):
        """Return the penalized loss of a client's own model."""
        return loss(network, params, batch) + 0.5 * self.penalty * _squared_distance(
            params, context["anchor"]
        )

    def local(self, federation, state, part):
        """Train one's own models beside the shared one, on the same batches."""
        epochs = self.epochs if self.personal_epochs is None else self.personal_epochs
        anchor = expand(_parameters(federation, state.shared), part)
        own = federation.train(
            {}, state.own(part), part, (Phase(epochs=epochs),), round=state.round,
            objective=self.near, context={"anchor": anchor},
        )  # fmt: skip
        scatter(state.personal, part, own)
        return super().local(federation, state, part)


@dataclass(frozen=True)
class APFL(FedAvg):
    """Mixtures α v_i + (1 - α) w of own and shared models (Deng et al., 2020).

    Attributes
    ----------
    alpha : float
        Weight of one's own model, fixed as in FedRep's Appendix A.2.
    """

    alpha: float = 0.25

    def __post_init__(self):
        super().__post_init__()
        if check.real("alpha", self.alpha, minimum=0.0) > 1.0:
            raise ValueError(f"alpha must be between 0 and 1, got {self.alpha}")

    def start(self, federation):
        """Return a state with a shared model and one for each client."""
        if federation.buffers:
            raise ValueError("model must keep no running statistics, since APFL mixes weights")
        own = federation.start(all_personal=True)
        return State(federation.start().shared, own.personal)

    def objective(self, network, params, batch, context):
        """Return a loss whose gradients are those of the shared model and of the mixture."""
        shared = {name[7:]: value for name, value in params.items() if name.startswith("shared.")}
        mixed = {
            name: self.alpha * params[f"own.{name}"] + (1.0 - self.alpha) * value.detach()
            for name, value in shared.items()
        }
        return loss(network, shared, batch) + loss(network, mixed, batch)

    def local(self, federation, state, part):
        """Step the shared model and the mixture together."""
        new = federation.train(
            {f"shared.{name}": value for name, value in state.shared.items()},
            {f"own.{name}": value for name, value in state.own(part).items()},
            part, self.phases(), round=state.round, objective=self.objective,
        )  # fmt: skip
        scatter(state.personal, part, {name: new[f"own.{name}"] for name in state.personal})
        return {name: new[f"shared.{name}"] for name in state.shared}

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

    With probability p a round pulls participants by x_i <- x_i - (αλ/p)(x_i - mean), otherwise
    they train; α is in units of the number of clients, which the paper's α divides by.

    Attributes
    ----------
    p, alpha, penalty : float
        0.9, 0.25 and λ = 1 in FedRep's Appendix A.2.
    """

    p: float = 0.9
    alpha: float = 0.25
    penalty: float = 1.0

    def __post_init__(self):
        super().__post_init__()
        if not 0.0 < check.real("p", self.p) < 1.0:
            raise ValueError(f"p must be between 0 and 1, got {self.p}")
        check.real("alpha", self.alpha, above=0.0)
        check.real("penalty", self.penalty, minimum=0.0)
        if self.alpha * self.penalty > self.p:
            raise ValueError(
                "alpha times penalty must be at most p, where models are pulled all the way to "
                f"their mean, got {self.alpha * self.penalty:g}"
            )

    def start(self, federation):
        """Return a state in which nothing is shared."""
        return federation.start(all_personal=True)

    def round(self, federation, state, clients):
        """Train, or pull to the mean, each run by a coin of its own."""
        coins = [keyed(seed, "coin", state.round).random() for seed in federation.seeds]
        trains = torch.as_tensor(np.array(coins) >= self.p, device=federation.device)
        pull = self.alpha * self.penalty / self.p
        weights = self.weights(federation, clients)
        means = {
            name: _weighted(weights, value).unsqueeze(1)
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
        return round(self.p * _count(state.personal, axes=2))


@dataclass(frozen=True)
class PerFedAvg(FedAvg):
    """One model that is good after a step on a client's samples (Fallah et al., 2020).

    The samples of a batch are cut into support and target, one at least in each; a single one is
    both. With w' = w - α ∇f(w; support), the step is along
    ∇f(w'; target), less α times the Hessian at w times it in the Hessian-free variant, where the
    product is a difference of two gradients.

    Attributes
    ----------
    inner_lr : float
        α; 1e-4 in FedRep's Appendix A.2.
    support : float
        Share of a batch, 8 of 10 there.
    variant : {"hf", "fo"}
        Hessian-free, or first order.
    adapt_epochs : int
        Of steps with inner_lr on a client's samples before it is judged.
    """

    inner_lr: float = 1e-4
    support: float = 0.8
    variant: str = "hf"
    adapt_epochs: int = 1

    _DIFFERENCE: ClassVar[float] = 1e-3

    def __post_init__(self):
        super().__post_init__()
        check.real("inner_lr", self.inner_lr, above=0.0)
        if not 0.0 < check.real("support", self.support) < 1.0:
            raise ValueError(f"support must be between 0 and 1, got {self.support}")
        check.choice("variant", self.variant, ("hf", "fo"))
        check.integer("adapt_epochs", self.adapt_epochs, minimum=0)

    def objective(self, network, params, batch, context):
        """Return a linear function whose gradient is the meta-gradient."""
        # By weights, since batches differ in how many samples they have.
        count = batch.weight.sum()
        cut = torch.minimum((self.support * count).round(), count - 1.0).clamp(min=1.0)
        first = batch.weight * (batch.weight.cumsum(0) <= cut)
        support = batch._replace(weight=first)
        target = batch._replace(weight=torch.where(count > 1.0, batch.weight - first, first))

        def gradient(at, samples):
            return grad(lambda values: loss(network.peek(samples.weight), values, samples))(at)

        def moved(along, by):
            return {name: value + by * along[name] for name, value in fixed.items()}

        fixed = {name: value.detach() for name, value in params.items()}
        inner = moved(gradient(fixed, support), -self.inner_lr)
        direction = gradient(inner, target)
        if self.variant == "hf":
            ahead, behind = (
                gradient(moved(direction, by), support)
                for by in (self._DIFFERENCE, -self._DIFFERENCE)
            )
            rate = self.inner_lr / (2.0 * self._DIFFERENCE)
            direction = {k: v - rate * (ahead[k] - behind[k]) for k, v in direction.items()}
        loss(network, fixed, batch)  # for what layers note of the batch
        terms = [(params[name] * value.detach()).sum() for name, value in direction.items()]
        return torch.stack(terms).sum()

    def models(self, federation, state, part):
        """Return the model after each client's adaptation."""
        phase = Phase(epochs=self.adapt_epochs, lr=self.inner_lr)
        own = federation.train(
            state.shared, {}, part, (phase,), round=state.round, purpose="adaptation"
        )
        return {}, expand(state.shared, part) | own


@dataclass(frozen=True)
class FLUTE(FedPer):
    """General FLUTE, Algorithm 2 with the loss (10), and FLUTE* (Section 7.2).

    To the loss come λ1 ||ψ_B(x)||² + λ2 ||H_i||² + λ3 NC_i(H_i), and the server takes a step of
    size `server_lr` down Σ_i NC_i(H_i) in the participants' heads. FLUTE* is `head_epochs` > 0:
    further epochs of the heads alone. The paper gives no values of its λ and of the server's step.

    Attributes
    ----------
    lambda1, lambda2, lambda3 : float
        Weights of features, heads and collapse.
    server_lr : float
        η_r; zero leaves out the server's step.
    head_epochs : int
        Ten for FLUTE*.
    flute_order : {"joint_first", "head_first"}
        Whether those epochs come after the joint ones, as in the paper, or before.
    """

    lambda1: float = 1e-4
    lambda2: float = 1e-4
    lambda3: float = 0.1
    server_lr: float = 0.1
    head_epochs: int = 0
    flute_order: str = "joint_first"

    def __post_init__(self):
        super().__post_init__()
        for name in ("lambda1", "lambda2", "lambda3", "server_lr"):
            check.real(name, getattr(self, name), minimum=0.0)
        check.integer("head_epochs", self.head_epochs, minimum=0)
        check.choice("flute_order", self.flute_order, ("joint_first", "head_first"))

    def phases(self):
        """Return the joint epochs and the heads' own."""
        joint = (Phase(epochs=self.epochs),)
        wanted = self.head_epochs and self.personal
        heads = (Phase(self.personal, epochs=self.head_epochs),) if wanted else ()
        return joint + heads if self.flute_order == "joint_first" else heads + joint

    def start(self, federation):
        """Return the state; classes are told apart by linear heads, which are personal."""
        state = super().start(federation)
        if federation.y.is_floating_point():
            raise ValueError("data must have classes for FLUTE, not real labels")
        if "head.weight" not in federation.parameters:
            raise ValueError("model must have a linear head for FLUTE, a parameter head.weight")
        if self.server_lr and "head.weight" not in state.personal:
            raise ValueError("personal must hold the heads, on which FLUTE's server takes a step")
        return state

    def context(self, federation, state, part):
        """Return which classes each client has."""
        return {"present": federation.present(part)}

    def objective(self, network, params, batch, context):
        """Return (10) at a batch."""
        features = network.features(params, batch)
        outputs = network.head(params, features)
        value = batch.mean(nn.functional.cross_entropy(outputs, batch.y, reduction="none"))
        head = params["head.weight"]
        if self.lambda1:
            value = value + self.lambda1 * batch.mean((features**2).flatten(1).sum(1))
        if self.lambda2:
            value = value + self.lambda2 * (head**2).sum()
        if self.lambda3:
            value = value + self.lambda3 * neural_collapse(head, context["present"])
        return value

    def server(self, federation, state, clients):
        """Step down the heads' neural collapse."""
        if not self.server_lr:
            return
        heads = {"head.weight": state.personal["head.weight"]}
        new = gather(heads, clients)["head.weight"]
        descent = vmap(vmap(grad(neural_collapse)))(new, federation.present(clients))
        scatter(heads, clients, {"head.weight": new - self.server_lr * descent})

    def floats(self, state):
        """Return the numbers of representation and head, which the server sees, too."""
        return _count(state.shared) + _count(state.personal, axes=2)


@dataclass(frozen=True)
class PerFedSI(FedAvg):
    """Federated averaging of a network that takes clients' side information, (3) or (4)."""

    def start(self, federation):
        """Return the state; the network must take side information, and clients have some."""
        if not getattr(federation.model, "side_information", False):
            raise ValueError("model must take side information, as concatenation and mask do")
        if federation.side.shape[-1] == 0:
            raise ValueError("data must have side information of clients")
        return super().start(federation)


@dataclass(frozen=True)
class PFLMF(FedAvg):
    """pFL^MF, Algorithm 1: θ_i = U v_i over all parameters, v_i personal.

    A round is `epochs` of v_i and then `steps_U` steps of U, whose results are averaged; with one
    step and all samples in a batch, the server's step along the mean gradient.

    A step of U of size lr moves θ_i by -lr ||v_i||² ∇f_i, and ||v_i|| is 1 at the start, for every
    rank: it is as long as a step of federated averaging, whose lr is a good one here, too. With
    `steps_U` = 1, progress is that of one local step in a round; where batches are small, `steps_U`
    near the number of batches in an epoch makes up for it. A step of v_i moves θ_i by
    -lr_v U Uᵀ∇f_i, and U is as large as the network's weights. With lr_v = lr and clients unlike
    each other ||v_i|| grows, steps of U become longer by its square, and many of them diverge. The
    ratio of the paper's Theorem 1, lr_v = lr p / K with participation p and K steps of v, was
    stable where lr was. The η_i / n of Algorithm 1 is shorter by another factor n p / K: v_i then
    hardly moves within some hundred rounds, and clients keep about the same model.

    Attributes
    ----------
    rank : int
        r.
    steps_U : int
        K_U of Setup (6).
    lr_v : float, optional
        Step of v_i, the paper's η_i / n; by default the run's.
    """

    rank: int = 5
    steps_U: int = 1
    lr_v: float | None = None

    personal: ClassVar[tuple[str, ...]] = ("v",)

    def __post_init__(self):
        super().__post_init__()
        check.integer("rank", self.rank, minimum=1)
        check.integer("steps_U", self.steps_U, minimum=1)
        if self.ft == "head":
            raise ValueError("ft must be None or 'all' for pFL^MF, whose models have no own head")

    def network(self, make):
        """Return what makes the factored network."""
        return lambda: models.Factored(make(), self.rank)

    def phases(self):
        """Return the steps of v and of U."""
        return (
            Phase(self.personal, epochs=self.epochs, lr=self.lr_v),
            Phase(("U",), steps=self.steps_U),
        )


METHODS: Mapping[str, type[FedAvg]] = {
    "local": Local,
    "fedavg": FedAvg,
    "fedprox": FedProx,
    "scaffold": Scaffold,
    "fedper": FedPer,
    "fedrep": FedRep,
    "lg": LGFedAvg,
    "ditto": Ditto,
    "apfl": APFL,
    "l2gd": L2GD,
    "perfedavg": PerFedAvg,
    "flute": FLUTE,
    "perfedsi": PerFedSI,
    "pflmf": PFLMF,
}
