"""What the digits of rows may depend on beside code and seed, as a text that parts carry."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache

from linrep._lib.provenance import surroundings

_UNKNOWN = "unknown"
#: What is said of every machine.
_ALWAYS = ("processor", "instructions", "BLAS", "mode")


def machine_now() -> str:
    """Return this process's machine as JSON: processor, instructions, BLAS loaded, versions."""
    machine = surroundings(libraries=("numpy", "scipy", "numba"))
    return json.dumps(machine, sort_keys=True, ensure_ascii=False)


#: The same, as it was found first: after rows have been computed.
this_machine = cache(machine_now)


def describe(machine: str, among: Iterable[str] = ()) -> str:
    """Return a machine, as `this_machine` returns it, in a few words.

    Versions are part of the words if they differ among the machines beside it.
    """
    settings = _read(machine)
    words = [settings[name] for name in _ALWAYS if name in settings]
    others = [name for name in _find_differing(among) if name not in _ALWAYS]
    words += [f"{name} {settings[name]}" for name in others if name in settings]
    return ", ".join(words) or "a machine that was not recorded"


def mixture(machines: Iterable[str]) -> str:
    """Return in what machines differ, such as "numpy 2.4.6 and 2.5.5"; empty if in nothing."""
    return ", ".join(
        f"{name} {' and '.join(values)}" for name, values in _find_differing(machines).items()
    )


def differences(machine: str, other: str) -> list[str]:
    """Return what tells two machines apart, as "name: of the one, of the other"."""
    one, two = _read(machine), _read(other)
    return [
        f"{name}: {one.get(name, _UNKNOWN)}, {two.get(name, _UNKNOWN)}"
        for name in dict.fromkeys((*one, *two))
        if one.get(name) != two.get(name)
    ]


def _find_differing(machines) -> dict[str, list[str]]:
    """Return the values of what is not the same on all machines, by name."""
    settings = list(map(_read, machines))
    values = {
        name: list(dict.fromkeys(each.get(name, _UNKNOWN) for each in settings))
        for name in dict.fromkeys(name for each in settings for name in each)
    }
    return {name: several for name, several in values.items() if len(several) > 1}


def _read(machine) -> dict[str, str]:
    """Return what is known of a machine as texts by name; nothing of what linrep has not made."""
    try:
        values = json.loads(machine)
        values |= values.pop("versions", {})
        libraries = [
            "{name} {version} {kernel} with {threads} thread(s)".format(**each)
            for each in values.pop("BLAS", ())
        ]
    except (ValueError, TypeError, AttributeError, KeyError):
        return {}
    blas = {"BLAS": "; ".join(libraries)} if libraries else {}
    return {name: str(value) for name, value in values.items()} | blas
