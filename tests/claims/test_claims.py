"""Every claim: complete, with teeth, and recorded."""

import re
import subprocess
import sys

import numpy as np
import pytest

from linrep.claims import KINDS, claims, ledger, select
from linrep.claims.claim import Claim
from tests.tools import complaint

CLAIMS = claims()


@pytest.mark.parametrize("name", CLAIMS)
def test_a_claim_says_what_it_is(name):
    item = CLAIMS[name]
    assert re.fullmatch(r"[a-z]+(\.[a-zA-Z0-9_-]+)+", name)
    assert item.kind in KINDS
    for text in (item.place, item.latex, item.plain, item.check.__doc__):
        assert text
        assert text.strip() == text or text is item.check.__doc__
    assert "\n" not in item.plain
    if item.corrects:
        assert item.corrects in CLAIMS
        assert name.startswith(item.corrects)


@pytest.mark.slow
@pytest.mark.teeth
@pytest.mark.parametrize("name", CLAIMS)
def test_a_claim_has_teeth(name):
    assert CLAIMS[name].has_teeth("quick", np.random.default_rng(7))


@pytest.mark.parametrize("name", CLAIMS)
def test_a_claim_is_recorded(name):
    entry = ledger.recorded()[name]
    assert entry["budget"] == "standard"
    assert entry["seed"] == 0
    if entry["verdict"] == "fails":
        assert entry["counterexample"]
    if entry["verdict"] == "undecided":
        assert entry["needed"]


def test_the_ledger_holds_nothing_else():
    assert set(ledger.recorded()) == set(CLAIMS)


def test_patterns():
    assert [item.id for item in select(CLAIMS, ["fedrep.definition1"])] == ["fedrep.definition1"]
    assert len(select(CLAIMS, [])) == len(CLAIMS)
    assert all(item.paper == "fedrep" for item in select(CLAIMS, ["fedrep.*"]))
    with complaint(ValueError, "'nothing'"):
        select(CLAIMS, ["nothing"])


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"kind": "guess"}, ("kind", "'guess'")),
        ({"id": "nopaper"}, ("id", "'nopaper'")),
        ({"broken": {}}, ("broken",)),
        ({"broken": {"unknown": 1}}, ("'unknown'",)),
    ],
)
def test_an_incomplete_claim_is_refused(changes, words):
    fields = {"id": "a.b", "place": "p", "kind": "identity", "latex": "x", "plain": "x"}
    with complaint(ValueError, *words):
        Claim(**{**fields, "broken": {"c": 1}, "check": lambda budget, rng, c=0: None, **changes})


def test_the_order_is_that_of_the_files_whatever_was_imported_first():
    code = "import linrep.claims.pflmf.lemmas; from linrep.claims import claims; print(*claims())"
    alone = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert alone.stdout.split() == list(claims())
