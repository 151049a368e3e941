"""Measurements are kept whole, refused where they are nothing, and decided in one place."""

import json
from dataclasses import replace
from fractions import Fraction

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from scipy.stats import skew

from linrep.claims import (
    FAILS,
    HOLDS,
    LEVEL,
    MISPRINT,
    UNDECIDED,
    VACUOUS,
    Budget,
    Cases,
    Condition,
    Constant,
    Curve,
    Evidence,
    Exponent,
    Fact,
    Frequency,
    Identity,
    Mean,
    Missing,
    Paired,
    Readings,
    Search,
    Threshold,
    Together,
    Trend,
    Vacuous,
    decide,
    everywhere,
    judge,
    search_instances,
)
from linrep.claims.confidence import takes_runs
from linrep.claims.evidence import read_in_several_ways
from linrep.claims.measurements import flat
from linrep.claims.record import Record
from linrep.claims.verify import plain, read
from linrep.stats import TransitionPoint
from tests.tools import complaint


def sizes(rng, power, replicates=100):
    x = np.array([10.0, 20.0, 40.0, 80.0])
    return x, [size**power * np.exp(0.02 * rng.standard_normal(replicates)) for size in x]


def one_of_each(rng):
    x, samples = sizes(rng, -0.5)
    points = [TransitionPoint(v, v / 1.01, v * 1.01, 0.95, 0.5, 1.0) for v in x]
    rows = pd.DataFrame({"n": np.repeat(x, 100), "constant": np.concatenate(samples)})
    pairs = rng.uniform(1.0, 2.0, 60)
    found = search_instances(
        lambda z: (abs(z), 2.0 * abs(z)), [{}], {"z": ()}, Budget("quick"), rng
    )
    return {
        "cases": Cases([(1.0, 2.0, {"x": [1, 2]}), (0.0, 0.0, {})]),
        "identity": Identity([(1e-16, {}), (1e-15, {"n": np.int64(2)})], 1e-12),
        "search": found,
        "frequency": Frequency(0, 10_000, 0.1),
        "mean": Mean(rng.normal(3.0, 0.1, 400), equals=3.0),
        "at most": Mean(rng.normal(3.0, 0.1, 400), at_most=4.0, setting={"k": 2}),
        "paired": Paired(pairs, 3.0 * pairs),
        "trend": Trend(1.0 + np.arange(5.0) + 0.1 * rng.standard_normal((40, 5))),
        "exponent": Exponent(x, samples, equals=-0.5),
        "threshold": Threshold(x, points, at_most=1.0),
        "constant": Constant(rows, ["n"]),
        "condition": Condition(True, 1.0, 1.0),
        "together": Together([Cases([(0.0, 1.0, {})]), Frequency(0, 10_000, 0.1, weight=0.5)]),
        "readings": Readings(
            [Cases([(2.0, 1.0, {})], name="one"), Condition(True, name="other")], phrase="it"
        ),
    }


def test_what_is_true_holds_and_a_claim_keeps_to_its_level(fresh_rng):
    measured = one_of_each(fresh_rng)
    for name, item in measured.items():
        if name not in ("together", "readings"):
            assert decide(item, LEVEL).verdict == HOLDS, name
    found = judge([*measured.values(), Fact("a number", 3.0, "s")])
    assert found.verdict == HOLDS
    assert found.level == pytest.approx(LEVEL)
    assert len(found.facts) == 1
    shares = {part.name or str(place): part.level for place, part in enumerate(found.parts)}
    statistical = [item for item in flat(measured.values()) if item.statistical]
    unit = LEVEL / sum(item.weight for item in statistical)
    assert {round(level / unit, 9) for level in shares.values() if level} <= {1.0, 0.5}


def test_what_is_left_out_keeps_its_share():
    parts = [Frequency(0, 99, 0.5, weight=0.25), Frequency(0, 99, 0.5, weight=0.25)]
    assert judge([Together(parts, left_out=0.5)], 0.04).level == pytest.approx(0.02)
    missing = Missing("nothing", "more", weight=0.5)
    assert judge([*parts, missing], 0.04).level == pytest.approx(0.02)


