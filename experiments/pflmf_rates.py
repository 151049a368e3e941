"""pFL^MF: the factor per round near a minimum, and the sum of squared gradients, along everything.

One parameter is changed at a time. Functions are |x - a_i|^2/2; the singular values of A fall
geometrically from root(n) by the condition number, over the rank k, and the next one is a share
`tail` of the k-th, 0 where A has rank k. Runs start near the balanced factors of the best matrix of
rank k, with all clients' gradients in U and eta_v = p eta/K, as in Theorem 1, no noise, and L valid
on a ball around the start that no run leaves, which every row records.

Theorem 1 says nothing of a factor: it is about the mean of squared gradients, O(1/T). Above stands
the factor by which the error of the models shrinks in a round, over the second half of the rounds,
beside that of linrep.theory.asymptotics.pflmf. Below stands the sum over rounds of Delta_U + p^2
Delta_V, in units of L (F^0 - F*), beside the bounds of Theorem 1, with p^2, and of its sharp form:
2/(x (1 - 2 x)) and 1/(x (1 - x)), x = eta L. A mean squared gradient of epsilon L (F^0 - F*) takes
this sum over epsilon rounds.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

import linrep as lr
from linrep.cli import run_script
from linrep.figures import plotting
from linrep.figures.experiment import Experiment
from linrep.figures.sizes import Sizes, size
from linrep.figures.summaries import along
from linrep.problems.subspace import random_frame
from linrep.stats import mean_interval
from linrep.sweeps import Grid
from linrep.theory import asymptotics, pflmf

MIDDLE = {"n": 40, "d": 20, "k": 2, "K": 1, "p": 0.5, "step": 0.25, "condition": 2.0, "tail": 0.0}
AXES = {
    "n": "clients, $n$",
    "d": "dimension, $d$",
    "k": "rank, $k$",
    "K": "local steps, $K$",
    "p": "participation, $p$",
    "step": r"step, $\eta L$",
    "condition": "$s_1/s_k$",
    "tail": "$s_{k+1}/s_k$",
}
FACTORS = {"measured": "measured", "local rate": "mean map, not fitted"}
SUMS = {"sum": "measured", "sharp sum": "sharp form", "printed sum": "Theorem 1, $p^2$"}
STYLES = {"local rate": ("C3", "-"), "sharp sum": ("k", "-."), "printed sum": ("C1", "--")}
START, FOLDS = 1e-3, 16.0  # relative error of the start; powers of e that a run takes off it
BALL = 3.0  # radius of the ball that L is of, over the error of the start


@dataclass(frozen=True)
class Rates(Sizes):
    """The values of each axis."""

    n: tuple[int, ...] = size((20, 40, 100, 300), "Clients.", quick=(20, 40))
    d: tuple[int, ...] = size((10, 20, 50, 200), "Dimensions.", quick=(10, 20))
    k: tuple[int, ...] = size((1, 2, 4, 8), "Ranks.", quick=(1, 2))
    K: tuple[int, ...] = size((1, 2, 5, 20), "Local steps.", quick=(1, 5))
    p: tuple[float, ...] = size(
        (0.1, 0.2, 0.5, 1.0), "Participation.", quick=(0.5, 1.0), minimum=0.05, maximum=1.0
    )
    step: tuple[float, ...] = size(
        (0.05, 0.1, 0.25, 0.4, 0.7, 0.95), "Steps, over 1/L.", quick=(0.1, 0.25), above=0.0,
        below=1.0,
    )  # fmt: skip
    condition: tuple[float, ...] = size(
        (1.0, 2.0, 4.0, 8.0), "Condition numbers s_1/s_k.", quick=(1.0, 2.0), minimum=1.0
    )
    tail: tuple[float, ...] = size(
        (0.0, 0.25, 0.5, 0.75, 0.9), "Singular value k + 1 over the k-th.", quick=(0.0, 0.5),
        minimum=0.0, below=0.99,
    )  # fmt: skip

    def check(self):
        most, least = max(*self.k, MIDDLE["k"]) + 1, min(*self.n, *self.d)
        if most > least:
            raise ValueError(f"n and d must be above the largest rank, {most - 1}, got {least}")


def cells(sizes):
    return Grid.around(MIDDLE, {name: getattr(sizes, name) for name in AXES})


def centres(cell, rng):
    """Return A, and the balanced factors of its best matrix of rank k."""
    n, d, k = cell["n"], cell["d"], cell["k"]
    s = np.sqrt(n) * np.geomspace(1.0, 1.0 / cell["condition"] if k > 1 else 1.0, k)
    P, Q = random_frame(n, k + 1, rng), random_frame(d, k + 1, rng)
    A = (P * np.append(s, cell["tail"] * s[-1])) @ Q.T
    return A, Q[:, :k] * np.sqrt(s), P[:, :k] * np.sqrt(s)


def replicate(cell, rng, **_):
    truth_rng, start_rng, *run_rngs = lr.streams(rng, "truth", "start", "first half", "second")
    A, U, V = centres(cell, truth_rng)
    problem, models = lr.QuadraticObjectives(A), V @ U.T
    k, p, x = cell["k"], cell["p"], cell["step"]
    radius, state = START * np.linalg.norm(U), []
    for F in (U, V):
        move = start_rng.standard_normal(F.shape)
        state.append(F + radius * move / np.linalg.norm(move))
    L = pflmf.local_smoothness(problem, *state, BALL * radius, BALL * radius).largest
    settings = {"step_size": x / L, "participation": p, "local_steps": cell["K"]}
    rate = asymptotics.pflmf.mean_rate(problem, k=k, **settings)
    half = int(np.ceil(0.5 * FOLDS / -np.log(rate)))
    gap = problem.value(state[1] @ state[0].T) - problem.value(models)
    errors, total, reach = [], 0.0, 0.0
    for run_rng in run_rngs:
        trace = lr.pflmf(
            problem, k=k, head_step_size="theorem", aggregate="full", start=tuple(state),
            rounds=half, record=[half], rng=run_rng, **settings,
        )  # fmt: skip
        state = [trace.state["U"], trace.state["V"]]
        errors.append(np.linalg.norm(state[1] @ state[0].T - models))
        reach += max(float(trace["reach_U"][-1]), float(trace["reach_V"][-1]))
        total += half * float(trace["average_U"][-1] + p**2 * trace["average_V"][-1])
    return {
        "measured": float((errors[1] / errors[0]) ** (1.0 / half)),
        "local rate": rate,
        "sum": total / (L * gap),
        "sharp sum": 1.0 / (x * (1.0 - x)),
        "printed sum": 2.0 / (x * (1.0 - 2.0 * x)) if x < 0.5 else np.inf,
        "reach": reach / (BALL * radius),
    }


def means(rows, axis, what, others):
    """Return means along an axis: of what is measured, with an interval, and of predictions."""
    lines = []
    for value, own in along(rows, axis, MIDDLE).groupby(axis):
        low_high = map(float, mean_interval(own[what]))
        lines.append((value, *low_high, *(own[other].mean() for other in others)))
    return pd.DataFrame(lines, columns=[axis, what, "low", "high", *others])


def draw(rows, sizes):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(plotting.PAGE_WIDTH, 6.8))
    grid = figure.subplots(4, 4)
    for block, shown in ((grid[:2], FACTORS), (grid[2:], SUMS)):
        what, *others = shown
        for ax, (axis, label) in zip(block.flat, AXES.items(), strict=True):
            if ax is not block[0, 0]:
                ax.sharey(block[0, 0])
            table = means(rows, axis, what, others)
            spread = [table[what] - table["low"], table["high"] - table[what]]
            ax.errorbar(table[axis], table[what], np.nan_to_num(spread), fmt="o", color="C0",
                        markersize=3.5, elinewidth=0.9, capsize=1.5, label=shown[what])  # fmt: skip
            for other in others:
                color, line = STYLES[other]
                ax.plot(table[axis], table[other], color=color, linestyle=line, label=shown[other])
            ax.axvline(MIDDLE[axis], color="0.85", linewidth=0.8, zorder=0)
            ax.set(
                xscale="linear" if axis == "tail" else "log", xlabel=label,
                yscale="log" if what == "sum" else "linear",
            )  # fmt: skip
            ends = sorted({table[axis].min(), MIDDLE[axis], table[axis].max()})
            ax.set_xticks(ends, [f"{end:g}" for end in ends])
            ax.minorticks_off()
        if what == "sum":
            ticks = (1, 2, 5, 10, 20, 50)
            block[0, 0].set_yticks(ticks, map(str, ticks))
        for ax in block[:, 1:].flat:
            ax.tick_params(labelleft=False)
        for ax in block[:, 0]:
            ax.set_ylabel("sum / $L(F^0 - F^*)$" if what == "sum" else "factor per round")
    both = {}
    for ax in grid[::2, 0]:
        both |= dict(zip(*reversed(ax.get_legend_handles_labels()), strict=True))
    figure.legend(both.values(), both, loc="outside upper center", ncols=4)
    return figure


def summary(rows, sizes):
    """Return what is measured and predicted at each setting, and how far runs went."""
    lines = []
    for shown in (FACTORS, SUMS):
        what, *others = shown
        for axis in AXES:
            for row in means(rows, axis, what, others).itertuples(index=False):
                where = f"{axis} = {row[0]:g}"
                lines.append((f"{what}, {where}", *row[1:4]))
                lines += [
                    (f"{other}, {where}", value, np.nan, np.nan)
                    for other, value in zip(others, row[4:], strict=True)
                ]
    lines.append(("reach over the ball's radius, largest", rows["reach"].max(), np.nan, np.nan))
    return pd.DataFrame(lines, columns=["what", "value", "low", "high"]).set_index("what")


def caption(rows, replicates, sizes):
    middle = ", ".join(f"{name} = {value:g}" for name, value in list(MIDDLE.items())[:5])
    return f"""
        pFL^MF with Theorem 1's step sizes and U moved with all clients' gradients, no noise, on
        functions |x − a_i|²/2, from a relative error of {START:g} around the balanced minimum; one
        parameter changed at a time from {middle}, ηL = {MIDDLE["step"]:g}, s_1/s_k =
        {MIDDLE["condition"]:g}, A of rank k (grey lines); means over {replicates} draws with 95 %
        intervals. Above: the factor by which a round shrinks the models' error, beside that of the
        mean over participants (red), of which Theorem 1 says nothing. Below: T times the mean of
        Δ_U + p²Δ_V, in units of L(F⁰ − F*), beside the bounds of Theorem 1, for ηL below 1/2, and
        of its sharp form.
    """


EXPERIMENT = Experiment(
    id="pflmf.rates",
    title="The factor per round along eight parameters, and the sum of squared gradients",
    cells=cells,
    replicate=replicate,
    draw=draw,
    caption=caption,
    summary=summary,
    sizes=Rates(),
    replicates=8,
    quick_replicates=3,
)

if __name__ == "__main__":
    run_script(EXPERIMENT)
