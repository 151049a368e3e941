"""What columns hold: plain values, one type each, text where a column mixes it with numbers."""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from linrep.sweeps.plain import LARGEST_IN_FLOATS, whole


def parameter_type(values: Iterable[Any]) -> str:
    """Return the Arrow type of the column that a parameter makes, given its value in every cell."""
    values = list(values)
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int} and kinds:
        return "string" if None in values and _beyond_floats(values) else "int64"
    if kinds <= {int, float} and kinds and not _beyond_floats(values):
        return "double"
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


def kinds_of(schema: pa.Schema) -> dict[str, str]:
    """Return the types of columns by name, as Arrow calls them; a dictionary of texts is text."""
    types = {field.name: field.type for field in schema}
    return {
        name: str(kind.value_type if pa.types.is_dictionary(kind) else kind)
        for name, kind in types.items()
    }


def common_kinds(
    schemas: Iterable[Mapping[str, str]], is_large: Callable[[str], bool]
) -> dict[str, str]:
    """Return one type for each column, as if all tables were one chunk.

    Schemas have the types of each table's columns; `is_large` is asked of a column, if need be,
    whether it holds integers that a float cannot hold.
    """
    kinds: dict[str, dict[str, None]] = {}
    for columns in schemas:
        for name, kind in columns.items():
            kinds.setdefault(name, {})[kind] = None
    return {name: _common_kind(some, partial(is_large, name)) for name, some in kinds.items()}


def _common_kind(kinds, is_large):
    kinds = [kind for kind in kinds if kind != "null"]
    if len(kinds) < 2:
        return next(iter(kinds), "null")
    return "string" if "string" in kinds or is_large() else "double"


def common_parameter_kind(kinds: Iterable[str]) -> str:
    """Return the type that a parameter's column has where it had several: a sweep may grow."""
    kinds = set(kinds)
    if len(kinds) == 1:
        return kinds.pop()
    return "double" if kinds == {"int64", "double"} else "string"


def with_kinds(
    table: pa.Table, kinds: Mapping[str, str], parameters: Container[str] = ()
) -> pa.Table:
    """Return a table with columns of these types, gaps in those that it lacks."""
    for index, (name, kind) in enumerate(kinds_of(table.schema).items()):
        if kind != kinds[name]:
            column = _cast(table[name], kinds[name], name in parameters)
            table = table.set_column(index, name, column)
    for name in sorted(kinds.keys() - set(table.column_names)):
        table = table.append_column(name, pa.nulls(table.num_rows, kinds[name]))
    return table


def together(tables: Sequence[pa.Table]) -> pa.Table:
    """Return tables as one, with the columns and types that one chunk of all rows would have."""
    each = [kinds_of(table.schema) for table in tables]
    kinds = common_kinds(each, lambda name: has_large(tables, name))
    cast = [
        with_kinds(table, {name: kinds[name] for name in own})
        for table, own in zip(tables, each, strict=True)
    ]
    return pa.concat_tables(cast, promote_options="permissive")


def _beyond_floats(values):
    """Tell whether there are integers that a float cannot hold."""
    return any(type(value) is int and abs(value) > LARGEST_IN_FLOATS for value in values)


def has_large(tables: Iterable[pa.Table], name: str) -> bool:
    """Tell whether a column of some tables holds integers that a float cannot hold."""
    columns = [table[name] for table in tables if name in table.column_names]
    extremes = [pc.min_max(each).as_py() for each in columns if each.type == pa.int64()]
    return any(
        value is not None and abs(value) > LARGEST_IN_FLOATS
        for bounds in extremes
        for value in bounds.values()
    )


def with_large_integers(table: pa.Table) -> pa.Table:
    """Make text of columns with gaps and integers that a float cannot hold, as gaps take floats."""
    for index, name in enumerate(table.column_names):
        column = table[name]
        if column.type == pa.int64() and column.null_count and has_large([table], name):
            table = table.set_column(index, name, column.cast(pa.string()))
    return table


def _parameter_value(value, kind):
    if kind == "string" and value is not None and not isinstance(value, str):
        return json.dumps(value)
    return float(value) if kind == "double" and value is not None else value


def _cast(column, kind, is_parameter):
    if is_parameter:
        return parameter_column(map(whole, column.to_pylist()), kind)
    if kind == "string":
        return pa.array(list(map(as_text, column.to_pylist())), kind)
    return column.cast(kind, safe=False)
