"""Readers of the files that users have, each returning a :class:`linrep.deep.data.Dataset`."""

from __future__ import annotations

import gzip
import json
import math
import os
import pickle
import re
import zipfile
import zlib
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from linrep import _validation as check
from linrep._random import stream
from linrep.deep.data import Dataset, channels_first

_TEST_SHARE = 0.25  # of the digits, which come without a test split
#: Environment variable with the folder that data sets are read from by default.
FOLDER_VARIABLE = "LINREP_DATA"
_DEBIAN_FASHION_MNIST = "/usr/share/datasets/fashion-mnist"  # of the package dataset-fashion-mnist
_WORD = re.compile(r"[\w']+|[^\w\s]")

#: Folders that are looked into besides the folder given: those that archives or torchvision make.
_PLACES = {
    "cifar10": ("cifar-10-batches-py", "cifar-10-batches-bin"),
    "cifar100": ("cifar-100-python", "cifar-100-binary"),
    "mnist": ("MNIST/raw", "raw"),
    "fashion-mnist": ("FashionMNIST/raw", "raw"),
    "omniglot": ("omniglot-py", "python"),
    "femnist": ("data",),
    "sent140": ("data",),
}
_TORCHVISION = {
    "cifar10": "CIFAR10",
    "cifar100": "CIFAR100",
    "mnist": "MNIST",
    "fashion-mnist": "FashionMNIST",
    "omniglot": "Omniglot",
}
_NAMES = ("digits", *_PLACES)


def load(
    name: str, folder: str | Path | None = None, *, download: bool = False, rng: Any = 0
) -> Dataset:
    """Read a dataset.

    Parameters
    ----------
    name : str
        "digits", "cifar10", "cifar100", "mnist", "fashion-mnist", "omniglot", "femnist",
        "sent140", or the path of a file that ends in .npz.
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
    if not isinstance(name, str) or name not in _NAMES:
        allowed = ", ".join(map(repr, _NAMES))
        raise ValueError(f"name must be one of {allowed} or a path to .npz, got {name!r}")
    if name == "digits":
        return digits(rng=rng)
    folder = folder or os.environ.get(FOLDER_VARIABLE)
    if folder is None and name == "fashion-mnist" and not download:
        folder = _DEBIAN_FASHION_MNIST
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


def digits(*, rng: Any = 0) -> Dataset:
    """Return scikit-learn's digits: 1797 grey images of 8 by 8 pixels, 10 classes.

    Parameters
    ----------
    rng : Generator or seed
        Of the split: a quarter of each class, at random, is for testing.

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
    x, y = np.rint(bunch.images * (255.0 / 16.0)).astype(np.uint8)[:, None], bunch.target
    order = stream(rng, "deep.digits").permutation(y.size)
    is_test = np.zeros(y.size, dtype=bool)
    for label in range(10):
        members = order[y[order] == label]
        is_test[members[: int(_TEST_SHARE * members.size)]] = True
    return Dataset(x[~is_test], y[~is_test], x[is_test], y[is_test], name="digits")


def cifar10(folder: str | Path) -> Dataset:
    """Read CIFAR-10's batches, python or binary: 32 by 32 pixels, RGB.

    Python batches are pickles. They are read without running anything that they ask for: only
    arrays of numbers, strings, lists and dicts are taken.

    Parameters
    ----------
    folder : path
        With data_batch_1 to data_batch_5 and test_batch, or the same ending in .bin.

    Returns
    -------
    Dataset

    Raises
    ------
    FileNotFoundError
        If files are missing.
    ValueError
        If a file is no such batch.
    """
    files = (*(f"data_batch_{number}" for number in range(1, 6)), "test_batch")
    (x, labels), (x_test, labels_test) = _cifar("cifar10", folder, files, ("labels",))
    return Dataset(x, labels[:, 0], x_test, labels_test[:, 0], classes=10, name="cifar10")


def cifar100(folder: str | Path) -> Dataset:
    """Read CIFAR-100, python or binary, with the 20 coarse classes; see :func:`cifar10`.

    Parameters
    ----------
    folder : path
        With train and test, or train.bin and test.bin.

    Returns
    -------
    Dataset

    Raises
    ------
    FileNotFoundError
        If files are missing.
    ValueError
        If a file is no such batch.
    """
    (x, labels), (x_test, labels_test) = _cifar(
        "cifar100", folder, ("train", "test"), ("coarse_labels", "fine_labels")
    )
    dataset = Dataset(x, labels[:, 1], x_test, labels_test[:, 1], classes=100, name="cifar100")
    coarse = np.zeros(100, dtype=np.int64)
    coarse[dataset.all_y] = np.concatenate([labels, labels_test])[:, 0]
    return replace(dataset, coarse=coarse)


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


