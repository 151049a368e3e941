"""Samples of a partition that are held out from training, for choices."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from linrep._lib import validation as check
from linrep.deep.data import FederatedData
from linrep.deep.partitions._draws import split_each
from linrep.problems.random import stream


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
    real = data.y.dtype.kind == "f"  # without classes of which a sample stays
    classes = np.zeros(len(data.y), dtype=np.int64) if real else data.y
    train, test = split_each(data.train, classes, kept, rng)
    return replace(data, train=tuple(train), test=tuple(test))
