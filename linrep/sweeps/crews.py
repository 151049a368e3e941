"""Who computes chunks: threads, processes, or somebody else's executor."""

from __future__ import annotations

import itertools
import threading
import uuid
from collections.abc import Callable, Set
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import NamedTuple, Protocol

from linrep.sweeps.chunks import Chunk, Job, run_chunk
from linrep.sweeps.sealing import seal
from linrep.sweeps.workers import WorkerPool, run_guarded, run_sealed


class Seen(NamedTuple):
    """What is seen of workers.

    Attributes
    ----------
    workers : int
        How many chunks they can compute at a time.
    news : str
        What is to be said of them, an empty text if that has been said.
    silent : set of Future
        Jobs of workers that do not answer.
    deserted : bool
        Whether nobody is at work.
    """

    workers: int
    news: str = ""
    silent: Set[Future[Chunk]] = frozenset()
    deserted: bool = False


class Crew(Protocol):
    """Whoever computes chunks."""

    #: Whether a job may fail for what another one did to its worker.
    may_lose_workers: bool

    def look(self) -> Seen:
        """Return what is seen of the workers; asked about once a second."""

    def blame(self, error: BaseException) -> None:
        """Raise what the failure of a job stands for, unless that is the job or its worker."""

    def submit(self, job: Job, *, guarded: bool = False) -> Future[Chunk]:
        """Have a job computed, if `guarded` where it can do no harm to others."""

    def stop(self) -> None:
        """Let all leave the rest of their chunks."""

    def end(self) -> None:
        """Stop waiting for chunks."""


class Threads:
    """Threads of this process, which cannot be ended; the pool is shut down if it is its own."""

    may_lose_workers = False

    def __init__(self, pool: ThreadPoolExecutor, workers: Callable[[], int], *, owned: bool):
        self._pool = pool
        self._workers = workers
        self._owned = owned
        self._stopped = threading.Event()

    def look(self) -> Seen:
        """Return how many threads there are to be."""
        return Seen(self._workers())

    def blame(self, error: BaseException) -> None:
        """Do nothing: it is the job's."""

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

    def __init__(self, workers: Callable[[], int], timeout: float | None):
        self._workers = workers
        self._pool = WorkerPool(workers(), timeout)
        self.stop, self.end = self._pool.stop, self._pool.end

    def look(self) -> Seen:
        """Return how many processes there are to be."""
        return Seen(self._workers())

    def blame(self, error: BaseException) -> None:
        """Do nothing: it is the job's."""

    def submit(self, job: Job, *, guarded: bool = False) -> Future[Chunk]:
        """Have a job computed."""
        return self._pool.submit_chunk(job)


class ExternalExecutor:
    """The workers of an executor that somebody else has set up, on whatever machines.

    They give a replicate up after the seconds of the timeout.
    """

    may_lose_workers = True

    def __init__(self, executor: Executor, workers: Callable[[], int], timeout: float | None):
        self._executor = executor
        self._workers = workers
        self._timeout = timeout
        self._guarded = timeout is not None
        self._in_flight: set[Future[Chunk]] = set()
        self._name, self._count = uuid.uuid4().hex, itertools.count()
        self._said = ""

    def look(self) -> Seen:
        """Return how many workers there are."""
        count = self._workers()
        return self._seen(count, "" if count else "there is no worker: waiting for one")

    def blame(self, error: BaseException | None) -> None:
        """Do nothing: it may be the worker's."""

    def _seen(self, count, text, silent: Set[Future[Chunk]] = frozenset()) -> Seen:
        news, self._said = "" if text == self._said else text, text
        return Seen(count, news, silent, not count)

    def submit(self, job: Job, *, guarded: bool = False) -> Future[Chunk]:
        """Have a job computed, if `guarded` in a process of its own at the worker's.

        From the first such job on, as one that has lost its worker seldom stays alone.
        """
        self._guarded |= guarded
        if self._guarded:
            future = self._send(run_guarded, seal(job), self._timeout)
        else:
            future = self._send(run_sealed, seal(job), self._name, next(self._count))
        self._in_flight.add(future)
        future.add_done_callback(self._in_flight.discard)
        return future

    def _send(self, function, *arguments) -> Future[Chunk]:
        return self._executor.submit(function, *arguments)

    def stop(self) -> None:
        """Do nothing: a running chunk cannot be reached there."""

    def end(self) -> None:
        """Stop waiting for chunks, and cancel those that have not begun."""
        for future in tuple(self._in_flight):
            future.cancel()
