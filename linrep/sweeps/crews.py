"""Who computes chunks: threads, processes, or somebody else's executor."""

from __future__ import annotations

import itertools
import threading
import uuid
from collections.abc import Callable, Set
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import NamedTuple

from linrep.sweeps.chunks import Chunk, Job, run_chunk, sealed
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


class Crew:
    """Whoever computes chunks.

    Parameters
    ----------
    workers : callable
        Returns how many chunks can be computed at a time.
    """

    #: Whether a job may fail for what another one did to its worker.
    may_lose_workers = False

    def __init__(self, workers: Callable[[], int]):
        self._workers = workers

    def look(self) -> Seen:
        """Return what is seen of the workers; asked about once a second."""
        return Seen(self._workers())

    def blame(self, error: BaseException | None) -> None:
        """Raise what the failure of a job stands for, unless that is the job or its worker."""

    def submit(self, job: Job, *, guarded: bool = False) -> Future[Chunk]:
        """Have a job computed, if `guarded` where it can do no harm to others."""
        raise NotImplementedError

    def stop(self) -> None:
        """Let all leave the rest of their chunks, where they can be reached."""

    def end(self) -> None:
        """Stop waiting for chunks, and cancel those that have not begun."""


class Threads(Crew):
    """Threads of this process, which cannot be ended; the pool is shut down if it is its own."""

    def __init__(self, pool: ThreadPoolExecutor, workers: Callable[[], int], *, owned: bool):
        super().__init__(workers)
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


class Processes(Crew):
    """Processes of this one, which can be ended."""

    def __init__(self, workers: Callable[[], int]):
        super().__init__(workers)
        self._pool = WorkerPool(workers())

    def submit(self, job: Job, *, guarded: bool = False) -> Future[Chunk]:
        """Have a job computed."""
        return self._pool.submit_chunk(sealed(job))

    def stop(self) -> None:
        """Let all leave the rest of their chunks."""
        self._pool.stop()

    def end(self) -> None:
        """End them, whatever they do."""
        self._pool.end()


class ExternalExecutor(Crew):
    """The workers of an executor that somebody else has set up, on whatever machines."""

    may_lose_workers = True

    def __init__(self, executor: Executor, workers: Callable[[], int]):
        super().__init__(workers)
        self._executor = executor
        self._guarded = False
        self._in_flight: set[Future[Chunk]] = set()
        self._name, self._count = uuid.uuid4().hex, itertools.count()
        self._said = ""

    def look(self) -> Seen:
        """Return how many workers there are."""
        count = self._workers()
        return self._seen(count, "" if count else "there is no worker: waiting for one")

    def _seen(self, count, text, silent: Set[Future[Chunk]] = frozenset()) -> Seen:
        news, self._said = "" if text == self._said else text, text
        return Seen(count, news, silent, not count)

    def submit(self, job: Job, *, guarded: bool = False) -> Future[Chunk]:
        """Have a job computed, if `guarded` in a process of its own at the worker's.

        From the first such job on, as one that has lost its worker seldom stays alone.
        """
        self._guarded |= guarded or job.timeout is not None
        if self._guarded:
            future = self._send(run_guarded, sealed(job))
        else:
            future = self._send(run_sealed, sealed(job), self._name, next(self._count))
        self._in_flight.add(future)
        future.add_done_callback(self._in_flight.discard)
        return future

    def _send(self, function, *arguments) -> Future[Chunk]:
        return self._executor.submit(function, *arguments)

    def end(self) -> None:
        """Stop waiting for chunks, and cancel those that have not begun."""
        for future in tuple(self._in_flight):
            future.cancel()
