"""PerFedSI, Figure 1: Omniglot's alphabets, with embeddings of the clients as side information.

A classifier of alphabets is trained on all training samples, and a client's side information is the
mean of what its last layer sees of the client's samples (Appendix D).

Open in the paper, and what is taken here: rounds (200); epochs (10), step size and batches (those
of the other networks) of the classifier, and its momentum, which restarts every epoch; what "test
accuracy was evaluated on the local models" means: here the server averages first, and a client's
model is what the server then has with the client's own parameters. The step sizes are those that
Appendix D states. Its "SR-PH treats the first two convolutional layers as personalized" is read as
PR-SH. A departure: with images of 28 pixels the embeddings have 64 entries, the paper's 256.
"""

import dataclasses

import numpy as np
import pandas as pd

from linrep import deep, plotting
from linrep.cli import run_script
from linrep.experiment import Experiment
from linrep.summaries import accuracies, beside, mean_of_last
from linrep.sweeps import Grid
from linrep.trace import last_rounds

SETTINGS = {"participation": 0.2, "momentum": 0.5, "batch_size": 10, "lr": 0.05}
BLOCKS = ("representation.block1", "representation.block2")
METHODS = {
    "PerFedSI": ("PerFedSI", {}),
    "FedAvg": ("FedAvg", {}),
    "Ditto": ("Ditto", {"penalty": 1.0}),
    "SR-PH": ("FedPer", {}),
    "PR-SH": ("LGFedAvg", {"personal": BLOCKS}),
    "Local": ("Local", {}),
}
SAMPLES = {50: (16, 4), 200: (4, 1), 500: (1, 1)}  # Table 2, of each character


def cells(quick):
    if quick:
        small = {"data": "digits", "rounds": 3, "every": 1, "epochs": 1, "width": 8, "depth": 2}
        return Grid.product({**small, "n": (5, 20)})
    full = {"rounds": 200, "every": 10, "epochs": 10, "width": 64, "depth": 4}
    return Grid.product({"data": "omniglot", **full, "n": tuple(SAMPLES)})


