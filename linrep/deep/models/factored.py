"""Networks whose parameters are factored, as pFL^MF has them."""

import copy
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.func import functional_call

from linrep._lib.validation import integer


class Factored(nn.Module):
    """A network whose parameters are θ = U v: pFL^MF, over all parameters.

    The parameter ``U.<name>``, ``(rank, *shape)``, holds the columns of U that make up the base's
    parameter <name>; ``v``, (rank,), is the client's own. Buffers are the base's, as ``U.<name>``.

    At the start the columns are independent usual starts of the base, the first one the base's own,
    and all entries of v are 1/√rank: weights then have the distribution's usual variance, and with
    rank 1 the network is the base. Parameters that start at a constant (biases at zero, scales of
    normalization at one) start there: their columns are the constant over √rank. All clients thus
    start at the same θ.
    """

    def __init__(self, base: nn.Module, rank: int):
        super().__init__()
        rank = integer("rank", rank, minimum=1)
        if not all(value.requires_grad for value in base.parameters()):
            raise ValueError("model must have no frozen parameters: all of θ = U v move with v")
        self.side_information = getattr(base, "side_information", False)
        self.U = copy.deepcopy(base)
        starts = [dict(base.named_parameters()), *(_start_anew(base) for _ in range(rank - 1))]
        for path in starts[0]:
            owner, _, name = path.rpartition(".")
            columns = nn.Parameter(_columns([start[path] for start in starts]))
            setattr(self.U.get_submodule(owner), name, columns)
        self.v = nn.Parameter(next(base.parameters()).new_full((rank,), rank**-0.5))

    def parameters_of_base(self) -> dict[str, Tensor]:
        """Return θ = U v as the base's parameters, by name."""
        return {name: torch.tensordot(self.v, u, dims=1) for name, u in self.U.named_parameters()}

    def forward(self, *inputs: Tensor) -> Tensor:
        """Return the base's output at θ = U v."""
        return functional_call(self.U, self.parameters_of_base(), inputs)


def _start_anew(base: nn.Module) -> dict[str, nn.Parameter]:
    """Return the parameters of another start of a network."""
    drawn = copy.deepcopy(base)
    for module in drawn.modules():
        reset = getattr(module, "reset_parameters", None)
        if callable(reset):
            reset()
        elif next(module.parameters(recurse=False), None) is not None:
            kind = type(module).__name__
            raise TypeError(f"base must start anew, {kind} has parameters but no reset_parameters")
    return dict(drawn.named_parameters())


def _columns(starts: Sequence[Tensor]) -> Tensor:
    """Stack starts; divide constant ones by √rank, which is the sum of v's entries."""
    stacked = torch.stack([start.detach() for start in starts])
    return stacked / len(starts) ** 0.5 if (stacked == stacked[0]).all() else stacked
