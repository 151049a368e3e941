"""FLUTE, Table 1 and Figures 5 to 12: accuracies and neural collapse on CIFAR-10 and CIFAR-100.

Section 7.2 and Appendix C.2. Open in the paper, and what is taken here: participation, step,
momentum and batches, as in FedRep's Table 1; epochs of FedAvg, as those of FedPer, and of its
fine-tuning, ten of the heads; what Fed-LG's clients keep, both convolutions, as LG-FedAvg's in
FedRep's Appendix A.2 (the authors' code: and the first linear layer); FLUTE's weights and server's
step, those of the authors' code, whose step is 0.5 over the number of participants, beside linrep's
defaults λ1 = λ2 = 1e-4, λ3 = 0.1 and 0.1; FedCP's penalty; which rounds the table averages
(the last ten) and how often it was run (five times).

The small columns are those of CIFAR-10 with a fifth of the images at 16 by 16 pixels, the file
cifar10_16.npz in the folder of data.
"""

import numpy as np
import pandas as pd

from linrep import deep
from linrep.cli import run_script
from linrep.figures import plotting
from linrep.figures.experiment import Experiment
from linrep.figures.networks import TITLES, Scales, outcome, train
from linrep.figures.summaries import beside, mean_of_last
from linrep.papers.flute.table1 import COLUMNS, TABLE
from linrep.sweeps import Grid

LR, PARTICIPATION, LAST, EVERY = 0.01, 0.1, 10, 5
QUICK_LR, QUICK_PARTICIPATION, QUICK_LAST = 0.1, 0.3, 2
SERVER_LR = 0.5  # of the authors' code, down a mean over participants
SMALL = tuple((f"{name}_16", *column) for name, *column in COLUMNS[:4])
DIGITS = (("digits", 10, 3),)
SCALES = {"digits": DIGITS, "small": SMALL, "paper": COLUMNS}
KEYS = ("data", "n", "classes")
ROUNDS = {"cifar10_16": 100, "cifar10": 100, "cifar100": 100, "digits": 4}
NETWORKS = {"cifar10_16": "cnn", "cifar10": "cnn", "cifar100": "cnn100", "digits": "mlp"}
TUNED = "FedAvg-FT"
PUBLISHED, PUBLISHED_STAR = "FLUTE, code's λ", "FLUTE*, code's λ"
ORDER = (*TABLE, PUBLISHED, PUBLISHED_STAR)
NUMBERS = {
    (*column, method): tuple(map(float, number))
    for method, row in TABLE.items()
    for columns in (COLUMNS, SMALL)
    for column, number in zip(columns, row, strict=False)
}
CURVES = {
    "accuracy": "accuracy (%)",
    "nc2_global": "global NC2",
    "nc2_local": "averaged local NC2",
}


def cells(sizes):
    return Grid.of(
        {**dict(zip(KEYS, column, strict=True)), "method": method}
        for scale in sizes.scale
        for column in SCALES[scale]
        for method in methods(*column[:2])
    )


def methods(name, n):
    """Return the methods with the epochs of Section 7.2."""
    epochs = 5 if name == "cifar100" else 1
    share = QUICK_PARTICIPATION if name == "digits" else PARTICIPATION
    published = {**deep.FLUTE.PUBLISHED, "server_lr": SERVER_LR / max(1, round(share * n))}
    kept = ("representation.fc1",) if name == "digits" else deep.LGFedAvg.personal
    return {
        "FedAvg": deep.FedAvg(epochs=epochs, ft="head"),
        "Fed-LG": deep.LGFedAvg(personal=kept, epochs=epochs),
        "FedPer": deep.FedPer(epochs=epochs),
        "FedRep": deep.FedRep(head_epochs=epochs, epochs=epochs),
        "FedRep*": deep.FedRep(head_epochs=10, epochs=epochs),
        "FedRoD": deep.FedRoD(epochs=epochs),
        "FedCP": deep.FedCP(epochs=epochs),
        "FLUTE": deep.FLUTE(epochs=epochs),
        "FLUTE*": deep.FLUTE(epochs=epochs, head_epochs=10),
        PUBLISHED: deep.FLUTE(epochs=epochs, **published),
        PUBLISHED_STAR: deep.FLUTE(epochs=epochs, head_epochs=10, **published),
    }


def replicate(cell, rng, scale, rounds):
    name, n, classes = (cell[key] for key in KEYS)
    rounds = rounds or ROUNDS[name]
    small = name == "digits"
    seed = rng.integers(2**32)
    data = deep.partitions.shards(deep.load(name), n, classes, rng=seed)
    method = methods(name, n)[cell["method"]]
    trace = train(
        data, method, f"{cell['method']}, {TITLES[name]} {(n, classes)}",
        model=NETWORKS[name], rounds=rounds, lr=QUICK_LR if small else LR, momentum=0.5,
        participation=QUICK_PARTICIPATION if small else PARTICIPATION, batch_size=10,
        record=range(0, rounds, EVERY), last=QUICK_LAST if small else LAST, rng=seed,
    )  # fmt: skip
    curves = {name: trace.metrics.get(name, np.nan) for name in CURVES}  # two heads have none
    curves["accuracy"] = 100.0 * trace["accuracy"]
    shown = pd.DataFrame({"round": trace.recorded, **curves})
    return shown.merge(outcome(trace).drop(columns="accuracy"), how="cross")


