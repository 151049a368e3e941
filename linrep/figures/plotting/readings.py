"""Specification curves: a sentence's verdict in all of its readings."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from linrep._lib import validation as check
from linrep.figures.plotting.page import PAGE_WIDTH, plain_log_ticks

#: Of the colour-blind palette.
_COLOURS = {"holds": "C0", "undecided": "0.65", "fails": "C3", "excluded": "0.88"}
_ROW = 0.125  # inches of a value's row
_CURVE = 1.5  # inches of the estimates


def readings(points: pd.DataFrame) -> Figure:
    """Draw the estimates of all readings in order, and below them which values each has.

    Parameters
    ----------
    points : DataFrame
        Of each reading a row: panel, x (its place in the order), y with low and high (NaN where
        readings have different quantities: then only verdicts are drawn), predicted (what the
        statement says of it), series (a verdict, or "excluded"), reading (a line ``axis: value``
        for each axis), xlabel and ylabel.

    Returns
    -------
    Figure

    Raises
    ------
    ValueError
        If a column is missing.
    """
    check.columns("points", points, "panel", "x", "y", "series", "reading", "xlabel", "ylabel")
    panels = [own for _, own in points.groupby("panel", sort=False)]
    values = [_values(own) for own in panels]
    curves = [_CURVE if own["y"].notna().any() else 0.0 for own in panels]
    heights = [
        height
        for curve, rows in zip(curves, values, strict=True)
        for height in (curve, _ROW * len(rows))
        if height
    ]
    figure, axes = plt.subplots(
        len(heights), 1, figsize=(PAGE_WIDTH, sum(heights) + 0.45 * len(panels)), squeeze=False,
        height_ratios=heights, layout="constrained",
    )  # fmt: skip
    places = iter(axes.flat)
    for own, rows, curve in zip(panels, values, curves, strict=True):
        first = next(places)
        if curve:
            _estimates(first, own)
        below = next(places) if curve else first
        _matrix(below, own, rows)
        first.set_title(own["panel"].iloc[0], loc="left")
        if curve:
            below.sharex(first)
        for name in (each for each in _COLOURS if each in set(own["series"])):
            first.plot([], [], "s", color=_COLOURS[name], label=name)
        first.legend(ncols=4, fontsize=7, loc="lower right", bbox_to_anchor=(1.0, 1.0))
        below.set_xlabel(own["xlabel"].iloc[0])
    return figure


def _values(own):
    """Return the values of all axes, in their order, as pairs with the axis."""
    lines = dict.fromkeys(line for text in own["reading"] for line in text.split("\n"))
    axes = list(dict.fromkeys(line.partition(": ")[0] for line in lines))
    pairs = [(axis, label) for axis, _, label in (line.partition(": ") for line in lines)]
    return sorted(pairs, key=lambda pair: axes.index(pair[0]))


def _estimates(ax, own):
    """Draw estimates with their intervals, and what the statement says of them."""
    x, y = own["x"].to_numpy(), own["y"].to_numpy()
    shown = y[np.isfinite(y)]
    positive = shown.size and shown.min() > 0.0
    if positive:
        ax.set_yscale("log")
    bottom, top = shown.min(), shown.max()
    room = (top / bottom) ** 0.3 if positive else 0.3 * (top - bottom)
    limits = (bottom / room / 1.02, top * room * 1.02) if positive else (bottom - room, top + room)
    low, high = (  # of a statement without intervals the columns may be missing
        np.clip(own.get(end, own["y"]).fillna(limit), *limits)
        for end, limit in zip(("low", "high"), limits, strict=True)
    )
    for name, colour in _COLOURS.items():
        these = (own["series"] == name).to_numpy()
        ax.vlines(x[these], low[these], high[these], color=colour, linewidth=1.0)
        ax.plot(x[these], y[these], ".", color=colour, markersize=2.5)
    claimed = own["predicted"].iloc[0] if "predicted" in own else np.nan
    ax.axhline(claimed, color="0.3", linestyle="--", linewidth=0.8)
    ends = [*limits, *([claimed] if np.isfinite(claimed) else [])]
    ax.set(ylim=(min(ends), max(ends)), ylabel=own["ylabel"].iloc[0])
    ax.tick_params(axis="x", labelbottom=False)
    if positive:
        plain_log_ticks(ax.yaxis)


def _matrix(ax, own, rows):
    """Draw which values each reading has, in the colour of its verdict."""
    image = np.ones((len(rows), len(own), 3))
    place = {row: at for at, row in enumerate(rows)}
    columns = own["x"].astype(int) - 1
    for at, text, verdict in zip(columns, own["reading"], own["series"], strict=True):
        for line in text.split("\n"):
            axis, _, label = line.partition(": ")
            image[place[axis, label], at] = to_rgb(_COLOURS[verdict])
    ax.imshow(
        image, aspect="auto", interpolation="nearest",
        extent=(0.5, len(own) + 0.5, len(rows) - 0.5, -0.5),
    )  # fmt: skip
    names = [axis for axis, _ in rows]
    firsts = [at for at, name in enumerate(names) if name not in names[:at]]
    for at in firsts[1:]:
        ax.axhline(at - 0.5, color="0.3", linewidth=0.5)
    ax.set_yticks(
        range(len(rows)),
        [f"{axis}: {label}" if at in firsts else label for at, (axis, label) in enumerate(rows)],
        fontsize=6,
    )
    ax.grid(False)
    ax.tick_params(axis="y", length=0)
