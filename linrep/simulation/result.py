"""The result of a comparison, and bounds and predictions beside which it is drawn."""

from __future__ import annotations

from functools import cached_property, partial
from itertools import groupby
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from linrep._lib import validation as check
from linrep._lib.extras import need
from linrep.problems.regression import ImplicitRepresentation, SharedRepresentation
from linrep.stats import mean_interval

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from matplotlib.axes import Axes

    _Line = Callable[[float], float]

#: What methods are compared along, with the axis label.
AXES = {
    "samples": "samples in total",
    "rounds": "communication rounds",
    "floats": "numbers sent",
    "seconds": "wall time (s)",
}
METRICS = {
    "distance": "principal-angle distance",
    "population_risk": "population risk",
    "unexplained": "held-out variance not explained",
}
#: Of the rows, as far as they are there.
COLUMNS = (
    "method", "trial", "m", "rounds", "samples", "floats", "seconds", *METRICS, "stop_reason",
)  # fmt: skip
SAMPLING = {
    "fixed": "all methods had the same samples, once",
    "fresh": "all methods drew new samples in every round",
    "simulated": "all methods drew new samples in every round, simulated with the same law",
    "own": "methods sampled as they do by default, which differs",
}
#: By metric: the name in :mod:`linrep.theory.bound_lines`, and those of its lines that are drawn.
_DRAWN = {
    "population_risk": ("population_risk", ("Cramér-Rao", "representation known")),
    "distance": ("squared_chordal", ("Cramér-Rao",)),
}
_FLOOR = np.finfo(np.float64).eps  # below which values are rounding, and count as equal to it


