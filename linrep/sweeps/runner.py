"""Running a sweep: chunks of about a second through any executor, stored as they finish."""

from __future__ import annotations

import os
import pickle
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    Executor,
    Future,
    ThreadPoolExecutor,
    wait,
)
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from linrep import _validation as check
from linrep.sweeps.chunks import Chunk, Job, run_chunk
from linrep.sweeps.columns import parameter_type
from linrep.sweeps.coverage import Coverage, Segment
from linrep.sweeps.pool import process_pool
from linrep.sweeps.progress import progress_bar
from linrep.sweeps.specification import Specification
from linrep.sweeps.store import Run, create_run, presence

_IN_FLIGHT = 2  # chunks submitted per worker: the next is there when one ends
_FIRST = 1  # replicates in a chunk before anything is known of their length
_MOST_SEGMENTS = 2_000  # cells in a chunk


class Stopped(Exception):
    """A sweep was interrupted; everything finished is stored.

    Parameters
    ----------
    run : Run
        As far as it came.
    """

    def __init__(self, run: Run):
        self.run = run
        super().__init__(f"{run.path}: stopped at {run.count()} of {run.total} replicates")


def run(
    sweep: Specification,
    directory: str | Path,
    *,
    workers: int = 1,
    processes: bool = False,
    executor: Executor | None = None,
    shard: tuple[int, int] | None = None,
    extend: bool = False,
    retry_failed: bool = False,
    progress: bool | None = None,
    chunk_seconds: float = 1.0,
) -> Run:
    """Compute the replicates that a run directory lacks.

    Parameters
    ----------
    sweep : Sweep
        What to compute.
    directory : path
        Made if missing. If it holds the same sweep, that is resumed; anything else is refused.
    workers : int, default 1
        Threads, or processes. The rows do not depend on it.
    processes : bool, default False
        Use processes. The function must be importable by them.
    executor : concurrent.futures.Executor, optional
        Where chunks are run instead, such as Dask's ``client.get_executor()``; `workers` then says
        how many it can run at a time. It is not shut down.
    shard : pair of int, optional
        (i, N), i from 1 to N: only the i-th of N disjoint shares of the replicates.
    extend : bool, default False
        Allow the sweep to have more cells or replicates than the directory's.
    retry_failed : bool, default False
        Compute failed replicates again; the new rows replace the old.
    progress : bool, optional
        Show a bar with the time left; by default on a terminal and in a notebook.
    chunk_seconds : float, default 1
        Length of a chunk; a replicate is never cut.

    Returns
    -------
    Run

    Raises
    ------
    ValueError, TypeError
        If an argument is out of range, or the directory holds something else.
    OSError
        If the directory cannot be written or the disk is full.
    Stopped
        On an interrupt (Ctrl-C), after the chunks that were running are stored. A second one
        ends at once.
    """
    workers = check.integer("workers", workers, minimum=1)
    chunk_seconds = check.real("chunk_seconds", chunk_seconds, above=0.0)
    index, shards = read_shard(shard)
    if processes and executor is None:
        _check_importable(sweep.function)
    stored = create_run(directory, sweep, extend=extend)
    with presence(stored.path) as alone:
        if alone:
            stored.tidy()
        todo = _Todo(sweep, stored, index, shards, reverse=not alone, retry_failed=retry_failed)
        stop = threading.Event()
        job = _job_factory(sweep, chunk_seconds)
        bar = progress_bar(
            progress,
            total=todo.total,
            initial=todo.total - todo.left,
            desc=sweep.name,
            unit="run",
        )
        with bar, _executor(executor, workers, processes) as (pool, local):
            submit = partial(pool.submit, partial(run_chunk, stopped=stop.is_set))
            if not local:
                submit = partial(pool.submit, run_chunk)
            _drive(stored, todo, job, submit, workers, stop, bar)
    return stored


def read_shard(shard: Sequence[int] | None) -> tuple[int, int]:
    """Return (i, N), checked; (1, 1) for None."""
    if shard is None:
        return 1, 1
    if not isinstance(shard, tuple | list) or len(shard) != 2:
        raise ValueError(f"shard must be a pair (i, N), got {shard!r}")
    shards = check.integer("shard's N", shard[1], minimum=1)
    return check.integer("shard's i", shard[0], minimum=1, maximum=shards), shards


def _drive(stored, todo, job, submit, workers, stop, bar):
    """Keep chunks in flight and store what they return, until nothing is left."""
    flying: dict[Future, list[Segment]] = {}
    failed = 0
    interrupted = False
    while True:
        try:
            while not stop.is_set() and len(flying) < _IN_FLIGHT * workers:
                segments = todo.next(workers)
                if not segments:
                    break
                with _uninterrupted():
                    flying[submit(job(segments))] = segments
            if not flying:
                break
            finished, _ = wait(flying, return_when=FIRST_COMPLETED)
            for future in finished:
                with _uninterrupted():
                    segments = flying.pop(future)
                    chunk: Chunk = future.result()
                    stored.write(chunk.table, chunk.segments, todo.generation)
                    todo.finish(segments, chunk)
                failed += chunk.failed
                bar.set_postfix({"failed": failed} if failed else {}, refresh=False)
                bar.update(sum(map(len, chunk.segments)))
        except KeyboardInterrupt:
            if interrupted:
                raise
            interrupted = True
            stop.set()
        except BaseException:
            stop.set()
            for future in flying:
                future.cancel()
            raise
    if interrupted:
        raise Stopped(stored)


