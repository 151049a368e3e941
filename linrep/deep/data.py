"""Containers: samples before they are split among clients, and after."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linrep._lib import display as show
from linrep._lib import validation as check

__all__ = ["Dataset", "FederatedData"]

_MANY = np.iinfo(np.int64).max


@dataclass(frozen=True, eq=False)
class Dataset:
    """Labelled samples before they are split among clients.

    Parameters
    ----------
    x, y : array_like, shapes (N, ...) and (N,)
        Training samples and their classes: images as uint8 of shape (N, C, H, W), tokens as
        integers of shape (N, L), anything else as floats, of single or double precision.
    x_test, y_test : array_like, optional
        Test samples; none by default.
    classes : int, optional
        Number of classes; by default one more than the largest label.
    name : str
        Of the data, for tables.
    owner, owner_test : array_like of int, shapes (N,) and (N_test,), optional
        To whom each sample belongs by nature: the writer of a letter or tweet, an alphabet.
    coarse : array_like of int, shape (classes,), optional
        Group of each class, as CIFAR-100's 20 groups of 5.
    embedding : array_like, shape (V, d), optional
        Vector of each token.
    about : str
        What has been done to the samples since their authors published them, if anything.
    """

    x: NDArray
    y: NDArray[np.int64]
    x_test: NDArray = field(default_factory=lambda: np.empty(0))
    y_test: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    classes: int = 0
    name: str = ""
    owner: NDArray[np.int64] | None = None
    owner_test: NDArray[np.int64] | None = None
    coarse: NDArray[np.int64] | None = None
    embedding: NDArray[np.float32] | None = None
    about: str = ""

    def __post_init__(self):
        x = _samples("x", self.x)
        x_test = x[:0] if len(self.x_test) == 0 else _samples("x_test", self.x_test)
        if _kind(x_test) != _kind(x):
            raise ValueError(f"x_test must hold {_kind(x)}, as x does, got {_kind(x_test)}")
        classes = _classes(self.classes, self.y, self.y_test)
        y = _labels("y", self.y, len(x), classes)
        y_test = _labels("y_test", self.y_test, len(x_test), classes)
        _set(self, x=x, y=y, x_test=x_test, y_test=y_test, classes=classes)
        if self.owner is not None and self.owner_test is None:
            _set(self, owner_test=y_test[:0])
        elif self.owner is None and self.owner_test is not None:
            raise ValueError("owner_test must be given only together with owner")
        for name, size in (("owner", len(x)), ("owner_test", len(x_test)), ("coarse", classes)):
            _set_if_given(self, name, _labels, size)
        _set_if_given(self, "embedding", _embedding, x)

    def __repr__(self):
        return show.line(self)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of samples and labels, of training and test, and of what is known of them."""
        known = (self.owner, self.owner_test, self.coarse, self.embedding)
        return _digest(self.x, self.y, self.x_test, self.y_test, *known)

    @cached_property  # one array, which all partitions share
    def all_x(self) -> NDArray:
        """Training samples, then test samples."""
        return _joined(self.x, self.x_test)

    @cached_property
    def all_y(self) -> NDArray[np.int64]:
        """Labels of the training samples, then of the test samples."""
        return _joined(self.y, self.y_test)

    def restrict(self, labels: ArrayLike) -> Dataset:
        """Return the samples of some classes, which are numbered from 0 in the order given.

        Parameters
        ----------
        labels : array_like of int
            Classes to keep, each once: FedRep keeps ten letters of FEMNIST.
        """
        chosen = check.places("labels", labels, self.classes)
        if np.unique(chosen).size < chosen.size:
            raise ValueError("labels must not hold a class twice")
        number = np.full(self.classes, -1)
        number[chosen] = np.arange(chosen.size)
        train, test = number[self.y] >= 0, number[self.y_test] >= 0
        rows = {"owner": train, "owner_test": test, "coarse": chosen}
        known = {name: getattr(self, name) for name in rows}
        return replace(
            self, x=self.x[train], y=number[self.y[train]], x_test=self.x_test[test],
            y_test=number[self.y_test[test]], classes=chosen.size,
            **{name: value[rows[name]] for name, value in known.items() if value is not None},
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class FederatedData:
    """Samples of many clients: each sample is in the training or test set of one client at most.

    Parameters
    ----------
    x, y : array_like, shapes (N, ...) and (N,)
        All samples and their classes, of the kinds that :class:`Dataset` takes; with ``classes=1``
        floats may stand in place of classes, real labels.
    train, test : sequences of integer arrays, one for each client
        Places of a client's samples in x. Each client has at least one training sample.
    classes : int, optional
        Number of classes; by default one more than the largest label.
    name : str
        Of the data, for tables.
    mean, std : array_like, shape (C,), optional
        Of images of type uint8: the network sees (x / 255 - mean) / std, channel by channel. By
        default those of the training images; None where x is of another kind.
    side : array_like, shape (n, p), optional
        What is known of each client (side information, in PerFedSI).
    groups : array_like of int, shape (n,), optional
        The group, alphabet or shift that each client belongs to.
    embedding : array_like, shape (V, d), optional
        Vector of each token.
    """

    x: NDArray
    y: NDArray[np.int64]
    train: tuple[NDArray[np.int64], ...]
    test: tuple[NDArray[np.int64], ...]
    classes: int = 0
    name: str = ""
    mean: NDArray[np.float32] | None = None
    std: NDArray[np.float32] | None = None
    side: NDArray[np.float64] | None = None
    groups: NDArray[np.int64] | None = None
    embedding: NDArray[np.float32] | None = None

    def __post_init__(self):
        x = _samples("x", self.x)
        classes = _classes(self.classes, self.y)
        given = check.read_array("y", self.y)
        if given.dtype.kind == "f" and self.classes == 1:
            y = check.array("y", given, (len(x),))
        else:
            y = _labels("y", self.y, len(x), classes)
        train = tuple(_members("train", client, part) for client, part in enumerate(self.train))
        test = tuple(_members("test", client, part) for client, part in enumerate(self.test))
        if len(train) == 0 or len(test) != len(train):
            raise ValueError(
                f"train and test must hold one array for each client, got {len(train)} and "
                f"{len(test)}"
            )
        empty = [client for client, part in enumerate(train) if part.size == 0]
        if empty:
            raise ValueError(f"train must hold a sample of each client, client {empty[0]} has none")
        _require_disjoint(np.concatenate(train + test), len(x))
        _set(self, x=x, y=y, train=train, test=test, classes=classes)
        moments = [value for value in (self.mean, self.std) if value is not None]
        if moments and x.dtype != np.uint8:
            raise ValueError(f"mean and std are for images of type uint8, x holds {_kind(x)}")
        if len(moments) == 1:
            raise ValueError("mean and std must be given together")
        if x.dtype == np.uint8:
            mean, std = moments or _channel_moments(x, np.concatenate(train))
            mean = _floats("mean", mean, (x.shape[1],))
            std = check.numbers("std", _floats("std", std, mean.shape), above=0.0)
            _set(self, mean=mean, std=std.astype(np.float32))
        _set_if_given(self, "side", check.array, (self.n, None))
        _set_if_given(self, "groups", _labels, self.n)
        _set_if_given(self, "embedding", _embedding, x)

    def __repr__(self):
        return (
            f"FederatedData({self.name!r}, {self.n} clients, training samples per client: "
            f"{show.spread(self.sizes)}, shape {self.x.shape[1:]}, {self.classes} classes)"
        )

    @cached_property
    def digest(self) -> str:
        """SHA-256 of samples, labels and what is known of them, and of who has what."""
        known = (self.side, self.mean, self.std, self.embedding)
        return _digest(self.x, self.y, *self.train, *self.test, *known)

    @property
    def n(self) -> int:
        """Number of clients."""
        return len(self.train)

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of training samples of each client, shape (n,)."""
        return np.array([part.size for part in self.train], dtype=np.int64)

    def batches(self, batch_size: int) -> int:
        """Return the number of batches in an epoch of a client of average size.

        Parameters
        ----------
        batch_size : int
            Samples in a batch, at least 1.
        """
        batch_size = check.integer("batch_size", batch_size, minimum=1)
        return math.ceil(self.sizes.sum() / (self.n * batch_size))

    @classmethod
    def from_dataset(
        cls,
        dataset: Dataset,
        train: Iterable[NDArray[np.int64]],
        test: Iterable[NDArray[np.int64]],
        **others: Any,
    ) -> FederatedData:
        """Split a dataset among clients.

        Parameters
        ----------
        dataset : Dataset
            All samples.
        train, test : iterables of integer arrays, one for each client
            Places of a client's samples, counted through the training samples of the dataset and
            on through its test samples.
        **others
            Further fields of the class, such as side and groups; x and y where clients see samples
            or labels changed, in this order.
        """
        fields = {name: getattr(dataset, name) for name in ("classes", "name", "embedding")}
        fields |= {"x": dataset.all_x, "y": dataset.all_y, **others}
        return cls(train=tuple(train), test=tuple(test), **fields)

    @classmethod
    def from_lists(cls, clients: Iterable[Sequence[ArrayLike]], **others: Any) -> FederatedData:
        """Put together the samples of clients that are separate already.

        Parameters
        ----------
        clients : iterable of (x_train, y_train, x_test, y_test)
            One quadruple for each client, all with samples of the same shape and type. Images may
            have their channels first, last, or none; a client may have no test samples.
        **others
            Further fields, such as classes, name, side and groups.
        """
        xs: list[NDArray] = []
        ys: list[NDArray] = []
        sizes: list[int] = []
        for client, parts in enumerate(clients):
            if len(parts) != 4:
                raise ValueError(
                    f"clients must be quadruples (x_train, y_train, x_test, y_test), client "
                    f"{client} has {len(parts)} parts"
                )
            for x, y in (parts[:2], parts[2:]):
                x = channels_first(check.read_array(f"x of client {client}", x))
                y = _without_column(check.read_array(f"y of client {client}", y))
                if y.shape != (len(x),):
                    raise ValueError(
                        f"client {client} must have one label for each sample, got {len(x)} "
                        f"samples and labels of shape {y.shape}"
                    )
                sizes.append(len(x))
                if len(x):
                    xs.append(_samples(f"x of client {client}", x))
                    ys.append(y)
        kinds = {_kind(x) for x in xs}
        if len(kinds) != 1:
            found = " and ".join(sorted(kinds)) or "none"
            raise ValueError(f"clients must have samples of one shape and type, got {found}")
        places = np.split(np.arange(sum(sizes)), np.cumsum(sizes)[:-1])
        x, y = np.concatenate(xs), np.concatenate(ys)
        return cls(x, y, train=tuple(places[0::2]), test=tuple(places[1::2]), **others)


def _digest(*arrays):
    digest = hashlib.sha256()
    for array in arrays:
        if array is not None:
            digest.update(f"{array.shape} {array.dtype}".encode() + array.tobytes())
    return digest.hexdigest()


def channels_first(x: ArrayLike) -> NDArray:
    """Return images as (N, C, H, W), and anything else as it is.

    Of 1, 3 or 4 channels, the last axis becomes the second, unless that has such a size itself.
    """
    x = check.read_array("x", x)
    if x.ndim == 3 and x.dtype == np.uint8:
        return x[:, None]
    if x.ndim == 4 and x.shape[3] in (1, 3, 4) and x.shape[1] not in (1, 3, x.shape[3]):
        return np.ascontiguousarray(np.moveaxis(x, 3, 1))
    return x


def _set(instance, **fields):
    """Set fields of a frozen dataclass, while it is being made."""
    for name, value in fields.items():
        object.__setattr__(instance, name, value)


def _set_if_given(instance, name, read, *arguments):
    """Set a field to what is read of it, unless it is None."""
    value = getattr(instance, name)
    if value is not None:
        _set(instance, **{name: read(name, value, *arguments)})


def _kind(x):
    """Describe samples by their shape and type, whatever the precision of floats."""
    return f"{'float' if x.dtype.kind == 'f' else x.dtype} samples of shape {x.shape[1:]}"


def _joined(*parts):
    """Return arrays one after the other, as one that nobody changes."""
    joined = np.concatenate(parts)
    joined.flags.writeable = False
    return joined


def _samples(name, value):
    """Return samples in the type in which they are kept."""
    x = check.read_array(name, value)
    if x.ndim < 2:
        raise ValueError(f"{name} must have shape (N, ...), got {x.shape}")
    if 0 in x.shape[1:]:
        raise ValueError(f"{name} must not have empty samples, got shape {x.shape}")
    if x.dtype == np.uint8:
        if x.ndim != 4:
            raise ValueError(f"{name} must have shape (N, C, H, W), as uint8 images, got {x.shape}")
        return np.ascontiguousarray(x)
    if x.dtype.kind in "iu":
        if x.ndim != 2:
            raise ValueError(f"{name} must have shape (N, L), as integer tokens, got {x.shape}")
        if x.size and x.min() < 0:
            raise ValueError(f"{name} must not hold negative tokens, got {x.min()}")
        return np.ascontiguousarray(x, dtype=np.int64)
    if x.dtype.kind != "f":
        raise TypeError(f"{name} must hold uint8 images, integer tokens or floats, got {x.dtype}")
    if not np.isfinite(x).all():
        raise ValueError(f"{name} must be finite, it holds NaN or infinity")
    return np.ascontiguousarray(x, dtype=np.float64 if x.dtype.itemsize > 4 else np.float32)


def _labels(name, value, size, classes=_MANY):
    """Return integers between 0 and classes - 1 as int64, after a look at their number."""
    labels = _without_column(check.read_array(name, value))
    if labels.shape != (size,):
        raise ValueError(f"{name} must have shape ({size},), got {labels.shape}")
    return check.places(name, labels, classes) if size else np.empty(0, dtype=np.int64)


def _without_column(labels):
    """Return integers as a list that stand in a column."""
    column = labels.ndim == 2 and labels.shape[1] == 1 and labels.dtype.kind in "iu"
    return labels[:, 0] if column else labels


def _classes(classes, *labels):
    """Return the number of classes: where it is 0, one more than the largest label."""
    if check.integer("classes", classes, minimum=0):
        return int(classes)
    arrays = [check.read_array("y", each) for each in labels]
    largest = [np.max(y) for y in arrays if y.size and y.dtype.kind in "iu"]
    return max(1, int(max(largest, default=0)) + 1)


def _members(name, client, part):
    """Return the places of a client's samples as int64."""
    part = check.read_array(f"{name} of client {client}", part)
    if part.ndim != 1 or (part.size and part.dtype.kind not in "iu"):
        raise ValueError(
            f"{name} must hold a list of integers for each client, see client {client}"
        )
    return part.astype(np.int64)


def _require_disjoint(places, size):
    """Raise unless places are between 0 and size - 1 and none occurs twice."""
    check.places("train and test", places, size)
    counts = np.bincount(places, minlength=size)
    if counts.max() > 1:
        raise ValueError(
            f"train and test must not share samples, sample {counts.argmax()} occurs "
            f"{counts.max()} times"
        )


def _channel_moments(x, places):
    """Return mean and standard deviation of each channel of x / 255, from sums of integers."""
    moments = []
    for channel in range(x.shape[1]):
        values = x[places, channel]
        mean = values.sum(dtype=np.uint64) / values.size
        square = np.square(values, dtype=np.uint16).sum(dtype=np.uint64) / values.size
        spread = np.sqrt(max(square - mean**2, 0.0)) / 255.0
        moments.append((mean / 255.0, spread if spread > 1e-6 else 1.0))  # 1 where it is constant
    mean, std = np.array(moments, dtype=np.float32).T
    return mean, std


def _floats(name, value, shape):
    """Return an array of numbers in single precision."""
    return check.array(name, value, shape).astype(np.float32)


def _embedding(name, value, tokens):
    """Return a matrix with a row for each token."""
    matrix = _floats(name, value, (None, None))
    if tokens.dtype != np.int64:
        raise ValueError(f"embedding is for integer tokens, x holds {_kind(tokens)}")
    if tokens.size and tokens.max() >= len(matrix):
        raise ValueError(
            f"embedding must have a row for each token, got {len(matrix)} rows and token "
            f"{tokens.max()}"
        )
    return matrix
