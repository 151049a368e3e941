"""Pictures of tables: heat maps, and which client has how many samples of a class."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
from matplotlib import patheffects
from matplotlib.axes import Axes
from matplotlib.collections import EllipseCollection, QuadMesh
from matplotlib.ticker import MaxNLocator, NullLocator
from numpy.typing import ArrayLike

from linrep._lib import validation as check
from linrep.figures.plotting.page import plain_log_ticks

_FEW_CELLS = 64  # of which each is labelled with its value
_FEW_TICKS = 10  # on an axis, at all values of a grid


def heat_map(
    ax: Axes,
    rows: pd.DataFrame,
    *,
    x: str,
    y: str,
    value: str,
    boundary: Callable[[np.ndarray], ArrayLike] | ArrayLike | None = None,
    label: str | None = None,
    boundary_label: str = "predicted",
    details: bool = True,
    limits: tuple[float, float] | None = None,
) -> QuadMesh:
    """Draw the mean of a column on the grid of two others, and a predicted boundary.

    An axis is logarithmic if the values on it are closer to a geometric than to an arithmetic
    sequence. Cells without rows, or with a value that is NaN, are hatched.

    Parameters
    ----------
    ax : Axes
        Where to draw.
    rows : DataFrame
        Long format, any number of rows for a cell.
    x, y, value : str
        Columns, all of numbers. Colours go from 0 to 1 if all values are 0 or 1, as successes
        are, and else from the smallest mean to the largest.
    boundary : callable or array_like, shape (P, 2), optional
        y as a function of an array of x, or pairs (x, y): drawn as a line, cut off at the edge.
    label : str, optional
        Of the colour bar; by default `value`.
    boundary_label : str
        Of the boundary, in the legend that the caller draws.
    details : bool, default True
        Draw a colour bar and, in a map of few cells, their values; without them a small map fits
        beside others that share one bar.
    limits : pair of float, optional
        Values at the ends of the colours, for maps that share a bar.

    Returns
    -------
    QuadMesh
        The cells; their array is masked where there is no value.

    Raises
    ------
    ValueError
        If a column is missing, there are no rows, or pairs have another shape.
    """
    check.columns("rows", rows, x, y, value)
    if rows.empty:
        raise ValueError("rows must not be empty")
    # A NaN among the replicates of a cell says that something failed there: it is not passed over.
    cells = rows.groupby([y, x])[value].agg(lambda column: column.to_numpy(float).mean()).unstack()
    xs, ys, means = (np.asarray(part, float) for part in (cells.columns, cells.index, cells))
    log_x, log_y = _is_geometric(xs), _is_geometric(ys)
    x_edges, y_edges = _edges(xs, log_x), _edges(ys, log_y)
    outcomes = rows[value].dropna().isin([0, 1]).all()
    low, high = limits or ((0.0, 1.0) if outcomes else (None, None))
    ax.set(xscale="log" if log_x else "linear", yscale="log" if log_y else "linear")
    ax.grid(False)
    mesh = ax.pcolormesh(
        x_edges,
        y_edges,
        np.ma.masked_invalid(means),
        cmap="viridis",
        vmin=low,
        vmax=high,
        rasterized=means.size > 10_000,
    )
    if not np.isfinite(means).all():
        ax.patch.set(hatch="//////", facecolor="white", edgecolor="0.75")
    if details:
        ax.figure.colorbar(mesh, ax=ax, label=value if label is None else label)
    if details and means.size <= _FEW_CELLS:
        for i, j in np.argwhere(np.isfinite(means)):
            red, green, blue, _ = mesh.to_rgba(means[i, j])
            dark = 0.299 * red + 0.587 * green + 0.114 * blue < 0.5
            ax.text(
                xs[j],
                ys[i],
                f"{means[i, j]:.2g}",
                color="white" if dark else "black",
                fontsize="x-small",
                ha="center",
                va="center",
                zorder=4,  # above the boundary
            )
    if boundary is not None:
        if callable(boundary):
            spaced = np.geomspace if log_x else np.linspace
            along = spaced(x_edges[0], x_edges[-1], 200)
            line = along, np.broadcast_to(np.asarray(boundary(along), float), along.shape)
        else:
            line = tuple(check.array("boundary", boundary, (None, 2)).T)
        # White with a black rim is seen on every colour of the map and on the page.
        rim = [patheffects.Stroke(linewidth=2.8, foreground="black"), patheffects.Normal()]
        ax.plot(*line, color="white", label=boundary_label, linewidth=1.5, path_effects=rim)
    ax.set(xlim=x_edges[[0, -1]], ylim=y_edges[[0, -1]])
    _grid_ticks(ax.xaxis, xs, log_x)
    _grid_ticks(ax.yaxis, ys, log_y)
    return mesh


def _is_geometric(values):
    """Tell whether increasing values are spaced more evenly on a logarithmic axis."""
    if len(values) < 3 or values[0] <= 0.0:
        return False
    steps, log_steps = np.diff(values), np.diff(np.log(values))
    return log_steps.std() / log_steps.mean() < steps.std() / steps.mean()


def _edges(values, log):
    """Return the edges of cells around increasing values: midway between them, on their scale."""
    if log:
        return np.exp(_edges(np.log(values), False))
    if len(values) == 1:
        return values[0] + np.array([-0.5, 0.5])
    middle = (values[1:] + values[:-1]) / 2.0
    return np.concatenate(([2.0 * values[0] - middle[0]], middle, [2.0 * values[-1] - middle[-1]]))


def _grid_ticks(axis, values, log):
    """Put ticks at the values of a grid, if they are few."""
    if len(values) <= _FEW_TICKS:
        axis.set_ticks(values, labels=[f"{v:.10g}" if v % 1 == 0 else f"{v:.3g}" for v in values])
        axis.set_minor_locator(NullLocator())
    elif log and values[-1] < 1000 * values[0]:
        plain_log_ticks(axis)


def partition(ax: Axes, table: pd.DataFrame, *, label: str = "class") -> EllipseCollection:
    """Draw how many samples of each class a client has, as dots whose areas are the counts.

    Parameters
    ----------
    ax : Axes
        Where to draw; the largest dot fills its place, whatever the shape of the axes.
    table : DataFrame
        A row for each client and columns class 0, class 1, ..., as
        :func:`linrep.deep.partitions.table` returns it. Clients are coloured by a column group, if
        there is one.
    label : str
        What a class is.

    Returns
    -------
    EllipseCollection
        The dots.

    Raises
    ------
    ValueError
        If there are no such columns, or no samples.
    """
    check.columns("table", table, "class 0")
    counts = table.filter(regex=r"^class \d+$").to_numpy()
    clients, classes = counts.nonzero()
    if clients.size == 0:
        raise ValueError("table must hold samples")
    group = table["group"].to_numpy()[clients] if "group" in table else np.zeros_like(clients)
    size = np.sqrt(counts[clients, classes] / counts.max())
    dots = EllipseCollection(
        size,
        size,
        np.zeros_like(size),
        units="xy",
        offsets=np.column_stack([clients, classes]),
        offset_transform=ax.transData,
        facecolors=[f"C{number}" for number in group],
    )
    ax.add_collection(dots)
    ax.set(xlim=(-0.5, counts.shape[0] - 0.5), ylim=(-0.5, counts.shape[1] - 0.5))
    ax.set(xlabel="client", ylabel=label)
    ax.set_axisbelow(True)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(MaxNLocator(10, integer=True))
    return dots
