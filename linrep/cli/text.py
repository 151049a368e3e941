"""What is printed: colours where a terminal shows them, tables that fit it, texts that are safe."""

from __future__ import annotations

import os
import re
import shutil
import sys
import textwrap
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import NamedTuple

import click

# Controls but for tabs and line breaks, and marks that turn the direction of a text.
_OBEYED = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]"
)
_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # how a spreadsheet's formulas may begin
_COLORS = {
    "holds": "green", "misprint": "blue", "fails": "red", "vacuous": "yellow",
    "undecided": "cyan", "error": "bright_red", "rejected": None, "title": "bright_white",
    "note": "yellow",
}  # fmt: skip
_NARROWEST = 16  # letters of the last column of a table, however narrow the terminal is
_SENTENCE = 30  # letters that a sentence takes at least
_GAP = "  "


class Painted(NamedTuple):
    """A text in the colour of a kind: a verdict, "error", "title" or "note"."""

    text: str
    kind: str

    def __str__(self):
        return self.text


def verdict(text: str) -> Painted:
    """Return a verdict in its colour."""
    return Painted(text, text if text in _COLORS else "")


def say_count(count: int, noun: str) -> str:
    """Return how many there are of something: 1 cell, 2 cells."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def echo(*parts, err=False):
    """Print parts as one line, control characters as their escapes, painted ones in colour."""
    colored = has_color(sys.stderr if err else sys.stdout)
    texts = [_style(part) if colored else printable(str(part)) for part in parts]
    click.echo("".join(texts), err=err, color=colored)


def echo_error(message):
    """Print what went wrong, as one line."""
    echo(Painted("Error:", "error"), f" {message}", err=True)


def has_color(stream) -> bool:
    """Tell whether a stream is shown in colour: on terminals, unless the environment decides.

    NO_COLOR forbids it, FORCE_COLOR asks for it, and the first one wins.
    """
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR", "0") not in ("", "0"):
        return True
    return _is_terminal(stream) and os.environ.get("TERM") != "dumb"


def width() -> int | None:
    """Return the columns there are: COLUMNS, or the terminal's; None where nothing limits them."""
    if _is_terminal(sys.stdout) or os.environ.get("COLUMNS", "").isdecimal():
        return max(shutil.get_terminal_size().columns, _NARROWEST)
    return None


def printable(text):
    """Return a text with escapes in place of control characters."""
    return _OBEYED.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def wrap(text: str, indent: str = "") -> str:
    """Return a text broken into lines of the terminal's width, those after the first indented."""
    columns = width()
    if columns is None:
        return text
    return textwrap.fill(
        text, max(columns, len(indent) + _NARROWEST), subsequent_indent=indent,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip


def table(
    head: Sequence[str],
    rows: Iterable[Sequence[str | Painted]],
    *,
    left_columns: int = 1,
    widths: Sequence[int] | None = None,
) -> None:
    """Print rows under their heads, the first so many columns to the left, others to the right.

    On a terminal that is too narrow the table comes in several parts, each of which begins with the
    first column. Where the `widths` of the columns are known before the rows are, each row is
    printed as soon as it comes, unless there are several parts.
    """
    if widths is None:
        rows = list(rows)
        columns = zip(head, *rows, strict=True)
        widths = [max(len(str(cell)) for cell in column) for column in columns]
    parts = list(_parts(widths))
    if len(parts) > 1:
        rows = list(rows)
    for indices in parts:
        for line in chain([tuple(head)], rows):
            cells = [line[index] for index in indices]
            while len(cells) > 1 and not str(cells[-1]):  # and no blanks in their place
                cells.pop()
            wide = [widths[index] for index in indices[: len(cells)]]
            echo(*_align(cells, wide, sum(index < left_columns for index in indices)))
        if indices[-1] < len(widths) - 1:
            echo()


def print_listing(rows: Iterable[Sequence[str | Painted]]) -> None:
    """Print rows whose last column is a sentence, cut on a terminal to what has room.

    Columns beside the first two go before the sentence gets too short to be one; where there is no
    room even so, it stands below, whole.
    """
    rows = list(rows)
    room, columns = None, width()
    *widths, _ = [max(map(len, map(str, column))) for column in zip(*rows, strict=True)]
    if columns is not None:
        while sum(widths) + len(_GAP) * len(widths) > columns - _SENTENCE and len(widths) > 2:
            widths.pop()
            rows = [(*row[: len(widths)], row[-1]) for row in rows]
        room = columns - sum(widths) - len(_GAP) * len(widths)
    if room is not None and room < _SENTENCE:
        for *cells, last in rows:
            echo(*_align(cells, widths, len(cells)))
            indent = _GAP * 2
            echo(wrap(f"{indent}{last}", indent))
        return
    for *cells, last in rows:
        text = str(last)
        if room is not None and len(text) > room:
            text = f"{text[: room - 1].rstrip()}…"
        echo(*_align([*cells, text], [*widths, 0], len(cells) + 1))


def frame(data, digits: int = 5) -> None:
    """Print a DataFrame, numbers to so many digits, in parts where the terminal is too narrow."""
    columns = width()
    text = data.to_string(index=False, float_format=f"{{:.{digits}g}}".format)
    if columns is None or max(map(len, text.splitlines()), default=0) <= columns:
        echo(text)
        return
    shown = [
        data[[name]].to_string(index=False, float_format=f"{{:.{digits}g}}".format).splitlines()
        for name in data
    ]
    head, *rows = zip(*([line.strip() for line in column] for column in shown), strict=True)
    table(head, rows, left_columns=0)


def for_spreadsheets(table):
    """Return a table whose texts are no formulas: those that could be begin with an apostrophe."""

    def harmless(value):
        return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value

    return table.map(harmless)


def _is_terminal(stream):
    try:
        return stream.isatty()
    except (AttributeError, ValueError):  # closed, or replaced by something else
        return False


def _style(part):
    text = printable(str(part))
    kind = part.kind if isinstance(part, Painted) else ""
    if kind == "title":
        return click.style(text, bold=True)
    color = _COLORS.get(kind)
    return click.style(text, fg=color, bold=True if kind == "error" else None) if color else text


def _align(cells, widths, left_columns):
    """Return the parts of a line: painted cells stay so, with blanks around them."""
    parts: list[str | Painted] = []
    for index, (cell, wide) in enumerate(zip(cells, widths, strict=True)):
        blank = " " * max(0, wide - len(str(cell)))
        last = index == len(cells) - 1
        gap = "" if last else _GAP
        parts += [cell, "" if last else blank + gap] if index < left_columns else [blank, cell, gap]
    return parts


def _parts(widths):
    """Yield the places of the columns that stand beside each other; the first one always."""
    columns = width()
    every = list(range(len(widths)))
    if columns is None or sum(widths) + len(_GAP) * (len(widths) - 1) <= columns:
        yield every
        return
    part = [0]
    for index in every[1:]:
        taken = sum(widths[other] + len(_GAP) for other in part) + widths[index]
        if taken > columns and len(part) > 1:
            yield part
            part = [0]
        part.append(index)
    yield part
