"""Plain values, as JSON has them, looked at as a type says: keys, values and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, NotRequired, Union, get_args, get_origin, get_type_hints, is_typeddict

_WORDS = {
    str: "a text",
    bool: "true or false",
    int: "an integer",
    float: "a number",
    NoneType: "null",
}

Look = Callable[[Any], str]


def check(value: Any, shape: Any, name: str) -> None:
    """Raise ValueError in a line where a value is not of a type.

    Parameters
    ----------
    value : object
        With lists and tuples taken for the same.
    shape : type
        A text, a number and so on, or None; a list, a tuple of any length, a mapping of texts; a
        union of them; a ``TypedDict`` or a dataclass, of which keys with a default may be missing.
    name : str
        What the value is called.
    """
    if fault := _look(shape)(value):
        raise ValueError(f"{name}{fault}")


def reader(shape: Any) -> Callable[[Any], Any]:
    """Return what returns a value of a type as it is, and raises ValueError for another."""

    def read(value):
        check(value, shape, "it")
        return value

    return read


@cache
def _look(shape: Any) -> Look:
    """Return what says where a value is not of a type, and how; "" where it is."""
    kind, inner = get_origin(shape) or shape, get_args(shape)
    if kind is Any:
        return lambda value: ""
    if kind in (Union, UnionType):
        return _look_at_either(inner)
    if kind in (list, tuple):
        return _look_at_items(_look(inner[0]))
    if is_typeddict(kind) or is_dataclass(kind):
        return _look_at_keys(kind)
    if issubclass(kind, Mapping):
        return _look_at_values(_look(inner[1]))
    return _look_at_scalar(kind)


def _look_at_scalar(kind):
    taken = (int, float) if kind is float else (kind,)
    fault = f" is not {_WORDS[kind]}"
    return lambda value: "" if type(value) in taken else fault


def _look_at_either(kinds):
    first, *others = map(_look, kinds)

    def look(value):
        fault = first(value)
        return fault if fault and all(other(value) for other in others) else ""

    return look


def _look_at_items(look_at):
    def look(value):
        if not isinstance(value, list | tuple):
            return " is not a list"
        for place, each in enumerate(value):
            if fault := look_at(each):
                return f"[{place}]{fault}"
        return ""

    return look


def _look_at_values(look_at):
    def look(value):
        if not isinstance(value, Mapping):
            return " is not an object"
        for name, each in value.items():
            if fault := look_at(each):
                return f".{name}{fault}"
        return ""

    return look


def _look_at_keys(kind):
    looks, needed = _keys(kind)

    def look(value):
        if not isinstance(value, Mapping):
            return " is not an object"
        for name, each in value.items():
            if name not in looks:
                return f" has the unknown key {name!r}"
            if fault := looks[name](each):
                return f".{name}{fault}"
        missing = needed.difference(value)
        return f" lacks {min(missing)!r}" if missing else ""

    return look


def _keys(kind: Any) -> tuple[dict[str, Look], frozenset[str]]:
    """Return how to look at the values of keys, and which keys there have to be."""
    hints = get_type_hints(kind, include_extras=True)
    unneeded = {name for name, hint in hints.items() if get_origin(hint) is NotRequired}
    looks = {
        name: _look(get_args(hint)[0] if name in unneeded else hint) for name, hint in hints.items()
    }
    if is_dataclass(kind):
        nothing = (MISSING, MISSING)
        unneeded = {
            each.name for each in fields(kind) if (each.default, each.default_factory) != nothing
        }
    return looks, frozenset(looks.keys() - unneeded)
