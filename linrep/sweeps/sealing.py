"""Functions as bytes that another process can open, on whatever machine, their files included."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import cloudpickle

from linrep.sweeps.targets import Source, add_folder, install, own_folders, own_sources


@dataclass(frozen=True)
class Sealed:
    """A function, and what a process needs to open it.

    Attributes
    ----------
    content : bytes
        The function: of a module by name, of a notebook or a script by value.
    folders : tuple of str
        Where modules are imported from.
    sources : tuple of Source
        The files that functions have been loaded from, for machines that do not have them.
    """

    content: bytes
    folders: tuple[str, ...]
    sources: tuple[Source, ...]


def seal(function: Callable[..., Any]) -> Sealed:
    """Return a function for other processes."""
    return Sealed(cloudpickle.dumps(function), tuple(own_folders()), tuple(own_sources()))


def unseal(sealed: Sealed) -> Callable[..., Any]:
    """Return the function; makes the modules that it needs."""
    for folder in reversed(sealed.folders):
        if folder not in sys.path:
            add_folder(folder)
    for source in sealed.sources:
        install(source)
    return pickle.loads(sealed.content)


def is_portable(function: Callable[..., Any]) -> bool:
    """Tell whether other processes can be handed a function."""
    try:
        check_portable(function)
    except ValueError:
        return False
    return True


def check_portable(function: Callable[..., Any]) -> None:
    """Raise a ValueError unless other processes can be handed a function."""
    try:
        cloudpickle.dumps(function)
    except Exception as error:
        raise ValueError(
            f"function cannot be handed to other processes, use threads ({error})"
        ) from None
