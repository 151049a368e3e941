"""MNIST's idx files, and those of its like."""

from __future__ import annotations

import gzip
import math
import zlib
from pathlib import Path

import numpy as np

from linrep.deep.data import Dataset
from linrep.deep.readers._folders import find

DEBIAN_FASHION_MNIST = "/usr/share/datasets/fashion-mnist"  # of the package dataset-fashion-mnist


def mnist(folder: str | Path) -> Dataset:
    """Read MNIST's four idx files, gzipped or not: 28 by 28 pixels, grey.

    Parameters
    ----------
    folder : path
        With train-images-idx3-ubyte, train-labels-idx1-ubyte and the same of t10k, each of them
        also ending in .gz or with a dot before idx.

    Returns
    -------
    Dataset

    Raises
    ------
    FileNotFoundError
        If files are missing.
    ValueError
        If a file is no idx file of bytes, or images and labels do not fit.
    """
    return _idx_dataset("mnist", folder)


def fashion_mnist(folder: str | Path = DEBIAN_FASHION_MNIST) -> Dataset:
    """Read Fashion-MNIST, 28 by 28 images of ten kinds of clothes in the files of MNIST.

    Parameters
    ----------
    folder : path
        By default where Debian's package dataset-fashion-mnist puts the files.

    Returns
    -------
    Dataset
    """
    return _idx_dataset("fashion-mnist", folder)


def _idx_dataset(name, folder):
    """Read the four idx files of MNIST and its like."""
    parts = [
        f"{part}-{kind}" for part in ("train", "t10k") for kind in ("images?idx3", "labels?idx1")
    ]
    layouts = [tuple(f"{part}-ubyte{end}" for part in parts) for end in ("", ".gz")]
    x, y, x_test, y_test = (
        _idx(path[0], axes)
        for path, axes in zip(find(name, folder, *layouts), (3, 1, 3, 1), strict=True)
    )
    return Dataset(x[:, None], y, x_test[:, None], y_test, classes=10, name=name)


def _idx(path, axes):
    """Return the bytes of an idx file, as an array of so many axes."""
    try:
        with gzip.open(path) if path.suffix == ".gz" else open(path, "rb") as file:
            content = file.read()
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"{path} cannot be read: {error}") from error
    start = 4 + 4 * axes
    if content[:4] != bytes((0, 0, 8, axes)) or len(content) < start:
        raise ValueError(f"{path} must be an idx file of bytes with {axes} axes")
    shape = np.frombuffer(content, dtype=">u4", count=axes, offset=4).tolist()
    if math.prod(shape) != len(content) - start:
        raise ValueError(
            f"{path} must hold {math.prod(shape)} bytes of shape {tuple(shape)}, it holds "
            f"{len(content) - start}"
        )
    return np.frombuffer(content, dtype=np.uint8, offset=start).reshape(shape)
