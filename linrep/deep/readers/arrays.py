"""Data sets that are arrays already: scikit-learn's digits, and files of numpy.savez."""

from __future__ import annotations

import zipfile
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from linrep.deep.data import Dataset, channels_first
from linrep.problems.random import stream

#: What is read of a file.
_ARRAYS = ("x_train", "y_train", "x_test", "y_test", "owner", "owner_test", "coarse", "embedding",
           "about")  # fmt: skip
_TEST_SHARE = 0.25  # of the digits, which come without a test split


def digits(*, rng: Any = 0) -> Dataset:
    """Return scikit-learn's digits: 1797 grey images of 8 by 8 pixels, 10 classes.

    Parameters
    ----------
    rng : Generator or seed
        Of the split: a quarter of each class, at random, is for testing.

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
    x, y = np.rint(bunch.images * (255.0 / 16.0)).astype(np.uint8)[:, None], bunch.target
    order = stream(rng, "deep.digits").permutation(y.size)
    is_test = np.zeros(y.size, dtype=bool)
    for label in range(10):
        members = order[y[order] == label]
        is_test[members[: int(_TEST_SHARE * members.size)]] = True
    return Dataset(x[~is_test], y[~is_test], x[is_test], y[is_test], name="digits")


def npz(path: str | Path) -> Dataset:
    """Read arrays x_train, y_train and, if they are there, x_test, y_test.

    Parameters
    ----------
    path : path
        File of numpy.savez. Images may have their channels first, last or none, labels also the
        shape (N, 1). Arrays owner, owner_test, coarse and embedding, and the text about, are
        taken as :class:`Dataset` describes them.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If it is not of numpy, lacks arrays, or they do not fit together.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"{path} is not there")
    there = names(path)
    with _opened(path) as file:
        arrays = {name.removesuffix("_train"): file[name] for name in there if name in _ARRAYS}
    for name in {"x", "x_test"} & arrays.keys():
        arrays[name] = channels_first(arrays[name])
    about = str(arrays.pop("about", ""))
    return Dataset(name=path.stem, about=about, **arrays)


def names(path: Path) -> list[str]:
    """Return what arrays a file of numpy.savez has, without reading them."""
    with _opened(path) as file:
        there = list(file.files)
    if missing := [name for name in ("x_train", "y_train") if name not in there]:
        held = ", ".join(there) or "nothing"
        raise ValueError(f"{path} must hold {' and '.join(missing)}, it holds {held}")
    return there


@contextmanager
def _opened(path):
    try:  # np.load leaves a file open that it cannot read
        with path.open("rb") as stream, np.load(stream) as file:
            yield file
    except (AttributeError, EOFError, OSError, ValueError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path} must be a file of numpy.savez with plain arrays") from error
