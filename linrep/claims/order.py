"""The order in which the papers state what claims are about."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import TypeVar

from linrep.claims.claim import Claim
from linrep.claims.stated import Stated

Item = TypeVar("Item", Claim, Stated)

# Places in the order of the text, sections before what they contain. Equations of proofs follow
# the lemma, and a lemma follows the equations that its paper proves first.
_TEXTS = {
    "fedrep": """Section 1 | Figure 1 | Section 1.1 | Section 2 | (1)-(3) | Section 2.1 | (4)-(5) |
        Section 3 | Algorithm 1 | (6)-(7) | Section 4 | Assumption 1 | Section 4.1 | (8) |
        Section 4.2 | (9) | Algorithm 2 | Definition 1 | (10) | Assumption 2 | Assumption 3 |
        Theorem 1 | (11)-(12) | remark on initialization | Section 5 | Section 5.1 | Figure 3 |
        Figure 4 | Section 5.2 | Table 1 | Figure 5 | Figure 6 | Appendix A.1 | Figure 7 |
        Appendix A.2 | Appendix B.1 | Definition 2 | Definition 3 | (13)-(16) | Lemma 1 |
        (17)-(27) | Lemma 2 | (28)-(32) | Lemma 3 | (33)-(39) | Lemma 4 | (40) | Lemma 5 |
        (41)-(50) |
        last display of the proof of Lemma 5 | end of the proof of Lemma 5 | Lemma 6 |
        (51)-(85) | end of the proof of Lemma 6 | Appendix B.4 | Theorem 2 | (86) |
        Appendix B.5 | Definition 4 | (87) | Claim 1 | (88)-(89)""",
    "flute": """Section 1 | Section 2 | Section 3 | (1) | Definition 3.1 | (2) | Section 4 |
        Section 4.1 | Example 1 | (3) | Section 4.2 | (4) | term (I) | Remark 4.1 | Section 4.3 |
        (5)-(6) | Algorithm 1 | Section 5 | Section 5.1 | Theorem 5.1 | (7) | Remark 5.2 |
        Remark 5.3 | Remark 5.4 | Theorem 5.5 | (8) | Remark 5.6 | Remark 5.7 | Section 5.2 |
        Section 6 | (9) | Section 7.1 | Figure 1 | Section 7.2 | (10) | Table 1 |
        Appendix A.1 | (11)-(15) | Theorem A.1 | Proposition A.2 | (16) | Claim A.3 | Lemma A.4 |
        Lemma A.5 | (17)-(19) | Lemma A.6 | Lemma A.7 | (20)-(21) | Lemma A.8 | Proposition A.9 |
        Lemma A.10 | (22)-(29) | Lemma A.11 | (30)-(33) | Proposition A.12 | (34)-(37) |
        Appendix A.2.4 | Lemma A.13 | (38)-(39) | Lemma A.14 | (40) | Lemma A.15 | (41)-(44) |
        Lemma A.16 | (45)-(46) | Lemma A.17 | (47) | Lemma A.18 | Lemma A.19 | Lemma A.20 |
        Appendix B | (48)-(54) | Observation B.2 | (55)-(57) | Observation B.3 | (58)-(60) |
        Figure 2 | Appendix C.1 | Figure 3 | Figure 4 | Appendix C.2""",
    "perfedsi": """Section 1 | Section 2 | Section 2.1 | (1)-(3) | Remark 2.1 | Remark 2.2 |
        Section 3 | (4)-(5) | Definition 3.1 | Assumption 3.2 | Theorem 3.3 | (6) | Section 4 |
        Table 1 | Appendix A | Appendix B | (7)-(8) | Appendix C.1 | (9)-(13) | Assumption C.1 |
        Remark C.2 | Definition C.3 | (14) | Theorem C.4 | (15) | Lemma C.5 | (16)-(21) |
        Lemma C.6 | (22)-(24) | Lemma C.7 | (25)-(38) | Lemma C.8 | (39)-(52) | Lemma C.9 | (53) |
        Lemma C.10 | (54)-(55) | Lemma C.11 | (56)-(62) | Proof of Theorem 3.3 | (63)-(64) |
        Appendix C.4 | Figure 3 | Appendix D | Table 2""",
    "pflmf": """Section 1 | (1)-(4) | Example 1 | Example 2 | Figure 1 | Example 3 | Section 2 |
        Section 3 | (5)-(7) | Algorithm 1 | (8)-(9) | Section 4 | Assumption 1 | Assumption 2 |
        Theorem 1 | Corollary 2 | Section 5 | Table 1 | Table 2 | Figure 3 | Section 6 |
        Figure 4 | Appendix A.1 | (10) | Step (A) | (11)-(12) | Step (B) | (13)-(14) | Step (C) |
        (15)-(16) | inequality below (16) | Lemma 3 | Lemma 4 | (17) | Lemma 5 | (18) | Lemma 6 |
        Lemma 7""",
}


def in_order(claims: Iterable[Item]) -> list[Item]:
    """Return claims as the papers state them, each corrected one behind what it corrects.

    Parameters
    ----------
    claims : iterable of Claim, or of Stated
        Papers stay in the order in which they come. A place that is not known, as in a paper of
        one's own, comes last.
    """
    items = list(claims)
    known = {item.id: item for item in items}
    papers = list(dict.fromkeys(item.paper for item in items))

    def key(item):
        printed = known.get(item.corrects or "", item)
        parts, words = printed.id.count("."), len(printed.place)
        paper, place = papers.index(item.paper), position(printed)
        return paper, place, parts, words, printed.id, item is not printed

    return sorted(items, key=key)


def position(claim: Claim | Stated) -> int:
    """Return where in its paper a claim is stated, as a number to sort by."""
    order = _order(claim.paper)
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
    for item in _TEXTS.get(paper, "").split("|"):
        name = " ".join(item.split())
        if equations := re.fullmatch(r"\((\d+)\)-\((\d+)\)", name):
            first, last = map(int, equations.groups())
            names += [f"({number})" for number in range(first, last + 1)]
        elif name:
            names.append(name)
    return {name: number for number, name in enumerate(names)}


@cache
def _pattern(paper: str) -> re.Pattern[str]:
    longest_first = sorted(_order(paper), key=len, reverse=True)
    return re.compile("|".join(rf"{re.escape(name)}(?!\.?\w)" for name in longest_first) or "(?!)")
