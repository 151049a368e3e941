"""Where a run stands, and the rows of it that belong to clients.

Tensors of shared parameters have shapes of their own, those of n clients a first axis of length n,
and a *part* is an integer array (c,) of clients.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from linrep._lib import display as show
from linrep.deep.training import Parameters

Clients = NDArray[np.int64]


@dataclass
class State:
    """Where a run stands.

    Attributes
    ----------
    shared : dict of str to Tensor
        Parameters and running statistics that the server has.
    personal : dict of str to Tensor, shapes (n, ...)
        Those that stay with the clients.
    extra : dict of str to Tensor
        What else a method keeps.
    round : int
        Rounds completed.
    """

    shared: Parameters
    personal: Parameters
    extra: Parameters = field(default_factory=dict)
    round: int = 0

    def __repr__(self):
        return show.line(self)

    def own(self, part: Clients) -> Parameters:
        """Return the personal parameters of a part's clients, (c, ...).

        Parameters
        ----------
        part : ndarray of int, shape (c,)
        """
        return gather(self.personal, part)


def gather(values: Parameters, part: Clients) -> Parameters:
    """Return the clients' rows of tensors, (c, ...).

    Parameters
    ----------
    values : dict of str to Tensor, shapes (n, ...)
    part : ndarray of int, shape (c,)
    """
    return {name: value[torch.as_tensor(part)] for name, value in values.items()}


def scatter(values: Parameters, part: Clients, new: Mapping[str, Tensor]) -> None:
    """Write the clients' rows of tensors.

    Parameters
    ----------
    values : dict of str to Tensor, shapes (n, ...)
        Changed.
    part : ndarray of int, shape (c,)
    new : mapping of str to Tensor, shapes (c, ...)
        The new rows, of all names in `values` at least.
    """
    for name, value in values.items():
        value[torch.as_tensor(part)] = new[name]


def expand(shared: Parameters, part: Clients) -> Parameters:
    """Return shared tensors as views with a first axis of clients, (c, ...).

    Parameters
    ----------
    shared : dict of str to Tensor
    part : ndarray of int, shape (c,)
    """
    return {name: value.expand(len(part), *value.shape) for name, value in shared.items()}
