"""FLUTE: the rounds per factor e along n, d, k, rank, spectrum, steps and samples.

One parameter is changed at a time. Beside the measured rounds stand those of Theorem 5.5's factor,
1 - eta Delta/16, at the same step and at the largest step that Theorem 5.1 allows (not drawn), and
those of linrep.theory.asymptotics.flute.local_rate. The k leading singular values of Phi fall
geometrically from the condition number to 1; the next is 1 less the gap, and each after it half
the one before. Infinitely many samples, but along m. Runs start near their limit point, a small
step from it in all entries of both factors; what is followed is the mean over clients of the
distance of their models from those that the run ends with. Along the regularizer's step so is the
imbalance, the norm of B'B - W'W, of runs on infinitely many samples whose models are right and
whose factors are out of balance. Factors are taken over the last third of the rounds.
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
from linrep.theory import flute as theory
from linrep.theory.asymptotics import flute as asymptotics

MIDDLE = {
    "n": 40,
    "d": 20,
    "k": 3,
    "rank": 10,
    "condition": 2.0,
    "gap": 0.3,
    "step": 0.2,
    "regularizer": 1.0,
    "m": 0,
}  # fmt: skip; m = 0 is infinitely many
AXES = {
    "n": "clients, $n$",
    "d": "dimension, $d$",
    "k": "width, $k$",
    "rank": "rank of $\\Phi$",
    "condition": "$\\lambda_1/\\lambda_k$",
    "gap": "gap, $1-\\lambda_{k+1}/\\lambda_k$",
    "step": "step, $\\eta_l\\lambda_1$",
    "regularizer": "regularizer, $\\eta_r/\\eta_l$",
    "m": "samples, $m$",
}
SAME, LARGEST = "Theorem 5.5, same step", "Theorem 5.5, its largest step"
LINES = ("local rate", SAME, LARGEST)
IMBALANCE = {
    "imbalance": {"color": "C4", "marker": "s", "linestyle": "", "markerfacecolor": "none"},
    "imbalance, local rate": {"color": "C4", "linestyle": "-", "linewidth": 0.8},
}
START = 1e-3  # of the root of the largest singular value
FALL = 18.0  # e-folds of a run


@dataclass(frozen=True)
class Rates(Sizes):
    """The values of each axis."""

    n: tuple[int, ...] = size((10, 20, 40, 100, 400), "Clients.", quick=(20, 40))
    d: tuple[int, ...] = size((10, 20, 50, 200), "Dimensions.", quick=(10, 20))
    k: tuple[int, ...] = size((2, 3, 5, 8), "Widths of the representation.", quick=(2, 3))
    rank: tuple[int, ...] = size((4, 6, 10, 20), "Ranks of Phi.", quick=(5, 10))
    condition: tuple[float, ...] = size(
        (1.0, 2.0, 5.0, 10.0, 30.0), "lambda_1/lambda_k.", quick=(1.0, 2.0), minimum=1.0
    )
    gap: tuple[float, ...] = size(
        (0.03, 0.1, 0.3, 0.6, 0.8), "1 - lambda_{k+1}/lambda_k.", quick=(0.3, 0.6), above=0.0,
        below=1.0,
    )  # fmt: skip
    step: tuple[float, ...] = size(
        (4e-4, 4e-3, 0.04, 0.2, 0.6, 0.9, 0.98), "Steps, over 1/lambda_1.", quick=(0.2, 0.9),
        above=0.0, below=1.0,
    )  # fmt: skip
    regularizer: tuple[float, ...] = size(
        (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0), "Steps of the regularizer, over the step.",
        quick=(0.03, 1.0), above=0.0, below=5.0,
        because={"below": "its own step is below 1/lambda_1, too"},
    )  # fmt: skip
    m: tuple[int, ...] = size((50, 100, 300, 1000, 10000), "Samples.", quick=(100, 1000))

    def check(self):
        least, most = min(MIDDLE["n"], MIDDLE["d"]), MIDDLE["rank"]
        for name, values, low, high in (
            ("n", self.n, most, np.inf),
            ("d", self.d, most, np.inf),
            ("k", self.k, 2, most - 1),
            ("rank", self.rank, MIDDLE["k"] + 1, least),
        ):
            for value in values:
                if not low <= value <= high:
                    raise ValueError(f"{name} must be from {low} to {high:g}, got {value}")


def cells(sizes):
    return Grid.around(MIDDLE, {name: getattr(sizes, name) for name in AXES})


def draw_truth(cell, rng):
    leading = np.geomspace(cell["condition"], 1.0, cell["k"])
    tail = (1.0 - cell["gap"]) * 0.5 ** np.arange(cell["rank"] - cell["k"])
    return lr.LowRankRegression.random(
        n=cell["n"], d=cell["d"], singular_values=np.r_[leading, tail], rng=rng
    )


def replicate(cell, rng, **_):
    truth, k = draw_truth(cell, rng), cell["k"]
    spectrum = theory.Spectrum.of(truth, k)
    steps = {"step_size": 2.0 * cell["step"] / spectrum.first}
    steps["regularizer_step_size"] = cell["regularizer"] * steps["step_size"]
    rate, imbalance = asymptotics.local_rate(truth, k, **steps)
    largest = theory.step_size_limits(spectrum)["theorem_5_1"]
    return {
        "measured": measured(truth, cell, rate, steps, rng),
        "local rate": float(-1.0 / np.log(rate)),
        SAME: -1.0 / float(np.log(theory.decay(spectrum, steps["step_size"], 1))),
        LARGEST: -1.0 / float(np.log(theory.decay(spectrum, largest, 1))),
        "imbalance": measured_imbalance(truth, k, imbalance, steps),
        "imbalance, local rate": float(-1.0 / np.log(imbalance)),
    }


def measured(truth, cell, rate, steps, rng):
    """Return the rounds per factor e of a run that starts near its own limit point."""
    k, rounds = cell["k"], int(np.ceil(FALL / -np.log(rate)))
    best = truth.best(k)
    data, end = truth, (best.B, best.W)
    steps = steps | {"k": k, "batches": "population"}
    if cell["m"]:
        data, steps["batches"] = truth.draw(cell["m"], rng=rng), "fixed"
        whole = lr.flute(data, start=end, rounds=8 * rounds, record=8 * rounds, **steps)
        end = whole.state["B"], whole.state["W"]
    spread = START * np.sqrt(truth.singular_values[0])
    start = tuple(M + spread * rng.standard_normal(M.shape) for M in end)
    models = end[0] @ end[1].T
    return followed(
        data, rounds, lambda B, W: np.linalg.norm(B @ W.T - models, axis=0).mean(), start, steps
    )


def measured_imbalance(truth, k, rate, steps):
    """Return the rounds per factor e of the imbalance, from factors of the best models."""
    best, rounds = truth.best(k), int(np.ceil(FALL / -np.log(rate)))
    start = best.B * (1.0 + START), best.W / (1.0 + START)
    return followed(
        truth, rounds, lambda B, W: np.linalg.norm(B.T @ B - W.T @ W), start,
        steps | {"k": k, "batches": "population"},
    )  # fmt: skip


def followed(data, rounds, left, start, steps):
    """Return the rounds in which what is left falls by e, over the last third of a run."""
    before = 2 * rounds // 3
    run = lr.flute(
        data, start=start, rounds=rounds, record=[before, rounds],
        measure=lambda B, W: {"left": left(B, W)}, **steps,
    )  # fmt: skip
    return float((rounds - before) / np.log(run["left"][1] / run["left"][2]))


def means(rows, axis):
    """Return the means of all four along an axis, with the measured one's interval."""
    lines = []
    own = along(rows, axis, MIDDLE)
    for value, group in own[own[axis] > 0].groupby(axis):
        mean, low, high = map(float, mean_interval(group["measured"]))
        lines.append((value, mean, low, high, *(group[name].mean() for name in LINES)))
    return pd.DataFrame(lines, columns=[axis, "measured", "low", "high", *LINES])


