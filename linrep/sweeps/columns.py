"""What columns hold: plain values, one type each, text where a column mixes it with numbers."""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
import pyarrow as pa

_LARGEST = 2**63 - 1


def plain(what: str, value: Any) -> Any:
    """Return None, a boolean, a string, an integer or a float as Python has it.

    A TypeError or ValueError says of a value that is none of these what it is the value of; an
    integer must be one that a float can hold, as gaps make floats of a column.
    """
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.ndim == 0):
        value = value.item()
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        value.encode()  # which half a surrogate pair does not survive, nor would it a file
        return str.__str__(value)  # of a subclass, such as an enumeration's
    if isinstance(value, Integral):
        number = int(value)
        if abs(number) > _LARGEST or int(float(number)) != number:
            raise ValueError(f"{what} must be an integer that a float can hold, got {value}")
        return number
    if isinstance(value, Real):
        return float(value)
    raise TypeError(
        f"{what} must be a number, a string, a boolean or None, got {type(value).__name__}"
    )


def whole(value: Any) -> Any:
    """Return whole floats as integers: 10.0 and 10 are the same parameter."""
    if isinstance(value, float) and value.is_integer() and abs(value) <= _LARGEST:
        return int(value)
    return value


def parameter_type(values: Iterable[Any]) -> str:
    """Return the Arrow type of the column that a parameter makes, given its value in every cell."""
    kinds = {type(value) for value in values if value is not None}
    if kinds and kinds <= {int, float}:
        return "int64" if kinds == {int} else "double"
    return "bool" if kinds == {bool} else "string"


def parameter_column(values: Iterable[Any], kind: str) -> pa.Array:
    """Return the column of a parameter: text everywhere if it is text in some cells."""
    return pa.array([_parameter_value(value, kind) for value in values], kind)


def result_column(values: Sequence[Any]) -> pa.Array:
    """Return the column of plain values: all text if some are, else floats if kinds are mixed."""
    kinds = {type(value) for value in values if value is not None}
    if len(kinds) > 1:
        convert = as_text if str in kinds else float
        values = [None if value is None else convert(value) for value in values]
    return pa.array(values)


def as_text(value: Any) -> str | None:
    """Return a value as it stands in a column that also holds text."""
    if value is None or isinstance(value, str):
        return value
    value = whole(value)
    return str(value if isinstance(value, float) else int(value))


def kinds_of(schema: pa.Schema) -> dict[str, str]:
    """Return the types of columns by name, as Arrow calls them; a dictionary of texts is text."""
    types = {field.name: field.type for field in schema}
    return {
        name: str(kind.value_type if pa.types.is_dictionary(kind) else kind)
        for name, kind in types.items()
    }


def common_kinds(
    schemas: Iterable[Mapping[str, str]], parameters: Container[str] = ()
) -> dict[str, str]:
    """Return one type for each column of several tables, as if all were one chunk."""
    kinds: dict[str, set[str]] = {}
    for columns in schemas:
        for name, kind in columns.items():
            kinds.setdefault(name, set()).add(kind)
    return {name: _common_kind(some, name in parameters) for name, some in kinds.items()}


def _common_kind(kinds, is_parameter):
    kinds = kinds - {"null"}
    if len(kinds) < 2:
        return next(iter(kinds), "null")
    # Whether a parameter is true is not whether it is 1.
    return "string" if "string" in kinds or (is_parameter and "bool" in kinds) else "double"


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


def together(tables: Sequence[pa.Table], parameters: Container[str] = ()) -> pa.Table:
    """Return tables as one, with the columns and types that one chunk of all rows would have."""
    each = [kinds_of(table.schema) for table in tables]
    kinds = common_kinds(each, parameters)
    cast = [
        with_kinds(table, {name: kinds[name] for name in own}, parameters)
        for table, own in zip(tables, each, strict=True)
    ]
    return pa.concat_tables(cast, promote_options="permissive")


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
