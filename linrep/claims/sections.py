"""Sections of a page that are headed with the statements they are about."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from markdown_it import MarkdownIt

_MARKDOWN = MarkdownIt("zero").enable(["heading", "fence", "backticks"])


class Section(NamedTuple):
    """The ids of the statements, the rest of the heading, the text in Markdown, and its line."""

    ids: tuple[str, ...]
    headline: str
    text: str
    line: int


def sections(path: Path) -> Iterator[Section]:
    """Yield the sections of a page whose heading reads "`id`, `id`: headline"."""
    page = path.read_text(encoding="utf-8")
    tokens = _MARKDOWN.parse(page)
    lines = page.splitlines()
    headings = [
        (heading.map, title)
        for heading, title in pairwise(tokens)
        if heading.type == "heading_open" and heading.map
    ]
    ends = [lines_of[0] for lines_of, _ in headings[1:]]
    for (lines_of, title), end in zip(headings, [*ends, len(lines)], strict=True):
        statements, _, headline = title.content.partition(": ")
        (line,) = _MARKDOWN.parseInline(statements)
        ids = tuple(part.content for part in line.children or () if part.type == "code_inline")
        if ids:
            text = "\n".join(lines[lines_of[1] : end]).strip()
            yield Section(ids, headline, text, lines_of[0] + 1)


def unescaped(text: str) -> str:
    """Return Markdown for readers of plain text: stars and underscores are what they are."""
    return text.replace(r"\*", "*").replace(r"\_", "_")
