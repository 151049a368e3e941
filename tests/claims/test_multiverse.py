"""Every reading of a sentence: cells, their level, what they say together, and how it is shown."""

import re
from dataclasses import replace
from itertools import pairwise, product

import matplotlib.pyplot as plt
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.colors import to_hex
from scipy.stats import beta, t

from linrep.claims import (
    DEPENDS,
    FAILS,
    HOLDS,
    UNDECIDED,
    Cases,
    Comparison,
    Evidence,
    Growth,
    Missing,
    Multiverse,
    Paired,
    Together,
    Trend,
    decide,
    judge,
    ledger,
)
from linrep.claims.evidence import shown
from linrep.claims.maps import Map
from linrep.claims.measurements import joined
from linrep.claims.multiverse import GROWTHS, OF_RUN, SCOPES, STATISTICS, TIES, up_to
from linrep.claims.record import Record
from linrep.claims.verify import plain, read
from linrep.figures import plotting

PHRASE = "eventually outperforms"


@st.composite
def maps(draw):
    """Draw a map with any verdicts, of which values may be excluded, but never all."""
    sizes = draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
    axes = {f"axis {place}": [f"v{x}" for x in range(size)] for place, size in enumerate(sizes)}
    count = int(np.prod(sizes))
    verdicts = draw(st.text("hfu", min_size=count, max_size=count))
    excluded = {
        name: {values[0]: "words"}
        for name, values in axes.items()
        if len(values) > 1 and draw(st.booleans())
    }
    return Map(axes, verdicts, PHRASE, excluded)


@given(maps(), st.booleans())
def test_a_map_counts_its_cells(found, every):
    cells = [
        (dict(zip(found.axes, values, strict=True)), letter)
        for values, letter in zip(product(*found.axes.values()), found.verdicts, strict=True)
    ]
    kept = [
        (reading, letter)
        for reading, letter in cells
        if every or all(reading[name] not in words for name, words in found.excluded.items())
    ]
    letters = {letter for _, letter in kept}
    expected = (
        DEPENDS if {"h", "f"} <= letters
        else UNDECIDED if "u" in letters
        else HOLDS if letters == {"h"} else FAILS
    )  # fmt: skip
    assert found.verdict(excluded=every) == expected
    counts = found.counts(excluded=every)
    assert list(counts.values()) == [sum(x == y for _, x in kept) for y in "hfu"]
    if not every:
        shares = {}
        for name in found.axes:
            pairs = [
                {one[1], other[1]} == {"h", "f"}
                for place, one in enumerate(kept)
                for other in kept[:place]
                if [key for key in one[0] if one[0][key] != other[0][key]] == [name]
            ]
            if any(pairs):
                shares[name] = sum(pairs) / len(pairs)
        assert found.decides() == pytest.approx(shares)
        assert list(found.decides().values()) == sorted(shares.values(), reverse=True)


@given(maps())
def test_a_map_comes_back_from_plain_values(found):
    assert Map(**found.as_json()).rows().equals(found.rows())
    assert Map(**found.as_json()).sentence() == found.sentence()


def runs(shape, seed=0):
    rng = np.random.default_rng(seed)
    return rng.lognormal(0.0, 0.3, shape), rng.lognormal(0.1, 0.3, shape)


@settings(deadline=None, max_examples=15)
@given(st.integers(1, 3), st.integers(1, 3), st.integers(1, 2), st.integers(12, 40), st.booleans())
def test_cells_of_a_comparison_are_those_of_the_definition(T, sizes, steps, count, within):
    ours, theirs = runs((steps, sizes, T, count))
    over = {"step": range(steps), "n": range(10, 10 + sizes), "T": range(T)}
    found = Comparison(ours, theirs, over=over, sizes="n", within=within, phrase=PHRASE)
    cells = iter(found.cells)
    scopes = SCOPES if sizes > 1 else SCOPES[:1]
    for step, length, scope, statistic, tie in product(
        range(steps), range(T), scopes, STATISTICS, TIES.values()
    ):
        cell = next(cells)
        a, b = ours[step, :, length], theirs[step, :, length]
        if scope == SCOPES[1]:
            assert isinstance(cell, Together)
            pairs = list(zip(cell.parts, a, b, strict=True))
            assert [part.name for part in cell.parts] == list(map(str, over["n"]))
        else:
            usual = b.mean(axis=1, keepdims=True)
            pairs = [(cell, (a / usual).ravel(), (b / usual).ravel())]
            if within:
                pairs = [(cell, *(each.prod(axis=0) ** (1 / sizes) for each in (a, b)))]
        for part, one, other in pairs:
            assert (part.tie, part.statistic) == (tie, statistic)
            assert np.allclose(part.smaller, one)
            assert np.allclose(part.larger, other)
            expected = np.median(one / other) if statistic == "median" else one.sum() / other.sum()
            assert decide(part, 0.1).measured == pytest.approx(expected)
    assert next(cells, None) is None
    assert found.intervals == len(found.cells) // len(TIES)


