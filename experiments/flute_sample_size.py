"""FLUTE, Theorem 5.1: the smallest sufficient m against clients, dimension, width and rank.

Around one setting (n = 40 clients in dimension d = 20, models of rank 5 fitted with k = 2) one of
these takes other values at a time. The k leading singular values of Phi/sqrt(n) are 1, the others
0.3, the noise is 0.5; the theorem's M is n here, and its N is m. A run counts as a success if the
mean error per client, equation (7), is at most 0.3 in the end. The smallest sufficient m is where a
logistic curve through the successes crosses one half; beside it stands the theorem's N, with the
largest step that it allows and its constant c = 1, and where the error of the minimizer of the
empirical risk, to first order in 1/sqrt(m), is 0.3.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

import linrep as lr
from linrep.cli import run_script
from linrep.figures import plotting
from linrep.figures.experiment import Experiment
from linrep.figures.sizes import Sizes, size
from linrep.figures.summaries import along, crossings, exponents
from linrep.sweeps import Grid
from linrep.theory import flute, flute_samples
from linrep.theory.asymptotics import flute as first_order

BASE = {"n": 40, "d": 20, "k": 2, "rank": 5}
AXES = {"n": "clients, $n$", "d": "dimension, $d$", "k": "width, $k$", "rank": "rank of the models"}
REST, NOISE, GOAL = 0.3, 0.5, 0.3
ROUNDS = 1000


@dataclass(frozen=True)
class SampleSize(Sizes):
    """The values of each axis, and the m that are tried."""

    n: tuple[int, ...] = size((10, 20, 40, 80, 160), "Clients.", quick=(20, 40))
    d: tuple[int, ...] = size((10, 20, 40, 80), "Dimensions.", quick=(10, 20))
    k: tuple[int, ...] = size((1, 2, 3, 4), "Widths of the representation.", quick=(1, 2))
    rank: tuple[int, ...] = size((3, 5, 8, 10), "Ranks of the models.", quick=(3, 5))
    m: tuple[int, ...] = size(
        (3, 4, 5, 6, 7, 9, 11, 13, 16, 19, 23, 27, 32, 38, 45, 54, 64, 76, 91, 108, 128),
        "Samples per client that are tried.",
        quick=(6, 11, 23, 45), least=2,
    )  # fmt: skip

    def check(self):
        for name in ("n", "d"):
            if min(getattr(self, name)) < BASE["rank"]:
                raise ValueError(
                    f"{name} must be at least {BASE['rank']}, the rank at which it is varied, got "
                    f"{min(getattr(self, name))}"
                )
        for name in ("k", "rank"):
            most = min(BASE["n"], BASE["d"])
            if max(getattr(self, name)) > most:
                raise ValueError(
                    f"{name} must be at most {most}, the d at which it is varied, got "
                    f"{max(getattr(self, name))}"
                )


def cells(sizes):
    around = Grid.around(BASE, {name: getattr(sizes, name) for name in AXES})
    return Grid.of({**cell, "m": m} for cell in around for m in sizes.m)


def spectrum(n, d, k, rank):
    """Return what the theorem knows of a cell: singular values of Phi, not over sqrt(n)."""
    values = np.sqrt(n) * np.r_[np.ones(k), np.full(max(rank - k, 0), REST)]
    return flute.Spectrum(values, n, d, k, NOISE)


def replicate(cell, rng, **_):
    n, d, k = cell["n"], cell["d"], cell["k"]
    truth_rng, data_rng, run_rng = lr.streams(rng, "truth", "data", "run")
    values = spectrum(n, d, k, cell["rank"]).singular_values
    truth = lr.LowRankRegression.random(
        n=n, d=d, singular_values=values, noise=NOISE, rng=truth_rng
    )
    data = truth.draw(cell["m"], rng=data_rng)
    trace = lr.flute(data, k=k, rounds=ROUNDS, record=ROUNDS, rng=run_rng)
    return {
        "client_error": trace["client_error"][-1],
        "success": bool(trace["client_error"][-1] <= GOAL),
        "stop_reason": trace.stop_reason,
    }


def sufficient(rows, axis):
    """Return the smallest sufficient m along an axis with its interval, and the theorem's."""
    table = crossings(along(rows, axis, BASE), "success", "m", [axis])
    settings = [BASE | {axis: int(value)} for value in table[axis]]
    spectra = [spectrum(**setting) for setting in settings]
    return table.assign(theorem=[
        float(flute_samples.theorem_5_1(
            each, GOAL, step_size=flute.step_size_limits(each)["theorem_5_1"]
        ))
        for each in spectra
    ])  # fmt: skip


def predicted(setting):
    """Return m at which the first-order error is the goal, for one draw of the models."""
    n, d, k = setting["n"], setting["d"], setting["k"]
    values = spectrum(**setting).singular_values
    truth = lr.LowRankRegression.random(n=n, d=d, singular_values=values, noise=NOISE, rng=0)
    return first_order.sufficient_samples(truth, k, GOAL)


