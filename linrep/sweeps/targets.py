"""Functions named by a text: ``module:name`` or ``file.py:name``."""

from __future__ import annotations

import os
import runpy
import sys
from collections.abc import Callable
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import MethodType
from typing import Any


def load(reference: str) -> Callable[..., Any]:
    """Return the function that ``module:name`` or ``file.py:name`` stands for.

    Modules are looked for in the current folder, too.

    Raises
    ------
    ValueError
        If there is none.
    """
    home, colon, name = reference.rpartition(":")
    if not colon or not home or not name:
        raise ValueError(f"a function is given as module:name or file.py:name, got {reference!r}")
    if home.endswith(".py"):
        if not Path(home).is_file():
            raise ValueError(f"no such file: {home}")
        folder = str(Path(home).resolve().parent)
        if folder not in sys.path:  # as for a script that is run
            sys.path.insert(0, folder)
        with _loading(home):
            found = runpy.run_path(home).get(name)
    else:
        with _loading(home):
            found = _find(home, name)
    if not callable(found):
        raise ValueError(f"{home} has no function {name}")
    return found


def reference(function: Any) -> str | None:
    """Return the text from which `load` finds a function again, None if there is none."""
    name = getattr(function, "__qualname__", "<")
    module = getattr(function, "__module__", None)
    if "<" in name or module is None or isinstance(function, MethodType):
        return None
    home = getattr(sys.modules.get(module), "__file__", None)
    if module == "__main__" or module not in sys.modules:  # a script, also one run by runpy
        home = home or getattr(getattr(function, "__code__", None), "co_filename", None)
        return f"{os.path.abspath(home)}:{name}" if home and os.path.isfile(home) else None
    return f"{module}:{name}"


@contextmanager
def _loading(home):
    """Say in one line what kept a file or module from being loaded."""
    try:
        yield
    except (Exception, SystemExit) as error:
        if isinstance(error, ModuleNotFoundError) and error.name is not None:
            if f"{home}.".startswith(f"{error.name}."):
                raise ValueError(f"no module {home!r}") from None
            raise ValueError(f"{home} needs the module {error.name}") from None
        message = " ".join(str(error).split())
        raise ValueError(f"{home} cannot be loaded: {type(error).__name__}: {message}") from error


def _find(module, name):
    folder = os.getcwd()
    if folder not in sys.path and "" not in sys.path:
        sys.path.insert(0, folder)
    found: Any = import_module(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return found
