"""The order in which the papers state what claims are about.

Of a paper it is the ``order`` that its ``contents.toml`` gives, or else that of the items there.
In an ``order`` equations of proofs follow the lemma, and a lemma follows the equations that its
paper proves first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import Any, TypeVar

from linrep._lib.papers import papers
from linrep.claims.claim import Claim
from linrep.claims.record import Record

Item = TypeVar("Item", bound=Claim | Record)


def in_order(claims: Iterable[Item]) -> list[Item]:
    """Return claims as the papers state them, each corrected one behind what it corrects."""
    items = list(claims)
    known = {item.id: item for item in items}
    papers = list(dict.fromkeys(item.paper for item in items))

    def key(item):
        printed = known.get(item.corrects or "", item)
        parts, words = printed.id.count("."), len(printed.place)
        paper, place = papers.index(item.paper), position(printed)
        return paper, place, parts, words, printed.id, item is not printed

    return sorted(items, key=key)


def position(claim: Claim | Record) -> int:
    """Return where in its paper a claim is stated, as a number to sort by."""
    order = _order(claim.paper)
    if not order:
        listed = _listed(claim.paper)
        return listed.get(claim.corrects or claim.id, len(listed))
    clause = re.sub(r"(Assumption|Lemma|Section)s ", r"\1 ", claim.place).partition(";")[0]
    positions = [order[match.group()] for match in _pattern(claim.paper).finditer(clause)]
    if not positions:
        return len(order)
    first, *others = positions
    return next((place for place in others if _inside(claim.paper, first, place)), first)


def _inside(paper, section, place):
    """Tell whether a place is in a section of a paper."""
    names = list(_order(paper))[section : place + 1]
    heads = [name.startswith(("Section", "Appendix")) for name in names]
    return len(heads) > 1 and heads[0] and not any(heads[1:])


@cache
def _order(paper: str) -> dict[str, int]:
    names: list[str] = []
    for item in _contents(paper).get("order", "").split("|"):
        name = " ".join(item.split())
        if equations := re.fullmatch(r"\((\d+)\)-\((\d+)\)", name):
            first, last = map(int, equations.groups())
            names += [f"({number})" for number in range(first, last + 1)]
        elif name:
            names.append(name)
    return {name: number for number, name in enumerate(names)}


def listed_items(paper: str) -> list[dict[str, Any]]:
    """Return the items of a paper's contents as written, none where they are not listed."""
    return _contents(paper).get("item", [])


@cache
def _listed(paper: str) -> dict[str, int]:
    """Return the place of each statement among those that the contents of a paper list."""
    names = dict.fromkeys(name for item in listed_items(paper) for name in item.get("claims", ()))
    return {name: place for place, name in enumerate(names)}


@cache
def _contents(paper: str) -> dict[str, Any]:
    import tomllib  # what shows one statement does without

    path = papers()[paper].folder / "contents.toml" if paper in papers() else None
    return tomllib.loads(path.read_text("utf-8")) if path and path.is_file() else {}


@cache
def _pattern(paper: str) -> re.Pattern[str]:
    longest_first = sorted(_order(paper), key=len, reverse=True)
    return re.compile("|".join(rf"{re.escape(name)}(?!\.?\w)" for name in longest_first) or "(?!)")
