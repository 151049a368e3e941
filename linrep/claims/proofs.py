"""Derivations of what checks say is proved, read from the pages of proofs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import cache, lru_cache
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

from linrep._lib import validation as check
from linrep._lib.papers import files, paper_of, papers
from linrep.claims.evidence import PROVED, Evidence
from linrep.claims.sections import Section, sections

if TYPE_CHECKING:
    from linrep.claims.measurements import Measurement

#: Of each paper a page, in its folder; of claims of your own, beside their file.
FILE = "proofs.md"

Item = TypeVar("Item", bound="Measurement")
Found = TypeVar("Found", bound=Evidence)


def proved(item: Item, *, but: Collection[str] = ()) -> Item:
    """Say that a derivation covers what is measured: of a group, each of its parts.

    It is no more than said: the verdict is "derived" where the page of proofs, ``proofs.md`` beside
    the file of the claim, has a section headed with the claim's id.

    Parameters
    ----------
    item : Measurement
    but : collection of str, optional
        Names of parts, such as readings, that the derivation does not cover.

    Returns
    -------
    Measurement
        With strength "proved", which `linrep verify` looks for a ground of.
    """
    from linrep.claims.measurements import Measurement, Readings, Together

    check.instance("item", item, Measurement)
    if isinstance(item, Together | Readings):
        return replace(item, parts=[proved(part, but=but) for part in item.parts])
    return item if item.name in but else replace(item, strength=PROVED)


def proofs() -> Mapping[str, Section]:
    """Return the derivations by statement: the sections of the papers' pages of proofs."""
    return _of_pages(tuple(files(FILE)))


@cache
def _of_pages(paths):
    by_id = {name: item for path in paths for item in sections(path) for name in item.ids}
    return MappingProxyType(by_id)


def derivation(id: str, folder: Path) -> Section | None:
    """Return the section about a statement in a folder's page, None where there is none."""
    path = folder / FILE
    if not path.is_file():
        return None
    section = _sections(path, path.stat().st_mtime_ns).get(id)
    return section if section and section.text else None


def digest(id: str, folder: Path) -> str:
    """Return the SHA-256 of the section about a statement in a folder's page, "" of none."""
    section = derivation(id, folder)
    return sha256(section.text.encode()).hexdigest() if section else ""


def folder_of(id: str, check: Callable[..., Any]) -> tuple[Path, bool]:
    """Return the folder with the page about a claim, and whether a paper's package makes it.

    An id alone does not tell: a file may make a claim of the same id as a paper.
    """
    paper = papers().get(paper_of(id))
    if paper and check.__module__.startswith(f"{paper.module}."):
        return paper.folder, True
    source = inspect.getsourcefile(inspect.unwrap(check))
    return Path(source).parent if source else Path(), False


def derived(found: Found, id: str, check: Callable[..., Any]) -> Found:
    """Return what a check has just found, as strong as a derivation makes it that is there."""
    return covered(found) if digest(id, folder_of(id, check)[0]) else found


def covered(item: Found) -> Found:
    """Return some evidence, and its parts, as strong as the derivation that it claims makes it."""
    return replace(
        item, strength=item.claimed or item.strength, parts=tuple(map(covered, item.parts))
    )


@lru_cache(maxsize=32)
def _sections(path, changed):
    return {name: item for item in sections(path) for name in item.ids}
