"""FedRep, Figure 3: distance against rounds for different numbers of clients.

Open in the paper, and what is taken here: the four n (10, 20, 100, 1000, three of them from the
published notebook); the step sizes (in the setting of the text the theorem's 1/(4 sigma_max^2), and
1/lambda_max for head steps); the number of rounds (500; the notebook has 200) and replicates (20;
the notebook has one). For n = 100 and 1000 the step size is shorter than the theorem's limit,
because sigma_max over subsets is bounded, not enumerated.

The published variant is the notebook's cell, ``linrep.papers.fedrep.settings``, at the n that it
has. On the same problems and participants, each of its departures from the paper is also corrected
alone.
"""

import math

import numpy as np
import pandas as pd
from scipy.stats import gmean

import linrep as lr
from linrep.cli import run_script
from linrep.figures import plotting
from linrep.figures.counts import ordered
from linrep.figures.experiment import Experiment
from linrep.figures.summaries import recorded
from linrep.papers.fedrep.settings import (
    CONVENTIONS,
    METHODS,
    PUBLISHED_GOAL,
    PUBLISHED_ROUNDS,
    PUBLISHED_STEPS,
    Figure3,
    notebook_start,
)
from linrep.sweeps import Grid

EVERY = 2
GOALS = {"text": 0.06, "published": PUBLISHED_GOAL}
#: The goal of other sizes.
MIDDLE = "the geometric mean of FedRep's median first and last one"
#: What of the notebook is as in the paper instead, one at a time, and how the picture names it.
CORRECTED = {
    "nothing": "as published",
    "start": "start of A.1",
    "first heads": "own first heads",
    "10GD-GD's step": "10GD-GD's step",
    "steps": "theorem's steps",
    "QR": "QR each step",
    "heads": "√k·QR heads",
    "noise": "noise",
}
#: Corrections of the problem, and of the options of a run; the others are of the start.
PROBLEM = {each: {each: CONVENTIONS["text"][each]} for each in ("heads", "noise")}
OPTIONS = {
    "steps": {"step_size": "theorem", "head_step_size": None, "normalization": "theorem"},
    "QR": {"orthonormal": True},
}


def in_notebook(cell):
    return cell["variant"] == "text" or cell["n"] in PUBLISHED_STEPS


def cells(sizes):
    return Grid.product(
        {"variant": list(CONVENTIONS), "n": sizes.n},
        constraints={in_notebook: "the notebook has no such n"},
    )


def replicate(cell, rng, **sizes):
    figure, n = Figure3(**sizes), cell["n"]
    if cell["variant"] == "text":
        return text(figure, n, rng)
    seeds = [int(seed) for seed in rng.integers(2**63, size=2)]
    return pd.concat(
        [published(figure, n, corrected, *seeds).assign(corrected=corrected)
         for corrected in CORRECTED]
    )  # fmt: skip


def text(figure, n, rng):
    """Return the rows of all methods in the setting of the text."""
    truth = lr.SharedRepresentation.random(
        n=n, d=figure.d, k=figure.k, rng=rng, **CONVENTIONS["text"]
    )
    seed = int(rng.integers(2**63))
    run = {"rounds": figure.rounds, "start": "projected_gradient", "rng": seed}
    traces = {
        method: lr.fedrep(
            truth, m=figure.m, batches="fixed", **run, **figure.options("text", n, method)
        )
        for method in METHODS
    }
    return every_other(traces).assign(corrected="nothing")


def published(figure, n, corrected, problem_seed, seed):
    """Return the rows of all methods as published, one departure from the paper corrected."""
    rng = np.random.default_rng(problem_seed)
    problem = {**CONVENTIONS["published"], **PROBLEM.get(corrected, {})}
    truth = lr.SharedRepresentation.random(n=n, d=figure.d, k=figure.k, rng=rng, **problem)
    data = truth.draw(figure.m, rng=rng)
    if corrected == "start":
        B, W = lr.projected_gradient_start(data, figure.k)
    else:
        B, W = notebook_start(data, figure.k, seed)

    def run(method, W, rounds=figure.rounds):
        options = {**figure.options("published", n, method), **OPTIONS.get(corrected, {})}
        if corrected == "10GD-GD's step":
            options["step_size"] = PUBLISHED_STEPS[n][method]
        return lr.fedrep(data, start=(B, W), rounds=rounds, rng=seed, **options)

    # The notebook's methods begin with one array of heads. FedRep, whose turn is first, writes into
    # it in the first round; the others' first step puts an array of their own in its place.
    first = W if corrected == "first heads" else run("FedRep", W, rounds=1).state["W"]
    traces = {method: run(method, W if method == "FedRep" else first) for method in METHODS}
    rows = every_other(traces)
    # Values are of before the round, when nothing is written yet.
    rows.loc[rows["round"] == 0, "value"] = traces["FedRep"]["population_risk"][0]
    return rows


