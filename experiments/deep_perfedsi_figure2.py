"""PerFedSI, Figure 2: CIFAR's images under affine shifts, which the side information tells.

Open in the paper, and what is taken here: rounds (200), the number of channels (64, inferred from
Figure 1's embeddings), and how four indicators meet them (each has its own quarter of the third
block's); what "test accuracy was evaluated on the local
models" means: here the server averages first, and a client's model is what the server then has with
the client's own parameters. The step sizes are those that Appendix D states.
Its "SR-PH treats the first two convolutional layers as personalized" is read as PR-SH.

The small panels are of CIFAR-10 with a fifth of the images at 16 by 16 pixels, the file
cifar10_16.npz in the folder of data, with narrower networks and fewer rounds; so that a client has
as many samples as in the paper, there are 20 and 100 clients.
"""

from functools import partial

from linrep import deep
from linrep.cli import run_script
from linrep.figures import plotting
from linrep.figures.experiment import Experiment
from linrep.figures.networks import TITLES, Scales, curve, scaled, train
from linrep.figures.summaries import beside, mean_of_last

SETTINGS = {"participation": 0.2, "momentum": 0.5, "batch_size": 10}
LR, LR_DITTO = 0.1, 0.05
BLOCKS = ("representation.block1", "representation.block2")
METHODS = {  # by name, so that figures are listed without torch
    "PerFedSI": ("PerFedSI", {}),
    "FedAvg": ("FedAvg", {}),
    "Ditto": ("Ditto", {"penalty": 1.0}),
    "SR-PH": ("FedPer", {}),
    "PR-SH": ("LGFedAvg", {"personal": BLOCKS}),
    "Local": ("Local", {}),
}
SCALES = {
    "digits": {
        "data": "digits", "rounds": 3, "every": 1, "width": 8, "depth": 2, "layer": 1, "n": (8, 16),
    },
    "small": {
        "data": "cifar10_16", "rounds": 100, "every": 10, "width": 16, "depth": 4, "layer": 3,
        "n": (20, 100),
    },
    "paper": {
        "data": ("cifar10", "cifar100"), "rounds": 200, "every": 10, "width": 64, "depth": 4,
        "layer": 3, "n": (100, 500),
    },
}  # fmt: skip


def cells(sizes):
    return scaled(SCALES, sizes, method=tuple(METHODS), named=False)


def network(name, data, cell):
    """Return what makes a network for the data, of the cell's width and depth."""
    sizes = {"width": cell["width"], "depth": cell["depth"]}
    if name == "multiplied":
        sizes["layer"] = cell["layer"]
    return partial(deep.models.fitting, name, data, **sizes)


def method(name):
    """Return a method by its name in the figure."""
    known = {label: getattr(deep, kind)(**own) for label, (kind, own) in METHODS.items()}
    return known[name]


def replicate(cell, rng, scale, rounds):
    seed, name, rounds = int(rng.integers(2**32)), cell["method"], cell["rounds"]
    data = deep.partitions.affine_shifts(deep.load(cell["data"], rng=seed), cell["n"], rng=seed)
    trace = train(
        data, method(name), f"{name}, {TITLES[cell['data']]}, {data.n} clients", rounds=rounds,
        model=network("multiplied" if name == "PerFedSI" else "blocks", data, cell),
        record=range(0, rounds, cell["every"]), rng=seed, lr=LR_DITTO if name == "Ditto" else LR,
        **SETTINGS,
    )  # fmt: skip
    return curve(trace).assign(samples=data.sizes.mean())


def draw(rows, sizes):
    from matplotlib.figure import Figure

    shown = rows[rows["round"] % rows["every"] == 0]
    panels = list(shown.groupby(["data", "n"], sort=False))
    down = rows["data"].nunique()
    figure = Figure(figsize=(plotting.PAGE_WIDTH, 0.5 + 2.1 * down))
    axes = figure.subplots(down, -(-len(panels) // down), sharey="row", squeeze=False)
    for ax, ((name, n), own) in zip(axes.flat, panels, strict=False):
        plotting.curves(ax, own, x="round", y="accuracy", by="method", order=METHODS, markers=True)
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.set(title=f"{TITLES[name]}, M = {n}")
    for ax in axes.flat[len(panels) :]:
        ax.remove()
    for ax in axes[-1]:
        ax.set(xlabel="round")
    for ax in axes[:, 0]:
        ax.set(ylabel="accuracy of all clients (%)", ylim=(0.0, 100.0))
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=6)
    return figure


def summary(rows, sizes):
    """Return mean accuracies of the last ten rounds with 95 % intervals."""
    by = ["data", "n", "method"]
    return beside(mean_of_last(rows, by=by), {}, by=by, ordered="method")


def caption(rows, replicates, sizes):
    first = rows.iloc[0]
    networks = "; ".join(
        f"{own['depth'].iloc[0]} blocks of {own['width'].iloc[0]} channels, "
        f"{own['rounds'].iloc[0]} rounds, {own['samples'].mean():.0f} training samples of a client "
        f"on average ({TITLES[name]}, M = {n})"
        for (name, n), own in rows.groupby(["data", "n"], sort=False)
    )
    fewer = ""
    if "cifar10_16" in set(rows["data"]):
        fewer = """ M = 20 and 100 stand for the paper's 100 and 500, whose clients have as many
            samples of the whole data."""
    return f"""
        Data divided evenly among M clients, whose images are turned and sheared by one of
        four shifts (90° and 3°, 180° and 6°, 270° and 9°, none). SR-PH: shared representation,
        personal head (FedPer); PR-SH: first two blocks personal. PerFedSI: model 2, the four
        indicators of a client's shift multiply a quarter of the channels of block {first["layer"]}
        each, so that three quarters are zero. Networks: {networks}; the paper's have 4 blocks, of
        64 channels, as it seems.{fewer} {SETTINGS["participation"]:.0%} of the clients in a round,
        one local epoch of SGD with momentum {SETTINGS["momentum"]:g}, batches of
        {SETTINGS["batch_size"]} and step {LR:g}; Ditto's step {LR_DITTO:g} and penalty 1; Local
        trains those that are drawn. The
        number of rounds is open in the paper. Accuracy of every client's model, after
        averaging (the paper: "evaluated on the local models"), on its own test samples, mean over
        clients; mean and 95 % interval of up to {replicates} draws of partition,
        weights, participants and batches. Tables have the mean of the last ten rounds.
    """


EXPERIMENT = Experiment(
    id="deep.perfedsi_figure2",
    title="PerFedSI, Figure 2: affine shifts, side information beside personal layers",
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
    data=("cifar10_16", "cifar10", "cifar100"),
)

if __name__ == "__main__":
    run_script(EXPERIMENT)
