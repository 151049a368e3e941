"""What is recorded of a figure, and how another run compares with it."""

import json
import math
import re
from copy import deepcopy
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from linrep.figures import record, reproduction
from linrep.figures.counts import Order, Share, counted, ordered
from linrep.figures.plotting import COLUMN_WIDTH, PAGE_WIDTH
from tests.tools import rarely

ROOT = Path(__file__).parents[2]


def rows(seed=0, replicates=20):
    rng = np.random.default_rng(seed)
    lines = [
        {"m": m, "replicate": i, "one": rng.exponential() / m, "other": rng.exponential(1.5) / m}
        for m in (1, 2, 4)
        for i in range(replicates)
    ]
    return pd.DataFrame(lines)


def summary(rows):
    groups = rows.groupby("m")
    first = rows["one"] < rows["other"]
    table = groups[["one"]].median().add_prefix("median, ")
    table["m times 3"] = 3.0 * table.index
    table["first"] = first.groupby(rows["m"]).agg(counted)
    first.index = pd.Index(rows["m"])
    table["order"] = ordered(first, ~first, ["m"])
    table["mean"], table["sem"] = groups["other"].mean(), groups["other"].sem()
    return table


def manifest(table, **extra):
    settings = {"seed": 0, "quick": False}
    found = record.result(table, summary, caption="A toy.", settings=settings, **extra)
    return {"id": "toy.one", "result": found}


@cache
def comparable(replicates):
    return manifest(rows(replicates=replicates), comparable=True)


def recorded(replicates=20):
    """Return a manifest that a test may change."""
    return deepcopy(comparable(replicates))


def outcomes(found):
    return dict(zip(found["part"] + ": " + found["what"], found["outcome"], strict=True))


def test_the_digest_is_of_values_not_of_their_storage(tmp_path):
    table = pd.DataFrame(
        {"x": [0.5, np.nan, -0.0], "n": [1, 2, 3], "ok": [True, False, True], "s": ["a", None, "é"]}
    )
    expected = record.digest(table)
    table.to_parquet(tmp_path / "a.parquet", compression="gzip")
    assert record.digest(pd.read_parquet(tmp_path / "a.parquet")) == expected
    for same in (
        table[["s", "ok", "x", "n"]],
        table.astype({"n": np.int32, "s": object}),
        table.assign(s=table["s"].astype("category")),
        table.set_axis([5, 6, 7]),
    ):
        assert record.digest(same) == expected
    for other in (
        table.assign(x=[0.5, np.nan, 0.0]),
        table.assign(s=["a", "", "é"]),
        table.assign(n=[1.0, 2.0, 3.0]),
        table.rename(columns={"s": "t"}),
        table.iloc[::-1],
        table.assign(s=["aé", None, ""]),
    ):
        assert record.digest(other) != expected
    mixed = pd.DataFrame({"s": pd.Series([1, True, None], dtype=object)})
    assert record.digest(mixed) == record.digest(pd.DataFrame({"s": ["1", "True", None]}))


def test_every_number_says_what_makes_it_comparable():
    found = recorded()["result"]["summary"]
    assert found["labels"] == ["m"]
    line = found["lines"][1]
    kinds = {name: set(entry) - {"value"} for name, entry in line.items() if name != "m"}
    assert kinds == {
        "median, one": {"interval"},
        "m times 3": {"interval"},  # a whole number, which may have been rounded
        "first": {"share"},
        "order": {"order"},
        "mean": {"interval"},
        "sem": {"of"},
    }
    assert line["sem"]["of"] == "mean"
    assert line["order"]["value"] == "/".join(map(str, line["order"]["order"]))
    assert line["first"]["value"] == " of ".join(map(str, line["first"]["share"]))
    assert sum(line["order"]["order"]) == line["first"]["share"][1] == 20


def test_independent_runs_are_inside():
    """So rarely outside that in thirty runs of eighteen numbers not one may be."""
    old, outside = recorded(), 0
    for seed in range(1, 31):
        found = record.compare(old, manifest(rows(seed))["result"])
        numbers = found[found["part"] == "number"]
        assert len(numbers) == 18
        outside += (numbers["outcome"] == record.OUTSIDE).sum()
        assert (numbers["outcome"] == record.INSIDE).sum() >= 9
        assert outcomes(found)["rows: digest"] == record.OTHER
    rarely(outside, 30 * 18, record.LEVEL / record.CAPACITY)