def fits(table, axis):
    """Return the fitted exponents of the measured m and of the theorem's, None for too few."""
    there = table[np.isfinite(table["estimate"]) & (table["estimate"] > 0.0)]
    return [exponents(there[name], {axis: there[axis]}) for name in ("estimate", "theorem")]


def draw(rows, sizes):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(plotting.PAGE_WIDTH, 2.6))
    for axes, (axis, label) in zip(figure.subplots(1, 4, sharey=True), AXES.items(), strict=True):
        table = sufficient(rows, axis)
        measured, bound = fits(table, axis)
        shown = table.assign(estimate=table["estimate"].where(np.isfinite(table["estimate"])))
        plotting.scaling(
            axes, shown[axis], shown["estimate"], measured, shown["low"], shown["high"]
        )
        # The base, or where it is not among the sizes what is nearest to it.
        base = table.iloc[(np.log(table[axis]) - np.log(BASE[axis])).abs().argmin()]
        if bound is not None and np.isfinite(base["estimate"]):
            slope = bound.exponents[axis]
            scaled = table["theorem"] * base["estimate"] / base["theorem"]
            axes.plot(table[axis], scaled, color="0.3", linestyle=":",
                      label=f"Theorem 5.1, scaled: {slope:.2f}")  # fmt: skip
        sharp = [predicted(BASE | {axis: int(value)}) for value in table[axis]]
        axes.plot(table[axis], sharp, color="C3", linewidth=1.2, zorder=1, label="first order")
        axes.set(xlabel=label)
        plotting.plain_log_ticks(axes.xaxis)
        plotting.plain_log_ticks(axes.yaxis)
        if axes.get_legend_handles_labels()[1]:
            axes.legend(fontsize=6, loc="upper left")
    figure.axes[0].set_ylabel("smallest sufficient $m$")
    figure.axes[0].set_ylim(min(sizes.m) / 1.5, 3.125 * max(sizes.m))
    return figure


def summary(rows, sizes):
    """Return the smallest sufficient m, the theorem's over it, and exponents of both."""
    lines = []
    for axis in AXES:
        table = sufficient(rows, axis)
        for row in table.itertuples():
            where = f"{axis} = {getattr(row, axis)}"
            lines.append((f"m, {where}", row.estimate, row.low, row.high))
            times = row.theorem / row.estimate if row.estimate else np.inf
            lines.append((f"Theorem 5.1 over m, {where}", times, np.nan, np.nan))
        for name, fit in zip(("m", "Theorem 5.1"), fits(table, axis), strict=True):
            if fit is not None:
                ends = fit.exponents[axis], fit.low[axis], fit.high[axis]
                lines.append((f"exponent of {name} in {axis}", *ends))
    return pd.DataFrame(lines, columns=["what", "value", "low", "high"]).set_index("what")


def caption(rows, replicates, sizes):
    base = ", ".join(f"{name} = {value}" for name, value in BASE.items())
    table = sufficient(rows, "n")
    times = (table["theorem"] / table["estimate"]).replace([np.inf, 0.0], np.nan)
    beside = ""
    if any(fit for axis in AXES for fit in fits(sufficient(rows, axis), axis)):
        beside = """; lines: the power law fitted to them, with its 95 % interval. Dotted: N of
            Theorem 5.1 with the largest step that it allows, scaled to the point in the middle"""
    if beside and times.notna().any():
        beside += f"""; with c = 1 it is {times.min():.1g} to {times.max():.1g} times the measured m
            along n"""
    late = rows.loc[rows["stop_reason"] != "converged", "stop_reason"].size
    return f"""
        FLUTE on stored samples, one parameter changed at a time from {base}. The k leading singular
        values of Φ/√n are 1, the others {REST}, noise {NOISE}, covariates N(0, I). Success: a mean
        error per client, equation (7), of at most {GOAL} after at most {ROUNDS} rounds
        ({late} of {len(rows)} runs take all of them). Points: m at which a logistic curve in log m
        crosses one half, {replicates} draws for each m, with its 95 % profile-likelihood
        interval{beside}. Red: m at which the error of the minimizer of the empirical risk, to first
        order in 1/√m and for one draw of the models, is {GOAL}; nothing is fitted.
    """


EXPERIMENT = Experiment(
    id="flute.sample_size",
    title="Smallest sufficient number of samples per client against n, d, k and rank",
    cells=cells,
    replicate=replicate,
    draw=draw,
    caption=caption,
    summary=summary,
    signed=("exponent*",),
    sizes=SampleSize(),
    replicates=20,
    quick_replicates=6,
)

if __name__ == "__main__":
    run_script(EXPERIMENT)
