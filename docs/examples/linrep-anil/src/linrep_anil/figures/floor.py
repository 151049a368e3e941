"""Distance of sampled FO-ANIL over the rounds, at several numbers of samples."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

import linrep as lr
from linrep import plotting
from linrep.cli import run_script
from linrep.figures.experiment import Experiment
from linrep.sweeps import Grid


def cells(quick):
    """Return the points of the grid."""
    return Grid.product({"m": (10, 40) if quick else (10, 40, 160)})


def replicate(cell, rng):
    """Return the distances of a run."""
    truth = lr.SharedRepresentation.random(n=20, d=8, k=2, rng=rng)
    step = 0.25 / truth.sigma_max() ** 2
    trace = lr.anil(
        truth, m=cell["m"], rounds=60, first_order=True, inner_step_size=1.0, step_size=step,
        record=4, rng=rng,
    )  # fmt: skip
    return pd.DataFrame({"round": np.arange(0, 61, 4), "distance": trace["distance"]})


def draw(rows):
    """Draw the medians over replicates."""
    figure = Figure(figsize=(plotting.COLUMN_WIDTH, 2.6))
    axes = figure.subplots()
    plotting.curves(axes, rows, x="round", y="distance", hue="m")
    axes.set(xlabel="round", ylabel="distance", yscale="log")
    return figure


def summary(rows):
    """Return the median distance at the end."""
    last = rows[rows["round"] == rows["round"].max()]
    return last.pivot_table(index="m", values="distance", aggfunc="median")


def caption(rows, replicates):
    """Return what is shown."""
    return (
        "Distance of FO-ANIL from the representation with m fresh samples for each of its steps, "
        f"over {replicates} replicates: an exponential decrease to a floor of order 1/m."
    )


EXPERIMENT = Experiment(
    id="anil.floor",
    title="Distance of FO-ANIL over the rounds",
    cells=cells,
    replicate=replicate,
    draw=draw,
    caption=caption,
    summary=summary,
    replicates=50,
    quick_replicates=10,
)

if __name__ == "__main__":
    run_script(EXPERIMENT)
