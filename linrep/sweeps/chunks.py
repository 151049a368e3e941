"""The work of a worker: replicates of some cells, one after the other, as a table of rows.

Runs in any thread or process; depends on nothing but what it is handed.
"""

from __future__ import annotations

import os
import time
import traceback
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from linrep._lib.fingerprint import is_installed
from linrep._lib.threads import one_thread
from linrep._lib.warning import collected
from linrep.sweeps import checkpoints
from linrep.sweeps.columns import parameter_column, plain, result_column, together
from linrep.sweeps.grid import Cell
from linrep.sweeps.machines import this_machine
from linrep.sweeps.parts import Segment, in_order
from linrep.sweeps.specification import RESERVED, generator
from linrep.sweeps.targets import seal, unseal

#: What a function may raise without ending the sweep.
FAILURES = (Exception, SystemExit)
#: Between the notes on the runs of a replicate.
BETWEEN_NOTES = "; "
_LIBRARIES = ("linrep", "numpy", "scipy", "numba")


@dataclass(frozen=True)
class Job:
    """Some segments of cells with all that is needed to compute their rows."""

    function: Any  # or what it is sealed in
    settings: Mapping[str, Any]
    segments: tuple[Segment, ...]
    cells: Mapping[str, Cell]  # by name
    keys: Mapping[str, Mapping[str, int]]  # stream keys by cell name and purpose
    types: Mapping[str, str]  # Arrow types of the parameters
    seconds: float  # after which no further replicate is begun
    home: int  # process that started the sweep, which has set the number of BLAS threads itself
    scratch: str = ""  # folder below which replicates may keep files
    timeout: float | None = None  # seconds that a replicate may take

    def one_by_one(self) -> Iterator[Job]:
        """Yield a job for each replicate."""
        for segment in self.segments:
            name = segment.cell
            for replicate in range(segment.start, segment.stop):
                yield replace(
                    self,
                    segments=(Segment(name, replicate, replicate + 1),),
                    cells={name: self.cells[name]},
                    keys={name: self.keys[name]},
                    seconds=0.0,
                )


@dataclass(frozen=True)
class Chunk:
    """What a job came to: rows, the segments they cover, and how long it took."""

    table: pa.Table
    segments: tuple[Segment, ...]
    failed: int
    seconds: float
    machine: str  # what computed it, see `linrep.sweeps.machines`


def sealed(job: Job) -> Job:
    """Return a job for other processes."""
    return replace(job, function=seal(job.function))


def opened(job: Job) -> Job:
    """Return a job that another process has sealed; makes the modules that it needs."""
    return replace(job, function=unseal(job.function))


def run_chunk(job: Job, stopped: Callable[[], bool] | None = None) -> Chunk:
    """Compute a job's replicates in order until its time is over; at least one.

    `stopped` is asked after every replicate whether to leave the others.
    """
    if os.getpid() != job.home:
        _one_thread_of_blas()
    began = time.perf_counter()
    records = _Records()
    covered: list[Segment] = []
    over = False
    with collected() as notes:
        for segment in job.segments:
            if over:
                break
            cell, keys = job.cells[segment.cell], job.keys[segment.cell]
            records.begin(segment, keys)
            replicate = segment.start
            while replicate < segment.stop and not over:
                before = time.perf_counter()
                try:
                    with checkpoints.of(job.scratch, segment.cell, replicate):
                        result = call(job.function, cell, keys, replicate, job.settings)
                    rows, error = read_rows(result, job.types), None
                except FAILURES as exception:
                    rows, error = [{}], describe(exception)
                after = time.perf_counter()
                if job.timeout is not None and after - before > job.timeout:
                    rows, error = [{}], too_long(job)
                records.add(rows, error, after - before, notes)
                notes.clear()
                replicate += 1
                over = after - began > job.seconds or (stopped is not None and stopped())
            covered.append(Segment(segment.cell, segment.start, replicate))
    table = records.table(job)
    seconds = time.perf_counter() - began
    return Chunk(table, tuple(covered), records.failed, seconds, this_machine())


def too_long(job: Job) -> str:
    """Return what stands in the place of an exception where a replicate takes too long."""
    return f"TimeoutError: longer than {job.timeout:g} s"


def failed_chunk(job: Job, reason: str, seconds: float) -> Chunk:
    """Return the chunk of a job's only replicate, which could not be brought to an end.

    It ran for so many seconds, and its row has the reason in the place of an exception.
    """
    (alone,) = job.segments
    records = _Records()
    records.begin(alone, job.keys[alone.cell])
    records.add([{}], reason, seconds)
    return Chunk(records.table(job), job.segments, 1, seconds, this_machine())


