"""FedRep, Figure 5: more local epochs, of FedAvg and of FedRep's heads, on CIFAR-10.

Section 5.2 and Appendix A.2: 100 clients of two classes each, batches of 50 and step 0.1. Open in
the paper's text, and what is taken here: the numbers of epochs; one epoch of FedRep's
representation, as in Table 1; the network, as FLUTE's Appendix C.2 has it.

The small scale is of CIFAR-10 with a fifth of the images at 16 by 16 pixels, the file
cifar10_16.npz in the folder of data.
"""

from linrep import deep
from linrep.cli import run_script
from linrep.figures import plotting
from linrep.figures.experiment import Experiment
from linrep.figures.networks import (
    TITLES,
    Scales,
    outcome,
    scaled,
    train,
)
from linrep.figures.summaries import beside

LR, BATCH = 0.1, 50
METHODS = ("FedAvg", "FedRep")
FULL = {
    "data": "cifar10", "n": 100, "classes": 2, "rounds": 100, "participation": 0.1,
    "E": (1, 2, 5, 10, 20),
}  # fmt: skip
SCALES = {
    "digits": {
        "data": "digits", "n": 20, "classes": 2, "rounds": 10, "participation": 0.25,
        "E": (1, 4, 10),
    },
    "small": FULL | {"data": "cifar10_16"},
    "paper": FULL,
}  # fmt: skip


def cells(sizes):
    return scaled(SCALES, sizes, method=METHODS)


def replicate(cell, rng, scale, rounds):
    name, epochs = cell["data"], cell["E"]
    seed = rng.integers(2**32)
    dataset = deep.load(name)
    data = deep.partitions.shards(dataset, cell["n"], cell["classes"], rng=seed)
    known = {"FedAvg": deep.FedAvg(epochs=epochs), "FedRep": deep.FedRep(head_epochs=epochs)}
    trace = train(
        data, known[cell["method"]], f"{cell['method']}, {epochs} epochs, {name}",
        model="mlp" if name == "digits" else "cnn", rounds=cell["rounds"], lr=LR, batch_size=BATCH,
        participation=cell["participation"], rng=seed,
    )  # fmt: skip
    return outcome(trace).assign(error=1.0 - trace.mean_of_last("accuracy"))


def draw(rows, sizes):
    from matplotlib.figure import Figure

    panels = list(rows.groupby("data", sort=False))
    figure = Figure(figsize=(plotting.figure_width(len(panels)), 2.8))
    axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for ax, (name, own) in zip(axes, panels, strict=True):
        plotting.curves(ax, own, x="E", y="error", by="method", order=METHODS, markers=True)
        epochs = sorted(own["E"].unique())
        ax.set(xscale="log", xlabel="local epochs E (FedRep: of the heads)", title=TITLES[name])
        ax.set_xticks(epochs, [str(number) for number in epochs])
        ax.minorticks_off()
        ax.set_ylim(0.0, 1.0)
    axes[0].set_ylabel("local test error")
    axes[0].legend()
    return figure


def summary(rows, sizes):
    """Return mean errors with 95 % intervals; the paper shows them, but prints no numbers."""
    return beside(rows, {}, by=["data", "n", "classes", "method", "E"], value="error")


def caption(rows, replicates, sizes):
    first = rows.iloc[0]
    names = "; ".join(TITLES[name] for name in rows["data"].unique())
    data = f"{names}, the five-layer network of FLUTE's Appendix C.2"
    if first["data"] == "digits":
        data = "scikit-learn's digits in place of CIFAR-10, two hidden layers of 200 units"
    return f"""
        Share of wrong answers of every client's model on its own test samples, mean over all
        clients and the last ten of {first["rounds"]} rounds, against local epochs: of all that
        FedAvg moves, and of FedRep's heads, after which its representation moves for one. Data:
        {data}; {first["n"]} clients of {first["classes"]} classes each,
        {first["participation"]:.0%} of them in a round; SGD with step {LR}, momentum 0.5, batches
        of {BATCH} (FedRep, Section 5.2 and Appendix A.2, which leave the values of E and the
        network open). Mean and 95 % interval of up to {replicates} draws of partition, weights,
        participants and batches.
    """


EXPERIMENT = Experiment(
    id="deep.fedrep_figure5",
    title="FedRep, Figure 5: local epochs of FedAvg and of FedRep's heads",
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
    data=("cifar10_16", "cifar10"),
)

if __name__ == "__main__":
    run_script(EXPERIMENT)
