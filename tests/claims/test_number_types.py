"""Numbers of claims are values or bounds, and bounds are shown as such."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

import linrep as lr
from linrep._lib.display import number
from linrep.claims import (
    FAILS,
    Cases,
    Condition,
    Fact,
    Frequency,
    claims,
    decide,
    ledger,
)
from linrep.claims.evidence import LOWER, TYPES, UPPER, VALUE, ratio_is, shown
from linrep.claims.pages import pages
from linrep.claims.verdict import judge
from linrep.claims.verify import verify
from linrep.cli import main
from linrep.cli.verdicts import print_verdicts
from linrep.report import gather, render
from tests.tools import complaint

RECORDED = ledger.recorded()
SIGNS = {LOWER: "≥ ", UPPER: "≤ "}
TOWARD = {LOWER: -1, UPPER: 1}
BOUNDS = {
    name: entry
    for name, entry in RECORDED.items()
    if any(
        getattr(item, key, VALUE) != VALUE
        for item in (entry, *entry.parts, *entry.facts)
        for key in ("measured_is", "predicted_is", "value_is")
    )
}
#: As they stand in a text, which are easily taken for the quantity itself.
_PHRASES = re.compile(r"\b(at (least|most)|no (more|less) than|(lower|upper) bound)\b")


def test_every_number_of_the_ledger_has_a_type():
    for name, entry in RECORDED.items():
        for item in (entry, *entry.parts):
            assert {item.measured_is, item.predicted_is} <= set(TYPES), name
            assert not _PHRASES.search(item.quantity), name
        for fact in entry.facts:
            assert fact.value_is in TYPES, name
            assert not _PHRASES.search(fact.name), name


def test_the_bounds_are_those_that_are_known():
    assert len(BOUNDS) >= 35
    assert RECORDED["pflmf.theorem1"].measured_is == LOWER
    assert RECORDED["pflmf.theorem1"].predicted_is == VALUE
    assert RECORDED["fedrep.eq12"].measured_is == LOWER
    assert RECORDED["fedrep.lemma2.probability"].measured_is == UPPER
    assert RECORDED["flute.lemmaA16"].predicted_is == UPPER


def test_no_failure_rests_on_a_bound_from_the_wrong_hand():
    """What is at most a number may be smaller than the right side that the number exceeds."""
    for name, entry in RECORDED.items():
        for part in (entry, *entry.parts):
            if re.search(r"left side larger in [1-9]", part.sentence):
                kind = ratio_is(part.measured_is, part.predicted_is)
                assert kind in (VALUE, LOWER), name


def numbers(entry):
    """Return each number of a result that is a bound, as it has to be shown."""
    return [
        SIGNS[kind] + number(getattr(item, key), TOWARD[kind])
        for item in (entry, *entry.parts, *entry.facts)
        for key in ("measured", "predicted", "value")
        if (kind := getattr(item, f"{key}_is", VALUE)) != VALUE
        and isinstance(getattr(item, key), float)
        and math.isfinite(getattr(item, key))
    ]


def bounds_not_shown(name, printed):
    """Yield where a bound of a statement is shown as if it were a value, with the number."""
    entry = RECORDED[name]
    everything = {
        "show": CliRunner().invoke(main, ["show", name, "--verbose"]).output,
        "page": pages({name: entry})[f"ledger/{name.partition('.')[0]}.md"],
    }
    print_verdicts([entry], {}, False, "standard", lambda result: "")
    head = {"repr": repr(entry), "verify": printed(), "statement": str(lr.statements[name])}
    of_head = numbers(replace(entry, parts=(), facts=()))
    for texts, shown_numbers in ((everything, numbers(entry)), (head, of_head)):
        for where, text in texts.items():
            yield from ((where, each) for each in shown_numbers if each not in text)


def test_a_bound_is_shown_as_one(capsys):
    missing = {
        name: list(bounds_not_shown(name, lambda: capsys.readouterr().out)) for name in BOUNDS
    }
    assert {name: places for name, places in missing.items() if places} == {}


def test_the_report_shows_bounds_as_such(tmp_path):
    names = ("pflmf.theorem1", "pflmf.theorem1.noise", "fedrep.eq12")
    chosen = [claims()[name] for name in names]
    page = render(gather(chosen, ledger=RECORDED, store=tmp_path, progress=False))
    for name in names:
        assert RECORDED[name].measured_is == LOWER
        assert f"measured {shown(RECORDED[name], 'measured')}" in page


FAST = [name for name, entry in BOUNDS.items() if entry.seconds < 0.8]


@pytest.mark.compiled
@pytest.mark.parametrize("name", FAST)
def test_a_check_types_its_numbers_as_recorded(name):
    found, entry = claims()[name].verify("quick", np.random.default_rng(7)), RECORDED[name]
    types = {part.name: (part.measured_is, part.predicted_is) for part in entry.parts}
    own = {part.name: (part.measured_is, part.predicted_is) for part in found.parts}
    both = types.keys() & own.keys()
    assert {key: own[key] for key in both} == {key: types[key] for key in both}
    facts = {fact.name: fact.value_is for fact in entry.facts}
    assert all(facts[fact.name] == fact.value_is for fact in found.facts if fact.name in facts)


def test_sentences_have_the_bound():
    case = Cases([(3.0, 2.0, {})], measured_is=LOWER)
    found = decide(case)
    assert found.verdict == FAILS
    assert "at least 1.5 times the right side" in found.sentence
    assert "measured ≥ 3" in repr(found)
    outwards = decide(Cases([(1.47478, 1.0, {})], measured_is=LOWER))
    assert "at least 1.474 times" in outwards.sentence
    assert "measured ≥ 1.474" in repr(outwards)
    assert "1 + 0.00012 times" in decide(Cases([(1.000129, 1.0, {})], measured_is=LOWER)).sentence
    below = Cases([(3.0, -2.0, {})], predicted_is=UPPER)
    assert "by at least 5" in decide(below).sentence
    assert "true, at most 0.5" in decide(Condition(True, 0.5, measured_is=UPPER)).sentence
    rare = Frequency(violations=0, trials=9, at_most=0.1, measured_is=LOWER)
    assert "at least 0 of 9 runs violate it" in decide(rare).sentence


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        ((VALUE, VALUE), VALUE),
        ((LOWER, VALUE), LOWER),
        ((VALUE, LOWER), UPPER),
        ((LOWER, UPPER), LOWER),
        ((UPPER, LOWER), UPPER),
        ((LOWER, LOWER), ""),
    ],
)
def test_a_ratio_of_bounds_is_one_or_open(kinds, expected):
    assert ratio_is(*kinds) == expected


@pytest.mark.parametrize(
    ("item", "field"),
    [
        (Condition(True, measured_is="minimum"), "measured_is"),
        (Condition(True, predicted_is="about"), "predicted_is"),
        (Fact("size", 1.0, value_is="estimate"), "value_is"),
    ],
)
def test_there_are_no_other_types(item, field):
    with complaint(ValueError, field, "lower bound"):
        judge([Condition(True), item])


def test_types_are_stored_and_decided_again(tmp_path):
    (result,) = verify([claims()["fedrep.lemma2.probability"]], store=tmp_path, progress=False)
    (again,) = verify(
        [claims()["fedrep.lemma2.probability"]], store=tmp_path, progress=False, level=0.001
    )
    assert again.stored
    for found in (result, again):
        assert (found.measured_is, found.predicted_is) == (UPPER, VALUE)