def test_a_violation_that_was_searched_for_is_named_by_what_is_shown():
    found = decide(Search(0.5, left=3.0, right=1.0, instance={"x": [1.0]}))
    assert (found.verdict, found.measured, found.quantity) == (FAILS, 3.0, "left side")
    assert decide(Search(0.0)).quantity == "relative excess of the left side"


def test_of_many_cases_and_samples_the_picture_says_how_many_it_shows(fresh_rng):
    cases = Cases([(float(x), 2.0 * x, {}) for x in range(1, 2001)])
    assert (cases.count, cases.violations, len(cases.cases)) == (2000, 0, 500)
    samples = fresh_rng.normal(3.0, 0.1, 2000)
    mean = Mean(samples, equals=3.0)
    assert mean.moments == pytest.approx(
        (2000, samples.mean(), samples.std(ddof=1), skew(samples, bias=False))
    )
    assert mean.samples.size == 500
    for item in (cases, mean):
        assert judge([item]).points["xlabel"].str.contains("of 2000").all()


def test_every_measurement_that_holds_numbers_has_a_picture(fresh_rng):
    measured = one_of_each(fresh_rng)
    for name in ("condition", "together", "readings"):
        del measured[name]
    for name, item in measured.items():
        points = decide(item).points
        assert points is not None, name
        assert (points["x"] > 0.0).all(), name
        drawn = points["y"].gt(0.0) | (points["high"].gt(0.0) if "high" in points else False)
        assert drawn.all(), name
        if name not in ("trend", "constant"):  # which have no number to be compared with
            assert points["predicted"].notna().any(), name
        (axis,) = decide(item).plot()
        assert axis.get_xlabel(), name
        plt.close("all")


def test_the_picture_of_frequencies_has_their_intervals_in_one_panel():
    rare = [Frequency(count, 1000, 0.1, name=f"{count}") for count in (90, 0, 30)]
    points = judge([Together(rare)], 0.03).points
    assert points["panel"].unique().tolist() == [""]
    assert points["y"].isna().tolist() == [True, False, False]
    assert points["y"].tolist()[1:] == [0.03, 0.09]
    intervals = [decide(item, 0.01).interval for item in (rare[1], rare[2], rare[0])]
    assert list(zip(points["low"], points["high"], strict=True)) == intervals
    assert decide(rare[0], 0.01).points["low"].item() == intervals[2][0]


def test_the_picture_of_a_search_ends_at_the_tightest_instance(fresh_rng):
    found = search_instances(
        lambda a, b: (abs(a), abs(a) + abs(b)), [{}], {"a": (), "b": ()}, Budget(), fresh_rng
    )
    points = decide(found).points
    assert points["y"].max() == found.tightest
    assert found.ratios.size <= 500
    assert f"of {found.evaluations} instances" in points["xlabel"].iloc[0]
    assert decide(read(json.loads(json.dumps(plain(found))))).points.equals(points)


def test_the_kind_of_a_claim_follows_from_its_measurements():
    found = judge(
        [
            Cases([(1.0, 2.0, {})]),
            Together([Frequency(0, 99, 0.5), Mean([1.0, 1.1, 0.9], at_most=5.0)]),
            Missing("nothing", "more"),
            Cases([(1.0, 2.0, {})]),
        ]
    )
    assert found.kinds == ("deterministic inequality", "probability bound", "expectation")
    assert found.parts[1].kinds == ("probability bound", "expectation")


def test_weights_share_the_level(fresh_rng):
    parts = [Frequency(0, 99, 0.5, weight=weight, name=str(weight)) for weight in (1.0, 3.0)]
    found = judge(parts, 0.04)
    assert [part.level for part in found.parts] == pytest.approx([0.01, 0.03])


