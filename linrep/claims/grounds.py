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
    if found.stated and found.stated != found.statement():
        changed = "the statement has changed since: linrep verify --record looks at it again"
        return replace(found, strength="", claimed="", missing=changed)
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
    """Return a record with the parts certified whose lines solvers prove.

    The statement is certified by parts whose lines are the statement itself, and no more than
    derived by others.
    """

    def certified(part, which):
        proves = part.asked and part.verdict == HOLDS and which >= set(part.asked)
        return replace(part, strength=CERTIFIED, claimed=CERTIFIED) if proves else part

    whole = {name for name in proved if name in found.lines and found.lines[name].get("whole")}
    deciding = [certified(part, whole) for part in found.parts]
    parts = tuple(certified(part, set(proved)) for part in found.parts)
    return replace(found, parts=parts, **strengths_of_parts(deciding, found.verdict))


def _missing(found: Evidence, why: str) -> str:
    """Say why a verdict that its check calls proved has another strength."""
    if found.claimed == found.strength or not found.strength:
        return ""
    return f"its check says proved, and {why}; it is {found.strength}"
