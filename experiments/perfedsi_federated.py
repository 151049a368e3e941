"""PerFedSI's problem: what federated averaging needs beside centralized solvers, on equal entries.

Samples: the number N of entries with which half of the draws are recovered. Rounds: those until the
relative error is 1e-3, a centralized solver's step counting as a round of all clients, since each
could send its part of the gradient or of the normal equations. What local steps spare is shown at
one N. The setting is that of perfedsi.phase; the paper compares with no other solver.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

import linrep as lr
from linrep import sweeps
from linrep.algorithms import imc
from linrep.cli import run_script
from linrep.figures import plotting
from linrep.figures.experiment import Experiment
from linrep.figures.sizes import Sizes, size
from linrep.figures.summaries import crossings
from linrep.sweeps import Grid
from linrep.theory.perfedsi import determines_truth

STEP_SIZE, SUCCESS = 1.0, 1e-3
LOCAL_STEPS, PARTICIPANTS = 5, 4  # where the number of entries is varied
DETERMINED, FEDERATED, GRADIENT = (
    "entries determine it", "federated averaging", "balanced gradient"
)  # fmt: skip
SOLVERS = {
    "Gauss-Newton": (imc.gauss_newton, {"iterations": 50}),
    "alternating": (imc.alternating, {"iterations": 300, "tolerance": 1e-7}),
    GRADIENT: (imc.balanced_gradient, {"iterations": 1000, "tolerance": 1e-6}),
    "nuclear norm": (imc.nuclear_norm, {"iterations": 1000, "levels": 6, "smallest": 1e-5}),
    "least squares": (imc.least_squares, {}),
}
RANKLESS = (imc.nuclear_norm, imc.least_squares)
SLOW = (GRADIENT, "nuclear norm")  # run only where entries determine the matrix
METHODS = (DETERMINED, FEDERATED, *SOLVERS)
ITERATIVE = METHODS[1:5]
VIEWS = {"side": "with side information", "none": "without"}


@dataclass(frozen=True)
class Federated(Sizes):
    """What is varied: entries; then local steps and participants at one number of entries."""

    entries: tuple[int, ...] = size(
        (300, 400, 550, 800, 1200, 2400), "Entries, N, of the left and the middle.",
        quick=(500, 1100), least=2,
    )  # fmt: skip
    local_steps: tuple[int, ...] = size(
        (1, 2, 5, 10, 20, 50), "Local steps, on the right.", quick=(1, 20)
    )
    participants: tuple[int, ...] = size((4, 20), "Participants of a round, on the right.", most=2)
    local_entries: int = size(1100, "Entries, on the right.")
    n: int = size(60, "Clients, and as many items.")
    p: int = size(8, "Columns of the side information.")
    k: int = size(2, "Rank.")
    rounds: int = size(300_000, "Rounds at most.", minimum=10)
    local_rounds: int = size(250_000, "Rounds times local steps at most, on the right.", minimum=10)

    def check(self):
        if self.k > self.p:
            raise ValueError(f"k must be at most p = {self.p}, got {self.k}")
        if self.p > self.n:
            raise ValueError(f"p must be at most n = {self.n}, got {self.p}")
        for name in ("entries", "local_entries"):
            most = np.max(getattr(self, name))
            if most > self.n**2:
                raise ValueError(f"{name} must be at most n d = {self.n**2}, got {most}")
        if self.local_rounds < 10 * max(self.local_steps):
            raise ValueError(
                f"local_rounds must be at least {10 * max(self.local_steps)}, ten rounds of "
                f"{max(self.local_steps)} local steps, got {self.local_rounds}"
            )


def cells(sizes):
    return Grid.product(
        {"part": "samples", "entries": sizes.entries, "local_steps": LOCAL_STEPS,
         "participants": PARTICIPANTS}
    ) + Grid.product(
        {"part": "local", "entries": sizes.local_entries, "local_steps": sizes.local_steps,
         "participants": sizes.participants}
    )  # fmt: skip


def replicate(cell, rng, **sizes):
    figure = Federated(**sizes)
    n, p, k = figure.n, figure.p, figure.k
    truth = lr.SideInformationCompletion.random(n=n, d=n, p=p, k=k, side="unit", rng=rng)
    seen = truth.observe(entries=cell["entries"], rng=rng)
    views = {"side": seen, "none": seen.without_side_information()}
    seed = int(rng.integers(2**63))
    lines = []
    for view, entries in views.items():
        lines.append((view, FEDERATED, *federated(entries, cell, seed, figure)))
        if cell["part"] == "local":
            continue
        known = determines_truth(entries)
        lines.append((view, DETERMINED, 0.0 if known else np.inf, 0.0 if known else 1.0, 0.0))
        for name, (solver, settings) in SOLVERS.items():
            if name in SLOW and not known:
                sent = np.inf if name == GRADIENT else np.nan
                lines.append((view, name, np.inf, np.inf, sent))
                continue
            rank = {} if solver in RANKLESS else {"k": k}
            with np.errstate(all="ignore"):  # it may diverge
                trace = solver(entries, **rank, **settings)
                if name == GRADIENT and trace.stop_reason == "diverged":
                    trace = solver(entries, **rank, **settings, step_size=0.1)
            # A gradient of both factors from every client, and these to every client.
            sent = 2.0 * n * k * (n + (p if view == "side" else n)) * until(trace)
            sent = sent if name == GRADIENT else np.nan
            lines.append((view, name, until(trace), trace["error"][-1], sent))
    columns = ["view", "method", "rounds", "error", "sent"]
    table = pd.DataFrame(lines, columns=columns)
    return table.assign(least=seen.per_item.min(), success=table["error"] < SUCCESS)


def federated(entries, cell, seed, figure):
    """Return the rounds to the goal, the last error, and the numbers sent until the goal."""
    rounds = figure.rounds
    if cell["part"] == "local":  # as many steps of a participant, whatever there are in a round
        rounds = figure.local_rounds // cell["local_steps"]
    record = np.unique(np.geomspace(10, rounds, 120).astype(int))
    trace = lr.perfedsi(
        entries, step_size=STEP_SIZE, k=figure.k, rounds=rounds, local_steps=cell["local_steps"],
        participants=cell["participants"], record=record, rng=seed,
    )  # fmt: skip
    error = np.inf if trace.stop_reason == "diverged" else trace["error"][-1]
    reached = until(trace)
    sent = trace["floats_up"] + trace["floats_down"]
    at = trace.recorded.searchsorted(reached)
    return reached, error, sent[at] if np.isfinite(reached) else np.inf


def until(trace):
    """Return the first recorded round with an error below the goal, infinity for none."""
    reached = np.flatnonzero(trace["error"] < SUCCESS)
    return float(trace.recorded[reached[0]]) if reached.size else np.inf


def draw(rows, sizes):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(plotting.PAGE_WIDTH, 3.1))
    left, middle, right = figure.subplots(1, 3)
    draw_samples(left, rows, sizes)
    draw_rounds(middle, rows, sizes)
    draw_local(right, rows, sizes)
    handles = [
        left.plot([], [], color="0.3", marker=marker, markerfacecolor=face, ls=dashes)[0]
        for marker, face, dashes in (("o", "0.3", "-"), ("o", "white", "--"))
    ]
    figure.legend(handles, VIEWS.values(), loc="outside upper center", ncols=2)
    return figure


def thresholds(rows):
    """Return the number of entries with which half of the draws are recovered."""
    own = rows[rows["part"] == "samples"]
    return sweeps.thresholds(own, "success", "entries", ["method", "view"])


def draw_samples(ax, rows, sizes):
    """Draw the entries needed by each method, with intervals."""
    table = thresholds(rows)
    largest = rows.loc[rows["part"] == "samples", "entries"].max()
    for place, method in enumerate(METHODS):
        for shift, view in ((-0.16, "side"), (0.16, "none")):
            line = table[(table["method"] == method) & (table["view"] == view)].iloc[0]
            face = f"C{place}" if view == "side" else "white"
            y = place + shift
            if np.isfinite(line["estimate"]):
                ends = max(line["low"], 1.0), min(line["high"], 1.1 * largest)
                ax.plot(ends, [y, y], color=f"C{place}", linewidth=0.9)
                ax.plot(line["estimate"], y, "o", color=f"C{place}", markerfacecolor=face)
            else:
                ax.plot(1.1 * largest, y, ">", color=f"C{place}", markerfacecolor=face)
    n, k = sizes.n, sizes.k
    freedom = k * (n + sizes.p - k)
    least = min(freedom / 1.2, 0.9 * rows["entries"].min())
    ax.axvline(freedom, color="0.5", linewidth=0.9)
    ax.axvline(k * (2 * n - k), color="0.5", linewidth=0.9, linestyle="--")
    ax.set(
        xscale="log", yticks=range(len(METHODS)), yticklabels=METHODS,
        ylim=(len(METHODS) - 0.5, -0.5), xlim=(least, 1.25 * largest),
        xlabel="entries for half the draws, $N$",
    )  # fmt: skip
    plotting.plain_log_ticks(ax.xaxis)


def medians(rows, x):
    """Return the median rounds over all draws along x, infinite where most never get there."""
    table = rows.groupby(["view", "method", x])["rounds"].quantile(
        [0.25, 0.5, 0.75], interpolation="higher"
    )
    return table.unstack().reset_index()


def keep_room(ax, rounds):
    """Give an axis of rounds limits where no run has reached the goal."""
    if not any(len(line.get_ydata()) for line in ax.lines):
        ax.set_ylim(1, rounds)


def draw_rounds(ax, rows, sizes):
    """Draw the rounds to the goal against the number of entries."""
    own = rows[rows["part"] == "samples"]
    table = medians(own, "entries")
    for place, method in enumerate(METHODS):
        for view in VIEWS if method in ITERATIVE else ():
            line = table[(table["method"] == method) & (table["view"] == view)]
            line = line[np.isfinite(line[0.5])]
            open_ = view == "none"
            ax.plot(
                line["entries"], line[0.5], "--" if open_ else "-", color=f"C{place}", marker="o",
                markerfacecolor="white" if open_ else f"C{place}", label=method,
            )  # fmt: skip
    ax.set(
        xscale="log", yscale="log", xlabel="entries, $N$",
        ylabel=f"rounds to an error of {SUCCESS:g}",
    )  # fmt: skip
    ax.set_xlim(0.9 * own["entries"].min(), 1.1 * own["entries"].max())
    keep_room(ax, sizes.rounds)
    plotting.plain_log_ticks(ax.xaxis)
    least = own.groupby("entries")["least"].median()
    top = ax.secondary_xaxis("top")
    shown = list(least.index)
    top.set_xticks(shown, labels=[f"{least[N]:.0f}" for N in shown])
    top.minorticks_off()
    top.set_xlabel("observations of the rarest item, median")


def draw_local(ax, rows, sizes):
    """Draw the rounds to the goal against local steps."""
    own = rows[rows["part"] == "local"]
    for place, participants in enumerate(sorted(own["participants"].unique())):
        table = medians(own[own["participants"] == participants], "local_steps")
        for view in VIEWS:
            line = table[(table["view"] == view) & np.isfinite(table[0.5])]
            ax.plot(
                line["local_steps"], line[0.5], "-" if view == "side" else "--",
                color=f"C{5 + 2 * place}", marker="s^"[place], label=f"{participants}",
                markerfacecolor=f"C{5 + 2 * place}" if view == "side" else "white",
            )  # fmt: skip
    x = np.sort(own["local_steps"].unique())
    middle = own.loc[own["local_steps"] == x[0], "rounds"].median()
    if np.isfinite(middle):
        ax.plot(x, 1.6 * middle * x[0] / x, ":", color="0.4", linewidth=1)
    ax.set(
        xscale="log",
        yscale="log",
        xlabel="local steps",
        ylabel="rounds",
        title=f"N = {sizes.local_entries}",
    )
    keep_room(ax, sizes.local_rounds)
    plotting.plain_log_ticks(ax.xaxis)
    handles, labels = ax.get_legend_handles_labels()
    ax.legend(handles[::2], labels[::2], title="participants", title_fontsize=7.5)


def summary(rows, sizes):
    """Return entries needed, with intervals, and median rounds and numbers sent."""
    own = rows[rows["part"] == "samples"]
    lines = [
        (line.method, line.view, "N for half the draws", line.estimate, line.low, line.high)
        for line in crossings(own, "success", "entries", ["method", "view"]).itertuples()
    ]
    for line in medians(own[own["method"].isin(ITERATIVE)], "entries").itertuples(index=False):
        lines.append((line[1], line[0], f"rounds, N = {line[2]}", line[4], None, None))
    for participants, part in rows[rows["part"] == "local"].groupby("participants"):
        for line in medians(part, "local_steps").itertuples(index=False):
            what = f"rounds, {participants} participants, {line[2]} local steps"
            lines.append((line[1], line[0], what, line[4], None, None))
    sent = own[own["sent"].notna() & own["method"].isin(ITERATIVE)]
    for (method, view, N), part in sent.groupby(["method", "view", "entries"])["sent"]:
        middle = part.quantile(0.5, interpolation="higher")
        lines.append((method, view, f"numbers sent, N = {N}", middle, None, None))
    table = pd.DataFrame(lines, columns=["method", "view", "what", "value", "low", "high"])
    return table.set_index(["method", "view", "what"])


def caption(rows, replicates, sizes):
    return f"""
        d = n = {sizes.n}, p = {sizes.p}, rank k = {sizes.k}, U* and V* by QR, unit rows of Z, N
        entries drawn uniformly, the same for all methods; {replicates} draws of each N. Goal:
        relative error {SUCCESS:g}. Federated averaging: η = {STEP_SIZE:g}, {LOCAL_STEPS} local
        steps, {PARTICIPANTS} participants a round, up to {sizes.rounds:,} rounds, start N(0, 0.3²).
        The others, from the spectral start, at most (few, for the figure's time):
        {SOLVERS["Gauss-Newton"][1]["iterations"]} Gauss-Newton,
        {SOLVERS["alternating"][1]["iterations"]} alternating, {SOLVERS[GRADIENT][1]["iterations"]}
        balanced gradient steps (relative length 0.5, or 0.1 where that diverges),
        {SOLVERS["nuclear norm"][1]["iterations"]} for the nuclear norm, these two where the entries
        determine the matrix only. Left: N at which a logistic curve of the draws' successes crosses
        one half, with its 95 % interval; an arrow: beyond the grid; grey: degrees of freedom with
        side information (solid) and without (dashed). Middle: median rounds, where most draws reach
        the goal; a step of a centralized solver is a round of all clients; above, how often the
        rarest item was seen; colours as on the left. Right: rounds of federated averaging by local
        steps τ, at most {sizes.local_rounds:,}/τ; dotted: inversely proportional to τ.
    """


EXPERIMENT = Experiment(
    id="perfedsi.federated",
    title="Samples and rounds of federated averaging beside centralized solvers",
    cells=cells,
    replicate=replicate,
    draw=draw,
    caption=caption,
    summary=summary,
    sizes=Federated(),
    replicates=8,
    quick_replicates=2,
)

if __name__ == "__main__":
    run_script(EXPERIMENT)
