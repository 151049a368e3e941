"""A sweep of a function that draws one number, and a loop, which stores nothing."""

from tempfile import TemporaryDirectory

import numpy as np

from linrep.sweeps import Grid, Sweep, generator, run, stream_key
from tests.bench.support import Bench

TITLE = "Sweep of a function that draws one number: a replicate"
SIZES = [{"cells": 10, "replicates": 100}, {"cells": 10, "replicates": 2_000}]


def draw(cell, rng):
    return rng.random()


def bench(cells, replicates):
    sweep = Sweep(draw, Grid.product({"a": range(cells)}), replicates)

    def linrep():
        with TemporaryDirectory() as folder:
            return (run(sweep, folder, progress=False).read(["value"])["value"].to_numpy(),)

    def loop():
        values = np.empty((cells, replicates))
        for a in range(cells):
            key = stream_key(0, "", {"a": a})
            for replicate in range(replicates):
                values[a, replicate] = draw({"a": a}, generator(key, replicate))
        return (values.ravel(),)

    units = cells * replicates
    return Bench(f"{units:,} replicates", units, {"linrep": linrep}, loop)
