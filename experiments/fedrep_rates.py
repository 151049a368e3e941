"""FedRep: the factor per round of the distance along n, d, m, k, kappa, r and the step.

One parameter is changed at a time. Beside the measured factor stand Theorem 1's, (11), which names
only the step and the heads' least singular value, and that of
linrep.theory.finite.typical_contraction, which names all seven. Fresh Gaussian batches, simulated
through their sufficient statistics; exact heads; no noise. The step is in units of 1/sigma_max^2,
for all clients together: the theorem allows 1/4, beyond which (11) is a formula only. Runs start
near the truth, where the factor is the same in every round; it is taken over the second half of
the rounds.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

import linrep as lr
from linrep.cli import run_script
from linrep.figures import plotting
from linrep.figures.experiment import Experiment
from linrep.figures.sizes import Sizes, size
from linrep.figures.summaries import along, exponents
from linrep.stats import mean_interval
from linrep.sweeps import Grid
from linrep.theory import fedrep as theory
from linrep.theory import finite

MIDDLE = {"n": 200, "d": 200, "m": 10, "k": 2, "condition": 1.5, "participation": 1.0, "step": 0.25}
AXES = {
    "n": "clients, $n$",
    "d": "dimension, $d$",
    "m": "samples, $m$",
    "k": "rank, $k$",
    "condition": "condition number, $\\kappa$",
    "participation": "participation, $r$",
    "step": "step, $\\eta\\sigma_{\\max}^2$",
}
ALLOWED = 0.25  # the largest step of Theorem 1
BEYOND = "Theorem 1 beyond its steps"
START = 0.01


@dataclass(frozen=True)
class Rates(Sizes):
    """The values of each axis."""

    n: tuple[int, ...] = size((20, 50, 100, 200, 500, 1000), "Clients.", quick=(50, 200))
    d: tuple[int, ...] = size((20, 50, 200, 1000, 4000), "Dimensions.", quick=(50, 200))
    m: tuple[int, ...] = size(
        (4, 6, 10, 20, 50, 200),
        "Samples.",
        quick=(5, 10),
        minimum=4,
        because={"minimum": "heads of rank k take k + 2, and it is varied at k = 2"},
    )
    k: tuple[int, ...] = size(
        (1, 2, 4, 6, 8),
        "Ranks.",
        quick=(1, 2),
        maximum=8,
        because={"maximum": "heads take k + 2 samples, and it is varied at m = 10"},
    )
    condition: tuple[float, ...] = size(
        (1.0, 1.5, 2.0, 3.0, 4.0), "Condition numbers kappa.", quick=(1.0, 1.5), minimum=1.0
    )
    participation: tuple[float, ...] = size(
        (0.05, 0.1, 0.2, 0.5, 1.0), "Participation.", quick=(0.5, 1.0), above=0.0, maximum=1.0
    )
    step: tuple[float, ...] = size(
        (0.05, 0.1, 0.25, 0.5, 1.0), "Steps, over 1/sigma_max^2.", quick=(0.1, 0.25), above=0.0,
        maximum=4.0, because={"maximum": "(11) ends at 2/(E0 sigma_min^2), not far above"},
    )  # fmt: skip
    rounds: int = size(120, "Rounds of a run.", quick=40, minimum=2)

    def check(self):
        n, k = MIDDLE["n"], MIDDLE["k"]
        for name, values, least, why in (
            ("n", self.n, k, f"the rank k = {k}"),
            ("d", self.d, 2 * k, f"2k = {2 * k}, for k angles with the start"),
            ("participation", self.participation, 1.0 / n, f"{1.0 / n:g}, one of n = {n} clients"),
        ):
            if min(values) < least:
                raise ValueError(f"{name} must be at least {why}, got {min(values):g}")


def cells(sizes):
    return Grid.around(MIDDLE, {name: getattr(sizes, name) for name in AXES})


def replicate(cell, rng, **sizes):
    rounds = Rates(**sizes).rounds
    truth = lr.SharedRepresentation.random(
        n=cell["n"],
        d=cell["d"],
        k=cell["k"],
        condition=cell["condition"] if cell["k"] > 1 else None,
        store=False,
        rng=rng,
    )
    values = np.linalg.svd(truth.W, compute_uv=False) / np.sqrt(truth.n)
    settings = {
        "m": cell["m"],
        "step_size": cell["step"] / values[0] ** 2,
        "participation": cell["participation"],
    }
    trace = lr.fedrep(truth, rounds=rounds, batches="gram", start=START, rng=rng, **settings)
    half = rounds // 2
    ratio = trace["distance"][-1] / trace["distance"][half]
    bound = theory.contraction(values[-1], step_size=settings["step_size"], initial_distance=START)
    return {
        "measured": float(ratio ** (1.0 / (rounds - half))),
        "end": float(trace["distance"][-1]),
        "predicted": finite.typical_contraction(truth, **settings),
        "Theorem 1": float(bound),
    }


def means(rows, axis):
    """Return the means of all three factors along an axis, with the measured one's interval."""
    lines = []
    for value, own in along(rows, axis, MIDDLE).groupby(axis):
        mean, low, high = map(float, mean_interval(own["measured"]))
        others = own[["predicted", "Theorem 1", "end"]].mean()
        lines.append((value, mean, low, high, *others, own["step"].iloc[0] <= ALLOWED))
    names = [axis, "measured", "low", "high", "predicted", "Theorem 1", "end", "allowed"]
    return pd.DataFrame(lines, columns=names)


