"""What of a user's own a function computes with, as digests by name.

Functions are known by their instructions: comments, docstrings, annotations, names of variables and
the place in a file change nothing. Whatever they reach is looked into: functions, classes and their
bases, and the values that modules, closures, defaults and attributes hold. Code of installed
packages, linrep's among them, is known by its name alone.
"""

from __future__ import annotations

import copyreg
import inspect
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from hashlib import blake2b
from importlib import import_module
from importlib.util import find_spec, resolve_name
from pathlib import Path, PurePath
from types import FunctionType, MappingProxyType, MethodType, ModuleType
from typing import Any

import numpy as np

from linrep._lib.instructions import Instructions, read

_PLAIN = (int, float, complex, bool, str, bytes, type(None), type(...), type(NotImplemented))
#: What a class holds beside what it does, or what follows from that.
_BESIDE = {
    "__abstractmethods__", "__annotate__", "__annotate_func__", "__annotations__",
    "__annotations_cache__", "__dataclass_fields__", "__dict__", "__doc__", "__firstlineno__",
    "__module__", "__qualname__", "__static_attributes__", "__weakref__", "_abc_impl",
}  # fmt: skip
#: Variables that every module has.
_OF_MODULES = {
    "__annotations__", "__builtins__", "__cached__", "__dict__", "__doc__", "__file__",
    "__loader__", "__name__", "__package__", "__path__", "__spec__",
}  # fmt: skip
#: With these a function finds attributes, or variables, that its instructions do not name.
_FIND = {"__dict__", "attrgetter", "getattr", "vars"}
_FIND_HERE = {"eval", "exec", "globals"}
_NONE: Mapping[str, Any] = {}


def fingerprint(*things: Any) -> dict[str, str]:
    """Return digests of all that functions, classes or objects compute with, by name.

    They are the same in all processes of one version of Python. That of an installed function is
    empty.
    """
    reader = _Reader()
    called = [getattr(each, "__qualname__", type(each).__qualname__) for each in things]
    names = [
        reader.of(each) or reader.name(id(each), name, each, "")
        for name, each in zip(called, things, strict=True)
    ]
    return dict.fromkeys(names, "") | reader.read()


def is_installed(path: str) -> bool:
    """Tell whether a file is Python's, linrep's or another installed package's."""
    folders = {str(Path(__file__).parents[1]), sys.prefix, sys.base_prefix}
    # The names tell apart what is installed for one user, outside of Python's own folders.
    return path.startswith(("<", *(f"{folder}{os.sep}" for folder in folders))) or any(
        f"{os.sep}{name}{os.sep}" in path for name in ("site-packages", "dist-packages")
    )


class _Reader:
    """Goes from name to name; what has one is looked into once."""

    def __init__(self):
        self._names: dict[Any, str] = {}  # by identity
        self._taken: set[str] = set()
        self._ahead: list[tuple[str, Any, str]] = []  # what has a name, and the folder of its file

    def read(self) -> dict[str, str]:
        """Return the digests of all that has a name, which comes to be more meanwhile."""
        return {name: _Content(self, home).digest(thing) for name, thing, home in self._ahead}

    def name(self, key: Any, called: str, thing: Any, home: str) -> str:
        """Return the name of something, which nothing else has, and have it looked into."""
        if key not in self._names:
            name, number = called, 1
            while name in self._taken:
                number += 1
                name = f"{called} ({number})"
            self._names[key] = name
            self._taken.add(name)
            self._ahead.append((name, thing, home))
        return self._names[key]

    def of(self, value: Any) -> str | None:
        """Return the name of a function or class, or of an installed module; else None."""
        if isinstance(value, FunctionType):
            if _is_own(value.__globals__):
                return self.name(id(value), value.__qualname__, value, _home(value.__globals__))
            return _installed(value)
        if isinstance(value, type):
            namespace = _namespace(value)
            if _is_own(namespace):
                return self.name(id(value), value.__qualname__, value, _home(namespace))
            return f"{value.__module__}:{value.__qualname__}"
        if isinstance(value, ModuleType) and not _is_own(vars(value)):
            return value.__name__
        return None


