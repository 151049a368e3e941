"""CIFAR's batches, python or binary."""

from __future__ import annotations

import pickle
import re
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import numpy as np

from linrep.deep.data import Dataset
from linrep.deep.readers._folders import find


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
    """Read CIFAR-100, python or binary, with the 20 coarse classes.

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


def _cifar(name, folder, files, keys):
    """Return images and columns of labels of the training batches, and of the last one, the test's.

    keys are the names of the labels in python batches, in the order of the binary ones.
    """
    found = find(name, folder, files, tuple(f"{file}.bin" for file in files))
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
