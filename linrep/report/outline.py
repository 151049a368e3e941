"""What stands where on the page: papers, their theorems, what is wrong in them, and all claims."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby

from linrep.claims import Claim
from linrep.claims.evidence import FAILS, HOLDS, UNDECIDED
from linrep.claims.findings import SEVERITIES, Finding
from linrep.claims.order import in_order
from linrep.report.entries import Entry

_THEOREM = re.compile(r"(?:Theorem|Corollary)\s+[\w.]*\w")


@dataclass(frozen=True)
class Statement:
    """A statement and its corrected versions."""

    printed: Entry
    corrected: tuple[Entry, ...] = ()

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The statement as printed, then its corrected versions."""
        return self.printed, *self.corrected


@dataclass(frozen=True)
class Theorem:
    """A theorem or corollary as printed, and other statements on it: readings, constants, rates."""

    name: str
    statement: Statement
    related: tuple[Statement, ...] = ()

    @property
    def constants(self) -> tuple[Statement, ...]:
        """The related statements that say how large the theorem's constants are."""
        return tuple(item for item in self.related if item.printed.claim.id.endswith(".constants"))

    @property
    def others(self) -> tuple[Statement, ...]:
        """The related statements that are not about constants."""
        return tuple(item for item in self.related if item not in self.constants)


@dataclass(frozen=True)
class Cause:
    """A finding with the claims that it explains, in their order."""

    finding: Finding
    entries: tuple[Entry, ...]


@dataclass(frozen=True)
class Paper:
    """A paper's part of the page."""

    name: str
    theorems: tuple[Theorem, ...]
    causes: tuple[Cause, ...]
    statements: tuple[Statement, ...]

    @property
    def entries(self) -> list[Entry]:
        """All claims of the paper."""
        return [entry for statement in self.statements for entry in statement.entries]


def theorem(claim: Claim) -> str:
    """Return the name of the theorem or corollary that a claim is about, "" if it is about none."""
    match = _THEOREM.match(claim.place)
    return match.group() if match else ""


def outline(entries: Iterable[Entry]) -> list[Paper]:
    """Put claims into the order of the papers, corrected versions with what they correct."""
    by_id = {entry.claim.id: entry for entry in entries}
    ordered = [by_id[claim.id] for claim in in_order(entry.claim for entry in by_id.values())]
    papers = []
    for name, group in groupby(ordered, key=lambda entry: entry.claim.paper):
        of_paper = list(group)
        statements = _statements(of_paper)
        papers.append(Paper(name, _theorems(statements), _causes(of_paper), statements))
    return papers


def _statements(entries):
    """Return the printed statements; a correction of what the page does not show is one as well."""
    ids = {entry.claim.id for entry in entries}
    return tuple(
        Statement(entry, tuple(each for each in entries if each.claim.corrects == entry.claim.id))
        for entry in entries
        if entry.claim.corrects not in ids
    )


def _theorems(statements):
    named: dict[str, list[Statement]] = {}
    for statement in statements:
        if name := theorem(statement.printed.claim):
            named.setdefault(name, []).append(statement)
    return tuple(Theorem(name, about[0], tuple(about[1:])) for name, about in named.items())


def _causes(entries):
    """Return the findings on what neither holds nor is open, the most severe first."""
    explained: dict[Finding, list[Entry]] = {}
    for entry in entries:
        if entry.finding and entry.verdict not in (HOLDS, UNDECIDED):
            explained.setdefault(entry.finding, []).append(entry)
    causes = [Cause(finding, tuple(explained_by)) for finding, explained_by in explained.items()]
    return tuple(sorted(causes, key=lambda cause: -_rank(cause.finding)))


def _rank(finding):
    return SEVERITIES.index(finding.severity) if finding.severity else -1


def list_pictured(papers: Iterable[Paper]) -> list[Entry]:
    """Return the entries whose evidence is shown at once: the theorems', and each cause's first."""
    chosen: dict[str, Entry] = {}
    for paper in papers:
        shown = [item.statement.printed for item in paper.theorems]
        shown += [_first(cause) for cause in paper.causes]
        chosen |= {entry.claim.id: entry for entry in shown}
    return list(chosen.values())


def _first(cause):
    failing = [entry for entry in cause.entries if entry.verdict == FAILS]
    return (failing or list(cause.entries))[0]