def test_another_law_is_outside():
    other = rows(1, 60).assign(one=lambda t: 40.0 * t["one"])
    old = recorded(60)
    found = outcomes(record.compare(old, manifest(other)["result"]))
    for m in (1, 2, 4):
        for column in ("median, one", "first", "order"):
            assert found[f"number: {m}, {column}"] == record.OUTSIDE
        assert found[f"number: {m}, mean"] in (record.SAME, record.INSIDE)
        assert found[f"number: {m}, m times 3"] == record.SAME


def test_lines_that_come_or_go_and_other_settings_are_outside():
    old = recorded()
    fewer = manifest(rows()[lambda t: t["m"] > 1])["result"]
    found = outcomes(record.compare(old, fewer))
    assert found["number: 1, first"] == record.OUTSIDE
    assert found["number: 2, first"] == record.SAME
    for name, outcome in (("seed", record.OTHER), ("quick", record.OUTSIDE)):
        new = manifest(rows())["result"]
        new["settings"][name] = 7
        assert outcomes(record.compare(old, new))[f"settings: {name}"] == outcome


def test_a_number_that_the_stored_rows_do_not_give_is_named():
    new = manifest(rows())["result"]

    def changed(old, kept):
        table = record.compare(old, new, kept=kept, new_kept=rows(), again=summary(kept))
        return set(table.loc[table["outcome"] == record.CHANGED, "what"])

    assert changed(recorded(), rows()) == set()
    old, kept = recorded(), rows()
    old["result"]["summary"]["lines"][1]["mean"]["value"] *= 1.001
    assert changed(old, kept) == {"2, mean, from the stored rows"}
    kept.loc[25, "other"] *= 1.001
    assert "2, mean, from the stored rows" in changed(recorded(), kept)


def test_the_first_rows_that_differ_are_named():
    new = rows()
    new.loc[[7, 30], "one"] = 1.0, 2.0
    new.loc[9, "other"] = 3.0
    found = record.first_differences(rows(), new, most=2)
    assert [(where, value) for where, _, value in found] == [
        ("row 7, replicate 7, one", 1.0),
        ("row 9, replicate 9, other", 3.0),
    ]
    assert record.first_differences(rows(), rows()) == []
    ((where, *_),) = record.first_differences(rows(), new.drop(columns="one"))
    assert where == "stored rows"


def test_numbers_survive_json_with_all_their_digits():
    values = [1e-17 / 3.0, math.inf, math.nan, 2**53 + 1, 0.1 + 0.2]
    table = pd.DataFrame({"what": list("abcde"), "value": pd.Series(values, dtype=object)})
    found = record.result(
        rows(), lambda _: table.set_index("what"), caption="", settings={"seed": 0}
    )
    back = record.table(json.loads(json.dumps(found, allow_nan=False)))["value"]
    np.testing.assert_array_equal(back.astype(float), np.array(values, dtype=float))
    assert back["d"] == 2**53 + 1


def test_a_summary_without_an_index_has_its_texts_or_its_lines_as_labels():
    table = pd.DataFrame(
        {"what": ["a", "b"], "won": [Share(1, 2), Share(2, 2)], "value": [1.0, 2.0]}
    )
    assert record.labels(table) == ["what"]
    assert record.labels(table.drop(columns="what")) == ["line"]
    assert record.labels(table.assign(what="a")) == ["line"]
    assert record.flat(table.assign(what="a")).columns[0] == "line"


@pytest.mark.parametrize("name", reproduction.recorded(ROOT / "figures"))
def test_the_record_agrees_with_itself(name):
    manifest, kept = reproduction.read_record(ROOT / "figures", name)
    item = reproduction.experiment.load(name).at()
    for package in item.packages:
        pytest.importorskip(package)
    again = None if kept is None else item.summary(kept)
    found = record.compare(manifest, manifest["result"], kept=kept, new_kept=kept, again=again)
    assert set(found["outcome"]) == {record.SAME}
    settings = manifest["result"]["settings"]
    assert settings["cells"] == [dict(cell) for cell in item.cells(False)]
    assert (settings["quick"], settings["replicates"]) == (False, item.replicates)
    assert manifest["result"]["rows"]["count"] > 0


