"""Every derivation has a test of its steps, and what rests on one is found."""

from fractions import Fraction
from functools import partial
from importlib import import_module

import pytest

from linrep._lib.papers import files, own
from linrep.claims import (
    FAILS,
    HOLDS,
    Cases,
    Identity,
    Readings,
    Together,
    claims,
    decide,
    ledger,
    proved,
)
from linrep.claims.evidence import CERTIFIED, DERIVED, EXACT, PROVED, SEARCHED
from linrep.claims.prose import PROOFS, proofs, sections

SECTIONS = [(path.parent.name, item) for path in files(PROOFS, own()) for item in sections(path)]


def test_a_derivation_is_tested():
    """By its statement's check, which measures what it derives, or by a test named after it."""
    recorded, untested = ledger.recorded(), []
    for paper, section in SECTIONS:
        parts = [part for name in section.ids for part in recorded[name].parts]
        if any(part.strength in (DERIVED, CERTIFIED) for part in parts):
            continue
        tests = import_module(f"tests.papers.{paper}.test_proofs")
        first = section.ids[0].partition(".")[2]
        if not hasattr(tests, "test_" + first.replace(".", "_").replace("-", "_").lower()):
            untested.append(section.ids[0])
    assert untested == []


def test_a_derivation_is_of_statements_of_its_paper():
    known = claims()
    names = [(paper, name) for paper, section in SECTIONS for name in section.ids]
    assert [name for paper, name in names if known[name].paper != paper] == []


def test_what_is_proved_has_a_derivation():
    recorded = ledger.recorded()
    assert [name for name, entry in recorded.items() if entry.missing] == []
    derived = {name for name, entry in recorded.items() if entry.strength == DERIVED}
    assert derived
    assert derived <= set(proofs())


def test_what_a_derivation_covers_is_proved_in_all_its_parts():
    parts = [Identity([(0.0, {})], name="one"), Cases([(0.0, 1.0, {})], name="two")]
    assert decide(proved(parts[0])).claimed == DERIVED
    for group in (Together, partial(Readings, phrase="it")):
        assert [part.strength for part in proved(group(parts)).parts] == [PROVED, PROVED]
        found = [part.strength for part in proved(group(parts), but=["two"]).parts]
        assert found == [PROVED, ""]


@pytest.mark.parametrize(("left", "verdict"), [(Fraction(1, 3), HOLDS), (Fraction(2), FAILS)])
def test_fractions_are_compared_as_they_are(left, verdict):
    found = decide(Cases([(left, Fraction(1), {})], strength=PROVED))
    strengths = (EXACT, EXACT) if verdict == FAILS else (SEARCHED, DERIVED)
    assert (found.verdict, found.strength, found.claimed) == (verdict, *strengths)
