"""What the ledger's pages say of a result, and what a ledger takes."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from linrep.claims import (
    Cases,
    Exponent,
    Frequency,
    Identity,
    Mean,
    Paired,
    Search,
    decide,
    ledger,
    pages,
    pictures,
)
from linrep.claims.evidence import Evidence, Fact
from linrep.claims.record import Record, failing_parts
from tests.tools import claims_of, complaint, rewrite

POINTS = pd.DataFrame({"panel": ["one"], "x": [1.0], "y": [2.0], "series": [""]})


def result(name="mine.bound", **changes):
    fields = {"id": name, "budget": "standard", "seed": 3, "seconds": 1.0, "sentence": "found"}
    return Record(**{"verdict": "fails", **fields, **changes})


def part(name, tightness, verdict="fails"):
    return Evidence(verdict, f"{name} was seen", tightness=tightness, name=name, strength="exact")


def lines(found):
    return "\n".join(pages.account(found))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"needed": "30 draws"}, "It would take 30 draws"),
        ({"corrected": (Record(id="mine.twin", corrects="mine.bound"),)}, "Corrected: `mine.twin`"),
        ({"strength": "searched"}, "(searched, "),
        ({"interval": (0.25, math.inf)}, "interval from 0.25,"),
        ({"interval": (-math.inf, 0.75)}, "interval to 0.75,"),
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
    plain = Record(id="mine.bound", plain="It is so.")
    under = replace(plain, latex="x < 1", hypotheses=("m = 1", "k = 2"))
    assert pages.account(under)[2:] == ["$$x < 1$$", "", "Under m = 1; k = 2.", ""]
    assert pages.account(plain) == ["It is so.", ""]


def test_findings_and_sensitivity_are_those_of_papers():
    found = ledger.recorded()["flute.lemmaA8"]
    for said in ("Why: [", "Sensitivity: "):
        assert said in lines(found)
        assert said not in lines(replace(found, file="own.py"))


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
    assert found.largest_failure() == said
    holds = result(verdict="holds", tightness=tightness, parts=tuple(parts))
    assert holds.largest_failure() == ""


def test_parts_that_fail_are_counted_where_they_are_several():
    assert failing_parts(["fails", "holds"]) == ""
    assert failing_parts(["fails", "holds", "fails"]) == "2 of 3 parts fail"


def test_a_ledger_keeps_the_entries_and_pictures_of_claims_that_there_are(tmp_path):
    path = tmp_path / "own.json"
    first, second = result("mine.one", points=POINTS), result("mine.two", points=POINTS.assign(y=3))
    ledger.record(
        [first, second, result("mine.gone")], claims_of("mine.one", "mine.two", "mine.gone"), path
    )
    ledger.record([result("mine.two")], claims_of("mine.one", "mine.two"), path)
    assert list(ledger.recorded(path)) == ["mine.one", "mine.two"]
    assert pictures.recorded("mine.one", path)["y"].tolist() == [2.0]
    assert pictures.recorded("mine.two", path) is None


def test_the_ledger_of_another_file_is_not_written_over(tmp_path):
    path = tmp_path / "own.json"
    ledger.record([result("mine.one")], claims_of("mine.one"), path)
    with complaint(ValueError, "own.json", "mine.one"):
        ledger.record([result("mine.two")], claims_of("mine.two"), path)
    assert list(ledger.recorded(path)) == ["mine.one"]


@pytest.mark.parametrize(
    ("refused", "words"),
    [
        (result(verdict="error", sentence="no luck"), "mine.bound .* raised: no luck"),
        (result(budget="quick"), "mine.bound .* standard"),
    ],
)
def test_what_cannot_be_recorded_is_named_and_changes_nothing(refused, words, tmp_path):
    path = tmp_path / "own.json"
    ledger.record([result()], claims_of("mine.bound"), path)
    before = path.read_bytes()
    with pytest.raises(ValueError, match=words):
        ledger.record([refused], claims_of("mine.bound"), path)
    assert path.read_bytes() == before


def test_a_claim_of_no_paper_has_no_ledger():
    with pytest.raises(ValueError, match=r"mine\.bound is of no paper"):
        ledger.record([result()], claims_of("mine.bound"))


@pytest.mark.parametrize("change", [{"verdict": "perhaps"}, {"budget": "vast"}])
def test_a_verdict_that_there_is_not_is_refused(change, tmp_path):
    path = tmp_path / "own.json"
    ledger.record([result()], claims_of("mine.bound"), path)
    rewrite(path, lambda content: content["claims"][0].update(change))
    with pytest.raises(ValueError, match=next(iter(change.values()))):
        ledger.recorded(path)


def test_what_stands_beside_a_verdict():
    known = {"strength": "searched", "missing": "no section", "measured": 2.0, "needed": "30 draws"}
    parts = (part("first", 2.0), part("second", 3.0))
    said = ["searched (no section)", "measured 2", "2 of 2 parts fail", "it would take 30 draws"]
    assert result(**known, parts=parts).numbers() == said
    assert result(strength="exact", predicted=1.0).numbers() == ["exact", "claimed 1"]
    assert Record(id="mine.bound").numbers() == []


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
    assert several.read_as() == [said]
    assert f"- {said}" in lines(several)
    assert result().read_as() == []


@pytest.mark.parametrize(
    ("verdict", "budget", "entry", "expected"),
    [
        ("holds", "quick", ("holds", "standard"), "as recorded"),
        ("fails", "quick", ("holds", "standard"), "contradicts"),
        ("undecided", "quick", ("holds", "standard"), "undecided at this budget"),
        ("undecided", "standard", ("holds", "standard"), "contradicts"),
        ("undecided", "thorough", None, "not as expected, without a record"),
        ("holds", "quick", None, "as expected, without a record"),
        ("holds", "quick", ("undecided", "standard"), "decided here and undecided in the record"),
        ("fails", "thorough", ("undecided", "quick"), "decided here and undecided in the record"),
        ("holds", "standard", ("undecided", "standard"), "contradicts"),
        ("error", "quick", ("undecided", "standard"), "contradicts"),
        ("error", "quick", ("holds", "standard"), "contradicts"),
    ],
)
def test_how_a_verdict_stands_beside_the_ledger(verdict, budget, entry, expected):
    recorded = entry and result(verdict=entry[0], budget=entry[1])
    assert ledger.outcome(verdict, budget, recorded) == expected


# Numbers beside the record.


def measured(value, name="rate", **more):
    return Evidence("holds", "so", measured=value, name=name, **more)


ROOM = {"interval": (0.9, 1.3), "predicted": 1.0}
WIDE, NARROW = ({"interval": (0.1, high), "predicted": 1.0} for high in (0.95, 0.85))


@pytest.mark.parametrize(
    ("now", "before", "run", "differs"),
    [
        # The same run in portable mode: the same numbers, to rounding.
        (measured(1.0), measured(1.0 + 1e-12), {}, False),
        (measured(1.0), measured(1.0 + 1e-8), {}, True),
        (measured(3e-16), measured(7e-17), {}, False),
        (measured(math.nan), measured(math.nan), {}, False),
        (measured(math.nan), measured(1.0), {}, True),
        (measured(1.0, name="other"), measured(1.0), {}, True),
        (measured(1.0, **ROOM), measured(1.1, **ROOM), {}, True),
        # A quick one, beside the quick numbers that are recorded.
        (measured(7.0), measured(1.0), {"budget": "quick"}, False),
        (measured(7.1), measured(1.0), {"budget": "quick"}, True),
        # Another run: within intervals, where the statement has the same number.
        (measured(1.0), measured(2.0), {"seed": 9}, False),
        (measured(1.0), measured(2.0), {"mode": "native"}, False),
        (measured(1.0), measured(2.0), {"versions": "numpy 3"}, False),
        (measured(0.5, predicted=1.0), measured(1.1, **ROOM), {"seed": 9}, True),
        (measured(0.5, predicted=1.0), measured(1.1, **ROOM), {"mode": "native"}, True),
        (measured(0.5, **WIDE), measured(1.1, **ROOM), {"seed": 9}, False),
        (measured(0.5, **NARROW), measured(1.1, **ROOM), {"seed": 9}, True),
        (measured(0.5, predicted=0.4), measured(1.1, **ROOM), {"seed": 9}, False),
        (measured(0.5, **NARROW), measured(1.1, **ROOM), {"budget": "quick", "seed": 9}, False),
        (measured(1.0, name="other"), measured(1.0), {"seed": 9}, False),
    ],
)  # fmt: skip
def test_numbers_are_compared_with_what_is_recorded_of_them(now, before, run, differs):
    entry = result(verdict="holds", mode="portable", parts=(before,), quick={"rate": 7.0})
    found = replace(entry, parts=(now,), **run)
    assert bool(ledger.differing(found, entry)) == differs
    assert ledger.differing(found, None) == []


def test_without_quick_numbers_a_quick_run_is_not_compared():
    entry = result(verdict="holds", mode="portable", parts=(measured(1.0),))
    assert ledger.differing(replace(entry, budget="quick", parts=(measured(2.0),)), entry) == []


def test_a_ledger_whose_numbers_mean_something_else_is_none(tmp_path):
    path = tmp_path / "own.json"
    ledger.record([result()], claims_of("mine.bound"), path)
    rewrite(path, lambda content: content.update(version=1))
    with pytest.raises(ValueError, match="its numbers are those of version 1"):
        ledger.recorded(path)


def test_what_numbers_mean_is_the_version_s():
    """Where one of these changes, the version of the record has to."""
    rng = np.random.default_rng(0)
    runs = rng.chisquare(4, 200)
    taken = {
        "Cases": Cases([(1.0, 2.0, {}), (3.0, 4.0, {})]),
        "Identity": Identity([(1e-16, {}), (2e-16, {})]),
        "Search": Search(excess=-7 / 13, tightest=0.3, evaluations=9),
        "Frequency": Frequency(3, 1000, 0.1),
        "Mean": Mean(runs, at_most=9.0),
        "Paired": Paired(runs, runs + 1.0),
        "Exponent": Exponent([1, 2, 4], [runs, runs / 2, runs / 4], equals=-1.0),
    }
    found = {name: decide(item) for name, item in taken.items()}
    numbers = {
        name: [float(f"{getattr(each, key):.5g}") for key in ("measured", "predicted")]
        for name, each in found.items()
    }
    assert (ledger.VERSION, numbers) == (
        2,
        {
            "Cases": [1.0, 2.0],
            "Identity": [2e-16, 1e-12],
            "Search": [0.3, 1.0],
            "Frequency": [0.003, 0.1],
            "Mean": [3.8185, 9.0],
            "Paired": [0.76747, 1.0],
            "Exponent": [-1.0, -1.0],
        },
    )
