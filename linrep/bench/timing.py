"""Contenders timed by turns, whether they agree, and the machine they run on."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from importlib import import_module, metadata
from typing import Any

import numpy as np

from linrep.kernels._jit import kernel

#: Largest difference allowed between the contenders' results, in absolute terms.
TOLERANCE = 1e-10
#: Read so many at least, for the speed of reading.
BYTES_PER_READ = 1e8

# Threads of BLAS and XLA spin for a while after a call and would take a core from whoever is next.
_SETTLE = 0.03


def take_turns(
    contenders: Mapping[Any, Callable[[], Any]], repetitions: int, *, warm: bool = True
) -> dict[Any, np.ndarray]:
    """Return every contender's times, those of one index taken right after one another.

    A call that is not timed goes before each, so that all find caches and clocks as in a long run;
    not before calls of seconds, which need none (`warm` false).
    """
    times = {name: np.empty(repetitions) for name in contenders}
    for repetition in range(repetitions):
        for name, call in contenders.items():
            time.sleep(_SETTLE)
            if warm:
                call()
            began = time.perf_counter()
            call()
            times[name][repetition] = time.perf_counter() - began
    return times


def per_unit(
    times: Mapping[Any, np.ndarray], work: float, reference: Any = "linrep"
) -> dict[str, float]:
    """Return the median times of linrep, NumPy and JAX per unit of work, and paired ratios.

    ``linrep`` is the contender `reference`; ``numpy``, ``jax``, ``numpy_ratio`` and ``jax_ratio``
    are NaN for one that did not take part.
    """
    own = times[reference]
    found = {"linrep": float(np.median(own)) / work}
    for other in ("numpy", "jax"):
        took = times.get(other, np.full_like(own, np.nan))
        found[other] = float(np.median(took)) / work
        found[f"{other}_ratio"] = float(np.median(took / own))
    return found


def largest_difference(results) -> float:
    """Return the largest absolute difference from the first result, NaN if anything is NaN."""
    first, *others = results
    differences = [
        np.abs(part - expected).max()
        for other in others
        for part, expected in zip(other, first, strict=True)
    ]
    return float(np.max(differences))


@kernel
def sum_up(x, times):
    """Return the sum of a vector's numbers, read so many times."""
    total = 0.0
    for _ in range(times):
        for index in range(x.shape[0]):
            total += x[index]
    return total


def one_thread():
    """Return a context in which BLAS uses one thread, where threadpoolctl can see to that."""
    try:
        return import_module("threadpoolctl").threadpool_limits(1)
    except ImportError:
        return nullcontext()


def has_jax() -> bool:
    """Tell whether JAX can be imported."""
    try:
        import jax  # noqa: F401
    except ImportError:
        return False
    return True


def describe_packages(*names: str) -> str:
    """Return a line about processors and versions."""
    versions = [f"{name} {metadata.version(name)}" for name in names]
    versions.insert(0, f"Python {platform.python_version()}")
    return f"{platform.machine()}, {os.cpu_count()} processors; {', '.join(versions)}"


def describe_machine() -> list[str]:
    """Return lines about processors, versions, and threads of BLAS."""
    lines = [describe_packages("numpy", "scipy", "numba", *(["jax"] if has_jax() else []))]
    try:
        pools = import_module("threadpoolctl").threadpool_info()
    except ImportError:
        pools = []
    threads = [pool["num_threads"] for pool in pools if pool["user_api"] == "blas"]
    if threads:
        lines.append(f"BLAS may use {max(threads)} thread(s)")
    if not has_jax():
        lines.append("JAX was not found and is left out; pip install 'linrep[bench]' brings it")
    return lines
