"""The deep experiments in small: scikit-learn's digits, 20 clients of two classes each.

What FedRep's Table 1 asks, on data that come along and in less than a minute: who is better off
with a representation of all and a head of one's own.
"""

import numpy as np
import pandas as pd

from linrep import deep, plotting
from linrep.cli import run_script
from linrep.experiment import Experiment
from linrep.stats import mean_interval
from linrep.sweeps import Grid

N, CLASSES, ROUNDS, PARTICIPATION, LR = 20, 2, 30, 0.25, 0.02
METHODS = {
    "FedRep": ("FedRep", {}),
    "FedPer": ("FedPer", {}),
    "FedAvg": ("FedAvg", {"ft": "head"}),
    "pFL$^{MF}$, r = 5": ("PFLMF", {"rank": 5, "steps_U": 7, "lr_v": LR * PARTICIPATION}),
    "local": ("Local", {}),
}
FINE_TUNED = "FedAvg, heads tuned"


def cells(quick):
    return Grid.product({"rounds": (4,) if quick else (ROUNDS,)})


def replicate(cell, rng):
    seed = rng.integers(2**32)
    data = deep.partitions.shards(deep.load("digits", rng=seed), N, CLASSES, rng=seed)
    rows = []
    for label, (name, settings) in METHODS.items():
        trace = deep.run(
            data, getattr(deep, name)(**settings), model="mlp", rounds=cell["rounds"], lr=LR,
            participation=PARTICIPATION, rng=seed,
        )  # fmt: skip
        collapse = trace.metrics.get("nc2_global", np.nan)  # factored networks have no such head
        metrics = {"accuracy": trace["accuracy"], "nc2": collapse}
        rows.append(pd.DataFrame({"method": label, "round": trace.recorded, **metrics}))
        if "fine_tuned" in trace:
            last = {"round": cell["rounds"], "accuracy": trace["fine_tuned"][-1]}
            rows.append(pd.DataFrame([{"method": FINE_TUNED, "nc2": np.nan, **last}]))
    return pd.concat(rows, ignore_index=True)


def judged(rows):
    """Return each replicate's mean over the last ten rounds, or what fine-tuning came to."""
    last = rows[rows["round"] > rows["round"].max() - 10]
    return last.groupby(["method", "replicate"], sort=False)["accuracy"].mean().reset_index()


def draw(rows):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(plotting.PAGE_WIDTH, 3.0))
    left, right = figure.subplots(1, 2, sharex=True)
    curves = rows[rows["method"] != FINE_TUNED]
    plotting.curves(left, curves, x="round", y="accuracy", by="method", order=METHODS)
    tuned = rows.loc[rows["method"] == FINE_TUNED, "accuracy"]
    mean, low, high = mean_interval(tuned)
    left.errorbar(
        rows["round"].max(), mean, yerr=[[mean - low], [high - mean]], fmt="kD", ms=4, capsize=2,
        label=FINE_TUNED,
    )  # fmt: skip
    heads = curves.dropna(subset="nc2")
    plotting.curves(right, heads, x="round", y="nc2", by="method", order=METHODS)
    left.set(xlabel="round", ylabel="mean accuracy of all clients", ylim=(0, 1))
    right.set(xlabel="round", ylabel="neural collapse of heads (global NC2)")
    figure.legend(*left.get_legend_handles_labels(), loc="outside upper center", ncols=6)
    return figure


def summary(rows):
    """Return mean accuracies with 95 % intervals over replicates."""
    lines = []
    for method, own in judged(rows).groupby("method", sort=False):
        lines.append((method, len(own), *mean_interval(own["accuracy"])))
    names = ["method", "replicates", "accuracy", "low", "high"]
    return pd.DataFrame(lines, columns=names).sort_values("accuracy", ascending=False)


def caption(rows, replicates):
    return f"""
        scikit-learn's digits (8 × 8 pixels), {N} clients of {CLASSES} classes each (shards), two
        hidden layers of 200 units, {ROUNDS} rounds with {PARTICIPATION:.0%} of the clients, SGD
        with step {LR}, momentum 0.5 and batches of 10; one local epoch, FedRep's heads ten before
        it; pFL^MF an epoch of v with step {LR * PARTICIPATION} and seven steps of U. Accuracy of
        every client's model on its own test samples, mean over clients; fine-tuned: ten epochs of
        the heads of FedAvg's last model. Right: mean distance of the heads' Gram matrix from that
        of a simplex equiangular tight frame (FLUTE, (51)). Mean and 95 % interval of {replicates}
        draws of split, partition, weights, participants and batches.
    """


EXPERIMENT = Experiment(
    id="deep.digits",
    title="Digits: shared representations with personal heads, and what else there is",
    cells=cells,
    replicate=replicate,
    draw=draw,
    caption=caption,
    summary=summary,
    replicates=5,
    quick_replicates=2,
    packages=("torch", "sklearn"),
)

if __name__ == "__main__":
    run_script(EXPERIMENT)
