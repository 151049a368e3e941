"""How small a change of its constants a claim's check notices, as recorded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypedDict

from linrep._lib import atomic as files
from linrep._lib import records, shapes
from linrep._lib.papers import papers
from linrep.claims.claim import Claim, claims, paper_of
from linrep.claims.stated import Stated

#: In the folder of a paper: what became of its statements' stronger versions.
FILE = "sensitivity.json"
#: What becomes of a version: it is refuted, it is proved true as well, or neither is known; of a
#: statistical one also that it is no longer accepted.
REFUTED, TRUE, ACCEPTED, DOUBTED = "refuted", "true", "accepted", "doubted"


class _Constant(TypedDict):
    value: str
    moved: Mapping[str, str]


_KIND = records.Kind(
    "sensitivity",
    "linrep verify --sensitivity --record",
    shapes.reader(Mapping[str, Mapping[str, _Constant]]),
    ids=list,
)


def recorded(paper: str) -> Mapping[str, Mapping[str, Any]]:
    """Return what is recorded of a paper's statements, by id; a damaged file is left out.

    Parameters
    ----------
    paper : str
    """
    return _KIND.shown(_path(paper), {}) if paper in papers() else {}


def _path(paper):
    return papers()[paper].folder / FILE


def check(names: Iterable[str]) -> None:
    """Raise ValueError where the file of a paper is damaged: it is not written to then.

    Parameters
    ----------
    names : iterable of str
        Of papers.
    """
    for paper in names:
        _KIND.check(_path(paper))


def record(found: Mapping[str, Mapping[str, Any]]) -> None:
    """Put what was found into the papers' records, in place of what they have of the same claims.

    Parameters
    ----------
    found : mapping
        Of each claim what :func:`linrep.claims.mutants.measure` returns.

    Raises
    ------
    ValueError
        If a file is damaged.
    """
    for paper in sorted(set(map(paper_of, found))):
        known, path = claims([paper]), _path(paper)
        with files.alone(path.parent):
            records.forget()
            before = _KIND.known(path, {})
            entries = {**before, **{key: found[key] for key in found if key in known}}
            _KIND.write(path, {name: entries[name] for name in known if entries.get(name)})


def say(claim: Claim | Stated) -> str:
    """Return by how much which constants have to be moved to be noticed, "" where none is named.

    Parameters
    ----------
    claim : Claim or Stated
    """
    if claim.id not in recorded(claim.paper):
        return ""
    texts = []
    for name, of in recorded(claim.paper)[claim.id].items():
        noticed = [percent for percent, said in of["moved"].items() if said == REFUTED]
        doubted = [percent for percent, said in of["moved"].items() if said == DOUBTED]
        if noticed:
            text = f"a change of {noticed[0]} % is refuted"
        elif doubted:
            text = f"a change of {doubted[0]} % is not accepted"
        else:
            true = TRUE in of["moved"].values()
            last = list(of["moved"])[-1]
            text = f"a change of {last} % is {'true as well' if true else 'not noticed'}"
        texts.append(f"{name.replace('_', ' ')} {of['value']}: {text}")
    return "; ".join(texts)
