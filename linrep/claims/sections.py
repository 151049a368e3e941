"""Sections of a page that are headed with the statements they are about."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_HEADING = re.compile(r"^#{3,4} ((?:`[\w.-]+`(?:, )?)+): (.+)$", re.MULTILINE)


class Section(NamedTuple):
    """The ids of the statements, the rest of the heading, and the text in Markdown."""

    ids: tuple[str, ...]
    headline: str
    text: str


def sections(path: Path) -> Iterator[Section]:
    """Yield the sections of a page whose heading reads "`id`, `id`: headline".

    Parameters
    ----------
    path : path
    """
    page = path.read_text(encoding="utf-8")
    for place in _HEADING.finditer(page):
        rest = page[place.end() :]
        following = re.search(r"^#{2,4} ", rest, re.MULTILINE)
        text = rest[: following.start() if following else None].strip()
        yield Section(tuple(re.findall(r"`([^`]+)`", place.group(1))), place.group(2), text)


def unescaped(text: str) -> str:
    """Return Markdown for readers of plain text: stars and underscores are what they are."""
    return re.sub(r"\\([*_])", r"\1", text)
