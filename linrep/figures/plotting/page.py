"""The style of all figures, and what surrounds their panels."""

from __future__ import annotations

import textwrap
from contextlib import AbstractContextManager

import matplotlib as mpl
import numpy as np
import seaborn as sns
from cycler import cycler
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import FuncFormatter, Locator, LogLocator, MaxNLocator, NullFormatter

COLUMN_WIDTH = 3.4  # inches, of a two-column page
PAGE_WIDTH = 7.0
MARGIN = 0.04


def figure_width(across: int) -> float:
    """Return the width of a figure in inches: of a column, or of a page for several panels.

    Parameters
    ----------
    across : int
        Panels beside each other.
    """
    return COLUMN_WIDTH if across == 1 else PAGE_WIDTH


def style() -> AbstractContextManager[None]:
    """Return a context manager with the style of all figures."""
    return mpl.rc_context(
        {
            "axes.grid": True,
            "axes.labelsize": 8,
            "axes.prop_cycle": cycler(color=sns.color_palette("colorblind").as_hex()),
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


def caption(figure: Figure, text: str) -> None:
    """Write a caption under a figure, wrapped to its width and adding to its height.

    Parameters
    ----------
    figure : Figure
    text : str
        White space and line breaks in it do not matter.
    """
    lines = textwrap.wrap(text, int(figure.get_figwidth() * 18.0))
    room = 0.125 * len(lines) + 0.12
    height = figure.get_figheight()
    figure.set_figheight(height + room)
    figure.set_layout_engine(
        "constrained", rect=(0, room / (height + room), 1, height / (height + room))
    )
    figure.text(
        0.01, 0.05 / (height + room), "\n".join(lines), fontsize=7, va="bottom", linespacing=1.25
    )


def lay_out(figure: Figure, dpi: float) -> None:
    """Place a figure's panels for good, which otherwise takes a drawing that nobody sees.

    Parameters
    ----------
    figure : Figure
        Complete.
    dpi : float
        Resolution.
    """
    engine = figure.get_layout_engine()
    if engine is not None:
        figure.set_dpi(dpi)
        engine.execute(figure)
        _pull_in(figure, MARGIN * dpi)
        with mpl.rc_context({"figure.autolayout": False, "figure.constrained_layout.use": False}):
            figure.set_layout_engine(None)


def _pull_in(figure, margin):
    """Move labels and titles onto the page where they are longer than their panel.

    The layout makes room for the height of what stands under or above a panel, not for its length.
    """
    for axis in figure.findobj(Axis):
        lies = axis.axis_name == "x"
        for text in filter(Text.get_text, (axis.label, axis.axes.title) if lies else (axis.label,)):
            boxes = text.get_window_extent(), figure.bbox, axis.axes.bbox
            own, page, panel = (box.intervalx if lies else box.intervaly for box in boxes)
            over = max(own[1] - page[1] + margin, 0.0) + min(own[0] - page[0] - margin, 0.0)
            if over:
                move = text.set_x if lies else text.set_y
                move(text.get_position()[not lies] - over / np.diff(panel).item())


def plain_log_ticks(axis: Axis) -> None:
    """Label a logarithmic axis of few decades with plain numbers at 1, 2 and 5.

    Where there are more than three decades, it stays as it is; where fewer than two of these are in
    view, a few numbers at even distances are labelled. A single value gets room around it.

    Parameters
    ----------
    axis : Axis
        A figure's ``ax.xaxis`` or ``ax.yaxis``, already logarithmic.
    """
    low, high = axis.get_view_interval()
    if low > 0.0 and high > 1e3 * low:
        return
    if low > 0.0 and high < (1.0 + 1e-9) * low:  # which matplotlib may take for a range
        set_limits = axis.axes.set_xlim if axis is axis.axes.xaxis else axis.axes.set_ylim
        low, high = set_limits(low / 2.0, high * 2.0)
    locator: Locator = LogLocator(subs=(1.0, 2.0, 5.0))
    if low > 0.0:
        decades = 10.0 ** np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high)))
        known = np.outer((1.0, 2.0, 5.0), decades)
        if np.count_nonzero((low <= known) & (known <= high)) < 2:
            locator = MaxNLocator(4, steps=[1, 2, 5, 10])
    axis.set_major_locator(locator)
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())
