"""pFL^MF, Figure 4: steps of U and ranks, on very unlike clients.

Open in the paper, and what is taken here: rounds (200), momentum (none), epochs of v (one), the
step size of U, the largest of the paper's set, 0.1, since the figure is about how many steps are
taken, not about how long they are; that of v a tenth of it, as in Theorem 1 at a participation of
0.1. With steps of 0.1 for v, too, runs with many steps of U diverge.
"""

import pandas as pd

from linrep import deep, plotting
from linrep.cli import run_script
from linrep.experiment import Experiment
from linrep.stats import mean_interval
from linrep.sweeps import Grid

LR, LR_V = 0.1, 0.01
SETTINGS = {"participation": 0.1, "batch_size": 256, "momentum": 0.0}
ALPHA = 0.1
STEPS, RANKS = (1, 10, 20), (1, 10, 20)  # Setup 6


def cells(quick):
    if quick:
        small = {"data": "digits", "n": 10, "rounds": 16, "every": 4}
        return Grid.product({**small, "rank": (1, 5)})
    full = {"data": "mnist", "n": 200, "rounds": 200, "every": 10}
    return Grid.product({**full, "rank": RANKS})


def replicate(cell, rng):
    seed, rounds = int(rng.integers(2**32)), cell["rounds"]
    images = deep.load(cell["data"], rng=seed)
    data = deep.partitions.dirichlet(images, cell["n"], ALPHA, rng=seed)
    record = sorted({*range(0, rounds + 1, cell["every"]), *range(rounds - 9, rounds + 1)})
    tables = []
    for steps in STEPS:
        method = deep.PFLMF(rank=cell["rank"], steps_U=steps, lr_v=LR_V)
        trace = deep.run(
            data, method, model="mlp", rounds=rounds, record=record, lr=LR, rng=seed, **SETTINGS
        )
        values = {"round": trace.recorded, "accuracy": 100.0 * trace["accuracy"]}
        tables.append(pd.DataFrame({"steps": steps, **values}))
    return pd.concat(tables, ignore_index=True)


def draw(rows):
    from matplotlib.figure import Figure

    ranks = sorted(rows["rank"].unique())
    figure = Figure(figsize=(plotting.PAGE_WIDTH, 2.6))
    axes = figure.subplots(1, len(ranks), sharex=True, sharey=True, squeeze=False)[0]
    shown = rows[rows["round"] % rows["every"] == 0]
    shown = shown.assign(label="$K_U$ = " + shown["steps"].astype(str))
    for ax, rank in zip(axes, ranks, strict=True):
        own = shown[shown["rank"] == rank]
        plotting.curves(ax, own, x="round", y="accuracy", by="label")
        ax.set(title=f"r = {rank}", xlabel="round")
    axes[0].set(ylabel="accuracy of all clients (%)", ylim=(0.0, 100.0))
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return figure


def summary(rows):
    """Return mean accuracies of the last ten rounds with 95 % intervals."""
    last = rows[(rows["round"] > rows["rounds"] - 10) & (rows["round"] > 0)]
    last = last.groupby(["rank", "steps", "replicate"])["accuracy"].mean().reset_index()
    lines = [
        (*cell, len(own), *mean_interval(own["accuracy"]))
        for cell, own in last.groupby(["rank", "steps"])
    ]
    return pd.DataFrame(lines, columns=["rank", "steps", "replicates", "accuracy", "low", "high"])


def caption(rows, replicates):
    first = rows.iloc[0]
    return f"""
        pFL^MF on {first["data"]} divided by Dir({ALPHA:g}) among {first["n"]} clients, 75 % of each
        client's samples for training, 10 % of the clients in a round, batches of 256, SGD without
        momentum, two hidden layers of 200 units; one epoch of v in steps of size {LR_V:g}, then K_U
        steps of U of size {LR:g}, the largest that the paper tries. Number of rounds and step sizes
        are open in the paper. Accuracy of every client's model on its own test samples, mean over
        clients; mean and 95 % interval of {replicates} draws of partition, weights, participants
        and batches.
    """


EXPERIMENT = Experiment(
    id="deep.pflmf_figure4",
    title="pFL^MF: steps of U and ranks",
    cells=cells,
    replicate=replicate,
    draw=draw,
    caption=caption,
    summary=summary,
    replicates=5,
    quick_replicates=2,
    packages=("torch", "sklearn"),
    data=("mnist",),
)

if __name__ == "__main__":
    run_script(EXPERIMENT)
