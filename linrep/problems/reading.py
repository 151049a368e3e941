"""Files of ratings: triples with or without a header, and MovieLens' layouts."""

from __future__ import annotations

import csv
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, overload

import numpy as np

from linrep._lib import validation as check
from linrep._lib.arguments import checked
from linrep._lib.warning import warn
from linrep.problems.ratings import DUPLICATES, Ratings

if TYPE_CHECKING:
    import pandas as pd

_SEPARATORS = ("::", "\t", ";", ",", "|")
_NAMES = {
    "client": ("client", "user", "userid", "user_id"),
    "item": ("item", "movie", "itemid", "item_id", "movieid", "movie_id"),
    "value": ("value", "rating", "score"),
}


@overload
def read_ratings(
    path: str | Path, *, test: None = None, side: pd.DataFrame | None = None,
    item_side: pd.DataFrame | None = None, duplicates: str = "mean",
) -> Ratings: ...  # fmt: skip
@overload
def read_ratings(
    path: str | Path, *, test: str | Path, side: pd.DataFrame | None = None,
    item_side: pd.DataFrame | None = None, duplicates: str = "mean",
) -> tuple[Ratings, Ratings]: ...  # fmt: skip
def read_ratings(
    path: str | Path, *, test: str | Path | None = None, side: pd.DataFrame | None = None,
    item_side: pd.DataFrame | None = None, duplicates: str = "mean",
) -> Ratings | tuple[Ratings, Ratings]:  # fmt: skip
    r"""Read a file of ratings with a client, an item and a value in each line.

    Parameters
    ----------
    path : path
        Columns are separated by ``::``, tabs, semicolons, commas, bars or spaces. A first line
        whose third column is no number is a header: columns are then found by their names (client
        or user, item or movie, value or rating; "userId" and "user_id", too), else they are the
        first three. More columns, such as times, are left out. Ids that all are whole numbers
        become integers.
    test : path, optional
        A file of held-out ratings, of the same form.
    side, item_side : DataFrame, optional
        Side information, indexed by the clients' and items' ids; see :meth:`Ratings.from_frame`.
    duplicates : {"mean", "last", "error"}
        What becomes of several ratings of an item by a client; see :meth:`Ratings.from_frame`.

    Returns
    -------
    Ratings, or pair of Ratings
        With ``test``, those to learn from and those held out, with the same ids.

    Raises
    ------
    ValueError
        If a file is missing or has other lines, a pair is in both files, or as
        :meth:`Ratings.from_frame`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import linrep as lr
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "ratings.csv"
    >>> _ = path.write_text("userId,movieId,rating\n1,10,4.0\n1,20,2.5\n2,10,5.0\n")
    >>> lr.read_ratings(path)
    Ratings(3 by 2 clients of 2 items)
    """
    import pandas as pd

    files = [_triples(each) for each in (path, test) if each is not None]
    for name in ("client", "item"):
        ids = _integers(pd.concat([file[name] for file in files], ignore_index=True))
        for file, part in zip(files, (ids[: len(files[0])], ids[len(files[0]) :]), strict=False):
            file[name] = part.to_numpy()
    return _assembled(files, side, item_side, duplicates)


def _assembled(files, side, item_side, duplicates):
    """Return the ratings of one table, or of two, the second held out."""
    import pandas as pd

    check.choice("duplicates", duplicates, DUPLICATES)
    whole = pd.concat(files, ignore_index=True)
    held = None
    if len(files) == 2:
        held = whole.iloc[len(files[0]) :]
        first = whole.iloc[: len(files[0])]
        both = first[["client", "item"]].merge(held[["client", "item"]])
        if len(both):
            raise ValueError(
                f"client {both.iloc[0, 0]}'s rating of item {both.iloc[0, 1]} is to be learned "
                "from and held out"
            )
    with warnings.catch_warnings(record=True) as noticed:
        warnings.simplefilter("always")
        ratings = Ratings.from_frame(whole, side, item_side=item_side, duplicates=duplicates)
    for each in noticed:  # said once, of the line that reads the file
        warn(str(each.message), each.category)
    return ratings if held is None else ratings.split(held)


