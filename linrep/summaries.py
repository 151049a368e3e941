"""What summaries of rows have in common: means beside a paper's, counts, thresholds, accuracies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from linrep.stats import ScalingExponents, mean_interval, scaling_exponents
from linrep.sweeps import summarize, thresholds
from linrep.trace import Trace


def beside(
    rows: pd.DataFrame,
    paper: Mapping[tuple, float],
    *,
    by: Sequence[str],
    value: str = "accuracy",
    listed: Sequence[str] = (),
) -> pd.DataFrame:
    """Return means over replicates with 95 % intervals, beside the numbers of a paper.

    Parameters
    ----------
    rows : DataFrame
        Columns `by` and `value`, a row for each replicate.
    paper : mapping of tuple to float
        Published number of a group, by its values of the columns `by`.
    by : sequence of str
        Columns that make a group, as the data, their partition and the method.
    value : str
        Column that is averaged.
    listed : sequence of str
        Columns of numbers whose distinct values are listed, as step sizes that were chosen.

    Returns
    -------
    DataFrame
        By `by`: columns ``replicates``, `value`, ``low``, ``high`` (NaN for a single replicate),
        ``paper`` (NaN where there is none) and `listed`; groups in the order of the rows.
    """
    lines = [
        (*group, len(own), *map(float, mean_interval(own[value])), paper.get(group, np.nan),
         *(", ".join(f"{each:g}" for each in sorted(set(own[name]))) for name in listed))
        for group, own in rows.groupby(list(by), sort=False)
    ]  # fmt: skip
    names = [*by, "replicates", value, "low", "high", "paper", *listed]
    return pd.DataFrame(lines, columns=names).set_index(list(by))


def along(rows: pd.DataFrame, axis: str, middle: Mapping[str, Any]) -> pd.DataFrame:
    """Return the rows in which nothing but one parameter differs from a setting in the middle.

    Parameters
    ----------
    rows : DataFrame
        Of a grid as :meth:`linrep.sweeps.Grid.around` makes it.
    axis : str
        The parameter that may differ.
    middle : mapping
        Parameters and their values.
    """
    same = [rows[name] == value for name, value in middle.items() if name != axis]
    return rows[np.logical_and.reduce(same)]


def counted(values: pd.Series) -> str:
    """Return of how many replicates something is true, as a summary has it: "16 of 20".

    Parameters
    ----------
    values : Series of bool
        One for each of independent replicates.
    """
    return f"{int(values.sum())} of {len(values)}"


def exponents(y: ArrayLike, x: Mapping[str, ArrayLike], **options: Any) -> ScalingExponents | None:
    """Return fitted exponents, None where points are too few or variables do not vary.

    Parameters
    ----------
    y, x, **options
        As for :func:`linrep.stats.scaling_exponents`.
    """
    try:
        return scaling_exponents(y, x, **options)
    except ValueError:  # other sizes than those of the record may leave too little to fit
        return None


def crossings(rows: pd.DataFrame, success: str, x: str, by: Sequence[str] = ()) -> pd.DataFrame:
    """Return thresholds as a summary has them: those beyond what was tried are infinite, or 0.

    Parameters
    ----------
    rows, success, x, by
        As for :func:`linrep.sweeps.thresholds`. Success is taken to become more frequent with `x`.

    Returns
    -------
    DataFrame
        As from there; a missing estimate is infinite if fewer than half succeed at the largest `x`,
        0 otherwise.
    """
    table = thresholds(rows, success, x, by)
    by = list(by)
    shares = summarize(rows, success, [*by, x], statistic="success")
    shares = shares[shares["replicates"] > 0].sort_values([*by, x])
    last = shares.groupby(by, dropna=False).tail(1) if by else shares.tail(1)  # as in the table
    beyond = last["estimate"].to_numpy() < 0.5
    return table.assign(estimate=table["estimate"].fillna(pd.Series(np.where(beyond, np.inf, 0.0))))


def accuracies(trace: Trace, **labels: Any) -> pd.DataFrame:
    """Return how accurate a run was, in percent, a row for each recorded round.

    Parameters
    ----------
    trace : Trace
        Of a run of networks.
    **labels
        Further columns, the same in all rows, as the method.

    Returns
    -------
    DataFrame
        Columns `labels`, ``round`` and ``accuracy``; :func:`mean_of_last` takes such rows.
    """
    values = {"round": trace.recorded, "accuracy": 100.0 * trace["accuracy"]}
    return pd.DataFrame({**labels, **values})


def mean_of_last(
    rows: pd.DataFrame, *, by: Sequence[str], value: str = "accuracy", rounds: int = 10
) -> pd.DataFrame:
    """Return each replicate's mean over its last rounds, as :meth:`.Trace.mean_of_last` takes it.

    Parameters
    ----------
    rows : DataFrame
        Columns `by`, ``replicate``, ``round`` and `value`, a row for each recorded round.
    by : sequence of str
        Columns that make a group, as for :func:`beside`.
    value : str
        Column that is averaged.
    rounds : int
        How many rounds count as the last; round 0, the start, never does.

    Returns
    -------
    DataFrame
        Columns `by`, ``replicate`` and `value`; groups in the order of the rows.
    """
    by = [*by, "replicate"]
    end = rows.groupby(by)["round"].transform("max")
    last = rows[(rows["round"] > end - rounds) & (rows["round"] > 0)]
    return last.groupby(by, sort=False)[value].mean().reset_index()
