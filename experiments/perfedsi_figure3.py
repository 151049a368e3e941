"""PerFedSI, Figure 3: federated averaging on entries, with side information and without.

The paper gives d, M, k, r, five fixed entries a client, and no more. Open, and what is taken here:
step size 0.3, five local steps, four participants a round drawn with replacement, 20000 rounds;
and, a panel each, the start (random, or the truth's factors perturbed) and whether entries are
fixed, as the appendix has it, or fresh, as Theorem 3.3 does. What "vanilla" is can be read in two
ways: V has a row per client, as for Z = I; or there is a global model, a vector of ratings. Beside
it, what the fixed entries say: how often the rarest item was seen, whether they determine
the matrix near the truth, and what solvers of inductive matrix completion make of them.
"""

import numpy as np
import pandas as pd

from linrep.algorithms import imc
from linrep.cli import run_script
from linrep.figures import plotting
from linrep.figures.counts import Share, counted
from linrep.figures.experiment import Experiment
from linrep.figures.summaries import recorded
from linrep.papers.perfedsi.settings import MODELS, STARTS, Figure3, view
from linrep.stats import proportion_interval
from linrep.sweeps import Grid
from linrep.theory.perfedsi import determines_truth

SAMPLES = {"fixed": "fixed entries", "fresh": "fresh entries"}
NAMES = dict(
    zip(
        MODELS,
        ("with side information", "without: Z = I", "without: one model for all"),
        strict=True,
    )
)
SOLVERS = {
    "Gauss-Newton": (imc.gauss_newton, {}),
    "alternating": (imc.alternating, {"iterations": 500}),
    "gradient": (imc.balanced_gradient, {"iterations": 2000, "tolerance": 1e-5}),
    "nuclear": (imc.nuclear_norm, {"iterations": 3000, "record": 3000}),
    "least squares": (imc.least_squares, {}),
}
FEDERATED = "federated"
SUCCESS = 1e-3


def cells(sizes):
    return Grid.product({"per_client": sizes.per_client, "rounds": sizes.rounds})


def replicate(cell, rng, **sizes):
    figure = Figure3(**sizes)
    truth = figure.truth(rng)
    # All entries of a client are as good as fresh ones: a step draws one of them uniformly.
    seen = {"fixed": truth.observe(per_client=cell["per_client"], rng=rng)}
    seen["fresh"] = truth.observe(per_client=figure.d, rng=rng)
    known = {model: view(seen["fixed"], model) for model in ("side", "one-hot")}
    facts = {"least": seen["fixed"].per_item.min()}
    for model in ("side", "one-hot"):
        facts[f"determined, {model}"] = determines_truth(known[model])
    seed = int(rng.integers(2**63))
    runs = []
    for samples, entries in seen.items():
        for model in MODELS:
            # Of the global model there is no truth to start near.
            for start in STARTS if model != "one model" else ("random",):
                trace = figure.descend(
                    entries, model, start, near=np.random.default_rng(seed), seed=seed,
                    record=max(1, figure.rounds // 80),
                )  # fmt: skip
                runs.append(
                    (
                        trace,
                        {"method": FEDERATED, "samples": samples, "model": model, "start": start},
                    )
                )
    frames = [recorded(runs, "error")]
    for solver, (fit, settings) in SOLVERS.items():
        for model in ("side", "one-hot"):
            rank = {"k": figure.k} if fit not in (imc.nuclear_norm, imc.least_squares) else {}
            with np.errstate(all="ignore"):  # it may diverge
                trace = fit(known[model], **rank, **settings)
            last = {"round": [trace.rounds], "error": [trace["error"][-1]]}
            frames.append(pd.DataFrame(last).assign(method=solver, samples="fixed", model=model))
    return pd.concat(frames).assign(**facts)


def last(rows):
    """Return the last row of every run of federated averaging."""
    runs = rows[rows["method"] == FEDERATED]
    return runs[runs["round"] == runs["round"].max()]


def draw(rows, sizes):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(plotting.PAGE_WIDTH, 4.4))
    axes = figure.subplots(2, 3)
    runs = rows[rows["method"] == FEDERATED].assign(
        model=lambda table: table["model"].map(NAMES),
        error=lambda table: np.maximum(table["error"], 1e-16),
    )
    decades = -4 * np.ceil(-np.log10(runs["error"].min()) / 4)  # a tick in four
    low, ticks = 10.0**decades, 10.0 ** np.arange(decades, 1, 4)
    for line, samples in zip(axes, SAMPLES, strict=True):
        for ax, start in zip(line, STARTS, strict=False):
            panel = runs[(runs["samples"] == samples) & (runs["start"] == start)]
            plotting.curves(
                ax, panel, x="round", y="error", by="model", order=list(NAMES.values()),
                quantiles=(0.1, 0.9),
            )  # fmt: skip
            ax.set(yscale="log", ylim=(low, 30), title=f"{SAMPLES[samples]}, {start} start")
            ax.set_xticks(np.linspace(0, panel["round"].max(), 3))
            ax.xaxis.set_major_formatter("{x:,.0f}")
        line[0].set_ylabel("relative error")
        for ax in line[:2]:
            ax.set_yticks(ticks)
    for ax in axes[1, :2]:
        ax.set_xlabel("communication round")
    draw_coverage(axes[0, 2], rows, sizes.k, ticks)
    draw_solvers(axes[1, 2], rows)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return figure


