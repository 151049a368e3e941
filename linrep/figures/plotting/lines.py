"""Curves, points with intervals, and what a verdict rests on."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, NullLocator, ScalarFormatter
from numpy.typing import ArrayLike

from linrep._lib import validation as check
from linrep.figures.plotting.page import figure_width, plain_log_ticks
from linrep.figures.plotting.readings import readings
from linrep.stats import ScalingExponents, mean_interval, proportion_interval

_MARKERS = ("o", "s", "^", "D", "v", "P")
_DASHES = ("-", "--", "-.", ":")
_TITLE = 28  # letters across a small panel
_FEW_SERIES = 8  # whose names a legend gives; else their number
_INSIDE = 60  # characters of a legend that has room beside the lines
_NEARLY_ONE = 1e-4  # relative range of an axis whose ticks differ in late digits only
_LINE = 0.12  # inches, of a legend
_OPEN = 2.0  # factor by which what has one end, or one point, is continued


def curves(
    ax: Axes,
    rows: pd.DataFrame,
    *,
    x: str,
    y: str,
    by: str | None = None,
    order: Sequence[str] | None = None,
    geometric: bool = False,
    quantiles: tuple[float, float] | None = None,
    markers: bool = False,
    first_color: int = 0,
    whole: bool = True,
    shares: bool = False,
) -> int:
    """Draw, for each group, the middle over replicates against x with a band around it.

    Parameters
    ----------
    ax : Axes
        Where to draw.
    rows : DataFrame
        Long format: columns `x`, `y`, `by` and ``replicate``.
    x, y : str
        Columns.
    by : str, optional
        Column of the groups; without it all rows are one group, which has no label.
    order : sequence, optional
        Groups in the order of the legend; a group keeps its colour when others are missing. By
        default in the order of the rows.
    geometric : bool
        Geometric instead of arithmetic mean, with its interval.
    quantiles : pair of float, optional
        Instead of the mean with its 95 % interval: the median with these quantiles, (0.1, 0.9) for
        the middle 80 % of the replicates.
    markers : bool
        Mark the points, for coarse x.
    first_color : int
        Place in the palette of the first group, to set panels apart.
    whole : bool
        Leave out a replicate that misses some x of its group, as a diverged run does, so that all
        points of a curve are of the same ones. Otherwise each x has those that are there.
    shares : bool
        Values are 0 or 1: their mean is a share, and its interval the exact one.

    Returns
    -------
    int
        How many replicates were left out.

    Raises
    ------
    ValueError
        If a column is missing, a replicate has several values at one x, or quantiles are out of
        order.
    """
    band = _band(geometric, quantiles, shares)
    if by is not None and order is not None:
        check.columns("rows", rows, by)
        rows = rows[rows[by].isin(order)]
    middles, left_out = _middles(rows, x, y, by, band, whole)
    labels = ax.get_xlabel(), ax.get_ylabel()  # which seaborn would make the columns' names
    if by is None:
        color = _color(first_color)
        sns.lineplot(
            middles, x=x, y=y, color=color, marker="o" if markers else None, markeredgewidth=0,
            estimator=None, errorbar=None, ax=ax,
        )  # fmt: skip
        _fill(ax, middles, x, color)
        ax.set(xlabel=labels[0], ylabel=labels[1])
        return left_out
    names = list(rows[by].unique()) if order is None else list(order)
    colors = {name: _color(first_color + place) for place, name in enumerate(names)}
    drawn_before = len(ax.get_lines())
    sns.lineplot(
        middles, x=x, y=y, hue=by, style=by, hue_order=names, style_order=names, palette=colors,
        markers=markers, markeredgewidth=0, estimator=None, errorbar=None, legend=False, ax=ax,
    )  # fmt: skip
    groups = [name for name in names if (middles[by] == name).any()]
    for line, name in zip(ax.get_lines()[drawn_before:], groups, strict=True):
        line.set_label(name)
        _fill(ax, middles[middles[by] == name], x, colors[name])
    ax.set(xlabel=labels[0], ylabel=labels[1])
    return left_out


def _color(number):
    """Return a colour of the style in force now: what is drawn later may be outside of it."""
    return to_hex(f"C{number}")


def _fill(ax, middles, x, color):
    ax.fill_between(
        middles[x], middles["_low"], middles["_high"], color=color, alpha=0.18, linewidth=0
    )


def _band(geometric, quantiles, shares):
    """Return a function from values, (R, P), to their middle over R and its interval, (3, P)."""
    if quantiles is None:
        if shares:
            return lambda values: np.array(proportion_interval(values.sum(axis=0), len(values)))
        return lambda values: np.array(mean_interval(values, geometric=geometric))
    low, high = check.array("quantiles", quantiles, (2,))
    if not 0.0 <= low < high <= 1.0:
        raise ValueError(f"quantiles must increase within [0, 1], got {tuple(quantiles)}")
    if geometric:
        raise ValueError("geometric has no meaning beside quantiles, give one of them")
    return lambda values: np.quantile(values, [0.5, low, high], axis=0)


def _middles(rows, x, y, by, band, whole):
    """Return y with ``_low`` and ``_high`` for each group and x, and the number left out."""
    check.columns("rows", rows, x, y, "replicate", *([] if by is None else [by]))
    columns = [x, y, "_low", "_high"]
    tables, left_out = [], 0
    for name, group in [(None, rows)] if by is None else rows.groupby(by, sort=False):
        if group.duplicated(["replicate", x]).any():
            several = "" if by is None else f" of {by} {name}"
            raise ValueError(f"rows must hold one {y} for each replicate and {x}{several}")
        table = group.pivot(index="replicate", columns=x, values=y)
        if whole:
            everywhere = table.dropna()
            left_out += len(table) - len(everywhere)
            table = everywhere
        table = table.dropna(axis="columns", how="all")
        if table.empty:
            continue
        if table.notna().all(axis=None):
            values = band(table.to_numpy())
        else:  # points have replicates of their own
            values = np.hstack([band(table[[point]].dropna().to_numpy()) for point in table])
        middle = pd.DataFrame(np.vstack([table.columns, values]).T, columns=columns)
        tables.append(middle if by is None else middle.assign(**{by: name}))
    if not tables:
        return pd.DataFrame(columns=[*columns, *([] if by is None else [by])]), left_out
    return pd.concat(tables, ignore_index=True), left_out


def dots(
    ax: Axes,
    table: pd.DataFrame,
    *,
    by: str = "method",
    value: str = "accuracy",
    order: Sequence[str] | None = None,
    colored: bool = False,
    limits: tuple[float, float] = (-np.inf, np.inf),
) -> None:
    """Draw a column of a table: a line for each method, its value with its interval along x.

    Parameters
    ----------
    ax : Axes
        Where to draw.
    table : DataFrame
        A row for each method: columns `by` and `value`, and, where there are, ``low`` and ``high``
        (ends of the interval) and ``paper`` (the published number, drawn as an open diamond).
        :func:`linrep.figures.summaries.beside` makes such tables, whose index is to be reset. What
        is NaN is not drawn.
    by, value : str
        Columns.
    order : sequence, optional
        Methods from top to bottom; one without a row keeps its line, so that several panels can
        share an axis. By default in the order of the table.
    colored : bool
        Give each method the colour that :func:`curves` gives it, to stand for a legend.
    limits : pair of float
        What values cannot leave, as (0, 100): intervals are cut off there.

    Raises
    ------
    ValueError
        If a column is missing, or a method has several rows.
    """
    check.columns("table", table, by, value)
    if table[by].duplicated().any():
        twice = table.loc[table[by].duplicated(), by].iloc[0]
        raise ValueError(f"table must hold one row for each {by}, {twice} has several")
    names = list(table[by]) if order is None else list(order)
    own = table.set_index(by).reindex(names, columns=[value, "low", "high", "paper"]).astype(float)
    places = np.arange(len(names))
    colors = [f"C{place}" for place in places] if colored else ["C0"] * len(names)
    for end in ("low", "high"):
        own[end] = own[end].fillna(own[value]).clip(*limits)
    ax.hlines(places, own["low"], own["high"], colors=colors, linewidth=1.3)
    ax.scatter(own[value], places, c=colors, s=14, zorder=3, label="measured")
    if own["paper"].notna().any():
        ax.scatter(
            own["paper"], places, s=26, marker="D", facecolors="none", edgecolors="0.25",
            linewidths=0.8, zorder=4, label="paper",
        )  # fmt: skip
    ax.set_yticks(places, names)
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.tick_params(axis="y", length=0)


def scaling(
    ax: Axes,
    x: ArrayLike,
    y: ArrayLike,
    fit: ScalingExponents | None = None,
    low: ArrayLike | None = None,
    high: ArrayLike | None = None,
    *,
    label: str | None = None,
    place: int = 0,
) -> None:
    """Draw points on logarithmic axes with their intervals, and the power law fitted to them.

    Parameters
    ----------
    ax : Axes
        Where to draw.
    x, y : array_like, shape (N,)
        Points. One whose y is NaN is not drawn, but its interval is.
    fit : ScalingExponents, optional
        With one exponent: a line over the range of x, labelled with the exponent and its interval.
    low, high : array_like, shape (N,), optional
        Ends of the intervals of y. A bar whose end is 0 or infinite ends in an arrow.
    label : str, optional
        Of the points.
    place : int
        Place of colour and marker in their cycles, to set several series apart.

    Raises
    ------
    ValueError
        If shapes differ, x is not positive, only one end is given, or the fit has several
        exponents.
    """
    places = check.array("x", x, (None,))
    if not (places > 0.0).all():
        raise ValueError(f"x must be positive, its smallest value is {places.min():g}")
    points = _series("y", y, places)
    color, marker = f"C{place}", _MARKERS[place % len(_MARKERS)]
    ax.set(xscale="log", yscale="log")
    if low is not None and high is not None:
        lows, highs = _series("low", low, places), _series("high", high, places)
        _bars(ax, places, points, lows, highs, color)
    elif low is not None or high is not None:
        raise ValueError("low and high must be given together")
    ax.plot(places, points, marker, color=color, label=label)
    across = places  # where y is NaN, too
    if len(set(places)) == 1:  # which is no range for a logarithmic axis
        across = np.array([places[0] / _OPEN, places[0] * _OPEN])
    ax.update_datalim(np.column_stack([across, across]), updatey=False)
    if fit is not None:
        if len(fit.exponents) != 1:
            names = ", ".join(fit.exponents)
            raise ValueError(f"fit must have one exponent to be drawn against x, got {names}")
        ((name, power),) = fit.exponents.items()
        ends = np.array([places.min(), places.max()])
        interval = f"[{fit.low[name]:#.3g}, {fit.high[name]:#.3g}]"
        ax.plot(
            ends,
            fit.constant * ends**power,
            color=color,
            label=f"∝ {name}$^{{{power:#.3g}}}$ {interval}",
            linestyle=_DASHES[1 + place % (len(_DASHES) - 1)],
        )


def evidence(points: pd.DataFrame) -> Figure:
    """Draw the measurements that a verdict rests on, one panel each, on logarithmic axes.

    Parameters
    ----------
    points : DataFrame
        Columns panel, x, y, xlabel and ylabel; and, where there are, series, low and high (ends of
        intervals), predicted (drawn as a line) and allowed ("below" or "above", where that line is
        a bound: what it allows is shaded). Where there is a column reading, its rows are drawn as
        :func:`readings` does.

    Returns
    -------
    Figure

    Raises
    ------
    ValueError
        If a column is missing.
    """
    check.columns("points", points, "panel", "x", "y", "xlabel", "ylabel")
    if "reading" in points and (of_readings := points["reading"].notna()).any():
        return readings(points[of_readings])
    panels = list(points["panel"].unique())
    across = min(3, len(panels))
    down = -(-len(panels) // across)
    figure, axes = plt.subplots(
        down, across, figsize=(figure_width(across), 2.3 * down), squeeze=False,
        layout="constrained",
    )  # fmt: skip
    for ax in axes.flat[len(panels) :]:
        ax.remove()
    below = 0  # lines of the longest legend under a panel
    for ax, panel in zip(axes.flat, panels, strict=False):
        own = points[points["panel"] == panel]
        names = own["series"].fillna("").unique() if "series" in own else [""]
        same, different = _in_common(names)
        for place, name in enumerate(names):
            line = own[own["series"].fillna("") == name] if "series" in own else own
            line = line[line["x"] > 0.0].sort_values("x")
            ends = {end: line[end] for end in ("low", "high") if end in line}
            if len(ends) < 2 or line["low"].isna().any():
                ends = {}
            label = None
            if 1 < len(names) <= _FEW_SERIES:
                label = _wrapped(different[place])
            elif len(names) > _FEW_SERIES and place == 0:
                label = f"one of {len(names)} settings"
            scaling(ax, line["x"], line["y"], place=place, label=label, **ends)
            ax.plot(line["x"], line["y"], color=f"C{place}", linewidth=0.6)
            if "predicted" in line and line["predicted"].notna().any():
                label = "claimed" if place == 0 else None
                style: Any = {"linestyle": "--", "color": "0.3", "label": label}
                if len(line) == 1:
                    ax.axhline(line["predicted"].iloc[0], **style)
                else:
                    ax.plot(line["x"], line["predicted"], **style)
        _shade(ax, own)
        # Given its place, the title does not look for ticks above the panel, time and again.
        ax.set_title("\n".join(map(_wrapped, filter(None, [panel, same]))), y=1.0)
        ax.set(
            xlabel=_wrapped(own["xlabel"].iloc[0]),
            ylabel=_wrapped(own["ylabel"].iloc[0]),
        )
        if own["x"].nunique() == 1:
            ax.set_xlim(own["x"].iloc[0] / _OPEN, own["x"].iloc[0] * _OPEN)
        for axis, (low, high) in ((ax.xaxis, ax.get_xlim()), (ax.yaxis, ax.get_ylim())):
            if high < 100.0 * low:
                plain_log_ticks(axis)
            if high < 3.0 * low:  # 1, 2 and 5 are too few
                axis.set_major_locator(MaxNLocator(4))
                axis.set_minor_locator(NullLocator())
            if high - low < _NEARLY_ONE * high:
                axis.set_major_formatter(
                    ScalarFormatter()
                )  # with what all ticks share beside the axis
        labels = ax.get_legend_handles_labels()[1]
        if sum(map(len, labels)) > _INSIDE:
            ax.legend(fontsize=7, loc="upper left", bbox_to_anchor=(0.0, -0.3))
            below = max(below, sum(label.count("\n") + 1 for label in labels))
        elif labels:
            ax.legend(fontsize=7)
    figure.set_figheight((2.3 + _LINE * below) * down)
    return figure


def _shade(ax, rows):
    """Shade what the bound of a panel allows; of several bounds, what all of them allow."""
    if "allowed" not in rows or "predicted" not in rows:
        return
    bound = rows[rows["predicted"] > 0.0]
    for side, strictest in (("below", "min"), ("above", "max")):
        line = bound[bound["allowed"] == side].groupby("x")["predicted"].agg(strictest)
        if line.empty:
            continue
        ends = ax.get_ylim()
        edge = ends[0] if side == "below" else ends[1]
        if len(line) == 1:
            ax.axhspan(edge, line.iloc[0], color="C2", alpha=0.12, linewidth=0, label="allowed")
        else:
            ax.fill_between(
                line.index, edge, line, color="C2", alpha=0.12, linewidth=0, label="allowed"
            )
        ax.set_ylim(ends)


def _in_common(names):
    """Return what names of series, settings with commas between them, share, and what is left."""
    pieces = [name.split(", ") for name in names]
    same = [piece for piece in pieces[0] if all(piece in other for other in pieces)]
    if len(names) == 1 or not all(set(own) - set(same) for own in pieces):
        return "", list(names)
    left = [", ".join(piece for piece in own if piece not in same) for own in pieces]
    return ", ".join(same), left


def _wrapped(text):
    """Break a long label into lines, except where it has formulas."""
    return text if "$" in text else textwrap.fill(text, _TITLE)


def _bars(ax, x, y, low, high, color):
    """Draw intervals of y on a logarithmic axis, with an arrow where an end is 0 or infinite."""
    no_low, no_high = low <= 0.0, np.isposinf(high)
    # An arrow starts from what there is: the point, or the other end.
    bottom = np.where(no_low, np.fmin(y, high) / _OPEN, low)
    top = np.where(no_high, np.fmax(y, low) * _OPEN, high)
    there = (bottom > 0.0) & np.isfinite(bottom) & np.isfinite(top)
    ax.vlines(x[there], bottom[there], top[there], color=color, linewidth=0.9)
    for ends, is_open, arrow in (
        (bottom, no_low, mpl.markers.CARETDOWN),
        (top, no_high, mpl.markers.CARETUP),
    ):
        for chosen, marker, size in ((there & ~is_open, "_", 4.0), (there & is_open, arrow, 5.0)):
            ax.plot(x[chosen], ends[chosen], ls="", marker=marker, markersize=size, color=color)


def _series(name, values, x):
    """Return values as floats of the shape of x; they may be NaN or infinite."""
    values = np.asarray(values, dtype=float)
    if values.shape != x.shape:
        raise ValueError(f"{name} must have shape {x.shape}, as x has, got {values.shape}")
    return values