def alphabets(cell, seed):
    """Return the clients' samples, each client's from one alphabet."""
    images = deep.load(cell["data"], rng=seed)
    if cell["data"] != "digits":
        return deep.partitions.alphabets(images, cell["n"], *SAMPLES[cell["n"]], rng=seed)
    pairs = {"owner": images.y // 2, "owner_test": images.y_test // 2}  # five alphabets of two
    images = dataclasses.replace(images, **pairs)
    each = 5 * 100 // cell["n"]
    return deep.partitions.alphabets(images, cell["n"], each - each // 5, each // 5, rng=seed)


def with_side_information(data, cell, seed):
    """Return the data with the clients' mean embeddings by a classifier of alphabets."""
    import torch

    everything = np.concatenate(data.train)
    alphabet = np.zeros(len(data.y), dtype=np.int64)
    for group, part in zip(data.groups, data.train, strict=True):
        alphabet[part] = group
    one = deep.FederatedData(  # training in one place is that of a single client
        data.x, alphabet, (everything,), (everything[:0],), classes=int(data.groups.max()) + 1
    )
    trained = deep.run(
        one, deep.Local(), model=network("blocks", one, cell), rounds=cell["epochs"], record=[],
        rng=seed, **SETTINGS | {"participation": 1.0},
    ).state  # fmt: skip
    classifier = network("blocks", one, cell)()
    values = {name.removeprefix("personal."): value for name, value in trained.items()}
    known = {name: torch.as_tensor(values[name][0]) for name in classifier.state_dict()}
    classifier.load_state_dict(known)
    mean, std = (moment[:, None, None] for moment in (one.mean, one.std))
    side = []
    with torch.no_grad():
        for part in data.train:
            seen = torch.as_tensor((data.x[part] / np.float32(255.0) - mean) / std)
            side.append(classifier.eval().representation(seen).mean(0).numpy())
    return dataclasses.replace(data, side=np.stack(side))


def network(name, data, cell):
    """Return what makes a network for the data, of the cell's width and depth."""
    sizes = {"width": cell["width"], "depth": cell["depth"]}
    if name == "concatenated":
        sizes["side"] = data.side.shape[1]
    return lambda: deep.models.build(name, data.x.shape[1:], data.classes, **sizes)


def replicate(cell, rng):
    seed, rounds = int(rng.integers(2**32)), cell["rounds"]
    data = with_side_information(alphabets(cell, seed), cell, seed)
    record = [*range(0, rounds, cell["every"]), *last_rounds(rounds)]
    tables = []
    for label, (name, settings) in METHODS.items():
        model = network("concatenated" if name == "PerFedSI" else "blocks", data, cell)
        trace = deep.run(
            data, getattr(deep, name)(**settings), model=model, rounds=rounds, record=record,
            rng=seed, **SETTINGS,
        )  # fmt: skip
        tables.append(accuracies(trace, method=label))
    return pd.concat(tables, ignore_index=True).assign(samples=data.sizes.mean())


def draw(rows):
    from matplotlib.figure import Figure

    clients = sorted(rows["n"].unique())
    figure = Figure(figsize=(plotting.PAGE_WIDTH, 2.7))
    axes = figure.subplots(1, len(clients), sharex=True, sharey=True, squeeze=False)[0]
    shown = rows[rows["round"] % rows["every"] == 0]
    for ax, n in zip(axes, clients, strict=True):
        own = shown[shown["n"] == n]
        plotting.curves(
            ax, own, x="round", y="accuracy", by="method", order=list(METHODS), markers=True
        )
        ax.xaxis.get_major_locator().set_params(integer=True)
        samples = own["samples"].mean()
        ax.set(title=f"M = {n}, {samples:.0f} training samples each", xlabel="round")
    axes[0].set(ylabel="accuracy of all clients (%)", ylim=(0.0, 100.0))
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=6)
    return figure


def summary(rows):
    """Return mean accuracies of the last ten rounds with 95 % intervals."""
    by = ["n", "method"]
    return beside(mean_of_last(rows, by=by), {}, by=by)


def caption(rows, replicates):
    first = rows.iloc[0]
    quick = "digits" in set(rows["data"])
    what = "scikit-learn's digits, two classes called an alphabet" if quick else "Omniglot"
    size = "" if quick else " Of images of 28 pixels it has 64 numbers (the paper's: 256)."
    return f"""
        {what}; each of M clients has one alphabet and equally many samples of its characters.
        SR-PH: shared representation, personal head (FedPer); PR-SH: first two blocks personal.
        PerFedSI: model 1, the head also reads an embedding of the client's side information, which
        is the mean of its training samples' features in a classifier of alphabets, trained on the
        training samples of all clients for {first["epochs"]} epochs with the step and batches of
        the other networks and momentum that restarts every epoch.{size} Networks of
        {first["depth"]} blocks of {first["width"]} channels; {SETTINGS["participation"]:.0%} of the
        clients in a round, one local epoch of SGD with momentum {SETTINGS["momentum"]:g}, batches
        of {SETTINGS["batch_size"]} and step {SETTINGS["lr"]:g}; Ditto's penalty 1. Rounds and
        the classifier's training are open in the paper. Accuracy of every client's model, after
        averaging (the paper: "evaluated on the local models"), on its own test samples, mean over
        clients; mean and 95 % interval of {replicates} draws of partition,
        weights, participants and batches.
    """


EXPERIMENT = Experiment(
    id="deep.perfedsi_figure1",
    title="PerFedSI on alphabets: side information beside personal layers",
    cells=cells,
    replicate=replicate,
    draw=draw,
    caption=caption,
    summary=summary,
    replicates=3,
    quick_replicates=2,
    packages=("torch", "sklearn"),
    data=("omniglot",),
)

if __name__ == "__main__":
    run_script(EXPERIMENT)
