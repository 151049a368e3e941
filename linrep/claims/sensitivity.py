"""How small a change of its constants a claim's check notices, as recorded."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from typing import Any

from linrep._lib import atomic as files
from linrep._lib.arguments import checked
from linrep._lib.papers import papers
from linrep.claims.claim import Claim, claims, paper_of
from linrep.claims.stated import Stated

#: In the folder of a paper: what became of its statements' stronger versions.
FILE = "sensitivity.json"
#: What becomes of a version: it is refuted, it is proved true as well, or neither is known; of a
#: statistical one also that it is no longer accepted.
REFUTED, TRUE, ACCEPTED, DOUBTED = "refuted", "true", "accepted", "doubted"


@cache
def recorded(paper: str) -> Mapping[str, Mapping[str, Any]]:
    """Return what is recorded of a paper's statements, by id.

    Parameters
    ----------
    paper : str
    """
    path = papers()[paper].folder / FILE if paper in papers() else None
    with suppress(ValueError):  # a damaged file says nothing
        return json.loads(path.read_text("utf-8")) if path and path.is_file() else {}
    return {}


def record(found: Mapping[str, Mapping[str, Any]]) -> None:
    """Put what was found into the papers' records, in place of what they have of the same claims.

    Parameters
    ----------
    found : mapping
        Of each claim what :func:`linrep.claims.mutants.measure` returns.
    """
    for paper in sorted(set(map(paper_of, found))):
        known, folder = claims([paper]), papers()[paper].folder
        with files.alone(folder):
            recorded.cache_clear()
            entries = {**recorded(paper), **{key: found[key] for key in found if key in known}}
            ordered = {name: entries[name] for name in known if entries.get(name)}
            files.write(folder / FILE, (json.dumps(ordered, indent=1) + "\n").encode())
    recorded.cache_clear()


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


checked(globals())