def draw_coverage(ax, rows, k, ticks):
    """Draw last errors against how often the rarest item was seen."""
    ends = last(rows)
    ends = ends[(ends["samples"] == "fixed") & (ends["start"] == "random")]
    for place, model in enumerate(("side", "one-hot")):
        own = ends[ends["model"] == model].sort_values("replicate")
        spread = 0.26 * (place - 0.5) * 2 + 0.2 * (np.arange(len(own)) % 5 - 2) / 2
        ax.plot(
            own["least"] + spread, np.maximum(own["error"], 1e-16), "os"[place],
            color=f"C{place}", markersize=2.8, markeredgewidth=0,
        )  # fmt: skip
    ax.axvline(k - 0.5, color="0.4", linewidth=0.9, linestyle=":")
    ax.text(k - 0.56, 10.0 * ticks[0], f"fewer than r = {k}", rotation=90, ha="right", fontsize=7)
    ax.axhline(SUCCESS, color="0.4", linewidth=0.7, linestyle="--")
    low, high = ends["least"].min(), ends["least"].max()
    ax.set(
        yscale="log", ylim=(ticks[0], 30), xticks=range(low, high + 1),
        xlim=(min(low, k - 1) - 0.6, high + 0.6), title="fixed entries, random start",
        xlabel="observations of the rarest item", ylabel="relative error at the end",
        yticks=ticks,
    )  # fmt: skip


def draw_solvers(ax, rows):
    """Draw how often each solver finds the matrix from the fixed entries."""
    table = shares(rows)
    names = [FEDERATED, *SOLVERS]
    for place, model in enumerate(("side", "one-hot")):
        own = table[table["model"] == model].set_index("method").loc[names]
        at = np.arange(len(names)) + 0.18 * (2 * place - 1)
        ax.errorbar(
            own["value"], at, xerr=[own["value"] - own["low"], own["high"] - own["value"]],
            fmt="os"[place], color=f"C{place}", elinewidth=0.9, capsize=1.5,
        )  # fmt: skip
    for place, model in enumerate(("side", "one-hot")):
        share = rows.drop_duplicates("replicate")[f"determined, {model}"].mean()
        wide = {"linewidth": 2.4, "alpha": 0.4} if place == 0 else {"linestyle": ":"}
        ax.axvline(share, color=f"C{place}", **wide)
    ax.set(
        yticks=range(len(names)), yticklabels=names, xlim=(-0.04, 1.04),
        ylim=(len(names) - 0.5, -0.5),
        xlabel=f"share with error < {SUCCESS:g}", title="fixed entries, by solver",
    )  # fmt: skip


