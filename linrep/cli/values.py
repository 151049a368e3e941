"""Texts of the command line and of sweep files turned into values."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

from linrep._lib.memory import PER_RECORD, require

_WORDS = {"true": True, "false": False, "none": None}
_RANGE = re.compile(r"(?P<start>[^:]+):(?P<stop>[^:]+)(?::(?P<step>[^:]+))?")
_POINTS = re.compile(r"(?P<kind>log|lin)(?P<count>\d+)")
_PARAMETER = re.compile(
    r"""(?P<name>[^=,]*[^=,\s])\s*=\s*(?P<value>"(?:[^"\\]|\\.)*"|[^,]*)\s*(?:,(?=.)|$)""",
    re.DOTALL,
)
#: Values of an axis, and cells of a grid.
_MOST = 1_000_000
_COUNTS, _STEPS = (1, 10**9), (0.0, 1e12)
#: What the numbers of an algorithm's axes may be, ends included, but 0 where it is no count.
_RANGES: dict[str, tuple[float, float]] = {
    **dict.fromkeys(("n", "d", "k", "p"), (1, 10**7)),
    **dict.fromkeys(("m", "per_client", "entries", "participants", "clusters"), _COUNTS),
    **dict.fromkeys(("local_steps", "iterations", "workers", "batch"), _COUNTS),
    "rounds": (0, 10**9),
    **dict.fromkeys(("step_size", "head_step_size", "inner_step_size"), _STEPS),
    "regularizer_step_size": _STEPS,
    **dict.fromkeys(("noise", "gradient_noise"), (0.0, 1e12)),
    "participation": (0.0, 1.0),
}
_WHOLE = ("n", "d", "k", "p", "m", "rounds")
_MAY_BE_ZERO = ("noise", "gradient_noise", "rounds")


def read_axis(name: str, text: str) -> list[Any]:
    """Return the values of an axis written as text.

    Values are separated by commas: numbers, true, false, none, words, and ranges, which include
    their ends: ``2:10`` (integers), ``2:10:4`` (with a step), ``0:1:lin5`` (five points) and
    ``10:1000:log5`` (five log-spaced points: integers if the ends are, so ``1.0:10:log5`` for
    others).
    """
    values: list[Any] = []
    for item in text.split(","):
        item = item.strip()
        if not item:
            raise ValueError(f"--{name}: a value is missing in {text!r}")
        head, colon, _ = item.partition(":")
        if colon and (not head or _is_number(head)):
            values += _read_range(name, item)
        else:
            values.append(read_value(item))
    return values


def check_ranges(axes: Mapping[str, Any]) -> None:
    """Raise ValueError for a number that is none of an algorithm's axis, or that nobody means."""
    for name, values in axes.items():
        low, high = _RANGES.get(name, (-math.inf, math.inf))
        for value in values if isinstance(values, list) else [values]:
            if name in _WHOLE and not isinstance(value, int | float):
                raise ValueError(f"--{name} must be an integer, got {value!r}")
            if not isinstance(value, int | float) or isinstance(value, bool):
                continue
            if not math.isfinite(value):
                raise ValueError(f"--{name} must be finite, got {value}")
            if isinstance(high, int) and value != int(value):
                raise ValueError(f"--{name} must be an integer, got {value}")
            open_below = low == 0 and name not in _MAY_BE_ZERO
            if not low <= value <= high or (open_below and value == 0):
                least = f"above {low:g}" if open_below else f"at least {low:g}"
                most = f"{high:,}" if isinstance(high, int) else f"{high:g}"
                raise ValueError(f"--{name} must be {least} and at most {most}, got {value}")


