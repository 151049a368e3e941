"""What the digits of rows may depend on beside code and seed, as a text that parts carry."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

from linrep.provenance import surroundings

_UNKNOWN = "unknown"


@cache
def this_machine() -> str:
    """Return this process's machine as JSON: processor, instructions, BLAS, versions."""
    found = surroundings(libraries=("numpy", "scipy", "numba"))
    return json.dumps(found, sort_keys=True, ensure_ascii=False)


def describe(machine: str) -> str:
    """Return a machine in a few words.

    Parameters
    ----------
    machine : str
        As `this_machine` returns it; empty where it was not stored.
    """
    found = _read(machine)
    kernels = dict.fromkeys(
        f"{each.get('name')} {each.get('kernel')} with {each.get('threads')} thread(s)"
        for each in found.get("BLAS", ())
    )
    words = [found.get("processor"), found.get("instructions"), *kernels, found.get("mode")]
    return ", ".join(str(word) for word in words if word) or "a machine that was not recorded"


def is_portable(machine: str) -> bool:
    """Tell whether a machine, as `this_machine` returns it, was in the portable mode."""
    return _read(machine).get("mode") == "portable"


def differences(machine: str, other: str) -> list[str]:
    """Return what tells two machines apart, as "name: of the one, of the other".

    Parameters
    ----------
    machine, other : str
        As `this_machine` returns them.
    """
    one, two = (dict(_items(_read(text))) for text in (machine, other))
    return [
        f"{name}: {one.get(name, _UNKNOWN)}, {two.get(name, _UNKNOWN)}"
        for name in dict.fromkeys((*one, *two))
        if one.get(name) != two.get(name)
    ]


def _read(machine) -> dict[str, Any]:
    try:
        found = json.loads(machine)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _items(found) -> Iterator[tuple[str, str]]:
    """Yield the entries of nested dictionaries by the names of the innermost."""
    for name, value in found.items():
        if isinstance(value, dict):
            yield from _items(value)
        elif isinstance(value, list):
            yield name, "; ".join(" ".join(map(str, each.values())) for each in value)
        else:
            yield name, str(value)
