"""The work of a worker: replicates of some cells, one after the other, as a table of rows.

Runs in any thread or process; depends on nothing but what it is handed.
"""

from __future__ import annotations

import os
import time
import traceback
from collections.abc import Callable, Container, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from threadpoolctl import threadpool_limits

from linrep.sweeps import targets
from linrep.sweeps.columns import parameter_column, result_column
from linrep.sweeps.coverage import Segment
from linrep.sweeps.grid import Cell
from linrep.sweeps.machines import this_machine
from linrep.sweeps.plain import plain
from linrep.sweeps.specification import RESERVED, generator

#: What a function may raise without ending the sweep.
FAILURES = (Exception, SystemExit)
#: In the place of a replicate, where none is computed.
NOWHERE = -1
_LIBRARIES = ("linrep", "numpy", "scipy", "numba")


@dataclass(frozen=True)
class Job:
    """Some segments of cells with all that is needed to compute their rows."""

    function: Callable[..., Any]
    settings: Mapping[str, Any]
    segments: tuple[Segment, ...]
    cells: Mapping[str, Cell]  # by name
    keys: Mapping[str, Mapping[str, int]]  # stream keys by cell name and purpose
    types: Mapping[str, str]  # Arrow types of the parameters
    seconds: float  # after which no further replicate is begun
    home: int  # process that started the sweep, which has set the number of BLAS threads itself


@dataclass(frozen=True)
class Chunk:
    """What a job came to: rows, the segments they cover, and how long it took."""

    table: pa.Table
    segments: tuple[Segment, ...]
    failed: int
    seconds: float
    machine: str  # what computed it, see `linrep.sweeps.machines`


def run_chunk(
    job: Job,
    stopped: Callable[[], bool] | None = None,
    begin: Callable[[int], object] | None = None,
) -> Chunk:
    """Compute a job's replicates in order until its time is over; at least one.

    Parameters
    ----------
    job : Job
    stopped : callable, optional
        Asked after every replicate whether to leave the rest.
    begin : callable, optional
        Called before every replicate with how many came before it, and with `NOWHERE` after the
        last one.
    """
    if os.getpid() != job.home:
        _one_thread_of_blas()
    began = time.perf_counter()
    records = _Records()
    covered = []
    over = False
    count = 0
    for segment in job.segments:
        cell, keys = job.cells[segment.cell], job.keys[segment.cell]
        records.begin(segment.cell, keys)
        replicate = segment.start
        while replicate < segment.stop and not over:
            if begin is not None:
                begin(count)
            count += 1
            before = time.perf_counter()
            try:
                result = call(job.function, cell, keys, replicate, job.settings)
                rows, error = read_rows(result, job.types), None
            except FAILURES as exception:
                rows, error = [{}], describe(exception)
            after = time.perf_counter()
            records.add(replicate, rows, error, after - before)
            replicate += 1
            over = after - began > job.seconds or (stopped is not None and stopped())
        if replicate > segment.start:
            covered.append(Segment(segment.cell, segment.start, replicate))
        if over:
            break
    if begin is not None:
        begin(NOWHERE)
    table = records.table(job)
    seconds = time.perf_counter() - began
    return Chunk(table, tuple(covered), records.failed, seconds, this_machine())


def failed_chunk(job: Job, place: int, reason: str, seconds: float) -> Chunk:
    """Return the chunk of one replicate that could not be brought to an end.

    Parameters
    ----------
    job : Job
    place : int
        How many of the job's replicates come before it.
    reason : str
        What the row says in the place of an exception.
    seconds : float
        How long it ran.
    """
    for segment in job.segments:
        if place < len(segment):
            break
        place -= len(segment)
    replicate = segment.start + place
    records = _Records()
    records.begin(segment.cell, job.keys[segment.cell])
    records.add(replicate, [{}], reason, seconds)
    covered = (Segment(segment.cell, replicate, replicate + 1),)
    return Chunk(records.table(job), covered, 1, seconds, this_machine())


def call(function, cell: Cell, keys: Mapping[str, int], replicate: int, settings) -> Any:
    """Call a sweep's function for one replicate."""
    rng: Any
    if "" in keys:
        rng = generator(keys[""], replicate)
    else:
        rng = {purpose: generator(key, replicate) for purpose, key in keys.items()}
    if not settings:
        return function(dict(cell), rng)
    return function(dict(cell), rng, **deepcopy(dict(settings)))


