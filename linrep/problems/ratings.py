"""A user's own ratings: tables of (client, item, value), with side information on the clients."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linrep.problems.completion import Observations
from linrep.random import RNGLike

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Ratings:
    """Observations with the ids that clients and items have in the user's tables.

    Attributes
    ----------
    observations : Observations
        Of the ratings less their mean.
    mean : float
        The mean of the ratings.
    clients, items : ndarray
        The id of each client and item, in the order of the observations' indices.
    columns : tuple of str
        Names of the columns of Z, empty without side information.
    """

    observations: Observations
    mean: float
    clients: NDArray
    items: NDArray
    columns: tuple[str, ...] = ()

    @classmethod
    def from_frame(
        cls,
        ratings: pd.DataFrame,
        side: pd.DataFrame | None = None,
        *,
        client: str = "client",
        item: str = "item",
        value: str = "value",
    ) -> Ratings:
        """Map the ids of a table of ratings to indices, and line up its side information.

        Parameters
        ----------
        ratings : DataFrame
            A row per rating.
        side : DataFrame, optional
            A row per client, indexed by the clients' ids. Numbers are centred and divided by their
            standard deviation, texts become a column per value but one, and a column of ones is
            put in front. Clients in it that rated nothing are kept.
        client, item, value : str
            Names of the columns of `ratings`.

        Returns
        -------
        Ratings

        Raises
        ------
        ValueError
            If a column is missing, a value is not a finite number, a client rated an item twice, or
            a client has no row, or several, of side information.
        """
        import pandas as pd

        for name in (client, item, value):
            if name not in ratings.columns:
                raise ValueError(
                    f"ratings must have a column {name!r}, it has {', '.join(map(str, ratings))}"
                )
        if len(ratings) == 0:
            raise ValueError("ratings must hold at least one rating")
        values = pd.to_numeric(ratings[value], errors="coerce").to_numpy(dtype=np.float64)
        if not np.isfinite(values).all():
            place = int(np.argmin(np.isfinite(values)))
            raise ValueError(
                f"ratings must be finite numbers, row {place} has {ratings[value].iloc[place]!r}"
            )
        twice = ratings.duplicated([client, item]).to_numpy()
        if twice.any():
            place = int(np.argmax(twice))
            who, what = ratings[client].iloc[place], ratings[item].iloc[place]
            raise ValueError(f"client {who} rated item {what} twice")
        table = None
        if side is None:
            rows, clients = pd.factorize(ratings[client], sort=True)
        else:
            clients = side.index
            if not clients.is_unique:
                many = clients[clients.duplicated()][0]
                raise ValueError(f"client {many} has several rows of side information")
            rows = clients.get_indexer(ratings[client])
            if (rows < 0).any():
                unknown = ratings[client].iloc[int(np.argmax(rows < 0))]
                raise ValueError(f"client {unknown} has no row of side information")
            table = encode(side)
        columns, items = pd.factorize(ratings[item], sort=True)
        mean = float(values.mean())
        observations = Observations(
            columns, rows, values - mean,
            None if table is None else table.to_numpy(), d=len(items), n=len(clients),
        )  # fmt: skip
        return cls(
            observations,
            mean,
            np.asarray(clients),
            np.asarray(items),
            () if table is None else tuple(map(str, table.columns)),
        )

    def split(self, held_out: float, *, rng: RNGLike = None) -> tuple[Ratings, Ratings]:
        """Return two disjoint parts; ids and mean stay the same.

        Parameters
        ----------
        held_out, rng
            As in :meth:`Observations.split`.
        """
        parts = self.observations.split(held_out, rng=rng)
        return replace(self, observations=parts[0]), replace(self, observations=parts[1])

    def predict(self, U: ArrayLike, V: ArrayLike) -> NDArray[np.float64]:
        """Return the ratings that factors predict, one per rating here.

        Parameters
        ----------
        U : array_like, shape (d, k)
        V : array_like, shape (p, k)
            Or (n, k) without side information.
        """
        seen = self.observations
        V = np.asarray(V)
        heads = V if seen.Z is None else seen.Z @ V
        return self.mean + np.einsum("ek,ek->e", np.asarray(U)[seen.items], heads[seen.clients])

    def rmse(self, predictions: ArrayLike) -> float:
        """Return the root mean square error of predictions, one per rating here.

        Parameters
        ----------
        predictions : array_like
            As :meth:`predict` returns them.
        """
        values = self.mean + self.observations.values
        return float(np.sqrt(np.mean((np.asarray(predictions) - values) ** 2)))

    def mean_predictions(self, training: Ratings, of: str) -> NDArray[np.float64]:
        """Return the mean that training ratings of each rating's item or client have.

        Parameters
        ----------
        training : Ratings
            A part of the same table.
        of : {"item", "client"}
            Those without a training rating get the mean of all.
        """
        if of not in ("item", "client"):
            raise ValueError(f"of must be 'item' or 'client', got {of!r}")
        known, here = training.observations, self.observations
        groups, asked, size = (
            (known.items, here.items, known.d)
            if of == "item"
            else (known.clients, here.clients, known.n)
        )
        count = np.bincount(groups, minlength=size)
        total = np.bincount(groups, known.values, minlength=size)
        overall = known.values.mean()
        means = np.where(count > 0, total / np.maximum(count, 1), overall)
        return self.mean + means[asked]

    def __repr__(self):
        sides = f", {len(self.columns)} columns of side information" if self.columns else ""
        return (
            f"Ratings({len(self.observations)} by {len(self.clients)} clients of "
            f"{len(self.items)} items{sides})"
        )


def encode(side: pd.DataFrame) -> pd.DataFrame:
    """Return side information as numbers: ones, standardized numbers, indicators of texts.

    Columns that depend on those before them are left out, so that the result has full rank.
    """
    import pandas as pd

    parts = [pd.Series(1.0, index=side.index, name="one").to_frame()]
    for name in side.columns:
        column = side[name]
        if column.isna().any():
            raise ValueError(
                f"client {column.index[column.isna()][0]} has no value of {name} in its side "
                "information"
            )
        if pd.api.types.is_numeric_dtype(column):
            numbers = column.astype(np.float64)
            if not np.isfinite(numbers).all():
                raise ValueError(f"side information must be finite, {name} is not")
            spread = numbers.std(ddof=0)
            if spread > 0.0:
                parts.append(((numbers - numbers.mean()) / spread).to_frame())
        else:
            parts.append(pd.get_dummies(column, prefix=str(name), drop_first=True, dtype=float))
    table = pd.concat(parts, axis=1)
    values = table.to_numpy()
    kept: list[int] = []
    for place in range(values.shape[1]):
        if np.linalg.matrix_rank(values[:, [*kept, place]]) > len(kept):
            kept.append(place)
    return table.iloc[:, kept]


def read_movielens(folder: str | Path, *, side: bool = True) -> Ratings:
    """Read ratings in the layout of MovieLens-100K.

    Parameters
    ----------
    folder : path
        With ``u.data`` (client, item, rating, time; tabs), ``u.user`` (client, age, gender,
        occupation, postal code; bars) and ``u.item`` (item, title and more; bars).
    side : bool, default True
        Take age, gender and occupation as side information.

    Returns
    -------
    Ratings
        The titles of the items as ids, where they are distinct.

    Raises
    ------
    ValueError
        If a file is missing or does not have this layout, or as :meth:`Ratings.from_frame`.
    """
    folder = Path(folder)
    ratings = _read(folder / "u.data", "\t", ["client", "item", "value", "time"])
    items = _read(folder / "u.item", "|", ["item", "title"])
    unknown = ~ratings["item"].isin(items["item"])
    if unknown.any():
        raise ValueError(f"item {ratings['item'][unknown].iloc[0]} is not in {folder / 'u.item'}")
    if items["title"].is_unique:
        ratings["item"] = ratings["item"].map(items.set_index("item")["title"])
    if not side:
        return Ratings.from_frame(ratings)
    users = _read(folder / "u.user", "|", ["client", "age", "gender", "occupation"])
    users["age"] = _numbers(users["age"], folder / "u.user")
    return Ratings.from_frame(ratings, users.set_index("client"))


def _read(path, separator, names):
    """Return the first columns of a file without a header, as texts."""
    import pandas as pd

    try:
        table = pd.read_csv(path, sep=separator, header=None, dtype=str, encoding="latin-1")
    except FileNotFoundError:
        raise ValueError(f"there is no file {path}") from None
    except (pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        raise ValueError(f"{path} cannot be read: {error}") from None
    if table.shape[1] < len(names):
        raise ValueError(f"{path} must have {len(names)} columns or more, it has {table.shape[1]}")
    return table.iloc[:, : len(names)].set_axis(names, axis=1)


def _numbers(column, path):
    """Return a column of numbers."""
    import pandas as pd

    numbers = pd.to_numeric(column, errors="coerce")
    if numbers.isna().any():
        raise ValueError(f"{path} must have numbers for {column.name}, got "
                         f"{column[numbers.isna()].iloc[0]!r}")  # fmt: skip
    return numbers
