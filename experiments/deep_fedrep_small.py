"""FedRep's Table 1 in small: CIFAR-10 at 16 by 16 pixels, four methods, 100 clients of two classes.

Section 5.2 and Appendix A.2, for CIFAR-10 with (n, S) = (100, 2). Departures: smaller images, and
as many of them as the file holds; three repetitions instead of five; four methods. The network is
that of FLUTE's Appendix C.2 at this size. The file is any .npz of that name for `deep.load`.
"""

from functools import cache

import pandas as pd

from linrep import deep, plotting
from linrep.cli import run_script
from linrep.experiment import Experiment, data_folder
from linrep.summaries import beside
from linrep.sweeps import Grid
from linrep.trace import last_rounds

FILE = "cifar10_16.npz"
SETTINGS = {"momentum": 0.5, "batch_size": 10}
FULL = {"data": FILE, "n": 100, "classes": 2, "rounds": 100, "participation": 0.1, "lr": 0.01}
SMALL = {"data": "digits", "n": 20, "classes": 2, "rounds": 8, "participation": 0.25, "lr": 0.1}
METHODS = ("FedAvg", "FedAvg + FT", "FedPer", "FedRep")


def cells(quick):
    return Grid.product(SMALL if quick else FULL)


@cache
def dataset(name):
    """Return all samples."""
    return deep.load(name if name == "digits" else str(data_folder() / name))


def replicate(cell, rng):
    seed, name, rounds = rng.integers(2**32), cell["data"], cell["rounds"]
    data = deep.partitions.shards(dataset(name), cell["n"], cell["classes"], rng=seed)
    rows = []
    for method in (deep.FedAvg(ft="head"), deep.FedPer(), deep.FedRep()):
        trace = deep.run(
            data, method, model="mlp" if name == "digits" else "cnn", rounds=rounds, rng=seed,
            lr=cell["lr"], participation=cell["participation"], record=last_rounds(rounds),
            **SETTINGS,
        )  # fmt: skip
        rows.append((trace.algorithm, 100.0 * trace.mean_of_last("accuracy")))
        if "fine_tuned" in trace:
            rows.append(("FedAvg + FT", 100.0 * trace["fine_tuned"][-1]))
    return pd.DataFrame(rows, columns=["method", "accuracy"]).assign(images=len(data.y))


def summary(rows):
    """Return accuracies in percent with 95 % intervals; the paper has none for these images."""
    return beside(rows, {}, by=["data", "n", "classes", "method"])


def draw(rows):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(plotting.COLUMN_WIDTH + 0.6, 1.7))
    ax = figure.subplots()
    plotting.dots(ax, summary(rows).reset_index(), order=METHODS, limits=(0.0, 100.0))
    ax.set(xlabel="accuracy of all clients (%)", xlim=(0.0, 100.0))
    return figure


def caption(rows, replicates):
    cell = rows.iloc[0]
    data = "CIFAR-10 at 16 × 16 pixels, the five-layer network of FLUTE's Appendix C.2"
    if cell["data"] == "digits":
        data = "scikit-learn's digits in place of CIFAR-10, two hidden layers of 200 units"
    return f"""
        {data}; {cell["images"]} images, {cell["n"]} clients of {cell["classes"]} classes each
        (shards), {cell["rounds"]} rounds with {cell["participation"]:.0%} of the clients, SGD with
        step {cell["lr"]:g}, momentum 0.5 and batches of 10, one local epoch, FedRep's heads ten
        before it (FedRep, Section 5.2 and Appendix A.2, whose images are larger and more: this is
        not the paper's table). Accuracy of every client's model on its own test samples, mean over
        all clients and the last {min(10, cell["rounds"])} rounds; + FT: after ten epochs of the
        heads of the last model. Mean and 95 % interval of {replicates} draws of partition, weights,
        participants and batches.
    """


EXPERIMENT = Experiment(
    id="deep.fedrep_small",
    title="FedRep's Table 1 in small: CIFAR-10 at 16 pixels",
    cells=cells,
    replicate=replicate,
    draw=draw,
    caption=caption,
    summary=summary,
    replicates=3,
    quick_replicates=2,
    packages=("torch", "sklearn"),
    data=(FILE,),
)

if __name__ == "__main__":
    run_script(EXPERIMENT)
