"""Measurements that a derivation of the page of proofs covers, or that are exact."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

from linrep.claims import Cases, Measurement, Readings, Together
from linrep.claims.evidence import PROVED

Item = TypeVar("Item", bound=Measurement)


def proved(item: Item) -> Item:
    """Return a measurement as one that a derivation covers: of a group, each of its parts."""
    if isinstance(item, Together | Readings):
        return replace(item, parts=[proved(part) for part in item.parts])
    return replace(item, strength=PROVED)


def exact(cases: Any, *, strength: str = PROVED, **options: Any) -> Cases:
    """Return cases whose lhs and rhs are fractions, computed without rounding."""
    return Cases(cases, strength=strength, **options)
