"""Ids of clients, as the columns of tables hold them: each stays what it is.

Texts and numbers are different, and so are "007" and "7"; 7 and 7.0 are the same, and so are a date
and a span of time in whatever type the standard library, numpy and pandas have for them. A column
in which 7 and "7" or "007" stand is refused: it holds one client in two types, as tables do that
were read in pieces. So are floating-point numbers that other integers are rounded to.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from contextlib import suppress
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linrep._lib import validation as check

Ids = list[Hashable]

#: Bits of whole numbers of the types that have fewer than double precision, by their names.
_BITS = {"float16": 11, "halffloat[pyarrow]": 11, "float32": 24, "float[pyarrow]": 24}


def read_ids(column: Any, what: str = "client") -> Ids:
    """Return the ids of a column (N,) or (N, 1) in any container, none of them missing.

    They are strings, numbers, dates, tuples of them, or other hashable values, such as spans and
    periods of time, bytes and UUIDs; `what` says whose. Raises ValueError or TypeError, which names
    the rows, if an id is missing, is none, stands there in two types, or may have been rounded.
    """
    ids = [_plain(value) for value in _listed(column, what)]
    bits = _bits(column)
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
        if _is_rounded(value, bits):
            raise ValueError(
                f"the {what} of row {row} is {value!r}: floating-point numbers of this size cannot "
                "be told apart; read ids as texts or integers"
            )
    if found := two_types(ids):
        first, second = (f"{each!r} of row {ids.index(each)}" for each in found)
        raise ValueError(f"{what} {first} and {second} are one id in two types; give all the same")
    return ids


def two_types(ids: Iterable[Hashable]) -> tuple[Hashable, Hashable] | None:
    """Return two ids of which one is the other in another type, such as 5 and "5"; or None."""
    distinct = dict.fromkeys(ids)
    types = set(map(type, distinct))
    if (len(types) < 2 and tuple not in types) or len(set(map(_kind, distinct))) < 2:
        return None
    seen: dict[Any, Hashable] = {}
    for value in distinct:
        other = seen.setdefault(_meant(value), value)
        if _kind(other) != _kind(value):
            return other, value
    return None


def grouped(column: Any, what: str = "client") -> tuple[Ids, NDArray[np.int64]]:
    """Return the distinct ids of a column, as `numbered` does, and the place of each row's."""
    kind = getattr(column, "dtype", None)
    if isinstance(kind, np.dtype) and kind.kind in "biuU" and column.ndim == 1:
        distinct, place = np.unique(check.read_array(what, column), return_inverse=True)
        return distinct.tolist(), place
    return numbered(read_ids(column, what))


def numbered(ids: Ids) -> tuple[Ids, NDArray[np.int64]]:
    """Return the distinct ids, in order where they have one, and the place of each row's."""
    distinct: Any = dict.fromkeys(ids)
    try:
        names = sorted(distinct)
    except (TypeError, ValueError):  # such as numbers and texts, or periods of other lengths
        names = list(distinct)
    return names, find(names, ids)


def find(names: Ids, ids: Ids) -> NDArray[np.int64]:
    """Return where in some names each row's id is, -1 where it is not."""
    known = {name: place for place, name in enumerate(names)}
    return np.array([known.get(name, -1) for name in ids], dtype=np.int64)


def places(names: Ids, ids: Ids, what: str = "client") -> NDArray[np.int64]:
    """Return where in some names each row's id is, -1 where it is not but could be.

    Raises TypeError if an id could not be found: none of the names is of its kind, as numbers,
    texts, times with a zone and without are, or the same in another type is one of them.
    """
    place = find(names, ids)
    new = dict.fromkeys(ids[row] for row in np.flatnonzero(place < 0))
    kinds = set(map(_kind, names)) if new else set()
    for value in new if names else ():
        if _kind(value) not in kinds:
            raise TypeError(f"{what} {value!r} is of another type than all before: {names[0]!r}, …")
    if found := two_types([*names, *new]) if new else None:
        first, second = found
        raise TypeError(f"{what} {second!r} is of another type than {first!r}, which was before")
    return place


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


def _bits(column):
    """Return how many bits whole numbers have in a column of floating-point numbers."""
    found = []
    for part in getattr(column, "levels", (column,)):  # of an index of tuples
        kind = getattr(part, "dtype", None)
        kind = getattr(getattr(kind, "categories", None), "dtype", kind)
        found.append(_BITS.get(str(getattr(kind, "subtype", kind)).lower(), 53))
    return min(found)


def _is_rounded(value, bits):
    """Tell whether an id is a number that others may have become, by its type or its column's."""
    if isinstance(value, tuple):
        return any(_is_rounded(part, bits) for part in value)
    if isinstance(value, np.inexact):
        bits = min(bits, int(np.finfo(value.dtype).nmant) + 1)  # type: ignore[type-var]
    return isinstance(value, float | complex | np.inexact) and abs(value) >= 2.0**bits


def _meant(value):
    """Return what an id stands for in whatever type: the same for 5, 5.0, "5", "05" and b"5"."""
    if isinstance(value, tuple):
        return tuple(map(_meant, value))
    if isinstance(value, Number | np.bool_ | datetime):
        return value
    if isinstance(value, date):
        return datetime.combine(value, time())
    text = (value.decode("latin-1") if isinstance(value, bytes) else str(value)).strip()
    for read in (int, float, datetime.fromisoformat):
        with suppress(ValueError):
            return read(text)
    return {"true": True, "false": False}.get(text.lower(), text)


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
