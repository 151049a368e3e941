"""Arguments looked at as annotations say: one of a wrong kind is refused in a line that names it.

What a number may be, and what shape an array has, functions check for themselves.
"""

from __future__ import annotations

import inspect
import re
import sys
import typing
from collections import ChainMap
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from functools import partial, wraps
from numbers import Integral, Real
from pathlib import Path
from types import FunctionType, UnionType
from typing import Any, NamedTuple

import numpy as np
from numpy.random import BitGenerator, Generator, SeedSequence

from linrep._lib import validation as check
from linrep._lib.described import complete
from linrep._lib.validation import seed_sequence


class _Seed:
    """Stands for RNGLike, which `seed_sequence` looks at."""


@typing.runtime_checkable
class _Executor(typing.Protocol):
    """Stands for executors, whatever they derive from."""

    submit: Any


class _ArrayLike:
    """Stands for NumPy's, which is a union that swallows texts."""


#: What values are of that are annotated by these, and the words for it.
_WORDS: dict[Any, tuple[Any, str]] = {
    float: (Real, "a real number"),
    int: (Integral, "an integer"),
    bool: (bool, "True, False"),
    str: (str, "a text"),
    tuple: ((tuple, list), "a tuple"),
    dict: (dict, "a dict"),
    Path: ((str, Path), "a path"),
    type(None): (type(None), "None"),
    Executor: (_Executor, "an executor"),
    Callable: (Callable, "a function"),
    Mapping: (Mapping, "a mapping"),
    Sequence: (Iterable, "a list"),
    Iterable: (Iterable, "a list"),
    Collection: (Iterable, "a list"),
    _ArrayLike: (_ArrayLike, "an array of real numbers"),
    np.ndarray: (np.ndarray, "an array of real numbers"),
}
_NUMBERS = (0, 0.0, np.float64(0.0))
_SHOWN = (type(None), bool, int, float, complex, str, np.bool_)
_LARGEST = 1e100  # whose squares and their products are finite
_ANY_ARRAY = re.compile(r"\bNDArray(?!\[)")  # which may hold ids


class Limits(NamedTuple):
    """What is asked of numbers."""

    nan: bool  # whether they may be NaN
    large: bool  # whether they may be finite, and so large that powers of them are not
    units: bool  # whether data may be such that squares of them are infinite, or zero


def checked(
    names: dict[str, Any], *, nan: bool = True, large: bool = True, units: bool = True
) -> None:
    """Have a module's public functions, classes and their methods look at what they are given.

    The names are the module's globals, when all of them are there; annotations are texts. `Limits`
    has `nan`, `large` and `units`; what is NaN by default always may be. Parameters that docstrings
    only name are described as everywhere, or as the module's `DESCRIBED` says.
    """
    limits = Limits(nan, large, units)
    for name, item in list(names.items()):
        if name.startswith("_") or getattr(item, "__module__", "") != names["__name__"]:
            continue
        if isinstance(item, FunctionType):
            complete(item, names.get("DESCRIBED"))
            names[name] = _with_checks(item, limits)
        elif isinstance(item, type) and not issubclass(item, tuple | Exception):
            for method, member in list(vars(item).items()):
                function = getattr(member, "__func__", member)  # of a class method
                public = method == "__init__" or not method.startswith("_")
                if isinstance(function, FunctionType) and public:
                    new = _with_checks(function, limits, item)
                    setattr(item, method, new if function is member else type(member)(new))


def _with_checks(function, limits, owner=None):
    taken = inspect.signature(function).parameters.values()
    order = [each.name for each in taken if each.kind <= each.POSITIONAL_OR_KEYWORD]
    looks = None

    @wraps(function)
    def call(*args, **kwargs):
        nonlocal looks
        if looks is None:  # before the first call annotations may name what comes later
            # Fields may be inherited from other modules.
            bases = owner.__mro__ if owner is not None else ()
            around = [vars(sys.modules[base.__module__]) for base in bases]
            known = dict(ChainMap(inspect.unwrap(function).__globals__, *around))
            looks_of = {each.name: _look_of(each, known, limits) for each in taken}
            looks = {name: look for name, look in looks_of.items() if look}
        for name, value in (*zip(order, args), *kwargs.items()):  # noqa: B905 - Python counts them
            if name in looks:
                looks[name](name, value)
            plain = _plain(value)
            if plain is not value:
                args = tuple(plain if x is value else x for x in args)
                kwargs = {key: plain if x is value else x for key, x in kwargs.items()}
        try:
            return function(*args, **kwargs)
        except OverflowError:
            given = {**dict(zip(order, args, strict=False)), **kwargs}
            numbers = {name: float(x) for name, x in given.items() if isinstance(x, Real)}
            if limits.large or not numbers:
                raise
            most = max(numbers, key=lambda name: abs(numbers[name]))
            raise ValueError(f"{most} is too large: {numbers[most]:g}") from None

    return call