def fashion_mnist(folder: str | Path = _DEBIAN_FASHION_MNIST) -> Dataset:
    """Read Fashion-MNIST, which has the files of MNIST; see :func:`mnist`.

    Parameters
    ----------
    folder : path
        By default where Debian's package dataset-fashion-mnist puts the files.

    Returns
    -------
    Dataset
    """
    return _idx_dataset("fashion-mnist", folder)


def omniglot(folder: str | Path) -> Dataset:
    """Read Omniglot's drawings, shrunk to 28 by 28 pixels; the owner is the alphabet.

    Parameters
    ----------
    folder : path
        With images_background or images_evaluation or both, in which drawings are at
        ``Alphabet/character/*.png``: black strokes on white, as they stay.

    Returns
    -------
    Dataset
        Without test samples. Alphabets are numbered in alphabetical order, those of the background
        set first; a class is a character of an alphabet.

    Raises
    ------
    FileNotFoundError
        If there are no drawings.
    """
    from matplotlib.image import imread

    background, evaluation = (f"images_{part}/*/*/*.png" for part in ("background", "evaluation"))
    found = _find("omniglot", folder, (background, evaluation), (background,), (evaluation,))
    files = [file for part in found for file in part]
    drawings = [_shrunk(imread(file)) for file in files]
    characters = [file.parent for file in files]
    return Dataset(
        np.stack(drawings)[:, None], _number(characters), name="omniglot",
        owner=_number([character.parent for character in characters]),
    )  # fmt: skip


def femnist(folder: str | Path) -> Dataset:
    """Read LEAF's FEMNIST: 28 by 28 pixels, grey, 62 classes; the owner is the writer.

    Parameters
    ----------
    folder : path
        With ``train/*.json`` and ``test/*.json``, or with ``*.json``, then without test samples.
        The users' samples are rows of 784 numbers between 0 and 1, which become bytes again.

    Returns
    -------
    Dataset

    Raises
    ------
    FileNotFoundError
        If files are missing.
    ValueError
        If a file has another form.
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

    Parameters
    ----------
    folder : path
        With ``train/*.json`` and ``test/*.json``, or with ``*.json``, then without test samples. A
        sample is a tweet, or a list whose last entry is one, its label 0 or 1.
    glove : path, optional
        Text file of a word and its vector in each line; by default the largest
        ``glove*.txt`` in the folder.
    words : int
        Length of a sample: tweets are cut, or filled up with token 0.

    Returns
    -------
    Dataset
        Token 0 is no word, token 1 an unknown word, both with vector 0; the others are the words,
        in lower case, and signs that occur in the tweets and have a vector.

    Raises
    ------
    FileNotFoundError
        If files are missing.
    ValueError
        If a file has another form.
    """
    words = check.integer("words", words, minimum=1)
    train, test = _leaf("sent140", folder, _words)
    if glove is None:
        (found,) = _find("sent140", folder, ("glove*.txt",))
        glove = max(found, key=lambda file: file.stat().st_size)
    tweets, tweets_test = ([tweet[:words] for tweet in part[0]] for part in (train, test))
    number, embedding = _glove(Path(glove), {word for t in (*tweets, *tweets_test) for word in t})
    return Dataset(
        _tokens(tweets, number, words), train[1], _tokens(tweets_test, number, words), test[1],
        classes=2, name="sent140", owner=train[2], owner_test=test[2], embedding=embedding,
    )  # fmt: skip


