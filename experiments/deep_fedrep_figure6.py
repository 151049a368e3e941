"""FedRep, Figure 6: heads of new clients on representations that others have learned.

Section 5.2 and Appendix A.2: networks trained on ten letters of FEMNIST as in Table 1; then 100 new
clients, each with 500 digits of five classes for the head and 100 for the test. Open in the paper,
and what is taken here: the digits are those of FEMNIST itself, drawn as its letters are; heads
start anew, the same for all methods, since digits are not letters; a method whose clients have
representations of their own hands on their mean; the number of epochs. A departure: the letters,
which are those of Table 1's script.

The small scale is of mnist_10k.npz in the folder of data: networks are trained on the digits 0 to
4, and new clients have digits 5 to 9.
"""

from dataclasses import replace

import pandas as pd

from linrep import deep
from linrep.cli import run_script
from linrep.figures import plotting
from linrep.figures.experiment import Experiment
from linrep.figures.networks import (
    Scales,
    computed_by,
    most_common,
    scaled,
    train,
)
from linrep.figures.summaries import beside

LR, LR_L2GD = 0.01, 0.001
FULL = {
    "data": "femnist", "n": 150, "classes": 3, "rounds": 200, "participation": 0.1, "epochs": 5,
    "new": 100, "new_classes": 5, "train": 100, "test": 20, "tuning": 10,
}  # fmt: skip
SMALL = {
    "data": "mnist_10k", "n": 50, "classes": 2, "rounds": 200, "participation": 0.1, "epochs": 5,
    "new": 20, "new_classes": 3, "train": 50, "test": 10, "tuning": 10,
}  # fmt: skip
DIGITS = {
    "data": "digits", "n": 8, "classes": 2, "rounds": 8, "participation": 0.25, "epochs": 1,
    "new": 8, "new_classes": 3, "train": 24, "test": 8, "tuning": 5,
}  # fmt: skip
SCALES = {"digits": DIGITS, "small": SMALL, "paper": FULL}
LEARNED = {  # and what new clients have
    "femnist": ("ten letters of FEMNIST", "digits of FEMNIST"),
    "mnist_10k": ("MNIST's digits 0 to 4", "digits 5 to 9"),
    "digits": ("scikit-learn's digits 0 to 4", "digits 5 to 9"),
}
METHODS = ("FedRep", "FedAvg", "FedProx", "PerFedAvg", "LG-FedAvg", "APFL", "L2GD")


def cells(sizes):
    return scaled(SCALES, sizes, method=METHODS)


def datasets(name):
    """Return what the network is trained on, and what new clients have."""
    found = deep.load(name)
    if name != "femnist":
        return found.restrict(range(5)), found.restrict(range(5, 10))
    return found.restrict(most_common(found, range(36, 62), 10)), found.restrict(range(10))


def newcomers(dataset, cell, known, rng):
    """Return new clients with as many samples of each class, seen as those known are."""
    cut, end = cell["train"], cell["train"] + cell["test"]
    whole = deep.Dataset(dataset.all_x, dataset.all_y, classes=dataset.classes)
    clients = deep.partitions.shards(whole, cell["new"], cell["new_classes"], rng=rng)
    shards = [part.reshape(cell["new_classes"], -1) for part in clients.train]
    if shards[0].shape[1] < end:
        raise ValueError(
            f"data must hold {end} samples of each class of every new client, "
            f"{dataset.name or 'these'} have {shards[0].shape[1]}"
        )
    train = [part[:, :cut].ravel() for part in shards]
    test = [part[:, cut:end].ravel() for part in shards]
    return replace(clients, train=train, test=test, mean=known.mean, std=known.std)


def methods(epochs):
    """Return the methods as Appendix A.2 sets them for FEMNIST."""
    return {
        "FedRep": deep.FedRep(epochs=epochs),
        "FedAvg": deep.FedAvg(epochs=epochs),
        "FedProx": deep.FedProx(mu=0.25, epochs=epochs),
        "PerFedAvg": deep.PerFedAvg(epochs=epochs),
        "LG-FedAvg": deep.LGFedAvg(personal=("representation",), epochs=epochs),
        "APFL": deep.APFL(epochs=epochs),
        "L2GD": deep.L2GD(everyone=True, epochs=epochs),
    }


