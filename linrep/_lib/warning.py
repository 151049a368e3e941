"""What linrep warns of: at the line that called it, or collected where many runs are under way."""

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class RunWarning(UserWarning):
    """A run on a user's own data went wrong, or its data do not determine all that it learns.

    Its text has a remedy for each; ``trace.notes`` keeps them. In sweeps and figures the column
    ``notes`` of the rows says in a few words what there was, and one such warning how often.
    """


_COLLECTED: ContextVar[list[str] | None] = ContextVar("collected", default=None)


@contextmanager
def collected() -> Iterator[list[str]]:
    """Collect what this thread would warn of, in a few words each, and warn of nothing."""
    texts: list[str] = []
    token = _COLLECTED.set(texts)
    try:
        yield texts
    finally:
        _COLLECTED.reset(token)


def is_collecting() -> bool:
    """Tell whether warnings are being collected."""
    return _COLLECTED.get() is not None


def warn(message: str | Warning, category: type[Warning] = UserWarning, *kinds: str) -> None:
    """Warn of something, at the line outside of linrep that led here.

    `kinds` say the same in a few words without numbers, by which it can be counted.
    """
    texts = _COLLECTED.get()
    if texts is not None:
        texts += kinds or (str(message),)
        return
    depth = 1
    while sys._getframe(depth).f_globals.get("__name__", "").startswith("linrep."):
        depth += 1
    warnings.warn(message, category, stacklevel=depth + 1)
