"""Candidates of a selection, side by side."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import to_hex

from linrep.figures.plotting.page import PAGE_WIDTH, style

_ROW = 0.17  # inches of a candidate


def candidates(
    table: pd.DataFrame, *, best: str, measure: str = "squared", ax: Axes | None = None
) -> Axes:
    """Draw candidates one below the other, with bars of one standard error; return the axes.

    Squared errors are shown over the variance of the labels, on a logarithmic axis. A colour stands
    for a method; the chosen candidate is ringed; a triangle at the edge stands for one that is
    worse than the mean of all labels, or than guessing signs.

    Parameters
    ----------
    table : DataFrame
        The ``table`` of a :class:`linrep.simulation.selection.Selection`, or some of its rows.
    best : str
        The chosen candidate, in its index.
    measure : {"squared", "sign"}
        What errors are of.
    ax : Axes, optional
        Where to draw; a new figure's by default.
    """
    with style():
        if ax is None:
            _, ax = plt.subplots(figsize=(PAGE_WIDTH, 0.7 + _ROW * len(table)))
        scale, worst = 1.0, 0.5
        if measure == "squared":
            scale = ((1.0 - table["explained_variance"]) / table["error"]).to_numpy()
            worst = 1.0
            ax.set(xscale="log", xlabel="share of the variance left unexplained, held out")
        else:
            ax.set_xlabel("share of wrong signs, held out")
        values = table["error"].to_numpy() * scale
        outside = ~(values <= worst)
        values[outside] = worst
        bars = np.nan_to_num(table["standard_error"].to_numpy() * scale, posinf=0.0)
        bars[outside] = 0.0
        places = np.arange(len(table))
        for number, name in enumerate(dict.fromkeys(table["algorithm"])):
            own = (table["algorithm"] == name).to_numpy()
            # Of this style, whatever is in force when it is drawn.
            color = to_hex(f"C{number % 10}")
            low = np.maximum(values - bars, values / 10.0)
            ax.hlines(places[own], low[own], (values + bars)[own], color=color, linewidth=1.3)
            ax.plot([], [], "o", color=color, label=name)
            for marker, which in (("o", own & ~outside), (">", own & outside)):
                ax.plot(values[which], places[which], marker, color=color)
        if best in table.index:
            place = table.index.get_loc(best)
            ax.plot(values[place], place, "o", mfc="none", mec="0.2", ms=8, label="chosen")
        ax.set(yticks=places, yticklabels=table.index)
        ax.invert_yaxis()
        ax.legend(loc="best")
    return ax
