"""What a sweep costs beside the work: time, the memory of the driver, and how others compare."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from linrep.bench import throughput
from linrep.bench.throughput import CELLS, trivial
from linrep.bench.timing import Record, make_records
from linrep.sweeps import Grid, Sweep, open_run, run

REPLICATES = 1_000_000
_LOOK_EVERY = 0.05  # seconds


def bench_sweeps(replicates: int = REPLICATES) -> dict[str, float]:
    """Sweep a trivial function and measure what is spent besides it.

    Parameters
    ----------
    replicates : int
        Of all ten cells together.

    Returns
    -------
    dict
        ``replicates``; ``overhead``: seconds per replicate, of the whole run, storing included,
        less the time of the bare calls; ``parts``: files written; ``bytes``: their size together;
        ``growth``: by how many bytes the resident memory of this process at its largest exceeded
        that after the first tenth of the time (NaN where the system does not tell); ``read``:
        seconds to read all rows back.
    """
    each = replicates // CELLS
    sweep = Sweep(trivial, Grid.product({"a": range(CELLS)}), each)
    folder = Path(tempfile.mkdtemp())
    try:
        run(Sweep(trivial, Grid.product({"a": 0}), 1000), folder / "warm", progress=False)
        with _Memory() as memory:
            began = time.perf_counter()
            run(sweep, folder / "run", progress=False)
            elapsed = time.perf_counter() - began
        stored = open_run(folder / "run")
        files = [part.path for part in stored.parts()]
        size = sum(path.stat().st_size for path in files)
        began = time.perf_counter()
        rows = stored.read()
        read = time.perf_counter() - began
    finally:
        shutil.rmtree(folder)
    assert len(rows) == each * CELLS
    rng = np.random.default_rng(0)
    began = time.perf_counter()
    for _ in range(each):
        trivial({"a": 0}, rng)
    bare = (time.perf_counter() - began) / each
    return {
        "replicates": len(rows),
        "overhead": elapsed / len(rows) - bare,
        "parts": len(files),
        "bytes": size,
        "growth": memory.growth(),
        "read": read,
    }


def measure(replicates: int = REPLICATES, repetitions: int = 3) -> Iterator[list[Record]]:
    """Measure a sweep of a trivial function, on one thread, and others that do the same.

    Yields
    ------
    list of Record
        Of the overhead and of reading, see `bench_sweeps`; of linrep beside a plain loop, joblib,
        xyzpy and a pool of processes, see `throughput`.
    """
    costs = bench_sweeps(replicates)
    case = f"{costs['replicates']:,} replicates"
    overhead, read = np.array([costs["overhead"]]), np.array([costs["read"]])
    yield make_records(
        "Sweep of a trivial function: overhead of a replicate", case,
        {"storing included": overhead},
        notes={"storing included": f"memory grew by {costs['growth'] / 1e6:.0f} MB after a tenth"},
    )  # fmt: skip
    yield make_records(
        "Sweep of a trivial function: reading all rows", case, {"read": read},
        notes={"read": f"{costs['parts']} parts, {costs['bytes'] / 1e6:.1f} MB"},
    )  # fmt: skip
    yield throughput.measure(replicates, repetitions)


class _Memory:
    """The resident memory of this process while the block runs, looked at by a thread."""

    def __enter__(self):
        import threading

        self._sizes: list[float] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join()

    def _look(self):
        while not self._stop.wait(_LOOK_EVERY):
            self._sizes.append(_resident())

    def growth(self):
        if not self._sizes:
            return float("nan")
        return max(self._sizes) - self._sizes[len(self._sizes) // 10]


def _resident():
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except (OSError, ValueError, IndexError):
        return float("nan")
    return pages * float(os.sysconf("SC_PAGE_SIZE"))
