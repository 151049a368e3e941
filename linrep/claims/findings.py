"""Why statements fail: the findings, read from the page that holds them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType

PATH = Path(__file__).with_name("findings.md")

#: What a failure concerns, from the least to the gravest.
SEVERITIES = ("misprint", "constant", "proof step", "statement", "conclusion")

_HEADING = re.compile(r"^#{3,4} ((?:`[\w.-]+`(?:, )?)+): (.+)$", re.MULTILINE)
_SEVERITY = re.compile(r"^Severity: ([a-z ]+)\.$", re.MULTILINE)


@dataclass(frozen=True)
class Finding:
    """What is wrong with one or more statements, and why.

    Attributes
    ----------
    ids : tuple of str
        The statements.
    headline : str
        What is wrong, in a line.
    severity : str
        One of `SEVERITIES`; "" where none is given.
    reason : str
        The first paragraph.
    text : str
        All of it, in Markdown, with the reproduction.
    """

    ids: tuple[str, ...]
    headline: str
    severity: str
    reason: str
    text: str


@cache
def findings(path: Path = PATH) -> Mapping[str, Finding]:
    """Return the findings by statement.

    Parameters
    ----------
    path : path
        The page. A heading names statements and says what is wrong with them.

    Raises
    ------
    ValueError
        If a severity is none of `SEVERITIES`.
    """
    page = path.read_text(encoding="utf-8")
    found: dict[str, Finding] = {}
    headings = list(_HEADING.finditer(page))
    for place in headings:
        rest = page[place.end() :]
        following = re.search(r"^#{2,4} ", rest, re.MULTILINE)
        text = rest[: following.start() if following else None].strip()
        severity = _SEVERITY.search(text)
        name = severity.group(1) if severity else ""
        ids = tuple(re.findall(r"`([^`]+)`", place.group(1)))
        if name and name not in SEVERITIES:
            raise ValueError(f"{ids[0]}: severity must be one of {', '.join(SEVERITIES)}")
        plain = _SEVERITY.sub("", text).strip()
        reason = " ".join(plain.partition("\n\n")[0].split())
        found |= dict.fromkeys(ids, Finding(ids, place.group(2), name, reason, plain))
    return MappingProxyType(found)
