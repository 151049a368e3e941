"""The lists of what papers' statements say, written from their sources."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from linrep._lib import atomic as files
from linrep._lib.papers import papers
from linrep.claims.certificates import questions
from linrep.claims.claim import claims
from linrep.claims.stated import FILE, listing, read, texts_of


def listings(names: Iterable[str]) -> dict[Path, str]:
    """Return what the lists of papers hold where they are as their sources are, by path.

    Parameters
    ----------
    names : iterable of str
        Of the papers.
    """
    made = {}
    for name in names:
        steps = questions([name])
        items = [texts_of(item, steps.get(id)) for id, item in claims([name]).items()]
        made[papers()[name].folder / FILE] = listing(items)
    return made


def record(names: Iterable[str]) -> None:
    """Write the lists of papers.

    Parameters
    ----------
    names : iterable of str
        Of the papers.
    """
    for path, text in listings(names).items():
        if not path.is_file() or path.read_text("utf-8") != text:
            files.write(path, text.encode())
    read.cache_clear()
