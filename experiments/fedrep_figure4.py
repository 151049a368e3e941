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
from linrep import plotting
from linrep.cli import run_script
from linrep.experiment import Experiment
from linrep.sweeps import Grid

N, D, K, M, ROUNDS, NEW = 100, 20, 2, 10, 500, 50
NOISE = np.sqrt(1e-3)
SAMPLES = (1, 2, 3, 4, 5, 7, 10, 15, 18, 20, 22, 25, 30, 40)
METHODS = ("FedRep", "local only", "FedSGD, random start", "FedSGD, FedRep's start")


def cells(quick):
    return Grid.product({"m": M})


def replicate(cell, rng):
    truth = lr.SharedRepresentation.random(n=N, d=D, k=K, heads="scaled_qr", noise=NOISE, rng=rng)
    data = truth.draw(cell["m"], rng=rng)
    start = lr.projected_gradient_start(data, K)
    seed = int(rng.integers(2**63))
    representations = {
        "FedRep": lr.fedrep(data, rounds=ROUNDS, start=start).state["B"],
        "local only": np.eye(D),
    }
    for name, begin in (("random", "random"), ("FedRep's", start)):
        trace = lr.fedsgd(data, step_size=0.1, rounds=ROUNDS, start=begin, rng=seed)
        representations[f"FedSGD, {name} start"] = trace.state["B"]
    heads = rng.standard_normal((NEW, K))
    scale = np.linalg.norm(truth.W) / np.sqrt(N)
    newcomers = truth.with_heads(scale * heads / np.linalg.norm(heads, axis=1, keepdims=True))
    rows = []
    for m_new in SAMPLES:
        samples = newcomers.draw(m_new, rng=rng)
        for method, B in representations.items():
            theta = lr.fit_heads(samples, B) @ B.T
            error = np.mean(np.sum((theta - newcomers.theta) ** 2, axis=1))
            rows.append({"samples": m_new, "method": method, "error": error})
    return pd.DataFrame(rows)


def draw(rows):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(plotting.COLUMN_WIDTH * 1.25, 2.7))
    ax = figure.subplots()
    plotting.curves(
        ax, rows, x="samples", y="error", by="method", order=METHODS, geometric=True, markers=True
    )
    for place, name in ((K, "k"), (D, "d")):
        ax.axvline(place, color="0.7", linewidth=0.8)
        ax.text(place, 1.0, f" {name}", transform=ax.get_xaxis_transform(), va="top", color="0.3")
    ax.set(
        xlabel="samples of the new client, $m_\\mathrm{new}$",
        ylabel="test error (mean square)",
        yscale="log",
        xscale="log",
    )
    ticks = [1, 2, 5, 10, 20, 40]
    ax.set_xticks(ticks, [str(tick) for tick in ticks])
    ax.minorticks_off()
    figure.legend(loc="outside upper center", ncols=2)
    return figure


def summary(rows):
    """Test error by the number of samples of the new client, geometric mean over replicates."""
    table = rows.pivot_table(index="samples", columns="method", values="error", aggfunc=gmean)
    return table[list(METHODS)].rename_axis(columns=None)


def caption(rows, replicates):
    return f"""
        Mean squared error of new clients on noise-free test data (exact, population), d = {D},
        k = {K}. Representations trained on n = {N} other clients with m = {M} samples each, r = 1,
        heads √k·QR, noise variance 10⁻³, {ROUNDS} rounds; FedRep from 10 rounds of projected
        gradient descent, FedSGD on one (B, w) at step size 0.1; the new client fits its head, or
        without a representation its whole model, by minimum-norm least squares. Geometric
        mean over {replicates} replicates, of the mean over {NEW} new clients each, with 95 %
        Student interval of the logarithms.
    """


EXPERIMENT = Experiment(
    id="fedrep.figure4",
    title="Test error of new clients: FedRep's representation, FedSGD's, none",
    cells=cells,
    replicate=replicate,
    draw=draw,
    caption=caption,
    summary=summary,
)

if __name__ == "__main__":
    run_script(EXPERIMENT)
