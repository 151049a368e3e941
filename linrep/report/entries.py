"""What the page is made of: claims with their outcomes, and figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from linrep.claims import Claim
from linrep.claims.evidence import Result
from linrep.claims.findings import Finding
from linrep.claims.sections import Section
from linrep.report import pictures


@dataclass(frozen=True)
class Entry:
    """A claim with its outcome.

    Attributes
    ----------
    claim : Claim
    result : Result or None
        None where nothing is known yet.
    stored : bool
        Whether `result` is a run in the store; else it is the ledger's.
    recorded : Result or None
        What the ledger has.
    corrected_by : tuple of str
        Ids of the corrected versions.
    command : str
        What gives `result`, and computes it where the store does not hold it.
    damaged : bool
        Whether the store has a run that cannot be read.
    stale : bool
        Whether all that the store has is of code, or of files it rests on, that was edited since.
    contradicts : bool
        Whether the run in the store has an outcome that the ledger's cannot be squared with.
    finding, proof : Finding, Section or None
        Why it fails, if it does; what the verdict is derived from, if that is known.
    checked_by : str
        Solvers that prove steps of its proof, "" where there are none.
    sensitivity : str
        The smallest changes of its constants that the check notices.
    picture : Picture or None
        All evidence; only a stored run has it.
    chief : Picture or None
        The panel that decides, where the page shows it at once.
    versions : str
    finished : datetime or None
        Of a stored run.
    """

    claim: Claim
    result: Result | None
    stored: bool
    recorded: Result | None
    corrected_by: tuple[str, ...]
    command: str
    damaged: bool = False
    stale: bool = False
    contradicts: bool = False
    finding: Finding | None = None
    proof: Section | None = None
    checked_by: str = ""
    sensitivity: str = ""
    picture: pictures.Picture | None = None
    chief: pictures.Picture | None = None
    versions: str = ""
    finished: datetime | None = None

    @property
    def verdict(self) -> str:
        """The verdict shown; "unchecked" where there is none."""
        return "unchecked" if self.result is None else self.result.verdict

    @property
    def kinds(self) -> tuple[str, ...]:
        """What kinds of statements the claim's measurements are about, where that is known."""
        return () if self.result is None else self.result.kinds

    @property
    def strength(self) -> str:
        """How firmly the verdict stands, "" where that is not known."""
        return "" if self.result is None else self.result.strength

    @property
    def missing(self) -> str:
        """What would give the verdict the strength that its check claims, "" where it has it."""
        return "" if self.result is None else self.result.missing

    @property
    def differs(self) -> bool:
        """Whether a stored run and the ledger give different verdicts."""
        if not self.stored or self.recorded is None:
            return False
        return self.verdict != self.recorded.verdict


@dataclass(frozen=True)
class Figure:
    """A figure that was drawn: its manifest, the numbers of its summary, its picture."""

    manifest: Mapping[str, Any]
    numbers: Sequence[Mapping[str, Any]]
    picture: pictures.Picture
    command: str


@dataclass(frozen=True)
class Report:
    """All that the page shows; `source` is the file of claims that are not linrep's."""

    entries: tuple[Entry, ...]
    figures: tuple[Figure, ...]
    made: datetime
    processors: int
    version: str
    source: str | None = None
