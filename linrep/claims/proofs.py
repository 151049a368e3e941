"""Derivations of what is proved, read from the pages of proofs."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeVar

from linrep._lib import validation as check
from linrep._lib.arguments import checked
from linrep._lib.papers import files
from linrep.claims.evidence import PROVED
from linrep.claims.sections import Section, sections

if TYPE_CHECKING:
    from linrep.claims.measurements import Measurement

#: Of each paper a page, in its folder.
FILE = "proofs.md"

Item = TypeVar("Item", bound="Measurement")


def proved(item: Item, *, but: Collection[str] = ()) -> Item:
    """Return a measurement of what a derivation settles: of a group, each of its parts.

    Parameters
    ----------
    item : Measurement
    but : collection of str, optional
        Names of parts, such as readings, that the derivation does not cover.

    Returns
    -------
    Measurement
        With strength "proved".
    """
    from linrep.claims.measurements import Measurement, Readings, Together

    check.instance("item", item, Measurement)
    if isinstance(item, Together | Readings):
        return replace(item, parts=[proved(part, but=but) for part in item.parts])
    return item if item.name in but else replace(item, strength=PROVED)


@cache
def proofs() -> Mapping[str, Section]:
    """Return the derivations by statement: the sections of the papers' pages of proofs."""
    by_id = {name: item for path in files(FILE) for item in sections(path) for name in item.ids}
    return MappingProxyType(by_id)


checked(globals())
