"""pFL^MF, Theorem 1: the measure of stationarity against T, for p = 1 ... 0.02, beside its bound.

Nothing of the kind is in the paper. The form is that of the analysis: all clients' gradients in U,
eta_v = p eta/K, no noise. The instance is quadratic and starts at V = 0; it is so small that
`local_smoothness` gives a valid L on a ball that no run leaves, which every row records.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

import linrep as lr
from linrep.cli import run_script
from linrep.figures import plotting
from linrep.figures.experiment import Experiment
from linrep.figures.sizes import Sizes, size
from linrep.sweeps import Grid
from linrep.theory import pflmf

SCALE, RADIUS = 5e-4, 0.04
PRINTED = "Theorem 1"


@dataclass(frozen=True)
class Stationarity(Sizes):
    """What is varied: participation and local steps."""

    p: tuple[float, ...] = size(
        (1.0, 0.5, 0.25, 0.1, 0.05, 0.02), "Participation: a curve each.",
        quick=(1.0, 0.25, 0.02), most=8, above=0.0, maximum=1.0,
    )  # fmt: skip
    K: tuple[int, ...] = size((1, 5), "Local steps: a panel each.", most=2)
    T: int = size(40_000, "Rounds.", quick=2000, minimum=10)
    n: int = size(40, "Clients.")
    d: int = size(3, "Dimension, and rank.")

    def check(self):
        if min(self.p) * self.n < 0.5:
            raise ValueError(
                f"p must be at least {0.5 / self.n:g}, or it selects none of n = {self.n} clients; "
                f"got {min(self.p):g}"
            )


def cells(sizes):
    return Grid.product({"p": sizes.p, "K": sizes.K, "T": sizes.T})


def replicate(cell, rng, **sizes):
    figure = Stationarity(**sizes)
    n, d = figure.n, figure.d
    p, K, T = cell["p"], cell["K"], cell["T"]
    A = SCALE * np.random.default_rng(rng.integers(2**63)).standard_normal((n, d))
    problem = lr.QuadraticObjectives(A)
    start = np.eye(d), np.zeros((n, d))
    L = pflmf.local_smoothness(problem, *start, RADIUS, RADIUS).largest
    times = np.unique(np.round(np.geomspace(1, T, 60)).astype(int))
    run = lr.pflmf(
        problem, k=d, step_size=0.25 / L, head_step_size="theorem", aggregate="full",
        participation=p, local_steps=K, start=start, rounds=T, record=times, rng=rng,
    )  # fmt: skip
    table = run.to_frame()[["average_U", "average_V"]].reset_index().iloc[1:]
    gap = run["objective"][0]
    weights = pflmf.sharp_weights(0.25, p, K, split=p)
    rounds = table["round"].to_numpy()
    unit = L * gap  # of a squared gradient
    bound = pflmf.theorem1(gap, smoothness=L, step_size=0.25 / L, rounds=rounds).total
    return table.assign(
        average_U=table["average_U"] / unit,
        average_V=table["average_V"] / unit,
        printed=bound / unit,
        # A weighted sum is bounded: the sum is, over the smaller weight.
        weighed=gap * 4.0 * L / rounds / min(weights.weight_U, weights.weight_V) / unit,
        weighted=(weights.weight_U * table["average_U"] + weights.weight_V * table["average_V"])
        * rounds / (gap * 4.0 * L),
        reach=max(run["reach_U"][-1], run["reach_V"][-1]) / RADIUS,
    )  # fmt: skip


def with_measure(rows):
    """Return rows with the left side of Theorem 1, and how often its right side it is."""
    measure = rows["average_U"] + rows["average_V"]
    return rows.assign(measure=measure, ratio=measure / rows["printed"])


def shades(count):
    """Return colours that grow lighter with p, for people of all colour visions."""
    from matplotlib import colormaps

    return colormaps["viridis"](np.linspace(0.0, 1.0, count + 3)[1 : count + 1])


def draw(rows, sizes):
    from matplotlib.figure import Figure

    rows = with_measure(rows)
    figure = Figure(figsize=(plotting.PAGE_WIDTH, 2.9))
    axes = figure.subplots(1, len(sizes.K) + 1)
    shares = sorted(rows["p"].unique(), reverse=True)
    for ax, K in zip(axes, sizes.K, strict=False):
        own = rows[rows["K"] == K]
        for p, color in zip(shares, shades(len(shares)), strict=True):
            part = own[own["p"] == p].groupby("round")
            ax.plot(part["measure"].median(), color=color, label=f"p = {p:g}")
            ax.plot(part["weighed"].median(), ":", color=color, linewidth=0.9)
        ax.plot(own.groupby("round")["printed"].first(), "k--", linewidth=1.6, label=PRINTED)
        ax.plot([], [], ":", color="0.4", linewidth=0.9, label="sharp weights, for each p")
        ax.set(
            xscale="log", yscale="log", xlabel="rounds T", title=f"K = {K}",
            ylim=axes[0].get_ylim() if ax is not axes[0] else None,
        )  # fmt: skip
    axes[0].set_ylabel("measure of stationarity / $L F^0$")
    draw_ratios(axes[-1], rows, sizes)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=4)
    return figure


def draw_ratios(ax, rows, sizes):
    """Draw the measure over Theorem 1's bound at the last T, against p."""
    ends = rows[rows["round"] == rows["round"].max()]
    for place, (K, own) in enumerate(ends.groupby("K")):
        part = own.groupby("p")["ratio"]
        color = ("C1", "C4")[place]
        shift = (0.96, 1.04)[place] if len(sizes.K) > 1 else 1.0
        middle, low, high = part.median(), part.min(), part.max()
        ax.errorbar(
            middle.index * shift, middle, np.array([middle - low, high - middle]), fmt="os"[place],
            color=color, elinewidth=0.9, capsize=1.5, markersize=3.5,
        )  # fmt: skip
        ax.text(0.97, 0.97 - 0.09 * place, f"{'●■'[place]} K = {K}", color=color, ha="right",
                va="top", transform=ax.transAxes, fontsize=7.5)  # fmt: skip
    single = ends[ends["K"] == sizes.K[0]]
    bounds = (single["weighed"] / single["printed"]).groupby(single["p"]).median()
    ax.plot(bounds, ":", color="0.4", linewidth=0.9)
    ax.axhline(1.0, color="k", linestyle="--", linewidth=1.6)
    ax.set(
        xscale="log", yscale="log", xlabel="participation p",
        ylabel=f"measure / {PRINTED}'s bound", title=f"T = {ends['round'].max():,}",
    )  # fmt: skip
    plotting.plain_log_ticks(ax.xaxis)
    plotting.plain_log_ticks(ax.yaxis)


