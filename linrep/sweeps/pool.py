"""Worker processes that leave decisions to the process they belong to, and end with it."""

from __future__ import annotations

import os
import signal
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import connection, get_context, parent_process
from threading import Thread


def process_pool(workers: int) -> ProcessPoolExecutor:
    """Return an executor of processes; spawned, as a fork of a process with threads may hang."""
    return ProcessPoolExecutor(workers, get_context("spawn"), _begin)


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
