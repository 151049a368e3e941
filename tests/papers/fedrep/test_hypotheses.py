"""Hypotheses accept problems as the checks draw them, and refuse one that violates them."""

import numpy as np

from linrep.claims import ledger
from linrep.claims.pages import pages
from linrep.problems import SharedRepresentation
from tests.papers.hypotheses import accept_and_refuse, assuming

PROBLEM = SharedRepresentation.random(n=6, d=8, k=2, rng=0)
VIOLATIONS = {
    "Assumption 1": SharedRepresentation(PROBLEM.B, PROBLEM.W, design="student_t"),
    "normal samples": SharedRepresentation(PROBLEM.B, PROBLEM.W, design="uniform"),
    "Assumption 2": PROBLEM.with_heads(np.tile(PROBLEM.W[:1], (6, 1))),
    "Assumption 3": PROBLEM.with_heads(PROBLEM.W * np.arange(1.0, 7.0)[:, None]),
}
ASSUMING = assuming("fedrep")


def test_hypotheses():
    accept_and_refuse(ASSUMING, PROBLEM, VIOLATIONS)


def test_assumption_2_speaks_of_the_participants():
    (diverse,) = (item for item in ASSUMING["fedrep.theorem1"].hypotheses if "2" in item.name)
    assert diverse(PROBLEM, 2)
    assert not diverse(PROBLEM, 1)
    assert not diverse(PROBLEM.with_heads(PROBLEM.W[[0, 0, 1, 2, 3, 4]]), 2)


def test_the_ledger_names_them():
    entries = ledger.recorded()
    page = pages({name: entries[name] for name in ASSUMING})["ledger/fedrep.md"]
    section = page.split("\n## `fedrep.lemma4`")[1].split("\n## ")[0]
    assert all(f"Assumption {number} (" in section for number in (1, 2, 3))