@contextmanager
def _uninterrupted():
    """Let interrupts wait until the end of the block, so that no chunk is between two places."""
    if threading.current_thread() is not threading.main_thread():  # which alone hears them
        yield
        return
    heard: list[tuple[Callable, int, Any]] = []
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number, handler in before.items():
        if callable(handler):
            signal.signal(number, lambda *got, handler=handler: heard.append((handler, *got)))
    try:
        yield
    finally:
        for number, handler in before.items():
            if callable(handler):
                signal.signal(number, handler)
        for handler, received, frame in heard:
            handler(received, frame)


class _Todo:
    """What is to be computed, cut into chunks of about the right length."""

    def __init__(self, sweep, stored, index, shards, *, reverse, retry_failed):
        self._stored = stored
        shares = list(_shares(sweep, index, shards, reverse))
        self.total = sum(map(len, shares))
        self.generation = 0
        self._done = stored.done()
        if retry_failed:
            self._done = _without_failures(stored, shares)
            self.generation = 1 + max((part.generation for part in stored.parts()), default=0)
        self._retrying = retry_failed
        missing = [piece for share in shares for piece in self._done.missing(share)]
        self._queue = deque(_from_the_middle(missing) if reverse else missing)
        self.left = sum(map(len, self._queue))
        self._looked = time.monotonic()
        self._rate = float(_FIRST)  # replicates per second

    def next(self, workers) -> list[Segment]:
        """Return the next chunk's segments, empty if there are none."""
        self._look_for_others()
        size = max(_FIRST, min(int(self._rate), self.left // (2 * workers)))
        chosen: list[Segment] = []
        while self._queue and size > 0 and len(chosen) < _MOST_SEGMENTS:
            segment = self._queue.popleft()
            pieces = list(self._done.missing(segment))
            if not pieces:
                self.left -= len(segment)
                continue
            self.left -= len(segment) - sum(map(len, pieces))
            first, *others = pieces
            if len(first) > size:
                others.insert(0, Segment(first.cell, first.start + size, first.stop))
                first = Segment(first.cell, first.start, first.start + size)
            self._queue.extendleft(reversed(others))
            chosen.append(first)
            size -= len(first)
        return chosen

    def finish(self, segments: list[Segment], chunk: Chunk) -> None:
        """Take note of a finished chunk, and of what it left undone."""
        covered = Coverage()
        for segment in chunk.segments:
            covered.add(segment)
            self._done.add(segment)
        rest = [piece for segment in segments for piece in covered.missing(segment)]
        self._queue.extendleft(reversed(rest))
        count = sum(map(len, chunk.segments))
        self.left -= count
        self._rate = count / max(chunk.seconds, 1e-9)

    def _look_for_others(self):
        """Once a second, find out what another process has stored here."""
        if self._retrying or time.monotonic() - self._looked < 1.0:
            return
        self._done = self._stored.done()
        self._looked = time.monotonic()


def _shares(sweep, index, shards, reverse) -> Iterator[Segment]:
    """Yield a shard's share of every cell: blocks of replicates, dealt out in turn."""
    # Dealt out by name: shards that list the cells in different orders have different shares, too.
    places = {name: place for place, name in enumerate(sorted(sweep.names))}
    for name in reversed(sweep.names) if reverse else sweep.names:
        block = (index - 1 + places[name]) % shards
        start, stop = (sweep.replicates * edge // shards for edge in (block, block + 1))
        if stop > start:
            yield Segment(name, start, stop)


def _from_the_middle(segments):
    """Yield the far half of each segment before the near one, which another process is at."""
    for segment in segments:
        middle = (segment.start + segment.stop) // 2
        for start, stop in ((middle, segment.stop), (segment.start, middle)):
            if start < stop:
                yield Segment(segment.cell, start, stop)


def _without_failures(stored, shares):
    done = stored.done()
    rows = stored.read(["cell", "replicate", "status"], partial=True)
    failed = rows[rows["status"] == "failed"]
    if failed.empty:
        return done
    again = Coverage()
    for cell, replicate in zip(failed["cell"], failed["replicate"], strict=True):
        again.add(Segment(cell, int(replicate), int(replicate) + 1))
    kept = Coverage()
    for share in shares:
        for piece in done.within(share.cell, share.stop):
            for fine in again.missing(piece):
                kept.add(fine)
    return kept


def _job_factory(sweep, seconds) -> Callable[[list[Segment]], Job]:
    cells = dict(zip(sweep.names, sweep.grid, strict=True))
    types = {name: parameter_type(cell.get(name) for cell in cells.values())
             for name in sweep.parameters}  # fmt: skip

    def job(segments):
        names = dict.fromkeys(segment.cell for segment in segments)
        return Job(
            function=sweep.function,
            settings=sweep.settings,
            segments=tuple(segments),
            cells={name: cells[name] for name in names},
            keys={name: sweep.keys(cells[name]) for name in names},
            types=types,
            seconds=seconds,
            home=os.getpid(),
        )

    return job


@contextmanager
def _executor(executor, workers, processes):
    """Yield an executor and whether it runs in this process's threads."""
    if executor is not None:
        with threadpool_limits(limits=1):
            yield executor, False
    elif processes:
        with process_pool(workers) as pool:
            yield pool, False
    else:
        # BLAS on one thread: matrices are small, and sums must not depend on the number of cores.
        with threadpool_limits(limits=1), ThreadPoolExecutor(workers) as pool:
            yield pool, True


def _check_importable(function):
    try:
        pickle.dumps(function)
    except Exception as error:
        raise ValueError(
            f"function must be importable by other processes, or use threads ({error})"
        ) from None
