"""How objects show themselves: in a line, whatever they hold."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import fields
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from html import escape
from typing import Any

_FEW = 4  # entries that are written out
_SIDE = 8  # rows and columns up to which a matrix is written out
_LETTERS = 60  # of a text
#: Of each verdict its sign and its colour, as in the report.
_BADGES = {
    "holds": ("✓ ", "#00694a"),
    "misprint": ("≠ ", "#1f35d6"),
    "depends on the reading": ("± ", "#9c0084"),
    "fails": ("✗ ", "#a63a00"),
    "vacuous": ("∅ ", "#6a2fb0"),
    "undecided": ("? ", "#333841"),
}


def line(item: Any) -> str:
    """Return the ``repr`` of a dataclass or named tuple: short, whatever arrays it holds."""
    names = getattr(item, "_fields", None) or [each.name for each in fields(item) if each.repr]
    return f"{type(item).__name__}({_pairs((name, getattr(item, name)) for name in names)})"


def brief(value: Any) -> str:
    """Return a value in a few words: numbers to six digits, arrays and tables by their shape."""
    kind = type(value).__name__
    if getattr(value, "shape", ()):
        if len(value.shape) == 1 and value.shape[0] <= _FEW and hasattr(value, "tolist"):
            return brief(value.tolist())
        return f"{kind} of shape {tuple(map(int, value.shape))}"
    if hasattr(value, "item") and hasattr(value, "shape"):
        return brief(value.item())
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, Mapping):
        return f"{{{_pairs(value.items())}}}" if len(value) <= _FEW else f"{kind} of {len(value)}"
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        if len(value) > _FEW:
            return f"{kind} of {len(value)}"
        inside = ", ".join(map(brief, value))
        return f"[{inside}]" if isinstance(value, list) else f"({inside})"
    if callable(value) and hasattr(value, "__qualname__"):
        return value.__qualname__
    return shorten(repr(value))


def shorten(text: str) -> str:
    """Return a text of which only so much is kept that it fits a line."""
    return text if len(text) <= _LETTERS else f"{text[: _LETTERS - 1]}…"


def instance(values: Mapping[str, Any]) -> list[str]:
    r"""Return plain values by name in lines: numbers beside each other, a matrix in rows.

    Of an array that is too large to be read: its shape, and its least and largest entry.

    Examples
    --------
    >>> print("\n".join(instance({"d": 2, "A": [[1.0, 0.5], [0.0, -2.0]], "x": [1.0, 0.25]})))
    d = 2
    A = [ 1  0.5 ]
        [ 0   -2 ]
    x = (1, 0.25)
    """
    lines: list[str] = []
    beside = False  # whether the last line is of numbers
    for name, value in values.items():
        if isinstance(value, list):
            lines += _array(name, value)
            beside = False
            continue
        text = f"{name} = {value if isinstance(value, str) else brief(value)}"
        if beside:
            lines[-1] += f", {text}"
        else:
            lines.append(text)
        beside = True
    return lines


def _array(name, value):
    """Return the lines of an array by name."""
    import numpy as np

    try:
        array = np.array(value, dtype=float) + 0.0  # no -0
    except (TypeError, ValueError):  # texts, or rows of several lengths
        return [f"{name} = {brief(value)}"]
    if array.ndim > 2 or max(array.shape) > _SIDE:
        sizes, ends = "×".join(map(str, array.shape)), (array.min(), array.max())
        return [f"{name}: {sizes}, from {brief(ends[0])} to {brief(ends[1])}"] if array.size else []
    if array.ndim == 1:
        return [f"{name} = ({', '.join(map(brief, array))})"]
    cells = [[brief(entry) for entry in row] for row in array]
    wide = [max(map(len, column)) for column in zip(*cells, strict=True)]
    rows = ("  ".join(map(str.rjust, row, wide)) for row in cells)
    return [
        f"{'' if place else f'{name} = ':{len(name) + 3}}[ {row} ]"
        for place, row in enumerate(rows)
    ]


def number(value: float | None, toward: int = 0, digits: int = 4) -> str:
    """Return a number for a table, in four digits; a dash for none.

    It is rounded to the nearest, or down for toward < 0 and up for toward > 0, but for what the
    floating point adds in the thirteenth digit.
    """
    if value is None or not math.isfinite(value):
        return "–"
    if toward:
        rounding = ROUND_FLOOR if toward < 0 else ROUND_CEILING
        value = float(Context(prec=digits, rounding=rounding).create_decimal(f"{value:.12g}"))
    return f"{value:.{digits}g}"


def spread(values: Any) -> str:
    """Return the least, the middle and the largest value of an array, or the one they all are."""
    text = number if values.dtype.kind == "f" else str
    least, largest = values.min(), values.max()
    if least == largest:
        return text(least)
    middle = sorted(values.ravel())[values.size // 2]
    return f"{text(least)} to {text(largest)} (median {text(middle)})"


def badge(verdict: str) -> str:
    """Return a verdict as HTML: a word and a sign on a colour that suits white and black pages."""
    sign, color = _BADGES.get(verdict, ("", "#515962"))
    style = (
        f"background-color:{color};color:#ffffff;border-radius:1em;padding:0.1em 0.6em;"
        "white-space:nowrap"
    )
    return f'<span style="{style}">{sign}{escape(verdict)}</span>'


def _pairs(items):
    return ", ".join(f"{name}={brief(value)}" for name, value in items)


def literal(text: str) -> str:
    """Return text for Markdown in which no sign means anything."""
    return re.sub(r"([\\`*_{}\[\]<>#|$])", r"\\\1", text)
