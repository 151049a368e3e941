"""pFL^MF, Table 2: clients in groups that see the same data and mean other things, and writers.

Open in the paper, and what is taken here: rounds (500), momentum (none), steps of U (K, as many as
the average client's local epochs have batches, here one each), steps of v (p η / K along U'∇f_i,
with steps η of U and participation p: n times those of Theorem 1); what 1 and 5 local epochs are
for FedRep (those of the representation, after ten of the heads: 10 + 1 and 10 + 5); which labels
are a group of Setup 2 (the coarse classes of CIFAR-100); the networks' widths; Local, which trains
the clients that are drawn; the number of runs (five). The step size of each method is chosen
from the paper's set anew in every replicate, by a quarter of the training samples in shorter runs.
The paper's 1091 writers are 30 % of FEMNIST's, those with ten images.

The small columns are of a part of the images, the files mnist_10k.npz and cifar100.npz in the
folder of data, CIFAR-100 shrunk to 16 by 16 pixels, with so many clients that one has about as
many samples as in the paper, and fewer and shorter runs to choose the step size by.
"""

from dataclasses import replace
from functools import partial

import numpy as np

from linrep import deep
from linrep.cli import run_script
from linrep.figures.experiment import Experiment
from linrep.figures.networks import (
    TITLES,
    Scales,
    choose_lr,
    outcome,
    table_of_dots,
    train,
)
from linrep.figures.summaries import beside
from linrep.papers.pflmf.table1_2 import TABLE_2
from linrep.sweeps import Grid

LRS = (1e-1, 1e-2, 1e-3, 1e-4)  # Section 5
SETTINGS = {"participation": 0.1, "batch_size": 256, "momentum": 0.0}
RANKS = (1, 5, 10, 15)
OTHERS = ("Local", "FedAvg", "FedPer", "FedRep")
METHODS = (*OTHERS, *(f"pFL$^{{MF}}$, r = {rank}" for rank in RANKS))
SETUPS = {  # Setups 3, 2, 4, in each scale: data, network, number of clients
    "digits": {
        "permuted labels": ("digits", "mlp", 6),
        "super groups": ("digits", "mlp", 6),
        "writers": ("digits", "mlp", 6),
    },
    "small": {
        "permuted labels": ("mnist_10k", "mlp", 200),
        "super groups": ("cifar100", "cnn4", 200),
    },
    "paper": {
        "permuted labels": ("mnist", "mlp", 1000),
        "super groups": ("cifar100", "cnn4", 500),
        "writers": ("femnist", "mlp", 1091),
    },
}
LENGTHS = {  # rounds, step sizes tried, rounds of these runs
    "digits": {"rounds": 5, "tried": 1, "rounds_tried": 2},
    "small": {"rounds": 500, "tried": 3, "rounds_tried": 50},
    "paper": {"rounds": 500, "tried": 4, "rounds_tried": 100},
}
KEYS = ("scale", "setup", "epochs")
GROUPS = 10  # of clients with permuted labels
COLUMNS = (("permuted labels", 1), ("super groups", 1), ("writers", 1), ("writers", 5))
NUMBERS = {
    (scale, *cell, method): tuple(map(float, number))
    for scale in ("small", "paper")
    for method, row in zip(METHODS, TABLE_2.values(), strict=True)
    for cell, number in zip(COLUMNS, row, strict=True)
}


def cells(sizes):
    grids = []
    for scale in sizes.scale:
        lengths = LENGTHS[scale] | ({"rounds": sizes.rounds} if sizes.rounds else {})
        for setup, (data, network, n) in SETUPS[scale].items():
            own = {"data": data, "network": network, "n": n, **lengths, "method": METHODS}
            epochs = (1, 5) if setup == "writers" else 1
            grids.append(Grid.product({"scale": scale, "setup": setup, "epochs": epochs, **own}))
    return sum(grids[1:], grids[0])


def divided(cell, seed):
    """Return the clients' samples."""
    images, n = deep.load(cell["data"], rng=seed), cell["n"]
    if cell["scale"] == "small" and cell["data"] == "cifar100":
        images = replace(images, x=halved(images.x), x_test=halved(images.x_test))
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


