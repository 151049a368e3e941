"""Clients' samples, equal or ragged, stored in one contiguous block."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linrep._lib import validation as check
from linrep._lib.arguments import checked
from linrep._lib.frames import common_index, read_table
from linrep._lib.frozen import keep
from linrep._lib.ids import grouped, read_ids

if TYPE_CHECKING:
    import pandas as pd


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

    Use :meth:`from_frame`, :meth:`from_arrays` or :meth:`from_list` for your own data; the ``draw``
    method of a truth returns data with that truth attached. Data are copies: whatever becomes of
    the arrays that they were made of, they stay as they are.

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
    rows : ndarray of int, shape (N,), or None
        Place of each sample among the rows that the data were made from; None for data that were
        not made from rows.
    index : pandas.Index or None
        Label of each sample, of rows that had an index.
    columns : tuple or None
        Names of the covariates, of a data frame.
    """

    X: NDArray[np.float64]
    y: NDArray[np.float64]
    offsets: NDArray[np.int64]
    names: tuple[Hashable, ...] = ()
    truth: Truth | None = field(default=None, repr=False)
    rows: NDArray[np.int64] | None = None
    index: pd.Index | None = None
    columns: tuple[Hashable, ...] | None = None

    def __post_init__(self):
        self._check(copy=True)

    def _check(self, *, copy):
        """Look at what was given, of which copies are kept, or the arrays themselves."""
        X = check.array("X", self.X, (None, None), copy=copy)
        y = check.labels("y", self.y, X.shape[0], copy=copy)
        offsets = check.read_array("offsets", self.offsets)
        if offsets.ndim != 1 or offsets.size < 2 or offsets.dtype.kind not in "iu":
            raise ValueError("offsets must be at least two integers")
        offsets = np.array(offsets, dtype=np.int64)
        if offsets[0] != 0 or offsets[-1] != X.shape[0]:
            raise ValueError(f"offsets must run from 0 to {X.shape[0]}, the number of samples")
        empty = np.flatnonzero(np.diff(offsets) < 1)
        if empty.size:
            raise ValueError(f"client {empty[0]} has no sample; every client needs at least one")
        names = tuple(read_ids(self.names, "names") if copy else self.names)
        names = names or tuple(range(offsets.size - 1))
        if len(names) != offsets.size - 1:
            raise ValueError(f"names must have one entry per client, got {len(names)}")
        check.distinct("names", names)
        columns = None if self.columns is None else tuple(self.columns)
        if columns is not None and len(columns) != X.shape[1]:
            raise ValueError(f"columns must have a name per covariate, got {len(columns)}")
        rows = None if self.rows is None else check.places("rows", self.rows, check.WHOLE)
        for name, each in (("rows", rows), ("index", self.index)):
            if each is not None and len(each) != len(y):
                raise ValueError(f"{name} must have {len(y)} entries, got {len(each)}")
        truth = self.truth
        if truth is not None and not all(hasattr(truth, each) for each in ("n", "d", "theta")):
            raise TypeError(f"truth must be a truth, with n, d, theta, got {type(truth).__name__}")
        if truth is not None and (truth.n, truth.d) != (offsets.size - 1, X.shape[1]):
            raise ValueError(
                f"truth must have n = {offsets.size - 1} and d = {X.shape[1]} as the samples, "
                f"got n = {truth.n} and d = {truth.d}"
            )
        keep(self, X=X, y=y, offsets=offsets, names=names, rows=rows, columns=columns)

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
        keep(data, **{each.name: given.get(each.name, each.default) for each in fields(cls)})
        data._check(copy=False)
        return data

    @classmethod
    def from_arrays(cls, X: Any, y: Any, client: Any) -> ClientData:
        """Group samples by client.

        Parameters
        ----------
        X : DataFrame or array_like, shape (N, d)
            Covariates. A data frame's columns keep their names, and its rows their index.
        y : array_like, shape (N,) or (N, 1)
            Labels.
        client : array_like, shape (N,) or (N, 1)
            Each sample's client: texts, numbers, dates, or tuples of them, which stay what they
            are. Clients are in order where their ids have one, as "007" and 7 have not, otherwise
            as they come; samples of a client keep their order.

        Returns
        -------
        ClientData
            With its `rows`, which :meth:`linrep.Trace.predict` puts predictions in the order of.

        Raises
        ------
        ValueError, TypeError
            If the lengths or two indexes differ, a column's name is there twice, or a value is
            missing, not finite or no number.
        """
        X = read_table("X", X)
        index = common_index(X=X, y=y, client=client)
        X, columns = _covariates("X", X)
        y = check.labels("y", y, len(X))
        names, place = grouped(client)
        if place.shape != y.shape:
            raise ValueError(f"client must have shape {y.shape}, got {place.shape}")
        order = np.argsort(place, kind="stable")
        return cls._keeping(
            X=X[order],
            y=y[order],
            offsets=np.concatenate(([0], np.cumsum(np.bincount(place)))),
            names=tuple(names),
            rows=order,
            index=None if index is None else index[order],
            columns=columns,
        )

    @classmethod
    def from_frame(cls, frame: Any, *, y: Any, client: Any) -> ClientData:
        """Group the rows of a data frame by client.

        Parameters
        ----------
        frame : DataFrame
            Of pandas or polars, or a table of Arrow. All columns but two are covariates.
        y, client : str
            The columns of the labels and of each row's client.

        Returns
        -------
        ClientData
            As of :meth:`from_arrays`.

        Raises
        ------
        ValueError, TypeError
            If a column is not there, or as :meth:`from_arrays`.
        """
        frame = read_table("frame", frame)
        if not hasattr(frame, "columns"):
            raise TypeError(f"frame must be a DataFrame, got {type(frame).__name__}")
        for name, column in (("y", y), ("client", client)):
            if not isinstance(column, Hashable):
                raise TypeError(f"{name} must be a column's name, got a {type(column).__name__}")
        check.columns("frame", frame, y, client)
        covariates = [name for name in frame.columns if name not in (y, client)]
        return cls.from_arrays(frame[covariates], frame[y], frame[client])

    @classmethod
    def from_list(
        cls, samples: Iterable[tuple[ArrayLike, ArrayLike]], names: Sequence[Hashable] | None = None
    ) -> ClientData:
        """Collect one pair (X_i, y_i) per client.

        Parameters
        ----------
        samples : iterable of (DataFrame or array_like (m_i, d), array_like (m_i,) or (m_i, 1))
            Each client's covariates and labels; d is common, and so are the columns of data frames;
            m_i >= 1.
        names : sequence, optional
            One name per client, as `client` of :meth:`from_arrays`.

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
        blocks, labels, columns, d = [], [], None, None
        for i, pair in enumerate(pairs):
            try:
                X_i, y_i = pair
            except (TypeError, ValueError):
                raise TypeError(f"samples[{i}] must be a pair (X, y)") from None
            if np.size(y_i) == 0:
                raise ValueError(f"client {i} has no sample; every client needs at least one")
            common_index(**{f"X of client {i}": X_i, f"y of client {i}": y_i})
            X_i, own = _covariates(f"X of client {i}", read_table(f"X of client {i}", X_i), d)
            check.same_columns(f"X of client {i}", own, columns, "those before it")
            columns, d = own or columns, X_i.shape[1]
            blocks.append(X_i)
            labels.append(check.labels(f"y of client {i}", y_i, len(X_i)))
        offsets = np.concatenate(([0], np.cumsum([len(y_i) for y_i in labels])))
        return cls._keeping(
            X=np.concatenate(blocks),
            y=np.concatenate(labels),
            offsets=offsets,
            names=() if names is None else tuple(read_ids(names, "names")),
            columns=columns,
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

    def _shown_m(self):
        return f"m={self.m.min()}…{self.m.max()}" if np.ptp(self.m) else f"m={self.m[0]}"

    def __repr__(self):
        return f"ClientData(n={self.n}, d={self.d}, {self._shown_m()}, truth={self.truth})"


def _covariates(name, X, d=None):
    """Return covariates, and the names of their columns, None where they have none."""
    if not hasattr(X, "columns"):
        return check.array(name, X, (None, d)), None
    columns = tuple(X.columns)
    if not columns or d not in (None, len(columns)):
        wanted = "any" if d is None else d
        raise ValueError(f"{name} must have shape (any, {wanted}), got {X.shape}")
    check.distinct(f"columns of {name}", columns)
    values = [check.array(f"column {each!r} of {name}", X[each], (None,)) for each in columns]
    return np.column_stack(values), columns


checked(globals())