@pytest.mark.parametrize("falls", [False, True])
def test_cells_of_growth_are_those_of_the_definition(falls):
    values, _ = runs((2, 3, 4, 15))  # goal, size, n, runs
    over = {"goal": ("50 %", "90 %"), "size": (1, 2, 3), "n": (10, 20, 40, 80)}
    found = Growth(values, over=over, along="n", sizes="size", falls=falls, phrase=PHRASE)
    assert list(found.axes) == ["goal", "scope", "grows"]
    cells = iter(found.cells)
    for goal, scope, grows in product(range(2), SCOPES, found.axes["grows"]):
        cell = next(cells)
        own = values[goal] if not falls else values[goal][:, ::-1]
        parts = cell.parts if scope == SCOPES[1] else [cell]
        tables = list(own) if scope == SCOPES[1] else [np.concatenate(list(own), axis=1)]
        for part, table in zip(parts, tables, strict=True):
            which, _, statistic = grows.partition(", ")
            if which == GROWTHS[0]:
                assert isinstance(part, Trend)
                assert np.array_equal(part.samples, table.T)
                continue
            steps = part.parts if which == GROWTHS[2] else [part]
            pairs = pairwise(table) if which == GROWTHS[2] else [(table[0], table[-1])]
            for step, (one, other) in zip(steps, pairs, strict=True):
                assert step.statistic == statistic
                assert np.array_equal(step.smaller, one)
                assert np.array_equal(step.larger, other)


def test_rounds_are_read_by_their_median_alone():
    ours, theirs = runs((20,))
    theirs[0] = np.inf
    found = Comparison(ours, theirs, of="rounds", phrase=PHRASE)
    assert list(found.axes) == ["tie"]


def test_up_to_is_the_last_and_the_best():
    errors = np.array([[3.0, 1.0, 2.0], [4.0, np.nan, 1.0]])
    last, best = up_to(errors, (0, 2))
    assert last.tolist() == [[3.0, 4.0], [2.0, 1.0]]
    assert best.tolist() == [[3.0, 4.0], [1.0, 1.0]]
    assert len(OF_RUN) == 2


@pytest.mark.parametrize("statistic", STATISTICS)
def test_one_number_decides_all_ties(statistic):
    ours, theirs = runs((300,))
    found = [decide(Paired(ours, theirs, tie=tie, statistic=statistic), 0.01) for tie in (0, 0.02)]
    assert found[0].interval == found[1].interval


def test_the_interval_of_a_ratio_of_means_is_fiellers_where_samples_are_symmetric():
    rng = np.random.default_rng(0)
    b = 10.0 + rng.standard_normal(100_000)
    a = 0.9 * b + rng.standard_normal(b.size)
    found = decide(Paired(a, b, statistic="mean"), 0.01)
    quantile = t.isf(0.005, a.size - 1) / a.size**0.5
    roots = np.roots(
        [
            b.mean() ** 2 - (quantile * b.std(ddof=1)) ** 2,
            2.0 * quantile**2 * np.cov(a, b)[0, 1] - 2.0 * a.mean() * b.mean(),
            a.mean() ** 2 - (quantile * a.std(ddof=1)) ** 2,
        ]
    )
    assert np.allclose(sorted(roots), found.interval, rtol=2e-4)


def test_where_a_run_never_ends_a_mean_is_undecided():
    found = decide(Paired([1.0] * 50, [np.inf, *[2.0] * 49], statistic="mean"), 0.01)
    assert found.verdict == UNDECIDED
    assert found.needed


# The level is that of all cells together.