def check_rounds(axes: Mapping[str, Any]) -> None:
    """Raise ValueError for more rounds than there is memory for, if one in `record` is recorded."""

    def numbers(name):
        values = axes.get(name, [])
        return [
            int(value)
            for value in (values if isinstance(values, list) else [values])
            if isinstance(value, int | float) and math.isfinite(value) and value >= 1
        ]

    rounds, every = max(numbers("rounds"), default=0), max(numbers("record"), default=1)
    require(
        "the metrics", PER_RECORD * (rounds // every), instead="take fewer rounds",
        **{"--rounds": rounds},
    )  # fmt: skip


def check_cells(axes: Mapping[str, Any], zipped: Iterable[Iterable[str]] = ()) -> None:
    """Raise ValueError for a grid of more cells than anybody can run."""
    together = {name for group in zipped for name in list(group)[1:]}
    sizes = {
        name: len(values)
        for name, values in axes.items()
        if isinstance(values, list) and name not in together
    }
    cells = math.prod(sizes.values())
    if cells > _MOST:
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
        if re.fullmatch(r"-[a-zA-Z]\w*", flag):
            raise ValueError(f"unexpected argument {flag!r}; did you mean -{flag}?")
        if not flag.startswith("--") or flag == "--":
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
    return _number(text) if _is_number(text) else text


def read_cell(text: str) -> dict[str, Any]:
    """Return the parameters written as ``n=10,m=5``, with values as in a cell's name."""
    cell: dict[str, Any] = {}
    position = 0
    while position < len(text) or not cell:
        match = _PARAMETER.match(text, position)
        if not match:
            raise ValueError(f"a cell is given as NAME=VALUE,NAME=VALUE, got {text!r}")
        name, value = match["name"].strip(), match["value"].strip()
        if value.startswith('"'):
            try:
                cell[name] = json.loads(value)
            except ValueError:
                raise ValueError(f"{value} is not a quoted text, in the cell {text!r}") from None
        else:
            cell[name] = None if value == "null" else read_value(value)
        position = match.end()
    return cell


def read_shard(text: str) -> tuple[int, int]:
    """Return the pair of ``i/N``."""
    match = re.fullmatch(r"(\d+)/(\d+)", text)
    if not match:
        raise ValueError(f"--shard must be i/N, such as 2/8, got {text!r}")
    if not 1 <= int(match[1]) <= int(match[2]):
        raise ValueError(f"--shard: i must be between 1 and {match[2]}, got {match[1]}")
    return int(match[1]), int(match[2])


def read_names(names: str | Iterable[str]) -> list[str]:
    """Return names given as a list, or in one text, separated by commas."""
    return [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)


def _read_range(name, item):
    match = _RANGE.fullmatch(item)
    if not match or not _is_number(match["start"]) or not _is_number(match["stop"]):
        raise ValueError(f"--{name}: {item!r} is not a range; write START:STOP[:STEP], in numbers")
    start, stop = _number(match["start"]), _number(match["stop"])
    are_integers = isinstance(start, int) and isinstance(stop, int)
    if not (math.isfinite(start) and math.isfinite(stop)) or stop < start:
        raise ValueError(f"--{name}: {item!r} must go up from one finite number to another")
    points = _POINTS.fullmatch(match["step"] or "")
    if points:
        count = int(points["count"])
        if not 2 <= count <= _MOST:
            raise ValueError(f"--{name}: {item!r} must have 2 to {_MOST:,} points, got {count:,}")
        if points["kind"] == "log" and start <= 0:
            raise ValueError(f"--{name}: {item!r} must start above 0 to be log-spaced")
        if points["kind"] == "log":
            import numpy as np  # a tenth of a second that no other command needs

            # Twelve digits: libraries and processors differ in the last ones of a power, and a
            # parameter that differs is another parameter.
            values = [float(f"{value:.12g}") for value in np.geomspace(start, stop, count)]
            values[0], values[-1] = float(start), float(stop)
            return list(dict.fromkeys(map(round, values))) if are_integers else values
        low, high = Fraction(match["start"]), Fraction(match["stop"])
        return _plain(
            [low + (high - low) * index / (count - 1) for index in range(count)], are_integers
        )
    if match["step"] is None and not are_integers:
        raise ValueError(f"--{name}: {item!r} needs a step, such as {item}:lin5")
    if match["step"] is not None and not _is_number(match["step"]):
        raise ValueError(f"--{name}: the step in {item!r} must be a number, logN or linN")
    step = 1 if match["step"] is None else _number(match["step"])
    if not 0 < step < math.inf:
        raise ValueError(f"--{name}: the step in {item!r} must be above 0")
    # Fractions, so that the third of 0:1:0.1 is 0.3, as it would be if written out.
    low, width = Fraction(match["start"]), Fraction(match["step"] or 1)
    count = (Fraction(match["stop"]) - low) // width + 1
    if count > _MOST:
        many = f"{count:,}" if count < 10**15 else f"about {float(count):.0e}"
        spaced = "log20" if start > 0 else "lin20"
        raise ValueError(
            f"--{name}: {item!r} has {many} values; at most {_MOST:,} are allowed: give a larger "
            f"step, or {match['start']}:{match['stop']}:{spaced} for 20 of them"
        )
    return _plain(
        [low + width * index for index in range(count)], are_integers and isinstance(step, int)
    )


def _plain(fractions, are_integers):
    """Return integers if that is what they all are and may be, else floats."""
    are_integers = are_integers and all(value.denominator == 1 for value in fractions)
    return [int(value) if are_integers else float(value) for value in fractions]


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
