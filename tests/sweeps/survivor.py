"""A script that sweeps into a directory; the tests kill it, race it and fill its disk."""

import sys

from linrep.sweeps import Grid, Sweep, run
from tests.sweeps.functions import slow_walk, walk


def sweep(function=slow_walk, replicates=100):
    """Return the sweep: 6 cells."""
    grid = Grid.product({"scale": [0.5, 1.0, 2.0], "steps": [3, 5]})
    return Sweep(function, grid, replicates, seed=7, name="survivor")


if __name__ == "__main__":
    kind, directory, workers = sys.argv[1:4]
    if kind == "fast":  # many rows in no time
        run(sweep(walk, 5_000), directory, workers=int(workers), chunk_seconds=0.05)
    else:
        run(
            sweep(),
            directory,
            workers=int(workers),
            processes=kind == "processes",
            chunk_seconds=0.02,
        )
