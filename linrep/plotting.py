"""Pictures: pure functions of stored rows, in one style for paper and screen."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

import matplotlib as mpl
import numpy as np
import pandas as pd
import seaborn as sns
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter
from scipy.stats import sem
from scipy.stats import t as student_t

COLUMN_WIDTH = 3.4  # inches, of a two-column page
PAGE_WIDTH = 7.0
_MARKERS = ("o", "s", "^", "D", "v", "P")
_DASHES = ("-", "--", "-.", ":")


def style():
    """Return a context manager with the style of all figures."""
    return mpl.rc_context(
        {
            "axes.grid": True,
            "axes.labelsize": 8,
            "axes.prop_cycle": cycler(color=sns.color_palette("colorblind")),
            "axes.spines.right": False,
            "axes.spines.top": False,
            "axes.titlesize": 8.5,
            "figure.constrained_layout.use": True,
            "font.size": 8,
            "grid.alpha": 0.3,
            "grid.linewidth": 0.5,
            "legend.fontsize": 7.5,
            "legend.frameon": False,
            "lines.linewidth": 1.3,
            "lines.markersize": 3.5,
            "savefig.dpi": 220,
            "svg.fonttype": "none",
            "svg.hashsalt": "linrep",
            "xtick.labelsize": 7.5,
            "ytick.labelsize": 7.5,
        }
    )


def mean_interval(values: np.ndarray, *, geometric: bool = False, confidence: float = 0.95):
    """Return mean and Student interval over trials, column by column.

    Parameters
    ----------
    values : ndarray, shape (trials, points)
        One row per trial.
    geometric : bool
        Work with logarithms and transform back: the geometric mean, for positive values that
        spread over orders of magnitude.
    confidence : float, default 0.95
        Level of the interval.

    Returns
    -------
    mean, low, high : ndarray, shape (points,)
        The interval is NaN for a single trial.
    """
    if geometric:
        return tuple(np.exp(part) for part in mean_interval(np.log(values), confidence=confidence))
    trials = len(values)
    mean = values.mean(axis=0)
    if trials < 2:
        return mean, np.full_like(mean, np.nan), np.full_like(mean, np.nan)
    half = student_t.ppf(0.5 + confidence / 2, trials - 1) * sem(values, axis=0)
    return mean, mean - half, mean + half


def curves(
    ax: Axes,
    rows: pd.DataFrame,
    *,
    x: str,
    y: str,
    by: str,
    order: Sequence[str],
    trial: str = "trial",
    geometric: bool = False,
    markers: bool = False,
    first_color: int = 0,
) -> None:
    """Draw, for each group, the mean over trials against x with its 95 % interval as a band.

    Parameters
    ----------
    ax : Axes
        Where to draw.
    rows : DataFrame
        Long format: columns `x`, `y`, `by` and `trial`. A trial that misses some x of its group,
        as a diverged run does, is left out.
    x, y, by : str
        Columns.
    order : sequence of str
        Groups in the order of the legend; a group keeps its colour when others are missing.
    trial : str
        Column that numbers the trials.
    geometric : bool
        Geometric instead of arithmetic mean, with its interval.
    markers : bool
        Mark the points, for coarse x.
    first_color : int
        Place in the palette of the first group, to set panels apart.
    """
    for place, name in enumerate(order):
        group = rows[rows[by] == name]
        if group.empty:
            continue
        table = group.pivot(index=trial, columns=x, values=y).dropna()
        mean, low, high = mean_interval(table.to_numpy(), geometric=geometric)
        color = f"C{first_color + place}"
        ax.plot(
            table.columns,
            mean,
            color=color,
            label=name,
            linestyle=_DASHES[place % len(_DASHES)],
            marker=_MARKERS[place % len(_MARKERS)] if markers else None,
        )
        ax.fill_between(table.columns, low, high, color=color, alpha=0.18, linewidth=0)


def plain_log_ticks(axis) -> None:
    """Label a logarithmic axis of few decades with plain numbers at 1, 2 and 5."""
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def caption(figure: Figure, text: str) -> None:
    """Write a caption under a figure, wrapped to its width and adding to its height."""
    width = figure.get_figwidth()
    lines = textwrap.wrap(text, int(width * 18.0))
    height = figure.get_figheight()
    room = 0.125 * len(lines) + 0.12
    figure.set_figheight(height + room)
    figure.set_layout_engine(
        "constrained", rect=(0, room / (height + room), 1, height / (height + room))
    )
    figure.text(
        0.01, 0.05 / (height + room), "\n".join(lines), fontsize=7, va="bottom", linespacing=1.25
    )
