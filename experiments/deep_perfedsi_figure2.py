"""PerFedSI, Figure 2: CIFAR's images under affine shifts, which the side information tells.

Open in the paper, and what is taken here: rounds (200), and how four indicators meet 64 channels
(each has its own quarter of the third block's); what "test accuracy was evaluated on the local
models" means: here the server averages first, and a client's model is what the server then has with
the client's own parameters. The step sizes are those that Appendix D states.
Its "SR-PH treats the first two convolutional layers as personalized" is read as PR-SH.
"""

import pandas as pd

from linrep import deep, plotting
from linrep.cli import run_script
from linrep.experiment import Experiment
from linrep.summaries import accuracies, beside, mean_of_last
from linrep.sweeps import Grid
from linrep.trace import last_rounds

SETTINGS = {"participation": 0.2, "momentum": 0.5, "batch_size": 10}
LR, LR_DITTO = 0.1, 0.05
BLOCKS = ("representation.block1", "representation.block2")
METHODS = {
    "PerFedSI": ("PerFedSI", {}),
    "FedAvg": ("FedAvg", {}),
    "Ditto": ("Ditto", {"penalty": 1.0}),
    "SR-PH": ("FedPer", {}),
    "PR-SH": ("LGFedAvg", {"personal": BLOCKS}),
    "Local": ("Local", {}),
}


def cells(quick):
    if quick:
        small = {"rounds": 3, "every": 1, "width": 8, "depth": 2, "layer": 1}
        return Grid.product({"data": "digits", **small, "n": (8, 16)})
    full = {"rounds": 200, "every": 10, "width": 64, "depth": 4, "layer": 3}
    return Grid.product({"data": ("cifar10", "cifar100"), **full, "n": (100, 500)})


def network(name, data, cell):
    """Return what makes a network for the data, of the cell's width and depth."""
    sizes = {"width": cell["width"], "depth": cell["depth"]}
    if name == "multiplied":
        sizes |= {"side": data.side.shape[1], "layer": cell["layer"]}
    return lambda: deep.models.build(name, data.x.shape[1:], data.classes, **sizes)


def replicate(cell, rng):
    seed, rounds = int(rng.integers(2**32)), cell["rounds"]
    data = deep.partitions.affine_shifts(deep.load(cell["data"], rng=seed), cell["n"], rng=seed)
    record = [*range(0, rounds, cell["every"]), *last_rounds(rounds)]
    tables = []
    for label, (name, settings) in METHODS.items():
        trace = deep.run(
            data, getattr(deep, name)(**settings), rounds=rounds, record=record, rng=seed,
            model=network("multiplied" if name == "PerFedSI" else "blocks", data, cell),
            lr=LR_DITTO if name == "Ditto" else LR, **SETTINGS,
        )  # fmt: skip
        tables.append(accuracies(trace, method=label))
    return pd.concat(tables, ignore_index=True)


def draw(rows):
    from matplotlib.figure import Figure

    shown = rows[rows["round"] % rows["every"] == 0]
    panels = list(shown.groupby(["data", "n"], sort=False))
    down = rows["data"].nunique()
    figure = Figure(figsize=(plotting.PAGE_WIDTH, 0.5 + 2.1 * down))
    axes = figure.subplots(down, len(panels) // down, sharex=True, sharey="row", squeeze=False)
    for ax, ((name, n), own) in zip(axes.flat, panels, strict=True):
        plotting.curves(
            ax, own, x="round", y="accuracy", by="method", order=list(METHODS), markers=True
        )
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.set(title=f"{name}, M = {n}")
    for ax in axes[-1]:
        ax.set(xlabel="round")
    for ax in axes[:, 0]:
        ax.set(ylabel="accuracy of all clients (%)", ylim=(0.0, 100.0))
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=6)
    return figure


def summary(rows):
    """Return mean accuracies of the last ten rounds with 95 % intervals."""
    by = ["data", "n", "method"]
    return beside(mean_of_last(rows, by=by), {}, by=by)


def caption(rows, replicates):
    first = rows.iloc[0]
    names = ", ".join(rows["data"].unique())
    return f"""
        Data ({names}) divided evenly among M clients, whose images are turned and sheared by one of
        four shifts (90° and 3°, 180° and 6°, 270° and 9°, none). SR-PH: shared representation,
        personal head (FedPer); PR-SH: first two blocks personal. PerFedSI: model 2, the four
        indicators of a client's shift multiply a quarter of the channels of block {first["layer"]}
        each, so that three quarters are zero. Networks of {first["depth"]} blocks of
        {first["width"]} channels; {SETTINGS["participation"]:.0%} of the clients in a round, one
        local epoch of SGD with momentum {SETTINGS["momentum"]:g}, batches of
        {SETTINGS["batch_size"]} and step {LR:g}; Ditto's step {LR_DITTO:g} and penalty 1. The
        number of rounds is open in the paper. Accuracy of every client's model, after
        averaging (the paper: "evaluated on the local models"), on its own test samples, mean over
        clients; mean and 95 % interval of {replicates} draws of partition,
        weights, participants and batches.
    """


EXPERIMENT = Experiment(
    id="deep.perfedsi_figure2",
    title="PerFedSI under affine shifts: side information beside personal layers",
    cells=cells,
    replicate=replicate,
    draw=draw,
    caption=caption,
    summary=summary,
    replicates=3,
    quick_replicates=2,
    packages=("torch", "sklearn"),
    data=("cifar10", "cifar100"),
)

if __name__ == "__main__":
    run_script(EXPERIMENT)
