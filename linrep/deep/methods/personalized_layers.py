"""Methods with personalized layers: clients keep some blocks of the network, and share others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from torch import nn
from torch.func import grad, vmap

from linrep._lib import validation as check
from linrep.deep.collapse import neural_collapse
from linrep.deep.methods.base import HEAD, FedAvg, count
from linrep.deep.models.factored import Factored
from linrep.deep.state import gather, scatter
from linrep.deep.training import Phase, belongs, setting


@dataclass(frozen=True)
class FedPer(FedAvg):
    """Shared representation and personalized heads, moved together (Arivazhagan et al., 2019).

    Attributes
    ----------
    personal : tuple of str
        Blocks that stay with the clients.
    """

    personal: tuple[str, ...] = HEAD  # type: ignore[misc]


@dataclass(frozen=True)
class LGFedAvg(FedPer):
    """LG-FedAvg, personal representations and a shared head (Liang et al., 2020); PR-SH.

    The papers' personalized layers are the first two convolutional ones: FedRep, Appendix A.2, and
    PerFedSI, Appendix D.
    """

    personal: tuple[str, ...] = ("representation.conv1", "representation.conv2")  # type: ignore[misc]


@dataclass(frozen=True)
class FedRep(FedPer):
    """FedRep: heads first, on a frozen representation, then the representation.

    A client that takes part for the first time begins with its own head, which is sent to nobody.

    Attributes
    ----------
    head_epochs : int
        Ten in the paper, Section 5.2; `epochs` are those of the representation.
    head_lr : float, optional
        Step size of the heads; by default the run's.
    """

    head_epochs: int = setting(10, check.integer, minimum=0)
    head_lr: float | None = setting(None, above=0.0)

    def phases(self):
        """Return the heads' epochs and the representation's."""
        heads = Phase(self.personal, epochs=self.head_epochs, lr=self.head_lr)
        rest = Phase(frozen=self.personal, epochs=self.epochs)
        return (heads, rest) if self.personal else (rest,)


@dataclass(frozen=True)
class FedAlt(FedRep):
    """FedAlt (Pillutla et al., 2022): personal layers first, then the shared ones.

    FedRep with as long a phase for the one as for the other.
    """

    head_epochs: int = 1


@dataclass(frozen=True)
class FedBABU(FedAvg):
    """FedBABU (Oh, Kim, Yun, 2022): the head stays as it starts, until clients fine-tune.

    What is judged before the fine-tuning is the shared representation with that head.
    """

    ft: str | None = "all"

    def phases(self):
        """Return the epochs of the representation."""
        return (Phase(frozen=HEAD, epochs=self.epochs),)

    def floats(self, state):
        """Return the numbers of the representation, since the head is the same everywhere."""
        return count({k: v for k, v in state.shared.items() if not belongs(k, HEAD)})


@dataclass(frozen=True)
class FLUTE(FedPer):
    """General FLUTE, Algorithm 2 with the loss (10), and FLUTE* (Section 7.2).

    To the loss come λ1 ||ψ_B(x)||² + λ2 ||H_i||² + λ3 NC_i(H_i), and the server takes a step of
    size `server_lr` down Σ_i NC_i(H_i) in the participants' heads. FLUTE* is `head_epochs` > 0:
    further epochs of the heads alone. The paper gives no values of its λ and of the server's step;
    `PUBLISHED` are those of the authors' code.

    Attributes
    ----------
    lambda1, lambda2, lambda3 : float
        Weights of features, heads and collapse.
    server_lr : float
        η_r; zero leaves out the server's step.
    head_epochs : int
        Ten for FLUTE*, after the joint ones; in the authors' code they come before.
    """

    #: Those of the authors' public code, for batches of 10 (whose features it adds) and 10
    #: participants (over whom its server's step of 0.5 is a mean).
    PUBLISHED: ClassVar[Mapping[str, float]] = MappingProxyType(
        {"lambda1": 0.005, "lambda2": 0.0025, "lambda3": 0.25, "server_lr": 0.05}
    )

    lambda1: float = setting(1e-4, minimum=0.0)
    lambda2: float = setting(1e-4, minimum=0.0)
    lambda3: float = setting(0.1, minimum=0.0)
    server_lr: float = setting(0.1, minimum=0.0)
    head_epochs: int = setting(0, check.integer, minimum=0)

    def phases(self):
        """Return the joint epochs and the heads' own."""
        joint = Phase(epochs=self.epochs)
        if not (self.head_epochs and self.personal):
            return (joint,)
        return joint, Phase(self.personal, epochs=self.head_epochs)

    def start(self, federation):
        """Return the state; classes are separated by linear heads, which are personal."""
        self._need_classes(federation)
        state = super().start(federation)
        if "head.weight" not in federation.parameters:
            raise ValueError("model must have a linear head for FLUTE, a parameter head.weight")
        self._need_parts(federation, side=True)
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
        descent = vmap(grad(neural_collapse))(new, federation.present(clients))
        scatter(heads, clients, {"head.weight": new - self.server_lr * descent})

    def floats(self, state):
        """Return the numbers of representation and head, if the server takes its step."""
        heads = count(state.personal, axes=1) if self.server_lr else 0
        return super().floats(state) + heads


