"""Tidy summaries of stored rows, and power laws of these."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from linrep._lib import validation as check
from linrep._lib.arguments import checked
from linrep._lib.formulas import Expression
from linrep._lib.suggest import unknown
from linrep.stats import (
    ScalingExponents,
    mean_interval,
    proportion_interval,
    scaling_exponents,
    transition_point,
)
from linrep.sweeps.store import Run

_NAMED = 4  # of points that are left out
STATISTICS = ("mean", "geometric", "median", "success")


def summarize(
    rows: pd.DataFrame,
    value: str,
    by: str | Iterable[str],
    *,
    statistic: str = "mean",
    run: Run | None = None,
) -> pd.DataFrame:
    """Summarize one column over replicates, for each combination of some parameters.

    Parameters
    ----------
    rows : DataFrame
        As :meth:`Run.read` returns them. Failed replicates are counted, not summarized.
    value : str
        A column, or an :class:`Expression` of columns, such as ``"distance < 1e-3"``.
    by : iterable of str
        Columns to group by.
    statistic : {"mean", "geometric", "median", "success"}
        Arithmetic or geometric mean with its 95 % Student interval; median with the quantiles of
        10 and 90 %; or the share of replicates for which the expression holds, with its exact 95 %
        interval (Clopper-Pearson).
    run : Run, optional
        Where the rows were read, all of them: replicates that are not stored then count as missing,
        and groups of which nothing is stored have a line. Only with parameters in `by`.

    Returns
    -------
    DataFrame
        The columns of `by`, ``replicates`` (those that the estimate is made from), ``missing``
        (without a value, or not stored), ``failed``, ``estimate``, ``low`` and ``high``.

    Raises
    ------
    ValueError
        If a column is unknown or named twice, an expression cannot be evaluated, or a replicate
        has several rows in a group.
    """
    check.choice("statistic", statistic, STATISTICS)
    by = [by] if isinstance(by, str) else list(by)
    for name in by:
        if name not in rows:
            raise ValueError(unknown("no column", name, rows))
        if by.count(name) > 1:
            raise ValueError(f"by must name each column once, got {name!r} twice")
    failed = rows["status"] == "failed" if "status" in rows else pd.Series(False, rows.index)
    _check_one_row_each(rows, by)
    values = evaluate(rows, value).astype(float)
    if statistic == "success" and not values.dropna().isin((0.0, 1.0)).all():
        raise ValueError(f"{value!r} must be true or false, as in 'distance < 1e-3'")
    codes, keys = _groups(rows, by)
    failed = failed.to_numpy(bool)
    is_value = ~failed & values.notna().to_numpy()
    total, counts, failures = (
        np.bincount(codes[some], minlength=len(keys)) for some in (slice(None), is_value, failed)
    )
    numbers = {"replicates": counts, "missing": total - failures - counts, "failed": failures}
    values, codes = values.to_numpy()[is_value], codes[is_value]
    parts = _estimates(values, codes, counts, statistic)
    estimates = pd.DataFrame(parts, columns=["estimate", "low", "high"])
    result = pd.concat([keys, pd.DataFrame(numbers), estimates], axis=1)
    return result if run is None else _with_unstored(result, run, by)


def _with_unstored(summary, run, by):
    """Count as missing what a run has not stored of each group."""
    unknown = [name for name in by if name not in run.parameters]
    if unknown:
        raise ValueError(f"run goes with parameters to group by, got {unknown[0]!r}")
    if not by:
        summary["missing"] = run.total - summary["replicates"] - summary["failed"]
        return summary
    cells = run.parameter_table()[by]
    expected = run.replicates * cells.groupby(by, sort=True, dropna=False).size()
    summary = summary.astype(cells.dtypes)  # groups without a value have lost theirs
    table = expected.rename("_expected").reset_index().merge(summary, on=by, how="outer")
    counts = ["replicates", "missing", "failed"]
    table[counts] = table[counts].fillna(0).astype(int)
    table["missing"] = table.pop("_expected") - table["replicates"] - table["failed"]
    return table


def thresholds(
    rows: pd.DataFrame, success: str, x: str, by: str | Iterable[str] = ()
) -> pd.DataFrame:
    """Find where along one parameter the probability of success crosses one half.

    Parameters
    ----------
    rows : DataFrame
        As :meth:`Run.read` returns them; failed replicates are left out.
    success : str
        A column of truth values, or a condition such as ``"distance < 1e-3"``.
    x : str
        The parameter along which success changes; positive.
    by : iterable of str
        Columns to group by.

    Returns
    -------
    DataFrame
        The columns of `by`, ``estimate``, ``low`` and ``high``; see
        :func:`linrep.stats.transition_point`. A group with fewer than two values of `x`, where
        others have more, has no estimate, and an interval without limits.

    Raises
    ------
    ValueError
        If a column is unknown or an expression cannot be evaluated.
    """
    by = [by] if isinstance(by, str) else list(by)
    table = summarize(rows, success, [*by, x], statistic="success")
    lines = []
    for key, group in table.groupby(by, sort=True, dropna=False) if by else [((), table)]:
        group = group[group["replicates"] > 0]
        key = key if isinstance(key, tuple) else (key,)
        if group[x].nunique() < 2 <= table[x].nunique():
            lines.append((*key, np.nan, 0.0, np.inf))
            continue
        successes = (group["estimate"] * group["replicates"]).round()
        point = transition_point(group[x], successes, group["replicates"])
        lines.append((*key, point.x, point.low, point.high))
    return pd.DataFrame(lines, columns=[*by, "estimate", "low", "high"])


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


def power_laws(table: pd.DataFrame, x: Sequence[str], by: Sequence[str] = ()) -> list[PowerLaw]:
    """Fit a power law to the estimates of every group.

    Parameters
    ----------
    table : DataFrame
        As :func:`summarize` and :func:`thresholds` return it.
    x : sequence of str
        Columns whose exponents are fitted.
    by : sequence of str
        Columns of the groups, as the algorithm.

    Returns
    -------
    list of PowerLaw
        In the order of the groups.

    Raises
    ------
    ValueError
        If a column is missing.
    """
    for name in (*x, *by, "estimate"):
        if name not in table:
            raise ValueError(unknown("no column", name, table))
    groups = table.groupby(list(by), sort=False, dropna=False) if by else [((), table)]
    laws = []
    for key, group in groups:
        there = np.isfinite(group["estimate"]) & (group["estimate"] > 0.0)
        used, fit, reason = group[there], None, ""
        try:
            if len(used) < len(x) + 2:
                raise ValueError(f"{len(used)} points are too few")
            fit = scaling_exponents(used["estimate"], {name: used[name] for name in x})
        except ValueError as error:
            reason = str(error)
        lacking = group.loc[~there, list(x)]
        laws.append(PowerLaw(dict(zip(by, key, strict=True)), fit, reason, lacking))
    return laws


def evaluate(rows: pd.DataFrame, expression: str) -> pd.Series:
    """Return a column, or the value of an :class:`Expression` of columns.

    A condition on what is missing is itself missing, neither true nor false.

    Raises
    ------
    ValueError
        If it cannot be evaluated.
    """
    if expression in rows:
        return rows[expression]
    formula = Expression(expression)
    result = pd.Series(formula.value(rows), index=rows.index)
    there = rows[list(formula.names)].notna().all(axis=1)
    return result if there.all() else result.astype(object).where(there, None)


def is_condition(values: pd.Series) -> bool:
    """Tell whether a column contains truth values, and perhaps gaps."""
    if values.dtype == bool:
        return len(values) > 0
    there = values.dropna()
    return len(there) > 0 and all(isinstance(value, bool | np.bool_) for value in there)


def _check_one_row_each(rows, by):
    """Rows of one replicate are not independent: an interval from them would be too short."""
    if not {"cell", "replicate"} <= set(rows):
        return
    cell, replicate = pd.factorize(rows["cell"])[0], rows["replicate"].to_numpy()
    later = (cell[1:] == cell[:-1]) & (replicate[1:] > replicate[:-1])
    if (later | (cell[1:] > cell[:-1])).all():
        return  # as a run is read, which is seen at once, however many rows there are
    if rows.duplicated([*by, "cell", "replicate"]).any():
        raise ValueError(
            "a replicate has several rows in a group; group by what tells them apart, too, or "
            "choose among them first"
        )


def _groups(rows, by):
    """Return which group each row belongs to, and the values of `by` in each group."""
    if not by:
        return np.zeros(len(rows), dtype=np.int64), pd.DataFrame(index=range(1))
    groups = rows.groupby(by, sort=True, dropna=False, observed=True)
    return groups.ngroup().to_numpy(), pd.DataFrame(list(groups.size().index), columns=by)


def _estimates(values, codes, counts, statistic):
    """Return estimate, low and high of each group, of which counts values are given."""
    result = np.full((len(counts), 3), np.nan)
    if statistic == "success":
        some = counts > 0
        if some.any():
            successes = np.bincount(codes, values, minlength=len(counts))[some]
            result[some] = np.transpose(proportion_interval(successes, counts[some]))
        return result
    # Groups of one size make a matrix; there are at most as many sizes as sum to all values.
    groups = np.argsort(counts, kind="stable")
    ranks = np.empty(len(groups), np.min_scalar_type(len(groups)))  # small numbers sort faster
    ranks[groups] = np.arange(len(groups))
    values = values[np.argsort(ranks[codes], kind="stable")]
    for size, several in zip(*np.unique(counts, return_counts=True), strict=True):
        same, groups = np.split(groups, [several])
        matrix, values = np.split(values, [several * size])
        if size == 0:
            continue
        matrix = matrix.reshape(several, size)
        if statistic == "median":
            parts = np.quantile(matrix, (0.5, 0.1, 0.9), axis=1)
        else:
            parts = mean_interval(matrix, axis=1, geometric=statistic == "geometric")
        result[same] = np.transpose(parts)
    return result


def _values(row):
    return ", ".join(f"{name} = {value}" for name, value in row.items())


checked(globals())