def families(count, seed):
    """Return of how many families of cells at their limit any cell has a verdict.

    A run's error at each length is that at the last but one length, moved; cells share all runs.
    """
    wrong = 0
    for rng in np.random.default_rng(seed).spawn(count):
        steps = rng.standard_normal((2, 4, 2, 60)) * 0.1  # method, length, size, runs
        ours, theirs = np.exp(np.cumsum(steps, axis=1))
        both = Comparison(
            ours, theirs, over={"T": (1, 2, 3, 4), "n": (1, 2)}, sizes="n", phrase=PHRASE
        )
        rising = Growth(ours, over={"T": (1, 2, 3, 4), "n": (1, 2)}, along="n", phrase=PHRASE)
        for item in (both, rising):
            found = judge([item], 0.05).parts[0].map
            rows = found.rows()
            # With a tie of 0 any verdict is wrong; with another one only that it holds is.
            tied = rows.get("tie", "no tie") != "no tie"
            decided = (rows["verdict"] == HOLDS) | ((rows["verdict"] == FAILS) & ~tied)
            wrong += item is both and bool(decided.any())
    return wrong


def upper_limit(wrong, count):
    return beta.ppf(0.95, wrong + 1, count - wrong)


def test_false_alarms_of_a_family_are_as_rare_as_its_level():
    assert upper_limit(families(30, 1), 30) < 0.25


@pytest.mark.slow
def test_false_alarms_of_a_thousand_families():
    assert upper_limit(families(1000, 2), 1000) <= 0.065


# What is asked of a map.


def test_words_are_needed():
    ours, theirs = runs((2, 20))
    over = {"T": (10, 20)}
    with pytest.raises(ValueError, match="phrase must have the paper's words"):
        Comparison(ours, theirs, over=over)
    with pytest.raises(ValueError, match="excluded must have the paper's words"):
        Comparison(ours, theirs, over=over, phrase=PHRASE, excluded={"T": {"30": "late"}})
    words = {"10": "late", "20": "later"}
    with pytest.raises(ValueError, match="excluded must leave a reading"):
        Comparison(ours, theirs, over=over, phrase=PHRASE, excluded={"T": words})


def test_axes_have_a_line_on_what_they_mean():
    ours, theirs = runs((2, 2, 20))
    over = {"of a run": OF_RUN, "T": (10, 20)}
    about = {"T": "after how many rounds", "tie": "how near is level"}
    item = Comparison(ours, theirs, over=over, phrase=PHRASE, about=about)
    further = Multiverse.along("data", {"own": item}, about={"data": "whose"})
    found = judge([further]).parts[0].map.about
    assert {name: found[name] for name in ("data", *about)} == {"data": "whose", **about}
    assert set(found) == {"data", *item.axes}
    with pytest.raises(ValueError, match="about must have a line by name of its axes, of a run, T"):
        Comparison(ours, theirs, over=over, phrase=PHRASE, about={"rounds": "how many"})


def test_arrays_are_checked():
    ours, theirs = runs((2, 20))
    with pytest.raises(ValueError, match=r"smaller must be of shape \(3,\)"):
        Comparison(ours, theirs, over={"T": (1, 2, 3)}, phrase=PHRASE)
    with pytest.raises(ValueError, match="different shapes"):
        Comparison(ours, theirs[:, :10], over={"T": (1, 2)}, phrase=PHRASE)
    with pytest.raises(ValueError, match="over must have the axis 'n'"):
        Comparison(ours, theirs, over={"T": (1, 2)}, sizes="n", phrase=PHRASE)
    with pytest.raises(ValueError, match="holds NaN"):
        Growth(ours * np.nan, over={"T": (1, 2)}, along="T", phrase=PHRASE)


def test_a_cell_for_each_combination():
    with pytest.raises(ValueError, match="a cell for each combination"):
        Multiverse({"a": ("1", "2")}, [Missing()], phrase=PHRASE)


def two_by_two(verdicts="hf", axis="column"):
    """Return a sentence on two columns that holds in one and fails in the other."""

    def measure(**reading):
        (column,) = reading.values()
        return Missing() if column == "u" else Cases([({"h": 1.0, "f": 3.0}[column], 2.0, {})])

    return Multiverse.of(
        measure,
        {axis: {f"{at}: {each}": each for at, each in enumerate(verdicts)}},
        phrase=PHRASE,
    )


def test_parts_that_depend_are_put_together():
    fails, holds = Cases([(2.0, 1.0, {})], name="a"), Cases([(1.0, 2.0, {})], name="b")
    assert judge([two_by_two(), holds]).verdict == DEPENDS
    assert judge([two_by_two(), fails]).verdict == FAILS
    assert judge([two_by_two(), Missing(name="c")]).verdict == UNDECIDED
    # Of a part with a reading that holds some readings of both hold, whatever comes of the others.
    partly, never = (two_by_two(each, "row") for each in ("hu", "uu"))
    assert judge([two_by_two(), partly]).verdict == DEPENDS
    assert judge([two_by_two(), never]).verdict == UNDECIDED
    assert judge([two_by_two("hh"), partly]).verdict == UNDECIDED
    assert judge([two_by_two("hh")]).verdict == HOLDS
    assert judge([two_by_two("ff")]).verdict == FAILS


