"""PerFedSI, Figure 1: Omniglot's alphabets, with embeddings of the clients as side information.

A classifier of alphabets is trained on all training samples, and a client's side information is the
mean of what its last layer sees of the client's samples (Appendix D).

Open in the paper, and what is taken here: rounds (200); epochs (10), step size and batches (those
of the other networks) of the classifier, and its momentum, which restarts every epoch; what "test
accuracy was evaluated on the local models" means: here the server averages first, and a client's
model is what the server then has with the client's own parameters; how 576 numbers become an image
(64 of 3 by 3 pixels). The step sizes are those that
Appendix D states. Its "SR-PH treats the first two convolutional layers as personalized" is read as
PR-SH. That networks have 64 channels is inferred from these 576 numbers, and is what the widths of
embeddings follow from: 64 entries for images of 28 pixels, 16 at the small scale, the paper's 256.

The paper's 50, 200 and 500 clients are 1, 4 and 10 for each of Omniglot's 50 alphabets. Where the
data hold fewer alphabets there are as many clients for each, with as many samples of each
character. The small scale has narrower networks and fewer rounds.
"""

import dataclasses
from functools import partial

import numpy as np

from linrep import deep
from linrep.cli import run_script
from linrep.figures import plotting
from linrep.figures.experiment import Experiment
from linrep.figures.networks import Scales, curve, scaled, train
from linrep.figures.summaries import beside, mean_of_last

SETTINGS = {"participation": 0.2, "momentum": 0.5, "batch_size": 10, "lr": 0.05}
BLOCKS = ("representation.block1", "representation.block2")
METHODS = {  # by name, so that figures are listed without torch
    "PerFedSI": ("PerFedSI", {}),
    "FedAvg": ("FedAvg", {}),
    "Ditto": ("Ditto", {"penalty": 1.0}),
    "SR-PH": ("FedPer", {}),
    "PR-SH": ("LGFedAvg", {"personal": BLOCKS}),
    "Local": ("Local", {}),
}
SAMPLES = {1: (16, 4), 4: (4, 1), 10: (1, 1)}  # Table 2: of each character, by clients per alphabet
SCALES = {
    "digits": {
        "data": "digits", "rounds": 3, "every": 1, "epochs": 1, "width": 8, "depth": 2,
        "per_alphabet": (1, 4),
    },
    "small": {
        "data": "omniglot", "rounds": 100, "every": 10, "epochs": 10, "width": 16, "depth": 4,
        "per_alphabet": tuple(SAMPLES),
    },
    "paper": {
        "data": "omniglot", "rounds": 200, "every": 10, "epochs": 10, "width": 64, "depth": 4,
        "per_alphabet": tuple(SAMPLES),
    },
}  # fmt: skip
KEYS = ("scale", "per_alphabet")


def cells(sizes):
    return scaled(SCALES, sizes, method=tuple(METHODS))


def alphabets(cell, seed):
    """Return the clients' samples, each client's from one alphabet."""
    images, clients = deep.load(cell["data"], rng=seed), cell["per_alphabet"]
    train_each, test_each = SAMPLES[clients]
    if cell["data"] == "digits":  # five alphabets of two, with more samples of each
        pairs = {"owner": images.y // 2, "owner_test": images.y_test // 2}
        images = dataclasses.replace(images, **pairs)
        train_each, test_each = 5 * train_each, 5 * test_each
    n = clients * len(np.unique(images.owner))
    return deep.partitions.alphabets(images, n, train_each, test_each, rng=seed)


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
        rng=seed, progress=False, **SETTINGS | {"participation": 1.0},
    ).state  # fmt: skip
    classifier = network("blocks", one, cell)()
    classifier.load_state_dict(
        {
            name.removeprefix("personal."): torch.as_tensor(value[0])
            for name, value in trained.items()
            if name.startswith("personal.")
        }
    )
    mean, std = (moment[:, None, None] for moment in (one.mean, one.std))
    side = []
    with torch.no_grad():
        for part in data.train:
            seen = torch.as_tensor((data.x[part] / np.float32(255.0) - mean) / std)
            side.append(classifier.eval().representation(seen).mean(0).numpy())
    return dataclasses.replace(data, side=np.stack(side))


def network(name, data, cell):
    """Return what makes a network for the data, of the cell's width and depth."""
    return partial(deep.models.fitting, name, data, width=cell["width"], depth=cell["depth"])


def method(name):
    """Return a method by its name in the figure."""
    known = {label: getattr(deep, kind)(**own) for label, (kind, own) in METHODS.items()}
    return known[name]