def summary(rows, sizes):
    """Return ratios to both bounds at the last T, the parts, the slope in p, the reach."""
    rows = with_measure(rows)
    ends = rows[rows["round"] == rows["round"].max()]
    lines = []
    for (K, p), own in ends.groupby(["K", "p"]):
        every = rows[(rows["K"] == K) & (rows["p"] == p)]
        for what, value in (
            ("measure over Theorem 1's bound", own["ratio"].median()),
            ("the same, least", own["ratio"].min()),
            ("largest over T", every.groupby("round")["ratio"].median().max()),
            (
                "measure over the bound with sharp weights",
                (own["measure"] / own["weighed"]).median(),
            ),
            (
                "mean weighted sum over its bound, largest over T",
                every.groupby("round")["weighted"].mean().max(),
            ),
            ("share of the part in U", (own["average_U"] / own["measure"]).median()),
            ("reach over the radius, largest", every["reach"].max()),
        ):
            lines.append((K, p, what, value))
    for K, own in ends.groupby("K"):
        middle = own.groupby("p")["ratio"].median()
        small = middle[middle.index <= 0.25]
        if len(small) < 2:
            continue
        slope = np.polyfit(np.log(small.index), np.log(small), 1)[0]
        lines.append((K, "all", "slope of the ratio in p up to 0.25", slope))
    return pd.DataFrame(lines, columns=["K", "p", "what", "value"]).set_index(["K", "p", "what"])


def caption(rows, replicates, sizes):
    where = "Left and middle" if len(sizes.K) == 2 else "Left"
    return f"""
        Mean over T rounds of E‖∇_U‖² + (1/K) Σ_k ‖∇_V(U, V_k)‖², the left side of Theorem 1, over L
        F(U⁰, V⁰): F = (1/2n) ‖UVᵀ − A‖², n = {sizes.n}, d = r = {sizes.d}, entries of A N(0,
        {SCALE:g}²), U⁰ = I, V⁰ = 0, so that F* = 0; the gradient in U of all clients, η = 1/(4L),
        η_v = pη/K, σ = 0. L is valid within {RADIUS} of the start, which no run leaves. {where}:
        median of {replicates} runs, each with its own A; dashed: Theorem 1's bound, the same for
        all p; dotted, in the colour of p: the bound with the weights that a round gives
        (documentation on pFL^MF). Right: the measure over Theorem 1's bound at the last T, median,
        least and largest run; dashed: 1, dotted: the one with these weights, for K = {sizes.K[0]}.
    """


EXPERIMENT = Experiment(
    id="pflmf.stationarity",
    title="Stationarity against rounds and participation, beside Theorem 1",
    cells=cells,
    replicate=replicate,
    draw=draw,
    caption=caption,
    summary=summary,
    signed=("slope*",),
    kept=None,
    sizes=Stationarity(),
    replicates=10,
    quick_replicates=2,
)

if __name__ == "__main__":
    run_script(EXPERIMENT)
