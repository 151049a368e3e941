"""Tables that checks fill: settings, a row per setting and replicate, points of pictures."""

from __future__ import annotations

import numpy as np
import pandas as pd

from linrep.claims.measurements import Curve
from linrep.claims.slopes import Exponent


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


def growth(rows: pd.DataFrame, x: str, of: str, **options) -> Exponent:
    """Return the power of x in a column of a table, whose rows of one x are replicates."""
    groups = [(size, group.to_numpy()) for size, group in rows.groupby(x)[of]]
    sizes, samples = zip(*groups, strict=True)
    return Exponent(list(sizes), list(samples), along=x, of=of, **options)
