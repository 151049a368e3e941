"""What columns hold: plain values, one type each, text where a column mixes it with numbers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from linrep.sweeps.plain import LARGEST_IN_FLOATS


def parameter_type(values: Iterable[Any]) -> str:
    """Return the Arrow type of the column that a parameter makes, given its value in every cell."""
    values = list(values)
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int} and kinds:
        return "string" if None in values and _beyond_floats(values) else "int64"
    if kinds <= {int, float} and kinds and not _beyond_floats(values):
        return "float64"
    return "bool" if kinds == {bool} else "string"


def parameter_column(values: Iterable[Any], kind: str) -> pa.Array:
    """Return the column of a parameter: text everywhere if it is text in some cells."""
    return pa.array([_parameter_value(value, kind) for value in values], kind)


def result_column(values: Sequence[Any]) -> pa.Array:
    """Return the column of plain values: all text if some are, else floats if kinds are mixed.

    Text, too, where integers that a float cannot hold stand beside floats.
    """
    kinds = {type(value) for value in values if value is not None}
    mixed = len(kinds) > 1
    if mixed and (str in kinds or _beyond_floats(values)):
        return pa.array([as_text(value) for value in values], pa.string())
    if mixed:
        values = [None if value is None else float(value) for value in values]
    return pa.array(values)


def as_text(value: Any) -> str | None:
    """Return a value as it stands in a column that also holds text."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, float) and not (value.is_integer() and abs(value) <= LARGEST_IN_FLOATS):
        return str(value)
    return str(int(value))


def alike(tables: Sequence[pa.Table]) -> list[pa.Table]:
    """Give columns of the same name types that go together, as if all were one chunk."""
    kinds: dict[str, set] = {}
    for table in tables:
        for field in table.schema:
            if not pa.types.is_null(field.type):
                kinds.setdefault(field.name, set()).add(field.type)
    mixed = {
        name: pa.string() if pa.string() in some or _has_large(tables, name) else pa.float64()
        for name, some in kinds.items()
        if len(some) > 1
    }
    return [_cast(table, mixed) for table in tables]


def _beyond_floats(values):
    """Tell whether there are integers that a float cannot hold."""
    return any(type(value) is int and abs(value) > LARGEST_IN_FLOATS for value in values)


def _has_large(tables, name):
    """Tell whether a column of some tables holds integers that a float cannot hold."""
    columns = [table[name] for table in tables if name in table.column_names]
    extremes = [pc.min_max(each).as_py() for each in columns if each.type == pa.int64()]
    return any(
        value is not None and abs(value) > LARGEST_IN_FLOATS
        for found in extremes
        for value in found.values()
    )


def with_large_integers(table: pa.Table) -> pa.Table:
    """Make text of columns with gaps and integers that a float cannot hold, as gaps take floats."""
    for place, name in enumerate(table.column_names):
        column = table[name]
        if column.type == pa.int64() and column.null_count and _has_large([table], name):
            table = table.set_column(place, name, column.cast(pa.string()))
    return table


def _parameter_value(value, kind):
    if kind == "string" and value is not None and not isinstance(value, str):
        return json.dumps(value)
    return float(value) if kind == "float64" and value is not None else value


def _cast(table, kinds):
    for name, kind in kinds.items():
        if name in table.column_names and table[name].type != kind:
            if kind == pa.string():
                column = pa.array(list(map(as_text, table[name].to_pylist())), kind)
            else:
                column = table[name].cast(kind, safe=False)
            table = table.set_column(table.column_names.index(name), name, column)
    return table
