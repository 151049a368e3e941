"""pFL^MF, Figure 1: personalized models in the plane, four ways to relate them.

The paper does not say how its points were drawn, how many there are, or which delta is shown; here
they are normal around a mean that is the origin or is not. Beside the picture: the objective of
each solution over many draws, for rank 1 as pFL^MF finds it from random factors.
"""

import numpy as np
import pandas as pd

from linrep.cli import run_script
from linrep.figures import plotting
from linrep.figures.experiment import Experiment
from linrep.papers.pflmf.settings import Figure1, constrained, diameter
from linrep.problems import personal
from linrep.sweeps import Grid

OWN, AVERAGE, NEAR, LINE = "own optima", "FedAvg", "constrained", "rank 1"
LABELS = {
    OWN: "own optima $a_i$",
    AVERAGE: "FedAvg",
    NEAR: r"$\|\theta_i - \theta_j\| \leq \delta$",
    LINE: "rank 1, by pFL$^{MF}$",
}
COLORS = dict(zip((OWN, AVERAGE, NEAR, LINE), ("C3", "C1", "C2", "C0"), strict=True))
FIRST, STEP = 1.25, 0.25  # places of rank 1 beside delta, by mean
STYLES = {"-": "solid", "--": "dashed", "-.": "dash-dotted"}  # of the curves, by mean
SHOWN = 0.5  # share of the diameter at which constrained models are marked


def cells(sizes):
    return Grid.product({"shift": sizes.shift, "deltas": sizes.deltas})


def replicate(cell, rng, **sizes):
    figure = Figure1(**sizes)
    picture = personal.planar(figure.n, shift=cell["shift"], rng=rng)
    A, problem = picture.local, picture.problem
    line = figure.line(picture, record=max(1, figure.rounds // 100), rng=rng)
    models = [(OWN, np.nan, A), (AVERAGE, np.nan, picture.average), (LINE, np.nan, line)]
    for share in np.linspace(0.0, 1.0, figure.deltas):
        models.append((NEAR, share, constrained(picture, share)))
    scale, off = problem.value(picture.average), np.abs(models[2][2] - picture.line).max()
    frames = []
    for solution, share, theta in models:
        points = pd.DataFrame({"client": range(figure.n), "x": theta[:, 0], "y": theta[:, 1]})
        frames.append(
            points.assign(solution=solution, share=share, objective=problem.value(theta) / scale)
        )
    return pd.concat(frames, ignore_index=True).assign(off=off, diameter=diameter(A))


def nearest(shares):
    """Return the share of the diameter that is nearest to the one to be shown."""
    known = np.unique(shares.dropna())
    return known[np.abs(known - SHOWN).argmin()]


def draw(rows, sizes):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(plotting.PAGE_WIDTH, 2.9))
    axes = figure.subplots(1, len(sizes.shift) + 1)
    for ax, shift in zip(axes, sizes.shift, strict=False):
        draw_plane(ax, rows[(rows["shift"] == shift) & (rows["replicate"] == 0)])
        ax.set_title(f"mean ({shift:g}, {shift:g})")
    draw_objectives(axes[-1], rows, sizes.shift)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=4)
    return figure


def draw_plane(ax, rows):
    """Draw all solutions for one draw."""
    at = {name: own.sort_values("client") for name, own in rows.groupby("solution")}
    ax.axhline(0.0, color="0.75", linewidth=0.7, zorder=0)
    ax.axvline(0.0, color="0.75", linewidth=0.7, zorder=0)
    line = at[LINE]
    size = np.linalg.norm(line[["x", "y"]].to_numpy(), axis=1).argmax()
    ax.axline((0.0, 0.0), tuple(line[["x", "y"]].iloc[size]), color=COLORS[LINE], linewidth=0.6)
    for own, blue in zip(at[OWN].itertuples(), line.itertuples(), strict=True):
        ax.plot([own.x, blue.x], [own.y, blue.y], ":", color=COLORS[LINE], linewidth=0.7)
    for _, path in at[NEAR].sort_values("share").groupby("client"):
        ax.plot(path["x"], path["y"], color=COLORS[NEAR], linewidth=0.7)
    at[NEAR] = at[NEAR][at[NEAR]["share"] == nearest(at[NEAR]["share"])]
    at[AVERAGE] = at[AVERAGE].iloc[:1]
    for name, marker, width in ((OWN, "o", 4), (NEAR, "^", 4), (LINE, "s", 3.6), (AVERAGE, "D", 6)):
        ax.plot(
            at[name]["x"], at[name]["y"], marker, color=COLORS[name], markersize=width,
            markeredgecolor="white", markeredgewidth=0.4, label=LABELS[name],
        )  # fmt: skip
    ax.set(xlabel="first coordinate", ylabel="second coordinate")
    ax.set_aspect("equal", adjustable="datalim")


