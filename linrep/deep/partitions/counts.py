"""What each client of a partition has."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from linrep.deep.data import FederatedData

if TYPE_CHECKING:
    import pandas as pd


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
