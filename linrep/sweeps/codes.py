"""The code that made rows, as a text that parts carry: digests of what is a user's own, by name.

Of linrep and of other packages it has nothing: rows say their versions.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any

from linrep._lib.fingerprint import fingerprint
from linrep.sweeps.grid import Cell
from linrep.sweeps.parts import Segment
from linrep.sweeps.specification import Specification
from linrep.sweeps.targets import Untrusted, load

_MOST_NAMES = 4
_PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
#: What work has made of code, as by filling a dictionary, and what that was before.
_before: dict[str, str] = {}


class OtherCode(ValueError):
    """What is stored was made by other code than what would stand beside it.

    Parameters
    ----------
    said : str
        Which replicates are of what code.
    more : str
        What else can be done.
    """

    def __init__(self, said: str, more: str = ""):
        remedy = (
            "take another folder, or give same_code=True (--same-code) if their numbers still hold"
        )
        super().__init__(f"{said}; {remedy}{more}")


class MixedCode(UserWarning):
    """Replicates of a run were made by several codes."""


class Codes:
    """The code of each cell of a sweep, as it is when this is made.

    If the sweep's function has an attribute ``uses``, that is called with each cell, a function
    that finds what a text stands for, and the settings, and returns what of a user's own is named.
    """

    def __init__(self, sweep: Specification):
        find = cache(load)
        self._things: dict[tuple[int, ...], tuple[tuple[Any, ...], str]] = {}
        self._of: dict[str, str] = {}
        for name, cell in zip(sweep.names, sweep.grid, strict=True):
            things = _used(sweep.function, cell, sweep.settings, find)
            key = tuple(map(id, things))
            if key not in self._things:
                self._things[key] = things, code_of(*things)
            self._of[name] = self._things[key][1]

    def apart(self, segments: Iterable[Segment]) -> dict[str, list[Segment]]:
        """Return segments by their code."""
        apart: dict[str, list[Segment]] = {}
        for segment in segments:
            apart.setdefault(self._of[segment.cell], []).append(segment)
        return apart

    def settle(self) -> None:
        """Take what the work has made of what it computes with for what that was before."""
        for things, before in self._things.values():
            if (now := code_of(*things)) != before:
                _before[now] = before

    def others(self, run: Any, *, retry_failed: bool = False) -> str:
        """Say which replicates of a run other code made; an empty text if none.

        Failed ones are left out if they are computed again.
        """
        return _said(run, lambda cell, named, code: self._of.get(cell, code), not retry_failed)

    def check(self, run: Any, *, retry_failed: bool = False, same_code: bool = False) -> str:
        """Say the same; an OtherCode is raised instead unless all is taken to be of the same code.

        The options are those of :func:`linrep.sweeps.run`.
        """
        others = self.others(run, retry_failed=retry_failed)
        if others and not same_code:
            retry = ", and retry_failed=True (--retry-failed) to compute failed ones again"
            raise OtherCode(others, retry if not retry_failed and run.failed() else "")
        return others


def _used(function, cell: Cell, settings: Mapping[str, Any], find) -> tuple[Any, ...]:
    """Return a sweep's function and what of a user's own a cell names, as far as it is found."""
    uses = getattr(function, "uses", None)
    try:
        return function, *(uses(cell, find, **settings) if uses else ())
    except Untrusted:
        raise
    except ValueError:  # which its replicates will raise
        return (function,)


def code_of(*things: Any) -> str:
    """Return the code of functions and classes as it is now."""
    names = fingerprint(*things)
    python = _PYTHON if any(names.values()) else ""
    text = json.dumps({"python": python, "names": names}, ensure_ascii=False)
    return _before.get(text, text)


@cache
def _difference(code, other):
    """Say how a code differs from another one; an empty text if in nothing."""
    (python, names), (other_python, other_names) = map(_read, (code, other))
    if names == other_names:
        return ""
    if python and other_python and python != other_python:
        return f"Python {python}, not {other_python}: code cannot be compared"
    changed = [name for name in (*other_names, *names) if names.get(name) != other_names.get(name)]
    changed = list(dict.fromkeys(map(_short, changed)))
    shown, more = ", ".join(changed[:_MOST_NAMES]), len(changed[_MOST_NAMES:])
    return f"changed: {shown}{f' and {more} more' if more else ''}"


def _short(name):
    """Return what a thing is called, without where it is made and which of several it is."""
    return name.rpartition("<locals>.")[2].partition(" (")[0]


def mixture(run: Any) -> str:
    """Say which cells of a run are of several codes; an empty text if none."""
    of_cell: dict[str, dict[str, None]] = {}
    of_kind: dict[tuple[str, ...], dict[str, str]] = {}  # a cell for each code
    for code, segment, named in _stored(run):
        of_cell.setdefault(segment.cell, {})[code] = None
        of_kind.setdefault(named, {}).setdefault(code, segment.cell)
    mixed = {cell: [*codes] for cell, codes in of_cell.items() if len(codes) > 1}
    for cell, (one, other, *_) in mixed.items():
        more = _more(len(mixed) - 1)
        return f"{cell}{more}: replicates are of several codes ({_difference(one, other)})"
    for (one, cell), (other, another), *_ in (k.items() for k in of_kind.values() if len(k) > 1):
        return f"{cell} and {another} are of several codes ({_difference(one, other)})"
    return ""


def conflict(runs: Iterable[Any]) -> str:
    """Say which of the runs of a sweep other code made than those before; nothing if none."""
    first: dict[tuple[str, ...], str] = {}
    each = (_said(run, lambda cell, named, code: first.setdefault(named, code)) for run in runs)
    return next(filter(None, each), "")


def _stored(run, *, failed=True) -> Iterator[tuple[str, Segment, tuple[str, ...]]]:
    """Yield codes, what of a run they made, and the code that is named by its cell."""
    named = {
        name: tuple(text for text in cell.values() if isinstance(text, str) and ":" in text)
        for name, cell in zip(run.names, run.cells, strict=True)
    }
    for code, segments in run.codes(failed=failed).items():
        for segment in segments:
            yield code, segment, named[segment.cell]


def _said(run, known, failed=True):
    """Say which replicates of a run are of another code than is known of their cell."""
    found: dict[str, list[Segment]] = {}
    for code, segment, named in _stored(run, failed=failed):
        if how := _difference(code, known(segment.cell, named, code)):
            found.setdefault(how, []).append(segment)
    each = []
    for how, segments in found.items():
        first = segments[0]
        last = f" to {first.stop - 1}" if len(first) > 1 else ""
        more = _more(len({segment.cell for segment in segments}) - 1)
        count = f"{sum(map(len, segments))} of {run.count()} replicates"
        each.append(f"{count} ({first.cell}: {first.start}{last}{more}) are of other code ({how})")
    return f"{run.path}: {'; '.join(each)}" if each else ""


def _more(cells):
    return f", and {cells} more cell{'s' if cells > 1 else ''}" if cells else ""


def _read(code) -> tuple[str, dict[str, str]]:
    """Return the version of Python and the digests by name; nothing of what linrep has not made."""
    try:
        read = json.loads(code)
        return str(read["python"]), dict(read["names"])
    except (ValueError, TypeError, KeyError, RecursionError):
        return "", {}
