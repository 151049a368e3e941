"""Frozen dataclasses that read their own fields while they are made."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from linrep._lib import validation as check

Reader = Callable[[str, Any], Any]

positive: Reader = partial(check.real, above=0.0)
not_negative: Reader = partial(check.real, minimum=0.0)
#: Not so large that its powers are infinite.
moderate: Reader = partial(check.real, minimum=0.0, maximum=check.LARGEST)
at_least_one: Reader = partial(check.integer, minimum=1)


def one_of(allowed: Iterable[str]) -> Reader:
    """Return what reads one of these names."""
    return partial(check.choice, allowed=tuple(allowed))


def step_count(name: str, value: Any) -> int:
    """Return a number of local steps."""
    return check.local_steps(value)


def read(instance: Any, **readers: Reader) -> None:
    """Replace fields by what `reader(name, value)` returns of them; None stays what it is."""
    for name, reader in readers.items():
        value = getattr(instance, name)
        if value is not None:
            keep(instance, **{name: reader(name, value)})


def keep(instance: Any, **values: Any) -> None:
    """Set fields of a frozen dataclass, while it is made."""
    for name, value in values.items():
        object.__setattr__(instance, name, value)
