"""Several processes in one run directory, and parts of several makes: what is read stays right."""

import math
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import pandas as pd
import pytest

from linrep._lib import atomic
from linrep.sweeps import (
    Overlapping,
    Run,
    create_run,
    directories,
    merge,
    open_run,
    run,
    runner,
    store,
    summarize,
)
from linrep.sweeps.chunks import run_chunk
from linrep.sweeps.merging import compact, deviation, overlap
from tests.sweeps import functions
from tests.sweeps.support import job, same_rows, toy
from tests.tools import complaint


@pytest.fixture
def apart(monkeypatch):
    """Run a sweep, a part per replicate, which are not put together."""

    def one(sweep, path, **options):
        with monkeypatch.context() as patched:
            patched.setattr(runner, "compact", lambda *_: None)
            return run(sweep, path, chunk_seconds=1e-9, **options)

    return one


# --- another process puts parts together, or extends the sweep ---


@pytest.mark.parametrize("look", [Run.completeness, lambda each: len(each.read(partial=True))])
def test_parts_that_go_while_footers_are_read_are_looked_for_again(
    tmp_path, apart, monkeypatch, look
):
    apart(toy(), tmp_path / "run")
    read = store.read_part
    expected = look(open_run(tmp_path / "run"))

    def another(path):
        monkeypatch.setattr(store, "read_part", read)
        compact(open_run(tmp_path / "run"))
        return read(path)

    monkeypatch.setattr(store, "read_part", another)
    assert look(open_run(tmp_path / "run")) == expected


def test_a_shard_that_puts_its_parts_together_meanwhile_is_merged(tmp_path, apart, monkeypatch):
    apart(toy(), tmp_path / "shard")
    write = atomic.write

    def another(path, *content, **options):
        write(path, *content, **options)
        if path.parents[1] == tmp_path / "all":
            monkeypatch.setattr(atomic, "write", write)
            compact(open_run(tmp_path / "shard"))

    monkeypatch.setattr(atomic, "write", another)
    assert merge(tmp_path / "all", [tmp_path / "shard"]).completeness().whole
    same_rows(open_run(tmp_path / "all"), open_run(tmp_path / "shard"))


