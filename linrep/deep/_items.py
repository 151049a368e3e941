"""What torch's data sets hold, as arrays: each error names the client and the sample."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linrep._lib import validation as check

_WANTED = "clients must be pairs (train, test) of data sets of samples and labels"


def read_pair(pair: Any, client: int) -> list[NDArray]:
    """Return x_train, y_train, x_test and y_test of a client.

    Parameters
    ----------
    pair : (train, test)
        Map-style data sets: they have a length, and items that are a sample and its label.
    client : int
        The client's place, for errors.
    """
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise TypeError(f"{_WANTED}, got {type(pair).__name__} for client {client}")
    parts = zip(("train", "test"), pair, strict=True)
    return [x for split, data in parts for x in _arrays(data, f"{split} of client {client}")]


def as_array(name: str, value: Any) -> NDArray:
    """Return an array, also of a tensor with a gradient, of half precision or on another device.

    Parameters
    ----------
    name : str
        Of the argument.
    value : array_like or Tensor
    """
    if hasattr(value, "detach"):
        value = value.detach().cpu()
        if value.is_floating_point() and value.dtype.itemsize < 4:  # numpy has no bfloat16
            value = value.float()
    return check.read_array(name, value)


def _arrays(data, where):
    """Return samples and labels of a data set, which are of one shape each."""
    x: list[NDArray] = []
    y: list[NDArray] = []
    for i, item in enumerate(_items(data, where)):
        x.append(as_array(f"sample {i} of {where}", item[0]))
        y.append(as_array(f"the label of sample {i} of {where}", item[1]))
        if y[-1].dtype.kind not in "iuf":
            raise TypeError(f"labels must be numbers, sample {i} of {where} has {item[1]!r:.40}")
        if (x[-1].shape, x[-1].dtype) != (x[0].shape, x[0].dtype):
            raise ValueError(
                f"samples must be of one shape and type, sample {i} of {where} is {x[-1].dtype} of "
                f"shape {x[-1].shape}, the first {x[0].dtype} of shape {x[0].shape}"
            )
        if y[-1].shape != y[0].shape:
            raise ValueError(
                f"labels must be of one shape, that of sample {i} of {where} is {y[-1].shape}, the "
                f"first {y[0].shape}"
            )
    return (np.stack(x), np.stack(y)) if x else (np.empty(0), np.empty(0))


def _items(data, where):
    """Return the items of a map-style data set."""
    kind, items = type(data), None
    if hasattr(kind, "__len__") and hasattr(kind, "__getitem__"):
        with suppress(NotImplementedError):  # of an IterableDataset
            items = [data[index] for index in range(len(data))]
    if items is None:
        instead = "its .dataset" if hasattr(data, "dataset") else "a list of its items"
        raise TypeError(f"{_WANTED} by number, {where} is a {kind.__name__}: take {instead}")
    if not all(isinstance(item, tuple | list) and len(item) > 1 for item in items):
        raise TypeError(f"{_WANTED}, got {kind.__name__} as {where}")
    return items