class _Content:
    """What something consists of: what in it has a name, and what has none."""

    def __init__(self, reader: _Reader, home: str):
        self._reader = reader
        self._home = home
        self._numbers: dict[int, int] = {}
        self._ahead: list[Any] = []  # which keeps identities, too

    def digest(self, thing: Any) -> str:
        """Return a digest of something."""
        self._number(thing)
        digest = blake2b(digest_size=8)
        for each in self._ahead:  # which grows
            digest.update(repr(list(self._parts(each))).encode(errors="surrogatepass"))
        return digest.hexdigest()

    def _number(self, value):
        if id(value) not in self._numbers:
            self._numbers[id(value)] = len(self._ahead)
            self._ahead.append(value)
        return self._numbers[id(value)]

    def _shown(self, value):
        """Return what stands for a value in what it is part of."""
        kind = type(value)
        if kind in _PLAIN:
            return repr(_moved(value, self._home) if kind is str else value)
        if kind is tuple:  # whether one object or two is for Python to decide
            return list(map(self._shown, value))
        name = self._reader.of(value)
        return self._number(value) if name is None else ("name", name)

    def _items(self, pairs):
        return [(self._shown(name), self._shown(value)) for name, value in pairs]

    def _parts(self, value) -> Iterator[Any]:
        kind = type(value)
        yield kind.__qualname__
        if isinstance(value, FunctionType):
            yield from self._parts_of_function(value)
        elif isinstance(value, type):
            members = sorted(vars(value).items())
            yield from map(self._shown, (kind, *value.__bases__))
            yield from self._items(each for each in members if each[0] not in _BESIDE)
        elif isinstance(value, ModuleType):
            yield from self._attributes(value)
        elif kind in (list, tuple):
            yield from map(self._shown, value)
        elif kind in (dict, MappingProxyType):
            yield from self._items(list(value.items()))
        elif kind in (set, frozenset):
            yield from sorted(_Content(self._reader, self._home).digest(each) for each in value)
        elif kind in _PLAIN:
            yield self._shown(value)
        elif isinstance(value, MethodType | staticmethod | classmethod):
            yield from map(self._shown, (value.__func__, getattr(value, "__self__", None)))
        elif isinstance(value, property):
            yield from map(self._shown, (value.fget, value.fset, value.fdel))
        elif isinstance(value, PurePath):
            yield _moved(str(value), self._home)
        elif kind is np.ndarray and not value.dtype.hasobject:
            numbers = np.ascontiguousarray(value).reshape(-1).view(np.uint8)
            yield from (value.dtype.str, value.shape, blake2b(numbers.data).hexdigest())
        else:
            yield from self._parts_of_object(value)

    def _parts_of_function(self, function) -> Iterator[Any]:
        does, namespace = read(function.__code__), function.__globals__
        for cell in function.__closure__ or ():
            content = _content(cell)
            if isinstance(content, ModuleType) and _is_own(vars(content)):
                yield [*self._attributes(content, does)]
            else:
                yield self._shown(content)
        yield from map(self._shown, (function.__defaults__, function.__kwdefaults__))
        yield self._shown(vars(function))
        if not _is_own(namespace):
            yield namespace.get("__name__"), function.__code__.co_qualname
            return
        yield does.steps
        wanted = does.variables | (_defined(namespace) if does.names & _FIND_HERE else set())
        yield from self._variables(namespace, wanted, does)
        for each in sorted(does.imports):
            for module in _imported(*each, namespace.get("__package__")):
                yield [*self._attributes(module, does)]

    def _attributes(self, module, does: Instructions | None = None, seen=()) -> Iterator[Any]:
        """Yield what a function reaches of a module of one's own; all of it without a function."""
        namespace = vars(module)
        wanted, made = set(namespace), {}
        if does is not None:
            wanted = {*does.names, *(_defined(namespace) if does.names & _FIND else ())}
            if "__getattr__" in namespace:  # it makes some attributes when they are asked for
                for name in sorted(wanted - namespace.keys()):
                    with suppress(Exception):
                        made[name] = getattr(module, name)
        yield from self._variables(namespace, wanted, does, (*seen, module), made)

    def _variables(self, namespace, wanted, does, seen=(), made=_NONE) -> Iterator[Any]:
        """Yield some of the variables of a module of one's own."""
        for name in sorted(wanted & (namespace.keys() | made.keys()) - _OF_MODULES):
            value = made[name] if name in made else namespace[name]
            if isinstance(value, ModuleType) and _is_own(vars(value)):
                if value not in seen:
                    yield name, [*self._attributes(value, does, seen)]
            else:
                key, home = (id(namespace), name), _home(namespace)
                yield name, self._reader.of(value) or self._reader.name(key, name, value, home)

    def _parts_of_object(self, value) -> Iterator[Any]:
        kind, attributes = type(value), getattr(value, "__dict__", {})
        is_own = _is_own(_namespace(kind))
        if "__wrapped__" in attributes and not is_own:  # such as compiled or cached functions
            options = getattr(value, "targetoptions", None)
            yield from map(self._shown, (kind, attributes["__wrapped__"], options))
            return
        if kind.__module__.partition(".")[0] == "torch" and hasattr(value, "detach"):
            with suppress(Exception):  # NumPy has not all its types
                yield self._shown(value.detach().cpu().numpy())
                return
        function, arguments, state, items, pairs = _reduced(value)
        if is_own and isinstance(state, dict):
            state = {name: state[name] for name in state if not _is_cache(kind, name)}
        yield from map(self._shown, (function, arguments, state))
        yield from map(self._shown, items)
        yield from self._items(pairs)


