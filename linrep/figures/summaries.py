"""What summaries of rows have in common: means beside a paper's, counts, thresholds, accuracies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import scipy
from numpy.typing import ArrayLike

from linrep.figures.counts import counted as counted  # importable from here, too
from linrep.stats import ScalingExponents, mean_interval, scaling_exponents
from linrep.sweeps import summarize, thresholds
from linrep.trace import Trace

#: How a method compares with the one of the highest mean, see :func:`against_highest`.
HIGHEST, LOWER, OPEN = "highest", "lower", "not distinguishable"
TOO_FEW = "too few replicates"
FEWEST = 3  # replicates: with two, Student's test has a single degree of freedom


def recorded(runs: Sequence[tuple[Trace, Mapping[str, Any]]], *metrics: str) -> pd.DataFrame:
    """Return metrics of runs, a row for every run and recorded round, in one table.

    Parameters
    ----------
    runs : sequence of tuple
        Traces, each with what its rows say of it, a column for every name; the same names for all.
    *metrics : str

    Returns
    -------
    DataFrame
        Columns ``round``, the metrics, and the names.
    """
    sizes = [len(trace.recorded) for trace, _ in runs]
    columns = {"round": np.concatenate([trace.recorded for trace, _ in runs])}
    columns |= {name: np.concatenate([trace[name] for trace, _ in runs]) for name in metrics}
    for name in runs[0][1]:
        columns[name] = np.repeat([said[name] for _, said in runs], sizes)
    return pd.DataFrame(columns)


def beside(
    rows: pd.DataFrame,
    paper: Mapping[tuple, tuple[float, float]],
    *,
    by: Sequence[str],
    value: str = "accuracy",
    listed: Sequence[str] = (),
    ordered: str | None = None,
) -> pd.DataFrame:
    """Return means over replicates with 95 % intervals, beside the numbers of a paper.

    Parameters
    ----------
    rows : DataFrame
        Columns `by` and `value`, a row for each replicate.
    paper : mapping of tuple to tuple of float
        Published number of a group, by its values of the columns `by`, and what is printed after
        its ±, NaN if nothing is.
    by : sequence of str
        Columns that make a group, as the data, their partition and the method.
    value : str
        Column that is averaged.
    listed : sequence of str
        Columns of numbers whose distinct values are listed, as step sizes that were chosen.
    ordered : str, optional
        One of the columns `by`, as "method": say how each compares with the highest of those that
        differ in nothing else, see :func:`against_highest`.

    Returns
    -------
    DataFrame
        By `by`: columns ``replicates``, `value`, ``low``, ``high`` (NaN for a single replicate),
        ``paper`` (NaN where there is none), ``paper_error`` if any has one, `listed` and, with
        `ordered`, ``order``; groups in the order of the rows.
    """
    lines = [
        (*group, len(own), *map(float, mean_interval(own[value])),
         *paper.get(group, (np.nan, np.nan)),
         *(", ".join(f"{each:g}" for each in sorted(set(own[name]))) for name in listed))
        for group, own in rows.groupby(list(by), sort=False)
    ]  # fmt: skip
    names = [*by, "replicates", value, "low", "high", "paper", "paper_error", *listed]
    table = pd.DataFrame(lines, columns=names).set_index(list(by))
    if table["paper_error"].isna().all():
        del table["paper_error"]
    if ordered is None:
        return table
    others = [name for name in by if name != ordered]
    order = against_highest(rows, by=others, of=ordered, value=value)
    return table.assign(
        order=[
            order[group]
            for group in table.reset_index()[[*others, ordered]].itertuples(index=False, name=None)
        ]
    )


def differences(
    rows: pd.DataFrame, *, by: Sequence[str] = (), of: str = "method", value: str = "accuracy"
) -> pd.DataFrame:
    """Compare all pairs of methods by the replicates that both have.

    Parameters
    ----------
    rows : DataFrame
        Columns `by`, `of`, ``replicate`` and `value`, a row for each of them; methods share what a
        replicate draws.
    by : sequence of str
        Columns that make a group, within which methods are compared.
    of : str
        The column of methods.
    value : str
        The column that is compared.

    Returns
    -------
    DataFrame
        Columns `by`, ``first``, ``second``, ``replicates``, the mean ``difference`` and ``p``: of
        Student's paired test of mean zero, two-sided, adjusted by Holm's method for all pairs of
        the group that have three common replicates; NaN for the others.
    """
    lines = []
    for group, own in rows.groupby(list(by), sort=False) if by else [((), rows)]:
        wide = own.pivot(index="replicate", columns=of, values=value)
        by_name = {name: column.to_numpy(float) for name, column in wide.items()}
        pairs = list(combinations(own[of].unique(), 2))
        both = (by_name[one] - by_name[two] for one, two in pairs)
        each = [values[~np.isnan(values)] for values in both]
        adjusted = _holm(np.array([_p_of_mean_zero(values) for values in each]))
        for (one, two), values, p in zip(pairs, each, adjusted, strict=True):
            mean = values.mean() if values.size else np.nan
            lines.append((*group, one, two, values.size, mean, p))
    return pd.DataFrame(lines, columns=[*by, "first", "second", "replicates", "difference", "p"])


def _p_of_mean_zero(values):
    if values.size < FEWEST:
        return np.nan
    mean, error = abs(values.mean()), values.std(ddof=1) / np.sqrt(values.size)
    if error == 0.0:
        return float(mean == 0.0)
    return float(2.0 * scipy.special.stdtr(values.size - 1, -mean / error))


def _holm(p):
    """Return p-values adjusted so that any of them is at most the level with that probability."""
    order = np.argsort(p)[: np.count_nonzero(~np.isnan(p))]  # NaN is sorted to the end
    adjusted = np.full_like(p, np.nan)
    steps = np.maximum.accumulate(p[order] * np.arange(order.size, 0, -1))
    adjusted[order] = np.minimum(steps, 1.0)
    return adjusted


def against_highest(
    rows: pd.DataFrame,
    *,
    by: Sequence[str] = (),
    of: str = "method",
    value: str = "accuracy",
    level: float = 0.05,
) -> dict[tuple, str]:
    """Return for each method whether replicates support that it is below the highest mean.

    Parameters
    ----------
    rows, by, of, value
        As for :func:`differences`.
    level : float
        Probability, at most, that any order within a group is claimed where there is none.

    Returns
    -------
    dict
        By the values of `by` and `of`: "highest" of the highest mean, "lower" where p of the two is
        at most `level`, "not distinguishable" where it is not, "too few replicates" where there
        is none.
    """
    names = [*by, "first", "second", "p"]
    p_values = {}
    for *group, one, two, p in differences(rows, by=by, of=of, value=value)[names].itertuples(
        index=False, name=None
    ):
        p_values[*group, one, two] = p_values[*group, two, one] = p
    means = rows.groupby([*by, of], sort=False)[value].mean()
    if not by:
        means.index = pd.MultiIndex.from_arrays([means.index])
    highest: dict[tuple, str] = {}
    for *group, method in means.sort_values(ascending=False, kind="stable").index:
        highest.setdefault(tuple(group), method)
    order = {}
    for *group, method in means.index:
        best = highest[tuple(group)]
        if method == best:
            order[*group, method] = HIGHEST
        elif np.isnan(p := p_values[*group, best, method]):
            order[*group, method] = TOO_FEW
        else:
            order[*group, method] = LOWER if p <= level else OPEN
    return order


def along(rows: pd.DataFrame, axis: str, middle: Mapping[str, Any]) -> pd.DataFrame:
    """Return the rows in which only one parameter differs from a base setting.

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
