"""What is drawn of measurements that have no axis of their own; axes are logarithmic."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from linrep.stats import proportion_interval

_RANKS = 100  # more than a picture can show


def shares(frequencies: Iterable[tuple[int, int, float, float]]) -> pd.DataFrame:
    """Return the shares of events with their intervals, in order of their size.

    Parameters
    ----------
    frequencies : iterable of (int, int, float, float)
        How often the event came, in how many trials, the probability that is allowed, and the level
        of the interval on each side.
    """
    rows = []
    for violations, trials, at_most, level in frequencies:
        share, low, high = proportion_interval(violations, trials, confidence=1.0 - 2.0 * level)
        rows.append({"y": share, "low": low, "high": high, "predicted": at_most})
    table = pd.DataFrame(rows, dtype=float).sort_values(["y", "high"], ignore_index=True)
    # On a logarithmic axis a share of 0 is its interval alone.
    return table.assign(
        panel="", series="", x=np.arange(1.0, len(table) + 1.0),
        y=table["y"].where(table["y"] > 0.0),
        predicted=table["predicted"].where(table["predicted"] > 0.0), allowed="below",
        xlabel="rank", ylabel="share of violations",
    )  # fmt: skip


def quartiles(samples: ArrayLike, name: str) -> pd.DataFrame:
    """Return the median of every column with its quartiles, against its number.

    Parameters
    ----------
    samples : array_like, shape (R, N)
    name : str
        Of the panel.
    """
    samples = np.atleast_2d(samples)
    low, y, high = np.quantile(samples, (0.25, 0.5, 0.75), axis=0, method="nearest")
    return pd.DataFrame(
        {
            "panel": name, "series": "", "x": np.arange(1.0, samples.shape[1] + 1.0),
            "y": np.where((y > 0.0) & np.isfinite(y), y, np.nan), "low": low, "high": high,
            "xlabel": "size, in order", "ylabel": "median, quartiles",
        }
    )  # fmt: skip


def in_order(
    values: ArrayLike,
    name: str,
    rank: str,
    label: str,
    claimed: float,
    *,
    allowed: str = "below",
) -> pd.DataFrame | None:
    """Return positive values in order of their size, None if there are none.

    Parameters
    ----------
    values : array_like
    name, rank, label : str
        Of the panel, the place in the order, and the values.
    claimed : float
        Of the values.
    allowed : {"below", "above", ""}
        Side of it that the statement allows, if it is a bound.
    """
    y = np.sort(np.asarray(values, dtype=float), axis=None)
    y = y[np.isfinite(y) & (y > 0.0)]
    if not y.size:
        return None
    x = np.unique(np.geomspace(1.0, y.size, _RANKS).round())
    return pd.DataFrame(
        {
            "panel": name, "series": "", "x": x, "y": y[x.astype(int) - 1],
            "xlabel": rank, "ylabel": label, "predicted": claimed if claimed > 0.0 else np.nan,
            "allowed": allowed,
        }
    )  # fmt: skip
