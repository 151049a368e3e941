"""The start: how long a fresh process takes to import linrep and to make its first call."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np


def run_benchmark(echo: Callable[[str], None]) -> None:
    """Run the benchmark and print it."""
    result = bench_startup()
    echo("Fresh process, compiled kernels on disk")
    echo(f"  import linrep {1e3 * result['import']:.1f} ms beyond a bare interpreter")
    echo(
        f"  linrep.fedrep loaded after {result['load']:.2f} s, "
        f"its first call (10 rounds) {1e3 * result['first_call']:.1f} ms"
    )


def bench_startup(repetitions: int = 15) -> dict[str, float]:
    """Time fresh interpreters; the disk cache of compiled kernels is warm.

    Returns
    -------
    dict
        Seconds, medians. ``import``: of ``import linrep``, beyond a bare interpreter;
        ``load``: until ``linrep.fedrep`` is loaded, with numba and all, inside the process;
        ``first_call``: of the first call of `linrep.fedrep`, on 100 clients.
    """

    def start(code):
        began = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-c", code], env=environment, check=True, capture_output=True
        )
        return time.perf_counter() - began, done.stdout

    paths = [str(Path(__file__).resolve().parents[2]), os.environ.get("PYTHONPATH")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in paths if path)}
    for code in ("import linrep", _FIRST_CALL):  # fills the caches
        start(code)
    differences, inside = [], []
    for _ in range(repetitions):
        bare, _output = start("pass")
        differences.append(start("import linrep")[0] - bare)
        inside.append([float(value) for value in start(_FIRST_CALL)[1].split()])
    load, first_call = np.median(inside, axis=0)
    return {
        "import": float(np.median(differences)),
        "load": float(load),
        "first_call": float(first_call),
    }


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
