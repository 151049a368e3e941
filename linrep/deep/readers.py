"""Readers of the files that users have, each to a :class:`linrep.deep.data.Dataset`."""

from __future__ import annotations

from typing import Any

import numpy as np

from linrep import _validation as check
from linrep._random import stream
from linrep.deep.data import Dataset

_TEST_SHARE = 0.25  # of data that come without a test split


def digits(*, rng: Any = 0) -> Dataset:
    """Return scikit-learn's digits: 1797 grey images of 8 by 8 pixels, 10 classes.

    Parameters
    ----------
    rng : Generator or seed
        Of the split: a quarter of each class, at random, is the test set.

    Returns
    -------
    Dataset

    Raises
    ------
    ImportError
        If scikit-learn, which brings the images, is not installed.
    """
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        raise ImportError("digits come with scikit-learn, which is not installed") from None
    bunch = load_digits()
    images = np.rint(bunch.images * (255.0 / 16.0)).astype(np.uint8)[:, None]
    return _hold_out(images, bunch.target, "digits", rng)


def _hold_out(x, y, name, rng, **others):
    """Return a dataset whose test samples are a quarter of each class, drawn at random."""
    rng = stream(rng, "deep.hold_out")
    shuffled = rng.permutation(len(y))
    by_class = shuffled[np.argsort(y[shuffled], kind="stable")]
    firsts = np.flatnonzero(np.r_[True, np.diff(y[by_class]) != 0])
    is_test = np.zeros(len(y), dtype=bool)
    for members in np.split(by_class, firsts[1:]):
        is_test[members[: int(_TEST_SHARE * len(members))]] = True
    return Dataset(
        x[~is_test], y[~is_test], x_test=x[is_test], y_test=y[is_test], name=name, **others
    )


def load(name: str, folder: str | None = None, *, rng: Any = 0) -> Dataset:
    """Return a dataset by its name."""
    check.choice("name", name, ("digits",))
    return digits(rng=rng)
