"""What the papers' statements say, read without importing the code that checks them.

Of each paper ``statements.json``, beside its statements, lists their texts, in the order of their
files; `linrep verify --record` writes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from linrep._lib import records, shapes
from linrep._lib.papers import papers as known_papers

if TYPE_CHECKING:
    from linrep.claims.claim import Claim

#: In the folder of a paper.
FILE = "statements.json"


@dataclass(frozen=True)
class Stated:
    """The texts of a statement.

    Attributes
    ----------
    id, plain, place, latex, corrects : str
    own : bool
        As of a claim.
    hypotheses : tuple of str
        What each says, and what the paper has where that differs.
    changes : tuple of str
        Which hypotheses are not those printed, and how: "Assumption 1 narrower".
    steps : mapping of str to str
        Of each step of its proof that solvers can decide, the SHA-256 of the question.
    whole : tuple of str
        Those of them that are the statement itself.
    derivation : str
        SHA-256 of the section of the page of proofs that is about it, "" where there is none.
    """

    id: str
    plain: str
    place: str = ""
    latex: str = ""
    corrects: str = ""
    own: bool = False
    hypotheses: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    steps: Mapping[str, str] = field(default_factory=dict)
    whole: tuple[str, ...] = ()
    derivation: str = ""

    @property
    def paper(self) -> str:
        """The part of the id before the first dot."""
        return self.id.partition(".")[0]

    @property
    def form(self) -> str:
        """Which of "printed", "corrected" and "own" it is."""
        return "own" if self.own else "corrected" if self.corrects else "printed"


def texts_of(
    claim: Claim,
    steps: Mapping[str, str] | None = None,
    whole: tuple[str, ...] = (),
    derivation: str = "",
) -> Stated:
    """Return the texts of a claim, with the steps of its proof.

    Parameters
    ----------
    claim : Claim
    steps, whole, derivation : optional
        As in :class:`Stated`.
    """
    return Stated(
        claim.id, claim.plain, claim.place, claim.latex, claim.corrects, claim.own,
        hypotheses=tuple(map(str, claim.hypotheses)),
        changes=tuple(f"{each.name} {each.change}" for each in claim.hypotheses if each.change),
        steps=steps or {},
        whole=whole,
        derivation=derivation,
    )  # fmt: skip


def _statements(values):
    shapes.check(values, list[Stated], "it")
    lists = ("hypotheses", "changes", "whole")
    return tuple(
        Stated(**line | {name: tuple(line.get(name, ())) for name in lists}) for line in values
    )


_KIND = records.Kind(
    "statements",
    "linrep verify --record",
    _statements,
    ids=lambda values: [line["id"] for line in values],
)


def listing(items: Iterable[Stated]) -> str:
    """Return what the file of a paper holds.

    Parameters
    ----------
    items : iterable of Stated
    """
    return _KIND.written(
        [{key: value for key, value in asdict(item).items() if value} for item in items]
    )


def stated(papers: Iterable[str] = ()) -> dict[str, Stated]:
    """Return the statements of papers by id, in the order of their files.

    Of a paper whose texts are not listed yet they are those of its claims, which are imported; and
    where the list is damaged, which a warning says.

    Parameters
    ----------
    papers : iterable of str
        Names of papers, by default all; what is none has none.
    """
    asked = set(papers)
    found: dict[str, Stated] = {}
    for name, paper in known_papers().items():
        if not asked or name in asked:
            own = _KIND.shown(paper.folder / FILE, (), _INSTEAD)
            found |= {item.id: item for item in own or _imported(name)}
    return found


_INSTEAD = "the texts are those of its code, without what solvers check"


def _imported(name: str) -> list[Stated]:
    from linrep.claims.claim import claims

    return [texts_of(item) for item in claims([name]).values()]


def corrected_by(item: Stated) -> tuple[Stated, ...]:
    """Return the corrected versions of a statement.

    Parameters
    ----------
    item : Stated
    """
    return tuple(each for each in stated([item.paper]).values() if each.corrects == item.id)


def check(path: Path) -> None:
    """Raise ValueError where the file of a paper is damaged: it is not written to then.

    Parameters
    ----------
    path : path
    """
    _KIND.check(path)
