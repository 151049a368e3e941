"""What is printed: texts of data can hold what a terminal or a spreadsheet would obey."""

from __future__ import annotations

import re

import click

# Controls but for tabs and line breaks, and marks that turn the direction of a text.
_OBEYED = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]"
)
_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # how a spreadsheet's formulas may begin


def echo(text="", *, err=False):
    """Print a line, control characters as their escapes."""
    click.echo(printable(str(text)), err=err)


def printable(text):
    """Return a text with escapes in place of control characters."""
    return _OBEYED.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def for_spreadsheets(table):
    """Return a table whose texts are no formulas: those that could be begin with an apostrophe."""

    def harmless(value):
        return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value

    return table.map(harmless)