def npz(path: str | Path) -> Dataset:
    """Read arrays x_train, y_train and, if they are there, x_test, y_test.

    Parameters
    ----------
    path : path
        File of numpy.savez. Images may have their channels first, last or none, labels also the
        shape (N, 1). Arrays owner, owner_test, coarse and embedding are taken as
        :class:`Dataset` describes them.

    Returns
    -------
    Dataset

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
    try:
        with np.load(path) as file:
            arrays = {name: file[name] for name in file.files}
    except (AttributeError, EOFError, OSError, ValueError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path} must be a file of numpy.savez with plain arrays") from error
    missing = [name for name in ("x_train", "y_train") if name not in arrays]
    if missing:
        there = ", ".join(arrays) or "nothing"
        raise ValueError(f"{path} must hold {' and '.join(missing)}, it holds {there}")
    others = {
        name: arrays[name]
        for name in ("owner", "owner_test", "coarse", "embedding")
        if name in arrays
    }
    tests = {
        "x_test": channels_first(arrays.get("x_test", np.empty(0))),
        "y_test": _column(arrays.get("y_test", np.empty(0, dtype=np.int64))),
    }
    return Dataset(
        channels_first(arrays["x_train"]), _column(arrays["y_train"]), **tests,
        name=path.stem, **others,
    )  # fmt: skip


_READERS = {
    "cifar10": cifar10,
    "cifar100": cifar100,
    "mnist": mnist,
    "fashion-mnist": fashion_mnist,
    "omniglot": omniglot,
    "femnist": femnist,
    "sent140": sent140,
}


def _find(name, folder, *layouts):
    """Return the files of the first layout, patterns of file names, that has some for each."""
    folder = Path(folder)
    for layout in layouts:
        for place in (folder, *(folder / part for part in _PLACES[name])):
            found = [sorted(place.glob(pattern)) for pattern in layout]
            if all(found):
                return found
    wanted = ", or ".join(" and ".join(layout) for layout in layouts)
    raise FileNotFoundError(
        f"{name} is not in {folder}: looked there and in {', '.join(_PLACES[name])} for {wanted}"
    )


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


def _cifar(name, folder, files, keys):
    """Return images and columns of labels of the training batches, and of the last one, the test's.

    keys are the names of the labels in python batches, in the order of the binary ones.
    """
    found = _find(name, folder, files, tuple(f"{file}.bin" for file in files))
    batches = [_batch(path, keys) for (path,) in found]
    x, labels = zip(*batches[:-1], strict=True)
    return (np.concatenate(x), np.concatenate(labels)), batches[-1]


def _batch(path, keys):
    """Return images (N, 3, 32, 32) and labels (N, len(keys)) of a batch of CIFAR."""
    if path.suffix == ".bin":
        records = np.fromfile(path, dtype=np.uint8)
        length = len(keys) + 3072
        if records.size == 0 or records.size % length:
            raise ValueError(
                f"{path} must hold records of {length} bytes, it has {records.size} bytes"
            )
        records = records.reshape(-1, length)
        labels, pixels = np.split(records, [len(keys)], axis=1)
    else:
        content = _unpickled(path)
        missing = [key for key in ("data", *keys) if key not in content]
        if missing:
            raise ValueError(f"{path} must hold {missing[0]!r}, it holds {', '.join(content)}")
        pixels = np.asarray(content["data"])
        labels = np.stack([np.asarray(content[key]) for key in keys], axis=1)
        if pixels.dtype != np.uint8 or pixels.shape != (len(labels), 3072):
            raise ValueError(
                f"{path} must hold images as uint8 of shape ({len(labels)}, 3072), got "
                f"{pixels.dtype} of shape {pixels.shape}"
            )
    return pixels.reshape(-1, 3, 32, 32), labels


def _unpickled(path):
    """Return a pickled dict with its keys as text; nothing that the file names is run."""
    try:
        with open(path, "rb") as file:
            content = _PlainUnpickler(file, encoding="bytes").load()
    # Of a file that is no such pickle any instruction may fail, each in its own way.
    except Exception as error:
        reason = str(error).partition("\n")[0]
        raise ValueError(f"{path} is no batch of CIFAR: {reason}") from error
    if not isinstance(content, dict):
        raise ValueError(f"{path} is no batch of CIFAR: it holds no dict")
    return {
        _text(key): value.values if isinstance(value, _PickledArray) else value
        for key, value in content.items()
    }


def _text(value):
    """Return a string, which is bytes in pickles of Python 2."""
    return value.decode("latin1") if isinstance(value, bytes) else str(value)


class _PickledType:
    """Stand-in for the type of a pickled array; only numbers are known."""

    def __init__(self, code, *_):
        code = _text(code)
        if not re.fullmatch("[iuf][1248]", code):
            raise ValueError(f"arrays of type {code!r} are not taken")
        self.dtype = np.dtype(code)

    def __setstate__(self, state):
        self.dtype = self.dtype.newbyteorder(_text(state[1]))


class _PickledArray:
    """Stand-in for a pickled array, made of its bytes alone."""

    def __init__(self, *_):
        self.values = np.empty(0)

    def __setstate__(self, state):
        _, shape, kind, fortran, content = state
        self._fill(content, kind, shape, "F" if fortran else "C")

    def _fill(self, content, kind, shape, order):
        self.values = np.frombuffer(content, dtype=kind.dtype).reshape(shape, order=order)

    @classmethod
    def from_buffer(cls, *parts):
        """Return an array as protocol 5 describes it: bytes, type, shape and order."""
        array = cls()
        array._fill(*parts)
        return array


def _latin1(text, *_):
    """Return the bytes that Python 3 writes as text in old protocols."""
    return text.encode("latin1")


class _PlainUnpickler(pickle.Unpickler):
    """Reader of pickles that takes arrays of numbers, strings, lists and dicts, and runs nothing.

    What a pickle calls by name is looked up here alone, and answered by the stand-ins above.
    """

    _KNOWN = MappingProxyType(
        {
            "_codecs.encode": _latin1,
            "numpy.dtype": _PickledType,
            "numpy.ndarray": _PickledArray,
            "numpy.core.multiarray._reconstruct": _PickledArray,
            "numpy._core.multiarray._reconstruct": _PickledArray,
            "numpy.core.numeric._frombuffer": _PickledArray.from_buffer,
            "numpy._core.numeric._frombuffer": _PickledArray.from_buffer,
        }
    )

    def find_class(self, module, name):
        """Return the stand-in for what a pickle names, or refuse it."""
        try:
            return self._KNOWN[f"{module}.{name}"]
        except KeyError:
            raise pickle.UnpicklingError(
                f"it asks for {module}.{name}, only arrays, strings, lists and dicts are read"
            ) from None


def _idx_dataset(name, folder):
    """Read the four idx files of MNIST and its like."""
    parts = [
        f"{part}-{kind}" for part in ("train", "t10k") for kind in ("images?idx3", "labels?idx1")
    ]
    layouts = [tuple(f"{part}-ubyte{end}" for part in parts) for end in ("", ".gz")]
    x, y, x_test, y_test = (
        _idx(path[0], axes)
        for path, axes in zip(_find(name, folder, *layouts), (3, 1, 3, 1), strict=True)
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


def _leaf(name, folder, convert):
    """Return samples, labels and owners of LEAF's users, for training and for testing.

    Samples are converted user by user, since as json they take many times their room.
    """
    found = _find(name, folder, ("train/*.json", "test/*.json"), ("*.json",))
    users: dict[str, int] = {}
    parts = []
    for files in (*found, [])[:2]:
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


def _shrunk(drawing):
    """Return a drawing, values between 0 and 1, as 28 by 28 bytes: means over the new pixels."""
    grey = drawing if drawing.ndim == 2 else drawing[..., :3].mean(axis=2)
    vertical, horizontal = (_overlaps(size) for size in grey.shape)
    return np.rint(255.0 * (vertical @ grey @ horizontal.T)).astype(np.uint8)


def _overlaps(size):
    """Return the share of each of `size` pixels in each of 28 that cover them, shape (28, size)."""
    edges = np.linspace(0.0, size, 29)
    reached = np.clip(edges[:, None] - np.arange(size), 0.0, 1.0)
    return np.diff(reached, axis=0) * (28.0 / size)


def _glove(path, wanted):
    """Return the numbers of wanted words that have vectors, from 2 on, and the vectors."""
    number: dict[str, int] = {}
    vectors: list[list[float]] = []
    size = 0
    if not path.is_file():
        raise FileNotFoundError(f"{path}, a text file of GloVe's vectors, is not there")
    with open(path, encoding="utf-8", newline="\n") as file:
        for place, line in enumerate(file, start=1):
            parts = line.rstrip("\r\n ").split(" ")
            size = size or max(1, len(parts) - 1)
            word = " ".join(parts[:-size])  # a few words of GloVe have blanks
            if word not in wanted or word in number:
                continue
            try:
                vector = [float(part) for part in parts[-size:]]
            except ValueError:
                raise ValueError(
                    f"{path} must hold a word and {size} numbers in line {place}"
                ) from None
            number[word] = len(number) + 2
            vectors.append(vector)
    if not vectors:
        raise ValueError(f"{path} must hold vectors of words that occur, it has none of them")
    return number, np.vstack([np.zeros((2, size)), vectors])


def _tokens(tweets, number, length):
    """Return rows of tokens, filled up with 0 at the end; a word without a number is 1."""
    tokens = np.zeros((len(tweets), length), dtype=np.int64)
    for row, tweet in zip(tokens, tweets, strict=True):
        row[: len(tweet)] = [number.get(word, 1) for word in tweet]
    return tokens


def _number(values):
    """Return the place of each value among the different ones, in order of appearance."""
    place = {value: index for index, value in enumerate(dict.fromkeys(values))}
    return np.array([place[value] for value in values])


def _column(labels):
    """Return labels of shape (N, 1) as (N,)."""
    return labels[:, 0] if labels.ndim == 2 and labels.shape[1] == 1 else labels