def test_axes_that_parts_share_are_read_alike():
    """Of parts that hold at different values of an axis no reading of both holds."""
    parts = [
        Multiverse.of(
            lambda T, place=place, **_: Cases([(float(place != T), 0.5, {})]),
            {"T": (0, 1), which: ("a", "b")},
            phrase=PHRASE,
            name=which,
        )
        for place, which in enumerate(("one", "other"))
    ]
    assert [judge([part]).verdict for part in parts] == [DEPENDS, DEPENDS]
    assert judge(parts).verdict == FAILS


def test_runs_are_joined():
    ours, theirs = runs((2, 20))
    over = {"T": (1, 2)}
    one, other = (
        Comparison(ours[:, place], theirs[:, place], over=over, phrase=PHRASE)
        for place in (slice(0, 12), slice(12, 20))
    )
    (whole,) = joined([[one], [other]])
    assert np.array_equal(whole.smaller, ours)
    assert np.array_equal(whole.larger, theirs)


def test_measurements_come_back_from_a_store():
    ours, theirs = runs((2, 20))
    item = Comparison(ours, theirs, over={"T": (1, 2)}, phrase=PHRASE, name="lower")
    assert judge([read(plain(item))]).parts[0].map == judge([item]).parts[0].map


# How it stands beside the record, and how it is shown.


def entry(item, budget="standard", **more):
    found = judge([item])
    values = {name: getattr(found, name) for name in Evidence.__dataclass_fields__}
    return Record(id="mine.figure", budget=budget, mode="portable", **{**values, **more})


def test_fewer_readings_at_a_smaller_budget_contradict_nothing():
    recorded = entry(two_by_two())
    assert ledger.outcome(HOLDS, "quick", recorded) == ledger.FEWER_HERE
    assert ledger.outcome(HOLDS, "standard", recorded) == ledger.CONTRADICTS
    assert ledger.outcome(DEPENDS, "quick", entry(two_by_two("hh"))) == ledger.CONTRADICTS


def test_no_number_of_a_cell_differs_unseen():
    one, other = (
        Multiverse.of(lambda c: Cases([(c, 2.0, {})]), {"c": (1.0, last)}, phrase=PHRASE, name="p")
        for last in (1.5, 1.6)
    )
    assert ledger.differing(entry(one), entry(one)) == []
    assert ledger.differing(entry(other), entry(one)) == ["p, weighted sum: 4.2, recorded 4"]


def test_readings_that_change_places_do_not_go_unseen():
    def swapped(first, last):
        axes = {"c": {"1": first, "2": last}}
        item = Multiverse.of(lambda c: Cases([(c, 2.0, {})]), axes, phrase=PHRASE, name="p")
        return entry(item)

    recorded, now = swapped(1.0, 3.0), swapped(3.0, 1.0)
    other = replace(now, seed=1)  # whose numbers are others
    assert ledger.differing(other, recorded) == ["p: 2 of 2 readings with the opposite verdict"]
    assert "p: 2 of 2 readings with another verdict" in ledger.differing(now, recorded)
    assert "p, weighted sum: 5, recorded 7" in ledger.differing(now, recorded)


def test_a_record_keeps_the_map_and_says_it():
    item = Record.from_json(entry(two_by_two()).as_json())
    (found,) = item.maps.values()
    assert found == judge([two_by_two()]).parts[0].map
    text = " ".join(item.text().split())
    decides = "one holds and the other fails in 100% (column) of the pairs"
    for line in ("“eventually outperforms”; what decides: ", decides, "column: 0: h 1/0/0, 1: f"):
        assert line in text
        assert line in item._repr_markdown_()
    assert "· 1 of 2 readings hold" in text
    assert "claimed" not in text
    assert [shown(item, key) for key in ("measured", "predicted")] == ["1 of 2 readings hold", ""]