def read_rows(result: Any, parameters: Container[str]) -> list[dict[str, Any]]:
    """Return what a function returned as rows of plain values.

    Raises
    ------
    TypeError, ValueError
        If it is not rows, or a column has the name of a parameter, be it of another cell, or of a
        stored column.
    """
    if type(result) is float:  # at once: the rest takes as long as drawing some numbers
        return [{"value": result}]
    if isinstance(result, np.generic) or (isinstance(result, np.ndarray) and result.ndim == 0):
        result = result.item()
    if isinstance(result, Real):
        result = {"value": result}
    if isinstance(result, Mapping):
        return [_read_row(result, parameters)]
    if isinstance(result, pd.DataFrame):
        twice = result.columns[result.columns.duplicated()]
        if len(twice):
            raise ValueError(f"column {twice[0]!r} occurs twice in the DataFrame")
        result = result.to_dict("records")
    if isinstance(result, Sequence) and not isinstance(result, str | bytes):
        return [_read_row(row, parameters) for row in result]
    raise TypeError(
        "a sweep's function must return a mapping, a sequence of mappings, a DataFrame or a "
        f"number, got {type(result).__name__}"
    )


def describe(exception: BaseException) -> str:
    """Return the kind, message and place of an exception in one line.

    The place is the last one in a user's file, where there is one: what linrep and other packages
    refuse has to be changed there.
    """
    try:
        message = " ".join(str(exception).encode(errors="backslashreplace").decode().split())
    except Exception:  # an exception that cannot say what it is
        message = "(no message)"
    frames = traceback.extract_tb(exception.__traceback__)
    own = [frame for frame in frames if not targets.installed(frame.filename)] or frames
    place = f" ({os.path.basename(own[-1].filename)}:{own[-1].lineno})" if own else ""
    return f"{type(exception).__name__}: {message}{place}"


class _Records:
    """Rows as they come, column by column where they are many."""

    def __init__(self):
        self.failed = 0
        self._cells: list[str] = []  # of each segment begun
        self._streams: list[str] = []
        self._rows: list[tuple] = []  # segment, replicate, row, error, seconds, values

    def begin(self, cell, keys):
        self._cells.append(cell)
        self._streams.append(
            ";".join(f"{purpose}:{key:032x}" if purpose else f"{key:032x}"
                     for purpose, key in keys.items())
        )  # fmt: skip

    def add(self, replicate, rows, error, seconds):
        segment = len(self._cells) - 1
        self.failed += error is not None
        for place, row in enumerate(rows):
            self._rows.append((segment, replicate, place, error, seconds, row))

    def table(self, job):
        places, replicates, rows, errors, seconds, values = (
            zip(*self._rows, strict=True) if self._rows else [()] * 6
        )
        segment = np.array(places, dtype=np.int64)

        def spread(column):
            if pa.types.is_string(column.type):  # few long texts, of many rows
                return pa.DictionaryArray.from_arrays(pa.array(segment, pa.int32()), column)
            return column.take(pa.array(segment))

        columns = {
            name: spread(
                parameter_column([job.cells[cell].get(name) for cell in self._cells], kind)
            )
            for name, kind in job.types.items()
        }
        columns["replicate"] = pa.array(replicates, pa.int64())
        columns["row"] = pa.array(rows, pa.int64())
        for name in dict.fromkeys(name for row in _distinct_shapes(values) for name in row):
            columns[name] = result_column([row.get(name) for row in values])
        failed = np.array([error is not None for error in errors], dtype=bool)
        columns["status"] = pa.DictionaryArray.from_arrays(
            pa.array(failed.astype(np.int32)), pa.array(["ok", "failed"])
        )
        columns["exception"] = pa.array(errors, pa.string())
        columns["seconds"] = pa.array(seconds, pa.float64())
        columns["stream"] = spread(pa.array(self._streams, "string"))
        columns["versions"] = pa.DictionaryArray.from_arrays(
            pa.array(np.zeros(len(segment), dtype=np.int32)), pa.array([_versions()])
        )
        columns["cell"] = spread(pa.array(self._cells, "string"))
        return pa.table(columns)


def _distinct_shapes(rows):
    """Yield rows that differ from the one before in their names."""
    before = None
    for row in rows:
        if before is None or row.keys() != before.keys():
            yield row
        before = row


def _read_row(row, parameters):
    if not isinstance(row, Mapping):
        raise TypeError(f"a row must be a mapping, got {type(row).__name__}")
    read = {}
    for name, value in row.items():
        if not isinstance(name, str) or name in RESERVED:
            raise ValueError(f"column {name!r} has a name that is not free")
        if name in parameters:
            raise ValueError(f"column {name!r} has the name of a parameter")
        read[name] = value if type(value) is float else plain(f"column {name!r}", value)
    return read


@cache
def _one_thread_of_blas():
    """Matrices are small, and sums must not depend on the number of cores."""
    threadpool_limits(limits=1)


@cache
def _versions():
    def one(name):
        try:
            return f"{name} {version(name)}"
        except PackageNotFoundError:
            return f"{name} unknown"

    return "; ".join(map(one, _LIBRARIES))
