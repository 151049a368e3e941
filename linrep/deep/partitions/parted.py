"""What is done with a partition that is there: samples held out, a table."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from linrep import _validation as check
from linrep.deep.data import FederatedData
from linrep.random import stream

if TYPE_CHECKING:
    import pandas as pd

from linrep.deep.partitions._draws import split_each


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
    kept = 1.0 - check.real("share", share, minimum=0.0, below=1.0)
    rng = stream(rng, "deep.hold_out")
    train, test = split_each(data.train, data.y, kept, rng)
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
