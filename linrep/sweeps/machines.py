"""What the digits of rows may depend on beside code and seed, as a text that parts carry."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

from linrep._lib.provenance import surroundings

_UNKNOWN = "unknown"
#: What `describe` says of every machine, beside linear algebra.
_ALWAYS = ("processor", "instructions", "mode")


def machine_now() -> str:
    """Return this process's machine as JSON: processor, instructions, BLAS loaded, versions."""
    machine = surroundings(libraries=("numpy", "scipy", "numba"))
    return json.dumps(machine, sort_keys=True, ensure_ascii=False)


#: The same, as it was found first: after rows have been computed.
this_machine = cache(machine_now)


def describe(machine: str, among: Iterable[str] = ()) -> str:
    """Return a machine, as `this_machine` returns it, in a few words.

    Versions are part of the words if they differ among the machines beside it. A machine that was
    not stored is an empty text.
    """
    values = _read(machine)
    kernels = dict.fromkeys(
        f"{each.get('name')} {each.get('kernel')} with {each.get('threads')} thread(s)"
        for each in values.get("BLAS", ())
    )
    words = [values.get("processor"), values.get("instructions"), *kernels, values.get("mode")]
    settings = dict(_items(values))
    others = [name for name in _find_differing(among) if name in settings and name not in _ALWAYS]
    words += [f"{name} {settings[name]}" for name in others]
    return ", ".join(str(word) for word in words if word) or "a machine that was not recorded"


def mixture(machines: Iterable[str]) -> str:
    """Return in what machines differ, such as "numpy 2.4.6 and 2.5.5"; empty if in nothing."""
    return ", ".join(
        f"{name} {' and '.join(values)}" for name, values in _find_differing(machines).items()
    )


def is_portable(machine: str) -> bool:
    """Tell whether a machine, as `this_machine` returns it, was in the portable mode."""
    return _read(machine).get("mode") == "portable"


def differences(machine: str, other: str) -> list[str]:
    """Return what tells two machines apart, as "name: of the one, of the other"."""
    one, two = (dict(_items(_read(text))) for text in (machine, other))
    return [
        f"{name}: {one.get(name, _UNKNOWN)}, {two.get(name, _UNKNOWN)}"
        for name in dict.fromkeys((*one, *two))
        if one.get(name) != two.get(name)
    ]


def _find_differing(machines) -> dict[str, list[str]]:
    """Return the values of what is not the same on all machines, by name."""
    settings = [dict(_items(_read(each))) for each in machines]
    values = {
        name: list(dict.fromkeys(each.get(name, _UNKNOWN) for each in settings))
        for name in dict.fromkeys(name for each in settings for name in each)
    }
    return {name: several for name, several in values.items() if len(several) > 1}


def _read(machine) -> dict[str, Any]:
    try:
        values = json.loads(machine)
    except ValueError:
        return {}
    return values if isinstance(values, dict) else {}


def _items(values) -> Iterator[tuple[str, str]]:
    """Yield the entries of nested dictionaries by the names of the innermost."""
    for name, value in values.items():
        if isinstance(value, dict):
            yield from _items(value)
        elif isinstance(value, list):
            yield name, "; ".join(" ".join(map(str, each.values())) for each in value)
        else:
            yield name, str(value)