def best_step():
    """Return the step, over 1/lambda_1, at which the base setting's local rate is the best."""
    return 2.0 * MIDDLE["condition"] / (2.0 * MIDDLE["condition"] + MIDDLE["gap"])


def draw(rows, sizes):
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator

    figure = Figure(figsize=(plotting.PAGE_WIDTH, 4.4))
    grid = figure.subplots(2, 5, sharey="row")
    for ax, (axis, label) in zip(grid.flat, AXES.items(), strict=False):
        table = means(rows, axis)
        plotting.scaling(
            ax, table[axis], table["measured"], low=table["low"], high=table["high"],
            label="measured", place=0,
        )  # fmt: skip
        if axis == "regularizer":
            own = along(rows, axis, MIDDLE).groupby(axis)
            for name, look in IMBALANCE.items():
                values = own[name].mean()
                ax.plot(values.index, values, label=name.replace(", ", ",\n"), **look)
        ax.plot(table[axis], table["local rate"], color="C3", label="local rate,\nnot fitted")
        allowed = table[SAME] >= table[LARGEST]  # the longer the step, the fewer rounds
        for shown, style, title in ((allowed, "--", ""), (~allowed, ":", ",\nnot allowed")):
            if shown.any():
                values = table[SAME].where(shown)
                ax.plot(
                    table[axis], values, style, color="C1", label=f"Theorem 5.5,\nsame step{title}"
                )
        if MIDDLE[axis]:
            ax.axvline(MIDDLE[axis], color="0.8", linewidth=0.8, zorder=0, label="base setting")
        if axis == "step":
            ax.axvline(best_step(), color="C2", linestyle="-.", linewidth=0.8, label="best step")
        ax.set(xscale="log", yscale="log", xlabel=label)
        ax.tick_params(axis="x", labelsize=6.5)
        if table[axis].max() <= 40 * table[axis].min():  # else powers of ten have room only
            plotting.plain_log_ticks(ax.xaxis)
        else:
            ax.xaxis.set_major_locator(LogLocator(numticks=5))
    for ax in grid[:, 0]:
        ax.set_ylabel("rounds per factor e")
    grid.flat[-1].set_axis_off()
    entries = {}
    for ax in grid[1, 1:3]:
        handles, titles = ax.get_legend_handles_labels()
        entries.update(zip(titles, handles, strict=True))
    grid.flat[-1].legend(entries.values(), entries, loc="center", fontsize="small")
    return figure