def shares(rows):
    """Return how often each method recovers the matrix from fixed entries, with intervals."""
    ends = last(rows)
    ends = ends[(ends["samples"] == "fixed") & (ends["start"] == "random")]
    ends = pd.concat([ends, rows[rows["method"] != FEDERATED]])
    counts = (ends["error"] < SUCCESS).groupby([ends["method"], ends["model"]], sort=False)
    counts = counts.agg(["sum", "count"]).reset_index()
    value, low, high = proportion_interval(counts["sum"], counts["count"])
    return counts.assign(value=value, low=low, high=high)


def summary(rows, sizes):
    """Return shares of recovery, by what is open, by coverage and by solver, with intervals."""
    lines = []

    def note(what, successes):
        _, *ends = proportion_interval(successes.sum(), len(successes))
        lines.append((what, counted(successes), *ends))

    ends = last(rows)
    for key, own in ends.groupby(["samples", "start", "model"], sort=False):
        note(", ".join(key), own["error"] < SUCCESS)
        middle = own["error"].median()
        lines.append((", ".join((*key, "median error")), middle, np.nan, np.nan))
        if key[0] == "fixed":
            for name, part in (
                (f"rarest item {sizes.k} or more", own[own["least"] >= sizes.k]),
                (f"rarest item less than {sizes.k}", own[own["least"] < sizes.k]),
            ):
                if len(part):
                    note(", ".join((*key, name)), part["error"] < SUCCESS)
    for line in shares(rows).itertuples():
        if line.method != FEDERATED:
            recovered = Share(int(line.sum), int(line.count))
            lines.append((f"{line.method}, {line.model}", recovered, line.low, line.high))
    once = rows.drop_duplicates("replicate")
    for model in ("side", "one-hot"):
        note(f"entries determine the matrix, {model}", once[f"determined, {model}"])
    return pd.DataFrame(lines, columns=["what", "value", "low", "high"]).set_index("what")


def caption(rows, replicates, sizes):
    return f"""
        Relative error ‖UVᵀZᵀ − M*Zᵀ‖/‖M*Zᵀ‖ of federated averaging, d = {sizes.d}, M = {sizes.n}, k
        = {sizes.p}, r = {sizes.k}, U* and V* by QR, rows of Z normalised, {sizes.per_client}
        entries a client; open in the paper and taken here: η = {sizes.step_size:g}, τ =
        {sizes.local_steps}, C = {sizes.participants} drawn with replacement, entries of a random
        start N(0, {STARTS["random"]}²), a near one the truth's factors with N(0, {STARTS["near"]}²)
        added. Median and middle 80 % of {replicates} instances, shown from 10⁻¹⁶ on. Fixed entries:
        drawn once, as in Appendix C.4; fresh: any entry of the client's, as in Theorem 3.3. Without
        side information V has a row per client (Z = I), or all clients share one vector of ratings,
        which no start is near. Right, top: errors after the last round, moved sideways to be seen;
        dashed: {SUCCESS:g}. Right, bottom: share of instances with a relative error below
        {SUCCESS:g} and exact 95 % interval, federated averaging from a random start, the others
        from a spectral one (Gauss-Newton: 100 steps; alternating least squares:
        {SOLVERS["alternating"][1]["iterations"]}; balanced gradient descent:
        {SOLVERS["gradient"][1]["iterations"]}; nuclear norm: 12 levels,
        {SOLVERS["nuclear"][1]["iterations"]}); vertical lines: share of instances whose entries
        determine the matrix near the truth (differential of full rank).
    """


EXPERIMENT = Experiment(
    id="perfedsi.figure3",
    title="Federated averaging on entries with and without side information",
    cells=cells,
    replicate=replicate,
    draw=draw,
    caption=caption,
    summary=summary,
    kept=lambda rows: pd.concat([last(rows), rows[rows["method"] != FEDERATED]]),
    sizes=Figure3(),
    replicates=40,
    quick_replicates=3,
)

if __name__ == "__main__":
    run_script(EXPERIMENT)