def halved(images):
    """Return images of half the size: means of two by two pixels."""
    blocks = images.reshape(*images.shape[:2], images.shape[2] // 2, 2, images.shape[3] // 2, 2)
    return np.rint(blocks.mean((3, 5), dtype=np.float32)).astype(np.uint8)


def method(name, lr, epochs, K):
    """Return a method by its name, with K steps of U and of v."""
    if name in OTHERS:
        return getattr(deep, name)(epochs=epochs)
    rank = RANKS[METHODS.index(name) - len(OTHERS)]
    lr_v = SETTINGS["participation"] * lr / K
    return deep.PFLMF(rank=rank, epochs=epochs, steps_U=K, lr_v=lr_v)


def replicate(cell, rng, scale, rounds):
    seed, name, epochs = int(rng.integers(2**32)), cell["method"], cell["epochs"]
    data = divided(cell, seed)
    settings = {"model": cell["network"], "rng": seed, **SETTINGS}
    K = epochs * data.batches(SETTINGS["batch_size"])
    make = partial(method, name, epochs=epochs, K=K)
    label, lrs = f"{name}, {cell['setup']}", LRS[: cell["tried"]]
    lr = choose_lr(data, make, lrs, label, rounds=cell["rounds_tried"], **settings)
    trace = train(data, make(lr), label, lr=lr, rounds=cell["rounds"], **settings)
    return outcome(trace).assign(lr=lr, samples=data.sizes.mean())


def draw(rows, sizes):
    data = rows.drop_duplicates(list(KEYS)).set_index(list(KEYS))["data"]

    def title(scale, setup, epochs):
        local = f"{epochs} local epoch{'s' if epochs > 1 else ''}"
        return f"{setup}, {TITLES[data[scale, setup, epochs]]}\n{scale}, {local}"

    return table_of_dots(summary(rows, sizes), KEYS, title, order=METHODS, across=4)


def summary(rows, sizes):
    """Return mean accuracies with 95 % intervals, the paper's, and the step sizes chosen."""
    return beside(rows, NUMBERS, by=[*KEYS, "method"], listed=["lr"], ordered="method")


def caption(rows, replicates, sizes):
    digits = rows["data"].iloc[0] == "digits"
    of = "; ".join(
        f"{setup}, {scale}: {TITLES[own['data'].iloc[0]]}, {own['n'].iloc[0]} clients with "
        f"{own['samples'].mean():.0f} training samples on average, {own['rounds'].iloc[0]} rounds, "
        f"step sizes {', '.join(f'{lr:g}' for lr in LRS[: own['tried'].iloc[0]])} tried in "
        f"{own['rounds_tried'].iloc[0]}"
        for (scale, setup), own in rows.groupby(["scale", "setup"], sort=False)
    )
    groups = min(GROUPS, rows["n"].iloc[0] // 2)
    writers = "whom the digits are dealt to at random" if digits else "with ten images"
    shown = set(rows["setup"])
    five = "five classes, a coarse one of CIFAR-100's (open in the paper)"
    group = "two classes" if digits else five
    known = {
        "permuted labels": f"""{groups} groups of clients, each with a permutation of the classes of
            its own""",
        "super groups": f"a group of clients has samples of {group}",
        "writers": f"clients are writers {writers}",
    }
    if ("small", "super groups") in set(zip(rows["scale"], rows["setup"], strict=True)):
        of += ", shrunk to 16 by 16 pixels"
    setups = "; ".join(f"{name}: {text}" for name, text in known.items() if name in shown)
    against = "" if digits else "Diamonds: Table 2 of the paper, of all images."
    return f"""
        {setups}. {of}. 75 % of each client's samples for
        training, 10 % of the clients in a round, batches of 256, SGD without momentum (rounds are
        open in the paper); two hidden layers of 200 units, CIFAR-100 two convolutions and
        two linear layers. FedRep's heads move ten epochs before the local epochs of the rest, which
        is open in the paper; K, the batches of the average client's local epochs, is the number of
        steps of U and of v, these along U'∇f_i and shorter by the factor 0.1 / K, n times those of
        Theorem 1. The step size is
        chosen for each method and replicate by a quarter of each client's
        training samples, held out in shorter runs, by accuracy or, where none is surely above that
        of always answering one class, by loss. Local trains the clients that are drawn.
        Accuracy of every client's
        model on its own test samples, mean over clients and the last
        {min(10, rows["rounds"].min())} rounds; mean
        and 95 % interval of up to {replicates} draws of partition, weights, participants and
        batches. {against}
    """


EXPERIMENT = Experiment(
    id="deep.pflmf_table2",
    title="pFL^MF, Table 2: groups of clients, and writers",
    cells=cells,
    replicate=replicate,
    draw=draw,
    caption=caption,
    summary=summary,
    replicates=5,
    quick_replicates=2,
    sizes=Scales(),
    paired=("method",),
    packages=("torch", "sklearn"),
    data=("mnist_10k", "cifar100", "mnist", "femnist"),
)

if __name__ == "__main__":
    run_script(EXPERIMENT)
