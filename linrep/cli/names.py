"""The names that come with linrep, read without loading what they stand for.

A wrong name is answered at once this way.
"""

from __future__ import annotations

import re
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path

from linrep._lib import papers as known_papers
from linrep._lib import records
from linrep._lib.scripts import available
from linrep._lib.suggest import unknown

#: A statement in a paper's sources.
_STATED = re.compile(r'\b(?:statement|corrected)\(\s*"([^"]+)"')


def claims() -> list[str]:
    """Return the ids of the claims that the papers' ledgers record."""
    found: list[str] = []
    for path in filter(records.is_there, known_papers.ledgers()):
        with suppress(ValueError, TypeError, LookupError, OSError):  # who reads it says so
            found += [entry["id"] for entry in records.content(path)]
    return found


def is_claim(name) -> bool:
    """Tell whether a name is a claim's, recorded or not."""
    return name in claims() or ("." in name and name in _stated())


def papers() -> list[str]:
    """Return the names of the papers."""
    return list(known_papers.papers())


def check_claims(patterns, what="no claim", others=(), otherwise="linrep verify --list lists them"):
    """Raise ValueError for an id or a pattern that no claim matches.

    It is said to be none of `what`, which has `others` that may have been meant beside claims.
    """
    recorded = claims() if patterns else []
    for pattern in patterns:
        if any(fnmatchcase(name, pattern) for name in recorded):
            continue
        if pattern in papers():
            raise ValueError(f"{pattern!r} is a paper; '{pattern}.*' selects all of its claims")
        if not any(fnmatchcase(name, pattern) for name in _stated()):  # and not recorded yet
            known = [*recorded, *others, *(f"{paper}.*" for paper in papers())]
            raise ValueError(unknown(what, pattern, known, otherwise=otherwise))


def match_spelling(patterns, known) -> list[str]:
    """Return ids and patterns as the known names are spelled, whatever capitals they have.

    What matches nothing either way stays as it is.
    """
    spellings = []
    for pattern in patterns:
        low = pattern.casefold()
        matching = [name for name in known if fnmatchcase(name.casefold(), low)]
        is_spelled = any(fnmatchcase(name, pattern) for name in matching)
        spellings += [pattern] if is_spelled else matching or [pattern]
    return spellings


def check_papers(names) -> None:
    """Raise ValueError for a name that is no paper's."""
    for name in names:
        if name not in papers():
            raise ValueError(unknown("no paper", name, papers()))


def check_experiments(names) -> None:
    """Raise ValueError for an id or a pattern that no experiment matches, and for no file."""
    for name in names:
        if name.endswith(".py"):
            if not Path(name).is_file():
                raise ValueError(f"no such file: {name}")
        elif not any(fnmatchcase(each, name) for each in available()):
            groups = dict.fromkeys(f"{each.partition('.')[0]}.*" for each in available())
            raise ValueError(unknown("unknown experiment", name, [*available(), *groups]))


def _stated():
    """Return the ids of the statements in the papers' sources, recorded or not."""
    return [
        name
        for path in known_papers.files("*.py")
        for name in _STATED.findall(path.read_text("utf-8", errors="replace"))
    ]
