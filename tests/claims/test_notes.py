"""Notes for authors: each stands alone, with all that it takes to answer."""

import re

import pytest

from linrep.claims import ledger
from linrep.claims.evidence import FAILS, VACUOUS
from linrep.claims.pages import note, note_pages, notes
from linrep.claims.prose import findings

WORDS = 1200  # on two printed pages, with formulas and programs


def test_there_is_one_for_each_failure_that_changes_a_conclusion():
    found = {finding for finding in findings().values() if finding.severity == "conclusion"}
    assert set(notes().values()) == found
    assert all(ledger.recorded()[name].verdict in (FAILS, VACUOUS) for name in notes())
    assert len(note_pages()) == len(notes()) + 1


@pytest.mark.parametrize("name", notes())
def test_it_has_the_statement_the_reason_and_how_to_check(name):
    finding = notes()[name]
    text = note(finding)
    for item in finding.ids:
        assert f"`{item}`" in text
    assert finding.text in text
    assert f"linrep verify {name}" in text
    prose = re.sub(r"\$\$.+?\$\$", "", text, flags=re.DOTALL)  # formulas are a line each
    assert len(prose.split()) <= WORDS


def test_an_author_can_answer():
    answer = "**An author could answer**"
    assert [name for name in notes() if answer not in notes()[name].text] == []
