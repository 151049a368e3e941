"""What tables of verdicts count: one rule for the README, the pages, the report and the shell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from linrep.claims.evidence import FAILS, HOLDS, VERDICTS
from linrep.claims.findings import findings
from linrep.claims.order import listed_items
from linrep.claims.record import Record

#: Kinds of statements, each counted apart, and what one is called.
KINDS = {
    "printed": "statement",
    "networks": "network statement",
    "corrected": "corrected form",
    "own": "own statement",
}
#: What stands above the columns of verdicts, and of what follows them.
HEADS = {"holds": "hold", "misprint": "misprints", "fails": "fail"}
MORE = ("causes", "on networks", "corrected forms", "own statements")
UNDER_CORRECTED = "under a corrected hypothesis"


@dataclass(frozen=True)
class Counts:
    """How many statements have which verdict.

    Attributes
    ----------
    kinds : mapping of str to Counter
        Verdicts by kind: "printed", of what papers print on their linear settings; "networks", on
        tables and figures of networks alone; "corrected", of corrected forms of what does not
        hold; and "own", of what no paper prints and nothing is corrected by.
    under_corrected : int
        How many of the printed ones that fail do so under a hypothesis that is not the paper's,
        but a corrected one.
    causes : int
        How many causes what does not hold of the printed ones has: findings, of which one may be
        about several statements.

    Examples
    --------
    >>> from linrep.claims.contents import counts
    >>> set(counts("fedrep").kinds)
    {'printed', 'networks', 'corrected', 'own'}
    """

    kinds: Mapping[str, Counter[str]]
    under_corrected: int
    causes: int

    @property
    def printed(self) -> Counter[str]:
        """Verdicts of what papers print on their linear settings."""
        return self.kinds["printed"]

    def cells(self) -> list[str]:
        """Return the row of a table, whose heads are those of :func:`heads`."""
        row: list[str] = [str(self.printed.total())]
        for verdict in VERDICTS:
            row.append(str(self.printed[verdict]))
            if verdict == FAILS:
                row.append(str(self.under_corrected))
        others = [holding(self.kinds[kind]) for kind in list(KINDS)[1:]]
        return [*row, str(self.causes), *others]


def heads(name: Callable[[str], str] = lambda verdict: HEADS.get(verdict, verdict)) -> list[str]:
    """Return what stands above the numbers of statements."""
    verdicts: list[str] = []
    for verdict in VERDICTS:
        verdicts += [name(verdict), *[UNDER_CORRECTED] * (verdict == FAILS)]
    return ["statements", *verdicts, *MORE]


def holding(verdicts: Mapping[str, int]) -> str:
    """Say how many of some statements hold, a dash where there are none.

    Examples
    --------
    >>> from linrep.claims.counts import holding
    >>> holding({"holds": 2, "fails": 1}), holding({})
    ('2 of 3 hold', '–')
    """
    good, total = verdicts.get(HOLDS, 0), sum(verdicts.values())
    return f"{good} of {total} hold{'s' * (total == 1)}" if total else "–"


def kinds(items: Iterable[Record]) -> dict[str, str]:
    """Return of which kind of `KINDS` each statement is, by id."""
    items = list(items)
    apart = {paper: of_networks(paper) for paper in {item.paper for item in items}}
    return {
        item.id: "networks"
        if item.form == "printed" and item.id in apart[item.paper]
        else item.form
        for item in items
    }


def of_networks(paper: str) -> set[str]:
    """Return the ids of the statements that only items on networks are about."""
    there: dict[bool, set[str]] = {True: set(), False: set()}
    for item in listed_items(paper):
        there[bool(item.get("networks"))] |= set(item.get("claims", ()))
    return there[True] - there[False]


def counts(items: Iterable[Record]) -> Counts:
    """Count statements by kind and verdict."""
    items = list(items)
    kind, found = kinds(items), {name: Counter[str]() for name in KINDS}
    for item in items:
        found[kind[item.id]][item.verdict] += 1
    printed = [item for item in items if kind[item.id] == "printed"]
    failing = [item for item in printed if item.verdict == FAILS]
    wrong = (findings().get(item.id) for item in printed if item.verdict != HOLDS)
    return Counts(
        found,
        sum(any(each.endswith(" corrected") for each in item.changes) for item in failing),
        len({id(finding) for finding in wrong if finding}),
    )
