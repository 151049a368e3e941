"""Dask clusters, of which a worker or the scheduler may be gone, or may not answer."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable
from concurrent.futures import CancelledError, Executor, Future
from contextlib import suppress
from typing import Any

from linrep.sweeps.chunks import Chunk
from linrep.sweeps.crews import ExternalExecutor, Seen

#: Seconds without an answer after which somebody is silent.
PATIENCE = 30.0
_ASK_EVERY = 1.0  # seconds
_GO_ON = "Ctrl-C ends this, and the same call goes on from there"


def is_dask(executor: Executor | None) -> bool:
    """Tell whether an executor is Dask's."""
    client = getattr(executor, "_client", None)
    return type(client).__module__.partition(".")[0] == "distributed"


class Cluster(ExternalExecutor):
    """The workers of a Dask cluster, which a thread asks for, so that nobody waits for an answer.

    What a worker has to compute that is silent, another one may compute, too.

    Parameters
    ----------
    executor : Executor
        Of a client.
    workers : callable, optional
        Returns how many chunks can be computed at a time; by default one for each thread.
    """

    def __init__(self, executor: Executor, workers: Callable[[], int] | None):
        super().__init__(executor, workers or (lambda: sum(self._threads.values())))
        self._client: Any = getattr(executor, "_client")  # noqa: B009
        self._scheduler = f"the scheduler {self._client.scheduler.address}"
        self._keys: dict[Future[Chunk], str] = {}
        self._numbers = itertools.count()
        # What the thread finds out.
        self._last_seen: dict[str, tuple[float, float]] = {}  # by address, and when that was new
        self._threads: dict[str, int] = {}  # of workers that answer
        self._silent: dict[str, set[str]] = {}  # keys of the jobs of others
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
        keys: dict[str, set[str]] = {address: set() for address in silent}
        for find in (scheduler.processing, scheduler.has_what) if silent else ():
            for address, found in (await find(workers=silent)).items():
                keys[address].update(found)
        self._silent = keys
        self._threads = {a: each["nthreads"] for a, each in workers.items() if a not in keys}

    def look(self) -> Seen:
        """Return how many workers answer, and which jobs the others have."""
        self._asked.wait(max(0.0, self._answer[1] + PATIENCE - time.monotonic()))
        self.blame(None)
        (count, heard), silent = self._answer, self._silent
        if time.monotonic() - heard > PATIENCE:
            return self._seen(0, f"no answer from {self._scheduler} for {PATIENCE:g} s: {_GO_ON}")
        text = "" if count else "there is no worker: waiting for one"
        if silent:
            then = "others compute what it has" if count else _GO_ON
            text = f"no answer from {', '.join(silent)} for {PATIENCE:g} s: {then}"
        keys = set().union(*silent.values())
        jobs = frozenset(job for job, key in list(self._keys.items()) if key in keys)
        return self._seen(count, text, jobs)

    def blame(self, error: BaseException | None) -> None:
        """Raise a ConnectionError if the scheduler is gone, as an error may say."""
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

    def end(self) -> None:
        """Stop asking and waiting, and cancel what has not begun."""
        self._ended.set()
        super().end()