def _plain(value):
    """Return an array without its mask, if that hides nothing; an integer that cannot overflow."""
    if isinstance(value, np.ma.MaskedArray) and not np.ma.is_masked(value):
        return np.asarray(value)
    return int(value) if isinstance(value, np.integer) else value


def _look_of(parameter, known, limits):
    """Return what looks at a parameter, None if it may be anything."""
    annotation, default = parameter.annotation, parameter.default
    several = parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    if several or annotation is parameter.empty or _ANY_ARRAY.search(annotation):
        return None
    if "pd." in annotation:
        import pandas

        known = {**known, "pd": pandas}
    try:
        parts = _parts(eval(annotation, known, {"ArrayLike": _ArrayLike, "RNGLike": _Seed}))
    except NameError:  # of something that is loaded for annotations only
        return None
    if _Seed in parts:
        return _look_at_seed
    if str in parts and tuple in parts:  # a name or a start, of which functions say more
        return None
    for part in parts:
        if part is Any or not isinstance(part, type) or getattr(part, "_is_protocol", False):
            return None
    pairs = [_WORDS.get(part, (part, part.__name__)) for part in parts]
    kinds = tuple(kind for kind, _ in pairs)
    return partial(
        _look,
        kinds=kinds,
        numbers=frozenset(type(each) for each in _NUMBERS if isinstance(each, kinds)),
        wanted=" or ".join(", ".join(dict.fromkeys(word for _, word in pairs)).rsplit(", ", 1)),
        limits=limits._replace(nan=limits.nan or default != default),
    )


def _parts(annotation):
    """Return what an annotation is a union of, without what stands in brackets."""
    origin = typing.get_origin(annotation)
    if origin in (UnionType, typing.Union):
        return [inner for part in typing.get_args(annotation) for inner in _parts(part)]
    return [type(None) if annotation is None else origin or annotation]


def _look_at_seed(name, value):
    if value is not None and not isinstance(value, Generator | BitGenerator | SeedSequence):
        seed_sequence(value)


def _look(name, value, *, kinds, numbers, wanted, limits):
    """Raise unless an argument is of one of these kinds, and as large as it may be.

    Most arguments are `_NUMBERS`, which are known by their types to be of a kind.
    """
    is_number = type(value) in numbers
    if isinstance(value, int):
        check.not_huge(name, value)
    if not is_number:
        value = _of_a_kind(name, value, kinds, wanted)
    if is_number or isinstance(value, Real | np.ndarray):
        if not (limits.nan and limits.large):
            _look_at_size(name, value, limits)
    elif not limits.units and hasattr(value, "moderate"):
        value.moderate(name)


def _of_a_kind(name, value, kinds, wanted):
    """Return a value of one of these kinds, as an array where that is one; raise for another."""
    if isinstance(value, bool | np.bool_):
        fine = bool in kinds or object in kinds
    elif isinstance(value, str):  # which is not meant by a list, of its letters
        fine = any(kind in kinds for kind in (str, (str, Path), object))
    else:
        fine = isinstance(value, kinds)
    arrays = _ArrayLike in kinds or np.ndarray in kinds
    converted = isinstance(value, np.ndarray) or not (fine or isinstance(value, str | bool))
    if arrays and converted:
        value, fine = check.real_array(name, value), True
    if not fine:
        shown = type(value) in _SHOWN and any(kind in kinds for kind in (Real, Integral, bool, str))
        got = f"{value!r:.60}" if shown else check.kind_of(value, wanted)
        raise TypeError(f"{name} must be {wanted}, got {got}")
    return value


def _look_at_size(name, value, limits):
    """Raise for NaN and for what is too large, where numbers may not be that."""
    if isinstance(value, np.ndarray):
        size: Any = np.abs(np.asarray(value, dtype=np.float64))
        largest = size.max(initial=0.0)
    else:
        size = largest = abs(float(value))
    if largest <= _LARGEST:  # nor is any of them NaN, which would be the largest
        return
    if not limits.nan and np.isnan(size).any():
        raise ValueError(f"{name} must be finite, it holds NaN")
    if not limits.large and np.any((size > _LARGEST) & (size < np.inf)):
        raise ValueError(f"{name} must be at most {_LARGEST:g} in size, got {np.max(size):g}")
