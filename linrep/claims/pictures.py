"""What is drawn of measurements that have no axis of their own, and what is recorded of pictures.

Axes are logarithmic.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from io import BytesIO
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from linrep._lib import records
from linrep._lib.papers import PICTURES
from linrep.stats import proportion_interval

_RANKS = 100  # more than a picture can show


def shares(frequencies: Iterable[tuple[int, int, float, float]]) -> pd.DataFrame:
    """Return the shares of events with their intervals, in order of their size."""
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
    """Return the median of every column with its quartiles, against its number."""
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
    """Return positive values in order of their size, None if there are none."""
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


def recorded(claim: str, book: Path) -> pd.DataFrame | None:
    """Return what a claim's recorded picture is drawn from, None where none is recorded."""
    table = _beside(book)
    points = table[table["claim"] == claim].drop(columns="claim").reset_index(drop=True)
    return _with_values(points) if len(points) else None


def written(points: Mapping[str, pd.DataFrame | None], kept: Iterable[str], book: Path) -> bytes:
    """Return the file of what a ledger's pictures are drawn from."""
    table = _beside(book)
    tables = [table[table["claim"].isin(set(kept) - points.keys())]]
    tables += [each.assign(claim=name) for name, each in points.items() if each is not None]
    tables = [_with_values(table) for table in tables if len(table)]
    table = pd.concat(tables or [_EMPTY], ignore_index=True).sort_values("claim", kind="stable")
    buffer = BytesIO()
    table.to_parquet(buffer, compression="zstd", index=False)
    return buffer.getvalue()


_EMPTY = pd.DataFrame({"claim": []}, dtype=str)


def _beside(book):
    content = records.beside(book, PICTURES) if records.is_there(book) else None
    return _EMPTY if content is None else _table(content)


@lru_cache(maxsize=4)
def _table(content):
    return pd.read_parquet(BytesIO(content))


def _with_values(points):
    """Return points without the columns of others; y stays where there are intervals alone."""
    return points.loc[:, points.notna().any() | (points.columns == "y")]
