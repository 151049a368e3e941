"""Who computes chunks: threads, processes, or somebody else's executor, such as Dask's."""

from __future__ import annotations

import itertools
import threading
import time
import uuid
from collections.abc import Callable, Set
from concurrent.futures import CancelledError, Executor, Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any, NamedTuple

from linrep.sweeps.chunks import Chunk, Job, run_chunk, sealed
from linrep.sweeps.workers import WorkerPool, run_guarded, run_sealed

#: Seconds without an answer after which somebody is silent.
PATIENCE = 30.0
_ASK_EVERY = 1.0  # seconds
_GO_ON = "Ctrl-C ends this, and the same call goes on from there"


class Seen(NamedTuple):
    """What is seen of workers."""

    workers: int  # how many chunks they can compute at a time
    news: str = ""  # what is to be said of them, an empty text if that has been said
    silent: Set[Future[Chunk]] = frozenset()  # jobs of workers that do not answer
    deserted: bool = False  # whether nobody is at work


class Crew:
    """Whoever computes chunks; `workers` returns how many of them at a time."""

    #: Whether a job may fail for what another one did to its worker.
    may_lose_workers = False
    #: Whether jobs share what they compute with.
    shares_memory = False

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


def is_dask(executor: Executor | None) -> bool:
    """Tell whether an executor is Dask's."""
    client = getattr(executor, "_client", None)
    return type(client).__module__.partition(".")[0] == "distributed"


def crew_of(
    executor: Executor | None, workers: Callable[[], int] | None, *, guarded: bool, shared: bool
) -> Crew:
    """Return who computes chunks: somebody else's executor, or threads or processes of this one.

    `guarded` says whether replicates may be ended, which only processes can; `shared` whether the
    executor's workers are threads of this process; `workers` is None for those of a Dask cluster.
    """
    if is_dask(executor):
        return _Cluster(executor, workers)
    assert workers is not None
    if shared:
        return _Threads(executor, workers, owned=False)
    if executor is not None:
        return _External(executor, workers)
    if guarded:
        return _Processes(workers)
    return _Threads(ThreadPoolExecutor(workers()), workers, owned=True)


class _Threads(Crew):
    """Threads of this process, which cannot be ended; the pool is shut down if it is its own."""

    shares_memory = True

    def __init__(self, pool, workers, *, owned):
        super().__init__(workers)
        self._pool = pool
        self._owned = owned
        self._stopped = threading.Event()

    def submit(self, job, *, guarded=False):
        return self._pool.submit(run_chunk, job, self._stopped.is_set)

    def stop(self):
        self._stopped.set()

    def end(self):
        self._stopped.set()
        if self._owned:
            self._pool.shutdown(wait=False, cancel_futures=True)


class _Processes(Crew):
    """Processes of this one, which can be ended."""

    def __init__(self, workers):
        super().__init__(workers)
        self._pool = WorkerPool(workers())

    def submit(self, job, *, guarded=False):
        return self._pool.submit_chunk(sealed(job))

    def stop(self):
        self._pool.stop()

    def end(self):
        self._pool.end()


class _External(Crew):
    """The workers of an executor that somebody else has set up, on whatever machines."""

    may_lose_workers = True

    def __init__(self, executor, workers):
        super().__init__(workers)
        self._executor = executor
        self._guarded = False
        self._in_flight: set[Future[Chunk]] = set()
        self._name, self._count = uuid.uuid4().hex, itertools.count()
        self._said = ""

    def look(self):
        count = self._workers()
        return self._seen(count, "" if count else "there is no worker: waiting for one")

    def _seen(self, count, text, silent=frozenset()):
        news, self._said = "" if text == self._said else text, text
        return Seen(count, news, silent, not count)

    def submit(self, job, *, guarded=False):
        # In a process of its own from the first guarded job on, as one that has lost its worker
        # seldom stays alone.
        self._guarded |= guarded or job.timeout is not None
        if self._guarded:
            future = self._send(run_guarded, sealed(job))
        else:
            future = self._send(run_sealed, sealed(job), self._name, next(self._count))
        self._in_flight.add(future)
        future.add_done_callback(self._in_flight.discard)
        return future

    def _send(self, function, *arguments):
        return self._executor.submit(function, *arguments)

    def end(self):
        for future in tuple(self._in_flight):
            future.cancel()


