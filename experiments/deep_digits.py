"""The deep experiments in small: scikit-learn's digits, 20 clients of two classes each.

What FedRep's Table 1 asks, on data that come along and in less than a minute: who is better off
with a representation of all and a head of one's own.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from linrep import deep
from linrep.cli import run_script
from linrep.figures import plotting
from linrep.figures.experiment import Experiment
from linrep.figures.sizes import Sizes, size
from linrep.figures.summaries import beside, mean_of_last
from linrep.stats import mean_interval
from linrep.sweeps import Grid

N, CLASSES, ROUNDS, PARTICIPATION, LR = 20, 2, 30, 0.25, 0.02
K = 7  # batches in an epoch of a client
FASTER = f"pFL$^{{MF}}$, v {K} × faster"
METHODS = {
    "FedRep": ("FedRep", {}),
    "FedPer": ("FedPer", {}),
    "FedAvg": ("FedAvg", {"ft": "head"}),
    "pFL$^{MF}$": ("PFLMF", {"rank": 5, "steps_U": K, "lr_v": LR * PARTICIPATION / K}),
    "local": ("Local", {}),
    FASTER: ("PFLMF", {"rank": 5, "steps_U": K, "lr_v": LR * PARTICIPATION}),
}
FINE_TUNED = "FedAvg, heads tuned"


@dataclass(frozen=True)
class Digits(Sizes):
    """How long."""

    rounds: int = size(ROUNDS, "Rounds of each run.", quick=4)


def cells(sizes):
    return Grid.product({"rounds": (sizes.rounds,)})


def replicate(cell, rng, rounds):
    seed = rng.integers(2**32)
    data = deep.partitions.shards(deep.load("digits", rng=seed), N, CLASSES, rng=seed)
    rows = []
    for label, (name, settings) in METHODS.items():
        trace = deep.run(
            data, getattr(deep, name)(**settings), model="mlp", rounds=rounds, lr=LR,
            participation=PARTICIPATION, rng=seed,
        )  # fmt: skip
        collapse = trace.metrics.get("nc2_global", np.nan)  # factored networks have no such head
        metrics = {"accuracy": trace["accuracy"], "nc2": collapse}
        rows.append(pd.DataFrame({"method": label, "round": trace.recorded, **metrics}))
        if "fine_tuned" in trace:
            last = {"round": rounds, "accuracy": trace["fine_tuned"][-1]}
            rows.append(pd.DataFrame([{"method": FINE_TUNED, "nc2": np.nan, **last}]))
    return pd.concat(rows, ignore_index=True)


def frames():
    """Return the least distance of (51), and that of a frame of a client's own classes.

    They are explained under :func:`linrep.deep.collapse.neural_collapse`.
    """
    size = np.sqrt(CLASSES * (8 * 10 + CLASSES) / 9) / 10  # of what (51) compares with, m = 10
    return 1.0 - size, np.sqrt(1.0 + size**2 - 2.0 * np.sqrt((CLASSES - 1) / 9))


def draw(rows, sizes):
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
    for value, line in zip(frames(), (":", "--"), strict=True):
        right.axhline(value, color="0.4", linewidth=0.8, linestyle=line)
    right.set(xlabel="round", ylabel="neural collapse of heads (global NC2)")
    figure.legend(*left.get_legend_handles_labels(), loc="outside upper center", ncols=4)
    return figure


def summary(rows, sizes):
    """Return mean accuracies with 95 % intervals over replicates."""
    table = beside(mean_of_last(rows, by=["method"]), {}, by=["method"])
    return table.drop(columns="paper").sort_values("accuracy", ascending=False)


def caption(rows, replicates, sizes):
    least, local = frames()
    return f"""
        scikit-learn's digits (8 × 8 pixels), {N} clients of {CLASSES} classes each (shards), two
        hidden layers of 200 units, {rows["rounds"].iloc[0]} rounds with {PARTICIPATION:.0%} of the
        clients, SGD with step {LR}, momentum 0.5 and batches of 10; one local epoch, FedRep's heads
        ten before it; pFL^MF of rank 5 an epoch of v, which has K = {K} batches, in steps shorter
        than those of U by the factor {PARTICIPATION} / K, or {K} times as long, and K steps of U.
        Accuracy of every client's model on its own test samples, mean over
        clients; heads tuned: ten epochs of the heads of FedAvg's last model. Right: mean distance
        of the heads' Gram matrix from that of a simplex equiangular tight frame of all ten classes,
        cut to the client's own (FLUTE, (51)); with {CLASSES} of them it is at least {least:.3f}
        (dotted), and {local:.3f} (dashed) for a frame of the client's classes alone. Mean and 95 %
        interval of {replicates} draws of split, partition, weights, participants and batches.
    """


EXPERIMENT = Experiment(
    id="deep.digits",
    title="Digits: shared representations with personal heads beside other methods",
    cells=cells,
    replicate=replicate,
    draw=draw,
    caption=caption,
    summary=summary,
    replicates=5,
    quick_replicates=2,
    sizes=Digits(),
    packages=("torch", "sklearn"),
)

if __name__ == "__main__":
    run_script(EXPERIMENT)
