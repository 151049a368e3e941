"""What the ledger's pages say of a result, and what a ledger takes."""

import json
import math

import pandas as pd
import pytest

from linrep.claims import ledger
from linrep.claims.evidence import Evidence, Result
from linrep.claims.quantities import Fact
from linrep.claims.stated import Stated, stated

POINTS = pd.DataFrame({"panel": ["one"], "x": [1.0], "y": [2.0], "series": [""]})


def result(name="mine.bound", **changes):
    fields = {"id": name, "budget": "standard", "seed": 3, "seconds": 1.0, "sentence": "found"}
    return Result(**{"verdict": "fails", **fields, **changes})


def part(name, tightness, verdict="fails"):
    return Evidence(verdict, f"{name} was seen", tightness=tightness, name=name, strength="exact")


def lines(found, item=None, **options):
    return "\n".join(ledger.account(item or Stated("mine.bound", "It is so."), found, **options))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"needed": "30 draws"}, "It would take 30 draws"),
        ({"corrected_by": "mine.twin"}, "Corrected: `mine.twin`"),
        ({"strength": "searched"}, "(searched, "),
        ({"interval": (0.25, math.inf)}, "interval 0.25 to –"),
        ({"interval": (-math.inf, 0.75)}, "interval – to 0.75"),
        ({"facts": (Fact("slope", 1.5),)}, "- slope: 1.5"),
        ({"counterexample": {"n": 3}}, 'Counterexample: `{"n": 3}`'),
        ({"worst": {"n": 4}}, 'Tightest instance: `{"n": 4}`'),
        ({"worst": {"n": 4}, "counterexample": {"n": 3}}, 'Worst instance: `{"n": 4}`'),
        ({"parts": (part("first", 2.0), part("second", 3.0))}, "| second |"),
    ],
)
def test_a_page_has_what_a_result_has_and_nothing_of_the_rest(changes, said):
    assert said in lines(result(**changes))
    bare = lines(result())
    assert said not in bare
    assert "(standard, seed 3, 0 trials, error level 0, 1 s)" in bare


def test_a_statement_stands_above_what_is_known_of_it():
    under = Stated("mine.bound", "It is so.", latex="x < 1", hypotheses=("m = 1", "k = 2"))
    plain = Stated("mine.bound", "It is so.")
    assert ledger.account(under, None)[2:] == ["$$x < 1$$", "", "Under m = 1; k = 2.", ""]
    assert ledger.account(plain, None) == ["It is so.", ""]


def test_findings_and_sensitivity_are_those_of_papers():
    item = stated(["flute"])["flute.lemmaA8"]
    found = ledger.recorded()[item.id]
    for said in ("Why: [", "Sensitivity: "):
        assert said in lines(found, item)
        assert said not in lines(found, item, own=True)


@pytest.mark.parametrize(
    ("tightness", "parts", "said"),
    [
        (1.0001, [part("small", 1.0001), part("large", 4.0)], "large: large was seen (exact)"),
        (1.0001, [part("small", 1.0001), part("large", 4.0, "undecided")], ""),
        (1.0001, [part("small", 1.0001), part("endless", math.inf)], ""),
        (1.0001, [part("small", 1.0001), part("no ratio", math.nan)], ""),
        (1.0001, [], ""),
        (1.5, [part("small", 1.5), part("large", 4.0)], ""),  # what decides is no hair
        (math.nan, [part("large", 4.0)], ""),
    ],
)
def test_a_failure_by_a_hair_names_the_largest(tightness, parts, said):
    found = result(tightness=tightness, parts=tuple(parts))
    assert ledger.largest_failure(found) == said
    holds = result(verdict="holds", tightness=tightness, parts=tuple(parts))
    assert ledger.largest_failure(holds) == ""


def test_parts_that_fail_are_counted_where_they_are_several():
    assert ledger.failing_parts(["fails", "holds"]) == ""
    assert ledger.failing_parts(["fails", "holds", "fails"]) == "2 of 3 parts fail"


def test_a_ledger_keeps_the_entries_and_pictures_of_claims_that_there_are(tmp_path):
    path = tmp_path / "own.json"
    first, second = result("mine.one", points=POINTS), result("mine.two", points=POINTS.assign(y=3))
    ledger.record([first, second, result("mine.gone")], {"mine.one", "mine.two", "mine.gone"}, path)
    ledger.record([result("mine.two")], {"mine.one", "mine.two"}, path)
    assert list(ledger.recorded(path)) == ["mine.one", "mine.two"]
    assert ledger.recorded_points("mine.one", path)["y"].tolist() == [2.0]
    assert ledger.recorded_points("mine.two", path) is None


@pytest.mark.parametrize(
    ("refused", "words"),
    [
        (result(verdict="error", sentence="no luck"), "mine.bound .* raised: no luck"),
        (result(budget="quick"), "mine.bound .* standard"),
    ],
)
def test_what_cannot_be_recorded_is_named_and_changes_nothing(refused, words, tmp_path):
    path = tmp_path / "own.json"
    ledger.record([result()], {"mine.bound"}, path)
    before = path.read_bytes()
    with pytest.raises(ValueError, match=words):
        ledger.record([refused], {"mine.bound"}, path)
    assert path.read_bytes() == before


def test_a_claim_of_no_paper_has_no_ledger():
    with pytest.raises(ValueError, match=r"mine\.bound is of no paper"):
        ledger.record([result()], {"mine.bound"})


@pytest.mark.parametrize("change", [{"verdict": "perhaps"}, {"budget": "vast"}])
def test_a_verdict_that_there_is_not_is_refused(change):
    values = [json.loads(json.dumps(result().as_json())) | change]
    with pytest.raises(ValueError, match=next(iter(change.values()))):
        ledger._KIND.decode(values)


def test_what_stands_beside_a_verdict():
    known = {"strength": "searched", "missing": "no section", "measured": 2.0, "needed": "30 draws"}
    parts = (part("first", 2.0), part("second", 3.0))
    said = ["searched (no section)", "measured 2", "2 of 2 parts fail", "it would take 30 draws"]
    assert ledger.numbers_of(result(**known, parts=parts)) == said
    assert ledger.numbers_of(result(strength="exact", predicted=1.0)) == ["exact", "claimed 1"]
    assert ledger.numbers_of(None) == []


def test_readings_are_named_with_where_they_are_printed():
    each = {
        "a": Evidence("fails", "not so", name="a"),
        "b": Evidence("holds", "so", name="b", printed_at="(7)"),
    }
    found = Evidence(
        "fails", "not so", name="rate", reading="a", phrase="at least", parts=tuple(each.values())
    )
    said = (
        "rate: “at least” read as “a” (otherwise b, printed in (7): holds); 1 of 2 readings holds"
    )
    several = result(readings=found.readings)
    assert ledger.readings(several) == [said]
    assert f"- {said}" in lines(several)
    assert ledger.readings(result()) == []
