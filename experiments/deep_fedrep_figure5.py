"""FedRep, Figure 5: more local epochs, of FedAvg and of FedRep's heads, on CIFAR-10.

Section 5.2 and Appendix A.2: 100 clients of two classes each, batches of 50 and step 0.1. Open in
the paper's text, and what is taken here: the numbers of epochs; one epoch of FedRep's
representation, as in Table 1; the network, as FLUTE's Appendix C.2 has it.
"""

import pandas as pd

from linrep import deep, plotting
from linrep.cli import run_script
from linrep.experiment import Experiment
from linrep.summaries import beside
from linrep.sweeps import Grid
from linrep.trace import last_rounds

LR, BATCH = 0.1, 50
EPOCHS = (1, 2, 5, 10, 20)
FULL = {"data": "cifar10", "n": 100, "classes": 2, "rounds": 100, "participation": 0.1}
SMALL = {"data": "digits", "n": 20, "classes": 2, "rounds": 10, "participation": 0.25}
METHODS = ("FedAvg", "FedRep")


def cells(quick):
    return Grid.product((SMALL if quick else FULL) | {"E": (1, 4, 10) if quick else EPOCHS})


def replicate(cell, rng):
    name, rounds, epochs = cell["data"], cell["rounds"], cell["E"]
    seed = rng.integers(2**32)
    dataset = deep.load(name)
    data = deep.partitions.shards(dataset, cell["n"], cell["classes"], rng=seed)
    rows = []
    for method in (deep.FedAvg(epochs=epochs), deep.FedRep(head_epochs=epochs)):
        trace = deep.run(
            data, method, model="mlp" if name == "digits" else "cnn", rounds=rounds, lr=LR,
            batch_size=BATCH, participation=cell["participation"],
            record=last_rounds(rounds), rng=seed,
        )  # fmt: skip
        rows.append((trace.algorithm, 1.0 - trace.mean_of_last("accuracy")))
    return pd.DataFrame(rows, columns=["method", "error"])


def draw(rows):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(plotting.COLUMN_WIDTH + 0.6, 2.8))
    ax = figure.subplots()
    plotting.curves(ax, rows, x="E", y="error", by="method", order=METHODS, markers=True)
    epochs = sorted(rows["E"].unique())
    ax.set(xscale="log", xlabel="local epochs E (FedRep: of the heads)", ylabel="local test error")
    ax.set_xticks(epochs, [str(number) for number in epochs])
    ax.minorticks_off()
    ax.set_ylim(0.0, 1.0)
    ax.legend()
    return figure


def summary(rows):
    """Return mean errors with 95 % intervals; the paper shows them, but prints no numbers."""
    return beside(rows, {}, by=["data", "n", "classes", "method", "E"], value="error")


def caption(rows, replicates):
    first = rows.iloc[0]
    data = "CIFAR-10, the five-layer network of FLUTE's Appendix C.2"
    if first["data"] == "digits":
        data = "scikit-learn's digits in place of CIFAR-10, two hidden layers of 200 units"
    return f"""
        Share of wrong answers of every client's model on its own test samples, mean over all
        clients and the last ten of {first["rounds"]} rounds, against local epochs: of all that
        FedAvg moves, and of FedRep's heads, after which its representation moves for one. Data:
        {data}; {first["n"]} clients of {first["classes"]} classes each,
        {first["participation"]:.0%} of them in a round; SGD with step {LR}, momentum 0.5, batches
        of {BATCH} (FedRep, Section 5.2 and Appendix A.2, which leave the values of E and the
        network open). Mean and 95 % interval of {replicates} draws of partition, weights,
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
    packages=("torch", "sklearn"),
    data=("cifar10",),
)

if __name__ == "__main__":
    run_script(EXPERIMENT)