def replicate(cell, rng, scale, rounds):
    seed = rng.integers(2**32)
    first, second = datasets(cell["data"])
    split = deep.partitions.shards if cell["data"] != "femnist" else deep.partitions.log_normal
    known = split(first, cell["n"], cell["classes"], rng=seed)
    new = newcomers(second, cell, known, seed)
    chosen = methods(cell["epochs"])[cell["method"]]
    trained = train(
        known, chosen, f"{cell['method']}, {cell['data']}", model="mlp", rounds=cell["rounds"],
        lr=LR_L2GD if cell["method"] == "L2GD" else LR, participation=cell["participation"],
        rng=seed,
    )  # fmt: skip
    # With the run's seed, new heads would start as those that the representation was trained with.
    tuned = deep.fine_tune(
        new, trained, model="mlp", lr=LR, epochs=cell["tuning"], rng=rng.integers(2**32)
    )
    found = pd.DataFrame({"epoch": tuned.recorded, "accuracy": 100.0 * tuned["accuracy"]})
    return found.assign(**computed_by(trained))


def draw(rows, sizes):
    from matplotlib.figure import Figure

    panels = list(rows.groupby("data", sort=False))
    figure = Figure(figsize=(plotting.figure_width(len(panels)), 2.8))
    axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for ax, (name, own) in zip(axes, panels, strict=True):
        plotting.curves(ax, own, x="epoch", y="accuracy", by="method", order=METHODS, markers=True)
        ax.set(xlabel="epochs of the heads", title=LEARNED[name][1], ylim=(0, 100))
        ax.xaxis.get_major_locator().set_params(integer=True)
    axes[0].set_ylabel("accuracy of new clients (%)")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside right upper")
    return figure


def summary(rows, sizes):
    """Return accuracies after the last epoch; the paper shows them, but prints no numbers."""
    last = rows[rows["epoch"] == rows["epoch"].max()]
    return beside(last, {}, by=["data", "epoch", "method"], ordered="method")


def caption(rows, replicates, sizes):
    cell = rows.iloc[0]
    (learned, then), cut = LEARNED[cell["data"]], "log-normal numbers"
    letters = """ A departure: the letters are the ten small ones with most samples, not 'a' to 'j'
        as in Li et al. (2019), some of which are too rare for log-normal sizes."""
    if cell["data"] != "femnist":
        letters, cut = "", "equal numbers"
    return f"""
        Accuracy on test samples of {cell["new"]} clients that took no part in training, against
        epochs of their heads on frozen representations, mean over clients. Before: {learned},
        {cell["n"]} clients of {cell["classes"]} classes and {cut} of samples, {cell["rounds"]}
        rounds of {cell["participation"]:.0%} of the clients, local epochs {cell["epochs"]}, of
        FedRep's heads ten before; two hidden layers of 200 units, SGD with step {LR}
        (L2GD {LR_L2GD}), momentum 0.5, batches of 10; methods as FedRep's Appendix A.2 sets them
        for FEMNIST, but L2GD pulls or trains all clients, as in the authors' code. New clients:
        {then}, {cell["new_classes"]} classes each, {cell["train"]} training and {cell["test"]} test
        samples of each class, the same step and batches.{letters} Open in the paper: heads start
        anew, alike for all; of representations that clients had of their own (LG-FedAvg, L2GD) the
        mean is taken, of APFL the shared one, which is FedAvg's. Mean and 95 % interval of up to
        {replicates} draws of partition, weights, participants and batches.
    """


EXPERIMENT = Experiment(
    id="deep.fedrep_figure6",
    title="FedRep, Figure 6: new clients, heads on representations of others",
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
    data=("mnist_10k", "femnist"),
)

if __name__ == "__main__":
    run_script(EXPERIMENT)