@pytest.mark.parametrize("claimed", [{"equals": 0.01}, {"at_most": 0.001}, {"at_least": 0.001}])
def test_an_event_that_never_came_is_no_number_without_noise(claimed):
    """Of 100 runs an event of probability 0.01 comes in none with probability 0.37."""
    for value in (0.0, 1.0):
        found = decide(Mean(np.full(100, value), **claimed))
        assert found.verdict == UNDECIDED
        assert takes_runs(found.needed)
    assert decide(Mean(np.full(100, 0.01), equals=0.01, deterministic=True)).verdict == HOLDS
    assert takes_runs(decide(Mean([1.0], **claimed)).needed)


@pytest.mark.parametrize("size", [3, 7, 10, 30])
@pytest.mark.parametrize("value", [0.1, 0.3, 0.7])
def test_rounding_of_a_mean_is_no_noise(value, size):
    samples = np.full(size, value)
    found = Mean(samples, at_most=value)
    assert decide(found).verdict == UNDECIDED
    assert takes_runs(decide(found.joined([found, found])).needed)
    assert decide(Mean(samples, at_most=value, deterministic=True)).verdict == HOLDS


def test_storage_decides_as_before(fresh_rng):
    for name, item in one_of_each(fresh_rng).items():
        again = read(json.loads(json.dumps(plain([item]))))
        for level in (LEVEL, 0.01):
            one, two = judge([item], level), judge(again, level)
            assert repr(one) == repr(two), name
            if one.points is not None:
                pd.testing.assert_frame_equal(one.points, two.points, check_dtype=False)


def test_fractions_are_stored_exactly():
    """A difference that no float shows decides."""
    third, more = Fraction(1, 3), Fraction(1, 3) + Fraction(1, 10**30)
    item = Cases([(more, third, {"x": Fraction(1, 7)})])
    again = read(json.loads(json.dumps(plain(item))))
    assert again.cases == item.cases
    assert judge([again]).verdict == judge([item]).verdict == FAILS


def test_facts_and_curves_survive_storage():
    points = pd.DataFrame({"panel": [""], "x": [1.0], "y": [2.0], "xlabel": "x", "ylabel": "y"})
    items = [Cases([(0.0, 1.0, {})]), Fact("so many", 3, "runs"), Curve(points)]
    found = judge(read(json.loads(json.dumps(plain(items)))))
    assert found.facts == (items[1],)
    pd.testing.assert_frame_equal(found.points, points)
    with pytest.raises(TypeError, match="holds a set"):
        plain(Cases([(0.0, 1.0, {"x": {1}})]))


@pytest.mark.parametrize(
    ("item", "verdict"),
    [
        (Cases([(0.0, 1.0, {}), (2.0, 1.0, {"x": 3})]), FAILS),
        (Identity([(np.nan, {})]), FAILS),
        (Frequency(90, 100, 0.1), FAILS),
        (Mean(np.linspace(0.9, 1.1, 50), equals=3.0), FAILS),
        (Mean(np.linspace(0.0, 2.0, 5), at_most=1.0), UNDECIDED),
        (Paired(np.full(60, 2.0), np.ones(60)), FAILS),
        (Condition(False, setting={"x": 1}), FAILS),
        (Vacuous(1e12, 1e9, "more rounds than can be"), VACUOUS),
        (Missing("every run left the ball", "a larger ball"), UNDECIDED),
        (Readings([Condition(False, name="a"), Condition(False, name="b")], phrase="it"), FAILS),
        (Together([Condition(True), Condition(False)]), FAILS),
    ],
)
def test_what_is_not_true_does_not_hold(item, verdict):
    found = judge([item])
    assert found.verdict == verdict
    if verdict == FAILS:
        assert found.counterexample is not None
    if verdict == UNDECIDED:
        assert found.needed


