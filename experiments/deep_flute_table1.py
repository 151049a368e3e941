"""FLUTE, Table 1 and Figures 5 to 12: accuracies and neural collapse on CIFAR-10 and CIFAR-100.

Section 7.2 and Appendix C.2; FedRoD and FedCP are left out. Open in the paper, and what is taken
here: participation, step, momentum and batches, as in FedRep's Table 1; epochs of FedAvg, as those
of FedPer, and of its fine-tuning, ten of the heads; FLUTE's λ1 = λ2 = 1e-4, λ3 = 0.1 and server's
step 0.1; which rounds the table averages (the last ten) and how often it was run (five times).
"""

import numpy as np
import pandas as pd

from linrep import deep, plotting
from linrep.cli import run_script
from linrep.experiment import Experiment
from linrep.summaries import beside, mean_of_last
from linrep.sweeps import Grid
from linrep.trace import last_rounds

LR, PARTICIPATION, LAST, EVERY = 0.01, 0.1, 10, 5
QUICK_LR, QUICK_PARTICIPATION, QUICK_LAST = 0.1, 0.3, 2
COLUMNS = (  # data, clients, classes of a client
    ("cifar10", 50, 2),
    ("cifar10", 50, 5),
    ("cifar10", 100, 2),
    ("cifar10", 100, 5),
    ("cifar100", 100, 5),
    ("cifar100", 100, 10),
    ("cifar100", 100, 20),
    ("cifar100", 100, 40),
)
QUICK = (("digits", 10, 3),)
KEYS = ("data", "n", "classes")
TITLES = {"cifar10": "CIFAR-10", "cifar100": "CIFAR-100", "digits": "digits"}
ROUNDS = {"cifar10": 100, "cifar100": 100, "digits": 4}
NETWORKS = {"cifar10": "cnn", "cifar100": "cnn100", "digits": "mlp"}
TUNED = "FedAvg-FT"
PAPER = {  # Table 1
    "FedAvg": (34.460, 47.217, 41.584, 51.876, 20.212, 31.533, 34.659, 32.902),
    TUNED: (83.996, 71.465, 84.688, 70.884, 78.342, 66.660, 54.464, 44.858),
    "Fed-LG": (82.724, 61.820, 83.019, 62.957, 72.526, 53.526, 34.445, 22.702),
    "FedPer": (85.173, 74.015, 86.168, 73.666, 76.001, 67.100, 56.066, 44.689),
    "FedRep": (86.133, 71.737, 86.685, 73.808, 78.621, 68.530, 56.360, 43.061),
    "FedRep*": (87.320, 75.766, 87.177, 75.296, 78.892, 68.630, 56.654, 42.025),
    "FLUTE": (87.012, 76.478, 86.128, 76.918, 77.750, 70.598, 59.243, 48.169),
    "FLUTE*": (87.713, 76.543, 88.567, 78.255, 79.560, 70.844, 59.714, 48.170),
}
NUMBERS = {
    (*column, method): number
    for method, numbers in PAPER.items()
    for column, number in zip(COLUMNS, numbers, strict=True)
}
CURVES = {
    "accuracy": "accuracy (%)",
    "nc2_global": "global NC2",
    "nc2_local": "averaged local NC2",
}


def cells(quick):
    columns = QUICK if quick else COLUMNS
    return Grid.of(dict(zip(KEYS, column, strict=True)) for column in columns)


def methods(name):
    """Return the methods with the epochs of Section 7.2."""
    epochs = 5 if name == "cifar100" else 1
    kept = ("representation.fc1",) if name == "digits" else deep.LGFedAvg.personal
    return {
        "FedAvg": deep.FedAvg(epochs=epochs, ft="head"),
        "Fed-LG": deep.LGFedAvg(personal=kept, epochs=epochs),
        "FedPer": deep.FedPer(epochs=epochs),
        "FedRep": deep.FedRep(head_epochs=epochs, epochs=epochs),
        "FedRep*": deep.FedRep(head_epochs=10, epochs=epochs),
        "FLUTE": deep.FLUTE(epochs=epochs),
        "FLUTE*": deep.FLUTE(epochs=epochs, head_epochs=10),
    }