def summary(rows, sizes):
    """Return accuracies in percent with 95 % intervals, beside those of Table 1."""
    by = [*KEYS, "method"]
    last = mean_of_last(rows, by=by, rounds=_last(rows))
    tuned = mean_of_last(rows.dropna(subset="fine_tuned"), by=by, value="fine_tuned")
    tuned = tuned.rename(columns={"fine_tuned": "accuracy"})
    tuned["method"] += "-FT"
    return beside(pd.concat([last, tuned], ignore_index=True), NUMBERS, by=by, ordered="method")


def _last(rows):
    """Return the number of rounds that the table averages."""
    return QUICK_LAST if "digits" in set(rows["data"]) else LAST


def draw(rows, sizes):
    from matplotlib.figure import Figure

    columns = list(summary(rows, sizes).reset_index().groupby(list(KEYS), sort=False))
    curves = rows.groupby(list(KEYS), sort=False)
    figure = Figure(figsize=(plotting.PAGE_WIDTH, 0.6 + 1.75 * len(columns)))
    axes = figure.subplots(len(columns), 1 + len(CURVES), squeeze=False)
    for (first, *others), (column, table) in zip(axes, columns, strict=True):
        name, n, classes = column
        own = curves.get_group(column)
        plotting.dots(first, table, order=ORDER, colored=True, limits=(0.0, 100.0))
        first.tick_params(axis="y", labelsize=6)
        first.set_title(f"{TITLES[name]} ({n}, {classes})", loc="left")
        for ax, metric in zip(others, CURVES, strict=True):
            shown = own.dropna(subset=metric)
            plotting.curves(ax, shown, x="round", y=metric, by="method", order=ORDER)
            ax.xaxis.get_major_locator().set_params(integer=True)
    for ax, label in zip(axes[0, 1:], CURVES.values(), strict=True):
        ax.set_title(label)
    for ax, label in zip(axes[-1], ("accuracy (%)", *["round"] * len(CURVES)), strict=True):
        ax.set_xlabel(label)
    for ax in axes[:, 1]:
        ax.set_ylim(0.0, 100.0)
    figure.legend(*axes[0, 1].get_legend_handles_labels(), loc="outside upper center", ncols=6)
    return figure


def caption(rows, replicates, sizes):
    name = rows["data"].iloc[0]
    small = name == "digits"
    step, share = (QUICK_LR, QUICK_PARTICIPATION) if small else (LR, PARTICIPATION)
    text = f"""
        (n, m): n clients of m classes each, by shards; {sizes.rounds or ROUNDS[name]} rounds with
        {share:.0%} of the clients; SGD with step {step}, momentum 0.5, batches of 10. Left:
        accuracy of every client's model on its own test samples, mean over all clients and the last
        {_last(rows)} rounds;
        {TUNED}: after ten epochs of the heads of FedAvg's last model. Then, against rounds,
        accuracy and the neural collapse of heads: mean distance of their Gram matrices from those
        of simplex equiangular tight frames, of all classes (global) and of the client's own
        (local). """
    if small:
        text += """
            Not the table of the paper but its methods on scikit-learn's digits (8 × 8 pixels):
            two hidden layers of 200 units, of which Fed-LG keeps the first; epochs as for
            CIFAR-10, 1 and for the heads of FedRep* and FLUTE* 10. """
    else:
        text += """
            Networks of FLUTE's Appendix C.2. Epochs of Section 7.2: 1 for CIFAR-10, 5 for
            CIFAR-100, FedRep's heads as many; heads of FedRep* before, of FLUTE* after the others,
            10. Fed-LG's clients keep both convolutions, which is open in the paper (the authors'
            code: and the first linear layer). """
    text += f"""
        Open in the paper: FLUTE's λ1 = λ2 = 10⁻⁴, λ3 = 0.1, server's step 0.1 (those of the
        authors' code: 0.005, 0.0025, 0.25, and {SERVER_LR:g} over the number of participants);
        FedCP's penalty, 1; participation and SGD,
        here FedRep's. Mean and 95 % interval of up to {replicates} draws of partition, weights,
        participants and batches. """
    diamonds = "Diamonds: FLUTE, Table 1, which is of 32 pixels and all 50,000 images."
    return text if small else f"{text} {diamonds}"


EXPERIMENT = Experiment(
    id="deep.flute_table1",
    title="FLUTE, Table 1: accuracies, and neural collapse against rounds",
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
    data=("cifar10_16", "cifar10", "cifar100"),
)

if __name__ == "__main__":
    run_script(EXPERIMENT)
