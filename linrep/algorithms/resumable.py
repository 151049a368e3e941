"""Saving where a run is, and going back there: written once, for state of arrays and streams."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator


class Resumable:
    """What saves and restores its state: the attributes that its class and those above name.

    Attributes
    ----------
    buffers : tuple of str
        Arrays that rounds write into, or tuples of them: restored in place, since kernels and their
        workspaces hold them.
    kept : tuple of str
        Attributes that rounds replace, such as numbers and new arrays; generators; others of this
        kind; and tuples or lists of these.
    """

    buffers: ClassVar[tuple[str, ...]] = ()
    kept: ClassVar[tuple[str, ...]] = ()

    def save(self) -> tuple[Any, ...]:
        """Return what `restore` needs to go on from here, as nested tuples."""
        arrays = (_copied(getattr(self, name)) for name in self._names("buffers"))
        return (*arrays, *(_saved(getattr(self, name)) for name in self._names("kept")))

    def restore(self, saved: tuple[Any, ...]) -> None:
        """Go to where `save` was called, random streams included."""
        buffers, replaced = self._names("buffers"), self._names("kept")
        for name, array in zip(buffers, saved, strict=False):
            _fill(getattr(self, name), array)
        for name, value in zip(replaced, saved[len(buffers) :], strict=True):
            setattr(self, name, _restored(getattr(self, name), value))

    @classmethod
    def _names(cls, kind):
        return [name for each in reversed(cls.__mro__) for name in vars(each).get(kind, ())]


def _copied(value):
    return value.copy() if isinstance(value, np.ndarray) else tuple(map(_copied, value or ()))


def _fill(buffer, saved):
    if isinstance(buffer, np.ndarray):
        buffer[...] = saved
    else:
        for each, array in zip(buffer or (), saved, strict=True):
            _fill(each, array)


def _saved(value):
    if isinstance(value, Generator):
        return value.bit_generator.state
    if isinstance(value, Resumable):
        return value.save()
    return tuple(map(_saved, value)) if isinstance(value, tuple | list) else value


def _restored(value, saved):
    """Return what an attribute is to be where this was saved of it."""
    if isinstance(value, Generator):
        value.bit_generator.state = saved
        return value
    if isinstance(value, Resumable):
        value.restore(saved)
        return value
    if isinstance(value, tuple | list) and isinstance(saved, tuple) and len(value) == len(saved):
        parts = [_restored(*pair) for pair in zip(value, saved, strict=True)]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    return saved
