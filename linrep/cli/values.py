"""Texts of the command line and of sweep files turned into values."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

_WORDS = {"true": True, "false": False, "none": None}
_RANGE = re.compile(r"(?P<start>[^:]+):(?P<stop>[^:]+)(?::(?P<step>[^:]+))?")
_POINTS = re.compile(r"(?P<kind>log|lin)(?P<count>\d+)")
_MOST = 1_000_000


def read_axis(name: str, text: str) -> list[Any]:
    """Return the values of an axis written as text.

    Values are separated by commas: numbers, true, false, none, words, and ranges, which include
    their ends: ``2:10`` (integers), ``2:10:4`` (with a step), ``10:1000:log5`` (five log-spaced
    points; integers if the ends are) and ``0:1:lin5``.

    Raises
    ------
    ValueError
        If a range is not of these kinds, or a value is missing.
    """
    values: list[Any] = []
    for item in text.split(","):
        item = item.strip()
        if not item:
            raise ValueError(f"--{name}: a value is missing in {text!r}")
        match = _RANGE.fullmatch(item)
        if match and _is_number(match["start"]):
            values += _read_range(name, item, match)
        else:
            values.append(read_value(item))
    return values


def read_value(text: str) -> Any:
    """Return one value: a number, true, false, none, or the text itself."""
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    return _number(text) if _is_number(text) else text


def read_cell(text: str) -> dict[str, Any]:
    """Return the parameters written as ``n=10,m=5``.

    Raises
    ------
    ValueError
        If it is not of this form.
    """
    cell = {}
    for item in text.split(","):
        name, equals, value = item.partition("=")
        if not equals or not name.strip():
            raise ValueError(f"a cell is given as NAME=VALUE,NAME=VALUE, got {text!r}")
        cell[name.strip()] = _WORDS.get("none") if value == "null" else read_value(value.strip())
    return cell


def read_shard(text: str) -> tuple[int, int]:
    """Return the pair of ``i/N``.

    Raises
    ------
    ValueError
        If it is not of this form.
    """
    match = re.fullmatch(r"(\d+)/(\d+)", text)
    if not match:
        raise ValueError(f"--shard must be i/N, such as 2/8, got {text!r}")
    return int(match[1]), int(match[2])


def _read_range(name, item, match):
    ends = match["start"], match["stop"]
    if not _is_number(match["stop"]):
        raise ValueError(f"--{name}: {item!r} is not a range; write START:STOP, both numbers")
    start, stop = map(_number, ends)
    whole = isinstance(start, int) and isinstance(stop, int)
    if not (math.isfinite(start) and math.isfinite(stop)) or stop < start:
        raise ValueError(f"--{name}: {item!r} must go up from one finite number to another")
    points = _POINTS.fullmatch(match["step"] or "")
    if points:
        count = int(points["count"])
        if not 2 <= count <= _MOST:
            raise ValueError(f"--{name}: {item!r} must have at least two points")
        if points["kind"] == "log" and start <= 0:
            raise ValueError(f"--{name}: {item!r} must start above 0 to be log-spaced")
        space = np.geomspace if points["kind"] == "log" else np.linspace
        values = space(start, stop, count)
        if whole:
            return list(dict.fromkeys(round(value) for value in values.tolist()))
        return values.tolist()
    if match["step"] is None and not whole:
        raise ValueError(f"--{name}: {item!r} needs a step, such as {item}:lin5")
    if match["step"] is not None and not _is_number(match["step"]):
        raise ValueError(f"--{name}: the step in {item!r} must be a number, logN or linN")
    step = 1 if match["step"] is None else _number(match["step"])
    if not (step > 0 and (stop - start) / step < _MOST):
        raise ValueError(f"--{name}: the step in {item!r} must be above 0, and not tiny")
    count = math.floor((stop - start) / step + 1e-9) + 1
    return [start + step * place for place in range(count)]


def _is_number(text):
    try:
        float(text)
    except ValueError:
        return False
    return True


def _number(text):
    try:
        return int(text)
    except ValueError:
        return float(text)