def _reduced(value) -> tuple[Any, Any, Any, list[Any], list[Any]]:
    """Return how an object can be made again, as `pickle` has it."""
    try:
        how = copyreg.dispatch_table.get(type(value))
        reduced = how(value) if how else value.__reduce_ex__(2)
        if isinstance(reduced, str):
            return str(getattr(value, "__module__", None)), reduced, None, [], []
        function, arguments, state, items, pairs = (*reduced, None, None, None)[:5]
        return function, tuple(arguments), state, list(items or ()), list(pairs or ())
    except Exception:  # of a lock, a file and so on no more can be said than what it has
        return type(value), (), getattr(value, "__dict__", None), [], []


def _is_cache(kind, name):
    return isinstance(inspect.getattr_static(kind, name, None), cached_property)


def _content(cell):
    try:
        return cell.cell_contents
    except ValueError:  # it is empty
        return ...


def _namespace(kind):
    """Return the variables of the module of a class."""
    return getattr(sys.modules.get(kind.__module__), "__dict__", {})


def _installed(function):
    """Return where an installed function is found, None of one that another one has made."""
    found: Any = sys.modules.get(function.__module__)
    if found is None or _is_own(vars(found)):  # it stands for one of a user's
        return None
    for each in function.__qualname__.split("."):
        found = getattr(found, each, None)
    return f"{function.__module__}:{function.__qualname__}" if found is function else None


def _is_own(namespace):
    """Tell whether a module with these variables is a user's; notebooks have no file."""
    if file := namespace.get("__file__"):
        return not is_installed(os.path.abspath(file))
    return getattr(namespace.get("__spec__"), "origin", None) not in ("built-in", "frozen")


def _home(namespace):
    """Return the folder of a module's file, or an empty text."""
    file = namespace.get("__file__")
    return os.path.dirname(os.path.abspath(file)) if file else ""


def _moved(text, home):
    """Return the name of a file or folder as seen from another folder, if it lies on its way."""
    if len(text) < 2 or not home or not os.path.isabs(text):
        return text
    above = f"{home}{os.sep}".startswith(f"{text.rstrip(os.sep)}{os.sep}")
    return os.path.relpath(text, home) if above or text.startswith(f"{home}{os.sep}") else text


def _defined(namespace) -> set[str]:
    """Return the names of functions and classes that a module defines."""
    here = namespace.get("__name__")
    return {
        name
        for name, value in list(namespace.items())
        if isinstance(value, FunctionType | type) and value.__module__ == here
    }


def _imported(dots, name, taken, package) -> Iterator[ModuleType]:
    """Yield the modules of one's own that an import within a function names."""
    with suppress(Exception):  # what is wrong the function will say
        name = resolve_name("." * dots + name, package) if dots else name
        first, *others = name.split(".")
        if _is_own_module(first):
            ways = [".".join([first, *others[:place]]) for place in range(len(others) + 1)]
            for way in (*ways, *(f"{name}.{each}" for each in taken)):
                with suppress(ImportError):  # what is taken need not be a module
                    yield import_module(way)


def _is_own_module(name):
    """Tell whether a module outside of packages is a user's, of which nothing is run."""
    if name in sys.modules:
        return _is_own(vars(sys.modules[name]))
    spec = find_spec(name)
    if spec is None:
        return False
    places = [spec.origin] if spec.has_location else spec.submodule_search_locations
    return any(not is_installed(os.path.abspath(place)) for place in places or () if place)
