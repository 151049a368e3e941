"""The papers' statements as a table that can be searched by id, by words and by verdict."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from textwrap import shorten
from typing import TYPE_CHECKING

from linrep._lib.papers import papers
from linrep._lib.validation import choice
from linrep.claims import ledger
from linrep.claims.claim import claims, paper_of, unknown
from linrep.claims.contents import KINDS, counts, heads
from linrep.claims.evidence import HOLDS, STRENGTHS, VERDICTS, tally
from linrep.claims.prose import SEVERITIES, unescaped
from linrep.claims.record import Record

if TYPE_CHECKING:
    import pandas as pd


_WIDTH = 100  # characters of a line
_MOST_SHOWN = 60  # statements; of more it is said how many there are


class Statements(Mapping[str, Record]):
    """Statements of the papers by id, all of them or those that were found.

    A notebook completes the ids, and shows a table. In a terminal that is plain text.

    Parameters
    ----------
    ids : iterable of str, optional
        By default of all statements.

    Examples
    --------
    >>> import linrep as lr
    >>> lr.statements["fedrep.theorem2"].corrected_by[0]
    'fedrep.theorem2.corrected'
    """

    def __init__(self, ids: Iterable[str] | None = None):
        self._ids = None if ids is None else tuple(ids)

    def __getitem__(self, id: str) -> Record:
        known = ledger.known([paper_of(str(id))])
        if id not in known or (self._ids is not None and id not in self._ids):
            raise KeyError(unknown(str(id), self))
        return known[id]

    def __contains__(self, id: object) -> bool:
        return id in (ledger.known() if self._ids is None else self._ids)

    def __iter__(self) -> Iterator[str]:
        return iter(ledger.known() if self._ids is None else self._ids)

    def __len__(self) -> int:
        return len(ledger.known() if self._ids is None else self._ids)

    def find(
        self,
        words: str = "",
        *,
        paper: str | None = None,
        verdict: str | None = None,
        severity: str | None = None,
        strength: str | None = None,
    ) -> Statements:
        """Return the statements that match all given words, the verdict, and so on.

        Parameters
        ----------
        words : str
            Parts of words, in any order and in small or large letters: of the id, the place in the
            paper, the statement in plain words, and what is wrong with it.
        paper : str, optional
            Such as "fedrep".
        verdict : str, optional
            One of ``linrep.claims.VERDICTS``, as it is recorded.
        severity : str, optional
            What a failure concerns: one of ``linrep.claims.prose.SEVERITIES``.
        strength : str, optional
            What the verdict rests on: "certified", "exact", "derived", "enumerated exactly",
            "statistical" or "searched".

        Raises
        ------
        ValueError
            If there is no such paper, verdict, severity or strength.

        Examples
        --------
        >>> import linrep as lr
        >>> list(lr.statements.find("theorem", paper="fedrep", verdict="fails"))[-1]
        'fedrep.theorem2'
        """
        papers = tuple(dict.fromkeys(map(paper_of, ledger.known())))
        for name, value, allowed in (
            ("paper", paper, papers), ("verdict", verdict, VERDICTS),
            ("severity", severity, SEVERITIES), ("strength", strength, STRENGTHS),
        ):  # fmt: skip
            if value is not None:
                choice(name, value, allowed)
        wanted = words.lower().split()
        matching = [
            item
            for item in self._entries()
            if paper in (None, item.paper)
            and verdict in (None, item.verdict)
            and severity in (None, item.finding.severity if item.finding else "")
            and strength in (None, item.strength)
            and all(word in _text(item) for word in wanted)
        ]
        # What is called so in the paper, then what is in its proof, goes before what only mentions
        # it, and there whole phrases before words that stand apart.
        phrase = " ".join(wanted)
        called = re.compile(rf"{re.escape(phrase)}(?![\w.])")
        matching.sort(
            key=lambda item: (
                not item.id.lower().endswith(f".{phrase.replace(' ', '')}"),
                not called.match(item.place.lower()),
                not all(word in item.place.lower() for word in wanted),
                phrase not in _text(item),
            )
        )
        return Statements([item.id for item in matching])

    def to_frame(self) -> pd.DataFrame:
        """Return a row per statement, indexed by id.

        Place, form (printed, corrected or own), verdict, strength, what is missing for a firmer
        one that the check claims, how many readings hold, how hypotheses differ from those
        printed, what solvers check, the smallest changes noticed, what it says, why it fails.
        """
        import pandas as pd

        rows = {
            item.id: {
                "paper": item.paper,
                "place": item.place,
                "form": item.form,
                "verdict": item.verdict,
                "strength": item.strength,
                "missing": item.missing,
                "readings": _holding(item),
                "hypotheses": ", ".join(item.changes) or "as printed",
                "checked_by": item.checked_by,
                "sensitivity": item.noticed,
                "severity": item.finding.severity if item.finding else "",
                "plain": item.plain,
                "why": unescaped(item.finding.headline) if item.finding else "",
                "corrected_by": ", ".join(item.corrected_by),
            }
            for item in self._entries()
        }
        return pd.DataFrame.from_dict(rows, orient="index").rename_axis("id")

    def _entries(self) -> list[Record]:
        known = ledger.known()
        return [known[id] for id in self]

    def __repr__(self):
        entries = self._entries()
        title = f"{_title(entries)}\n{_HOW}" if self._ids is None else _title(entries)
        if len(entries) > _MOST_SHOWN:
            counts = _counts(entries)
            widths = [max(map(len, column)) for column in zip(*counts, strict=True)]
            lines = [
                "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
                for row in counts
            ]
        else:
            width = max((len(item.id) for item in entries), default=0)
            lines = [_line(item, width) for item in entries]
        return "\n".join([title, *lines])

    def _ipython_key_completions_(self):
        return list(self)


_HOW = (
    'statements.find("lemma", paper="fedrep", verdict="fails") lists some, '
    'statements["fedrep.lemma5"] shows one'
)


def _text(item):
    reason = unescaped(item.finding.headline) if item.finding else ""
    return f"{item.id} {item.place} {item.plain} {reason}".lower()


def _title(entries):
    """Return a sentence on each kind of statements that there are."""
    found = counts(entries)
    texts = []
    for kind, noun in KINDS.items():
        if found.kinds[kind]:
            known = {name: found.kinds[kind][name] for name in (*VERDICTS, "unchecked")}
            texts.append("".join(text for _, text in tally(known, noun)))
    return "; ".join(texts) or "0 statements"


def _counts(entries):
    """Return the verdicts of each paper as rows of a table, the names of the columns first."""
    papers: dict[str, list[Record]] = {}
    for item in entries:
        papers.setdefault(item.paper, []).append(item)
    return [["paper", *heads()], *([name, *counts(own).cells()] for name, own in papers.items())]


def _holding(item):
    """Return how many readings of a statement hold, "" where there is one."""
    verdicts = [each["verdict"] for each in item.readings]
    for each in item.maps.values():
        verdicts += list(each.rows().query("counted")["verdict"])
    return f"{verdicts.count(HOLDS)} of {len(verdicts)}" if verdicts else ""


def _says(item):
    """Return what is wrong with a statement, or what it says."""
    return unescaped(item.finding.headline) if item.finding else item.plain


def _line(item, width):
    start = f"{item.id:{width}}  {item.verdict:9}  "
    return start + shorten(_says(item), max(_WIDTH - len(start), 30), placeholder=" …")


def statement(id: str) -> Record:
    """Return a statement of the papers with its verdict and the reason for it.

    Parameters
    ----------
    id : str
        Such as "fedrep.lemma5".

    Returns
    -------
    Record

    Raises
    ------
    ValueError
        If there is none of this id.
    """
    known = ledger.known([paper_of(id)])
    if id in known:
        return known[id]
    unrecorded = claims([paper_of(id)]) if paper_of(id) in papers() else {}
    if id not in unrecorded:
        raise ValueError(unknown(id, ledger.known()))
    return ledger.of_code(unrecorded[id])


#: All statements.
statements = Statements()
