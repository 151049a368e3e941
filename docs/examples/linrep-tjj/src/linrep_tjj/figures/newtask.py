"""A new task's error on a learned representation, and alone, against its samples."""

import numpy as np
import pandas as pd
from linrep_tjj.theorem3 import tasks
from linrep_tjj.transfer import errors
from matplotlib.figure import Figure

import linrep as lr
from linrep import plotting
from linrep.cli import run_script
from linrep.figures.experiment import Experiment
from linrep.sweeps import Grid

NOISE, D, K = 0.5, 10, 2


def cells(quick):
    """Return the points of the grid."""
    return Grid.product({"n": (16, 64) if quick else (16, 32, 64, 128, 256, 512, 1024)})


def replicate(cell, rng):
    """Return errors on two representations, learned from few samples and from many, and alone."""
    truth = tasks(40, D, K, NOISE, rng)
    theta, rows = truth.B[:, 0], []
    for m in (100, 1000):
        B = lr.method_of_moments(truth.draw(m, rng=rng), k=K).state["B"]
        found = errors(B, theta, cell["n"], NOISE, 20, rng).mean()
        rows.append((f"of {40 * m} samples", found))
    rows.append(("alone", errors(np.eye(D), theta, cell["n"], NOISE, 20, rng).mean()))
    return pd.DataFrame(rows, columns=["way", "error"])


def draw(rows):
    """Draw the means over replicates."""
    figure = Figure(figsize=(plotting.COLUMN_WIDTH, 2.6))
    axes = figure.subplots()
    plotting.curves(axes, rows, x="n", y="error", by="way", markers=True)
    axes.set(xlabel="samples of the new task, n", ylabel="squared error", xscale="log")
    axes.set_yscale("log")
    axes.legend()
    return figure


def summary(rows):
    """Return the mean error of each way at each size."""
    return rows.pivot_table(index="n", columns="way", values="error", aggfunc="mean")


def caption(rows, replicates):
    """Return what is shown."""
    return (
        f"Mean squared error of a new task's model, d = {D}, k = {K}, noise {NOISE}: on "
        "representations that the method of moments learned from so many samples of 40 other "
        f"tasks, and by least squares alone; {replicates} replicates of 20 runs. A learned "
        "representation has a floor."
    )


EXPERIMENT = Experiment(
    id="tjj.newtask",
    title="A new task on a learned representation, and alone",
    cells=cells,
    replicate=replicate,
    draw=draw,
    caption=caption,
    summary=summary,
    replicates=100,
    quick_replicates=20,
)

if __name__ == "__main__":
    run_script(EXPERIMENT)