@dataclass(frozen=True)
class PFLMF(FedAvg):
    """pFL^MF, Algorithm 1: θ_i = U v_i over all parameters, v_i personal.

    A round is `epochs` of v_i and `steps_U` steps of U, whose results are averaged; with one step
    and all samples in a batch, the server's step along the mean gradient. Both begin at the U and
    v_i of the round's start, as Algorithm 1 has it, and see the same batches.

    A step of U of size lr moves θ_i by -lr ||v_i||² ∇f_i, and ||v_i|| is 1 at the start, for every
    rank: it is as long as a step of federated averaging, whose lr is a good one here, too. With
    `steps_U` = 1, progress is that of one local step in a round; where batches are small, `steps_U`
    near the number of batches in an epoch makes up for it. A step of v_i moves θ_i by
    -lr_v U Uᵀ∇f_i, and U is as large as the network's weights. With lr_v = lr and clients unlike
    each other ||v_i|| grows, steps of U become longer by its square, and many of them diverge.
    With lr_v = lr p / K, for participation p and K steps of v, runs were stable where those of
    federated averaging were. That is the ratio of step sizes of the paper's Theorem 1, but for the
    1/n that the gradient in v_i has there, (7): by its step of lr p / (K n), v_i hardly moves
    within some hundred rounds, and clients keep about the same model.

    Running averages of batch normalization move with U: with `steps_U` = 1 they take up one batch a
    round, and after t rounds their start still weighs 0.9^t.

    Attributes
    ----------
    rank : int
        r, at least 1.
    steps_U : int
        K_U of Setup (6).
    lr_v : float, optional
        Step of v_i along Uᵀ∇f_i, the paper's η_i / n; by default the run's.
    order : {"simultaneous", "alternating"}
        Whether U moves at the v_i of the round's start, or at the new ones.
    """

    rank: int = setting(5, check.integer, minimum=1)
    steps_U: int = setting(1, check.integer, minimum=1)
    lr_v: float | None = None
    order: str = setting("simultaneous", check.choice, allowed=("simultaneous", "alternating"))

    personal: ClassVar[tuple[str, ...]] = ("v",)

    def __post_init__(self):
        super().__post_init__()
        if self.ft == "head":
            raise ValueError("ft must be None or 'all' for pFL^MF, whose models have no own head")

    def network(self, make):
        """Return what makes the factored network."""
        return lambda: Factored(make(), self.rank)

    def phases(self):
        """Return the steps of v and of U."""
        return (
            Phase(self.personal, epochs=self.epochs, lr=self.lr_v),
            Phase(("U",), steps=self.steps_U),
        )

    def local(self, federation, state, part):
        """Return U as the clients send it, and keep the v_i."""
        if self.order == "alternating":
            return super().local(federation, state, part)
        of_v, of_U = (self._train(federation, state, part, (phase,)) for phase in self.phases())
        self.end(federation, state, part, of_v)
        return of_U
