"""Threads of linear algebra, where threadpoolctl is installed: it comes with an extra."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any


def one_thread(*, known: bool = False) -> AbstractContextManager[Any]:
    """Let BLAS use one thread, from now on or, as a context, within it.

    Matrices are small: sharing them takes longer than multiplying them, and sums must not depend
    on the number of cores. Without threadpoolctl nothing changes. If only libraries are meant that
    were known when they were first looked for, there is no search through all of them, which takes
    longer than a small system.
    """
    controller = _known() if known else _load_controller()
    return nullcontext() if controller is None else controller.limit(limits=1)


def _load_controller():
    try:
        from threadpoolctl import ThreadpoolController
    except ImportError:
        return None
    return ThreadpoolController()


_known = cache(_load_controller)