def _triples(path):
    """Return a table with clients, items and values, as texts."""
    table, header = _texts(path)
    if header is not None:
        lower = [name.strip().strip('"').lower() for name in header]
        places = [
            next((lower.index(name) for name in names if name in lower), None)
            for names in _NAMES.values()
        ]
        if None not in places:
            table = table.iloc[:, places]
    if table.shape[1] < 3:
        raise ValueError(f"{path} must have 3 columns or more, it has {table.shape[1]}")
    return table.iloc[:, :3].set_axis(list(_NAMES), axis=1)


def _texts(path):
    """Return a file's cells as texts, without its header, and the header or None."""
    import pandas as pd

    try:
        lines = Path(path).read_text(encoding="utf-8-sig", errors="replace").splitlines()
    except (FileNotFoundError, IsADirectoryError):
        raise ValueError(f"there is no file {path}") from None
    lines = [line for line in lines if line.strip()]
    if not lines:
        raise ValueError(f"{path} cannot be read: it is empty")
    separator = next((each for each in _SEPARATORS if each in lines[0]), None)
    if separator in (None, "::"):
        rows = [line.split(separator) for line in lines]
    else:
        rows = list(csv.reader(lines, delimiter=separator))
    wide = len(rows[0])
    for number, row in enumerate(rows):
        if len(row) != wide:
            raise ValueError(
                f"{path} cannot be read: row {number} has {len(row)} columns, the first {wide}"
            )
    header = rows.pop(0) if wide >= 3 and not _is_number(rows[0][2]) else None
    if header is not None and not rows:
        raise ValueError(f"{path} must hold at least one rating")
    return pd.DataFrame(rows, dtype=str), header


def _is_number(text):
    try:
        return bool(np.isfinite(float(text)))
    except ValueError:
        return False


def _integers(column):
    """Return a column of ids as integers, where all are."""
    text = column.astype(str).str.strip()
    return text.astype(np.int64) if text.str.fullmatch(r"-?\d{1,18}").all() else text