def joined(chunks: Sequence[Chunk]) -> Chunk:
    """Return chunks as one, as if they had been computed together."""
    return Chunk(
        together([chunk.table for chunk in chunks]),
        in_order([each for chunk in chunks for each in chunk.segments]),
        sum(chunk.failed for chunk in chunks),
        sum(chunk.seconds for chunk in chunks),
        chunks[-1].machine,
    )


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

    A TypeError or ValueError says that it is not rows, or that a column has the name of a stored
    column or of a parameter, be it of another cell.
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
    """Return what is stored of an exception that was caught: kind, message and place, in one line.

    Its place is the last one in a user's file, where there is one: what linrep and other packages
    refuse has to be changed there.
    """
    try:
        message = " ".join(str(exception).encode(errors="backslashreplace").decode().split())
    except Exception:  # an exception that cannot say what it is
        message = "(no message)"
    frames = traceback.extract_tb(exception.__traceback__)
    last = ([frame for frame in frames if not is_installed(frame.filename)] or frames)[-1]
    place = f"{os.path.basename(last.filename)}:{last.lineno}"
    return f"{type(exception).__name__}: {message} ({place})"


class _Records:
    """What replicates returned, segment by segment, in the order of their numbers."""

    def __init__(self):
        self._segments: list[Segment] = []  # begun at those numbers; they end where the next begins
        self._streams: list[str] = []
        self._before: list[int] = []  # how many replicates came before each segment
        # Of each replicate; numbers in lists of their own keep the garbage collector at rest.
        self._seconds: list[float] = []
        self._counts: list[int] = []  # of its rows
        self._errors: dict[int, str] = {}
        self._notes: dict[int, str] = {}
        self._values: list[Mapping[str, Any]] = []  # of each row

    @property
    def failed(self):
        return len(self._errors)

    def begin(self, segment, keys):
        self._segments.append(segment)
        self._before.append(len(self._seconds))
        self._streams.append(
            ";".join(f"{purpose}:{key:032x}" if purpose else f"{key:032x}"
                     for purpose, key in keys.items())
        )  # fmt: skip

    def add(self, rows, error, seconds, notes=()):
        if error is not None:
            self._errors[len(self._seconds)] = error
        if notes:
            self._notes[len(self._seconds)] = BETWEEN_NOTES.join(sorted(set(notes)))
        self._seconds.append(seconds)
        self._counts.append(len(rows))
        self._values += rows

    def table(self, job):
        count = len(self._seconds)
        lengths = np.diff([*self._before, count])
        segment = np.repeat(np.arange(len(self._segments)), lengths)
        starts = np.array([each.start for each in self._segments], dtype=np.int64)
        replicate = np.arange(count) - np.repeat(self._before, lengths) + starts[segment]
        counts = np.array(self._counts, dtype=np.int64)
        of = np.repeat(np.arange(count), counts)  # the replicate of each row
        row = np.arange(len(of)) - np.repeat(np.cumsum(counts) - counts, counts)
        segment_of = pa.array(segment[of], pa.int32())

        def spread(column):
            text = pa.types.is_string(column.type)  # few long ones, of many rows
            return (column.dictionary_encode() if text else column).take(segment_of)

        cells = [each.cell for each in self._segments]
        columns = {
            name: spread(parameter_column([job.cells[cell].get(name) for cell in cells], kind))
            for name, kind in job.types.items()
        }
        columns["replicate"] = pa.array(replicate[of], pa.int64())
        columns["row"] = pa.array(row, pa.int64())
        shapes = dict.fromkeys(map(tuple, self._values))
        for name in dict.fromkeys(name for shape in shapes for name in shape):
            columns[name] = result_column([each.get(name) for each in self._values])
        failed = np.zeros(count, dtype=np.int32)
        failed[list(self._errors)] = 1
        columns["status"] = pa.DictionaryArray.from_arrays(
            pa.array(failed[of]), pa.array(["ok", "failed"])
        )
        for name, texts in (("exception", self._errors), ("notes", self._notes)):
            values = np.full(count, None, dtype=object)
            values[list(texts)] = list(texts.values())
            columns[name] = pa.array(values[of], pa.string())
        columns["seconds"] = pa.array(np.array(self._seconds, dtype=float)[of], pa.float64())
        columns["stream"] = spread(pa.array(self._streams, "string"))
        columns["versions"] = pa.DictionaryArray.from_arrays(
            pa.array(np.zeros(len(of), dtype=np.int32)), pa.array([_versions()])
        )
        columns["cell"] = spread(pa.array(cells, "string"))
        return pa.table(columns)


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


_one_thread_of_blas = cache(one_thread)


@cache
def _versions():
    def one(name):
        try:
            return f"{name} {version(name)}"
        except PackageNotFoundError:
            return f"{name} unknown"

    return "; ".join(map(one, _LIBRARIES))