def test_the_record_keeps_its_level_and_its_weight():
    """Each number has its share of the level; one format of pictures, and not many rows."""
    folder, numbers = ROOT / "figures", 0
    for name in reproduction.recorded(folder):
        for _, _, entry in record._numbers(reproduction.read_record(folder, name)[0]["result"]):
            assert len({"tolerance", "interval", "share", "order", "of"} & set(entry)) == 1
            numbers += "of" not in entry
            if {"share", "order"}.isdisjoint(entry):  # no other text than counts of replicates
                assert entry["value"] in ("inf", "-inf", None) or isinstance(
                    entry["value"], int | float
                ), (name, entry)
    assert 0 < numbers <= record.CAPACITY
    files = [path for path in folder.iterdir() if path.is_file() and path.name[0] != "."]
    assert {path.suffix for path in files} == {".json", ".parquet", ".svg"}
    assert all(path.stat().st_size < 150_000 for path in folder.glob("*.parquet"))


def test_recorded_pictures_fit_a_column_or_a_page_and_have_no_caption():
    for path in [*(ROOT / "figures").glob("*.svg"), *(ROOT / "figures").glob("networks/*.svg")]:
        text = path.read_text("utf-8")
        width = float(re.search(r'<svg[^>]*? width="([\d.]+)pt"', text)[1]) / 72
        assert width == pytest.approx(COLUMN_WIDTH) or width == PAGE_WIDTH, path.name
        caption = reproduction.read_record(path.parent, path.stem)[0]["result"]["caption"]
        assert caption.rpartition(". ")[2][:40] not in text, path.name


@pytest.mark.parametrize(
    ("entry", "new", "outcome"),
    [
        (Share(0, 6), Share(6, 6), record.TOO_FEW),
        (Share(0, 20), Share(20, 20), record.OUTSIDE),
        (Share(0, 20), Share(1, 20), record.INSIDE),
        (Order(0, 0, 6), Order(6, 0, 0), record.TOO_FEW),
        (Order(0, 0, 20), Order(20, 0, 0), record.OUTSIDE),
        (Share(0, 0), Share(3, 5), record.OUTSIDE),
        (Share(0, 5), 0.0, record.OUTSIDE),
        ({"value": 2.0, "interval": ["-inf", "inf"]}, 9.0, record.TOO_FEW),
        ({"value": 2.0, "interval": [0.0, "inf"]}, 9.0, record.TOO_FEW),
        ({"value": 2.0, "interval": [1.0, "inf"]}, 9.0, record.INSIDE),
        ({"value": 2.0, "interval": ["-inf", "inf"]}, 2.0, record.SAME),
    ],
)
def test_what_no_other_run_could_contradict_is_told_apart(entry, new, outcome):
    entry = entry if isinstance(entry, dict) else record._entry(entry)
    assert record._outcome(entry, record._entry(new)) == outcome


def test_ends_of_intervals_and_standard_errors_have_to_be_that():
    def run(**ends):
        table = pd.DataFrame({"m": [1], "mean": [1.0], **ends}).set_index("m")
        lines = record._lines(table)
        for name in ends:
            lines[0][name]["of"] = "mean"
        lines[0]["mean"]["interval"] = [0.0, 3.0]
        found = {"summary": {"labels": ["m"], "lines": lines}, "settings": {}, "caption": "",
                 "rows": {"sha256": "0"}}  # fmt: skip
        return {"id": "toy", "result": found}

    old = run(low=[0.5], high=[1.5], sem=[0.1])
    for change, outcome in (
        ({"low": [0.7], "high": [1.2], "sem": [0.2]}, record.INSIDE),
        ({"low": [1.2]}, record.OUTSIDE),
        ({"high": [0.9]}, record.OUTSIDE),
        ({"sem": [-0.1]}, record.OUTSIDE),
    ):
        new = run(**{"low": [0.5], "high": [1.5], "sem": [0.1], **change})
        found = record.compare(old, new["result"])
        ends = found[found["what"].isin([f"1, {name}" for name in change])]
        assert set(ends["outcome"]) == {outcome}