def replicate(cell, rng):
    name, rounds = cell["data"], ROUNDS[cell["data"]]
    small = name == "digits"
    seed = rng.integers(2**32)
    dataset = deep.load(name)
    data = deep.partitions.shards(dataset, cell["n"], cell["classes"], rng=seed)
    rows = []
    for method, chosen in methods(name).items():
        trace = deep.run(
            data, chosen, model=NETWORKS[name], rounds=rounds, lr=QUICK_LR if small else LR,
            participation=QUICK_PARTICIPATION if small else PARTICIPATION,
            record=[*range(0, rounds, EVERY), *last_rounds(rounds, LAST)],
            rng=seed,
        )  # fmt: skip
        metrics = {name: trace[name] for name in CURVES} | {"accuracy": 100.0 * trace["accuracy"]}
        rows.append(pd.DataFrame({"method": method, "round": trace.recorded, **metrics}))
        if "fine_tuned" in trace:
            tuned = {"method": TUNED, "round": rounds, "accuracy": 100.0 * trace["fine_tuned"][-1]}
            rows.append(pd.DataFrame([tuned | {"nc2_global": np.nan, "nc2_local": np.nan}]))
    return pd.concat(rows, ignore_index=True)


def _last(rows):
    """Return the number of rounds that the table averages."""
    return QUICK_LAST if "digits" in set(rows["data"]) else LAST


def summary(rows):
    """Return accuracies in percent with 95 % intervals, beside those of Table 1."""
    by = [*KEYS, "method"]
    return beside(mean_of_last(rows, by=by, rounds=_last(rows)), NUMBERS, by=by)


def draw(rows):
    from matplotlib.figure import Figure

    columns = list(summary(rows).reset_index().groupby(list(KEYS), sort=False))
    curves = rows[rows["method"] != TUNED].groupby(list(KEYS), sort=False)
    figure = Figure(figsize=(plotting.PAGE_WIDTH, 0.4 + 1.45 * len(columns)))
    axes = figure.subplots(len(columns), 1 + len(CURVES), squeeze=False)
    for (first, *others), (column, table) in zip(axes, columns, strict=True):
        name, n, classes = column
        own = curves.get_group(column)
        plotting.dots(first, table, order=PAPER, colored=True, limits=(0.0, 100.0))
        first.tick_params(axis="y", labelsize=6)
        first.set_title(f"{TITLES[name]} ({n}, {classes})", loc="left")
        for ax, metric in zip(others, CURVES, strict=True):
            plotting.curves(ax, own, x="round", y=metric, by="method", order=PAPER)
            ax.xaxis.get_major_locator().set_params(integer=True)
    for ax, label in zip(axes[0, 1:], CURVES.values(), strict=True):
        ax.set_title(label)
    for ax, label in zip(axes[-1], ("accuracy (%)", *["round"] * len(CURVES)), strict=True):
        ax.set_xlabel(label)
    for ax in axes[:, 1]:
        ax.set_ylim(0.0, 100.0)
    figure.legend(*axes[0, 1].get_legend_handles_labels(), loc="outside upper center", ncols=7)
    return figure


def caption(rows, replicates):
    name = rows["data"].iloc[0]
    small = name == "digits"
    step, share = (QUICK_LR, QUICK_PARTICIPATION) if small else (LR, PARTICIPATION)
    text = f"""
        (n, m): n clients of m classes each, by shards; {ROUNDS[name]} rounds with {share:.0%} of
        the clients; SGD with step {step}, momentum 0.5, batches of 10. Left: accuracy of every
        client's model on its own test samples, mean over all clients and the last
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
            10. """
    text += f"""
        Open in the paper: FLUTE's λ1 = λ2 = 10⁻⁴, λ3 = 0.1, server's step 0.1; participation and
        SGD, here FedRep's. Mean and 95 % interval of {replicates} draws of partition, weights,
        participants and batches. """
    return text if small else f"{text} Diamonds: FLUTE, Table 1; FedRoD and FedCP are left out."


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
    packages=("torch", "sklearn"),
    data=("cifar10", "cifar100"),
)

if __name__ == "__main__":
    run_script(EXPERIMENT)
