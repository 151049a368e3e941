"""Readers of the files that users have, each returning a :class:`linrep.deep.data.Dataset`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from linrep.deep.data import Dataset
from linrep.deep.readers.arrays import digits, npz
from linrep.deep.readers.images import CLASSES, images
from linrep.deep.readers.leaf import femnist, sent140

__all__ = ["FOLDER_VARIABLE", "digits", "femnist", "images", "load", "npz", "sent140"]

#: Environment variable with the folder that data sets are read from by default.
FOLDER_VARIABLE = "LINREP_DATA"
_LEAF = {"femnist": femnist, "sent140": sent140}
_NAMES = ("digits", *CLASSES, *_LEAF)


def load(
    name: str, folder: str | Path | None = None, *, download: bool = False, rng: Any = 0
) -> Dataset:
    """Read a dataset.

    Parameters
    ----------
    name : str
        "digits", "cifar10", "cifar100", "mnist", "omniglot", "femnist", "sent140", or the path of a
        file that ends in .npz; also the name, without ending, of such a file in the folder, which
        comes first.
    folder : path, optional
        Where the files are, or a subfolder of the data set's name is, as torchvision or LEAF lay
        them out. Not for digits and .npz; by default the folder that the environment variable
        LINREP_DATA names.
    download : bool, default False
        Let torchvision put missing files into the folder (image sets only).
    rng : Generator or seed
        Of the test split of the digits, which come without one.

    Raises
    ------
    FileNotFoundError
        If files are missing; says where they were looked for.
    ImportError
        If the data set is read by a package that is not installed.
    ValueError
        If the name is unknown, or a file is not what its name says.
    """
    if isinstance(name, str) and name.endswith(".npz"):
        return npz(name)
    if name == "digits":
        return digits(rng=rng)
    folder = folder or os.environ.get(FOLDER_VARIABLE)
    if folder is not None and (packed := Path(folder) / f"{name}.npz").is_file():
        return npz(packed)
    if name not in _NAMES:
        allowed = ", ".join(map(repr, _NAMES))
        raise ValueError(
            f"name must be one of {allowed}, of a .npz in the folder or a path to one, got {name!r}"
        )
    if folder is None:
        raise ValueError(
            f"folder must be given for {name!r}, or the environment variable {FOLDER_VARIABLE}: "
            "where its files are"
        )
    if name in CLASSES:
        return images(name, _place(name, folder), download=download)
    if download:
        raise ValueError(f"download must be False for {name!r}, torchvision has no such dataset")
    return _LEAF[name](_place(name, folder))


def _place(name, folder):
    """Return the subfolder of a data set's name, or the folder if there is none."""
    inside = Path(folder) / name
    return inside if inside.is_dir() else Path(folder)


def __dir__():
    return sorted(__all__)