def replicate(cell, rng, scale, rounds):
    seed, name, rounds = int(rng.integers(2**32)), cell["method"], cell["rounds"]
    data = alphabets(cell, seed)
    if name == "PerFedSI":  # the only one that reads it
        data = with_side_information(data, cell, seed)
    trace = train(
        data, method(name), f"{name}, {data.n} clients", rounds=rounds,
        model=network("concatenated" if name == "PerFedSI" else "blocks", data, cell),
        record=range(0, rounds, cell["every"]), rng=seed, **SETTINGS,
    )  # fmt: skip
    known = {"clients": data.n, "alphabets": len(set(data.groups)), "samples": data.sizes.mean()}
    return curve(trace).assign(**known)


def draw(rows, sizes):
    from matplotlib.figure import Figure

    shown = rows[rows["round"] % rows["every"] == 0]
    scales = list(shown.groupby("scale", sort=False))
    across = shown["per_alphabet"].nunique()
    figure = Figure(figsize=(plotting.PAGE_WIDTH, 0.5 + 2.2 * len(scales)))
    axes = figure.subplots(len(scales), across, sharey=True, squeeze=False)
    for line, (_, of_scale) in zip(axes, scales, strict=True):
        panels = list(of_scale.groupby("per_alphabet"))
        for ax, (_, own) in zip(line, panels, strict=False):
            plotting.curves(
                ax, own, x="round", y="accuracy", by="method", order=METHODS, markers=True
            )
            ax.xaxis.get_major_locator().set_params(integer=True)
            first = own.iloc[0]
            ax.set_title(f"M = {first['clients']}, {first['samples']:.0f} training samples each")
        for ax in line[len(panels) :]:
            ax.remove()
        line[0].set(ylabel="accuracy of all clients (%)", ylim=(0.0, 100.0))
    for ax in axes[-1]:
        ax.set_xlabel("round")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=6)
    return figure


def summary(rows, sizes):
    """Return mean accuracies of the last ten rounds with 95 % intervals."""
    by = [*KEYS, "clients", "method"]
    return beside(mean_of_last(rows, by=by), {}, by=by, ordered="method")


def caption(rows, replicates, sizes):
    first = rows.iloc[0]
    digits = first["data"] == "digits"
    what = "scikit-learn's digits, two classes called an alphabet"
    if not digits:
        what = f"{first['alphabets']} alphabets of Omniglot, 28 by 28 pixels"
    less = ""
    if not digits and first["alphabets"] < 50:
        less = """ The paper's 50, 200 and 500 clients are of 50 alphabets; here as many have the
            same alphabet, 1, 4 and 10, with as many samples of each character."""
    entries = "" if digits else "Embeddings have as many entries as channels, the paper's 256. "
    drawn = ", ".join(
        f"{max(1, round(SETTINGS['participation'] * n))} of {n}"
        for n in sorted(rows["clients"].unique())
    )
    networks = "; ".join(
        f"{own['depth'].iloc[0]} blocks of {own['width'].iloc[0]} channels, "
        f"{own['rounds'].iloc[0]} rounds ({scale})"
        for scale, own in rows.groupby("scale", sort=False)
    )
    return f"""
        {what}; each of M clients has one alphabet and equally many samples of its characters.{less}
        SR-PH: shared representation, personal head (FedPer); PR-SH: first two blocks personal.
        PerFedSI: model 1, the head also reads an embedding of the client's side information, which
        is the mean of its training samples' features in a classifier of alphabets, trained on the
        training samples of all clients for {first["epochs"]} epochs with the step and batches of
        the other networks and momentum that restarts every epoch. {entries}Networks: {networks};
        the paper's have 4 blocks, of 64 channels, as it seems. {SETTINGS["participation"]:.0%} of
        the clients in a round ({drawn}), one local epoch of SGD with momentum
        {SETTINGS["momentum"]:g}, batches of {SETTINGS["batch_size"]} and step {SETTINGS["lr"]:g};
        Ditto's penalty 1; Local trains those that are drawn. Rounds and
        the classifier's training are open in the paper. Accuracy of every client's model, after
        averaging (the paper: "evaluated on the local models"), on its own test samples, mean over
        clients; mean and 95 % interval of up to {replicates} draws of partition,
        weights, participants and batches. Tables have the mean of the last ten rounds.
    """


EXPERIMENT = Experiment(
    id="deep.perfedsi_figure1",
    title="PerFedSI, Figure 1: alphabets, side information beside personal layers",
    cells=cells,
    replicate=replicate,
    draw=draw,
    caption=caption,
    summary=summary,
    replicates=3,
    quick_replicates=2,
    sizes=Scales(),
    paired=("method",),
    packages=("torch", "sklearn"),
    data=("omniglot",),
)

if __name__ == "__main__":
    run_script(EXPERIMENT)
