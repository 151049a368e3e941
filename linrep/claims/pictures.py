"""What is drawn of measurements that have no axis of their own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from linrep.claims.measurements import (
    Cases,
    Frequency,
    Identity,
    Mean,
    Measurement,
    Paired,
    Search,
    Trend,
)
from linrep.stats import proportion_interval

_RANKS = 100  # more than a picture can show


def picture(item: Measurement, level: float) -> pd.DataFrame | None:
    """Return the points that show what a measurement found beside what is claimed.

    Axes are logarithmic: what is not positive is left out.

    Parameters
    ----------
    item : Measurement
    level : float
        Of the interval of a frequency, on each side.

    Returns
    -------
    DataFrame or None
        None if there is nothing to draw.
    """
    match item:
        case Frequency():
            return shares([item], [level])
        case Trend():
            return _trend(item)
        case _:
            return _in_order(item)


def shares(items: Iterable[Frequency], levels: Iterable[float]) -> pd.DataFrame:
    """Return the shares of frequencies with their intervals, in order of their size.

    Parameters
    ----------
    items : iterable of Frequency
    levels : iterable of float
        Of their intervals, on each side.
    """
    rows = []
    for item, level in zip(items, levels, strict=True):
        confidence = 1.0 - 2.0 * level
        share, low, high = proportion_interval(item.violations, item.trials, confidence=confidence)
        rows.append({"y": share, "low": low, "high": high, "predicted": item.at_most})
    table = pd.DataFrame(rows, dtype=float).sort_values(["y", "high"], ignore_index=True)
    # On a logarithmic axis a share of 0 is its interval alone.
    return table.assign(
        panel="", series="", x=np.arange(1.0, len(table) + 1.0),
        y=table["y"].where(table["y"] > 0.0),
        predicted=table["predicted"].where(table["predicted"] > 0.0), allowed="below",
        xlabel="rank", ylabel="share of violations",
    )  # fmt: skip


def _trend(item):
    """Return the median over seeds of every column, with quartiles."""
    samples = np.atleast_2d(item.samples)
    low, y, high = np.quantile(samples, (0.25, 0.5, 0.75), axis=0, method="nearest")
    return pd.DataFrame(
        {
            "panel": item.name, "series": "", "x": np.arange(1.0, samples.shape[1] + 1.0),
            "y": np.where((y > 0.0) & np.isfinite(y), y, np.nan), "low": low, "high": high,
            "xlabel": "size, in order", "ylabel": "median, quartiles",
        }
    )  # fmt: skip


def _in_order(item):
    """Return what was measured in order of size, None if that is nothing."""
    rank, allowed = "rank", "below"
    values: Any
    match item:
        case Cases():
            left, right = np.array([case[:2] for case in item.cases], dtype=float).T
            with np.errstate(invalid="ignore", divide="ignore"):
                values = np.where((left > 0.0) & (right > 0.0), left / right, np.nan)
            label, claimed = "left over right", 1.0
            if len(values) < item.count:
                rank = f"rank in the worst {len(values)} of {item.count}"
        case Search():
            values, label, claimed = item.ratios, "left over right", 1.0
            if item.ratios.size < item.evaluations:
                rank = f"rank in {item.ratios.size} of {item.evaluations} instances"
        case Identity():
            values = [case[0] for case in item.deviations]
            label, claimed = item.quantity, item.tolerance
        case Paired():
            with np.errstate(invalid="ignore", divide="ignore"):
                values, label, claimed = item.smaller / item.larger, "ratio of a pair", 1.0
        case Mean():
            values, label = item.samples, item.quantity
            bounds = (item.equals, item.at_most, item.at_least)
            claimed = next(bound for bound in bounds if bound is not None)
            if item.at_most is None:
                allowed = "" if item.at_least is None else "above"
            if len(values) < item.moments.size:
                rank = f"rank in {len(values)} of {item.moments.size} samples"
        case _:
            return None
    y = np.sort(np.asarray(values, dtype=float), axis=None)
    y = y[np.isfinite(y) & (y > 0.0)]
    if not y.size:
        return None
    x = np.unique(np.geomspace(1.0, y.size, _RANKS).round())
    return pd.DataFrame(
        {
            "panel": item.name, "series": "", "x": x, "y": y[x.astype(int) - 1],
            "xlabel": rank, "ylabel": label, "predicted": claimed if claimed > 0.0 else np.nan,
            "allowed": allowed,
        }
    )  # fmt: skip