def every_other(traces):
    """Return the rows of every other round, and of the last: distance and function value."""
    runs = [
        (trace, {"method": method, "stop_reason": trace.stop_reason})
        for method, trace in traces.items()
    ]
    rows = recorded(runs, "distance", "population_risk")
    last = next(iter(traces.values())).settings["rounds"]
    rows = rows[(rows["round"] % EVERY == 0) | (rows["round"] == last)]
    return rows.rename(columns={"population_risk": "value"})


def goals(rows, sizes):
    """Return the distance to which rounds are counted, by variant and n.

    Those of the default sizes may be out of reach of others, or where these begin. There the goal
    is in the middle, in logarithms, of FedRep's median way.
    """
    own = rows[(rows["corrected"] == "nothing") & (rows["method"] == "FedRep")]
    way = own[own["round"].isin((0, sizes.rounds))].groupby(["variant", "n", "round"])["distance"]
    middle = way.median().groupby(["variant", "n"]).agg(gmean)
    if sizes.standard:
        return pd.Series({(variant, n): GOALS[variant] for variant, n in middle.index})
    return middle


def arrivals(rows, goal):
    """Return the first stored round within the goal, by replicate and method; infinite for none."""
    keys = ["variant", "corrected", "n", "replicate"]
    goal = goal.loc[pd.MultiIndex.from_frame(rows[["variant", "n"]])].to_numpy()
    reached = rows[rows["distance"] <= goal].groupby([*keys, "method"])["round"].min()
    first = reached.unstack("method").reindex(
        pd.MultiIndex.from_frame(rows[keys].drop_duplicates()), columns=list(METHODS)
    )
    return first.fillna(np.inf)  # not within the budget


def draw(rows, sizes):
    from matplotlib.figure import Figure

    columns = {
        variant: sorted(rows.loc[rows["variant"] == variant, "n"].unique())
        for variant in CONVENTIONS
    }
    lines = ["text", *["published"] * (3 if columns["published"] else 0)]
    figure = Figure(figsize=(plotting.PAGE_WIDTH, 1.75 * len(lines) + (0.6 if lines[1:] else 0)))
    across = math.lcm(*(len(ns) for ns in columns.values() if ns))
    grid = figure.add_gridspec(len(lines), across, height_ratios=[1, 1, 1, 1.5][: len(lines)])

    def axes(line):
        ns, first, found = columns[lines[line]], None, {}
        for place, n in enumerate(ns):
            width = across // len(ns)
            ax = figure.add_subplot(
                grid[line, place * width : (place + 1) * width], sharey=first, sharex=first
            )
            if first is not None:
                ax.tick_params(labelleft=False)
            first = first or ax
            found[n] = ax
        first.set_zorder(2)  # its legend is in front of its neighbours
        return found

    as_it_is = rows[rows["corrected"] == "nothing"]
    own = as_it_is[as_it_is["variant"] == "text"]
    label = "text\ndistance" if columns["published"] else "distance"
    curves(axes(0), own, "distance", label, geometric=True)
    if columns["published"]:
        own = as_it_is[as_it_is["variant"] == "published"]
        # Some runs come close to diverging: a mean would show them alone.
        curves(axes(1), own, "value", "notebook\nfunction value", quantiles=(0.25, 0.75))
        curves(axes(2), own, "distance", "notebook\ndistance", quantiles=(0.25, 0.75))
        for ax in figure.axes[len(columns["text"]) :] if sizes.rounds > PUBLISHED_ROUNDS else ():
            ax.axvline(PUBLISHED_ROUNDS, color="0.6", linewidth=0.6)
        goal = goals(rows, sizes)
        effects(axes(3), arrivals(rows[rows["variant"] == "published"], goal), goal, sizes.rounds)
    figure.axes[0].legend()
    return figure


def curves(axes, rows, y, label, **band):
    """Draw a row of panels against rounds."""
    for n, ax in axes.items():
        plotting.curves(
            ax, rows[rows["n"] == n], x="round", y=y, by="method", order=list(METHODS), **band
        )
        ax.set(yscale="log", title=f"n = {n}", xlabel="round")
    first = next(iter(axes.values()))
    first.set_ylabel(label)
    plotting.plain_log_ticks(first.yaxis)


