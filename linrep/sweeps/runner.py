"""Sweeps, and running them: chunks of a second or so, through any executor, stored as they end."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    Executor,
    Future,
    ThreadPoolExecutor,
    wait,
)
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, cast

import pandas as pd

from linrep._lib import validation as check
from linrep._lib.arguments import checked
from linrep._lib.progress import progress_bar, say_stopped
from linrep._lib.threads import one_thread
from linrep._lib.warning import RunWarning, warn
from linrep.sweeps import checkpoints
from linrep.sweeps.chunks import Chunk, Job, call, read_rows
from linrep.sweeps.codes import Codes
from linrep.sweeps.columns import parameter_type
from linrep.sweeps.crews import Seen, crew_of, is_dask
from linrep.sweeps.directories import check_directory, create_run, presence
from linrep.sweeps.grid import Grid
from linrep.sweeps.machines import differences, machine_now
from linrep.sweeps.merging import compact
from linrep.sweeps.parts import Part, Segment, select_rows
from linrep.sweeps.specification import Specification
from linrep.sweeps.store import Run
from linrep.sweeps.targets import check_portable, is_portable
from linrep.sweeps.todo import Todo
from linrep.sweeps.workers import ATTEMPT

_IN_FLIGHT = 2  # chunks submitted per worker: the next is there when one ends
_LOOK_EVERY = 1.0  # seconds, for interrupts, other processes, and workers that come and go
_MOST_SMALL = 60  # parts per worker until they are put together: about a minute's
_MARK = ".running"


class Stopped(Exception):
    """A sweep was interrupted; everything finished is stored.

    Parameters
    ----------
    run : Run
        As far as it came.
    counts : pair of int, optional
        How many replicates are done of how many that were asked for, by default of all.
    begun : sequence of str
        How far others have come that go on from their files.
    at_once : bool
        Whether chunks that were running have been left: their threads may still be at work.
    """

    def __init__(
        self,
        run: Run,
        counts: tuple[int, int] | None = None,
        *,
        begun: Sequence[str] = (),
        at_once: bool = False,
    ):
        self.run = run
        self.at_once = at_once
        done, total = (run.count(), run.total) if counts is None else counts
        more = f", begun: {'; '.join(begun)}" if begun else ""
        super().__init__(f"{run.path}: {say_stopped(done, total, 'replicates')}{more}")


def run(
    sweep: Specification,
    directory: str | Path,
    *,
    workers: int | Callable[[], int] | None = None,
    processes: bool | None = None,
    executor: Executor | None = None,
    timeout: float | None = None,
    shard: tuple[int, int] | None = None,
    extend: bool = False,
    retry_failed: bool = False,
    same_code: bool = False,
    progress: bool | None = None,
    chunk_seconds: float = 1.0,
    grace: float | None = None,
) -> Run:
    """Compute the replicates that a run directory lacks.

    Parameters
    ----------
    sweep : Sweep
        What to compute.
    directory : path
        Made if missing. If it holds the same sweep, that is resumed; anything else is refused.
    workers : int or callable, optional
        Threads, or processes, by default 1. The rows do not depend on it. With an executor whose
        workers come and go: a function that returns how many there are now, asked about once a
        second; Dask's is asked itself by default.
    processes : bool, optional
        Use processes. A replicate that ends its process is then a failed row. By default threads
        are used, unless the last process that swept into the directory was killed: then processes,
        so that a replicate which kills its process is found and stored as failed.
    executor : concurrent.futures.Executor, optional
        Where chunks are run instead, such as Dask's ``client.get_executor()``; `workers` then says
        how many it can run at a time. It is not shut down.
    timeout : float, optional
        Seconds after which a replicate is given up, which makes it a failed row. Replicates then
        run in processes, as threads cannot be ended.
    shard : pair of int, optional
        (i, N), i from 1 to N: only the i-th of N disjoint shares of the replicates.
    extend : bool, default False
        Allow the sweep to have more cells or replicates than the directory's.
    retry_failed : bool, default False
        Compute failed replicates again; the new rows replace the old.
    same_code : bool, default False
        Go on though what is stored was made by other code: by another function, or by the same one
        since something of yours has changed that it computes with.
    progress : bool, optional
        Show a bar with the time left, if tqdm is installed; by default on a terminal and in a
        notebook, and elsewhere a line every minute.
    chunk_seconds : float, default 1
        Length of a chunk; a replicate is never cut.
    grace : float, optional
        Seconds that chunks have after an interrupt; then they are left, and processes ended. For
        replicates that take long and keep checkpoints in :func:`linrep.sweeps.scratch`.

    Returns
    -------
    Run

    Raises
    ------
    ValueError, TypeError
        If an argument is out of range, or the directory holds something else; an
        :class:`OtherCode` if other code made that.
    OSError
        If the directory cannot be written or the disk is full.
    Stopped
        On an interrupt (Ctrl-C), after the chunks that were running are stored. After a second one,
        or where an executor has no worker, at once, with what was finished stored.
    """
    if not callable(workers) and not (workers is None and is_dask(executor)):
        count = 1 if workers is None else workers
        workers = partial(int, check.integer("workers", count, minimum=1))
    chunk_seconds = check.real("chunk_seconds", chunk_seconds, above=0.0)
    if timeout is not None:
        timeout = check.real("timeout", timeout, above=0.0)
    if grace is not None:
        grace = check.real("grace", grace, minimum=0.0)
    index, shards = _read_shard(shard)
    guarded = bool(processes) or timeout is not None
    shared = isinstance(executor, ThreadPoolExecutor) and timeout is None
    if (guarded or executor is not None) and not shared:
        check_portable(sweep.function)
    codes = Codes(sweep)
    there = check_directory(directory, sweep, extend=extend)
    others = there and codes.check(there, retry_failed=retry_failed, same_code=same_code)
    stored = create_run(directory, sweep, extend=extend)
    with _stopped_by_interrupts(stored) as known, presence(stored.path) as alone:
        if alone:
            stored.tidy()
            for leftover in stored.path.glob(f"{ATTEMPT}*"):
                leftover.unlink(missing_ok=True)
        todo = Todo(
            sweep, stored, index, shards, chunk_seconds,
            reverse=not alone, retry_failed=retry_failed,
        )  # fmt: skip
        known.append(todo)
        bar = progress_bar(
            progress,
            lines=True,
            total=todo.total,
            initial=todo.counts[0],
            desc=sweep.name,
            unit="run",
        )
        with bar, _mark(stored.path, alone and todo.left) as was_killed:
            if others:
                bar.write(f"{others}; they are kept", file=sys.stderr)
            undecided = processes is None and executor is None and not guarded
            was_killed = was_killed and undecided and is_portable(sweep.function)
            if was_killed:
                bar.write(
                    f"{stored.path}: the last sweep here was killed; replicates run in processes "
                    "now, so that one which ends its process is stored as failed",
                    file=sys.stderr,
                )
            if executor is None or shared:
                with one_thread():
                    _tell_others(stored, todo, bar, machine_now)
            crew = crew_of(executor, workers, guarded=guarded or was_killed, shared=shared)
            with one_thread():
                job = _job_factory(sweep, chunk_seconds, stored.path, timeout)
                try:
                    noted = _drive(stored, todo, job, codes, crew, bar, grace)
                finally:
                    crew.end()
                    if crew.shares_memory:
                        codes.settle()
        if noted:
            of = f"of {stored.count()}"
            each = ", ".join(f"{note} ({count} {of})" for note, count in stored.notes().items())
            warn(f"{stored.path}: replicates with notes, in the column notes: {each}", RunWarning)
        return stored


@contextmanager
def _stopped_by_interrupts(stored):
    """Say how far a sweep is where an interrupt comes before its chunks, or after them."""
    known: list[Todo] = []  # nothing at first
    try:
        yield known
    except KeyboardInterrupt:
        raise Stopped(stored, *(todo.counts for todo in known), at_once=True) from None


def _read_shard(shard):
    if shard is None:
        return 1, 1
    if not isinstance(shard, tuple | list) or len(shard) != 2:
        raise ValueError(f"shard must be a pair (i, N), got {shard!r}")
    shards = check.integer("shard's N", shard[1], minimum=1)
    return check.integer("shard's i", shard[0], minimum=1, maximum=shards), shards


@dataclass(eq=False)
class _Flight:
    """What workers are computing, more than one of them if one does not answer."""

    segments: list[Segment]
    guarded: bool = False


def _drive(stored, todo, job, codes, crew, bar, grace):
    """Keep chunks in flight and store what they return, until nothing is left.

    What is returned says whether there are notes on runs.
    """
    flying: dict[Future, _Flight] = {}
    small: list[Part] = []  # parts of this process that have not been put together
    failed = 0
    noted = interrupted = False
    seen, looked = Seen(0), 0.0
    limit = None  # when to wait no longer after an interrupt

    def under_way():
        return [each for flight in dict.fromkeys(flying.values()) for each in flight.segments]

    def describe():
        failures = [f"{failed} failed"] if failed else []
        bar.set_postfix_str("; ".join(failures + checkpoints.notes(stored.path, under_way())))

    def send(flight):
        with _hold_interrupts():
            future = crew.submit(job(flight.segments), guarded=flight.guarded)
            flying[future] = flight

    def look():
        nonlocal seen, looked
        seen, looked = crew.look(), time.monotonic()
        if seen.news:
            bar.write(f"{stored.path}: {seen.news}", file=sys.stderr)
        heard = {flight for future, flight in flying.items() if future not in seen.silent}
        for future, flight in list(flying.items()):
            if flight not in heard and interrupted:
                del flying[future]
            elif flight not in heard and seen.workers:
                heard.add(flight)
                send(flight)  # to another worker, too

    def store(future):
        nonlocal failed, noted
        flight = flying.pop(future, None)
        if flight is None:
            return  # another worker was first
        is_last = flight not in flying.values()
        try:
            chunk: Chunk = future.result()
        except BrokenExecutor:
            raise
        except Exception as error:
            crew.blame(error)
            if is_last and (flight.guarded or not crew.may_lose_workers):
                raise
            if is_last:  # a replicate may have ended the worker
                send(_Flight(flight.segments, guarded=True))
            return
        for other in [] if is_last else [f for f, each in flying.items() if each is flight]:
            del flying[other]
            other.cancel()
        _tell_others(stored, todo, bar, lambda: chunk.machine)  # of an executor's worker
        apart = codes.apart(chunk.segments)
        for code, pieces in apart.items():
            rows = select_rows(chunk.table, pieces) if len(apart) > 1 else chunk.table
            small.extend(stored.write(rows, pieces, todo.generation, chunk.machine, code))
        checkpoints.clear(stored.path, chunk.segments)
        todo.finish(flight.segments, chunk)
        failed += chunk.failed
        noted |= chunk.table["notes"].null_count < chunk.table.num_rows
        describe()
        bar.update(sum(map(len, chunk.segments)))

    look()
    while True:
        try:
            if limit is not None and time.monotonic() > limit:
                raise KeyboardInterrupt
            if time.monotonic() - looked > _LOOK_EVERY:
                look()
            if interrupted and seen.deserted:
                raise KeyboardInterrupt
            exhausted = False  # a chunk may have left some of its replicates
            while not interrupted and len(set(flying.values())) < _IN_FLIGHT * seen.workers:
                segments = todo.next(seen.workers)
                exhausted = not segments
                if exhausted:
                    break
                send(_Flight(segments))
            if not flying and (interrupted or exhausted or not todo.left):
                break
            finished, _ = wait(flying, timeout=_LOOK_EVERY, return_when=FIRST_COMPLETED)
            describe()
            if not flying:
                time.sleep(_LOOK_EVERY)  # until there is a worker
            for future in finished:
                with _hold_interrupts():
                    store(future)
            if len(small) >= _MOST_SMALL * max(1, seen.workers):
                with _hold_interrupts():
                    compact(stored, small)
                small.clear()
        except KeyboardInterrupt:
            if interrupted or seen.deserted:  # nobody is at work
                unfinished = under_way()
                crew.end()
                with _hold_interrupts():
                    for future in [each for each in flying if each.done()]:
                        with suppress(Exception):
                            store(future)
                begun = checkpoints.notes(stored.path, unfinished)  # but those stored now
                raise Stopped(stored, todo.counts, begun=begun, at_once=True) from None
            interrupted = True
            limit = None if grace is None else time.monotonic() + grace
            crew.stop()
    crew.stop()
    with _hold_interrupts():
        if small:
            compact(stored)
    if interrupted:
        raise Stopped(stored, todo.counts)
    return noted


@contextmanager
def _hold_interrupts():
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


def _job_factory(sweep, seconds, directory, timeout=None) -> Callable[[list[Segment]], Job]:
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
            scratch=str(directory.resolve() / checkpoints.FOLDER),
            timeout=timeout,
        )

    return job


def _tell_others(stored, todo, bar, machine):
    """Say once what tells the machine that goes on apart from those of what is stored."""
    machines, todo.machines = todo.machines, ()
    here = machine() if machines else ""
    # Which libraries for linear algebra are loaded depends on what has run in a process.
    unlike = [
        [line for line in differences(each, here) if not line.startswith("BLAS: ")]
        for each in machines
    ]
    fewest = min(unlike, key=len, default=[])
    if fewest:
        bar.write(
            f"{stored.path}: what is stored was computed by another machine or other versions, and "
            f"digits may differ; there and here: {'; '.join(fewest)}",
            file=sys.stderr,
        )


@contextmanager
def _mark(path, working):
    """Mark a directory while this process sweeps into it; yield whether one before was killed."""
    mark = path / _MARK
    if not working:
        yield False
        return
    was_killed = mark.exists()
    mark.touch()
    try:
        yield was_killed
    finally:
        mark.unlink(missing_ok=True)


class Sweep(Specification):
    """A function of a cell's parameters and a random stream, over a grid, with replicates.

    Parameters
    ----------
    function : callable
        ``function(cell, rng, **settings)`` returns one row (a mapping of names to numbers, strings,
        booleans or None; a bare number counts as the column ``value``), several (a sequence of such
        mappings) or a DataFrame. `rng` is a `numpy.random.Generator`, or, with `streams`, a dict of
        Generators by purpose.
    grid : Grid or iterable of mappings
        The cells.
    replicates : int
        Independent repetitions of every cell, at least 1.
    seed : int, default 0
        Root of all streams, at least 0.
    paired : iterable of str
        Parameters that change no stream: cells that differ only in these share their random
        numbers within a replicate. Algorithms and step sizes, typically.
    streams : mapping of str to iterable of str, optional
        One stream per purpose, with the parameters that change it; all others do not. Instead of
        `paired`.
    settings : mapping, optional
        Further keyword arguments of the function, the same for all cells and without influence on
        the streams. Plain values.
    name : str, optional
        What is computed; the function's name by default, required for what has none (a lambda, a
        partial). Two sweeps of different names do not share a directory.

    Raises
    ------
    ValueError, TypeError
        If an argument is not of this kind, or a parameter has the name of a stored column.

    Notes
    -----
    A stream is ``default_rng(SeedSequence(key, spawn_key=(replicate,)))`` with `key` the first 128
    bits of the SHA-256 of seed, purpose and those parameters; rows store it in hexadecimal. It
    depends on nothing else: not on the order, the chunks, the workers, or the other cells.
    """

    def run(self, directory: str | Path, **options: Any) -> Run:
        """Compute what is missing in a run directory.

        Parameters
        ----------
        directory : path
        **options
            As in :func:`linrep.sweeps.run`.
        """
        return run(self, directory, **options)

    def only(self, selection: Mapping[str, Any] | str, replicate: int) -> pd.DataFrame:
        """Compute one replicate alone, with its own random stream, and store nothing.

        Parameters
        ----------
        selection : mapping of str to plain values, or str
            Parameters that single out a cell, or as in its name: ``"n=10,m=5"``.
        replicate : int
            Its number, from 0.

        Returns
        -------
        DataFrame
            What the function returned; what it raises is raised here.

        Raises
        ------
        ValueError, TypeError
            If there is no such cell or replicate.
        """
        number = check.integer("replicate", replicate, minimum=0, maximum=self.replicates - 1)
        cell = cast(Grid, self.grid).find(selection)
        with one_thread():  # as in a run
            result = call(self.function, cell, self.keys(cell), number, self.settings)
        return pd.DataFrame(read_rows(result, self.parameters))


checked(globals())
