"""The rows of a sweep as lines or maps, a panel for each value of a parameter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from linrep._lib import validation as check
from linrep.figures.plotting.lines import curves
from linrep.figures.plotting.maps import heat_map
from linrep.figures.plotting.page import COLUMN_WIDTH, plain_log_ticks

_ACROSS, _MOST = 3, 24  # panels beside each other, and in all


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
    parts = [(None, rows)] if facet is None else list(rows.groupby(facet, sort=False))
    if len(parts) > _MOST:
        raise ValueError(f"{facet} has {len(parts)} values, at most {_MOST} have panels")
    across = 2 if len(parts) == 4 else min(_ACROSS, len(parts))
    down = -(-len(parts) // across)
    width = 1.3 * COLUMN_WIDTH if across == 1 else 2.4 * across
    figure = Figure(figsize=(width, 2.9 if down == 1 else 2.2 * down))
    axes = list(figure.subplots(down, across, sharex=True, sharey=True, squeeze=False).flat)
    for ax in axes[len(parts) :]:
        ax.remove()
    axes = axes[: len(parts)]
    limits = _limits(rows, [facet, y, x], value, shares) if facet and y else None
    left_out, mesh = 0, None
    for ax, (name, part) in zip(axes, parts, strict=True):
        if y is None:
            left_out += _lines(
                ax, part, x, value, by, None if by is None else list(rows[by].unique()), statistic,
                shares, log,
            )  # fmt: skip
        else:
            mesh = heat_map(
                ax, part, x=x, y=y, value=value, label=label, details=facet is None,
                boundary=None if boundary is None else boundary[1],
                boundary_label="" if boundary is None else boundary[0],
                limits=limits,
            )  # fmt: skip
        if facet is not None:
            ax.set_title(f"{facet} = {name}")
    for place, ax in enumerate(axes):
        if place % across == 0:
            ax.set_ylabel((f"share of {label}" if shares else label) if y is None else y)
        if place + across >= len(axes):  # none below
            ax.set_xlabel(x)
            ax.tick_params(labelbottom=True)
    if by is not None and y is None:
        axes[0].legend(title=by)
    if mesh is not None and facet is not None:
        figure.colorbar(mesh, ax=axes, label=label)
    if boundary is not None:
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center")
    return figure, left_out


def _lines(ax, part, x, value, by, order, statistic, shares, log) -> int:
    left_out = curves(
        ax, part, x=x, y=value, by=by, order=order, geometric=statistic == "geometric",
        quantiles=(0.1, 0.9) if statistic == "median" else None, markers=x != "round",
        whole=x == "round", shares=shares,
    )  # fmt: skip
    ax.set(**{f"{axis}scale": "log" for axis in log})
    for axis in log:
        plain_log_ticks(getattr(ax, f"{axis}axis"))
    return left_out


def _limits(rows, cells, value, shares) -> Any:
    """Return the ends of the colours that all maps share, None where nothing has a value."""
    if shares:
        return 0.0, 1.0
    means = rows.groupby(cells)[value].mean().dropna()
    return None if means.empty else (means.min(), means.max())
