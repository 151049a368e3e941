"""What comes one by one, written several at a time, and all of it whatever ends the work."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

Item = TypeVar("Item")

_SHARE = 0.1  # of the time, which writing takes at most


class Batches(Generic[Item]):
    """Items by name that are written together, by a thread: the quicker that is, the sooner.

    Parameters
    ----------
    write : callable
        Is given a dict of those that have come since the last time, and puts them where they
        belong.

    Examples
    --------
    >>> from linrep._lib.batches import Batches
    >>> with Batches(print) as found:
    ...     found.add("a", 1)
    {'a': 1}
    """

    def __init__(self, write: Callable[[dict[str, Item]], Any]):
        self._write = write
        self._waiting: dict[str, Item] = {}
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None
        self._pause = 0.0  # seconds between two times of writing
        self.written: set[str] = set()

    def add(self, name: str, item: Item) -> None:
        """Take an item; it is written soon, whatever the caller does meanwhile."""
        with self._lock:
            self._waiting[name] = item
            if self._timer is None:
                self._timer = threading.Timer(self._pause, self._write_aside)
                self._timer.daemon = True
                self._timer.start()

    def _write_aside(self):
        # What cannot be written is tried again at the end, where somebody hears of it.
        with self._lock, suppress(Exception):
            self._timer = None
            self._write_all()

    def _write_all(self):
        if not self._waiting:
            return
        began = time.monotonic()
        try:
            self._write_some(dict(self._waiting))
        except Exception:
            if len(self._waiting) == 1:
                raise
            self._write_one_by_one()
        finally:
            self._pause = (time.monotonic() - began) / _SHARE

    def _write_one_by_one(self):
        """Keep back no item for another that cannot be written, such as one that is refused."""
        errors = []
        for name, item in list(self._waiting.items()):
            try:
                self._write_some({name: item})
            except Exception as error:
                errors.append(error)
        if errors:
            raise errors[0]

    def _write_some(self, items):
        self._write(items)
        self.written |= items.keys()
        for name in items:
            del self._waiting[name]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
            self._write_all()
