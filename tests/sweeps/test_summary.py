"""Summaries of stored rows against what pandas and SciPy give directly."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linrep.stats import mean_interval, proportion_interval, transition_point
from linrep.sweeps import create_run, run, summarize, thresholds
from linrep.sweeps.summary import evaluate
from tests.sweeps.support import toy
from tests.tools import complaint


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    m = np.tile(np.repeat([2, 4, 8, 16], 30), 2)
    n = np.repeat([10, 20], 120)
    value = np.exp(rng.standard_normal(240)) / m / n
    status = np.where(np.arange(240) % 60 == 0, "failed", "ok")
    value[status == "failed"] = np.nan
    return pd.DataFrame({"n": n, "m": m, "value": value, "status": status})


def group(rows, n, m):
    chosen = rows[(rows["n"] == n) & (rows["m"] == m) & (rows["status"] == "ok")]
    return chosen["value"].to_numpy()


@pytest.mark.parametrize("shuffled", [False, True])
def test_rows_of_one_replicate_are_told_from_replicates(shuffled):
    place = np.arange(12)
    cell = np.array(["b", "a"])[place // 6]
    columns = {"cell": cell, "replicate": place % 6 // 2, "half": place % 2, "value": 1.0}
    rows = pd.DataFrame(columns)
    rows = rows.sample(frac=1.0, random_state=0) if shuffled else rows
    assert summarize(rows, "value", ["half"])["replicates"].tolist() == [6, 6]
    assert summarize(rows[rows["half"] == 1], "value", [])["replicates"].tolist() == [6]
    with complaint(ValueError, "several rows in a group"):
        summarize(rows, "value", ["cell"])
    with complaint(ValueError, "several rows in a group"):
        summarize(pd.concat([rows[rows["half"] == 1]] * 2), "value", [])


def test_a_group_with_one_value_has_no_threshold_and_no_limits():
    rows = pd.DataFrame({"n": [1, 1, 2, 2, 2], "m": [3, 3, 1, 2, 2], "good": [1, 0, 0, 1, 1]})
    table = thresholds(rows.assign(status="ok", good=rows["good"] == 1), "good", "m", "n")
    assert table["estimate"].isna().tolist() == [True, False]
    assert table.loc[0, ["low", "high"]].tolist() == [0.0, np.inf]


def test_thresholds_are_transition_points_of_the_groups(rows):
    table = thresholds(rows, "value < 0.02", "m", "n").set_index("n")
    for n in (10, 20):
        values = [group(rows, n, m) for m in (2, 4, 8, 16)]
        point = transition_point(
            [2, 4, 8, 16], [(v < 0.02).sum() for v in values], [len(v) for v in values]
        )
        assert tuple(table.loc[n]) == (point.x, point.low, point.high)
    assert table.loc[20, "estimate"] < table.loc[10, "estimate"]


def group_by_group(rows, value, by, statistic):
    """Summarize as :func:`summarize` does, a group at a time."""
    failed = rows["status"] == "failed"
    values = evaluate(rows, value).astype(float).where(~failed)
    table = rows[by].assign(_value=values, _failed=failed)
    grouped = table.groupby(by, sort=True, dropna=False, observed=True) if by else [((), table)]
    lines = []
    for key, group in grouped:
        kept = group["_value"].dropna().to_numpy()
        if len(kept) == 0:
            parts = (np.nan,) * 3
        elif statistic == "success":
            parts = proportion_interval(int(kept.sum()), len(kept))
        elif statistic == "median":
            parts = np.quantile(kept, (0.5, 0.1, 0.9))
        else:
            parts = mean_interval(kept, geometric=statistic == "geometric")
        failures = int(group["_failed"].sum())
        lines.append((*key, len(kept), len(group) - failures - len(kept), failures, *parts))
    return pd.DataFrame(
        lines, columns=[*by, "replicates", "missing", "failed", "estimate", "low", "high"]
    )


KEYS = {
    "whole": st.integers(-2, 2),
    "number": st.sampled_from([0.5, -0.0, 0.0, 1e300, np.nan]),
    "text": st.sampled_from(["a", "b", "B", ""]),
    "gap": st.sampled_from(["a", "b", None]),
    "truth": st.booleans(),
    "perhaps": st.sampled_from([True, False, None]),
    "kind": st.sampled_from(["y", "x", None]),
}
VALUES = {
    "positive": st.floats(1e-3, 1e3),
    "real": st.floats(-1e3, 1e3) | st.just(np.nan),
    "count": st.integers(0, 10),
    "condition": st.booleans(),
    "perhaps": st.sampled_from([True, False, None]),
}
MEANINGFUL = [
    *((name, s) for name in VALUES for s in ("mean", "median")),
    ("positive", "geometric"),
    ("condition", "success"),
    ("perhaps", "success"),
    ("real < 0", "success"),
    ("positive * count", "mean"),
]


@st.composite
def frames(draw):
    """Draw rows with keys and values of all kinds, of a few groups or of many."""
    size = draw(st.integers(0, 8) | st.integers(100, 300))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))

    def column(elements):
        few = draw(st.lists(elements, min_size=1, max_size=5))
        chosen = [few[place] for place in rng.integers(len(few), size=size)]
        kind = object if None in few else np.asarray(few).dtype
        return pd.Series(chosen, dtype=kind)

    rows = {name: column(elements) for name, elements in {**KEYS, **VALUES}.items()}
    rows["positive"] = rng.lognormal(sigma=2.0, size=size)
    rows["kind"] = pd.Categorical(rows["kind"], categories=["y", "never", "x"], ordered=True)
    rows["status"] = rng.choice(["ok", "ok", "ok", "failed"], size)
    return pd.DataFrame(rows).sample(frac=1.0, random_state=rng.integers(2**32))


@given(
    frames(),
    st.lists(st.sampled_from(list(KEYS)), unique=True, max_size=3),
    st.sampled_from(MEANINGFUL),
)
def test_many_groups_at_once_are_what_each_is_alone(rows, by, what):
    value, statistic = what
    found = summarize(rows, value, by, statistic=statistic)
    expected = group_by_group(rows, value, by, statistic)
    # Without any row, a frame that is made of lines knows no types.
    pd.testing.assert_frame_equal(found, expected, check_exact=True, check_dtype=len(rows) > 0)


def test_what_is_not_stored_is_missing(tmp_path):
    stored = run(toy(replicates=6), tmp_path / "run", shard=(1, 3))
    rows = stored.read(partial=True)
    table = summarize(rows, "first", ["a"], run=stored)
    assert (table["replicates"] + table["missing"] + table["failed"]).tolist() == [6, 6]
    assert table["missing"].sum() == stored.total - stored.count() > 0
    (line,) = summarize(rows, "first", [], run=stored).itertuples()
    assert line.missing == table["missing"].sum()
    one = rows[rows["a"] == 1]
    table = summarize(one, "first", ["a"], run=stored).set_index("a")
    assert (table.loc[2, "replicates"], table.loc[2, "missing"]) == (0, 6)
    assert np.isnan(table.loc[2, "estimate"])
    with complaint(ValueError, "run", "'first'"):
        summarize(rows, "replicate", ["first"], run=stored)


@pytest.mark.parametrize("axis", [[1, "x"], [True, 2], ["a", None], [0.5, 1]])
def test_of_a_whole_run_nothing_is_missing_whatever_its_parameters_are(tmp_path, axis):
    stored = run(toy(lambda cell, rng: 1.0, [{"a": a} for a in axis]), tmp_path / "run")
    table = summarize(stored.read(), "value", ["a"], run=stored)
    assert table["replicates"].tolist() == [3] * len(axis)
    assert table["missing"].tolist() == [0] * len(axis)


def test_of_an_empty_run_all_are_missing(tmp_path):
    stored = create_run(tmp_path / "run", toy())
    rows = stored.read(partial=True).assign(value=np.nan)
    assert summarize(rows, "value", ["a"], run=stored)["missing"].tolist() == [3, 3]
