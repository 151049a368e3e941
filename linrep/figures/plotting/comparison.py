"""Methods compared along samples, rounds, numbers sent or time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from textwrap import fill

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import to_hex

from linrep.figures.plotting.lines import curves
from linrep.figures.plotting.page import COLUMN_WIDTH, plain_log_ticks, style


def comparison(
    rows: pd.DataFrame,
    *,
    axis: str,
    metric: str,
    labels: tuple[Mapping[str, str], Mapping[str, str]],
    title: str,
    bounds: Mapping[str, Callable[[float], float]],
    ax: Axes | None = None,
) -> Axes:
    """Draw a metric against an axis, with a line per method and dotted lines for bounds.

    Parameters
    ----------
    rows : DataFrame
        The ``rows`` of a :class:`linrep.Comparison`.
    axis, metric : str
        Columns.
    labels : pair of mappings
        Labels of the axes, by column.
    title : str
        How methods sampled.
    bounds : mapping of str to callable
    ax : Axes, optional
        Where to draw; a new figure's by default.
    """
    rows = rows[np.isfinite(rows[metric]) & np.isfinite(rows[axis])]
    linear = axis in ("rounds", "seconds")
    if not linear:  # of a start that took nothing
        rows = rows[rows[axis] > 0]
    rows = rows.rename(columns={"trial": "replicate"})
    rows = rows.assign(**{metric: rows[metric].clip(lower=np.finfo(np.float64).eps)})
    with style():
        if ax is None:
            _, ax = plt.subplots(figsize=(COLUMN_WIDTH, 0.85 * COLUMN_WIDTH))
        few = rows.groupby("method")[axis].nunique().max() <= 20
        if axis == "seconds":  # no two runs take the same: one line per run
            for number, (name, part) in enumerate(rows.groupby("method", sort=False)):
                color = to_hex(f"C{number}")
                for place, (_, run) in enumerate(part.groupby(["replicate", "m"], dropna=False)):
                    ax.plot(run[axis], run[metric], color=color, alpha=0.6,
                            marker="o" if len(run) == 1 else None,
                            label=name if place == 0 else "_nolegend_")  # fmt: skip
        else:
            curves(
                ax, rows, x=axis, y=metric, by="method", geometric=True,
                markers=bool(few), whole=False,
            )  # fmt: skip
        low, high = rows[axis].min(), rows[axis].max()
        places = np.linspace(low, high, 100) if linear else np.geomspace(low, high, 100)
        for number, (name, bound) in enumerate(bounds.items()):
            dashes = (0, (1, 1 + number))
            values = [bound(each) for each in places]
            ax.plot(places, values, color="0.3", linestyle=dashes, label=name)
        ax.set(xlabel=labels[0][axis], ylabel=labels[1][metric], yscale="log")
        ax.set_xscale("linear" if linear else "log")
        plain_log_ticks(ax.yaxis)
        if not linear:
            plain_log_ticks(ax.xaxis)
        ax.set_title(fill(title, 48))  # a column has room for no more
        # Below the panel, as lines may be anywhere in it.
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=2)
    return ax
