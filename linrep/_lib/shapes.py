"""Plain values, as JSON has them, looked at as a type says: keys, values and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import (
    Any,
    NotRequired,
    Required,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

_WORDS = {
    str: "a text",
    bool: "true or false",
    int: "an integer",
    float: "a number",
    NoneType: "null",
}


def check(value: Any, shape: Any, name: str) -> None:
    """Raise ValueError, a line with the value's name, where a value is not of a type.

    The type, its shape, is of a text, a number and so on, or None; a list, a tuple of any length,
    which are taken for the same, a mapping of texts; a union of them; a ``TypedDict`` or a
    dataclass, of which keys with a default may be missing.
    """
    if fault := _fault(value, shape):
        raise ValueError(f"{name}{fault}")


def reader(shape: Any) -> Callable[[Any], Any]:
    """Return what returns a value of a type as it is, and raises ValueError for another."""

    def read(value):
        check(value, shape, "it")
        return value

    return read


def _fault(value, shape):
    """Say where a value is not of a type, and how; "" where it is."""
    kind, inner = _parts(shape)
    if kind is Any:
        return ""
    if kind is Union:
        faults = [_fault(value, each) for each in inner]
        return "" if "" in faults else faults[0]
    if kind is list:
        if not isinstance(value, list | tuple):
            return " is not a list"
        return _first((f"[{place}]", each, inner) for place, each in enumerate(value))
    if kind not in (dict, Mapping):
        taken = (int, float) if kind is float else (kind,)
        return "" if type(value) in taken else f" is not {_WORDS[kind]}"
    if not isinstance(value, Mapping):
        return " is not an object"
    if kind is Mapping:
        return _first((f".{name}", each, inner) for name, each in value.items())
    shapes, needed = inner
    for name in value:
        if name not in shapes:
            return f" has the unknown key {name!r}"
    missing = needed.difference(value)
    fault = _first((f".{name}", each, shapes[name]) for name, each in value.items())
    return fault or (f" lacks {min(missing)!r}" if missing else "")


def _first(items):
    """Return the first fault of items, with the place of each and its type."""
    return next((f"{place}{fault}" for place, each, to in items if (fault := _fault(each, to))), "")


@cache
def _parts(shape: Any) -> tuple[Any, Any]:
    """Return what kind a type is of, and the types of what is within it."""
    kind, inner = get_origin(shape) or shape, get_args(shape)
    if kind in (Union, UnionType):
        return Union, inner
    if kind in (list, tuple):
        return list, inner[0]
    if kind is not Any and (is_typeddict(kind) or is_dataclass(kind)):
        return dict, _keys(kind)
    if kind is not Any and issubclass(kind, Mapping):
        return Mapping, inner[1]
    return kind, ()


def _keys(kind: Any) -> tuple[dict[str, Any], frozenset[str]]:
    """Return the types of keys' values, and which keys there have to be."""
    hints = get_type_hints(kind, include_extras=True)
    marked = {name: get_origin(hint) for name, hint in hints.items()}
    shapes = {
        name: get_args(hint)[0] if marked[name] in (NotRequired, Required) else hint
        for name, hint in hints.items()
    }
    always = getattr(kind, "__total__", True)
    unneeded = {
        name for name, mark in marked.items()
        if mark is NotRequired or not (always or mark is Required)
    }  # fmt: skip
    if is_dataclass(kind):
        nothing = (MISSING, MISSING)
        unneeded = {
            each.name for each in fields(kind) if (each.default, each.default_factory) != nothing
        }
    return shapes, frozenset(shapes.keys() - unneeded)
