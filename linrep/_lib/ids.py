"""Ids of clients, as the columns of tables hold them: each stays what it is.

Texts and numbers are different, and so are "007" and "7"; 7 and 7.0 are the same, and so are a date
and a span of time in whatever type the standard library, numpy and pandas have for them.
"""

from __future__ import annotations

from collections.abc import Hashable
from datetime import datetime, timedelta
from decimal import Decimal
from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linrep._lib import validation as check

Ids = list[Hashable]


def read_ids(column: Any, what: str = "client") -> Ids:
    """Return the ids of a column, in any container, none of them missing.

    Parameters
    ----------
    column : array_like, shape (N,) or (N, 1)
        Strings, numbers, dates, tuples of them, or other hashable values, such as spans and periods
        of time, bytes and UUIDs.
    what : str
        Whose they are.

    Raises
    ------
    ValueError, TypeError
        If an id is missing, or is none; the row is named.
    """
    ids = [_plain(value) for value in _listed(column, what)]
    for row, value in enumerate(ids):
        if _is_missing(value):
            raise ValueError(f"the {what} of row {row} is missing: it is NaN, inf or none")
        try:
            hash(value)
        except TypeError:
            raise TypeError(
                f"the {what} of row {row} is a {type(value).__name__}, the argument must be "
                "a string, a number, a date or a tuple of them"
            ) from None
    return ids


def grouped(column: Any, what: str = "client") -> tuple[Ids, NDArray[np.int64]]:
    """Return the distinct ids of a column, as `numbered` does, and the place of each row's.

    Parameters
    ----------
    column, what
        As for `read_ids`.
    """
    kind = getattr(column, "dtype", None)
    if isinstance(kind, np.dtype) and kind.kind in "biuU" and column.ndim == 1:
        distinct, place = np.unique(check.read_array(what, column), return_inverse=True)
        return distinct.tolist(), place
    return numbered(read_ids(column, what))


def numbered(ids: Ids) -> tuple[Ids, NDArray[np.int64]]:
    """Return the distinct ids, in order where they have one, and the place of each row's.

    Parameters
    ----------
    ids : list
        As `read_ids` returns them.
    """
    distinct: Any = dict.fromkeys(ids)
    try:
        names = sorted(distinct)
    except (TypeError, ValueError):  # such as numbers and texts, or periods of other lengths
        names = list(distinct)
    return names, places(names, ids)


def places(names: Ids, ids: Ids, what: str = "client") -> NDArray[np.int64]:
    """Return where in some names each row's id is, -1 where it is not.

    Parameters
    ----------
    names, ids : list
        If they have no kind in common, as numbers and texts, or times with a zone and without,
        none could be found: that is refused.
    what : str
        Whose they are.
    """
    if names and ids and set(map(_kind, names)).isdisjoint(map(_kind, dict.fromkeys(ids))):
        raise TypeError(f"{what}s are such as {names[0]!r}, not such as {ids[0]!r}")
    known = {name: place for place, name in enumerate(names)}
    return np.array([known.get(name, -1) for name in ids], dtype=np.int64)


def _listed(column, what):
    """Return the entries of a column, dates as such."""
    if isinstance(column, list | tuple):
        return list(column)
    if hasattr(column, "to_list"):  # a series or an index
        return column.to_list()
    array = check.read_array(what, column)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise ValueError(f"{what} must have shape (any,), got {array.shape}")
    return list(array) if array.dtype.kind in "mM" else array.tolist()  # integers, of "mM"


def _plain(value):
    """Return a date or a span of numpy, which has another hash, as pandas has it."""
    if isinstance(value, np.datetime64 | np.timedelta64):
        import pandas as pd

        return (pd.Timestamp if isinstance(value, np.datetime64) else pd.Timedelta)(value)
    return tuple(map(_plain, value)) if type(value) is tuple else value


def _is_missing(value):
    """Tell whether there is no id, or none of a part of it."""
    if isinstance(value, tuple):
        return any(map(_is_missing, value))
    if isinstance(value, Decimal):
        return not value.is_finite()
    if isinstance(value, float | complex | np.inexact):
        return not np.isfinite(value)
    return value is None or value is np.ma.masked or type(value).__name__ in ("NAType", "NaTType")


def _kind(name):
    """Return what an id is, equal for all that could be equal."""
    if isinstance(name, tuple):
        return tuple(map(_kind, name))
    if isinstance(name, datetime):
        return datetime, name.tzinfo is None
    kinds = (Number, np.bool_, str, bytes, timedelta)
    found = next((kind for kind in kinds if isinstance(name, kind)), type(name))
    return Number if found is np.bool_ else found
