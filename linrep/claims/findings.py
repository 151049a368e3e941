"""Why statements fail: the findings, read from the pages that state them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import Path
from types import MappingProxyType

from linrep._lib import scripts
from linrep.claims.sections import sections

#: Of each paper a page, beside the statements.
PATHS = tuple(sorted(scripts.papers().glob("*/findings.md")))

#: What a failure concerns, from the least to the gravest.
SEVERITIES = ("misprint", "constant", "proof step", "statement", "conclusion")

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
def findings(paths: tuple[Path, ...] = PATHS) -> Mapping[str, Finding]:
    """Return the findings by statement.

    Parameters
    ----------
    paths : tuple of paths
        The pages. A heading names statements and says what is wrong with them.

    Raises
    ------
    ValueError
        If a severity is none of `SEVERITIES`.
    """
    found: dict[str, Finding] = {}
    for ids, headline, text in chain.from_iterable(map(sections, paths)):
        severity = _SEVERITY.search(text)
        name = severity.group(1) if severity else ""
        if name and name not in SEVERITIES:
            raise ValueError(f"{ids[0]}: severity must be one of {', '.join(SEVERITIES)}")
        plain = _SEVERITY.sub("", text).strip()
        reason = " ".join(plain.partition("\n\n")[0].split())
        found |= dict.fromkeys(ids, Finding(ids, headline, name, reason, plain))
    return MappingProxyType(found)
