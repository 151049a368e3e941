"""What a verdict rests on, looked for wherever it is read: a claim cannot say it of itself."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from linrep.claims import proofs
from linrep.claims.evidence import CERTIFIED, HOLDS, Evidence, strengths_of_parts
from linrep.claims.record import Record


def earned(found: Record, folder: Path | None) -> Record:
    """Return a record with the strength that its grounds give it, and what is missing."""
    if any(each.asked for each in found.parts):
        found = by_solvers(found, {name for names in found.proved_by.values() for name in names})
    if not any(each.claimed != each.strength for each in (found, *found.parts)):
        return replace(found, missing="") if found.missing else found
    there = proofs.digest(found.id, folder) if folder else ""
    if there and found.derivation in ("", there):
        covered = replace(proofs.covered(found), derivation=there)
        return replace(covered, missing=_missing(covered, "samples are statistical"))
    changed = "changed since it was verified: linrep verify --record looks at it again"
    lacks = f"{proofs.FILE} has no section headed `{found.id}`"
    why = f"its section of {proofs.FILE} has {changed}" if there else lacks
    return replace(found, missing=_missing(found, why))


def by_solvers(found: Record, proved: Collection[str]) -> Record:
    """Return a result with the parts certified whose lines solvers prove."""

    def certified(part):
        proves = part.asked and part.verdict == HOLDS and set(part.asked) <= set(proved)
        return replace(part, strength=CERTIFIED, claimed=CERTIFIED) if proves else part

    parts = tuple(map(certified, found.parts))
    return replace(found, parts=parts, **strengths_of_parts(parts, found.verdict))


def _missing(found: Evidence, why: str) -> str:
    """Say why a verdict that its check calls proved has another strength."""
    if found.claimed == found.strength or not found.strength:
        return ""
    return f"its check says proved, and {why}; it is {found.strength}"
