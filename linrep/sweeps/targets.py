"""Functions named by a text, ``module:name`` or ``file.py:name``, or sent to another process."""

from __future__ import annotations

import os
import pickle
import runpy
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import PathFinder
from importlib.util import find_spec, spec_from_loader
from pathlib import Path
from types import MethodType, ModuleType
from typing import Any

import cloudpickle

from linrep._lib.arguments import checked
from linrep._lib.fingerprint import is_installed

#: What may be loaded as the caller has named it, by its names in stored data; None is anything.
_allowed: ContextVar[dict[str, str] | None] = ContextVar("_allowed", default=None)


class Untrusted(ValueError):
    """Stored data name code that the caller has not named."""


@contextmanager
def loading_only(allowed: Iterable[str]) -> Iterator[None]:
    """Let `load` take the references that are allowed, and nothing else, installed or not.

    For references that come from a file: whoever wrote it would choose what runs here otherwise.
    Where one is allowed, what the caller has named is loaded.
    """
    # A file that has been loaded is a module, by which cells name what is in it.
    token = _allowed.set({name: each for each in allowed for name in (_full(each), label(each))})
    try:
        yield
    finally:
        _allowed.reset(token)


def _full(reference):
    """Return a reference with the whole way to its file."""
    home, _, name = reference.rpartition(":")
    return f"{os.path.abspath(home)}:{name}" if home.endswith(".py") else reference


def load(reference: str) -> Callable[..., Any]:
    """Return the function that ``module:name`` or ``file.py:name`` stands for.

    Modules are looked for in the current folder, too.

    Parameters
    ----------
    reference : str

    Raises
    ------
    Untrusted
        If it may not be loaded; see `loading_only`.
    ValueError
        If there is none.
    """
    home, colon, name = reference.rpartition(":")
    if not colon or not home or not name:
        raise ValueError(f"a function is given as module:name or file.py:name, got {reference!r}")
    allowed = _allowed.get()
    if allowed is not None:
        if _full(reference) not in allowed:
            raise Untrusted(
                f"{reference!r} is named by a file and could do anything here; if you trust it, "
                "name it in allow (--allow)"
            )
        home, _, name = allowed[_full(reference)].rpartition(":")
    if home.endswith(".py"):
        target = load_file(home).get(name)
    else:
        with _explain_failure(home, name):
            target = _find(home, name)
    if not callable(target):
        raise ValueError(f"{home} has no function or class {name}")
    return target


def reference(function: Any) -> str | None:
    """Return the text from which `load` finds a function again, None if there is none."""
    name = getattr(function, "__qualname__", "<")
    module = getattr(function, "__module__", None)
    if "<" in name or module is None or isinstance(function, MethodType):
        return None
    home = getattr(sys.modules.get(module), "__file__", None)
    # A script, also one run by runpy, or a file that load has run.
    if getattr(sys.modules.get(module), "__spec__", None) is None or module == "__main__":
        home = home or getattr(getattr(function, "__code__", None), "co_filename", None)
        return f"{os.path.abspath(home)}:{name}" if home and os.path.isfile(home) else None
    return f"{module}:{name}"


@contextmanager
def _explain_failure(home, name="NAME"):
    """Say in one line what kept a file or module from being loaded."""
    try:
        yield
    except (Exception, SystemExit) as error:
        if isinstance(error, ModuleNotFoundError) and error.name is not None:
            if f"{home}.".startswith(f"{error.name}."):
                hint = "" if "." in home else f"; a file is named as FOLDER/{home}.py:{name}"
                raise ValueError(f"no module {home!r}{hint}") from None
            raise ValueError(f"{home} needs the module {error.name}") from None
        raise ValueError(f"{home} cannot be loaded: {what_raised(error)}") from error


def what_raised(error: BaseException) -> str:
    """Return in one line what was raised while something was loaded, and by which line of whose.

    Parameters
    ----------
    error : BaseException
        Lines of installed packages are passed over.
    """
    said = f"{type(error).__name__}: {' '.join(str(error).split())}"
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if os.path.isfile(frame.filename) and not is_installed(frame.filename):
            return f"{said} ({os.path.basename(frame.filename)}, line {frame.lineno})"
    return said


