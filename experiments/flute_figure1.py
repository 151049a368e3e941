"""FLUTE, Figure 1: FLUTE and FedRep on independent normal models, a panel per k, M and N.

Open in the paper, and what is taken here: sizes, noise, step size and start of FLUTE are those of
Figure 3 (which shares this file's code), its "N(0, 0.3)" read as a variance; 500 epochs. FedRep
has exact heads in the picture, and one or ten head steps in the rows as well. Its step size, which
is not given, is read in two ways: one of its own, head steps of 1/lambda_max; or FLUTE's, for the
sum of the gradients and for head steps alike.
"""

from itertools import product

import numpy as np
import pandas as pd

from linrep.cli import run_script
from linrep.figures import plotting
from linrep.figures.counts import ordered
from linrep.figures.experiment import Experiment
from linrep.figures.summaries import recorded
from linrep.papers.flute import settings
from linrep.sweeps import Grid

WORDS = {
    "normal": "models φ_i of independent N(0, 1) entries",
    "decaying": "singular values of Φ 2d/(i + 1)",
}
METHODS = {"exact": "FedRep", "10 steps": "10GD-GD", "1 step": "GD-GD"}
SERIES = ("FLUTE", "FedRep", "FedRep(RI)", "FedRep, summed", "FedRep(RI), summed")


def cells(sizes, models="normal"):
    return Grid.product({"models": models, "n": sizes.n, "m": sizes.m, "k": sizes.k})


def replicate(cell, rng, **sizes):
    figure, n, k = settings.Figure1(**sizes), cell["n"], cell["k"]
    truth = settings.draw_truth(cell["models"], n, figure.d, settings.NOISE, rng)
    data = truth.draw(cell["m"], rng=rng)
    random = settings.random_start(n, figure.d, k, rng)
    record = np.unique(np.geomspace(1, figure.epochs, 25).round().astype(int)).tolist()
    run = data, k, random, figure.epochs, record
    runs = [(settings.flute(*run), {"method": "FLUTE"})]
    for head, start, step in product(settings.HEADS, settings.STARTS, settings.STEPS):
        trace = settings.fedrep(*run, start, head, step)
        where, how = "(RI)" * (start == "random"), ", summed" * (step == "same")
        runs.append((trace, {"method": f"{METHODS[head]}{where}{how}"}))
    return recorded(runs, "truth_error", "loss")


def draw(rows, sizes):
    rows = rows[rows["round"] > 0].sort_values(["n", "m", "k"])
    pairs = zip(rows["n"], rows["m"], strict=True)
    rows = rows.assign(clients=[f"M = {n}, N = {m}" for n, m in pairs])
    return plotting.grid_of_curves(
        rows, row="clients", col="k", labels=("epoch", "mean error"), log="xy", sharey="row",
        height=1.55, x="round", y="truth_error", by="method", order=SERIES, geometric=True,
    )  # fmt: skip


def summary(rows, sizes):
    """Mean final errors, and wins/ties/losses of FLUTE against each method at the last epoch."""
    final = rows[rows["round"] == sizes.epochs]
    keys = ["n", "m", "k"]
    table = final.pivot(index=[*keys, "replicate"], columns="method", values="truth_error")
    result = {
        f"error, {method}": table[method].groupby(keys).mean() for method in SERIES
    }  # fmt: skip
    for method in rows["method"].unique()[1:]:
        ratio = table["FLUTE"] / table[method]
        ahead, behind = ratio < 1 - settings.TIE, ratio > 1 + settings.TIE
        result[f"against {method}"] = ordered(ahead, behind, keys)
    return pd.DataFrame(result)


def caption(rows, replicates, sizes):
    chaotic = """ With the summed step, which can be beyond FedRep's limit of
        stability, a few runs are chaotic: on a processor that adds in another order their first
        digits are others."""
    return f"""
        Mean error (1/M) Σ‖B w_i − φ_i‖, d = {sizes.d}, {WORDS[rows["models"].iloc[0]]}, noise
        variance 0.3, the same N samples of each of M clients every epoch. FLUTE: γ₁ = 1/4, γ₂ =
        1/8, η = {settings.STEP_SIZE}, entries of the start N(0, (10d)⁻²), half losses summed.
        FedRep: exact heads, QR after each step, from the moments' start or (RI) from FLUTE's own;
        step size 1/(4L), L the largest curvature of its loss in B at the start, or ("summed")
        {settings.STEP_SIZE} on the sum of the gradients, as FLUTE's. Geometric mean over
        {replicates} replicates with 95 % Student interval of the
        logarithms.{chaotic * sizes.standard}
    """


EXPERIMENT = Experiment(
    id="flute.figure1",
    title="FLUTE and FedRep on independent normal models",
    cells=cells,
    replicate=replicate,
    draw=draw,
    caption=caption,
    summary=summary,
    kept=lambda rows: rows[rows["round"] == rows["round"].max()],
    sizes=settings.Figure1(),
)

if __name__ == "__main__":
    run_script(EXPERIMENT)
