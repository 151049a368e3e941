"""Readers of the files that users have, each returning a :class:`linrep.deep.data.Dataset`."""

from __future__ import annotations

import json
import os
import pickle
import re
import zipfile
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.error import URLError

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from linrep._lib import validation as check
from linrep.deep.data import Dataset, channels_first
from linrep.problems.random import stream

__all__ = ["FOLDER_VARIABLE", "digits", "femnist", "images", "load", "npz", "sent140"]

#: Environment variable with the folder that data sets are read from by default.
FOLDER_VARIABLE = "LINREP_DATA"
#: torchvision's class of each image set, and the folder that it keeps it in.
_IMAGES = {
    "cifar10": ("CIFAR10", "cifar-10-batches-py"),
    "cifar100": ("CIFAR100", "cifar-100-python"),
    "mnist": ("MNIST", "MNIST/raw"),
    "omniglot": ("Omniglot", "omniglot-py"),
}
#: LEAF's files, for training and, if there are, for testing; and GloVe's.
_LEAF = (("train/*.json", "test/*.json"), ("*.json",))
_GLOVE = (("glove*.txt",),)
_NAMES = ("digits", *_IMAGES, "femnist", "sent140")
#: What is read of a file of numpy.
_ARRAYS = ("x_train", "y_train", "x_test", "y_test", "owner", "owner_test", "coarse", "embedding",
           "about")  # fmt: skip
_TEST_SHARE = 0.25  # of the digits, which come without a test split
_WORD = re.compile(r"[\w']+|[^\w\s]")


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
    inside = Path(folder) / name
    place = inside if inside.is_dir() else Path(folder)
    if name in _IMAGES:
        return images(name, place, download=download)
    if download:
        raise ValueError(f"download must be False for {name!r}, torchvision has no such dataset")
    return femnist(place) if name == "femnist" else sent140(place)


def digits(*, rng: Any = 0) -> Dataset:
    """Return scikit-learn's digits: 1797 grey images of 8 by 8 pixels, 10 classes.

    Parameters
    ----------
    rng : Generator or seed
        Of the split: a quarter of each class, at random, is for testing.
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
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"{path} is not there")
    try:  # np.load leaves a file open that it cannot read
        with path.open("rb") as stream, np.load(stream) as file:
            there = list(file.files)
            arrays = {name.removesuffix("_train"): file[name] for name in there if name in _ARRAYS}
    except (AttributeError, EOFError, OSError, ValueError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path} must be a file of numpy.savez with plain arrays") from error
    if missing := [name for name in ("x_train", "y_train") if name not in there]:
        held = ", ".join(there) or "nothing"
        raise ValueError(f"{path} must hold {' and '.join(missing)}, it holds {held}")
    for name in {"x", "x_test"} & arrays.keys():
        arrays[name] = channels_first(arrays[name])
    about = str(arrays.pop("about", ""))
    return Dataset(name=path.stem, about=about, **arrays)


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
    """
    try:
        torchvision = import_module("torchvision")
    except ImportError:
        raise ImportError(
            f"{name} is read by torchvision, which is not installed: pip install torchvision, or "
            f"put {name}.npz into the folder (docs/deep.md says what it holds)"
        ) from None
    try:
        if name == "omniglot":
            return _omniglot(torchvision, folder, download)
        kind = getattr(torchvision.datasets, _IMAGES[name][0])
        parts = [kind(folder, train=train, download=download) for train in (True, False)]
    except (RuntimeError, URLError) as error:  # torchvision's words for what is missing or damaged
        reason = str(error).partition("\n")[0]
        if (Path(folder) / _IMAGES[name][1]).is_dir():
            raise ValueError(f"{name} in {folder} is damaged or incomplete: {reason}") from None
        raise FileNotFoundError(f"{name} is not in {folder}: {reason}") from None
    (x, y), (x_test, y_test) = (
        (channels_first(np.asarray(part.data)), np.asarray(part.targets)) for part in parts
    )
    coarse = None
    if name == "cifar100":  # torchvision leaves them in a file whose digest it has checked
        file = Path(parts[0].root) / parts[0].base_folder / "train"
        coarse = np.zeros(100, dtype=np.int64)
        coarse[y] = pickle.loads(file.read_bytes(), encoding="latin1")["coarse_labels"]
    return Dataset(x, y, x_test, y_test, classes=len(parts[0].classes), name=name, coarse=coarse)


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


def femnist(folder: str | Path) -> Dataset:
    """Read LEAF's FEMNIST: 28 by 28 pixels, grey, 62 classes; the owner is the writer.

    Parameters
    ----------
    folder : path
        With ``train/*.json`` and ``test/*.json``, or with ``*.json``, then without test samples.
        The users' samples are rows of 784 numbers between 0 and 1, which become bytes again.
    """
    (x, y, owner), (x_test, y_test, owner_test) = _leaf("femnist", folder, _pixels)
    shape = (-1, 1, 28, 28)
    return Dataset(
        np.array(x, dtype=np.uint8).reshape(shape), y,
        np.array(x_test, dtype=np.uint8).reshape(shape), y_test,
        classes=62, name="femnist", owner=owner, owner_test=owner_test,
    )  # fmt: skip


