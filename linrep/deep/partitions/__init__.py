"""Splits of a dataset among clients: each is drawn once, without retries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from linrep._lib import validation as check
from linrep.deep.data import Dataset, FederatedData
from linrep.deep.partitions.by_owner import alphabets, natural
from linrep.deep.partitions.classes import dirichlet, log_normal, shards
from linrep.deep.partitions.counts import table
from linrep.deep.partitions.groups import affine_shifts, permuted_labels, super_groups
from linrep.deep.partitions.held_out import hold_out

__all__ = [
    "affine_shifts",
    "alphabets",
    "dirichlet",
    "hold_out",
    "log_normal",
    "natural",
    "partition",
    "permuted_labels",
    "shards",
    "super_groups",
    "table",
]

_PARTITIONS = {
    function.__name__: function
    for function in (
        shards, dirichlet, permuted_labels, super_groups, alphabets, affine_shifts, log_normal,
        natural,
    )
}  # fmt: skip


def partition(dataset: Dataset, name: str, *args: Any, **settings: Any) -> FederatedData:
    """Call a partition by its name, as "shards".

    Parameters
    ----------
    dataset : Dataset
    name : str
    *args
        Of the partition, after the data set.
    **settings
        Of the partition, by name.

    Raises
    ------
    ValueError
        If there is no such partition.
    """
    return named(name)(dataset, *args, **settings)


def named(name: str) -> Callable[..., FederatedData]:
    """Return a partition by its name."""
    return _PARTITIONS[check.choice("partition", name, _PARTITIONS)]


def __dir__():
    return sorted(__all__)
