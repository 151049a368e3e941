"""A user's own ratings: tables of (client, item, value), with side information on both."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linrep._lib import display as show
from linrep._lib import validation as check
from linrep._lib.arguments import checked
from linrep._lib.warning import warn
from linrep.problems.completion import Observations
from linrep.problems.prediction import Predictor, predict_entries
from linrep.problems.random import RNGLike

if TYPE_CHECKING:
    import pandas as pd

DUPLICATES = ("error", "mean", "last")


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
    columns, item_columns : tuple of str
        Names of the columns of Z and of A, empty without side information.
    """

    observations: Observations
    mean: float
    clients: NDArray
    items: NDArray
    columns: tuple[str, ...] = ()
    item_columns: tuple[str, ...] = ()

    @classmethod
    def from_frame(
        cls,
        ratings: pd.DataFrame,
        side: pd.DataFrame | None = None,
        *,
        client: str = "client",
        item: str = "item",
        value: str = "value",
        item_side: pd.DataFrame | None = None,
        duplicates: str = "error",
    ) -> Ratings:
        """Map the ids of a table of ratings to indices, and line up its side information.

        Indices are in the order of the sorted ids, with side information and without: the same
        split holds out the same ratings.

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
        item_side : DataFrame, optional
            The same for items, a row per item.
        duplicates : {"error", "mean", "last"}
            What becomes of several ratings of an item by a client: their mean, or the last, with
            one warning that counts them.

        Returns
        -------
        Ratings

        Raises
        ------
        ValueError
            If a column is missing, a value is not a finite number, a client rated an item twice, or
            a client or an item has no row, or several, of side information.
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
        for name in (client, item):
            if ratings[name].isna().any():
                place = int(np.argmax(ratings[name].isna()))
                raise ValueError(f"ratings must have the {name} in every row, row {place} has none")
        check.choice("duplicates", duplicates, DUPLICATES)
        rows, clients, table = _line_up(ratings[client], side, "client")
        columns, items, item_table = _line_up(ratings[item], item_side, "item")
        key = rows * len(items) + columns
        _, first, group, count = np.unique(
            key, return_index=True, return_inverse=True, return_counts=True
        )
        if len(first) < len(key):
            group = group.reshape(-1)
            if duplicates == "error":
                twice = int(np.argmax(ratings.duplicated([client, item]).to_numpy()))
                who, what = ratings[client].iloc[twice], ratings[item].iloc[twice]
                raise ValueError(f"client {who} rated item {what} twice")
            if duplicates == "mean":
                values = np.bincount(group, values) / count
            else:
                last = np.zeros(len(first), dtype=np.int64)
                np.maximum.at(last, group, np.arange(len(key)))
                values = values[last]
            many = int(np.count_nonzero(count > 1))
            taken = "their means are" if duplicates == "mean" else "the last of each is"
            warn(f"{many} pairs of a client and an item have several ratings: {taken} taken")
            rows, columns = rows[first], columns[first]
        mean = float(values.mean())
        observations = Observations(
            columns, rows, values - mean, None if table is None else table.to_numpy(),
            None if item_table is None else item_table.to_numpy(), d=len(items), n=len(clients),
        )  # fmt: skip
        return cls(
            observations, mean, np.asarray(clients), np.asarray(items),
            () if table is None else tuple(map(str, table.columns)),
            () if item_table is None else tuple(map(str, item_table.columns)),
        )  # fmt: skip

    def split(
        self, held_out: float | pd.DataFrame, *, rng: RNGLike = None
    ) -> tuple[Ratings, Ratings]:
        """Return two disjoint parts; ids and mean stay the same.

        Parameters
        ----------
        held_out : float or DataFrame
            As in :meth:`Observations.split`, or the second part itself: a table of the ids, its
            first column the clients', its second the items', for a split that others have made.
        rng : optional
            As in :meth:`Observations.split`.

        Raises
        ------
        ValueError
            If a part would be empty, or the table has a pair that was not rated.
        """
        if hasattr(held_out, "iloc"):
            parts = self._split_at(held_out)
        else:
            parts = self.observations.split(held_out, rng=rng)
        return replace(self, observations=parts[0]), replace(self, observations=parts[1])

    def _split_at(self, table):
        import pandas as pd

        seen = self.observations
        if table.shape[1] < 2:
            raise ValueError("held_out must have two columns, clients and items")
        places = [
            pd.Index(ids).get_indexer(table.iloc[:, column])
            for column, ids in enumerate((self.clients, self.items))
        ]
        key = seen.clients * seen.d + seen.items
        asked = np.where((places[0] < 0) | (places[1] < 0), -1, places[0] * seen.d + places[1])
        known = np.isin(asked, key)
        if not known.all():
            row = int(np.argmin(known))
            raise ValueError(
                f"client {table.iloc[row, 0]} did not rate item {table.iloc[row, 1]}, "
                "which is to be held out"
            )
        chosen = np.isin(key, asked)
        if chosen.all() or not chosen.any():
            raise ValueError("held_out must leave ratings on both sides")
        return seen._where(~chosen), seen._where(chosen)

    def predict(self, U: ArrayLike | Predictor, V: ArrayLike | None = None) -> NDArray[np.float64]:
        """Return the ratings that a trace or factors predict, one per rating here.

        Parameters
        ----------
        U : Trace or array_like, shape (d, k)
            A trace, whose biases count; or the items' factor, (a, k) with side information.
        V : array_like, shape (p, k)
            Or (n, k) without side information; left out with a trace.
        """
        if isinstance(U, Predictor):
            return np.asarray(U.predict(self))
        if V is None:
            raise ValueError("V must be given with a factor U")
        seen = self.observations
        rows = [
            len(ids) if table is None else table.shape[1]
            for ids, table in ((self.items, seen.A), (self.clients, seen.Z))
        ]
        state = {
            "U": check.array("U", U, (rows[0], None)),
            "V": check.array("V", V, (rows[1], None)),
        }
        return self.mean + predict_entries(state, self.observations)

    def rmse(self, predictions: ArrayLike) -> float:
        """Return the root mean square error of predictions, one per rating here.

        Parameters
        ----------
        predictions : array_like
            As :meth:`predict` returns them.
        """
        values = self.mean + self.observations.values
        predicted = check.array("predictions", predictions, values.shape)
        with np.errstate(over="ignore"):
            return float(np.sqrt(np.mean((predicted - values) ** 2)))

    def mean_predictions(self, training: Ratings, of: str) -> NDArray[np.float64]:
        """Return, for each rating, the mean of the training ratings of its item or client.

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
        count = len(self.columns) + len(self.item_columns)
        sides = f", {count} columns of side information" if count else ""
        return (
            f"Ratings({len(self.observations)} by {len(self.clients)} clients of "
            f"{len(self.items)} items{sides})"
        )

    def _repr_html_(self):
        rows = self.observations._rows()
        values = show.spread(self.observations.values + self.mean) if len(self.observations) else ""
        return show.sheet(
            "Ratings",
            {**rows, "values": values, "mean": self.mean, "columns": ", ".join(self.columns)},
        )


def _line_up(ids, side, what):
    """Return each rating's index, the ids in order, and the encoded side information or None."""
    import pandas as pd

    if side is None:
        places, known = pd.factorize(ids, sort=True)
        return places, known, None
    if not side.index.is_unique:
        many = side.index[side.index.duplicated()][0]
        raise ValueError(f"{what} {many} has several rows of side information")
    known = pd.factorize(side.index, sort=True)[1]
    places = known.get_indexer(ids)
    if (places < 0).any():
        unknown = ids.iloc[int(np.argmax(places < 0))]
        raise ValueError(f"{what} {unknown} has no row of side information")
    return places, known, encode(side.loc[known], what)


def encode(side: pd.DataFrame, what: str = "client") -> pd.DataFrame:
    """Return side information as numbers: ones, standardized numbers, indicators of texts.

    Columns that depend on those before them are left out, so that the result has full rank.
    """
    import pandas as pd

    parts = [pd.Series(1.0, index=side.index, name="one").to_frame()]
    for name in side.columns:
        column = side[name]
        if column.isna().any():
            raise ValueError(
                f"{what} {column.index[column.isna()][0]} has no value of {name} in its side "
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


checked(globals())
