"""Power laws of a summary, one for each group of its rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from linrep._lib.arguments import checked
from linrep._lib.suggest import unknown
from linrep.stats import ScalingExponents, scaling_exponents

_NAMED = 4  # of points that are left out


@dataclass(frozen=True)
class PowerLaw:
    """A power law of the estimates of one group.

    Attributes
    ----------
    group : dict
        Values of the other columns, which are the same in the group.
    fit : ScalingExponents or None
        None where it cannot be fitted.
    reason : str
        Why not.
    left_out : DataFrame
        Rows of the group without an estimate that is positive and finite.
    """

    group: dict[str, Any]
    fit: ScalingExponents | None
    reason: str
    left_out: pd.DataFrame

    def __str__(self):
        where = f" at {_values(self.group)}" if self.group else ""
        text = f"power law of the estimate{where}: {self.fit or f'none, {self.reason}'}"
        if len(self.left_out):
            some = self.left_out.head(_NAMED).to_dict("records")
            more = ", ..." if len(self.left_out) > _NAMED else ""
            named = "; ".join(_values(row) for row in some)
            text += f"; without {len(self.left_out)} that have no estimate ({named}{more})"
        return text


def power_laws(
    table: pd.DataFrame, x: Sequence[str], by: Sequence[str] = (), *, value: str = "estimate"
) -> list[PowerLaw]:
    """Fit a power law to the estimates of every group.

    Parameters
    ----------
    table : DataFrame
        As :func:`summarize` and :func:`thresholds` return it.
    x : sequence of str
        Columns whose exponents are fitted.
    by : sequence of str
        Columns of the groups, as the algorithm.
    value : str
        Column of the estimates.

    Returns
    -------
    list of PowerLaw
        In the order of the groups.

    Raises
    ------
    ValueError
        If a column is missing.
    """
    for name in (*x, *by, value):
        if name not in table:
            raise ValueError(unknown("no column", name, table))
    groups = table.groupby(list(by), sort=False, dropna=False) if by else [((), table)]
    laws = []
    for key, group in groups:
        there = np.isfinite(group[value]) & (group[value] > 0.0)
        used, fit, reason = group[there], None, ""
        try:
            if len(used) < len(x) + 2:
                raise ValueError(f"{len(used)} points are too few")
            fit = scaling_exponents(used[value], {name: used[name] for name in x})
        except ValueError as error:
            reason = str(error)
        lacking = group.loc[~there, list(x)]
        laws.append(PowerLaw(dict(zip(by, key, strict=True)), fit, reason, lacking))
    return laws


def _values(row):
    return ", ".join(f"{name} = {value}" for name, value in row.items())


checked(globals())
