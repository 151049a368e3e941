"""Derivations of what is proved, read from the pages that hold them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType

from linrep.claims.sections import Section, sections

#: Of each paper a page, beside the statements.
PATHS = tuple(sorted(Path(__file__).parent.glob("*/proofs.md")))


@cache
def proofs() -> Mapping[str, Section]:
    """Return the derivations by statement: the sections of the papers' pages of proofs."""
    found = {name: item for path in PATHS for item in sections(path) for name in item.ids}
    return MappingProxyType(found)
