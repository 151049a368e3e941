"""Worker processes that leave decisions to the process they belong to, and end with it."""

from __future__ import annotations

import os
import signal
from collections import deque
from collections.abc import Iterator, Mapping
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    Future,
    ProcessPoolExecutor,
    wait,
)
from contextlib import contextmanager
from multiprocessing import active_children, connection, get_context, parent_process
from threading import Thread
from typing import Any


def process_pool(workers: int) -> ProcessPoolExecutor:
    """Return an executor of processes; spawned, as a fork of a process with threads may hang."""
    return ProcessPoolExecutor(workers, get_context("spawn"), _begin)


class WorkerEnded(Exception):
    """A job has ended the process that it ran in."""

    def __init__(self):
        super().__init__("its process ended while it ran, as when memory runs out")


def completed(
    pool: ProcessPoolExecutor, jobs: Mapping[str, tuple], workers: int
) -> Iterator[tuple[str, Any]]:
    """Yield names and what they return of jobs, each a function and its arguments, as they end.

    No more are handed to the pool than it runs at once: what it has cannot be taken back. If a
    process ends, those that ran then are run again, each in a process of its own: a job that ends
    this one, too, has a :class:`WorkerEnded` in place of what it returns.
    """
    waiting = deque(jobs)
    flying: dict[Future, str] = {}
    while waiting or flying:
        try:
            while waiting and len(flying) < workers:
                future = pool.submit(*jobs[waiting[0]])
                flying[future] = waiting.popleft()
            finished = {each: each.result() for each in _wait(flying)}
        except BrokenExecutor:
            break
        for future, result in finished.items():
            yield flying.pop(future), result
    else:
        return
    for name in flying.values():
        yield name, _alone(jobs[name])
    with _another(workers) as another:
        yield from completed(another, {name: jobs[name] for name in waiting}, workers)


def finish(pool: ProcessPoolExecutor) -> None:
    """Wait for the jobs that are running; a second interrupt ends them."""
    try:
        pool.shutdown(cancel_futures=True)
    except KeyboardInterrupt:
        terminate()
        raise


@contextmanager
def _another(workers):
    pool = process_pool(workers)
    try:
        yield pool
    finally:
        finish(pool)


def _wait(flying):
    return wait(flying, return_when=FIRST_COMPLETED).done


def _alone(job):
    with _another(1) as pool:
        pool.submit(int).result()  # a process that cannot even begin is no fault of the job
        try:
            return pool.submit(*job).result()
        except BrokenExecutor:
            return WorkerEnded()


def terminate() -> None:
    """End the processes of all pools, whatever they do."""
    for process in active_children():
        process.terminate()


def _begin():
    # Ctrl-C reaches all processes of a terminal; the parent alone decides.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent():
    """End when the parent is gone, which, if killed, could not say that there is nothing left."""
    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)
