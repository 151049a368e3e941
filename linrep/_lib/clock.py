"""Wall time of computing, without that of compiling."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager


class Account:
    """Seconds during which a thread was compiling."""

    def __init__(self) -> None:
        self._compiling, self._since, self._seconds = 0, 0.0, 0.0

    def seconds(self) -> float:
        """Return the seconds up to now."""
        return self._seconds + (time.perf_counter() - self._since if self._compiling else 0.0)

    @contextmanager
    def compiling(self) -> Iterator[None]:
        """Count what is done in the block, once, whatever is nested in it."""
        if not self._compiling:
            self._since = time.perf_counter()
        self._compiling += 1
        try:
            yield
        finally:
            self._compiling -= 1
            if not self._compiling:
                self._seconds += time.perf_counter() - self._since


_thread = threading.local()


def account() -> Account:
    """Return this thread's account."""
    if not hasattr(_thread, "account"):
        _thread.account = Account()
    return _thread.account


class Stopwatch:
    """Seconds since it was made, less those in which its thread compiled."""

    def __init__(self) -> None:
        self._account = account()
        self._began = time.perf_counter() - self._account.seconds()

    def seconds(self) -> float:
        """Return the seconds up to now."""
        return time.perf_counter() - self._account.seconds() - self._began
