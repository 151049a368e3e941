"""pFL^MF: the factor per round near a minimum, and sums of squared gradients, along everything.

One parameter is changed at a time. Functions are |x - a_i|^2/2; the singular values of A fall
geometrically from root(n) by the condition number, over the rank k, and the next one is a share
`tail` of the k-th, 0 where A has rank k. Runs start at a relative error of 1e-3 from the balanced
factors of the best matrix of rank k, so that all of their rounds are near the minimum. All clients'
gradients move U and eta_v = p eta/K, as in Theorem 1; there is no noise, and L is valid on a ball
around the start that no run leaves, which every row records.

Theorem 1 says nothing of a factor: it is about the mean of squared gradients, O(1/T). Above stands
1 minus the factor by which the error of the models shrinks in a round, over the second half of the
rounds, beside that of the mean map, linrep.theory.asymptotics.pflmf. Below stands the sum over
rounds of Delta_U + p^2 Delta_V, in units of L (F^0 - F^*), beside the bounds on it of Theorem 1,
with p^2, and of its sharp form: 2/(x (1 - 2 x)) and 1/(x (1 - c x)), x = eta L, c of p and K. The
mean of Delta_U + p^2 Delta_V is epsilon L (F^0 - F^*) after this sum over epsilon rounds. Theorem 1
as printed has the same bound on the sum of Delta_U + Delta_V, without p^2, which stands there, too.
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
MEASURED, MAP = FACTORS = ("measured", "mean map")  # of 1 - factor
SUMS = ("sum with p^2", "sum without p^2")
SHARP, THEOREM = BOUNDS = ("sharp form", "Theorem 1, with p^2")
LOOKS = {
    MEASURED: {"color": "C0", "marker": "o"},
    SUMS[0]: {"color": "C0", "marker": "o"},
    SUMS[1]: {"color": "C2", "marker": "s", "markerfacecolor": "white"},
    SHARP: {"color": "k", "linestyle": "-."},
    THEOREM: {"color": "C1", "linestyle": "--"},
}
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
        (0.1, 0.2, 0.5, 1.0),
        "Participation.",
        quick=(0.5, 1.0),
        minimum=0.05,
        maximum=1.0,
        because={"minimum": "rounds grow like 1/p^2"},
    )
    step: tuple[float, ...] = size(
        (0.05, 0.1, 0.25, 0.4, 0.7, 0.95), "Steps, over 1/L.", quick=(0.1, 0.25), above=0.0,
        below=1.0, because={"below": "the bounds on the sum end there"},
    )  # fmt: skip
    condition: tuple[float, ...] = size(
        (1.0, 2.0, 4.0, 8.0), "Condition numbers s_1/s_k.", quick=(1.0, 2.0), minimum=1.0
    )
    tail: tuple[float, ...] = size(
        (0.0, 0.25, 0.5, 0.75, 0.9), "Singular value k + 1 over the k-th.", quick=(0.0, 0.5),
        minimum=0.0, below=0.99, because={"below": "rounds grow like 1/(1 - tail)"},
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
    errors, sums, reach = [], np.zeros(2), 0.0
    for run_rng in run_rngs:
        trace = lr.pflmf(
            problem, k=k, head_step_size="theorem", aggregate="full", start=tuple(state),
            rounds=half, record=[half], rng=run_rng, **settings,
        )  # fmt: skip
        state = [trace.state["U"], trace.state["V"]]
        errors.append(np.linalg.norm(state[1] @ state[0].T - models))
        reach += max(float(trace["reach_U"][-1]), float(trace["reach_V"][-1]))
        sums += half * np.array([trace["average_U"][-1], trace["average_V"][-1]], dtype=float)
    sums /= L * gap
    return {
        MEASURED: 1.0 - float((errors[1] / errors[0]) ** (1.0 / half)),
        MAP: 1.0 - rate,
        SUMS[0]: float(sums[0] + p**2 * sums[1]),
        SUMS[1]: float(sums.sum()),
        **dict(zip(BOUNDS, map(float, bounds(x, p, cell["K"])), strict=True)),
        "reach": reach / (BALL * radius),
    }


def bounds(x, p, K):
    """Return the bounds of the sharp form and of Theorem 1 at steps x = eta L, at p and K."""
    given = {"smoothness": 1.0, "step_size": x, "rounds": 1.0}
    sharp = pflmf.sharp_stationarity_bound(1.0, **given, participation=p, local_steps=K)
    return sharp.start, pflmf.theorem1(1.0, **given).start + 0.0 * p


def means(rows, axis, name):
    """Return the means of a column along an axis, with intervals of what is measured."""
    own = along(rows, axis, MIDDLE).groupby(axis)[name]
    if name == MAP or name in BOUNDS:
        return own.mean().to_frame("value").assign(low=np.nan, high=np.nan)
    lines = {value: map(float, mean_interval(column)) for value, column in own}
    return pd.DataFrame.from_dict(lines, orient="index", columns=["value", "low", "high"])


def points(ax, rows, axis, name):
    table = means(rows, axis, name)
    spread = [table["value"] - table["low"], table["high"] - table["value"]]
    ax.errorbar(
        table.index, table["value"], np.nan_to_num(spread), linestyle="none", markersize=3.5,
        elinewidth=0.9, capsize=1.5, label=name.replace("p^2", "$p^2$"), **LOOKS[name],
    )  # fmt: skip


def draw(rows, sizes):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(plotting.PAGE_WIDTH, 5.4))
    axes = list(AXES)
    panels = figure.subplot_mosaic([axes[:4], axes[4:], ["sum p", "sum step", ".", "."]])
    above, below = [panels[axis] for axis in axes], [panels["sum p"], panels["sum step"]]
    for ax, (axis, label) in zip(above, AXES.items(), strict=True):
        points(ax, rows, axis, MEASURED)
        ax.plot(means(rows, axis, MAP)["value"], color="C3", label=MAP)
        finish(ax, axis, label, above[0])
    for ax, axis in zip(below, ("p", "step"), strict=True):
        for name in SUMS:
            points(ax, rows, axis, name)
        fine = np.geomspace(rows[axis].min(), rows[axis].max(), 400)
        drawn = bounds(**{"x": MIDDLE["step"], "p": MIDDLE["p"], "K": 1,
                          {"step": "x"}.get(axis, axis): fine})  # fmt: skip
        for name, line in zip(BOUNDS, drawn, strict=True):
            ax.plot(fine, line, label=name.replace("p^2", "$p^2$"), **LOOKS[name])
        finish(ax, axis, AXES[axis], below[0])
    for ax, names in ((above[0], [MAP]), (below[0], [*SUMS, *BOUNDS])):
        values = rows[names].replace(np.inf, np.nan)  # of Theorem 1 from eta L = 1/2 on
        ax.set_ylim(values.min(axis=None) / 1.5, 1.5 * values.max(axis=None))
        plotting.plain_log_ticks(ax.yaxis)
    for ax in (above[0], above[4]):
        ax.set_ylabel("1 − factor per round")
    below[0].set_ylabel("sum / $L(F^0 - F^*)$")
    handles, labels = above[0].get_legend_handles_labels()
    figure.legend(handles[::-1], labels[::-1], loc="outside upper center", ncols=3)
    handles, labels = below[1].get_legend_handles_labels()
    legend = below[1].legend(
        handles[::-1], labels[::-1], loc="center left", bbox_to_anchor=(1.15, 0.5)
    )
    legend.set_in_layout(False)  # it stands in the two empty places
    return figure


def finish(ax, axis, label, first):
    """Scale and label a panel, whose height is that of its block's first one."""
    ax.axvline(MIDDLE[axis], color="0.75", linewidth=0.8, zorder=0, label="base value")
    ax.set(xscale="linear" if axis == "tail" else "log", yscale="log", xlabel=label)
    if axis != "tail":
        plotting.plain_log_ticks(ax.xaxis)
    if ax is not first:
        ax.sharey(first)
        ax.tick_params(labelleft=axis == "p")


def summary(rows, sizes):
    """Return what is measured and predicted at each setting, and how far runs went."""
    lines = []
    for name in (*FACTORS, *SUMS, *BOUNDS):
        what = f"1 - factor, {name}" if name in FACTORS else name
        for axis in ("p", "step") if name in BOUNDS else AXES:
            lines += [
                (f"{what}, {axis} = {value:g}", *line)
                for value, *line in means(rows, axis, name).itertuples(name=None)
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
        intervals. Above: 1 minus the factor by which a round shrinks the models' error, of which
        Theorem 1 says nothing, beside that of the mean map (red). Below: the sum over rounds of
        Δ_U + p²Δ_V and of Δ_U + Δ_V, with and without p², in units of L(F⁰ − F*), beside the bounds
        of Theorem 1, with p², and of its sharp form. Theorem 1 as printed has the same bound
        without p²; this bound is for ηL below 1/2, towards which it leaves the panel. The summary
        has the sums along the other parameters.
    """


EXPERIMENT = Experiment(
    id="pflmf.rates",
    title="The factor per round along eight parameters, and sums of squared gradients",
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
