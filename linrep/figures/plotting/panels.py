"""The rows of a sweep as lines or maps, a panel for each value of a parameter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from linrep._lib import validation as check
from linrep.figures.plotting.lines import curves
from linrep.figures.plotting.maps import heat_map
from linrep.figures.plotting.page import figure_width, plain_log_ticks

_ACROSS, _MOST = 3, 24  # panels beside each other, and in all


def facets(
    rows: pd.DataFrame, *, height: float, sharey: bool | str = True, **columns: Any
) -> sns.FacetGrid:
    """Return a grid of empty panels, as wide as a column or a page.

    Parameters
    ----------
    rows : DataFrame
        What is drawn, a part of it in each panel.
    height : float
        Of a panel, in inches.
    sharey : bool or {"row"}
        Which panels have the same vertical axis.
    **columns
        ``col``, ``row``, ``col_wrap`` and orders, as :class:`seaborn.FacetGrid` takes them. Panels
        are in the order of the rows by default, and have no titles.
    """
    for name in ("row", "col"):
        if columns.get(name) is not None:
            columns.setdefault(f"{name}_order", list(rows[columns[name]].unique()))
    across = columns.get("col_wrap") or len(columns.get("col_order") or [None])
    width = figure_width(across)
    with mpl.rc_context({"figure.constrained_layout.use": False}):  # seaborn has a layout, too
        grid = sns.FacetGrid(
            rows, height=height, aspect=width / across / height, sharey=sharey, **columns
        )
    plt.close(grid.figure)  # it is the caller's, and pyplot keeps no figure
    grid.figure.set(layout_engine="constrained", figwidth=width)
    return grid


def grid_of_curves(
    rows: pd.DataFrame,
    *,
    row: str,
    col: str,
    labels: tuple[str, str],
    height: float,
    log: str = "",
    sharey: bool | str = True,
    **lines: Any,
) -> Figure:
    """Draw curves in a panel for each pair of values of two columns, with one legend for all.

    Parameters
    ----------
    rows : DataFrame
        As :func:`curves` takes them. Rows and columns of panels are in the order of the rows.
    row, col : str
        Columns. Where their values are numbers, the labels have the column's name, too.
    labels : pair of str
        Of the axes.
    height : float
        Of a panel, in inches.
    log : str
        Logarithmic axes, of the letters x and y.
    sharey : bool or {"row"}
        Which panels have the same vertical axis.
    **lines
        Further arguments of :func:`curves`.
    """
    grid = facets(rows, row=row, col=col, height=height, sharey=sharey)
    for (line, column, _), part in grid.facet_data():
        curves(grid.facet_axis(line, column), part, **lines)
    grid.set(**{f"{letter}scale": "log" for letter in log})
    if "y" in log:  # the panels may be too narrow for other numbers than powers of ten along x
        for ax in grid.axes.flat:
            plain_log_ticks(ax.yaxis)
    grid.set_axis_labels(labels[0], labels[1])
    grid.set_titles("")
    for ax, value in zip(grid.axes[0], grid.col_names, strict=True):
        ax.set_title(_named(col, value))
    for ax, value in zip(grid.axes[:, 0], grid.row_names, strict=True):
        ax.set_ylabel(f"{_named(row, value)}\n{labels[1]}")
    handles = grid.axes[0, 0].get_legend_handles_labels()
    grid.figure.legend(*handles, loc="outside upper center", ncols=5)
    return grid.figure


def _named(column, value):
    return value if isinstance(value, str) else f"{column} = {value:g}"


def _log_axes(grid, letters):
    for letter in letters:
        grid.set(**{f"{letter}scale": "log"})
        for ax in grid.axes.flat:
            plain_log_ticks(getattr(ax, f"{letter}axis"))


def panels(
    rows: pd.DataFrame,
    *,
    x: str,
    value: str,
    label: str,
    by: str | None = None,
    y: str | None = None,
    facet: str | None = None,
    statistic: str = "mean",
    shares: bool = False,
    log: str = "",
    boundary: tuple[str, Callable[[np.ndarray], ArrayLike]] | None = None,
) -> tuple[Figure, int]:
    """Draw a column against one parameter, or on the grid of two.

    Parameters
    ----------
    rows : DataFrame
        One per replicate of a cell, with a column ``replicate``; for traces one per round.
    x, value : str
        Columns.
    label : str
        What the value is.
    by : str, optional
        Column that distinguishes lines.
    y : str, optional
        Second axis: draw heat maps of the mean, whose panels share their colours.
    facet : str, optional
        Column with a panel for each of its values.
    statistic : {"mean", "geometric", "median"}
        As :func:`curves` draws it.
    shares : bool
        Values are 0 or 1, and intervals those of shares.
    log : str
        Logarithmic axes of lines, of the letters x and y.
    boundary : pair of str and callable, optional
        Of heat maps, as in :func:`heat_map`, with its label.

    Returns
    -------
    figure : Figure
    left_out : int
        Replicates that :func:`curves` left out.

    Raises
    ------
    ValueError
        If a column is missing, or the facet has more than 24 values.
    """
    check.columns("rows", rows, *(name for name in (x, value, by, y, facet) if name is not None))
    count = 1 if facet is None else rows[facet].nunique()
    if count > _MOST:
        raise ValueError(f"{facet} has {count} values, at most {_MOST} have panels")
    across = 2 if count == 4 else min(_ACROSS, count)
    wrap = None if facet is None else across
    grid = facets(rows, col=facet, col_wrap=wrap, height=2.9 if count <= across else 2.2)
    order = None if by is None else list(rows[by].unique())
    limits = _limits(rows, [facet, y, x], value, shares) if facet and y else None
    left_out, mesh = 0, None
    for ax, (_, part) in zip(grid.axes.flat, grid.facet_data(), strict=True):
        if y is None:
            left_out += curves(
                ax, part, x=x, y=value, by=by, order=order, geometric=statistic == "geometric",
                quantiles=(0.1, 0.9) if statistic == "median" else None, markers=x != "round",
                whole=x == "round", shares=shares,
            )  # fmt: skip
        else:
            mesh = heat_map(
                ax, part, x=x, y=y, value=value, label=label, details=facet is None,
                boundary=None if boundary is None else boundary[1],
                boundary_label="" if boundary is None else boundary[0],
                limits=limits,
            )  # fmt: skip
    if facet is not None:
        grid.set_titles(f"{facet} = {{col_name}}")
    if y is None:
        grid.set_axis_labels(x, f"share of {label}" if shares else label)
        _log_axes(grid, log)
        if by is not None:
            grid.axes.flat[0].legend(title=by)
    else:
        grid.set_axis_labels(x, y)
        if facet is not None:
            grid.figure.colorbar(mesh, ax=list(grid.axes.flat), label=label)
    if boundary is not None:
        handles = grid.axes.flat[0].get_legend_handles_labels()
        grid.figure.legend(*handles, loc="outside upper center")
    return grid.figure, left_out


def _limits(rows, cells, value, shares) -> Any:
    """Return the ends of the colours that all maps share, None where nothing has a value."""
    if shares:
        return 0.0, 1.0
    means = rows.groupby(cells)[value].mean().dropna()
    return None if means.empty else (means.min(), means.max())
