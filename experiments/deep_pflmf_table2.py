"""pFL^MF, Table 2: clients in groups that see the same data and mean other things, and writers.

Open in the paper, and what is taken here: rounds (500), momentum (none), steps of U (K, as many as
the average client's local epochs have batches, here one each), steps of v (p η / K, as in Theorem
1, with steps η of U and participation p); what 1 and 5 local epochs are for FedRep (those of the
representation, after ten of the heads: 10 + 1 and 10 + 5). The step size of each method is chosen
from the paper's set anew in every replicate, by a quarter of the training samples in shorter runs.
The paper's 1091 writers are 30 % of FEMNIST's, those with ten images.
"""

from functools import partial

import numpy as np
import pandas as pd

from linrep import deep, plotting
from linrep.cli import run_script
from linrep.experiment import Experiment
from linrep.summaries import beside
from linrep.sweeps import Grid
from linrep.trace import last_rounds

LRS = (1e-1, 1e-2, 1e-3, 1e-4)  # Section 5
SETTINGS = {"participation": 0.1, "batch_size": 256, "momentum": 0.0}
RANKS = (1, 5, 10, 15)
OTHERS = ("Local", "FedAvg", "FedPer", "FedRep")
METHODS = (*OTHERS, *(f"pFL$^{{MF}}$, r = {rank}" for rank in RANKS))
SETUPS = {  # Setups 3, 2, 4: data, network, number of clients
    "permuted labels": ("mnist", "mlp", 1000),
    "super groups": ("cifar100", "cnn4", 500),
    "writers": ("femnist", "mlp", 1091),
}
GROUPS = 10  # of clients with permuted labels
PAPER = {
    ("permuted labels", 1): (25.36, 12.02, 19.86, 21.30, 14.70, 23.75, 34.23, 39.31),
    ("super groups", 1): (10.49, 36.40, 14.80, 12.18, 42.94, 44.70, 45.57, 45.43),
    ("writers", 1): (50.77, 65.40, 66.05, 66.10, 67.82, 69.99, 72.56, 73.59),
    ("writers", 5): (65.69, 77.19, 67.72, 66.29, 71.42, 72.09, 72.47, 76.41),
}
NUMBERS = {
    (*cell, method): number
    for cell, numbers in PAPER.items()
    for method, number in zip(METHODS, numbers, strict=True)
}


def cells(quick):
    small = {"data": "digits", "network": "mlp", "n": 6, "rounds": 5, "tried": 1}
    full = {"rounds": 500, "tried": 4}
    grids = []
    for setup, (data, network, n) in SETUPS.items():
        own = small if quick else {"data": data, "network": network, "n": n, **full}
        epochs = (1, 5) if setup == "writers" else 1
        grids.append(Grid.product({"setup": setup, "epochs": epochs, **own}))
    return sum(grids[1:], grids[0])


