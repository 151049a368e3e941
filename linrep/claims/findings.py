"""Why statements fail: the findings, read from the pages that state them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType

from linrep._lib.papers import files, paper_of
from linrep.claims.sections import sections

#: Of each paper a page, in its folder.
FILE = "findings.md"

#: What a failure concerns, from the least to the gravest.
SEVERITIES = ("slip", "constant", "proof step", "statement", "conclusion")

_SEVERITY = "Severity: "  # begins the line below a heading, which a full stop ends


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

    Examples
    --------
    >>> from linrep.claims.findings import findings
    >>> findings()["fedrep.theorem2"].severity
    'statement'
    """

    ids: tuple[str, ...]
    headline: str
    severity: str
    reason: str
    text: str


def findings(paths: tuple[Path, ...] | None = None) -> Mapping[str, Finding]:
    """Return the findings by statement.

    Parameters
    ----------
    paths : tuple of paths, optional
        The pages, by default of all papers. A heading names statements and says what is wrong
        with them.

    Raises
    ------
    ValueError
        If a severity is none of `SEVERITIES`.
    """
    return _read(tuple(files(FILE)) if paths is None else paths)


@cache
def _read(pages):
    by_id: dict[str, Finding] = {}
    for page, (ids, headline, text, line_number) in (
        (path, section) for path in pages for section in sections(path)
    ):
        name = ""
        if text.startswith(_SEVERITY):
            line, _, text = text.partition("\n")
            name, text = line.removeprefix(_SEVERITY).removesuffix("."), text.strip()
        if name and name not in SEVERITIES:
            known = f"severity must be one of {', '.join(SEVERITIES)}"
            raise ValueError(f"{page}:{line_number}: {ids[0]}: {known}, got {name!r}")
        reason = " ".join(text.partition("\n\n")[0].split())
        by_id |= dict.fromkeys(ids, Finding(ids, headline, name, reason, text))
    return MappingProxyType(by_id)


def finding(id: str) -> Finding | None:
    """Return why a statement fails, None where nothing is said; reads the page of its paper alone.

    Parameters
    ----------
    id : str
    """
    return findings(tuple(files(FILE, [paper_of(id)]))).get(id)
