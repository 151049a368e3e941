"""Splits of a dataset among clients: each is drawn once, without retries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from linrep._lib import validation as check
from linrep.deep.data import Dataset, FederatedData
from linrep.deep.partitions._draws import split_each
from linrep.deep.partitions.by_owner import alphabets, natural
from linrep.deep.partitions.classes import dirichlet, log_normal, shards
from linrep.deep.partitions.groups import affine_shifts, permuted_labels, super_groups
from linrep.problems.random import stream

if TYPE_CHECKING:
    import pandas as pd

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


def hold_out(data: FederatedData, share: float = 0.25, *, rng: Any = None) -> FederatedData:
    """Split each client's training samples again, and leave its test samples out.

    What is chosen by the held-out samples, as a step size, has not seen those of the test.

    Parameters
    ----------
    data : FederatedData
        Samples of the clients.
    share : float
        Share of a client's training samples that become its test samples, at least 0 and below 1;
        one sample of each class stays.
    rng : Generator or seed
        Of the split.

    Returns
    -------
    FederatedData
        Images are scaled as before.
    """
    train_share = 1.0 - check.real("share", share, minimum=0.0, below=1.0)
    rng = stream(rng, "deep.hold_out")
    real = data.y.dtype.kind == "f"  # without classes of which a sample stays
    classes = np.zeros(len(data.y), dtype=np.int64) if real else data.y
    train, test = split_each(data.train, classes, train_share, rng)
    return replace(data, train=tuple(train), test=tuple(test))


def table(data: FederatedData) -> pd.DataFrame:
    """Describe what each client has.

    Parameters
    ----------
    data : FederatedData
        A partition.

    Returns
    -------
    DataFrame
        A row for each client: its numbers of training samples (train), of test samples (test) and
        of classes among the former (classes), its group where there are groups, and its numbers
        of training samples of each class (class 0, class 1, ...).
    """
    import pandas as pd

    counts = np.array([np.bincount(data.y[part], minlength=data.classes) for part in data.train])
    columns = {
        "train": data.sizes,
        "test": [part.size for part in data.test],
        "classes": np.count_nonzero(counts, axis=1),
    }
    if data.groups is not None:
        columns["group"] = data.groups
    of_classes = {f"class {label}": counts[:, label] for label in range(data.classes)}
    return pd.DataFrame({**columns, **of_classes}).rename_axis(index="client")


def __dir__():
    return sorted(__all__)