def effects(axes, first, goal, rounds):
    """Draw a row of panels of rounds to the goal, a line for each departure that is corrected."""
    first_seen, beyond = 1.5, 1.5 * rounds
    for n, ax in axes.items():
        for place, method in enumerate(METHODS):
            own = first.xs(n, level="n")[method].groupby("corrected")
            low, middle, high = (
                own.quantile(share, interpolation="nearest").reindex(CORRECTED)
                for share in (0.25, 0.5, 0.75)
            )
            there = np.isfinite(middle)
            lines = np.arange(len(CORRECTED)) + 0.24 * (place - 1)
            color, high = f"C{place}", high.clip(upper=beyond)
            low, shown = low.clip(lower=first_seen), middle.clip(lower=first_seen)
            ax.hlines(lines[there], low[there], high[there], colors=color, lw=1.1)
            ax.scatter(shown[there], lines[there], s=10, c=color, zorder=3)
            ax.scatter(
                np.full(np.sum(~there), beyond), lines[~there], s=12, marker=">", zorder=3,
                facecolors="none", edgecolors=color, linewidths=0.8,
            )  # fmt: skip
        ax.set(xscale="log", xlim=(first_seen, 1.25 * beyond), title=f"n = {n}")
        ax.set_xlabel(f"rounds to distance {goal['published', n]:.2g}")
        if beyond < 100:
            plotting.plain_log_ticks(ax.xaxis)
        ax.axvline(rounds, color="0.6", linewidth=0.6)
        ax.axhline(0.5, color="0.6", linewidth=0.6)
    first_panel = next(iter(axes.values()))
    first_panel.set_yticks(range(len(CORRECTED)), CORRECTED.values())
    first_panel.set_ylim(len(CORRECTED) - 0.5, -0.5)
    first_panel.set_ylabel("notebook, one thing corrected")


def summary(rows, sizes):
    """Rounds until the distance is 0.06 (text) or 0.03 (published), paired; geometric means.

    Of other sizes than the default, the goals are a column. Distances are stored every other round,
    so that rounds are rounded up to even numbers. Means are of the runs that did not diverge.
    """
    goal = goals(rows, sizes)
    first = arrivals(rows, goal)
    by = ["variant", "corrected", "n"]

    def compare(one, other):
        return ordered(first[one] < first[other], first[one] > first[other], by)

    table = first.groupby(by).median().add_prefix("median rounds, ")
    for one, other in (("FedRep", "10GD-GD"), ("10GD-GD", "GD-GD"), ("FedRep", "GD-GD")):
        table[f"{one} before/with/after {other}"] = compare(one, other)
    ends = rows[rows["round"].isin((0, sizes.rounds))]
    means = ends.groupby([*by, "round", "method"])["distance"].agg(gmean)
    means = means.unstack("method")[list(METHODS)]
    table["start"] = means.xs(0, level="round")["FedRep"]
    if not sizes.standard:
        table.insert(0, "goal", [goal[variant, n] for variant, _, n in table.index])
    return table.join(means.xs(sizes.rounds, level="round").add_prefix("final, "))


def caption(rows, replicates, sizes):
    lost = rows[(rows["stop_reason"] == "diverged") & (rows["corrected"] == "nothing")]
    lost = lost.groupby(["variant", "n", "method"])["replicate"].nunique()
    note = "".join(
        f" Left out as diverged: {count} of {replicates} runs of {method} ({variant}, n = {n})."
        for (variant, n, method), count in lost.items()
    )
    known = [n for n in sorted(sizes.n) if n in PUBLISHED_STEPS]
    steps = "; ".join(
        f"n = {n}: {', '.join(f'{step:g}' for step in PUBLISHED_STEPS[n].values())}" for n in known
    )
    top = "Top, the" if known else "The"
    its = f"its {PUBLISHED_ROUNDS} rounds; " if sizes.rounds > PUBLISHED_ROUNDS else ""
    goal = f"{PUBLISHED_GOAL:g}" if sizes.standard else MIDDLE
    found = f"""
        d = {sizes.d}, k = {sizes.k}, m = {sizes.m}, r = {sizes.participation:g}, the same samples
        every round, {replicates} replicates. {top} setting of the text: principal-angle distance
        between B and B*, geometric mean with 95 % Student interval of the logarithms; heads √k·QR,
        noise variance 10⁻³, start by 10 rounds of projected gradient descent, QR after each step,
        step size 1/(4σ²), σ the bound on σ_max that linrep computes, for all methods, head steps
        1/λ_max.
    """
    if known:
        found += f"""
        Below, the published notebook: what it plots, ‖M* − WBᵀ‖²/2n, and the distance, median with
        quartiles ({"grey line: " * bool(its)}{its}it has one replicate); heads QR
        (smaller by √k), noise standard deviation √5·10⁻³, client gradients summed, no QR after a
        step, a start with columns of the matrix whose rows are the right singular vectors, first
        heads of all methods one array, into which FedRep writes; step sizes (FedRep, 10GD-GD,
        GD-GD) {steps}; that of 10GD-GD is for its heads, its representation takes GD-GD's. Bottom,
        rounds until the distance is {goal}, median with quartiles, of the notebook and,
        on the same problems, with one of its departures from the paper corrected: the start as in
        the text; first heads of each method's own; for 10GD-GD one step size, that of its heads;
        the text's step sizes and averaged gradients; QR after each step; the text's heads; its
        noise. Open triangles: not in {sizes.rounds} rounds (grey line).
        """
    return found + note


EXPERIMENT = Experiment(
    id="fedrep.figure3",
    title="FedRep, GD-GD and 10GD-GD: distance against rounds for different n",
    cells=cells,
    replicate=replicate,
    draw=draw,
    caption=caption,
    summary=summary,
    kept=None,
    sizes=Figure3(),
)

if __name__ == "__main__":
    run_script(EXPERIMENT)