def test_what_is_of_an_extension_does_not_count_before(tmp_path):
    """As of a run that was opened before, or whose older specification was put back."""

    def fails_at_2(cell, rng):
        return {"u": 1.0} if cell["a"] == 1 else {"v": 1 // 0}

    before = run(toy(fails_at_2, [{"a": 1}]), tmp_path / "run")
    expected = before.read()
    run(toy(fails_at_2, replicates=5), tmp_path / "run", extend=True)
    assert before.completeness().whole
    assert before.failed() == len(before.failures()) == 0
    assert sum(before.machines().values()) == 3
    same_rows(before.read(list(expected)), expected)


def test_of_two_extensions_at_a_time_one_is_refused(tmp_path, monkeypatch):
    run(toy(cells=[{"a": 1}]), tmp_path / "run")
    compare = directories._is_extension

    def another(*arguments):
        monkeypatch.setattr(directories, "_is_extension", compare)
        differ = compare(*arguments)
        run(toy(cells=[{"a": 1}, {"a": 3}]), tmp_path / "run", extend=True)
        return differ

    monkeypatch.setattr(directories, "_is_extension", another)
    with complaint(ValueError, "holds another sweep"):
        run(toy(), tmp_path / "run", extend=True)
    assert set(open_run(tmp_path / "run").read()["a"]) == {1, 3}


def test_a_new_parameter_cannot_have_the_name_of_what_was_returned(tmp_path):
    run(toy(lambda cell, rng: {"x": 1.0}, [{"a": 1}]), tmp_path / "run")
    grown = toy(lambda cell, rng: {"x": 1.0}, [{"a": 1}, {"a": 1, "x": 2}])
    with complaint(ValueError, "has a column 'x' already"):
        run(grown, tmp_path / "run", extend=True)


def test_workers_that_go_and_come_back_finish_the_sweep(tmp_path):
    """Also where the last chunk left some of its replicates and nobody was there."""
    calls, asked, there = [], [], [1]

    def slower(cell, rng):
        calls.append(1)
        if len(calls) > 7:
            time.sleep(0.5)
            there[0] = 0
        return 1.0

    def workers():
        asked.append(there[0])
        if asked.count(0) > 2:
            there[0] = 1
        return there[0]

    with ThreadPoolExecutor(1) as pool:
        sweep = toy(slower, [{"a": 1}], 12)
        stored = run(sweep, tmp_path / "run", workers=workers, executor=pool, chunk_seconds=1.2)
    assert 0 in asked
    assert stored.completeness().whole


# --- parts that differ in what they hold ---


@pytest.mark.parametrize("seed", range(6))
def test_a_replicate_that_succeeded_somewhere_counts_whatever_is_put_together(tmp_path, seed):
    bad: set[int] = set()
    numbers = iter(range(100))

    def fragile(cell, rng):
        if next(numbers) in bad:
            raise ValueError("given up")
        return 1.0

    sweep = toy(fragile, [{"a": 1}], 4, seed=seed)
    stored = create_run(tmp_path / "run", sweep)
    # The second and the fourth call fail: 0 succeeds beside 1, and fails alone.
    for segment, failing in (((0, 2), {1}), ((0, 1), {2}), ((2, 4), {3})):
        bad.update(failing)
        chunk = run_chunk(job(sweep, ("a=1", *segment)))
        stored.write(chunk.table, chunk.segments, 0, chunk.machine)
    rows = stored.read()
    assert rows["status"].tolist() == ["ok", "failed", "failed", "ok"]
    compact(stored)
    same_rows(open_run(stored.path).read(), rows)
    assert open_run(stored.path).failed() == 2


def test_parts_of_before_and_after_a_change_of_types_are_put_together(tmp_path):
    run(toy(functions.uniform, [{"a": 1}], 20), tmp_path / "run")
    for replicates in (20, 40):
        sweep = toy(functions.uniform, [{"a": 1}, {"a": 2.5}], replicates)
        stored = run(sweep, tmp_path / "run", extend=True, chunk_seconds=1e-9)
    assert stored.completeness().whole
    assert len(stored.parts()) == 1


def text_or_number(cell, rng):
    return {"v": 7 if cell["a"] == 1 else "x"}


def test_a_number_that_is_text_elsewhere_is_the_same(tmp_path, apart):
    sweep = toy(text_or_number, [{"a": 2}, {"a": 1}], 1)
    apart(sweep, tmp_path / "one")
    for i in (1, 2):
        two = run(sweep, tmp_path / f"two{i}", shard=(i, 2))
        if two.read(partial=True)["cell"].tolist() == ["a=1"]:
            with warnings.catch_warnings():
                warnings.simplefilter("error", Overlapping)
                merge(tmp_path / f"all{i}", [tmp_path / "one", two.path])
    stored = open_run(tmp_path / "one").read()
    stored = stored[stored["a"] == 1].reset_index(drop=True)
    assert not deviation(sweep.only({"a": 1}, 0), stored, ["value"]).different


def test_columns_are_named_in_the_order_in_which_they_are_read(tmp_path, apart):
    sweep = toy(lambda cell, rng: {f"c{cell['a']}": 1.0}, [{"a": a} for a in range(9)], 1)
    stored = apart(sweep, tmp_path / "run")
    assert tuple(stored.read()) == stored.columns
    assert [name for name in stored.columns if name[0] == "c"][:-1] == [f"c{a}" for a in range(9)]
    assert tuple(stored.failures()) == stored.columns


@pytest.mark.parametrize("values", [(True, False), (1, 2), ("x", "y"), (0.5, 1), ("x", 2)])
def test_unstored_groups_of_a_parameter_that_some_cells_lack(tmp_path, values):
    cells = [{"a": values[0]}, {"a": values[1]}, {"b": 1}]
    for i in (1, 2, 3):
        stored = run(toy(functions.uniform, cells, 1), tmp_path / f"run{i}", shard=(i, 3))
        table = summarize(stored.read(partial=True), "value", ["a"], run=stored)
        assert len(table) == 3
        assert table["missing"].sum() == 2
        assert table["replicates"].sum() == 1


# --- what two machines have computed ---


@pytest.mark.parametrize(
    ("one", "other", "different", "largest"),
    [
        ([1.0, 2.0], [1.0, 2.0], 0, 0.0),
        ([1.0, 2.0], [1.0, 2.5], 1, 0.2),
        ([1.0, None], [1.0, None], 0, 0.0),
        ([1.0, None], [1.0, 3.0], 1, math.inf),
        ([-1.0, 1.0], [1.0, 1.0], 1, 2.0),
        ([0.0], [1e-300], 1, 1.0),
        ([math.inf], [math.inf], 0, 0.0),
        ([math.inf], [1.0], 1, math.inf),
        (["a", "b"], ["a", "c"], 1, math.inf),
        (["1", "2.0"], ["1", "4.0"], 1, 0.5),
        ([True, False], [True, True], 1, 1.0),
    ],
)
def test_what_differs_and_by_how_much(one, other, different, largest):
    found = deviation(pd.DataFrame({"x": one}), pd.DataFrame({"x": other}), ["x"])
    assert (found.rows, found.different) == (len(one), different)
    assert found.largest == pytest.approx(largest, rel=1e-15)
    assert found.column == ("x" if different else None)


def test_the_column_that_differs_most_is_named():
    one = pd.DataFrame({"x": [1.0, 1.0], "y": [1.0, 1.0]})
    other = pd.DataFrame({"x": [1.0, 1.1], "y": [2.0, 1.0]})
    found = deviation(one, other, ["x", "y"])
    assert (found.different, found.largest, found.column) == (2, 0.5, "y")
    assert str(found) == "2 of 2 row(s) differ, by at most 0.5 relative (column y)"
    missing = deviation(one, other[["x"]], ["x", "y"])
    assert (missing.largest, missing.column) == (math.inf, "y")
    assert str(deviation(one, one, ["x"])) == "all of 2 row(s) the same"


def shifted(cell, rng):
    return functions.uniform(cell, rng) * (1.0 + 1e-6)


def test_merging_compares_what_is_there_twice(tmp_path):
    one = run(toy(functions.uniform, name="toy"), tmp_path / "one").path
    two = run(toy(shifted, name="toy"), tmp_path / "two").path
    with pytest.warns(Overlapping, match="6 of 6 row.s. differ, by at most 1e-06 relative") as seen:
        merged = merge(tmp_path / "all", [one, two], same_code=True)
    assert seen[0].message.found.column == "value"
    assert merged.count() == 6
    rows = merged.read()["value"].tolist()  # those of one of the two, whole
    assert rows in [open_run(each).read()["value"].tolist() for each in (one, two)]


def test_merging_equal_rows_says_nothing(tmp_path, recwarn):
    sources = [run(toy(), tmp_path / str(i)).path for i in (1, 2)]
    assert overlap(merge(tmp_path / "all", sources)) is None  # put together
    assert not [each for each in recwarn if each.category is Overlapping]
