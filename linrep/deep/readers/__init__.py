"""Readers of the files that users have, each returning a :class:`linrep.deep.data.Dataset`."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import Any

from linrep.deep.data import Dataset
from linrep.deep.readers.arrays import digits, npz
from linrep.deep.readers.cifar import cifar10, cifar100
from linrep.deep.readers.idx import DEBIAN_FASHION_MNIST, fashion_mnist, mnist
from linrep.deep.readers.leaf import femnist, sent140
from linrep.deep.readers.omniglot_images import omniglot

__all__ = [
    "FOLDER_VARIABLE",
    "cifar10",
    "cifar100",
    "digits",
    "fashion_mnist",
    "femnist",
    "load",
    "mnist",
    "npz",
    "omniglot",
    "sent140",
]

#: Environment variable with the folder that data sets are read from by default.
FOLDER_VARIABLE = "LINREP_DATA"
_TORCHVISION = {
    "cifar10": "CIFAR10",
    "cifar100": "CIFAR100",
    "mnist": "MNIST",
    "fashion-mnist": "FashionMNIST",
    "omniglot": "Omniglot",
}
_READERS = {
    "cifar10": cifar10,
    "cifar100": cifar100,
    "mnist": mnist,
    "fashion-mnist": fashion_mnist,
    "omniglot": omniglot,
    "femnist": femnist,
    "sent140": sent140,
}
_NAMES = ("digits", *_READERS)


def load(
    name: str, folder: str | Path | None = None, *, download: bool = False, rng: Any = 0
) -> Dataset:
    """Read a dataset.

    Parameters
    ----------
    name : str
        "digits", "cifar10", "cifar100", "mnist", "fashion-mnist", "omniglot", "femnist",
        "sent140", or the path of a file that ends in .npz; also the name, without ending, of such a
        file in the folder, which comes first.
    folder : path, optional
        Where the files are, as their authors pack them: there, in the subfolder that the archive
        makes, or in one of the data set's name. Not for digits and .npz; by default the folder
        that the environment variable LINREP_DATA names, for "fashion-mnist" next where Debian's
        package puts it.
    download : bool, default False
        Let torchvision, if it is installed, put missing files into the folder (image sets only).
    rng : Generator or seed
        Of the test split of the digits, which come without one.

    Returns
    -------
    Dataset

    Raises
    ------
    FileNotFoundError
        If files are missing; says which were looked for, and where.
    ValueError
        If the name is unknown, or a file is not what its name says.
    """
    if isinstance(name, str) and name.endswith(".npz"):
        return npz(name)
    if name == "digits":
        return digits(rng=rng)
    folder = folder or os.environ.get(FOLDER_VARIABLE)
    if folder is not None and isinstance(name, str):
        packed = Path(folder) / f"{name}.npz"
        if packed.is_file():
            return npz(packed)
    if not isinstance(name, str) or name not in _NAMES:
        allowed = ", ".join(map(repr, _NAMES))
        raise ValueError(
            f"name must be one of {allowed}, of a .npz in the folder or a path to one, got {name!r}"
        )
    if folder is None and name == "fashion-mnist" and not download:
        folder = DEBIAN_FASHION_MNIST
    if folder is None:
        raise ValueError(
            f"folder must be given for {name!r}, or the environment variable {FOLDER_VARIABLE}: "
            "where its files are"
        )
    if (Path(folder) / name).is_dir():
        folder = Path(folder) / name
    if download:
        _download(name, folder)
    return _READERS[name](folder)


def _download(name, folder):
    """Let torchvision put the files of a dataset into a folder."""
    if name not in _TORCHVISION:
        raise ValueError(f"download must be False for {name!r}, torchvision has no such dataset")
    try:
        datasets = import_module("torchvision.datasets")
    except ImportError:
        raise ImportError("download needs torchvision, which is not installed") from None
    dataset = getattr(datasets, _TORCHVISION[name])
    if name == "omniglot":
        dataset(folder, background=True, download=True)
        dataset(folder, background=False, download=True)
    else:
        dataset(folder, download=True)


def __dir__():
    return sorted(__all__)
