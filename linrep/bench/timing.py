"""Contenders timed by turns."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

# Threads of BLAS and XLA spin for a while after a call and would take a core from whoever is next.
_SETTLE = 0.03


def take_turns(
    contenders: Mapping[Any, Callable[[], Any]], repetitions: int
) -> dict[Any, np.ndarray]:
    """Return every contender's times, those of one index taken right after one another.

    A call that is not timed goes before each, so that all find caches and clocks as in a long run.
    """
    times = {name: np.empty(repetitions) for name in contenders}
    for repetition in range(repetitions):
        for name, call in contenders.items():
            time.sleep(_SETTLE)
            call()
            began = time.perf_counter()
            call()
            times[name][repetition] = time.perf_counter() - began
    return times
