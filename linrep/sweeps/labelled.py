"""The rows of a run as a dataset of xarray: a dimension for each parameter."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from linrep._lib.extras import need
from linrep._lib.labelled import attributes, described
from linrep._lib.suggest import unknown
from linrep.sweeps.columns import parameter_column, parameter_type
from linrep.sweeps.specification import RESERVED

if TYPE_CHECKING:
    import xarray as xr


def dataset(run: Any, columns: Iterable[str] | None = None) -> xr.Dataset:
    """Return the rows of a run as a dataset, as :meth:`linrep.sweeps.Run.to_xarray` describes it.

    Parameters
    ----------
    run : Run
    columns : iterable of str, optional
    """
    need("xarray", "to_xarray")
    import xarray as xr

    indices = ("cell", "replicate", "row")
    left_out = {*run.parameters, *RESERVED} - {"seconds", "status"}
    wanted = [name for name in run.columns if name not in left_out]
    if columns is not None:
        wanted = list(columns)
        for name in wanted:
            if name in indices or name not in run.columns:
                raise ValueError(unknown("no column", name, run.columns, of=f"in {run.path}"))
    rows = run.read([*indices, *wanted])
    count = int(rows["row"].max()) + 1 if len(rows) else 1
    places = rows["cell"].cat.codes, rows["replicate"], rows["row"]
    sizes = (len(run.cells), run.replicates, count)
    cells = pd.DataFrame(
        {name: _values([cell.get(name) for cell in run.cells]) for name in run.parameters},
        index=range(len(run.cells)),
    )
    axes = {name: pd.Index(column.unique(), name=name) for name, column in cells.items()}
    shape = [len(axis) for axis in axes.values()]
    order = np.arange(len(cells))
    coordinates: dict[str, object] = {"replicate": np.arange(run.replicates)}
    if np.prod(shape) == len(cells) and not cells.isna().any(axis=None):
        codes = [axis.get_indexer(cells[name]) for name, axis in axes.items()]
        if codes:
            order = np.argsort(np.ravel_multi_index(codes, shape))
        coordinates |= axes
    else:
        shape, axes = [len(cells)], {"cell": pd.Index(run.names)}
        coordinates |= {name: ("cell", column) for name, column in cells.items()}
    dimensions = [*axes, "replicate", "row"]
    arrays = {
        name: (
            dimensions,
            _array(rows[name], places, sizes)[order].reshape([*shape, *sizes[1:]]),
            described(name),
        )
        for name in wanted
    }
    of_run = {name: run.description[name] for name in ("name", "seed", "replicates")}
    attrs = attributes({**run.description["settings"], **of_run, "target": run.target})
    made = xr.Dataset(arrays, coordinates, attrs)
    single = [name for name, axis in axes.items() if len(axis) == 1 and name != "cell"]
    return made.squeeze([*single, *(["row"] if count == 1 else [])])


def _values(values):
    """Return the values of a parameter as they stand in rows."""
    return parameter_column(values, parameter_type(values)).to_pandas()


def _array(column, places, sizes):
    """Return a column by cell, replicate and row: NaN, or no text, where there is none."""
    if not pd.api.types.is_numeric_dtype(column):
        array = np.full(sizes, "", object)
        column = column.astype(object).fillna("")
    elif len(column) < np.prod(sizes):
        array = np.full(sizes, np.nan)
    else:
        array = np.empty(sizes, column.to_numpy().dtype)
    array[places] = column
    return array