def sent140(folder: str | Path, glove: str | Path | None = None, *, words: int = 25) -> Dataset:
    """Read LEAF's Sent140 as tokens with GloVe's vectors; the owner is the writer.

    Token 0 is no word, token 1 an unknown word, both with vector 0; the others are the words, in
    lower case, and signs that occur in the tweets and have a vector.

    Parameters
    ----------
    folder : path
        As for :func:`femnist`. A sample is a tweet, or a list whose last entry is one, its label 0
        or 1.
    glove : path, optional
        Text file of a word and its vector in each line; by default the largest
        ``glove*.txt`` in the folder.
    words : int
        Length of a sample: tweets are cut, or filled up with token 0.
    """
    words = check.integer("words", words, minimum=1)
    train, test = _leaf("sent140", folder, _words)
    if glove is None:
        (files,) = _find("sent140", folder, *_GLOVE)
        glove = max(files, key=lambda file: file.stat().st_size)
    tweets, tweets_test = ([tweet[:words] for tweet in part[0]] for part in (train, test))
    number, embedding = _vectors(Path(glove), {word for t in (*tweets, *tweets_test) for word in t})
    return Dataset(
        _tokens(tweets, number, words), train[1], _tokens(tweets_test, number, words), test[1],
        classes=2, name="sent140", owner=train[2], owner_test=test[2], embedding=embedding,
    )  # fmt: skip


def _find(name: str, folder: str | Path, *layouts: tuple[str, ...]) -> list[list[Path]]:
    """Return the files of the first layout that has some for each of its patterns."""
    for layout in layouts:
        for inside in (Path(folder), Path(folder) / "data"):
            files = [sorted(inside.glob(pattern)) for pattern in layout]
            if all(files):
                return files
    wanted = ", or ".join(" and ".join(layout) for layout in layouts)
    raise FileNotFoundError(f"{name} is not in {folder}: looked there and in data for {wanted}")


def _leaf(name, folder, convert):
    """Return samples, labels and owners of LEAF's users, for training and for testing.

    Samples are converted user by user, since as json they take many times their room.
    """
    users: dict[str, int] = {}
    parts = []
    for files in (*_find(name, folder, *_LEAF), [])[:2]:
        x: list[Any] = []
        y: list[int] = []
        owner: list[int] = []
        for file in files:
            try:
                content = json.loads(file.read_text(encoding="utf-8"))["user_data"]
                for user, samples in content.items():
                    labels = [int(label) for label in samples["y"]]
                    x += convert(samples["x"])
                    y += labels
                    owner += [users.setdefault(user, len(users))] * len(labels)
            except (AttributeError, KeyError, TypeError, ValueError) as error:
                raise ValueError(
                    f"{file} must hold samples of {name} as LEAF writes them"
                ) from error
            if len(x) != len(y):
                raise ValueError(f"{file} must hold a label for each sample")
        parts.append((x, y, owner))
    return parts


def _pixels(rows):
    """Return rows of 784 numbers between 0 and 1 as bytes."""
    levels = np.array(rows, dtype=np.float64).reshape(-1, 784)
    if not ((levels >= 0.0) & (levels <= 1.0)).all():
        raise ValueError("pixels must be between 0 and 1")
    return list(np.rint(255.0 * levels).astype(np.uint8))


def _words(tweets):
    """Return the words and signs of each tweet, the last entry of its row, in lower case."""
    return [
        _WORD.findall((tweet if isinstance(tweet, str) else tweet[-1]).lower()) for tweet in tweets
    ]


def _vectors(path: Path, wanted: set[str]) -> tuple[dict[str, int], NDArray]:
    """Return the numbers of wanted words that have vectors, from 2 on, and the vectors."""
    number: dict[str, int] = {}
    vectors: list[list[str]] = []
    size = 0
    with open(path, encoding="utf-8", newline="\n") as file:
        for line in file:
            parts = line.rstrip("\r\n ").split(" ")
            size = size or max(1, len(parts) - 1)
            word = " ".join(parts[:-size])  # a few words of GloVe have blanks
            if word in wanted and word not in number:
                number[word] = len(number) + 2
                vectors.append(parts[-size:])
    if not vectors:
        raise ValueError(f"{path} must hold vectors of words that occur, it has none of them")
    try:
        return number, np.vstack([np.zeros((2, size)), np.array(vectors, dtype=float)])
    except ValueError as error:
        raise ValueError(f"{path} must hold a word and numbers in each line: {error}") from None


def _tokens(tweets, number, length):
    """Return rows of tokens, filled up with 0 at the end; a word without a number is 1."""
    tokens = np.zeros((len(tweets), length), dtype=np.int64)
    for row, tweet in zip(tokens, tweets, strict=True):
        row[: len(tweet)] = [number.get(word, 1) for word in tweet]
    return tokens


def __dir__():
    return sorted(__all__)
