"""Image sets in the files that torchvision reads."""

from __future__ import annotations

import pickle
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.error import URLError

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from linrep.deep.data import Dataset, channels_first

#: torchvision's class of each set, and the folder that it keeps it in.
CLASSES = {
    "cifar10": ("CIFAR10", "cifar-10-batches-py"),
    "cifar100": ("CIFAR100", "cifar-100-python"),
    "mnist": ("MNIST", "MNIST/raw"),
    "omniglot": ("Omniglot", "omniglot-py"),
}


def has_files(name: str, folder: str | Path) -> bool:
    """Tell whether a folder has one in which torchvision keeps an image set."""
    return (Path(folder) / CLASSES[name][1]).is_dir()


def find_torchvision(name: str) -> ModuleType:
    """Return torchvision."""
    try:
        return import_module("torchvision")
    except ImportError:
        raise ImportError(
            f"{name} is read by torchvision, which is not installed: pip install torchvision, or "
            f"put {name}.npz into the folder (docs/deep.md says what it holds)"
        ) from None


def images(name: str, folder: str | Path, *, download: bool = False) -> Dataset:
    """Read an image set by torchvision, which checks the files against their authors' digests.

    Parameters
    ----------
    name : str
        "cifar10", "cifar100" (with its 20 coarse classes), "mnist", or "omniglot":
        28 by 28 pixels, black strokes on white, without test samples; the owner is the alphabet,
        and a class is a character of an alphabet.
    folder : path
        Torchvision's `root`.
    download : bool, default False
        Let torchvision fetch missing files.

    Raises
    ------
    FileNotFoundError
        If files are missing.
    ImportError
        If torchvision is not installed.
    ValueError
        If files are there, but not all of them or damaged.
    """
    torchvision = find_torchvision(name)
    try:
        if name == "omniglot":
            return _omniglot(torchvision, folder, download)
        kind = getattr(torchvision.datasets, CLASSES[name][0])
        parts = [kind(folder, train=train, download=download) for train in (True, False)]
    except (RuntimeError, URLError) as error:  # torchvision's words for what is missing or damaged
        reason = str(error).partition("\n")[0]
        if has_files(name, folder):
            raise ValueError(f"{name} in {folder} is damaged or incomplete: {reason}") from None
        raise FileNotFoundError(f"{name} is not in {folder}: {reason}") from None
    (x, y), (x_test, y_test) = (
        (channels_first(np.asarray(part.data)), np.asarray(part.targets)) for part in parts
    )
    coarse = _coarse(parts[0], y) if name == "cifar100" else None
    return Dataset(x, y, x_test, y_test, classes=len(parts[0].classes), name=name, coarse=coarse)


def _coarse(part: Any, fine: NDArray) -> NDArray[np.int64]:
    """Return the coarse class of each class of CIFAR-100, which torchvision leaves in the file."""
    file = Path(part.root) / part.base_folder / "train"  # its digest has been checked by now
    labels = pickle.loads(file.read_bytes(), encoding="latin1")["coarse_labels"]
    coarse = np.zeros(100, dtype=np.int64)
    coarse[fine] = labels
    return coarse


def _omniglot(torchvision: ModuleType, folder: str | Path, download: bool) -> Dataset:
    """Read both of Omniglot's sets, or the one that is there."""
    from PIL import Image

    x: list[NDArray] = []
    characters: list[Path] = []
    for background in (True, False):
        try:
            part = torchvision.datasets.Omniglot(folder, background=background, download=download)
        except RuntimeError:
            if not background and not x:
                raise
            continue
        files = sorted(Path(part.target_folder).glob("*/*/*.png"))
        characters += [file.parent for file in files]
        for file in files:
            drawing = Image.open(file).convert("L").resize((28, 28), Image.Resampling.BOX)
            x.append(np.asarray(drawing))
    y, _ = pd.factorize(np.array(characters, dtype=object))
    owner, _ = pd.factorize(np.array([character.parent for character in characters], dtype=object))
    return Dataset(np.stack(x)[:, None], y, name="omniglot", owner=owner)
