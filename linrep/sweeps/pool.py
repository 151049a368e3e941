"""Worker processes that leave decisions to the process they belong to, and end with it."""

from __future__ import annotations

import os
import signal
from collections import deque
from collections.abc import Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from multiprocessing import active_children, connection, get_context, parent_process
from threading import Thread
from typing import Any


def process_pool(workers: int) -> ProcessPoolExecutor:
    """Return an executor of processes; spawned, as a fork of a process with threads may hang."""
    return ProcessPoolExecutor(workers, get_context("spawn"), _begin)


def completed(
    pool: ProcessPoolExecutor, jobs: Mapping[str, tuple], workers: int
) -> Iterator[tuple[str, Any]]:
    """Yield names and what they return of jobs, each a function and its arguments, as they end.

    No more are handed to the pool than it runs at once: what it has cannot be taken back.
    """
    waiting = deque(jobs.items())
    flying: dict[Future, str] = {}
    while waiting or flying:
        while waiting and len(flying) < workers:
            name, job = waiting.popleft()
            flying[pool.submit(*job)] = name
        for future in wait(flying, return_when=FIRST_COMPLETED).done:
            yield flying.pop(future), future.result()


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
