"""What the tests of sweeps share."""

import threading
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from linrep.sweeps import Grid, Sweep, runner
from linrep.sweeps.parts import Segment
from tests.sweeps import functions


def toy(function=functions.normal, cells=({"a": 1}, {"a": 2}), replicates=3, **options):
    """Return a small sweep."""
    if "<lambda>" in getattr(function, "__qualname__", "<lambda>"):
        options.setdefault("name", "toy")
    return Sweep(function, Grid.of(cells), replicates, **options)


def job(sweep, *segments, seconds=60.0, **changes):
    """Return a job of segments, each a cell's name, its first replicate and the one behind."""
    make = runner._job_factory(sweep, seconds, Path("nowhere"))
    return replace(make([Segment(*segment) for segment in segments]), **changes)


def part_files(directory):
    """Return the files of the parts in a run directory."""
    return sorted(Path(directory, "parts").glob("*.parquet"))


def numbers(run):
    """Return all rows of a run, without what may differ from one time to the next."""
    return run.read().drop(columns=["seconds", "versions"])


def same_rows(one, other):
    """Assert that two runs, or two tables, hold the very same rows, bit for bit."""
    one, other = (
        item if isinstance(item, pd.DataFrame) else numbers(item) for item in (one, other)
    )
    assert len(one)
    pd.testing.assert_frame_equal(
        one.astype({"cell": str, "stream": str}),
        other.astype({"cell": str, "stream": str}),
        check_exact=True,
    )
    for name in one.select_dtypes("float64"):  # where 0.0 has passed for -0.0
        bits, others = (frame[name].to_numpy().view(np.int64) for frame in (one, other))
        np.testing.assert_array_equal(bits, others, name)


def content(folder):
    """Return every file below a folder with its bytes: equal if nothing was written."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
    }


class Counting:
    """A function that remembers what it was asked for, by cell and first random number."""

    def __init__(self, function=functions.uniform):
        self.function = function
        self.calls = Counter()
        self._lock = threading.Lock()
        self.__qualname__ = "counting"

    def __call__(self, cell, rng, **settings):
        with self._lock:
            self.calls[tuple(sorted(cell.items()))] += 1
        return self.function(cell, rng, **settings)

    @property
    def total(self):
        return sum(self.calls.values())
