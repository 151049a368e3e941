"""FedRep, Figure 4: test error of new clients against their number of samples.

Open in the paper, and what is taken here: training as in Figure 1 with m = 10, r = 1 and 500
rounds; m_new from 1 to 40; 50 new clients per replicate; 20 replicates. New heads are drawn
uniformly on the sphere whose radius is the root mean square of the training heads. The paper names
no start for FedSGD: it is shown from a random one and from FedRep's, because the answer depends on
it.
"""

import numpy as np
import pandas as pd
from scipy.stats import gmean

import linrep as lr
from linrep.cli import run_script
from linrep.figures import plotting
from linrep.figures.experiment import Experiment
from linrep.papers.fedrep.settings import (
    CONVENTIONS,
    FEDSGD_STEP,
    Figure4,
    models_on,
    squared_errors,
)
from linrep.sweeps import Grid

METHODS = ("FedRep", "local only", "FedSGD, random start", "FedSGD, FedRep's start")


def cells(sizes):
    return Grid.product({"m": sizes.m})


def replicate(cell, rng, **sizes):
    figure = Figure4(**sizes)
    truth = lr.SharedRepresentation.random(
        n=figure.n, d=figure.d, k=figure.k, **CONVENTIONS["text"], rng=rng
    )
    data = truth.draw(cell["m"], rng=rng)
    start = lr.projected_gradient_start(data, figure.k)
    seed = int(rng.integers(2**63))
    representations = {
        "FedRep": figure.fedrep(data, start, seed),
        "local only": np.eye(figure.d),
    }
    for name, begin in (("random", "random"), ("FedRep's", start)):
        trace = lr.fedsgd(data, step_size=FEDSGD_STEP, rounds=figure.rounds, start=begin, rng=seed)
        representations[f"FedSGD, {name} start"] = trace.state["B"]
    heads = rng.standard_normal((figure.new, figure.k))
    scale = np.linalg.norm(truth.W) / np.sqrt(figure.n)
    newcomers = truth.with_heads(scale * heads / np.linalg.norm(heads, axis=1, keepdims=True))
    rows = []
    for m_new in figure.m_new:
        samples = newcomers.draw(m_new, rng=rng)
        for method, B in representations.items():
            error = np.mean(squared_errors(models_on(B, samples), newcomers))
            rows.append({"samples": m_new, "method": method, "error": error})
    return pd.DataFrame(rows)


def draw(rows, sizes):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(plotting.COLUMN_WIDTH, 2.6))
    ax = figure.subplots()
    plotting.curves(
        ax, rows, x="samples", y="error", by="method", order=METHODS, geometric=True, markers=True
    )
    for place, name in ((sizes.k, "k"), (sizes.d, "d")):
        ax.axvline(place, color="0.7", linewidth=0.8)
        ax.text(place, 1.0, f" {name}", transform=ax.get_xaxis_transform(), va="top", color="0.3")
    ax.set(
        xlabel="samples of the new client, $m_\\mathrm{new}$",
        ylabel="test error (mean square)",
        yscale="log",
        xscale="log",
    )
    least, most = min(sizes.m_new), max(sizes.m_new)
    ticks = [tick for tick in (1, 2, 5, 10, 20, 40, 100, 200, 400) if least <= tick <= most]
    ticks = ticks if len(ticks) > 1 else sorted({least, most})
    ax.set_xticks(ticks, [str(tick) for tick in ticks])
    ax.minorticks_off()
    figure.legend(loc="outside upper center", ncols=2)
    return figure


def summary(rows, sizes):
    """Test error by the number of samples of the new client, geometric mean over replicates."""
    table = rows.pivot_table(index="samples", columns="method", values="error", aggfunc=gmean)
    return table[list(METHODS)].rename_axis(columns=None)


def caption(rows, replicates, sizes):
    return f"""
        Mean squared error of new clients on noise-free test data (exact, population), d =
        {sizes.d}, k = {sizes.k}. Representations trained on n = {sizes.n} other clients with m =
        {sizes.m} samples each, r = 1, heads √k·QR, noise variance 10⁻³, {sizes.rounds} rounds;
        FedRep from 10 rounds of projected gradient descent, FedSGD on one (B, w) at step size
        {FEDSGD_STEP}; the new client fits its head, or without a representation its whole model, by
        minimum-norm least squares. Geometric mean over {replicates} replicates, of the mean over
        {sizes.new} new clients each, with 95 % Student interval of the logarithms.
    """


EXPERIMENT = Experiment(
    id="fedrep.figure4",
    title="Test error of new clients: FedRep's representation, FedSGD's, none",
    cells=cells,
    replicate=replicate,
    draw=draw,
    caption=caption,
    summary=summary,
    sizes=Figure4(),
)

if __name__ == "__main__":
    run_script(EXPERIMENT)
