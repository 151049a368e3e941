"""The start: how long a fresh process takes to import linrep and to make its first call."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from linrep.bench.timing import Record, compared

_CASE = "100 clients, 10 rounds"


def measure(repetitions: int = 15) -> Iterator[list[Record]]:
    """Time fresh interpreters with compiled kernels on disk, and one without.

    Yields
    ------
    list of Record
        Of ``import linrep``, beyond a bare interpreter; of what comes before the first call of
        `linrep.fedrep`, numba and all, and of that call; and of the first call of a process that
        finds no compiled kernels.
    """
    for code in ("import linrep", _FIRST_CALL):  # fills the caches
        _start(code)
    imports, loads, calls = np.empty((3, repetitions))
    for place in range(repetitions):
        bare, _ = _start("pass")
        imports[place] = _start("import linrep")[0] - bare
        loads[place], calls[place] = map(float, _start(_FIRST_CALL)[1].split())
    table = "A fresh process, compiled kernels on disk"
    yield compared(table, "beyond a bare interpreter", {"import linrep": imports})
    yield compared(table, "with numba and SciPy", {"linrep.fedrep loaded": loads})
    yield compared(table, _CASE, {"first call": calls})
    with tempfile.TemporaryDirectory() as empty:
        _, found = _start(_FIRST_CALL, NUMBA_CACHE_DIR=empty)
    compiling = np.array([float(found.split()[1])])
    yield compared("A fresh process, nothing compiled", _CASE, {"first call": compiling})


def _start(code: str, **variables: str) -> tuple[float, bytes]:
    """Return the seconds that a fresh interpreter takes, and what it prints."""
    paths = [str(Path(__file__).resolve().parents[2]), os.environ.get("PYTHONPATH")]
    path = os.pathsep.join(path for path in paths if path)
    environment = os.environ | {"PYTHONPATH": path} | variables
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, check=True, capture_output=True
    )
    return time.perf_counter() - began, done.stdout


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
