"""The start: how long a fresh process takes to import linrep and to make its first call."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from linrep.bench.timing import Record, make_records

_CASE = "100 clients, 10 rounds"


def measure(repetitions: int = 15) -> Iterator[list[Record]]:
    """Time fresh interpreters with compiled kernels on disk, and one without.

    Yields
    ------
    list of Record
        Of ``import linrep``; of what comes before the first call of
        `linrep.fedrep`, numba and all, and of that call; and of the first call of a process that
        finds no compiled kernels.
    """
    for code in (_IMPORT, _FIRST_CALL):  # fills the caches
        _start(code)
    imports, loads, calls = np.empty((3, repetitions))
    for number in range(repetitions):
        (imports[number],) = _start(_IMPORT)
        loads[number], calls[number] = _start(_FIRST_CALL)
    table = "A fresh process, compiled kernels on disk"
    yield make_records(table, "alone", {"import linrep": imports})
    yield make_records(table, "with numba and SciPy", {"linrep.fedrep loaded": loads})
    yield make_records(table, _CASE, {"first call": calls})
    with tempfile.TemporaryDirectory() as empty:
        _, compiling = _start(_FIRST_CALL, NUMBA_CACHE_DIR=empty)
    times = {"first call": np.array([compiling])}
    yield make_records("A fresh process, nothing compiled", _CASE, times)


def _start(code: str, **variables: str) -> list[float]:
    """Return the numbers that a fresh interpreter prints."""
    paths = [str(Path(__file__).resolve().parents[2]), os.environ.get("PYTHONPATH")]
    path = os.pathsep.join(path for path in paths if path)
    environment = os.environ | {"PYTHONPATH": path} | variables
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, check=True, capture_output=True
    )
    return [float(number) for number in done.stdout.split()]


_IMPORT = """
import time
began = time.perf_counter()
import linrep
print(time.perf_counter() - began)
"""
_FIRST_CALL = """
import time
began = time.perf_counter()
import linrep
linrep.fedrep
loaded = time.perf_counter()
truth = linrep.SharedRepresentation.random(n=100, d=10, k=2, rng=0)
ready = time.perf_counter()
linrep.fedrep(truth, m=5, rounds=10, participation=0.1, rng=1)
print(loaded - began, time.perf_counter() - ready)
"""
