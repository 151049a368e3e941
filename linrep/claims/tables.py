"""Tables that checks fill: settings, a row per setting and replicate, points; and printed ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction

import numpy as np
import pandas as pd

from linrep.claims.measurements import Curve
from linrep.claims.slopes import Exponent

#: A printed mean, and what follows its "±".
Printed = tuple[Fraction, Fraction]


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


def printed(table: Mapping[str, str]) -> dict[str, list[Printed]]:
    """Return printed means and deviations, "±" between and blanks behind, in rational numbers.

    Examples
    --------
    >>> from linrep.claims.tables import printed
    >>> printed({"FedAvg": "34.5±1.25 47±0.5"})["FedAvg"][1]
    (Fraction(47, 1), Fraction(1, 2))
    """

    def numbers(text):
        mean, deviation = map(Fraction, text.split("±"))
        return mean, deviation

    return {name: [numbers(each) for each in row.split()] for name, row in table.items()}


def root(deviations: Iterable[Fraction]) -> Fraction:
    """Return the root of a sum of squares, rounded up to six digits: exact for decimals of six."""
    squares = math.ceil(sum(each * each for each in deviations) * 10**12)
    return Fraction(math.isqrt(squares - 1) + 1 if squares else 0, 10**6)


def average(items: Iterable[Printed]) -> Printed:
    """Return the mean of printed means, and its deviation if theirs are independent."""
    means, deviations = zip(*items, strict=True)
    return sum(means) / Fraction(len(means)), root(deviations) / len(means)


#: By how much a printed mean is to be above another, by the "±" of both.
MARGINS: dict[str, Callable[[Printed, Printed], Fraction]] = {
    "of the means": lambda one, other: Fraction(0),
    "beyond the root of the squares of both ±": lambda one, other: root([one[1], other[1]]),
    "beyond the sum of both ±": lambda one, other: one[1] + other[1],
}
