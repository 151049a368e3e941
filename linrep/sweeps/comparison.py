"""By how much rows that should be the same differ."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from pandas.api.types import is_string_dtype

from linrep.sweeps.columns import as_text


@dataclass(frozen=True)
class Deviation:
    """The largest difference between two tables of the same rows.

    Attributes
    ----------
    rows, different : int
        Rows that were compared; those that differ in some column.
    largest : float
        The largest relative difference of two numbers, that is their distance over the larger of
        their sizes; infinite where a number stands against none.
    column : str or None
        Where it is; None if there is no difference.
    """

    rows: int
    different: int
    largest: float
    column: str | None

    def __str__(self):
        if not self.different:
            return f"all of {self.rows} row(s) the same"
        of = f"{self.different} of {self.rows} row(s) differ"
        if np.isinf(self.largest):
            return f"{of}, column {self.column} in more than digits"
        return f"{of}, by at most {self.largest:.2g} relative (column {self.column})"


def deviation(rows: pd.DataFrame, others: pd.DataFrame, columns: Iterable[str]) -> Deviation:
    """Compare some columns of two tables of the same length, row by row.

    A table without one of the columns has gaps there.
    """
    different = np.zeros(len(rows), dtype=bool)
    largest, column = 0.0, None
    for name in columns:
        one, other = (
            frame[name] if name in frame else pd.Series(np.nan, frame.index)
            for frame in (rows, others)
        )
        if is_string_dtype(one) != is_string_dtype(other):
            # Numbers are text where other replicates have text.
            one, other = (frame.map(as_text, na_action="ignore") for frame in (one, other))
        gaps = one.isna().to_numpy() & other.isna().to_numpy()
        unequal = ~gaps & ~(one.to_numpy(object) == other.to_numpy(object)).astype(bool)
        if not unequal.any():
            continue
        different |= unequal
        difference = _relative(one[unequal], other[unequal])
        if column is None or difference > largest:
            largest, column = difference, name
    return Deviation(len(rows), int(different.sum()), largest, column)


def _relative(one, other):
    a, b = (pd.to_numeric(values, errors="coerce").to_numpy(float) for values in (one, other))
    with np.errstate(invalid="ignore", divide="ignore"):
        relative = np.abs(a - b) / np.maximum(np.abs(a), np.abs(b))
    return float(np.where(np.isnan(relative), np.inf, relative).max())