class Comparison:
    """Methods on the same truths and samples.

    Parameters
    ----------
    rows : DataFrame
        One per run or, along rounds, per recorded round: ``method``, ``trial``, ``m``, ``rounds``,
        ``samples``, ``floats``, ``seconds``, metrics and ``stop_reason``.
    axis : {"samples", "rounds", "floats", "seconds"}
        What methods are compared along.
    sampling : {"fixed", "fresh", "simulated", "own"}
        As in :func:`linrep.compare`; simulated are fresh samples.
    metric : str, optional
        Column to compare; by default the first of distance, population risk and held-out variance
        not explained that all methods have.
    settings : DataFrame, optional
        A row per method, what its first run was resolved to.
    truths : sequence, optional
        Whose bounds are drawn, see `bounds`.
    runs : mapping of str to sequence of pairs, optional
        By method, the truth and the settings of every trial, whose predictions are drawn.

    Raises
    ------
    ValueError
        If a method lacks the metric.
    """

    def __init__(
        self,
        rows: pd.DataFrame,
        *,
        axis: str = "samples",
        sampling: str = "fixed",
        metric: str | None = None,
        settings: pd.DataFrame | None = None,
        truths: Sequence[Any] = (),
        runs: Mapping[str, Sequence[tuple[Any, Mapping[str, Any]]]] | None = None,
    ):
        check.choice("axis", axis, AXES)
        check.choice("sampling", sampling, SAMPLING)
        complete = [
            name for name in METRICS
            if name in rows and rows.groupby("method")[name].count().gt(0).all()
        ]  # fmt: skip
        if metric is None:
            if not complete:
                raise ValueError("methods have no metric in common")
            metric = complete[0]
        elif metric not in complete:
            known = ", ".join(complete) or "none"
            raise ValueError(f"metric must be one that all methods have ({known}), got {metric!r}")
        self.rows, self.axis, self.sampling, self.metric = rows, axis, sampling, metric
        self.settings, self._truths, self._runs = settings, truths, runs or {}

    @property
    def bounds(self) -> dict[str, Callable[[float], float]]:
        """Bounds on the metric, functions of the samples in total, by their names.

        Of :mod:`linrep.theory.bound_lines`, the mean over the trials' truths; there where all
        methods had the same samples of Gaussian noise.
        """
        return _of_truths(self._truths, self.metric) if self.axis == "samples" else {}

    @property
    def predictions(self) -> dict[str, Callable[[float], float]]:
        """Distances that theory has, functions of what is on the axis, by ``"predicted, method"``.

        Of :func:`linrep.theory.finite.of_run`, the geometric mean over the
        trials; there for FedRep along rounds or samples, where samples are fresh and m is one
        number.
        """
        drawn = self.metric == "distance" and self.axis in ("rounds", "samples")
        return _of_runs(self._runs, self.rows, self.axis) if drawn else {}

    @cached_property
    def table(self) -> pd.DataFrame:
        """A row per number of samples and method, at the end of its runs.

        ``mean`` is geometric, with a 95 % Student interval of the logarithms (``low``, ``high``);
        ``times`` the geometric mean of the ratio to the best method's, trial by trial, with its
        interval (``times_low``, ``times_high``); ``rank`` the mean rank over trials; ``trials``,
        those in which every method came to a finite number, and how many runs ``diverged``.
        """
        rows = []
        for m, ends in self._ends():
            values = ends[np.isfinite(ends).all(axis=1)]  # in pairs
            logs = np.log(np.maximum(values, _FLOOR))
            best = logs.mean().idxmin()
            ranks = values.rank(axis=1).mean()
            own = self.rows[(self.rows["m"] == m) | self.rows["m"].isna()]
            samples = own.groupby("method")["samples"].max()
            wild = own[own["stop_reason"] == "diverged"].groupby("method")["trial"].nunique()
            for name in logs.mean().sort_values(kind="stable").index:
                mean, low, high = np.exp(mean_interval(logs[name].to_numpy()))
                times = np.exp(mean_interval((logs[name] - logs[best]).to_numpy()))
                rows.append({
                    "m": m, "method": name, "samples": int(samples[name]),
                    "mean": mean, "low": low, "high": high,
                    "times": times[0], "times_low": times[1], "times_high": times[2],
                    "rank": ranks[name], "trials": len(values), "diverged": wild.get(name, 0),
                })  # fmt: skip
        return pd.DataFrame(rows).set_index(["m", "method"])

    def summary(self) -> str:
        """Say in words who is ahead where, whether by chance, and how samples were drawn."""
        said = []
        leaders = [(m, *self._leader(part)) for m, part in self.table.groupby("m", sort=False)]
        if not leaders:  # no m: data of one's own, whole
            leaders = [(None, *self._leader(self.table))]
        for (name, clear), group in groupby(leaders, key=lambda each: each[1:]):
            sizes = [m for m, *_ in group]
            where = "" if len(leaders) == 1 else self._where(sizes)
            said.append(f"{name} {clear}{where}")
        return f"{'; '.join(said)} ({SAMPLING[self.sampling]})"

    def plot(
        self,
        *,
        bounds: Mapping[str, Callable[[float], float]] | None = None,
        ax: Axes | None = None,
    ) -> Axes:
        """Draw the metric against the axis, one line per method with its interval; return the axes.

        Parameters
        ----------
        bounds : mapping of str to callable, optional
            Lines to draw beside them, functions of what is on the axis, by their names; by default
            `bounds` and `predictions`, and none with an empty mapping.
        ax : Axes, optional
            Where to draw; a new figure's by default.
        """
        import matplotlib.pyplot as plt
        from matplotlib.colors import to_hex

        from linrep.figures.plotting import COLUMN_WIDTH, curves, plain_log_ticks, style

        axis, metric = self.axis, self.metric
        rows = self.rows[np.isfinite(self.rows[[metric, axis]]).all(axis=1)]
        linear = axis in ("rounds", "seconds")
        if not linear:  # of a start that took nothing
            rows = rows[rows[axis] > 0]
        rows = rows.rename(columns={"trial": "replicate"})
        rows = rows.assign(**{metric: rows[metric].clip(lower=_FLOOR)})
        with style():
            if ax is None:
                _, ax = plt.subplots(figsize=(COLUMN_WIDTH, 0.85 * COLUMN_WIDTH))
            if axis == "seconds":  # no two runs take the same: one line per run
                for number, (name, part) in enumerate(rows.groupby("method", sort=False)):
                    for place, (_, run) in enumerate(
                        part.groupby(["replicate", "m"], dropna=False)
                    ):
                        ax.plot(
                            run[axis], run[metric], color=to_hex(f"C{number}"), alpha=0.6,
                            marker="o" if len(run) == 1 else None,
                            label=name if place == 0 else "_nolegend_",
                        )  # fmt: skip
            else:
                few = rows.groupby("method")[axis].nunique().max() <= 20
                curves(
                    ax, rows, x=axis, y=metric, by="method", geometric=True, markers=bool(few),
                    whole=False,
                )  # fmt: skip
            low, high = rows[axis].min(), rows[axis].max()
            places = np.linspace(low, high, 100) if linear else np.geomspace(low, high, 100)
            drawn = self.bounds | self.predictions if bounds is None else bounds
            for number, (name, bound) in enumerate(drawn.items()):
                dashes = (0, (1, 1 + number))
                values = [bound(each) for each in places]
                ax.plot(places, values, color="0.3", linestyle=dashes, label=name)
            ax.set(xlabel=AXES[axis], ylabel=METRICS[metric], yscale="log")
            ax.set_xscale("linear" if linear else "log")
            plain_log_ticks(ax.yaxis)
            if not linear:
                plain_log_ticks(ax.xaxis)
            ax.set_title(fill(SAMPLING[self.sampling], 48))  # a column has room for no more
            # Below the panel, as lines may be anywhere in it.
            ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=2)
        return ax

    def to_parquet(self, path: str | Path) -> None:
        """Write the rows to a file, with how they were sampled.

        Parameters
        ----------
        path : str or Path
        """
        need("sweeps", "to_parquet")
        self.rows.assign(sampling=self.sampling).to_parquet(path)

    def _ends(self):
        """Yield m and the values at the end of the runs: a column per method, a row per trial."""
        for m, part in self.rows.groupby("m", sort=False, dropna=False):
            last = part.groupby(["trial", "method"], sort=False).tail(1)
            values = last.pivot(index="trial", columns="method", values=self.metric)
            yield m, values[list(dict.fromkeys(part["method"]))]

    def _leader(self, part):
        """Return the method ahead, and what to say of the next one."""
        names = part.index.get_level_values("method")
        if len(names) == 1:
            return names[0], "stands alone"
        second = part.iloc[1]
        clear = second["times_low"] > 1.0
        return names[0], f"is ahead of {names[1]}" if clear else f"is level with {names[1]}"

    def _where(self, sizes):
        first, last = (self.table.xs(m, level="m")["samples"].max() for m in (sizes[0], sizes[-1]))
        return f" at {first} samples" if len(sizes) == 1 else f" from {first} to {last} samples"

    def __repr__(self):
        shown = self.table.to_string(float_format="{:.4g}".format)
        return f"{METRICS[self.metric]}\n{shown}\n{self.summary()}"


