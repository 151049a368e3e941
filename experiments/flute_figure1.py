"""FLUTE, Figure 1: FLUTE and FedRep on independent normal models, a panel per k, M and N.

Open in the paper, and what is taken here: sizes, noise, step size and start of FLUTE are those of
Figure 3 (which shares this file's code), its "N(0, 0.3)" read as a variance; 500 epochs. FedRep
has exact heads in the picture, and one or ten head steps in the rows as well. Its step size, which
is not given, is read in two ways: one of its own, head steps of 1/lambda_max; or FLUTE's, for the
sum of the gradients and for head steps alike.
"""

import numpy as np
import pandas as pd

import linrep as lr
from linrep import plotting
from linrep.algorithms.flute import gaussian_start
from linrep.cli import run_script
from linrep.experiment import Experiment
from linrep.sweeps import Grid

D, STEP_SIZE, EPOCHS = 10, 0.03, 500
NOISE = np.sqrt(0.3)
SPECTRA = {"normal": None, "decaying": 2 * D / (np.arange(1, D + 1) + 1)}
WORDS = {
    "normal": "models φ_i of independent N(0, 1) entries",
    "decaying": "singular values of Φ 2d/(i + 1)",
}
RECORD = np.unique(np.geomspace(1, EPOCHS, 25).round().astype(int))
HEADS = {"FedRep": None, "10GD-GD": 10, "GD-GD": 1}
STEPS = {"1/(4L)": {}, "summed": {"step_size": STEP_SIZE, "normalization": "published"}}
SERIES = ("FLUTE", "FedRep", "FedRep(RI)", "FedRep, summed", "FedRep(RI), summed")
TIE = 0.005


def cells(quick, models="normal"):
    if quick:
        return Grid.product({"models": models, "n": 15, "m": 12, "k": (2, 6)})
    return Grid.product({"models": models, "n": (15, 30), "m": (12, 20), "k": (2, 4, 6, 8)})


def replicate(cell, rng):
    n, k = cell["n"], cell["k"]
    truth = lr.LowRankRegression.random(
        n=n, d=D, singular_values=SPECTRA[cell["models"]], noise=NOISE, rng=rng
    )
    data = truth.draw(cell["m"], rng=rng)
    random = gaussian_start(n, D, k, 1 / (10 * D), rng)
    flute = lr.flute(
        data, k=k, step_size=STEP_SIZE, rounds=EPOCHS, start=random, record=RECORD.tolist()
    )
    frames = [_frame(flute, "FLUTE")]
    for method, local_steps in HEADS.items():
        for name, start in (("", "moments"), ("(RI)", random)):
            for step, options in STEPS.items():
                if step == "summed" and local_steps is not None:
                    options = {**options, "head_step_size": STEP_SIZE}
                trace = lr.fedrep(
                    data, k=k, rounds=EPOCHS, start=start, local_steps=local_steps,
                    record=RECORD.tolist(), **options,
                )  # fmt: skip
                suffix = ", summed" if step == "summed" else ""
                frames.append(_frame(trace, f"{method}{name}{suffix}"))
    return pd.concat(frames)


def _frame(trace, method):
    frame = trace.to_frame()[["truth_error", "loss"]].reset_index()
    return frame.assign(method=method)


def draw(rows):
    from matplotlib.figure import Figure

    sizes = rows[["n", "m"]].drop_duplicates().sort_values(["n", "m"]).to_numpy()
    ranks = sorted(rows["k"].unique())
    figure = Figure(figsize=(plotting.PAGE_WIDTH, 1.0 + 1.45 * len(sizes)))
    axes = figure.subplots(len(sizes), len(ranks), sharex=True, sharey="row", squeeze=False)
    for line, (n, m) in zip(axes, sizes, strict=True):
        for ax, k in zip(line, ranks, strict=True):
            panel = rows[(rows["n"] == n) & (rows["m"] == m) & (rows["k"] == k)]
            panel = panel[panel["round"] > 0]
            plotting.curves(
                ax, panel, x="round", y="truth_error", by="method", order=SERIES, geometric=True
            )
            ax.set(xscale="log", yscale="log")
        plotting.plain_log_ticks(line[0].yaxis)
        line[0].set_ylabel(f"M = {n}, N = {m}\nmean error")
    for ax, k in zip(axes[0], ranks, strict=True):
        ax.set_title(f"k = {k}")
    for ax in axes[-1]:
        ax.set_xlabel("epoch")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=5)
    return figure


def summary(rows):
    """Mean final errors, and wins/ties/losses of FLUTE against each method at the last epoch."""
    final = rows[rows["round"] == EPOCHS]
    keys = ["n", "m", "k"]
    table = final.pivot(index=[*keys, "replicate"], columns="method", values="truth_error")
    result = {
        f"error, {method}": table[method].groupby(keys).mean() for method in SERIES
    }  # fmt: skip
    for method in rows["method"].unique()[1:]:
        ratio = table["FLUTE"] / table[method]
        won, lost = ratio < 1 - TIE, ratio > 1 + TIE
        counts = pd.DataFrame({"won": won, "tied": ~won & ~lost, "lost": lost}).groupby(keys).sum()
        counts = counts.astype(str)
        result[f"against {method}"] = counts["won"] + "/" + counts["tied"] + "/" + counts["lost"]
    return pd.DataFrame(result)


def caption(rows, replicates):
    return f"""
        Mean error (1/M) Σ‖B w_i − φ_i‖, d = {D}, {WORDS[rows["models"].iloc[0]]}, noise variance
        0.3, the same N samples of each of M clients every epoch. FLUTE: γ₁ = 1/4, γ₂ = 1/8, η =
        {STEP_SIZE}, entries of the start N(0, (10d)⁻²), half losses summed. FedRep: exact heads, QR
        after each step, from the moments' start or (RI) from FLUTE's own; step size 1/(4L), L the
        largest curvature of its loss in B at the start, or ("summed") {STEP_SIZE} on the sum of the
        gradients, as FLUTE's. Geometric mean over {replicates} replicates with 95 % Student
        interval of the logarithms. With the summed step, which can be beyond FedRep's limit of
        stability, a few runs are chaotic: on a processor that adds in another order their first
        digits are others.
    """


EXPERIMENT = Experiment(
    id="flute.figure1",
    title="FLUTE and FedRep on independent normal models",
    cells=cells,
    replicate=replicate,
    draw=draw,
    caption=caption,
    summary=summary,
    kept=lambda rows: rows[rows["round"] == EPOCHS],
)

if __name__ == "__main__":
    run_script(EXPERIMENT)