TRUE, FALSE = (0.0, 1.0, {}), (2.0, 1.0, {})
EXACTLY_FALSE = (Fraction(1, 3), Fraction(1, 4), {})
OFTEN, RARELY = Frequency(90, 100, 0.1), Frequency(0, 10_000, 0.1)


@pytest.mark.parametrize(
    ("items", "strength"),
    [
        ([Cases([TRUE])], "searched"),
        ([Identity([(0.0, {})])], "searched"),
        ([Cases([TRUE], strength="proved")], "derived"),
        ([Condition(True, strength="enumerated exactly")], "enumerated exactly"),
        ([RARELY], "statistical"),
        ([Cases([FALSE])], "searched"),
        ([Cases([(2, 1, {})])], "searched"),  # counted in floats, perhaps
        ([Cases([EXACTLY_FALSE])], "exact"),
        ([Cases([(Fraction(1, 3), 0, {})])], "exact"),
        ([Cases([EXACTLY_FALSE, FALSE])], "searched"),  # the worst case decides
        # What holds needs all of its parts, a failure one.
        ([Cases([TRUE], strength="proved"), RARELY], "statistical"),
        ([RARELY, Cases([TRUE])], "searched"),
        ([OFTEN, Cases([TRUE], strength="proved")], "statistical"),
        ([Cases([FALSE]), OFTEN, Cases([EXACTLY_FALSE])], "exact"),
        ([Together([Cases([TRUE], strength="proved"), RARELY])], "statistical"),
        # Samples that a derivation covers do not weaken what it derives.
        ([Cases([TRUE], strength="proved"), replace(RARELY, strength="proved")], "derived"),
        ([replace(RARELY, strength="proved")], "statistical"),
        ([replace(RARELY, strength="enumerated exactly")], "statistical"),
        ([everywhere(lambda x: x, lambda x: x + 1, {"x": (0, 1)})], "certified"),
        ([everywhere(lambda x: x, lambda x: x - 1, {"x": (0, 1)})], "exact"),
        (
            [
                everywhere(lambda x: x, lambda x: x + 1, {"x": (0, 1)}),
                replace(RARELY, strength="proved"),
            ],
            "derived",
        ),
        # Of readings one that holds is enough; all have to fail.
        (
            [
                Readings(
                    [
                        Cases([TRUE], name="a"),
                        Cases([TRUE], strength="proved", name="b"),
                        replace(OFTEN, name="c"),
                    ],
                    phrase="it",
                )
            ],
            "derived",
        ),
        (
            [Readings([Cases([EXACTLY_FALSE], name="a"), replace(OFTEN, name="b")], phrase="it")],
            "statistical",
        ),
        ([Vacuous(1.0, 0.5, "why", strength="proved"), Cases([TRUE])], "derived"),
        ([Missing("nothing", "more")], ""),
        ([Missing("nothing", "more"), Cases([TRUE], strength="proved")], ""),
    ],
)
def test_strength_where_the_derivation_is_found(items, strength):
    found = judge(items)
    assert (found.claimed or found.strength) == strength
    again = judge(read(json.loads(json.dumps(plain(items)))))
    assert (again.strength, again.claimed) == (found.strength, found.claimed)


@pytest.mark.parametrize(
    ("item", "strength"),
    [
        (Cases([TRUE], strength="proved"), "searched"),
        (Identity([(0.0, {})], strength="proved"), "searched"),
        (Condition(True, 1.0, 2.0, strength="proved"), "searched"),
        (Cases([(Fraction(1, 3), Fraction(1, 2), {})], strength="proved"), "searched"),
        (Vacuous(1.0, 0.5, "why", strength="proved"), "searched"),
        (replace(RARELY, strength="proved"), "statistical"),
    ],
)
def test_what_is_called_proved_has_by_itself_what_was_measured(item, strength):
    assert judge([item]).strength == strength
    (part,) = judge([item]).parts
    assert Evidence.from_json(part.as_json()).strength == strength
    for said in ("proved", "derived", "certified", "exact"):
        assert Evidence.from_json(part.as_json() | {"strength": said}).strength == strength