def stuck(rows):
    """Return the settings whose runs end no nearer than they started, with the distance there."""
    return {
        f"{axis} = {row[axis]:g}": row["end"]
        for axis in AXES
        for row in means(rows, axis).query("end >= @START").to_dict("records")
    }


def draw(rows, sizes):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(plotting.PAGE_WIDTH, 3.8))
    grid = figure.subplots(2, 4, sharey=True)
    for ax, (axis, label) in zip(grid.flat, AXES.items(), strict=False):
        table = means(rows, axis)
        plotting.scaling(
            ax, table[axis], table["measured"], low=table["low"], high=table["high"],
            label="measured", place=0,
        )  # fmt: skip
        ax.plot(table[axis], table["predicted"], color="C3", label="predicted, not fitted")
        bound = table["Theorem 1"]
        ax.plot(table[axis], bound.where(table["allowed"]), "--", color="C1", label="Theorem 1")
        if not table["allowed"].all():
            ax.plot(table[axis], bound, ":", color="C1", alpha=0.6, label=BEYOND, zorder=1)
        ax.axvline(MIDDLE[axis], color="0.8", linewidth=0.8, zorder=0, label="base setting")
        ax.set(xscale="log", yscale="linear", xlabel=label)
        if table[axis].max() < 40 * table[axis].min():  # else powers of ten have room only
            plotting.plain_log_ticks(ax.xaxis)
    for ax in grid[:, 0]:
        ax.set_ylabel("factor per round")
    grid[0, 0].set_ylim(top=min(grid[0, 0].get_ylim()[1], 1.1))
    grid.flat[-1].set_axis_off()
    handles = grid.flat[-2].get_legend_handles_labels()  # the steps' panel has all lines
    grid.flat[-1].legend(*handles, loc="center")
    return figure


def summary(rows, sizes):
    """Return the three factors at each setting, and exponents of what a round takes off."""
    lines = []
    for axis in AXES:
        table = means(rows, axis)
        for row in table.itertuples(index=False):
            where = f"{axis} = {row[0]:g}"
            lines.append((f"measured, {where}", row.measured, row.low, row.high))
            lines.append((f"predicted, {where}", row.predicted, np.nan, np.nan))
            name = "Theorem 1" if row.allowed else BEYOND
            lines.append((f"{name}, {where}", row[5], np.nan, np.nan))
        for name in ("measured", "Theorem 1"):
            own = table[table["allowed"]] if name == "Theorem 1" else table
            gain = -np.log(own[name])
            law = exponents(gain, {axis: own[axis]}, robust=True) if (gain > 0.0).all() else None
            if law is not None:
                ends = law.exponents[axis], law.low[axis], law.high[axis]
                lines.append((f"exponent in {axis}, {name}", *ends))
    lines += [
        (f"does not contract, ends at, {w}", d, np.nan, np.nan) for w, d in stuck(rows).items()
    ]
    return pd.DataFrame(lines, columns=["what", "value", "low", "high"]).set_index("what")


def caption(rows, replicates, sizes):
    middle = ", ".join(
        f"{name} = {value:g}"
        for name, value in (
            *((name, MIDDLE[name]) for name in ("n", "d", "m", "k")),
            ("κ", MIDDLE["condition"]), ("r", MIDDLE["participation"]), ("ησ²_max", MIDDLE["step"]),
        )
    )  # fmt: skip
    beyond = (
        ", dotted at steps beyond the ¼ that Theorem 1 allows" if max(sizes.step) > ALLOWED else ""
    )
    ends = ", ".join(f"{where} (distance {end:.2g})" for where, end in stuck(rows).items())
    ends = f" Do not contract, ending no nearer than they start: {ends}." if ends else ""
    return f"""
        FedRep with exact heads on fresh Gaussian batches, no noise: factor by which a round shrinks
        the distance, over the second half of {sizes.rounds} rounds from distance {START}; means
        over {replicates} draws with 95 % intervals, mostly smaller than the markers. One parameter
        changed at a time from {middle} (grey lines). Red: of a typical run, by the exact mean
        square, for the same heads. Dashed: (11){beyond}.{ends}
    """


EXPERIMENT = Experiment(
    id="fedrep.rates",
    title="The factor per round along n, d, m, k, κ, r and the step, beside bound and prediction",
    cells=cells,
    replicate=replicate,
    draw=draw,
    caption=caption,
    summary=summary,
    signed=("exponent*",),
    sizes=Rates(),
    replicates=12,
    quick_replicates=4,
)

if __name__ == "__main__":
    run_script(EXPERIMENT)
