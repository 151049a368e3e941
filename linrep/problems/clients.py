"""Clients' samples, equal or ragged, stored in one contiguous block."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Protocol, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linrep._lib import display as show
from linrep._lib import validation as check
from linrep._lib.arguments import checked
from linrep.problems import preparation as prepare
from linrep.problems import splits
from linrep.problems import weights as weighting
from linrep.problems.preparation import Preparation
from linrep.problems.random import RNGLike

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
    preparation : Preparation or None
        The map from the raw data to these, if :meth:`standardized` or a similar method made them.
    weights : ndarray, shape (N,), or None
        Weight of each sample's squared residual in its client's mean, after :meth:`weighted`; the
        rows of X and y are already multiplied by its square root.
    """

    X: NDArray[np.float64]
    y: NDArray[np.float64]
    offsets: NDArray[np.int64]
    names: tuple[Hashable, ...] = ()
    truth: Truth | None = field(default=None, repr=False)
    preparation: Preparation | None = None
    weights: NDArray[np.float64] | None = None

    def __post_init__(self):
        self._check(copy=True)

    def _check(self, *, copy):
        """Look at what was given, of which copies are kept, or the arrays themselves."""
        X = check.array("X", self.X, (None, None), copy=copy)
        y = check.array("y", self.y, (X.shape[0],), copy=copy)
        weights = self.weights
        if weights is not None:
            weights = check.array("weights", weights, (X.shape[0],), copy=copy)
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
        for name, value in (
            ("X", X), ("y", y), ("offsets", offsets), ("names", names), ("weights", weights),
        ):  # fmt: skip
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

    def _replaced(self, **changes: Any) -> Self:
        """Do as `dataclasses.replace`, for arrays that nobody else has."""
        return self._keeping(**{**vars(self), **changes})

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

    def split(
        self, held_out: float | None = None, *, keep: int | None = None, rng: RNGLike = None
    ) -> tuple[ClientData, ClientData]:
        """Split every client's samples at random into a training part and a held-out part.

        Parameters
        ----------
        held_out : float or int, optional
            A share of each client's samples in (0, 1), rounded, or a whole number of them. A client
            with too few samples keeps one to learn from.
        keep : int, optional
            Instead: the number of samples of each client to learn from, or all it has; all others
            are held out.
        rng : optional
            Anything `numpy.random.default_rng` takes.

        Returns
        -------
        train, test : ClientData
            All clients, and those with held-out samples, with their names; each client's samples
            keep their order. `train` keeps the truth, and so does `test` as described in
            :meth:`split_clients`.

        Raises
        ------
        ValueError, TypeError
            If not one of `held_out` and `keep` is given, it is out of range, nothing at all would
            be held out, or the data are weighted.
        """
        weighting.unweighted(self, "split")
        mask = splits.held_out_samples(self.m, held_out, keep, rng)
        return splits.select(self, ~mask), splits.select(self, mask)

    def folds(
        self, folds: int = 5, *, rng: RNGLike = None
    ) -> Iterator[tuple[ClientData, ClientData]]:
        """Split every client's samples several times, so that each is held out once.

        Parameters
        ----------
        folds : int, default 5
            Their number, at least 2. A client's only sample is never held out.
        rng : optional
            Anything `numpy.random.default_rng` takes.

        Yields
        ------
        train, test : ClientData
            As of :meth:`split`.

        Raises
        ------
        ValueError, TypeError
            If `folds` is out of range or above the number of samples that can be held out, or the
            data are weighted.
        """
        weighting.unweighted(self, "split")
        fold = splits.fold_of_samples(self.m, folds, rng)
        for each in range(folds):
            yield splits.select(self, fold != each), splits.select(self, fold == each)

    def split_clients(
        self,
        held_out: float | None = None,
        *,
        names: str | Iterable[Hashable] | None = None,
        rng: RNGLike = None,
    ) -> tuple[ClientData, ClientData]:
        """Split the clients into those that learn a representation and those that come later.

        Parameters
        ----------
        held_out : float or int, optional
            The share in (0, 1), rounded, or the number of clients that come later, chosen at
            random.
        names : iterable, optional
            Instead: their names.
        rng : optional
            Anything `numpy.random.default_rng` takes.

        Returns
        -------
        known, new : ClientData
            With their names, in this order. Both parts keep a truth that has a representation, such
            as SharedRepresentation; any other truth is dropped.

        Raises
        ------
        ValueError, TypeError
            If not one of `held_out` and `names` is given, it is out of range, a name is unknown, a
            part would be empty, or the data are weighted.

        See Also
        --------
        linrep.fit_new_clients
        """
        weighting.unweighted(self, "split")
        mask = np.repeat(splits.new_clients(self.names, held_out, names, rng), self.m)
        return splits.select(self, ~mask), splits.select(self, mask)

    def standardized(
        self, *, center: bool = True, scale: bool = True, labels: bool = True
    ) -> ClientData:
        """Return data with covariates, and labels, of mean 0 and variance 1 over all samples.

        Parameters
        ----------
        center, scale : bool, default True
            Subtract the mean; divide by the standard deviation. Constant columns are not divided,
            with a warning.
        labels : bool, default True
            Standardize the labels, too.

        Returns
        -------
        ClientData
            With its `preparation`, which maps other data in the same way and maps models back;
            without a truth, which refers to the covariates as drawn.

        Raises
        ------
        ValueError
            If the data are weighted.
        """
        step = prepare.standardizing(self, center=center, scale=scale, labels=labels)
        return prepare.prepared(self, step)

    def whitened(self, *, labels: bool = True, tolerance: float = 1e-6) -> ClientData:
        """Return data with covariates of mean 0 and covariance I over all samples.

        They are principal components of the standardized covariates, the leading one first, each
        divided by its standard deviation.

        Parameters
        ----------
        labels : bool, default True
            Standardize the labels, too.
        tolerance : float, default 1e-6
            Directions along which the standardized covariates have a standard deviation of at most
            this, relative to the largest one, are dropped, which lowers the dimension.

        Returns
        -------
        ClientData
            As of :meth:`standardized`.

        Raises
        ------
        ValueError
            If the data are weighted, or no covariate varies.
        """
        return prepare.prepared(self, prepare.whitening(self, labels=labels, tolerance=tolerance))

    def with_intercept(self) -> ClientData:
        """Return data with a column of ones after the covariates, which later steps leave there.

        Returns
        -------
        ClientData
            As of :meth:`standardized`.

        Raises
        ------
        ValueError
            If the data are weighted or have this column already.
        """
        return prepare.prepared(self, prepare.intercept(self))

    def weighted(self, weights: str | ArrayLike) -> ClientData:
        r"""Return data on which every method minimizes a weighted mean of squared residuals.

        The methods minimize a mean over clients of their mean losses: a client with few samples has
        the same weight as one with many. Here every row of X and y is multiplied by the square root
        of its weight relative to that; models and heads keep their meaning.

        Parameters
        ----------
        weights : {"client", "sample"} or array_like, shape (n,) or (N,)
            Equal weights for all clients, as without weights; equal weights for all samples, so
            that client i has weight :math:`m_i n / N`; or a weight for each client or each sample,
            at least 0, of which only the ratios matter.

        Returns
        -------
        ClientData
            With `weights`, whose mean over clients of their means is 1; for "client" the data
            themselves. Weights come last: weighted data cannot be split, prepared or predicted for.

        Raises
        ------
        ValueError, TypeError
            If `weights` is of another shape, negative or 0 everywhere, or the data are weighted.

        Notes
        -----
        For squared losses only. The start "moments" squares the labels and thus uses squared
        weights, and with several local steps of FedAvg a client of larger weight moves further,
        too: both change where a run begins, or its path, but not the loss that it minimizes.
        """
        weighting.unweighted(self, "weighted again")
        factors = weighting.row_weights(weights, self.offsets)
        if isinstance(weights, str) and weights == "client":
            return self
        roots = np.sqrt(factors)
        return self._replaced(X=self.X * roots[:, None], y=self.y * roots, weights=factors)

    def __repr__(self):
        m = self.m
        samples = f"m={m[0]}" if m.min() == m.max() else f"m={m.min()}…{m.max()}"
        more = "" if self.preparation is None else f", preparation={self.preparation}"
        more += "" if self.weights is None else ", weighted"
        return f"ClientData(n={self.n}, d={self.d}, {samples}, truth={self.truth}{more})"

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
                "preparation": self.preparation,
                "weights": "" if self.weights is None else show.spread(self.weights),
            },
        )


checked(globals())
