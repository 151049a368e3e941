"""Where runs stand, and the rows of it that belong to clients.

Several runs with seeds of their own, S of them, are held at once: tensors of shared parameters
have a first axis of length S, those of n clients first axes (S, n), and a *part* is an integer
array (S, c) of clients.
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
    """Where S runs stand.

    Attributes
    ----------
    shared : dict of str to Tensor, shapes (S, ...)
        Parameters and running statistics that the server has.
    personal : dict of str to Tensor, shapes (S, n, ...)
        Those that stay with the clients.
    extra : dict of str to Tensor, shapes (S, ...)
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
        """Return the personal parameters of a part's clients, (S, c, ...).

        Parameters
        ----------
        part : ndarray of int, shape (S, c)
        """
        return gather(self.personal, part)


def gather(values: Parameters, part: Clients) -> Parameters:
    """Return the clients' rows of tensors, (S, c, ...).

    Parameters
    ----------
    values : dict of str to Tensor, shapes (S, n, ...)
    part : ndarray of int, shape (S, c)
    """
    return {name: value[_rows(part), torch.as_tensor(part)] for name, value in values.items()}


def scatter(values: Parameters, part: Clients, new: Mapping[str, Tensor]) -> None:
    """Write the clients' rows of tensors.

    Parameters
    ----------
    values : dict of str to Tensor, shapes (S, n, ...)
        Changed.
    part : ndarray of int, shape (S, c)
    new : mapping of str to Tensor, shapes (S, c, ...)
        The new rows, of all names in `values` at least.
    """
    for name, value in values.items():
        value[_rows(part), torch.as_tensor(part)] = new[name]


def expand(shared: Parameters, part: Clients) -> Parameters:
    """Return shared tensors as views with an axis of clients, (S, c, ...).

    Parameters
    ----------
    shared : dict of str to Tensor, shapes (S, ...)
    part : ndarray of int, shape (S, c)
    """
    return {
        name: value.unsqueeze(1).expand(-1, part.shape[1], *value.shape[1:])
        for name, value in shared.items()
    }


def _rows(part):
    return torch.arange(part.shape[0]).unsqueeze(1)