def test_what_words_exclude_and_what_an_axis_means_is_said_once():
    axes = {"T": ("12", "25", "50", "100"), "heads": ("exact", "1 step")}
    words = {"T": {"12": "in the end", "25": "in the end", "50": "later"}}
    found = Map(axes, "hhhhffhf", PHRASE, words, about={"heads": "how heads are found"})
    assert found.lines()[1:] == [
        "heads (how heads are found): exact 1/0/0, 1 step 0/1/0",
        "T: 12, 25 excluded by “in the end”; 50 excluded by “later”; 100 1/1/0",
    ]


@given(maps(), st.data())
def test_cells_that_have_values_are_counted(found, data):
    values = {
        axis: data.draw(st.lists(st.sampled_from(own), min_size=1, unique=True))
        for axis, own in found.axes.items()
        if data.draw(st.booleans())
    }
    rows = found.rows()
    for axis, wanted in values.items():
        rows = rows[rows[axis].isin(wanted)]
    assert found.rows()[found.having(values)].equals(rows)
    own = rows[rows["counted"]]["verdict"].value_counts()
    assert found.counts(values) == {verdict: own.get(verdict, 0) for verdict in found.counts()}


def test_what_is_asked_of_a_map_is_there():
    found = two_by_two().decided([decide(cell, 0.1) for cell in two_by_two().cells]).map
    with pytest.raises(ValueError, match="no axis 'row', only column"):
        found.counts({"row": ["0: h"]})
    with pytest.raises(ValueError, match="no column '2', only 0: h, 1: f"):
        found.counts({"column": ["2"]})


def test_what_is_undecided_says_what_it_takes():
    rng = np.random.default_rng(0)
    theirs = rng.lognormal(0.0, 0.3, (5, 100))
    ours = theirs * rng.lognormal(np.log([[0.94], [0.96], [0.98], [0.99], [1.0]]), 0.3, (5, 100))
    one = [Paired(*each, tie=0.0) for each in zip(ours, theirs, strict=True)]
    cells = [*one, Together([one[0], one[3]])]
    found = judge([Multiverse({"by": range(6)}, cells, phrase=PHRASE)], 0.06)
    factors = []
    for cell in cells:
        parts = cell.parts if isinstance(cell, Together) else [cell]
        each = [decide(part, 0.01 / len(parts)) for part in parts]
        if {part.verdict for part in each} in ({UNDECIDED}, {UNDECIDED, HOLDS}):
            seeds = [re.findall(r"about (\d+) seeds", part.needed) for part in each if part.needed]
            factors.append(max(int(count[0]) / 100 if count else np.inf for count in seeds))
    few, many = (sum(factor <= times for factor in factors) for times in (10, 100))
    (found,) = found.parts
    assert found.map.needed == (
        f"of the {len(factors)} undecided readings 10 times as many runs would decide {few}, 100 "
        f"times as many {many}, if their numbers stay"
    )
    assert found.map.needed in found.map.lines()[0]
    assert judge([two_by_two("hu")]).parts[0].map.needed == ""


def test_the_picture_has_every_reading():
    ours, theirs = runs((2, 3, 30))
    over = {"step": ("own", "same"), "T": (10, 20, 40)}
    words = {"T": {"10": "late"}}
    found = judge([Comparison(ours, theirs, over=over, phrase=PHRASE, excluded=words)])
    rows = found.points
    figure = plotting.evidence(rows)
    curve, matrix = figure.axes
    image = matrix.images[0].get_array()
    labels = [label.get_text().rpartition(": ")[2] for label in matrix.get_yticklabels()]
    colours = dict(zip(*reversed(curve.get_legend_handles_labels()), strict=True))
    for place, text, verdict in zip(rows["x"], rows["reading"], rows["series"], strict=True):
        own = {line.partition(": ")[2] for line in text.split("\n")}
        marked = {
            labels[at]
            for at in range(len(labels))
            if to_hex(image[at, int(place) - 1]) == to_hex(colours[verdict].get_color())
        }
        assert marked == own
    assert sorted(rows["x"]) == list(range(1, len(rows) + 1))
    plt.close(figure)


def test_readings_of_different_quantities_are_drawn_without_estimates():
    values, _ = runs((3, 30))
    found = judge([Growth(values, over={"n": (1, 2, 3)}, along="n", phrase=PHRASE)])
    figure = plotting.evidence(found.points)
    assert len(figure.axes) == 1
    plt.close(figure)
    rows = found.parts[0].map.rows()
    names = {"on average": "mean rank correlation"}
    names |= {"median": "median ratio", "mean": "ratio of the means"}
    assert list(rows["quantity"]) == [names[how.rpartition(", ")[2]] for how in rows["grows"]]
