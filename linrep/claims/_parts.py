"""What checks are put together from, whatever the paper."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from linrep.claims.measurements import Curve, Identity, Readings

Array = NDArray[np.float64]


def relative(found, expected, floor: float = 0.0) -> float:
    """Return the largest deviation, relative to the largest entry expected or a larger floor."""
    found, expected = np.asarray(found, dtype=float), np.asarray(expected, dtype=float)
    scale = max(float(np.abs(expected).max(initial=0.0)), floor, np.finfo(float).tiny)
    return float(np.abs(found - expected).max(initial=0.0)) / scale


def identities(found: Mapping[str, Any], tolerance: float = 1e-12) -> list[Identity]:
    """Return an identity for each name, of the deviations found for it."""
    return [Identity(deviations, tolerance, name=name) for name, deviations in found.items()]


def readings(found: Mapping[str, Any], tolerance: float = 1e-12, *, name: str) -> Readings:
    """Return an identity that can be read in several ways, of the deviations found for each."""
    return Readings(identities(found, tolerance), name=name)


def cells(base, **sweeps):
    """Return settings: the base with each variable in turn run through its values."""
    return [{**base, name: value} for name, values in sweeps.items() for value in values]


def table(settings, draw, replicates: int) -> pd.DataFrame:
    """Return a row per setting and replicate: the setting, and draw(setting) as the constant.

    `draw` may return one number, or an array of so many replicates that need no loop.
    """
    rows, seen = [], set()
    for setting in settings:
        key = tuple(sorted(setting.items()))
        if key in seen:
            continue
        seen.add(key)
        values: list[float] = []
        while len(values) < replicates:
            values.extend(np.atleast_1d(draw(**setting)))
        rows.append(pd.DataFrame({**setting, "constant": values[:replicates]}))
    return pd.concat(rows, ignore_index=True)


def draw_seeds(rng, count: int) -> list[int]:
    """Draw the seeds of so many replicates."""
    return [int(seed) for seed in rng.integers(2**32, size=count)]


def curve(**columns) -> Curve:
    """Return the points of a picture, column by column."""
    return Curve(pd.DataFrame(columns))


def medians(rows):
    """Return medians of y over seeds, for pictures."""
    keys = ["panel", "series", "x", "xlabel", "ylabel"]
    return pd.concat(rows).groupby(keys, sort=False)["y"].median().reset_index()
