"""What is printed: colours where a terminal shows them, tables, texts that are safe."""

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
    "holds": "green", "misprint": "blue", "depends on the reading": "magenta", "fails": "red",
    "vacuous": "yellow",
    "undecided": "cyan", "error": "bright_red", "note": "yellow",
}  # fmt: skip
#: A verdict at the beginning of a line of a text, or behind that word.
_VERDICT = re.compile(rf"(  (?:verdict +)?)({'|'.join(_COLORS)})(?= )")
_NARROWEST = 40  # letters of a line, however narrow the terminal is
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
    return Painted(text, text)


def say_count(count: int, noun: str) -> str:
    """Return how many there are of something: 1 cell, 2 cells."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def echo(*parts, err=False):
    """Print parts as one line, control characters as their escapes, painted ones in colour."""
    colored = has_color(sys.stderr if err else sys.stdout)
    texts = [_style(part) if colored else printable(str(part)) for part in parts]
    click.echo("".join(texts), err=err, color=colored)


def echo_text(text):
    """Print the lines of a text, verdicts that begin them in colour."""
    for line in text.splitlines():
        if found := _VERDICT.match(line):
            echo(found[1], verdict(found[2]), line[found.end() :])
        else:
            echo(line)


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
    if (columns := width()) is None:
        return text
    return textwrap.fill(
        text, columns, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def table(
    head: Sequence[str],
    rows: Iterable[Sequence[str | Painted]],
    *,
    left_columns: int = 1,
    widths: Sequence[int] | None = None,
) -> None:
    """Print rows under their heads, the first so many columns to the left, others to the right.

    Where the `widths` of the columns are known before the rows are, each row is printed as soon as
    it comes.
    """
    if widths is None:
        rows = list(rows)
        widths = [max(map(len, map(str, each))) for each in zip(head, *rows, strict=True)]
    for cells in chain([head], rows):
        _echo_row(cells, widths, left_columns)


def print_listing(rows: Iterable[Sequence[str | Painted]]) -> None:
    """Print rows whose last column is a sentence, cut on a terminal to what has room.

    Columns beside the first two go before the sentence gets too short to be one.
    """
    rows, columns = list(rows), width()
    *widths, _ = (max(map(len, map(str, column))) for column in zip(*rows, strict=True))
    while columns is not None and len(widths) > 2 and _room(columns, widths) < _SENTENCE:
        widths.pop()
        rows = [(*row[: len(widths)], row[-1]) for row in rows]
    for *cells, last in rows:
        text = str(last)
        if columns is not None and len(text) > (room := max(_room(columns, widths), _SENTENCE)):
            text = f"{text[: room - 1].rstrip()}…"
        _echo_row([*cells, text], [*widths, 0], len(widths) + 1)


def _room(columns, widths):
    return columns - sum(widths) - len(_GAP) * len(widths)


def _echo_row(cells, widths, left_columns):
    """Print cells, painted ones with blanks around them, and no blanks behind the last."""
    parts: list[str | Painted] = []
    for place, (cell, wide) in enumerate(zip(cells, widths, strict=True)):
        blank = " " * (wide - len(str(cell)))
        parts += [cell, blank, _GAP] if place < left_columns else [blank, cell, _GAP]
    while parts and not str(parts[-1]).strip():
        parts.pop()
    echo(*parts)


def frame(data, digits: int = 5) -> None:
    """Print a DataFrame, numbers to so many digits, in parts where the terminal is too narrow."""
    form = f"{{:.{digits}g}}".format
    echo(data.to_string(index=False, float_format=form, line_width=width()))


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
    if kind != "title" and kind not in _COLORS:
        return text
    return click.style(text, fg=_COLORS.get(kind), bold=kind in ("title", "error") or None)
