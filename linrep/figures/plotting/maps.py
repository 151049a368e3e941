"""Heat maps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import cycle

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib import patheffects
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from numpy.typing import ArrayLike
from scipy.interpolate import make_interp_spline

from linrep._lib import validation as check

_FEW_CELLS = 64  # of which each is labelled with its value
_MANY_CELLS = 10_000  # which a vector graphic has as an image
_DASHES = ("-", ":", "--", "-.")


Boundary = Callable[[np.ndarray], ArrayLike] | ArrayLike


def heat_map(
    ax: Axes,
    rows: pd.DataFrame,
    *,
    x: str,
    y: str,
    value: str,
    boundary: Boundary | Mapping[str, Boundary] | None = None,
    label: str | None = None,
    boundary_label: str = "predicted",
    details: bool = True,
    limits: tuple[float, float] | None = None,
) -> QuadMesh:
    """Draw the mean of a column on the grid of two others, and a predicted boundary.

    All cells have the same size, whatever the distances of the values on the axes. Cells without
    rows, or with a value that is NaN, are hatched.

    Parameters
    ----------
    ax : Axes
        Where to draw.
    rows : DataFrame
        Long format, any number of rows for a cell.
    x, y, value : str
        Columns of numbers; without a boundary `x` and `y` may be of names, whose order is that of
        a categorical column. Colours go from 0 to 1 if all values are 0 or 1, as successes are, and
        else from the smallest mean to the largest.
    boundary : callable or array_like, shape (P, 2), or mapping of str to these, optional
        y as a function of an array of x, or pairs (x, y): drawn as a line, cut off at the edge.
        Several have their labels as keys.
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
    cells = (
        rows.groupby([y, x], observed=True)[value]
        .agg(lambda column: column.to_numpy(float).mean())
        .unstack()
    )
    outcomes = rows[value].dropna().isin([0, 1]).all()
    low, high = limits or ((0.0, 1.0) if outcomes else (None, None))
    numbers = details and cells.size <= _FEW_CELLS
    labels = ax.get_xlabel(), ax.get_ylabel()
    sns.heatmap(
        cells.rename(index=_number, columns=_number), vmin=low, vmax=high, cmap="viridis",
        annot=numbers, fmt=".2g", annot_kws={"fontsize": "x-small"}, cbar=details,
        cbar_kws={"label": value if label is None else label}, rasterized=cells.size > _MANY_CELLS,
        ax=ax,
    )  # fmt: skip
    ax.invert_yaxis()  # of seaborn, whose rows begin at the top
    ax.tick_params(rotation=0, length=0)
    ax.grid(False)
    if cells.isna().any(axis=None):
        ax.patch.set(hatch="//////", facecolor="white", edgecolor="0.75")
    if boundary is not None:
        lines = boundary if isinstance(boundary, Mapping) else {boundary_label: boundary}
        _draw_boundaries(ax, cells, lines)
    ax.set(xlabel=labels[0], ylabel=labels[1])
    return [each for each in ax.collections if isinstance(each, QuadMesh)][-1]


def _draw_boundaries(ax, cells, lines):
    to_columns, from_columns = _scale(cells.columns.to_numpy(float))
    to_rows, _ = _scale(cells.index.to_numpy(float))
    # White with a black rim is seen on every colour of the map and on the page.
    rim = [patheffects.Stroke(linewidth=2.8, foreground="black"), patheffects.Normal()]
    limits = ax.axis()
    for (label, line), dashes in zip(lines.items(), cycle(_DASHES)):
        if callable(line):
            x = from_columns(np.linspace(0.0, cells.shape[1], 200))
            y = np.broadcast_to(np.asarray(line(x), float), x.shape)
        else:
            x, y = check.array("boundary", line, (None, 2)).T
        ax.plot(
            to_columns(x), to_rows(y), dashes, color="white", label=label, linewidth=1.5,
            path_effects=rim,
        )  # fmt: skip
    ax.axis(limits)


def _number(value):
    if isinstance(value, str):
        return value
    return f"{value:.10g}" if value % 1 == 0 else f"{value:.3g}"


def _scale(values):
    """Return the functions from numbers to positions among cells of width 1, and back.

    Between and beyond the values they are linear; in logarithms, where the values are closer to a
    geometric than to an arithmetic sequence.
    """
    forward, back = (np.log, np.exp) if _is_geometric(values) else (np.positive, np.positive)
    if len(values) == 1:
        values = values[0] + np.array([-1.0, 0.0, 1.0])
        centres = np.array([-0.5, 0.5, 1.5])
    else:
        centres = np.arange(len(values)) + 0.5
    to_cells = make_interp_spline(forward(values), centres, k=1)
    from_cells = make_interp_spline(centres, forward(values), k=1)

    def place(numbers):
        with np.errstate(divide="ignore", invalid="ignore"):  # of what a logarithm leaves out
            return to_cells(forward(numbers))

    return place, lambda cells: back(from_cells(cells))


def _is_geometric(values):
    """Tell whether increasing values are spaced more evenly on a logarithmic axis."""
    if len(values) < 3 or values[0] <= 0.0:
        return False
    steps, log_steps = np.diff(values), np.diff(np.log(values))
    return log_steps.std() / log_steps.mean() < steps.std() / steps.mean()