def summary(rows, sizes):
    """Return all at each setting, and exponents in what the rounds depend on."""
    lines = []
    for axis in AXES:
        table = means(rows, axis)
        for row in table.to_dict("records"):
            where = f"{axis} = {row[axis]:g}"
            lines.append((f"measured, {where}", row["measured"], row["low"], row["high"]))
            lines += [(f"{name}, {where}", row[name], np.nan, np.nan) for name in LINES]
        if axis == "regularizer":
            for value, own in along(rows, axis, MIDDLE).groupby(axis):
                lines += [
                    (f"{name}, {axis} = {value:g}", own[name].mean(), np.nan, np.nan)
                    for name in IMBALANCE
                ]
        for name in ("measured", *LINES) if axis in ("condition", "gap") else ():
            law = exponents(table[name], {axis: table[axis]}, robust=True)
            if law is not None:
                ends = law.exponents[axis], law.low[axis], law.high[axis]
                lines.append((f"exponent in {axis}, {name}", *ends))
    return pd.DataFrame(lines, columns=["what", "value", "low", "high"]).set_index("what")


def caption(rows, replicates, sizes):
    base = along(rows, "n", MIDDLE)[LARGEST].mean()
    return f"""
        FLUTE: rounds in which the clients' distance from the models that the run ends with falls by
        the factor e, over the last third of runs from near them; means over {replicates} draws
        with 95 % intervals, mostly smaller than the markers. One parameter changed at a time from
        n = {MIDDLE["n"]}, d = {MIDDLE["d"]}, k = {MIDDLE["k"]}, rank {MIDDLE["rank"]},
        λ₁/λ_k = {MIDDLE["condition"]:g}, gap {MIDDLE["gap"]:g}, η_lλ₁ = {MIDDLE["step"]:g},
        η_r = η_l and infinitely many samples (grey lines). Red: the round, linearized at the best
        models of rank k; green: the step at which that is fastest. Dashed: Theorem 5.5's 1 − ηΔ/16
        at the same step, dotted where Theorem 5.1 does not allow the step. At the largest one that
        it allows, {base / 1000:.0f} thousand rounds with the base's spectrum, not drawn. Squares
        and the thin line: the norm of BᵀB − WᵀW, measured and linearized.
    """


EXPERIMENT = Experiment(
    id="flute.rates",
    title="The rounds per factor e along spectrum, steps and sizes, beside theorem and local rate",
    cells=cells,
    replicate=replicate,
    draw=draw,
    caption=caption,
    summary=summary,
    signed=("exponent*",),
    sizes=Rates(),
    replicates=8,
    quick_replicates=3,
)

if __name__ == "__main__":
    run_script(EXPERIMENT)