@overload
def read_movielens(
    folder: str | Path, *, side: bool = True, item_side: bool = False, split: None = None
) -> Ratings: ...
@overload
def read_movielens(
    folder: str | Path, *, side: bool = True, item_side: bool = False, split: str
) -> tuple[Ratings, Ratings]: ...
def read_movielens(
    folder: str | Path, *, side: bool = True, item_side: bool = False, split: str | None = None
) -> Ratings | tuple[Ratings, Ratings]:
    """Read ratings in one of MovieLens' layouts.

    Parameters
    ----------
    folder : path
        With ``u.data`` (client, item, rating, time; tabs), ``u.user`` (client, age, gender,
        occupation, postal code; bars) and ``u.item`` (item, title and more, 19 genres at last;
        bars), as in MovieLens-100K; with ``ratings.dat``, ``users.dat`` and ``movies.dat`` (``::``;
        client, gender, age, occupation; item, title, genres), as in MovieLens-1M; or with
        ``ratings.csv`` and ``movies.csv``, which have headers, as in the latest ones.
    side : bool, default True
        Take age, gender and occupation as side information on clients, where they are known.
    item_side : bool, default False
        Take genres as side information on items.
    split : str, optional
        A split that MovieLens-100K comes with, such as "u1" or "ua": ``u1.base`` is learned from,
        and ``u1.test`` held out.

    Returns
    -------
    Ratings, or pair of Ratings
        The titles of the items as ids, where they are distinct. With ``split``, those to learn from
        and those held out.

    Raises
    ------
    ValueError
        If a file is missing or does not have this layout, or as :meth:`Ratings.from_frame`.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise ValueError(f"folder must be one that is there, there is no folder {folder}")
    if (folder / "ratings.dat").exists():
        layout = _million
    elif (folder / "ratings.csv").exists():
        layout = _latest
    else:
        layout = _hundred_thousand
    if split is not None and layout is not _hundred_thousand:
        raise ValueError("split must be None: only MovieLens-100K's layout comes with splits")
    files, items, genres, users = layout(folder, split, side, item_side)
    unknown = ~files[0]["item"].isin(items["item"])
    if unknown.any():
        name = {"_million": "movies.dat", "_latest": "movies.csv"}.get(layout.__name__, "u.item")
        raise ValueError(f"item {files[0]['item'][unknown].iloc[0]} is not in {folder / name}")
    if genres is not None:
        genres = genres.set_axis(items["item"], axis=0)
    if items["title"].is_unique:
        titles = items.set_index("item")["title"]
        for file in files:
            file["item"] = file["item"].map(titles)
        if genres is not None:
            genres = genres.set_axis(items["title"], axis=0)
    return _assembled(files, users, genres, "error")


def _hundred_thousand(folder, split, side, item_side):
    """Return tables of ratings, items, genres and users, the latter two None unless asked for."""
    names = ["client", "item", "value", "time"]
    parts = ["u.data"] if split is None else [f"{split}.base", f"{split}.test"]
    files = [_read(folder / part, "\t", names).iloc[:, :3] for part in parts]
    whole = _read(folder / "u.item", "|", ["item", "title"], rest=True)
    genres = users = None
    if item_side:
        flags = whole.iloc[:, -19:]
        if whole.shape[1] < 21 or not flags.isin(["0", "1"]).all(axis=None):
            raise ValueError(f"{folder / 'u.item'} must end with 19 columns of genres, 0 or 1")
        genres = flags.astype(float)
        genres.columns = [f"genre_{place}" for place in range(19)]
    if side:
        users = _read(folder / "u.user", "|", ["client", "age", "gender", "occupation"])
        users["age"] = _numbers(users["age"], folder / "u.user")
        users = users.set_index("client")
    return files, whole.iloc[:, :2], genres, users


def _million(folder, split, side, item_side):
    names = ["client", "item", "value", "time"]
    files = [_read(folder / "ratings.dat", "::", names).iloc[:, :3]]
    movies = _read(folder / "movies.dat", "::", ["item", "title", "genres"])
    users = None
    if side:
        users = _read(folder / "users.dat", "::", ["client", "gender", "age", "occupation"])
        users["age"] = _numbers(users["age"], folder / "users.dat")
        users = users.set_index("client")  # occupations are numbers, which mean no order
    return files, movies, _genres(movies["genres"]) if item_side else None, users


def _latest(folder, split, side, item_side):
    table, header = _texts(folder / "movies.csv")
    if header is None or header[:3] != ["movieId", "title", "genres"]:
        raise ValueError(f"{folder / 'movies.csv'} must have the columns movieId, title, genres")
    movies = table.iloc[:, :3].set_axis(["item", "title", "genres"], axis=1)
    genres = _genres(movies["genres"]) if item_side else None
    return [_triples(folder / "ratings.csv")], movies, genres, None


def _genres(column):
    """Return a column of 0 and 1 for each genre, of texts with bars between them."""
    return column.str.get_dummies("|").astype(float)


def _read(path, separator, names, *, rest=False):
    """Return the first columns of a file without a header, as texts, or with the rest all."""
    import pandas as pd

    try:
        lines = Path(path).read_text(encoding="latin-1").splitlines()
    except FileNotFoundError:
        raise ValueError(f"there is no file {path}") from None
    rows = [line.split(separator) for line in lines if line.strip()]
    if not rows:
        raise ValueError(f"{path} cannot be read: it is empty")
    wide = min(map(len, rows))
    if wide < len(names):
        raise ValueError(f"{path} must have {len(names)} columns or more, it has {wide}")
    table = pd.DataFrame([row[:wide] for row in rows], dtype=str)
    more = [str(place) for place in range(len(names), wide)]
    table.columns = pd.Index([*names, *more])
    return table if rest else table[names]


def _numbers(column, path):
    """Return a column of numbers."""
    import pandas as pd

    numbers = pd.to_numeric(column, errors="coerce")
    if numbers.isna().any():
        raise ValueError(f"{path} must have numbers for {column.name}, got "
                         f"{column[numbers.isna()].iloc[0]!r}")  # fmt: skip
    return numbers


checked(globals())
