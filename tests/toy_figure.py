"""A figure of one's own, as a script: what tests of the command line copy and run."""

import pandas as pd
from matplotlib.figure import Figure

from linrep.cli import run_script
from linrep.figures.experiment import Experiment
from linrep.sweeps import Grid


def replicate(cell, rng):
    return pd.DataFrame({"value": rng.exponential(size=2) * cell["m"]})


def draw(rows):
    figure = Figure(figsize=(3.0, 2.0))
    figure.subplots().plot(rows["m"], rows["value"], ".")
    return figure


EXPERIMENT = Experiment(
    id="mine.figure",
    title="Mine",
    cells=lambda quick: Grid.product({"m": (1, 2, 3)}),
    replicate=replicate,
    draw=draw,
    caption=lambda rows, replicates: f"{replicates} replicates.",
    summary=lambda rows: rows.groupby("m")[["value"]].median(),
    replicates=8,
)

if __name__ == "__main__":
    run_script(EXPERIMENT)
