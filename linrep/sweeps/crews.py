"""Who computes chunks: threads, processes, or somebody else's executor."""

from __future__ import annotations

import itertools
import threading
import uuid
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any, Protocol

from linrep.sweeps.chunks import Chunk, Job, run_chunk
from linrep.sweeps.sealing import seal
from linrep.sweeps.workers import WorkerPool, run_guarded, run_sealed


class Crew(Protocol):
    """Whoever computes chunks."""

    #: Whether a job may fail for what another one did to its worker.
    may_lose_workers: bool

    def submit(self, job: Job, *, guarded: bool = False) -> Future[Chunk]:
        """Have a job computed, if `guarded` where it can do no harm to others."""

    def stop(self) -> None:
        """Let all leave the rest of their chunks."""

    def end(self) -> None:
        """Stop waiting for chunks."""


class Threads:
    """Threads of this process, which cannot be ended; the pool is shut down if it is its own."""

    may_lose_workers = False

    def __init__(self, pool: ThreadPoolExecutor, *, owned: bool):
        self._pool = pool
        self._owned = owned
        self._stopped = threading.Event()

    def submit(self, job: Job, *, guarded: bool = False) -> Future[Chunk]:
        """Have a job computed."""
        return self._pool.submit(run_chunk, job, self._stopped.is_set)

    def stop(self) -> None:
        """Let all leave the rest of their chunks."""
        self._stopped.set()

    def end(self) -> None:
        """Stop waiting for chunks, and cancel those that have not begun."""
        self._stopped.set()
        if self._owned:
            self._pool.shutdown(wait=False, cancel_futures=True)


class Processes:
    """Processes of this one, which give a replicate up after the seconds of the timeout."""

    may_lose_workers = False

    def __init__(self, workers: int, timeout: float | None):
        self._pool = WorkerPool(workers, timeout)
        self.stop, self.end = self._pool.stop, self._pool.end

    def submit(self, job: Job, *, guarded: bool = False) -> Future[Chunk]:
        """Have a job computed."""
        return self._pool.submit_chunk(job)


class ExternalExecutor:
    """The workers of an executor that somebody else has set up, on whatever machines.

    They give a replicate up after the seconds of the timeout.
    """

    may_lose_workers = True

    def __init__(self, executor: Executor, timeout: float | None):
        self._executor = executor
        self._timeout = timeout
        self._guarded = timeout is not None
        self._in_flight: set[Future[Chunk]] = set()
        self._name, self._count = uuid.uuid4().hex, itertools.count()

    def submit(self, job: Job, *, guarded: bool = False) -> Future[Chunk]:
        """Have a job computed, if `guarded` in a process of its own at the worker's.

        From the first such job on, as one that has lost its worker seldom stays alone.
        """
        self._guarded |= guarded
        if self._guarded:
            future = self._executor.submit(run_guarded, seal(job), self._timeout)
        else:
            future = self._executor.submit(run_sealed, seal(job), self._name, next(self._count))
        self._in_flight.add(future)
        future.add_done_callback(self._in_flight.discard)
        return future

    def stop(self) -> None:
        """Do nothing: a running chunk cannot be reached there."""

    def end(self) -> None:
        """Stop waiting for chunks, and cancel those that have not begun."""
        for future in tuple(self._in_flight):
            future.cancel()


def present(executor: Executor, workers: int) -> int:
    """Return how many chunks can be computed at a time: none if Dask has lost all its workers.

    Other executors do not say; they have as many workers as the caller says.
    """
    client: Any = getattr(executor, "_client", None)
    if not type(client).__module__.startswith("distributed.") or client.status != "running":
        return workers
    with suppress(OSError):  # the scheduler ends while it is asked
        return workers if client.nthreads() else 0
    return workers