def _of_truths(truths: Sequence[Any], metric: str) -> dict[str, _Line]:
    """Return bounds on a metric as functions of the samples in total, each the mean over truths.

    Of the ``distance`` it is the root of the bound on the sum of squared sines over k: the largest
    of k squares is at least their mean.

    Empty where none is known: without noise, of heads that span less than their space, of other
    problems, or of other metrics.
    """
    from linrep.theory import bound_lines

    known = all(
        isinstance(each, SharedRepresentation)
        and not isinstance(each, ImplicitRepresentation)
        and each.noise > 0.0
        for each in truths
    )
    if metric not in _DRAWN or not truths or not known:
        return {}
    of, names = _DRAWN[metric]
    try:
        every = [bound_lines.lines(truth, metric=of) for truth in truths]
    except ValueError:  # heads that do not span their space
        return {}

    def line(name):
        def at(samples):
            values = [
                np.sqrt(lines[name](samples) / truth.k) if metric == "distance"
                else lines[name](samples)
                for truth, lines in zip(truths, every, strict=True)
            ]  # fmt: skip
            return float(np.mean(values))

        def mean(samples):
            # Between whole numbers of samples per client it is straight on logarithmic axes.
            n = truths[0].n
            low = np.floor(samples / n)
            share = samples / n - low
            if share == 0.0 or low == 0.0 or not np.isfinite(at(low * n)):
                return at(samples)
            return float(at(low * n) ** (1.0 - share) * at((low + 1.0) * n) ** share)

        return mean

    return {name: line(name) for name in names if all(name in lines for lines in every)}


def _of_runs(
    runs: Mapping[str, Sequence[tuple[Any, Mapping[str, Any]]]], rows: pd.DataFrame, axis: str
) -> dict[str, _Line]:
    """Return the distance that theory has for each method, along an axis.

    By method, there are the truth and the settings of every trial. Distances are geometric means
    over trials; of methods without a known curve there is none, see
    :func:`linrep.theory.finite.of_run`.
    """
    from linrep.theory import finite

    lines: dict[str, _Line] = {}
    for method, trials in runs.items():
        own = rows[rows["method"] == method]
        own = own[own["trial"] == own["trial"].iloc[0]]
        recorded = own["rounds"].to_numpy()
        try:
            curves = [
                finite.of_run(truth, settings, rounds=int(recorded[-1]), rng=0).distance
                for truth, settings in trials
            ]
        except (ValueError, TypeError):  # not FedRep, or outside of what is known
            continue
        logs = np.log(np.maximum(curves, np.finfo(np.float64).tiny)).mean(axis=0)
        at = partial(np.interp, xp=own[axis].to_numpy(), fp=logs[recorded])
        lines[f"predicted, {method}"] = partial(_exponential, at)
    return lines


def _exponential(at, place):
    return float(np.exp(at(place)))
