"""Wall time of computing, without that of compiling."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

_thread = threading.local()


class Stopwatch:
    """Seconds since it was made, less those that this thread spent under :func:`compiling`."""

    def __init__(self) -> None:
        self._began = time.perf_counter()
        self._compiled = _compiled()

    def seconds(self) -> float:
        """Return the seconds up to now."""
        return time.perf_counter() - self._began - (_compiled() - self._compiled)


@contextmanager
def compiling() -> Iterator[None]:
    """Count what is done in the block as compiling, in this thread; blocks may be nested."""
    inside = getattr(_thread, "inside", False)
    began = time.perf_counter()
    _thread.inside = True
    try:
        yield
    finally:
        _thread.inside = inside
        if not inside:
            _thread.compiled = _compiled() + time.perf_counter() - began


def _compiled() -> float:
    return getattr(_thread, "compiled", 0.0)
