"""Contenders for a sweep of a trivial function: each computes the same replicates and stores them.

Every replicate has its own stream, for all the same. One contender, a plain loop, stores nothing.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from linrep.bench.timing import Record, has, largest_difference, make_records, take_turns
from linrep.sweeps import Grid, Sweep, run
from linrep.sweeps.specification import generator, stream_key

CELLS = 10
_BATCHES = 10  # of each cell, for those that take batches
_WORKERS = (1, 2)


def trivial(cell: dict[str, Any], rng: np.random.Generator) -> float:
    """Draw one number, the result of a replicate."""
    return rng.random()


def measure(replicates: int, repetitions: int) -> list[Record]:
    """Return how long a replicate takes, storing and the start of workers included.

    Parameters
    ----------
    replicates : int
        Of all ten cells together, at least a hundred; rounded down to full batches.
    repetitions : int
    """
    batch = replicates // (CELLS * _BATCHES)
    replicates = CELLS * _BATCHES * batch
    everybody = {"linrep": _linrep, "joblib": _joblib, "xyzpy": _xyzpy, "Pool": _pool}
    absent = [name for name in ("joblib", "xyzpy") if not has(name)]
    stores: dict[str, Callable[..., Callable[[], Any]]] = {"plain loop": _plain_loop} | {
        f"{name}, {workers} worker{'s' * (workers > 1)}": partial(store, workers=workers)
        for workers in _WORKERS
        for name, store in everybody.items()
        if name not in absent
    }
    readers: dict[str, Callable[[], Any]] = {}

    def compute(name, folder):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        readers[name] = stores[name](folder, batch)

    with tempfile.TemporaryDirectory() as folder:
        contenders = {name: partial(compute, name, Path(folder, name)) for name in stores}
        times = take_turns(contenders, repetitions, warm=False)
        values_read = [(np.asarray(read(), dtype=float),) for read in readers.values()]
    rates = {name: replicates / np.median(seconds) for name, seconds in times.items()}
    notes = {
        name: f"{float(f'{rate:.3g}'):,.0f} replicates a second" for name, rate in rates.items()
    }
    notes["plain loop"] += "; nothing stored"
    notes["plain loop"] += "".join(f"; {name} is not installed" for name in absent)
    difference = largest_difference(values_read)
    return make_records(
        "Sweep of a trivial function: a replicate", f"{replicates:,} replicates", times, replicates,
        agree=difference == 0.0, difference=difference, notes=notes,
    )  # fmt: skip


def values(a: int, start: int, batch: int) -> list[float]:
    """Return the numbers of replicates start to start + batch - 1 of a cell."""
    key = stream_key(0, "", {"a": a})
    return [trivial({"a": a}, generator(key, start + replicate)) for replicate in range(batch)]


def rows(a: int, start: int, batch: int) -> pd.DataFrame:
    """Return a table of numbers drawn, with their cell and replicate."""
    column = values(a, start, batch)
    return pd.DataFrame({"a": a, "replicate": range(start, start + batch), "value": column})


def write_rows(folder: Path, a: int, start: int, batch: int) -> None:
    """Write a table of numbers drawn into a file of its own."""
    rows(a, start, batch).to_parquet(folder / f"{a}-{start}.parquet")


# Each computes and stores, and returns a function that reads the values, by cell and replicate.


def _plain_loop(folder, batch):
    computed = [value for each in _batches(batch) for value in values(*each)]
    return lambda: computed


def _linrep(folder, batch, workers):
    sweep = Sweep(trivial, Grid.product({"a": range(CELLS)}), _BATCHES * batch)
    stored = run(sweep, folder, workers=workers, processes=workers > 1, progress=False)
    return lambda: stored.read(["value"])["value"]


def _joblib(folder, batch, workers):
    joblib = import_module("joblib")
    with _processes_end():
        tables = joblib.Parallel(n_jobs=workers)(
            joblib.delayed(rows)(*each) for each in _batches(batch)
        )
        pd.concat(tables).to_parquet(folder / "rows.parquet")
    return lambda: pd.read_parquet(folder / "rows.parquet")["value"]


def _xyzpy(folder, batch, workers):
    xyzpy = import_module("xyzpy")
    runner = xyzpy.Runner(values, "value", var_dims={"value": ["place"]})
    file = str(folder / "rows.h5")
    harvester = xyzpy.Harvester(runner, file)
    combinations = {"a": range(CELLS), "start": range(0, _BATCHES * batch, batch)}
    with _processes_end():
        harvester.harvest_combos(
            combinations, constants={"batch": batch}, verbosity=0,
            num_workers=workers if workers > 1 else None,
        )  # fmt: skip
    return lambda: xyzpy.load_ds(file)["value"].to_numpy().ravel()


def _pool(folder, batch, workers):
    with get_context("spawn").Pool(workers) as pool:
        pool.starmap(partial(write_rows, folder), _batches(batch), chunksize=1)

    def read():
        tables = [pd.read_parquet(path) for path in folder.glob("*.parquet")]
        return pd.concat(tables).sort_values(["a", "replicate"])["value"]

    return read


def _batches(batch) -> Iterator[tuple[int, int, int]]:
    for a in range(CELLS):
        for number in range(_BATCHES):
            yield a, number * batch, batch


@contextmanager
def _processes_end():
    """End the worker processes that joblib keeps for later, which others have to start, too."""
    try:
        yield
    finally:
        import_module("joblib.externals.loky").get_reusable_executor().shutdown()
