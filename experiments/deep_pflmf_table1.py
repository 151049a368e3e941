"""pFL^MF, Table 1: accuracy on images that a Dirichlet law divides among 100 clients.

Open in the paper, and what is taken here: rounds (500), momentum (none), local steps (one epoch of
K batches for the average client; U as many steps), steps of v (p η / K along U'∇f_i, with steps η
of U and participation p: n times those of Theorem 1), FedRep's ten epochs of heads, FLUTE's
penalties (linrep's defaults), CFL's thresholds (those of its authors), even averages over
participants ("FedAvg, by size" weights them by their samples, as public code does). A departure:
APFL's mixture is fixed at 0.25, as in FedRep's Appendix A.2, while the paper describes one that
adapts. The step size of each method is chosen from the paper's set anew in every replicate, by a
quarter of the training samples in shorter runs.

The small columns are of the files mnist_10k.npz and cifar10_16.npz in the folder of data, a sixth
and a fifth of the images, CIFAR-10 at 16 by 16 pixels, with fewer rounds.
"""

from functools import partial

from linrep import deep
from linrep.cli import run_script
from linrep.figures.experiment import Experiment
from linrep.figures.networks import (
    TITLES,
    Scales,
    choose_lr,
    outcome,
    scaled,
    table_of_dots,
    train,
)
from linrep.figures.summaries import beside
from linrep.papers.pflmf.table1_2 import RANKS as ROWS
from linrep.papers.pflmf.table1_2 import TABLE_1

LRS = (1e-1, 1e-2, 1e-3, 1e-4)  # Section 5
SETTINGS = {"participation": 0.1, "batch_size": 256, "momentum": 0.0}
COLUMNS = tuple((data, alpha) for data in ("mnist", "cifar10", "cifar100") for alpha in (0.5, 1.0))
PAPER = {f"pFL$^{{MF}}$, {name}" if name in ROWS else name: row for name, row in TABLE_1.items()}
RANKS = {f"pFL$^{{MF}}$, r = {rank}": rank for rank in (1, 5, 10, 15)}
BY_SIZE = "FedAvg, by size"
METHODS = (*PAPER, BY_SIZE)
SMALL = {"mnist_10k": "mnist", "cifar10_16": "cifar10"}  # what they stand for
NETWORKS = {"mnist": "mlp", "cifar10": "cnn4", "cifar100": "cnn4", "digits": "mlp"}
NUMBERS = {
    (name, alpha, method): tuple(map(float, number))
    for method, row in PAPER.items()
    for (data, alpha), number in zip(COLUMNS, row, strict=True)
    for name in (data, *(small for small, full in SMALL.items() if full == data))
}
SCALES = {
    "digits": {"data": "digits", "n": 8, "rounds": 6, "tried": 2, "rounds_tried": 2},
    "small": {"data": tuple(SMALL), "n": 100, "rounds": 100, "tried": 4, "rounds_tried": 25},
    "paper": {
        "data": ("mnist", "cifar10", "cifar100"),
        "n": 100, "rounds": 500, "tried": 4, "rounds_tried": 100,
    },
}  # fmt: skip


def cells(sizes):
    return scaled(SCALES, sizes, alpha=(0.5, 1.0), method=METHODS, named=False)


def method(name, lr, K):
    """Return a method by its name, with K steps of U and of v."""
    if name == BY_SIZE:
        return deep.FedAvg(weighted=True)
    if name == "Local":
        return deep.Local(everyone=True)
    if name not in RANKS:
        return deep.METHODS[name.lower()]()
    return deep.PFLMF(rank=RANKS[name], steps_U=K, lr_v=SETTINGS["participation"] * lr / K)


def replicate(cell, rng, scale, rounds):
    seed, name = int(rng.integers(2**32)), cell["data"]
    data = deep.partitions.dirichlet(deep.load(name, rng=seed), cell["n"], cell["alpha"], rng=seed)
    settings = {"model": NETWORKS[SMALL.get(name, name)], "rng": seed, **SETTINGS}
    make = partial(method, cell["method"], K=data.batches(SETTINGS["batch_size"]))
    label = f"{cell['method']}, {TITLES[name]}, {cell['alpha']:g}"
    lrs = LRS[: cell["tried"]]
    lr = choose_lr(data, make, lrs, label, rounds=cell["rounds_tried"], **settings)
    trace = train(data, make(lr), label, lr=lr, rounds=cell["rounds"], **settings)
    return outcome(trace).assign(lr=lr)


def draw(rows, sizes):
    return table_of_dots(
        summary(rows, sizes), ["data", "alpha"],
        lambda name, alpha: f"{TITLES[name]}, Dir({alpha:g})", order=METHODS, across=2,
    )  # fmt: skip


def summary(rows, sizes):
    """Return mean accuracies with 95 % intervals, the paper's, and the step sizes chosen."""
    return beside(rows, NUMBERS, by=["data", "alpha", "method"], listed=["lr"], ordered="method")


def caption(rows, replicates, sizes):
    first, names = rows.iloc[0], ", ".join(map(TITLES.get, rows["data"].unique()))
    against = "" if names == "digits" else "Diamonds: Table 1 of the paper, of all images."
    return f"""
        Data ({names}) divided by a Dirichlet law among {first["n"]} clients, 75 % of each client's
        samples for training, 10 % of the clients in a round, batches of 256, SGD without momentum.
        Networks: two hidden layers of 200 units, for CIFAR two convolutions and two linear layers.
        {first["rounds"]} rounds (open in the paper) of one local epoch, FedRep's heads ten before
        it; K, the batches of the average client's epoch, is the number of steps of U and of v,
        these along U'∇f_i and shorter by the factor 0.1 / K, n times those of Theorem 1. APFL's
        mixture is fixed at 0.25, as in FedRep's Appendix A.2 (the paper describes one that adapts);
        FLUTE has linrep's penalties λ1 = λ2 = 10⁻⁴, λ3 = 0.1.
        The step size is chosen for each method and replicate among
        {", ".join(f"{lr:g}" for lr in LRS[: first["tried"]])} by a quarter of each client's
        training samples, held out in runs of {first["rounds_tried"]} rounds, by accuracy or,
        where none is surely above that of always answering one class, by loss. Accuracy of every
        client's model on its own test samples, mean over clients and the last
        {min(10, first["rounds"])} rounds; mean and 95 % interval of {replicates} draws of
        partition, weights, participants and batches (of fewer where not all has been run).
        Local: all clients train in every round. Averages over participants are even; "{BY_SIZE}":
        weighted by samples. {against}
    """


EXPERIMENT = Experiment(
    id="deep.pflmf_table1",
    title="pFL^MF, Table 1: images divided by a Dirichlet law",
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
    data=("mnist_10k", "cifar10_16", "mnist", "cifar10", "cifar100"),
)

if __name__ == "__main__":
    run_script(EXPERIMENT)