def divided(cell, seed):
    """Return the clients' samples."""
    images, n = deep.load(cell["data"], rng=seed), cell["n"]
    if cell["setup"] == "permuted labels":
        return deep.partitions.permuted_labels(images, n, min(GROUPS, n // 2), rng=seed)
    if cell["setup"] == "super groups":  # the digits have no coarse classes: two in a group
        groups = None if cell["data"] == "cifar100" else 5
        return deep.partitions.super_groups(images, n, groups, rng=seed)
    x, y = images.all_x, images.all_y
    if cell["data"] == "femnist":
        owner = np.concatenate([images.owner, images.owner_test])
    else:  # the digits' writers are not known
        owner = np.random.default_rng(seed).integers(n, size=len(y))
    together = deep.Dataset(x, y, classes=images.classes, name=images.name, owner=owner)
    return deep.partitions.natural(together, n, min_samples=10, rng=seed)


def method(name, lr, epochs, K):
    """Return a method by its name, with K steps of U and of v, these as short as in Theorem 1."""
    if name in OTHERS:
        return getattr(deep, name)(epochs=epochs)
    rank = RANKS[METHODS.index(name) - len(OTHERS)]
    lr_v = SETTINGS["participation"] * lr / K
    return deep.PFLMF(rank=rank, epochs=epochs, steps_U=K, lr_v=lr_v)


def tried_for(rounds):
    return max(2, rounds // 5)


def replicate(cell, rng):
    seed = int(rng.integers(2**32))
    data, rounds = divided(cell, seed), cell["rounds"]
    settings = {"model": cell["network"], "rng": seed, **SETTINGS}
    tried, epochs = tried_for(rounds), cell["epochs"]
    K = epochs * data.batches(SETTINGS["batch_size"])
    rows = []
    for name in METHODS:
        make = partial(method, name, epochs=epochs, K=K)
        lr = deep.choose_lr(data, make, LRS[: cell["tried"]], rounds=tried, **settings)
        trace = deep.run(
            data, make(lr), lr=lr, rounds=rounds, record=last_rounds(rounds), **settings
        )
        rows.append((name, lr, 100.0 * trace.mean_of_last("accuracy")))
    return pd.DataFrame(rows, columns=["method", "lr", "accuracy"])


def draw(rows):
    from matplotlib.figure import Figure

    panels = list(summary(rows).reset_index().groupby(["setup", "epochs"], sort=False))
    figure = Figure(figsize=(plotting.PAGE_WIDTH, 2.6))
    axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for ax, ((setup, epochs), own) in zip(axes, panels, strict=True):
        plotting.dots(ax, own, order=METHODS, limits=(0.0, 100.0))
        local = f"{epochs} local epoch{'s' if epochs > 1 else ''}"
        ax.set(title=f"{setup}\n{local}", xlabel="accuracy (%)")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=2)
    return figure


def is_quick(rows):
    return "digits" in set(rows["data"])


def summary(rows):
    """Return mean accuracies with 95 % intervals, the paper's, and the step sizes chosen."""
    paper = {} if is_quick(rows) else NUMBERS
    return beside(rows, paper, by=["setup", "epochs", "method"], listed=["lr"])


def caption(rows, replicates):
    shown = rows.drop_duplicates(["setup", "epochs"])
    of = "; ".join(
        f"{own['data'].iloc[0]}, {own['n'].iloc[0]} clients ({setup})"
        for setup, own in shown.groupby("setup", sort=False)
    )
    groups, rounds = min(GROUPS, shown["n"].iloc[0] // 2), shown["rounds"].iloc[0]
    writers = "whom the digits are dealt to at random" if is_quick(rows) else "with ten images"
    against = "" if is_quick(rows) else "Diamonds: Table 2 of the paper."
    return f"""
        Data: {of}. Permuted labels: {groups} groups of clients, each with a permutation of the
        classes of its own. Super groups: clients have samples from one group of five classes (of
        two, digits). Writers: clients are writers {writers}. 75 % of each client's samples for
        training, 10 % of the clients in a round, batches of 256, SGD without momentum, {rounds}
        rounds (open in the paper); two hidden layers of 200 units, CIFAR-100 two convolutions and
        two linear layers. FedRep's heads move ten epochs before the local epochs of the rest, which
        is open in the paper; K, the batches of the average client's local epochs, is the number of
        steps of U and of v, these shorter by the factor 0.1 / K, as in Theorem 1. The step size is
        chosen for each method and replicate among
        {", ".join(f"{lr:g}" for lr in LRS[: shown["tried"].iloc[0]])} by a quarter of each client's
        training samples, held out in runs of {tried_for(rounds)} rounds. Accuracy of every client's
        model on its own test samples, mean over clients and the last {min(10, rounds)} rounds; mean
        and 95 % interval of {replicates} draws of partition, weights, participants and batches.
        {against}
    """


EXPERIMENT = Experiment(
    id="deep.pflmf_table2",
    title="pFL^MF and others on groups of clients and on writers",
    cells=cells,
    replicate=replicate,
    draw=draw,
    caption=caption,
    summary=summary,
    replicates=5,
    quick_replicates=2,
    packages=("torch", "sklearn"),
    data=("mnist", "cifar100", "femnist"),
)

if __name__ == "__main__":
    run_script(EXPERIMENT)