class _Cluster(_External):
    """The workers of a Dask cluster, which a thread asks for, so that nobody waits for an answer.

    A worker or the scheduler may be gone, or may not answer. What a worker has to compute that is
    silent, another one may compute, too. Dask fetches several results at a time, and all of them
    wait for the silent one among them: what is finished and does not arrive is lost as well.
    """

    def __init__(self, executor, workers):
        super().__init__(executor, workers or (lambda: sum(self._threads.values())))
        self._client: Any = getattr(executor, "_client")  # noqa: B009
        self._scheduler = f"the scheduler {self._client.scheduler.address}"
        self._keys: dict[Future[Chunk], str] = {}
        self._numbers = itertools.count()
        # What the thread finds out.
        self._last_seen: dict[str, tuple[float, float]] = {}  # by address, and when that was new
        self._threads: dict[str, int] = {}  # of workers that answer
        self._silent: list[str] = []  # the others
        self._finished: dict[str, float] = {}  # since when jobs' results could have arrived
        self._lost: set[str] = set()  # keys of jobs whose results do not arrive
        self._answer = 0, time.monotonic()
        self._asked, self._ended = threading.Event(), threading.Event()
        threading.Thread(target=self._ask, daemon=True).start()

    def _ask(self):
        while not self._ended.is_set():
            with suppress(Exception):  # `look` says it when the scheduler is gone
                self._client.sync(self._find)
                self._answer = self._workers() if self._threads else 0, time.monotonic()
                self._asked.set()
            self._ended.wait(_ASK_EVERY)

    async def _find(self):
        from distributed.scheduler import heartbeat_interval

        scheduler, now = self._client.scheduler, time.monotonic()
        workers = (await scheduler.identity())["workers"]
        patience = max(PATIENCE, 10.0 * heartbeat_interval(len(workers)))
        before, self._last_seen = self._last_seen, {}
        for address, worker in workers.items():
            seen = worker["last_seen"]
            is_new = address not in before or before[address][0] != seen
            self._last_seen[address] = (seen, now) if is_new else before[address]
        silent = [each for each, (_, at) in self._last_seen.items() if now - at > patience]
        lost: set[str] = set()
        finished: dict[str, float] = {}
        if silent:
            processing = await scheduler.processing(workers=silent)
            held = await scheduler.has_what(workers=list(workers))
            finished = {k: self._finished.get(k, now) for keys in held.values() for k in keys}
            late = (key for key, since in finished.items() if now - since > patience)
            lost.update(late, *processing.values(), *(held[each] for each in silent))
        self._silent, self._lost, self._finished = silent, lost, finished
        self._threads = {a: each["nthreads"] for a, each in workers.items() if a not in silent}

    def look(self):
        self._asked.wait(max(0.0, self._answer[1] + PATIENCE - time.monotonic()))
        self.blame(None)
        (count, heard), silent, lost = self._answer, self._silent, self._lost
        if time.monotonic() - heard > PATIENCE:
            return self._seen(0, f"no answer from {self._scheduler} for {PATIENCE:g} s: {_GO_ON}")
        text = "" if count else "there is no worker: waiting for one"
        if silent:
            then = "others compute what it has" if count else _GO_ON
            text = f"no answer from {', '.join(silent)} for {PATIENCE:g} s: {then}"
        jobs = frozenset(job for job, key in list(self._keys.items()) if key in lost)
        return self._seen(count, text, jobs)

    def blame(self, error):
        from distributed.comm import CommClosedError

        cut = isinstance(error, CancelledError | CommClosedError)
        if cut or self._client.status != "running":
            raise ConnectionError(f"{self._scheduler} is gone") from error

    def _send(self, function, *arguments):
        key = f"linrep-{self._name}-{next(self._numbers)}"
        apart = {"workers": list(self._threads), "allow_other_workers": True}
        try:
            future = self._executor.submit(
                function, *arguments, key=key, **(apart if self._silent else {})
            )
        except Exception as error:
            self.blame(error)
            raise
        self._keys[future] = key
        future.add_done_callback(lambda done: self._keys.pop(done, None))
        return future

    def end(self):
        self._ended.set()
        super().end()
