"""What the papers' statements say, read without importing the code that checks them.

Of each paper ``statements.json``, beside its statements, lists their texts, in the order of their
files; `linrep verify --record` writes it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
        As of a claim.
    hypotheses : tuple of str
        What each says, and what the paper has where that differs.
    changes : tuple of str
        Which hypotheses are not those printed, and how: "Assumption 1 narrower".
    steps : mapping of str to str
        Of each step of its proof that solvers can decide, the SHA-256 of the question.
    """

    id: str
    plain: str
    place: str = ""
    latex: str = ""
    corrects: str = ""
    hypotheses: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    steps: Mapping[str, str] = field(default_factory=dict)

    @property
    def paper(self) -> str:
        """The part of the id before the first dot."""
        return self.id.partition(".")[0]


def texts_of(claim: Claim, steps: Mapping[str, str] | None = None) -> Stated:
    """Return the texts of a claim, with the steps of its proof.

    Parameters
    ----------
    claim : Claim
    steps : mapping of str to str, optional
        As in :class:`Stated`.
    """
    return Stated(
        claim.id, claim.plain, claim.place, claim.latex, claim.corrects,
        hypotheses=tuple(map(str, claim.hypotheses)),
        changes=tuple(f"{each.name} {each.change}" for each in claim.hypotheses if each.change),
        steps=steps or {},
    )  # fmt: skip


def listing(items: Iterable[Stated]) -> str:
    """Return what the file of a paper holds.

    Parameters
    ----------
    items : iterable of Stated
    """
    lines = [{key: value for key, value in asdict(item).items() if value} for item in items]
    return json.dumps(lines, indent=1, ensure_ascii=False) + "\n"


def stated(papers: Iterable[str] = ()) -> dict[str, Stated]:
    """Return the statements of papers by id, in the order of their files.

    Of a paper whose texts are not listed yet they are those of its claims, which are imported.

    Parameters
    ----------
    papers : iterable of str
        Names of papers, by default all; what is none has none.
    """
    asked = set(papers)
    found: dict[str, Stated] = {}
    for name, paper in known_papers().items():
        if not asked or name in asked:
            path = paper.folder / FILE
            try:
                own = read(path) if path.is_file() else _imported(name)
            except (AttributeError, KeyError, TypeError, ValueError):
                own = _imported(name)  # a damaged list is as good as none
            found |= {item.id: item for item in own}
    return found


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


@cache
def read(path: Path) -> tuple[Stated, ...]:
    """Return the statements that the file of a paper lists.

    Parameters
    ----------
    path : path
    """
    lines: list[dict[str, Any]] = json.loads(path.read_text("utf-8"))
    lists = ("hypotheses", "changes")
    return tuple(
        Stated(**line | {name: tuple(line.get(name, ())) for name in lists}) for line in lines
    )