def test_a_failure_shows_its_firmest_counterexample():
    searched, exact = (2.0, 1.0, {"at": "floats"}), (*EXACTLY_FALSE[:2], {"at": "fractions"})
    found = judge([Cases([searched], name="first"), Cases([exact], name="second")])
    assert found.strength == "exact"
    assert found.counterexample["at"] == "fractions"
    assert found.sentence.startswith("second")


def test_a_check_cannot_say_every_strength_and_a_groups_is_that_of_its_parts():
    for said in ("certain", "certified", "exact", "derived"):
        with complaint(ValueError, "strength", "proved", "enumerated exactly"):
            judge([Together([Cases([TRUE], strength=said)])])
    for group in (Together, Readings):
        with complaint(ValueError, "its parts have a strength each"):
            group([Cases([TRUE], name="part")], strength="proved")


def test_readings_have_names():
    for names in (("", "other"), ("same", "same")):
        with complaint(ValueError, "each reading must have a name of its own"):
            Readings([Cases([TRUE], name=name) for name in names], name="it")


def test_the_reading_that_was_taken_is_known_at_any_depth():
    first = Readings([Cases([FALSE], name="a"), Cases([TRUE], name="b")], name="this", phrase="x")
    second = Readings([Cases([FALSE], name="c"), Cases([FALSE], name="d")], name="that", phrase="y")
    found = read_in_several_ways(judge([Cases([TRUE]), first, Together([second, RARELY])]))
    taken = {item.name: (item.reading, [part.name for part in item.parts]) for item in found}
    assert taken == {"this": ("b", ["a", "b"]), "that": ("c", ["c", "d"])}
    assert read_in_several_ways(judge([Cases([TRUE]), RARELY])) == []


def test_tightness_is_of_two_positive_sides():
    assert decide(Cases([(1.0, 2.0, {})])).tightness == 0.5
    for left, right in ((-1.0, 2.0), (-2.0, -1.0), (0.0, 1.0), (0.0, 0.0)):
        assert np.isnan(decide(Cases([(left, right, {})])).tightness)
    assert np.isnan(decide(Identity([(1e-16, {})])).tightness)
    assert np.isnan(decide(Paired(np.ones(60), np.full(60, 2.0))).tightness)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Cases([], name="empty"), ("'empty'", "no case")),
        (lambda: Cases([(np.nan, 1.0, {"x": 2})]), ("NaN", "'x': 2")),
        (lambda: Mean([np.nan], equals=1.0), ("NaN",)),
        (lambda: Mean([1.0]), ("equals", "at_most")),
        (lambda: Mean([1.0], equals=1.0, at_most=2.0), ("equals", "at_most")),
        (lambda: Paired([1.0], [1.0, 2.0]), ("lengths",)),
        (lambda: Exponent([1, 2, 4], [[1.0, 1.0]] * 2, equals=1.0), ("2 samples", "3 sizes")),
        (lambda: Exponent([1, 2, 4], [[1.0, 1.0]] * 3), ("equals", "at_most")),
        (lambda: Identity([]), ("no deviation",)),
        (lambda: Together([]), ("no measurement",)),
        (lambda: judge([]), ("no measurement",)),
        (lambda: judge([Fact("alone", 1.0)]), ("no measurement",)),
        (
            lambda: judge(
                [Cases([(0, 1, {})], quantity="time", unit=unit) for unit in ("s", "rounds")]
            ),
            ("'time'", "'s'", "'rounds'"),
        ),
    ],
)
def test_what_is_no_measurement_is_refused(make, words):
    with complaint(ValueError, *words):
        make()


