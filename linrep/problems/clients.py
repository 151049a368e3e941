"""Clients' samples, equal or ragged, stored in one contiguous block."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Protocol, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linrep._lib import display as show
from linrep._lib import validation as check
from linrep._lib.arguments import checked

Names: TypeAlias = ArrayLike  # of clients, which need not be numbers


class Truth(Protocol):
    """What data are drawn from: any of the regressions of :mod:`linrep.problems`."""

    @property
    def n(self) -> int:
        """Number of clients."""

    @property
    def d(self) -> int:
        """Dimension of the covariates."""

    @property
    def theta(self) -> Any:
        """The true models, shape (n, d), or (d,) where all clients have the same."""


@dataclass(frozen=True, eq=False)
class ClientData:
    """Regression samples of n clients.

    Use :meth:`from_arrays` or :meth:`from_list` for your own data; the ``draw`` method of a truth
    returns data with that truth attached. Data are copies: whatever becomes of the arrays that they
    were made of, they stay as they are.

    Attributes
    ----------
    X : ndarray, shape (N, d)
        Covariates of all clients, client by client.
    y : ndarray, shape (N,)
        Labels.
    offsets : ndarray of int, shape (n + 1,)
        Client i owns rows ``offsets[i]:offsets[i + 1]``, at least one.
    names : tuple
        Names of the clients, in the order of their rows; 0 … n - 1 by default.
    truth : SharedRepresentation, LowRankRegression, BiasedRegression or None
        The ground truth that the data were drawn from, if there is one.
    """

    X: NDArray[np.float64]
    y: NDArray[np.float64]
    offsets: NDArray[np.int64]
    names: tuple[Hashable, ...] = ()
    truth: Truth | None = field(default=None, repr=False)

    def __post_init__(self):
        self._check(copy=True)

    def _check(self, *, copy):
        """Look at what was given, of which copies are kept, or the arrays themselves."""
        X = check.array("X", self.X, (None, None), copy=copy)
        y = check.array("y", self.y, (X.shape[0],), copy=copy)
        offsets = check.read_array("offsets", self.offsets)
        if offsets.ndim != 1 or offsets.size < 2 or offsets.dtype.kind not in "iu":
            raise ValueError("offsets must be at least two integers")
        offsets = np.array(offsets, dtype=np.int64)
        if offsets[0] != 0 or offsets[-1] != X.shape[0]:
            raise ValueError(f"offsets must run from 0 to {X.shape[0]}, the number of samples")
        empty = np.flatnonzero(np.diff(offsets) < 1)
        if empty.size:
            raise ValueError(f"client {empty[0]} has no sample; every client needs at least one")
        names = tuple(self.names) or tuple(range(offsets.size - 1))
        if len(names) != offsets.size - 1:
            raise ValueError(f"names must have one entry per client, got {len(names)}")
        if self.names and len(set(names)) < len(names):
            twice = next(name for place, name in enumerate(names) if name in names[:place])
            raise ValueError(f"names must be distinct, {twice!r} is there twice")
        truth = self.truth
        if truth is not None and not all(hasattr(truth, each) for each in ("n", "d", "theta")):
            raise TypeError(f"truth must be a truth, with n, d, theta, got {type(truth).__name__}")
        if truth is not None and (truth.n, truth.d) != (offsets.size - 1, X.shape[1]):
            raise ValueError(
                f"truth must have n = {offsets.size - 1} and d = {X.shape[1]} as the samples, "
                f"got n = {truth.n} and d = {truth.d}"
            )
        for name, value in (("X", X), ("y", y), ("offsets", offsets), ("names", names)):
            object.__setattr__(self, name, value)

    def moderate(self, name: str) -> None:
        """Raise unless data of this name are in units in which they can be computed with.

        Parameters
        ----------
        name : str
        """
        check.moderate(f"X of {name}", self.X)
        check.moderate(f"y of {name}", self.y)

    @classmethod
    def _keeping(cls, **given: Any) -> Self:
        """Return data that hold the arrays given, which nobody else has, and no copies of them."""
        data = object.__new__(cls)
        for each in fields(cls):
            object.__setattr__(data, each.name, given.get(each.name, each.default))
        data._check(copy=False)
        return data

    @classmethod
    def from_arrays(cls, X: ArrayLike, y: ArrayLike, client: Names) -> ClientData:
        """Group samples by client.

        Parameters
        ----------
        X : array_like, shape (N, d)
            Covariates.
        y : array_like, shape (N,)
            Labels.
        client : array_like, shape (N,)
            Each sample's client, as integers or strings. Clients are ordered by name, samples of
            a client keep their order.

        Returns
        -------
        ClientData

        Raises
        ------
        ValueError
            If the lengths differ, or a value is missing or not finite.
        """
        X = check.array("X", X, (None, None))
        y = check.array("y", y, (X.shape[0],))
        client = check.read_array("client", client)
        if client.shape != y.shape:
            raise ValueError(f"client must have shape {y.shape}, got {client.shape}")
        if client.dtype.kind not in "iuUSb":
            if client.dtype.kind == "O" and all(isinstance(name, str) for name in client):
                client = client.astype(str)
            else:
                raise TypeError(
                    "client must hold integers or strings, none missing, "
                    f"got an array of {client.dtype}"
                )
        names, inverse, counts = np.unique(client, return_inverse=True, return_counts=True)
        order = np.argsort(inverse, kind="stable")
        offsets = np.concatenate(([0], np.cumsum(counts)))
        return cls._keeping(X=X[order], y=y[order], offsets=offsets, names=tuple(names.tolist()))

    @classmethod
    def from_list(
        cls, samples: Iterable[tuple[ArrayLike, ArrayLike]], names: Sequence[Hashable] | None = None
    ) -> ClientData:
        """Collect one pair (X_i, y_i) per client.

        Parameters
        ----------
        samples : iterable of (array_like (m_i, d), array_like (m_i,))
            Each client's covariates and labels; d is common, m_i >= 1.
        names : sequence, optional
            One name per client.

        Returns
        -------
        ClientData

        Raises
        ------
        ValueError
            If there is no client, a client has no sample, or shapes do not fit.
        """
        pairs = list(samples)
        if not pairs:
            raise ValueError("samples must hold at least one client, got none")
        blocks, labels, d = [], [], None
        for i, pair in enumerate(pairs):
            try:
                X_i, y_i = pair
            except (TypeError, ValueError):
                raise TypeError(f"samples[{i}] must be a pair (X, y)") from None
            if np.size(y_i) == 0:
                raise ValueError(f"client {i} has no sample; every client needs at least one")
            X_i = check.array(f"X of client {i}", X_i, (None, d))
            d = X_i.shape[1]
            blocks.append(X_i)
            labels.append(check.array(f"y of client {i}", y_i, (X_i.shape[0],)))
        offsets = np.concatenate(([0], np.cumsum([len(y_i) for y_i in labels])))
        return cls._keeping(
            X=np.concatenate(blocks),
            y=np.concatenate(labels),
            offsets=offsets,
            names=() if names is None else tuple(names),
        )

    @property
    def n(self) -> int:
        """Number of clients."""
        return self.offsets.size - 1

    @property
    def d(self) -> int:
        """Ambient dimension."""
        return self.X.shape[1]

    @property
    def m(self) -> NDArray[np.int64]:
        """Number of samples of each client, shape (n,)."""
        return np.diff(self.offsets)

    def client(self, i: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return (X_i, y_i) of the client in place i, as views.

        Parameters
        ----------
        i : int
            From 0 to n - 1.
        """
        i = check.integer("i", i, minimum=0, maximum=self.n - 1)
        rows = slice(self.offsets[i], self.offsets[i + 1])
        return self.X[rows], self.y[rows]

    def __repr__(self):
        m = self.m
        samples = f"m={m[0]}" if m.min() == m.max() else f"m={m.min()}…{m.max()}"
        return f"ClientData(n={self.n}, d={self.d}, {samples}, truth={self.truth})"

    def _repr_html_(self):
        return show.sheet(
            "ClientData",
            {
                "clients": self.n,
                "covariates": self.d,
                "samples per client": show.spread(self.m),
                "samples": int(self.m.sum()),
                "labels": f"mean {self.y.mean():.3g}, standard deviation {self.y.std():.3g}",
                "truth": repr(self.truth) if self.truth is not None else "not known",
            },
        )


checked(globals())