def label(reference: str) -> str:
    """Return a reference without the way to its file: ``path/file.py:name`` as ``file:name``.

    Parameters
    ----------
    reference : str
        ``module:name`` or ``file.py:name``.
    """
    home, _, name = reference.rpartition(":")
    return f"{Path(home).stem}:{name}" if home.endswith(".py") else reference


def _add_folder(folder):
    if folder not in sys.path:
        sys.path.insert(0, folder)


def load_file(path: str | Path) -> dict[str, Any]:
    """Run a Python file and return what it defines; what it raises comes as a ValueError."""
    path = Path(path)
    if not path.is_file():
        raise ValueError(f"no such file: {path}")
    _add_folder(str(path.resolve().parent))  # as for a script that is run
    _loaded.add(str(path.resolve().parent))
    with _explain_failure(str(path)):
        return _run_file(path)


@dataclass(frozen=True)
class Source:
    """A module that has been loaded from a file, with its text."""

    name: str
    path: str
    text: bytes


#: The folders of files that have been loaded: modules beside these belong to them.
_loaded: set[str] = set()


def own_sources() -> list[Source]:
    """Return the modules beside the files that have been loaded, for machines without them."""
    sources = []
    for name, module in tuple(sys.modules.items()):
        home = getattr(module, "__file__", None)
        if home and "." not in name and name != "__main__" and os.path.dirname(home) in _loaded:
            with suppress(OSError):
                sources.append(Source(name, home, Path(home).read_bytes()))
    return sources


def _install(source):
    """Make a module of a source, unless there is one of this name."""
    if source.name in sys.modules:
        return
    with suppress(ImportError, ValueError):
        if find_spec(source.name) is not None:
            return
    finder = _Finder(source)
    sys.meta_path.append(finder)


class _Finder(Loader, MetaPathFinder):
    """Finds one module, whose text it has."""

    def __init__(self, source):
        self._source = source

    def find_spec(self, name, path=None, target=None):
        if name == self._source.name:
            return spec_from_loader(name, self, origin=self._source.path)
        return None

    def exec_module(self, module):
        module.__file__ = self._source.path
        exec(compile(self._source.text, self._source.path, "exec"), module.__dict__)


def own_folders() -> list[str]:
    """Return the folders that modules are imported from, except those of installed packages.

    Workers need them, and may have an installation of their own.
    """
    folders = dict.fromkeys(map(os.path.abspath, sys.path))  # "" is the current folder
    return [folder for folder in folders if not is_installed(os.path.join(folder, ""))]


def _run_file(path):
    """Run the file as the module of its name, which other processes can import.

    Unless that name is another module's: then they cannot.
    """
    path = path.resolve()
    other = sys.modules.get(path.stem)
    if other is None:
        spec = find_spec(path.stem) if path.stem.isidentifier() else None
        home = spec.origin if spec else None
    else:
        home = getattr(other, "__file__", None)
    if home is None or Path(home).resolve() != path:
        return runpy.run_path(str(path))
    module = ModuleType(path.stem)
    module.__file__ = str(path)
    sys.modules[path.stem] = module
    exec(compile(path.read_bytes(), path, "exec"), module.__dict__)
    return module.__dict__


def _find(module, name):
    first, here = module.partition(".")[0], os.getcwd()
    # For a module that is there and not loaded: what else the folder has replaces nothing.
    if "" not in sys.path and first not in sys.modules and PathFinder.find_spec(first, [here]):
        _add_folder(here)
    item: Any = import_module(module)
    home = getattr(item, "__file__", None)
    if home and not is_installed(home):
        _loaded.add(os.path.dirname(home))
    for part in name.split("."):
        item = getattr(item, part, None)
    return item


@dataclass(frozen=True)
class Sealed:
    """A function, and what a process needs to open it."""

    content: bytes  # the function: of a module by name, of a notebook or a script by value
    folders: tuple[str, ...]  # where modules are imported from
    sources: tuple[Source, ...]  # files that were loaded, for machines that do not have them


def seal(function: Callable[..., Any]) -> Sealed:
    """Return a function for other processes."""
    return Sealed(cloudpickle.dumps(function), tuple(own_folders()), tuple(own_sources()))


def unseal(sealed: Sealed) -> Callable[..., Any]:
    """Return the function; makes the modules that it needs."""
    for folder in reversed(sealed.folders):
        _add_folder(folder)
    for source in sealed.sources:
        _install(source)
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


checked(globals())
