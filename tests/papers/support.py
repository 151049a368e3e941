"""The tests that every file of statements has: ``from tests.papers.support import *``.

A module of tests is of the file of `linrep.papers` that has its name.
"""

import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from linrep.claims import FAILS, LEVEL, UNDECIDED, claims, ledger
from linrep.claims.claim import paper_of

__all__ = ["test_a_negative_control_is_rejected", "test_the_statements_are_complete_and_recorded"]

#: Claims whose negative controls are slow, or take longer than others that run the same lines.
SLOW = Path(__file__).with_name("slow.txt").read_text("utf-8").split()


@cache
def claims_of(paper):
    """Return a paper's claims, whose files are looked for once."""
    return claims([paper])


def statements_of(module):
    """Return the statements of the file that a module of tests is named after, by id."""
    paper, name = module.rsplit(".", 2)[1:]
    file = f"linrep.papers.{paper}.{name.removeprefix('test_')}"
    return {id: item for id, item in claims_of(paper).items() if item.check.__module__ == file}


def lacking(id, item):
    """Yield what a statement lacks, or its entry in the ledger."""
    if not re.fullmatch(r"[a-z]+(\.[a-zA-Z0-9_-]+)+", id):
        yield "an id of letters"
    for name in ("place", "latex", "plain"):
        text = getattr(item, name)
        if not text or text.strip() != text:
            yield name
    if not item.check.__doc__:
        yield "a docstring of its check"
    if "\n" in item.plain:
        yield "a plain sentence of one line"
    if item.corrects and not (item.corrects in claims() and id.startswith(item.corrects)):
        yield "an id that begins with what it corrects"
    entry = ledger.recorded().get(id)
    if entry is None:
        yield f"an entry in the ledger: linrep verify {id} --budget standard --record"
        return
    if entry.level > LEVEL * (1.0 + 1e-9):
        yield "a level within its share"
    if (entry.budget, entry.seed) != ("standard", 0):
        yield "the standard budget and seed 0"
    if entry.verdict == FAILS and not entry.counterexample:
        yield "a counterexample"
    if entry.verdict == "undecided" and not entry.needed:
        yield "what it would take"


def test_the_statements_are_complete_and_recorded(request):
    found = statements_of(request.module.__name__)
    assert found
    assert {id: list(lacking(id, item)) for id, item in found.items() if [*lacking(id, item)]} == {}


@pytest.mark.negative_control
def test_a_negative_control_is_rejected(id):
    item = claims_of(paper_of(id))[id]
    control = item.negative_control("quick", np.random.default_rng(7))
    if control.verdict == UNDECIDED:  # its level takes more samples than a quick look has
        control = item.negative_control("standard", np.random.default_rng(7))
    assert control.verdict == FAILS, f"{id} with {dict(item.control)} {control}"
