"""Parameters that many functions share, described once: a docstring has their names alone."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from textwrap import indent
from typing import Any

#: What they are, and what for. With a default of None another entry may hold, of a name with "?".
SHARED = {
    "data": ("ClientData", "Samples of n clients."),
    "problem": (
        "SharedRepresentation or ClientData",
        "A ground truth to draw from, or samples (your own, or drawn with ``truth.draw``).",
    ),
    "m": (
        "int or array_like of int, shape (n,)",
        "Samples per client and batch; only with a ground truth, for which they are required, and\n"
        'only for ``batches="fixed"`` one number per client.',
    ),
    "k": ("int", "Rank, at most min(n, d)."),
    "k?": (
        "int",
        "Rank, at most min(n, d); by default that of the truth's representation, required where\n"
        "there is none.",
    ),
    "rounds": ("int", "Communication rounds."),
    "participation": (
        "float",
        "Fraction of clients per round, in (0, 1], drawn without replacement: as many as the\n"
        "whole number nearest to it times n.",
    ),
    "record": (
        "int or array_like of int",
        "Record every so many rounds, or these rounds, counted from the start of this run; the\n"
        "start and the last round always.",
    ),
    "rng": (
        "",
        "Anything `numpy.random.default_rng` takes. Data, participation and start have streams of\n"
        "their own, so that methods given the same seed see the same data and participants. Not\n"
        "with the trace of a run as the start, whose streams are continued.",
    ),
}
_SECTION = re.compile(r"^( *)Parameters\n\1----------\n(?:\1.+\n)+", re.MULTILINE)


def complete(
    function: Callable[..., Any], own: Mapping[str, tuple[str, str]] | None = None
) -> None:
    """Describe the parameters of which a function's docstring has the names alone.

    What is its own is said of some of them in place of what is `SHARED`.
    """
    section = _SECTION.search(f"{function.__doc__ or ''}\n")
    if section is None:
        return
    parameters, known = inspect.signature(function).parameters, {**SHARED, **(own or {})}

    def entries(match):
        margin, names = match[1], match[2].split(", ")
        if not all(name in known and name in parameters for name in names):
            return match[0]
        return "\n".join(_entry(parameters[name], known, margin) for name in names)

    names = re.compile(rf"^({section[1]})(\w+(?:, \w+)*)$(?!\n\1 +\S)", re.MULTILINE)
    described = names.sub(entries, section[0])
    function.__doc__ = f"{function.__doc__}\n".replace(section[0], described)[:-1]


def _entry(parameter, known, margin):
    """Return the lines on a parameter, behind this margin."""
    name, default = parameter.name, parameter.default
    kind, text = known[f"{name}?" if default is None and f"{name}?" in known else name]
    words = [kind] if kind else []
    if default is None:
        words.append("optional")
    elif default is not parameter.empty:
        words.append(f"default {default}")
    return f"{margin}{name} : {', '.join(words)}\n{indent(text, f'{margin}    ')}"
