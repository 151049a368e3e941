"""What a verdict rests on, looked for wherever it is read: a claim cannot say it of itself."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path

from linrep._lib.papers import paper_of, papers
from linrep.claims import proofs
from linrep.claims.certificates import checked_by
from linrep.claims.evidence import CERTIFIED, HOLDS, Evidence, Result, strengths_of_parts
from linrep.claims.stated import Stated, stated


def earned(
    found: Result, folder: Path | None = None, texts: Mapping[str, Stated] | None = None
) -> Result:
    """Return a result with the strength that its grounds give it, and what is missing.

    Parameters
    ----------
    found : Result
        With the strengths that its measurements have by themselves.
    folder : path, optional
        Of a user's file of claims, by default that of the paper, whose statements are listed.
    texts : mapping, optional
        The statements of the paper, where the caller has them.
    """
    texts = {} if folder else stated([paper_of(found.id)]) if texts is None else texts
    listed = texts.get(found.id)
    if listed and (listed.whole or any(each.asked for each in (found, *found.parts))):
        proved = {step for steps in checked_by(found.id).values() for step in steps}
        found = by_solvers(found, proved)
        if listed.whole and found.verdict == HOLDS and proved >= set(listed.whole):
            found = replace(found, strength=CERTIFIED, claimed=CERTIFIED)
    if not any(each.claimed != each.strength for each in (found, *found.parts)):
        return replace(found, missing="") if found.missing else found
    if folder is None and paper_of(found.id) in papers():
        folder = papers()[paper_of(found.id)].folder
    there = proofs.digest(found.id, folder) if folder else ""
    kept = listed.derivation if listed else found.derivation
    if there and kept in ("", there):
        covered = replace(proofs.covered(found), derivation=there)
        return replace(covered, missing=_missing(covered, "samples are statistical"))
    changed = "changed since it was verified: linrep verify --record looks at it again"
    lacks = f"{proofs.FILE} has no section headed `{found.id}`"
    why = f"its section of {proofs.FILE} has {changed}" if there else lacks
    return replace(found, missing=_missing(found, why))


def by_solvers(found: Result, proved: Collection[str]) -> Result:
    """Return a result with the parts certified whose lines solvers prove.

    Parameters
    ----------
    found : Result
    proved : collection of str
        Names of the lines that they prove.
    """

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
