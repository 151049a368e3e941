"""The lists of what papers' statements say, written from their sources."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from linrep._lib import atomic as files
from linrep._lib import records
from linrep._lib.papers import papers
from linrep.claims import proofs
from linrep.claims.certificates import questions, whole
from linrep.claims.claim import claims
from linrep.claims.stated import FILE, check, listing, texts_of


def listings(names: Iterable[str]) -> dict[Path, str]:
    """Return what the lists of papers hold where they are as their sources are, by path.

    Parameters
    ----------
    names : iterable of str
        Of the papers.
    """
    made = {}
    for name in names:
        steps, certain, folder = questions([name]), whole([name]), papers()[name].folder
        items = [
            texts_of(item, steps.get(id), certain.get(id, ()), proofs.digest(id, folder))
            for id, item in claims([name]).items()
        ]
        made[folder / FILE] = listing(items)
    return made


def record(names: Iterable[str]) -> None:
    """Write the lists of papers.

    Parameters
    ----------
    names : iterable of str
        Of the papers.

    Raises
    ------
    ValueError
        If one that is there is damaged.
    """
    made = listings(names)
    for path in made:
        check(path)
    for path, text in made.items():
        if not records.is_there(path) or files.read(path) != text.encode():
            files.write_together(path.parent, {path.name: text.encode()})
    records.forget()
