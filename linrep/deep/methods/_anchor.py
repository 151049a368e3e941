"""Local models drawn to the shared one by a penalty."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from linrep.deep.federation import Federation
from linrep.deep.state import Clients, State, expand
from linrep.deep.training import Batch, Network, Parameters, loss


def anchored(federation: Federation, state: State, part: Clients) -> Mapping[str, Any]:
    """Return the context of :func:`penalized`: the shared parameters that a round began with."""
    moving = {k: value for k, value in state.shared.items() if k in federation.parameters}
    return {"anchor": expand(moving, part)}


def penalized(
    penalty: float, network: Network, params: Parameters, batch: Batch, context: Mapping[str, Any]
) -> Tensor:
    """Return the loss of a batch with (penalty/2)||θ - anchor||²."""
    squares = [((params[name] - value) ** 2).sum() for name, value in context["anchor"].items()]
    return loss(network, params, batch) + 0.5 * penalty * torch.stack(squares).sum()
