"""Texts of the command line and of sweep files turned into values."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

_WORDS = {"true": True, "false": False, "none": None}
_POINTS = re.compile(r"(log|lin)(\d+)")
#: Values of an axis, and cells of a grid.
_MOST = 1_000_000


def read_axis(name: str, text: str) -> list[Any]:
    """Return the values of an axis written as text.

    Values are separated by commas: numbers, true, false, none, words, and ranges, which include
    their ends: ``2:10`` (integers), ``2:10:4`` (with a step), ``0:1:lin5`` (five points) and
    ``10:1000:log5`` (five log-spaced points: integers if the ends are, so ``1.0:10:log5`` for
    others).
    """
    values: list[Any] = []
    for item in map(str.strip, text.split(",")):
        head, colon, _ = item.partition(":")
        try:
            if not item:
                raise ValueError(f"a value is missing in {text!r}")
            is_range = colon and (not head or _number(head) is not None)
            values += _read_range(item) if is_range else [read_value(item)]
        except ValueError as error:
            raise ValueError(f"--{name}: {error}") from None
    return values


def check_cells(axes: Mapping[str, Any], zipped: Iterable[Iterable[str]] = ()) -> None:
    """Raise ValueError for a grid of more cells than anybody can run."""
    together = {name for group in zipped for name in list(group)[1:]}
    lists = {name: value for name, value in axes.items() if isinstance(value, list)}
    sizes = {name: len(value) for name, value in lists.items() if name not in together}
    if (cells := math.prod(sizes.values())) > _MOST:
        of = " x ".join(f"{name} {size:,}" for name, size in sizes.items() if size > 1)
        raise ValueError(f"the grid has {cells:,} cells ({of}); at most {_MOST:,} are allowed")


def split_arguments(arguments: Iterable[str]) -> tuple[list[str], dict[str, str]]:
    """Return words, and the texts of options (``--n 10,100``, ``--n=10``) as they stand."""
    words: list[str] = []
    options: dict[str, str] = {}
    waiting = list(arguments)
    while waiting:
        flag = waiting.pop(0)
        if not flag.startswith("-"):
            words.append(flag)
            continue
        if not re.match("--.", flag):
            raise ValueError(f"unexpected argument {flag!r}; an axis is given as --n 10,100")
        name, equals, text = flag[2:].partition("=")
        name = name.replace("-", "_")
        if not equals:
            if not waiting or waiting[0].startswith("--"):
                raise ValueError(f"--{name} needs values, such as --{name} 10,100")
            text = waiting.pop(0)
        if name in options:
            raise ValueError(f"--{name} is given twice")
        options[name] = text
    return words, options


def read_value(text: str) -> Any:
    """Return one value: a number, true, false, none, or the text itself."""
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    number = _number(text)
    return text if number is None else number


def read_shard(text: str) -> tuple[int, int]:
    """Return the pair of ``i/N``."""
    match = re.fullmatch(r"(\d+)/(\d+)", text)
    if not match or not 1 <= int(match[1]) <= int(match[2]):
        raise ValueError(f"--shard must be i/N with i from 1 to N, such as 2/8, got {text!r}")
    return int(match[1]), int(match[2])


def read_names(names: str | Iterable[str]) -> list[str]:
    """Return names given as a list, or in one text, separated by commas."""
    return [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)


def _read_range(item):
    texts = item.split(":")
    ends = [_number(text) for text in texts[:2]]
    if not 2 <= len(texts) <= 3 or None in ends:
        raise ValueError(f"{item!r} is not a range; write START:STOP[:STEP], in numbers")
    start, stop = ends
    whole = all(isinstance(end, int) for end in ends)
    if not (math.isfinite(start) and math.isfinite(stop)) or stop < start:
        raise ValueError(f"{item!r} must go up from one finite number to another")
    if len(texts) == 2 and not whole:
        raise ValueError(f"{item!r} needs a step, such as {item}:lin5")
    # Fractions, so that the third of 0:1:0.1 is 0.3, as it would be if written out.
    low, high = map(Fraction, texts[:2])
    if points := _POINTS.fullmatch(texts[-1]):
        count = int(points[2])
        if not 2 <= count <= _MOST:
            raise ValueError(f"{item!r} must have 2 to {_MOST:,} points, got {count:,}")
        if points[1] == "log":
            return _log_spaced(item, start, stop, count, whole)
        return _plain([low + (high - low) * index / (count - 1) for index in range(count)], whole)
    step = 1 if len(texts) == 2 else _number(texts[2])
    if step is None or not 0 < step < math.inf:
        raise ValueError(f"the step in {item!r} must be a number above 0, logN or linN")
    width = Fraction(1 if len(texts) == 2 else texts[2])
    if (count := (high - low) // width + 1) > _MOST:
        raise ValueError(
            f"{item!r} has {float(count):,.0f} values; at most {_MOST:,} are allowed: give a "
            f"larger step, or {texts[0]}:{texts[1]}:lin20 for 20 of them"
        )
    return _plain([low + width * index for index in range(count)], whole and isinstance(step, int))


def _log_spaced(item, start, stop, count, whole):
    if start <= 0:
        raise ValueError(f"{item!r} must start above 0 to be log-spaced")
    import numpy as np  # a tenth of a second that no other command needs

    # Twelve digits: libraries and processors differ in the last ones of a power, and a parameter
    # that differs is another parameter.
    values = [float(f"{value:.12g}") for value in np.geomspace(start, stop, count)]
    values[0], values[-1] = float(start), float(stop)
    return list(dict.fromkeys(map(round, values))) if whole else values


def _plain(fractions, whole):
    """Return integers if that is what they all are and may be, else floats."""
    whole = whole and all(value.denominator == 1 for value in fractions)
    return [int(value) if whole else float(value) for value in fractions]


def _number(text):
    """Return the number that a text is, None if it is none."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return None
