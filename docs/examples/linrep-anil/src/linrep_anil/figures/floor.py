"""Distance of sampled FO-ANIL over the rounds, at several numbers of samples, and its floor."""

import numpy as np
import pandas as pd
from linrep_anil.samples import run, squared_floor, truth_of
from matplotlib.figure import Figure

from linrep import plotting
from linrep.cli import run_script
from linrep.figures.experiment import Experiment
from linrep.sweeps import Grid

ROUNDS = 60


def cells(quick):
    """Return the points of the grid."""
    return Grid.product({"m": (10, 40) if quick else (10, 40, 160)})


def replicate(cell, rng):
    """Return the distances of a run from a uniform start, and the floor F_m of its tasks."""
    truth, values = truth_of(rng, 20, 8)
    step = 0.5 / values[-1]
    found = run(truth, cell["m"], step, ROUNDS, "random", rng, record=2)["distance"]
    floor = np.sqrt(squared_floor(truth, cell["m"], step))
    return pd.DataFrame({"round": np.arange(0, ROUNDS + 1, 2), "distance": found, "floor": floor})


def draw(rows):
    """Draw medians with the middle 80 % of the replicates, and medians of the floor."""
    figure = Figure(figsize=(plotting.COLUMN_WIDTH, 2.6))
    axes = figure.subplots()
    rows = rows.assign(group=rows["m"].map("m = {}".format))
    plotting.curves(axes, rows, x="round", y="distance", by="group", quantiles=(0.1, 0.9))
    floors = rows.groupby("m")["floor"].median()
    axes.hlines(floors, 0, ROUNDS, colors="0.3", linewidths=0.7, label="floor $F_m$")
    axes.set(xlabel="round", ylabel="distance", yscale="log")
    axes.legend()
    return figure


def summary(rows):
    """Return the median distance at the end, and that of the floor."""
    last = rows[rows["round"] == ROUNDS]
    return last.groupby("m")[["distance", "floor"]].median()


def caption(rows, replicates):
    """Return what is shown."""
    return (
        "Distance of FO-ANIL from the representation, from a uniform start, for 20 tasks in "
        "dimension 8 with k = 2 and labels without noise, with a fresh batch of m samples for each "
        "of a round's two steps, alpha = 1, and beta half the inverse of the largest eigenvalue of "
        f"the mean of w w'. Medians of {replicates} replicates, with their middle 80 %: an "
        "exponential decrease, at a rate without m, to a floor. Horizontal lines are medians of "
        "F_m, see anil.all_rounds: it is of order 1/m, and of the root of the sum of the squared "
        "sines, which is at least the distance, the largest sine."
    )


EXPERIMENT = Experiment(
    id="anil.floor",
    title="Distance of FO-ANIL over the rounds, with its floor",
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
