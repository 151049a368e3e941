"""Tables of other libraries, and what labels rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


def read_table(name: str, table: Any) -> Any:
    """Return a table whose columns can be taken by name: of Arrow's, or of a relation, pandas'.

    Anything else comes back as it is. TypeError, with the name that it was given as, if a table is
    not computed yet or cannot be read.
    """
    if any(callable(getattr(table, each, None)) for each in ("collect", "compute")):
        raise TypeError(
            f"{name} must be a frame of pandas or polars, got a {type(table).__name__}: take "
            ".collect(), .compute() or .toPandas()"
        )
    # An array of Arrow has a stream, too.
    has_columns = hasattr(table, "columns") or hasattr(table, "schema")
    if not has_columns or hasattr(table, "iloc") or hasattr(table, "with_columns"):
        return table
    if hasattr(table, "__arrow_c_stream__"):
        import pyarrow as pa

        # Integers with gaps would become floating-point numbers, of which large ones are rounded.
        return pa.table(table).to_pandas(integer_object_nulls=True)
    raise TypeError(
        f"{name} must be a frame of pandas or polars, got a {type(table).__name__}: take "
        ".to_pandas() or .df()"
    )


def common_index(**given: Any) -> pd.Index | None:
    """Return the index of what has one, None if nothing has; raise ValueError if two differ."""
    first, index = "", None
    for name, value in given.items():
        own = getattr(value, "index", None)
        if not hasattr(own, "equals"):  # a list's index is a method
            continue
        if index is not None and not index.equals(own):
            raise ValueError(
                f"{first} and {name} must have the same index; if their rows belong together by "
                "their places, take .to_numpy() of both"
            )
        first, index = name, own
    return index
