"""Candidates of a selection beside each other."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from linrep.plotting.page import PAGE_WIDTH, style

_ROW = 0.17  # inches of a candidate


def candidates(
    table: pd.DataFrame, *, best: str, measure: str = "squared", ax: Axes | None = None
) -> Axes:
    """Draw candidates one below the other, with bars of a standard error; return the axes.

    A colour stands for a method; the chosen candidate is ringed. Candidates worse than the mean of
    all labels are triangles at the edge.

    Parameters
    ----------
    table : DataFrame
        The ``table`` of a :class:`linrep.selection.Selection`, or some of its rows.
    best : str
        The chosen candidate, in its index.
    measure : {"squared", "sign"}
        Whether explained variances are shown, or shares of wrong signs.
    ax : Axes, optional
        Where to draw; a new figure's by default.
    """
    with style():
        if ax is None:
            _, ax = plt.subplots(figsize=(PAGE_WIDTH, 0.7 + _ROW * len(table)))
        if measure == "squared":
            values, label, edge = table["explained_variance"], "explained variance, held out", 0.0
            errors = table["standard_error"] * (1.0 - values) / table["error"].clip(lower=1e-300)
            outside = ~(values >= edge)
        else:
            values, label, edge = table["error"], "share of wrong signs, held out", 0.5
            errors, outside = table["standard_error"], ~(values <= 0.5)
        colors = {name: f"C{i % 10}" for i, name in enumerate(dict.fromkeys(table["algorithm"]))}
        places = np.arange(len(table))
        shown = np.where(outside, edge, values)
        bars = np.where(outside | ~np.isfinite(errors), 0.0, errors)
        for name, color in colors.items():
            own = (table["algorithm"] == name).to_numpy()
            ax.hlines(
                places[own], (shown - bars)[own], (shown + bars)[own], color=color, linewidth=1.3
            )
            for marker, which in (("o", own & ~outside), ("<", own & outside)):
                ax.plot(
                    shown[which], places[which], marker, color=color,
                    label=name if marker == "o" and which.any() else None,
                )  # fmt: skip
        if best in table.index:
            place = table.index.get_loc(best)
            ax.plot(shown[place], place, "o", mfc="none", mec="0.2", ms=8, label="chosen")
        ax.set(xlabel=label, yticks=places, yticklabels=table.index)
        ax.invert_yaxis()
        ax.legend(loc="best")
    return ax