def test_a_form_printed_elsewhere_makes_a_failure_a_misprint():
    def reading(name, value):
        return Cases([(value, 1.0, {})], name=name)

    both = Readings(
        [reading("as stated", 2.0), reading("with the bar", 0.5)],
        phrase="d", printed_elsewhere={"with the bar": "Theorem A.1"},
    )  # fmt: skip
    decided = judge([both])
    assert decided.verdict == MISPRINT
    assert decided.parts[0].reading == "with the bar"
    found = [(each["reading"], each["printed_at"], each["verdict"]) for each in decided.readings]
    assert found == [("as stated", "", FAILS), ("with the bar", "Theorem A.1", HOLDS)]
    assert judge(read(plain([both]))).verdict == MISPRINT
    holding = Readings(
        [reading("as stated", 0.5), reading("with the bar", 0.4)],
        printed_elsewhere={"with the bar": "Theorem A.1"},
    )
    assert judge([holding]).verdict == HOLDS
    unclear = Readings(
        [reading("as stated", 2.0), Missing(name="with the bar", needed="more")],
        printed_elsewhere={"with the bar": "Theorem A.1"},
    )
    assert (judge([unclear]).verdict, judge([unclear]).needed) == (UNDECIDED, "more")
    assert judge([both, Cases([(2.0, 1.0, {})], name="another")]).verdict == FAILS
    assert judge([both, Cases([(0.5, 1.0, {})], name="another")]).verdict == MISPRINT
    groups = [
        Together([reading(name, value)], name=name) for name, value in (("a", 2.0), ("b", 0.5))
    ]
    assert judge([Readings(groups, printed_elsewhere={"b": "Theorem A.1"})]).verdict == MISPRINT
    with complaint(ValueError, "sentence itself"):
        Readings([reading("a", 1.0)], printed_elsewhere={"a": "Theorem A.1"})
    with complaint(ValueError, "Theorem A.1", "b"):
        Readings([reading("a", 1.0)], printed_elsewhere={"b": "Theorem A.1"})


@pytest.mark.parametrize(
    ("failing", "strength"),
    [
        (Cases([(2.0, 1.0, {})], strength="proved"), "searched"),
        (Cases([(Fraction(2), Fraction(1), {})]), "exact"),
        (Condition(False, 2.0, 1.0, strength="proved"), "searched"),
        (Condition(False, Fraction(2), Fraction(1), strength="proved"), "searched"),  # is it false?
        (everywhere(lambda x: x, lambda x: x - 1, {"x": (0, 1)}), "exact"),
        (Mean(np.linspace(1.9, 2.1, 50), equals=1.0, strength="proved"), "statistical"),
        (Condition(False, 2.0, 1.0, strength="enumerated exactly"), "enumerated exactly"),
    ],
)
def test_exact_numbers_prove_a_failure_and_a_derivation_does_not(failing, strength):
    (part,) = judge([failing]).parts
    assert part.strength == strength
    assert bool(part.ground) == (strength == "exact")


def test_what_is_exact_is_counted_by_what_computed_it():
    fractions = Cases([(Fraction(1), Fraction(2), {})], strength="proved", name="a")
    intervals = everywhere(lambda x: x, lambda x: x + 1, {"x": (0, 1)}, name="b")
    derived = Condition(True, 1.0, 2.0, strength="proved", name="c")
    found = judge([fractions, intervals, derived])
    assert Record(verdict=HOLDS, id="a.b", parts=found.parts).exact == {
        "python-flint": 1,
        "fractions": 1,
    }
    assert [part.ground for part in found.parts] == ["fractions", "intervals", ""]
    assert Evidence.from_json(found.parts[1].as_json()).ground == "intervals"


def test_a_group_that_is_printed_elsewhere_makes_a_misprint():
    """Also where readings are groups, or are read in several ways themselves."""
    wrong, right = Cases([(2.0, 1.0, {})], name="wrong"), Cases([(0.0, 1.0, {})], name="right")
    for group in (Together, Readings):
        parts = [replace(wrong, name="own"), group([right], name="other")]
        found = judge([Readings(parts, name="form", printed_elsewhere={"other": "(2)"})])
        assert found.verdict == MISPRINT