def draw_objectives(ax, rows, shifts):
    """Draw objectives over FedAvg's against delta, and that of rank 1, by shift."""
    once = rows[rows["client"] == 0]
    places = [FIRST + STEP * place for place in range(len(shifts))]
    for shift, style, place in zip(shifts, STYLES, places, strict=False):
        own = once[once["shift"] == shift]
        table = own[own["solution"] == NEAR].pivot(
            index="share", columns="replicate", values="objective"
        )
        low, middle, high = np.quantile(table, [0.1, 0.5, 0.9], axis=1)
        ax.plot(table.index, middle, style, color=COLORS[NEAR])
        ax.fill_between(table.index, low, high, color=COLORS[NEAR], alpha=0.18, linewidth=0)
        low, middle, high = np.quantile(
            own.loc[own["solution"] == LINE, "objective"], [0.1, 0.5, 0.9]
        )
        ax.errorbar(
            [place], [middle], [[middle - low], [high - middle]], fmt="s", color=COLORS[LINE],
            capsize=2, markersize=3.6,
        )  # fmt: skip
    ax.set(
        xlabel=r"$\delta$ / diameter", ylabel="objective / FedAvg's", title="over all draws",
        ylim=(-0.03, 1.03), xlim=(-0.06, places[-1] + 0.15), xticks=[0.0, 0.5, 1.0, *places],
        xticklabels=["0", "0.5", "1", *(f"{shift:g}" for shift in shifts)],
    )  # fmt: skip
    ax.axvline(1.1, color="0.5", linewidth=0.6)
    ax.text(
        np.mean(places), 0.97, "rank 1,\nby mean", color=COLORS[LINE], ha="center", va="top",
        fontsize=7,
    )  # fmt: skip
    ax.text(0.3, 0.75, "constrained", color=COLORS[NEAR], fontsize=7)


def summary(rows, sizes):
    """Return objectives over FedAvg's, how much delta matches rank 1, and what pFL^MF misses."""
    once = rows[rows["client"] == 0]
    lines = []
    for shift, own in once.groupby("shift"):
        path = own[own["solution"] == NEAR].pivot(
            index="replicate", columns="share", values="objective"
        )
        rank_one = own[own["solution"] == LINE].set_index("replicate")["objective"]
        worst = own["off"].max()
        share = nearest(own["share"])
        at = "half" if share == 0.5 else f"{share:.2g} of"
        matched = [
            np.interp(-value, -path.loc[seed], path.columns) for seed, value in rank_one.items()
        ]
        for what, values in (
            ("objective of rank 1", rank_one),
            (f"objective at {at} the diameter", path[share]),
            ("delta over the diameter with the objective of rank 1", pd.Series(matched)),
        ):
            lines.append((shift, what, values.median()))
        lines.append((shift, "largest distance from the closed form", worst))
    return pd.DataFrame(lines, columns=["shift", "what", "median"]).set_index(["shift", "what"])


def caption(rows, replicates, sizes):
    where = ("Left, one draw", "Left and middle, one draw each", "All but the last, one draw each")
    shown = nearest(rows["share"])
    styles = ", ".join(
        f"{name}: mean {shift:g}" for name, shift in zip(STYLES.values(), sizes.shift, strict=False)
    )
    return f"""
        Minimizers of (1/n) Σ ‖θ_i − a_i‖², n = {sizes.n}, coordinates of a_i independent N(mean,
        1); how many points there are and how they lie is not given in the paper.
        {where[len(sizes.shift) - 1]}: the clients' own optima; FedAvg, their mean; models with all
        distances at most δ, the lines for δ from 0 to the points' diameter, the triangles at
        {shown:.2g} of it; the optimum of rank 1 by pFL^MF from random factors (N(0, 0.09 σ₁), η =
        η_v = 0.2 n/σ₁, at most {sizes.rounds} rounds), dotted to its points. Its line goes through
        the origin, not through the mean. Right: objective over FedAvg's, median and middle 80 % of
        {replicates} draws, against δ ({styles}), and of rank 1.
    """


EXPERIMENT = Experiment(
    id="pflmf.figure1",
    title="Personalized models in the plane: own optima, FedAvg, close together, on a line",
    cells=cells,
    replicate=replicate,
    draw=draw,
    caption=caption,
    summary=summary,
    kept=None,
    sizes=Figure1(),
    replicates=20,
    quick_replicates=3,
)

if __name__ == "__main__":
    run_script(EXPERIMENT)
