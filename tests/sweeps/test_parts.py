"""Files of parts: one schema for all of a run, damage that stays where it is, earlier versions."""

import json
import shutil

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from linrep._lib import atomic
from linrep.sweeps import (
    Incomplete,
    MixedCode,
    OtherCode,
    Run,
    create_run,
    merge,
    open_run,
    partfiles,
    run,
)
from linrep.sweeps.coverage import Segment
from linrep.sweeps.merging import compact
from linrep.sweeps.partfiles import read_part, read_rows
from tests.sweeps import functions
from tests.sweeps.support import (
    Counting,
    content,
    forged,
    numbers,
    same_rows,
    toy,
    written_before,
)
from tests.tools import complaint, sampled


def files(path):
    return sorted((path / "parts").glob("*.parquet"))


# --- one schema ---


def fails_at_odd(cell, rng):
    if cell["a"] % 2:
        raise RuntimeError("odd")
    return {"v": float(cell["a"])}


def of_the_cell(cell, rng):
    return {f"of_{cell['a']}": rng.random(), "both": cell["a"]}


def of_many_types(cell, rng):
    return {"v": (None, 2, 2.5, "text", True, 2**60, -1)[cell["a"]]}


def grows_large(cell, rng):
    return {"v": (1, 2.5, 2**60)[cell["a"]]}


FUNCTIONS = [fails_at_odd, of_the_cell, of_many_types, grows_large]


def schemas(path):
    """Return the different schemas of the parts in a run directory."""
    every = (pq.read_schema(part) for part in files(path))
    return {frozenset(zip(each.names, map(str, each.types), strict=True)) for each in every}


def texts(table, names):
    """Return the values of some columns as texts, sorted; numbers as floats, if they are some."""

    def text(value):
        return "" if pd.isna(value) else str(float(value) if isinstance(value, int) else value)

    keys = table[["cell", "replicate", "row"]].astype({"cell": str})
    frame = pd.concat([keys, table[names].astype(object).map(text)], axis=1)
    return sorted(map(tuple, frame.drop_duplicates().to_numpy().tolist()))


def with_pandas(folder):
    return pd.read_parquet(folder)


def with_polars(folder):
    polars = pytest.importorskip("polars")
    return pd.DataFrame(polars.read_parquet(folder).to_dict(as_series=False))


def with_duckdb(folder):
    duckdb = pytest.importorskip("duckdb")
    return duckdb.sql(f"from '{folder}/*.parquet'").df()


def check_readers(path, reader=with_pandas):
    """Assert that another reader finds in the parts what linrep finds."""
    assert len(schemas(path)) == 1
    assert {entry.suffix for entry in (path / "parts").iterdir()} == {".parquet"}
    rows, table = open_run(path).read(partial=True), reader(path / "parts")
    assert set(table) == set(rows)
    names = [name for name in rows if name not in ("seconds", "stream", "versions", "cell")]
    assert texts(table, names) == texts(rows, names)


@pytest.mark.parametrize("reader", [with_pandas, with_polars, with_duckdb])
@pytest.mark.parametrize(
    "order",
    sampled([(1, 3, 5, 0, 2, 4, 6), (0, 1, 2, 3, 4, 5, 6), (6, 5, 4, 3, 2, 1, 0)], 1),
    ids=str,
)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_other_readers_find_what_linrep_finds_at_all_times(tmp_path, function, order, reader):
    """Cells one by one, each by a process of its own: whatever is there when it begins."""
    count = 3 if function is grows_large else 7
    cells = [{"a": a} for a in range(count)]
    for first in order:
        if first < count:
            run(toy(function, cells, 2), tmp_path / "run",
                order=lambda cell, _, first=first: 0 if cell["a"] == first else None)  # fmt: skip
            check_readers(tmp_path / "run", reader)
    together = run(toy(function, cells, 2), tmp_path / "whole")
    same_rows(numbers(open_run(tmp_path / "run"))[list(numbers(together))], numbers(together))


@pytest.mark.parametrize("function", FUNCTIONS)
def test_shards_that_never_saw_a_success_are_merged_into_one_schema(tmp_path, function):
    cells = [{"a": a} for a in range(3)]
    shards = [run(toy(function, cells, 3), tmp_path / str(i), shard=(i, 3)).path for i in (1, 2, 3)]
    merged = merge(tmp_path / "all", shards)
    check_readers(merged.path)
    same_rows(merged, run(toy(function, cells, 3), tmp_path / "whole"))


@pytest.mark.parametrize("function", FUNCTIONS)
def test_no_chunk_is_stored_before_all_parts_have_its_columns(tmp_path, function, monkeypatch):
    """Whenever a process is killed, no reader takes the columns of a part that lacks some."""
    seen = []

    def write(self, *arguments, write=Run._write):
        part = write(self, *arguments)
        last = read_rows(part).to_pandas()
        said = {name for name in last if last[name].notna().any()}
        seen.append(all(said <= {name for name, _ in schema} for schema in schemas(self.path)))
        return part

    monkeypatch.setattr(Run, "_write", write)
    run(toy(function, [{"a": a} for a in range(3)], 3), tmp_path / "run", chunk_seconds=1e-9)
    assert len(seen) > 3
    assert all(seen)


def test_what_a_killed_process_left_of_several_schemas_is_made_one(tmp_path, monkeypatch):
    monkeypatch.setattr(Run, "unify", lambda *_: None)
    sweep = toy(fails_at_odd, [{"a": 1}, {"a": 2}], 2)
    run(sweep, tmp_path / "run")
    assert len(schemas(tmp_path / "run")) == 2
    monkeypatch.undo()
    before = numbers(open_run(tmp_path / "run"))
    run(sweep, tmp_path / "run")  # nothing is missing
    check_readers(tmp_path / "run")
    same_rows(numbers(open_run(tmp_path / "run")), before)


@pytest.mark.parametrize("more", [{"a": 0.5}, {"a": "text"}, {"a": True}, {"a": None}, {"b": 1}])
def test_an_extension_gives_all_parts_its_parameters(tmp_path, more):
    cells = [{"a": 1}, {"a": 2}]
    run(toy(fails_at_odd if "b" in more else functions.uniform, cells), tmp_path / "run")
    grown = toy(lambda cell, rng: rng.random(), [*cells, more], name="uniform")
    if "b" in more:
        grown = toy(fails_at_odd, [*cells, {"a": 4, **more}])
    run(grown, tmp_path / "run", extend=True, same_code=True)
    check_readers(tmp_path / "run")


def test_two_processes_that_do_not_know_each_others_columns_end_with_one_schema(tmp_path):
    cells = [{"a": a} for a in range(4)]
    one = create_run(tmp_path / "run", toy(of_the_cell, cells, 1))
    other = open_run(one.path)
    assert one.parts() == other.parts() == []  # neither has seen the other's
    whole = run(toy(of_the_cell, cells, 1), tmp_path / "whole")
    rows = read_rows(*whole.parts())
    for place, stored in enumerate((one, other, one, other)):
        piece = Segment(whole.names[place], 0, 1)
        stored.write(rows.filter(pa.array(np.arange(4) == place)).drop_columns(
            [f"of_{a}" for a in range(4) if a != place]
        ), [piece], 0)  # fmt: skip
    for stored in (one, other):  # as each does at its end
        compact(stored)
    check_readers(one.path)
    same_rows(open_run(one.path), whole)


def test_nothing_but_parts_is_in_their_folder_while_one_is_written(tmp_path, monkeypatch):
    """Other readers take drafts for parts, and fail."""
    seen = []

    def flush(path, flush=atomic._flush):
        seen.append([entry.name for entry in (tmp_path / "run" / "parts").iterdir()])
        flush(path)

    monkeypatch.setattr(atomic, "_flush", flush)
    run(toy(replicates=20), tmp_path / "run", chunk_seconds=1e-9)
    names = {name for names in seen for name in names}
    assert names
    assert not [name for name in names if name.startswith(".")]


# --- damage ---


@pytest.fixture
def small_groups(monkeypatch):
    """Let row groups be small."""
    monkeypatch.setattr(partfiles, "_GROUP", 100)


def counts(part):
    """Return how many replicates each row group of a part covers."""
    said = json.loads(pq.read_metadata(part).metadata[b"linrep.coverage"])
    return [sum(stop - start for _, start, stop in some) for *_, some in said["groups"]]


@pytest.mark.parametrize("stride", [67, pytest.param(23, marks=pytest.mark.slow)])
def test_a_flipped_bit_costs_at_most_its_row_group_wherever_it_is(tmp_path, small_groups, stride):
    stored = run(toy(functions.fragile, replicates=10), tmp_path / "run")
    expected = numbers(stored)
    assert max(len(counts(part)) for part in files(stored.path)) > 2
    for part in files(stored.path):
        good = part.read_bytes()
        sizes = counts(part)
        whole = read_part(part)
        assert (whole.damage, whole.replicates) == ("", sum(sizes))
        lost = set()
        for place in [*range(0, len(good), stride), *range(len(good) - 8, len(good))]:
            bad = bytearray(good)
            bad[place] ^= 1 << place % 8
            part.write_bytes(bad)
            said = read_part(part)
            lost.add(sum(sizes) - said.replicates)
            if said.replicates:
                less = sum(sizes) - said.replicates
                assert said.damage == f"{less} of its {sum(sizes)} replicates lost"
                assert read_rows(said).num_rows == said.rows
            else:
                assert "nothing of it can be read" in said.damage
        assert lost == {0, *sizes}
        part.write_bytes(good)
    same_rows(numbers(open_run(stored.path)), expected)


def test_a_part_without_its_end_has_all_its_rows(tmp_path, small_groups):
    run(toy(functions.uniform, replicates=20), tmp_path / "run")
    (part,) = files(tmp_path / "run")
    good = part.read_bytes()
    footer = int.from_bytes(good[-8:-4], "little") + 8
    assert len(counts(part)) > 1
    for keep in (len(good) - 1, len(good) - 9, len(good) - footer):
        part.write_bytes(good[:keep])
        said = read_part(part)
        assert (said.replicates, said.damage) == (40, "0 of its 40 replicates lost")
    part.write_bytes(good[: len(good) - footer - 1])
    assert "nothing of it can be read" in read_part(part).damage


@pytest.mark.parametrize("remedy", ["sweep", "merge", "merge from it"])
def test_what_can_be_read_of_a_damaged_part_is_kept_and_the_rest_computed(tmp_path, remedy):
    function = Counting(functions.normal)
    sweep = toy(function, replicates=800)
    whole = run(sweep, tmp_path / "whole")
    shutil.copytree(whole.path, tmp_path / "run")
    (victim,) = files(tmp_path / "run")
    bad = bytearray(victim.read_bytes())
    bad[len(bad) // 3] ^= 4
    victim.write_bytes(bad)
    stored = open_run(tmp_path / "run")
    lost = 1600 - stored.count()
    assert 0 < lost <= 1600 / len(counts(files(whole.path)[0])) + 1 < 400
    assert stored.damaged() == {victim: f"{lost} of its 1600 replicates lost"}
    assert f"1 damaged part(s): {victim.name} ({lost} of its" in str(stored.completeness())
    good = numbers(whole).merge(stored.read(partial=True)[["a", "replicate"]])
    same_rows(stored.read(partial=True)[good.columns], good)
    function.calls.clear()
    if remedy == "sweep":
        again = run(sweep, stored.path)
        assert function.total == lost
    elif remedy == "merge":
        again = merge(stored.path, [whole.path])
    else:
        again = merge(tmp_path / "other", [stored.path])
        assert (again.count(), again.damaged()) == (1600 - lost, {})
        again = run(sweep, again.path)
        assert function.total == lost
    assert again.completeness().whole
    same_rows(again, whole)
    check_readers(again.path)


def test_hours_of_computing_are_not_lost_with_a_bit(tmp_path):
    rows = read_rows(*run(toy(functions.uniform, replicates=20), tmp_path / "run").parts())
    hours = rows.set_column(
        rows.column_names.index("seconds"), "seconds", pa.array(np.full(40, 3600.0))
    )
    stored = create_run(tmp_path / "long", toy(functions.uniform, replicates=20))
    stored.write(hours, [Segment(name, 0, 20) for name in stored.names], 0)
    assert max(counts(*files(stored.path))) == 2


def test_row_groups_hold_whole_replicates(tmp_path, small_groups):
    """Also those with many rows, and with none."""

    def some(cell, rng):
        return [{"v": rng.random()} for _ in range(int(rng.integers(0, 9)))]

    stored = run(toy(some, replicates=30, name="some"), tmp_path / "run")
    (part,) = stored.parts()
    assert len(part.groups) > 3
    whole = read_rows(part).select(["cell", "replicate"]).to_pandas().drop_duplicates()
    assert len(whole) < 60 == part.replicates
    assert open_run(stored.path).count() == 60
    apart = [
        pq.ParquetFile(part.path).read_row_group(i, ["cell", "replicate"]).to_pandas()
        for i in part.groups
    ]
    assert sum(len(each.drop_duplicates()) for each in apart) == len(whole)


def test_the_same_rows_make_the_same_file(tmp_path):
    stored = run(toy(functions.normal, replicates=50), tmp_path / "run")
    (part,) = stored.parts()
    other = create_run(tmp_path / "other", toy(functions.normal, replicates=50))
    other.write(read_rows(part), part.segments, 0, part.machine, part.code)
    assert content(other.path / "parts") == content(stored.path / "parts")


# --- parts of earlier versions ---


def test_parts_of_earlier_versions_are_read_and_go_on(tmp_path):
    whole = run(toy(functions.fragile, replicates=20), tmp_path / "whole")
    run(toy(functions.fragile, replicates=10), tmp_path / "run")
    for part in files(tmp_path / "run"):
        table = pq.read_table(part)
        if not pq.read_table(part, columns=["value"])["value"].drop_null():
            table = table.drop_columns(["step", "value"])  # as failures were stored
        written_before(part, table)
    assert len(schemas(tmp_path / "run")) == 2
    stored = open_run(tmp_path / "run")
    assert (stored.count(), stored.damaged()) == (20, {})
    assert stored.columns == whole.columns
    before = numbers(stored)
    sweep = toy(functions.fragile, replicates=20)
    with complaint(OtherCode, "20 of 20 replicates", "of unknown code (none was recorded)"):
        run(sweep, tmp_path / "run", extend=True)
    stored = run(sweep, tmp_path / "run", extend=True, same_code=True)
    check_readers(tmp_path / "run")
    with pytest.warns(MixedCode, match="replicates are of several codes"):
        same_rows(stored, whole)
    kept = stored.read(partial=True).drop(columns=["seconds", "versions"])
    same_rows(kept[kept["replicate"] < 10].reset_index(drop=True), before)


def test_a_damaged_part_of_an_earlier_version_is_computed_again(tmp_path):
    function = Counting(functions.normal)
    whole = run(toy(function), tmp_path / "run")
    expected = numbers(whole)
    part = written_before(*files(whole.path))
    for place in range(5, len(part.read_bytes()), 97):
        bad = bytearray(part.read_bytes())
        bad[place] ^= 1
        part.write_bytes(bad)
        stored = open_run(whole.path)
        assert stored.count() == 0
        assert "nothing of it can be read" in stored.damaged()[part]
        bad[place] ^= 1
        part.write_bytes(bad)
    part.write_bytes(bad[:-1])
    function.calls.clear()
    same_rows(numbers(run(toy(function), whole.path)), expected)
    assert function.total == 6


def test_replicates_without_rows_of_an_earlier_version_are_computed_again(tmp_path):
    """It did not say which they are: what a footer claims without a row does not count."""
    stored = run(toy(), tmp_path / "run")
    (part,) = files(stored.path)
    table = pq.read_table(part)
    kept = table.filter(pa.array(np.asarray(table["replicate"]) < 1))
    written_before(part, kept)
    assert open_run(stored.path).count() == 2


# --- parts that linrep has not written ---


def with_segments(*segments):
    return lambda said: {**said, "groups": [[*said["groups"][0][:2], list(segments)]]}


def saying(**other):
    return lambda said: {**said, **other}


#: What the footer of a part of cells a=1 and a=2, three replicates each, says instead.
FOOTERS = {
    "no JSON": lambda _: b"{",
    "a list": lambda _: [],
    "nested": lambda _: b"[" * 100_000,
    "nothing": lambda _: {},
    "no segments": with_segments(),
    "text bounds": with_segments(["a=1", "0", "3"]),
    "float bounds": with_segments(["a=1", 0.0, 3.0], ["a=2", 0, 3]),
    "truth bounds": with_segments(["a=1", False, 3], ["a=2", 0, 3]),
    "negative start": with_segments(["a=1", -5, 3], ["a=2", 0, 3]),
    "backwards": with_segments(["a=1", 3, 0], ["a=2", 0, 3]),
    "huge": with_segments(["a=1", 0, 10**30], ["a=2", 0, 3]),
    "more than there are rows": with_segments(["a=1", 0, 4], ["a=2", 0, 3]),
    "fewer than there are rows": with_segments(["a=1", 0, 3]),
    "twice": with_segments(["a=1", 0, 3], ["a=2", 0, 3], ["a=1", 1, 2]),
    "other cells": with_segments(["a=3", 0, 3], ["a=2", 0, 3]),
    "list as cell": with_segments([["a=1"], 0, 3], ["a=2", 0, 3]),
    "half a pair": with_segments(["\ud800", 0, 3], ["a=2", 0, 3]),
    "two numbers": with_segments(["a=1", 0], ["a=2", 0, 3]),
    "no groups": saying(groups=[]),
    "more groups": lambda said: {**said, "groups": said["groups"] * 2},
    "text generation": saying(generation="1"),
    "negative generation": saying(generation=-1),
    "list machine": saying(machine=[]),
    "nested machine": saying(machine="[" * 100_000),
    "machine of texts": saying(machine='{"BLAS": ["x"]}'),
    "machine of a number": saying(machine='{"BLAS": 3, "versions": {}}'),
    "machine without versions": saying(machine='{"versions": 3}'),
    "machine deep": saying(machine='{"versions": {"a": {"b": {}}}}'),
    "text failed": saying(failed="0"),
    "many failed": saying(failed=10**6),
    "other columns": saying(returned=["nowhere"]),
    "number of columns": saying(returned=3),
    "number without rows": saying(**{"without rows": 3}),
}


@pytest.mark.parametrize("name", FOOTERS)
def test_a_footer_that_linrep_does_not_write_is_one_of_a_damaged_part(tmp_path, name):
    whole = run(toy(), tmp_path / "run")
    expected = numbers(whole)
    (part,) = files(whole.path)
    bad = forged(part, FOOTERS[name])
    stored = open_run(whole.path)
    assert (stored.count(), list(stored.damaged())) == (0, [bad])
    assert stored.machines() == {}
    with pytest.warns(Incomplete, match=f"1 damaged part.s.: {bad.name} .nothing of it"):
        assert stored.read().empty
    same_rows(numbers(run(toy(), whole.path)), expected)


def without(name):
    return lambda table: table.drop_columns([name])


def holding(name, values):
    def change(table):
        return table.set_column(table.column_names.index(name), name, pa.array(values))

    return change


CONTENTS = {
    "no stream": without("stream"),
    "no replicate": without("replicate"),
    "float replicates": holding("replicate", [0.0, 1.0, 2.0] * 2),
    "gaps in replicates": holding("replicate", [0, 1, 2, 0, 1, None]),
    "others": holding("replicate", [0, 1, 2, 0, 1, 7]),
    "only four": lambda table: table.slice(0, 4),
    "four rows of two": lambda table: pa.concat_tables([table.slice(0, 2)] * 3),
    "negative rows": holding("row", [0, 0, 0, 0, 0, -1]),
    "other status": holding("status", ["ok"] * 5 + ["fine"]),
    "no status": holding("status", ["ok"] * 5 + [None]),
    "no seconds": holding("seconds", [1.0] * 5 + [None]),
    "endless": holding("seconds", [1.0] * 5 + [float("inf")]),
    "no cell": holding("cell", ["a=1"] * 3 + ["a=2"] * 2 + [None]),
    "lists": holding("first", [[1.0]] * 6),
    "dates": holding("first", pa.array([0] * 6, pa.timestamp("s"))),
    "bytes": holding("exception", [b"x"] * 6),
    "same column twice": lambda table: table.append_column("first", table["first"]),
}


@pytest.mark.parametrize("name", CONTENTS)
def test_rows_that_linrep_does_not_write_do_not_count(tmp_path, name):
    whole = run(toy(), tmp_path / "run")
    expected = numbers(whole)
    (part,) = files(whole.path)
    table = CONTENTS[name](pq.read_table(part))
    written_before(part, table, code=whole.parts()[0].code)
    stored = open_run(whole.path)
    rows = stored.read(partial=True)
    assert stored.count() == len(rows[["cell", "replicate"]].drop_duplicates()) < 6
    assert stored.failed() == 0
    same_rows(numbers(run(toy(), whole.path)), expected)


def test_a_bomb_is_refused_by_what_its_footer_counts(tmp_path, monkeypatch):
    whole = run(toy(), tmp_path / "run")
    (part,) = files(whole.path)
    table = pq.read_table(part).slice(0, 1)
    many = pa.table({
        name: pa.DictionaryArray.from_arrays(np.zeros(10**6, np.int32), column.combine_chunks())
        for name, column in zip(table.column_names, table.columns, strict=True)
    })  # fmt: skip
    many = many.cast(pa.schema([(field.name, field.type) for field in table.schema]))
    bad = written_before(part, many, segments=[["a=1", 0, 1]])
    assert bad.stat().st_size < 10**5
    monkeypatch.setattr(pq, "ParquetFile", None)  # which would take the memory
    stored = open_run(whole.path)
    assert "its footer counts 1000000 rows in" in stored.damaged()[bad]


def test_rows_for_which_there_is_no_memory_are_not_taken_for_damaged(tmp_path, monkeypatch):
    stored = run(toy(functions.uniform, replicates=500), tmp_path / "run")
    before = content(stored.path)
    monkeypatch.setattr(partfiles.memory, "_ALWAYS_FITS", 2**10)
    monkeypatch.setattr(partfiles.memory, "free", lambda: 2.0**10)
    for attempt in (
        open_run(stored.path).count,
        lambda: run(toy(functions.uniform, replicates=500), stored.path),
    ):
        with complaint(
            ValueError, files(stored.path)[0].name, "KiB", "free", "where there is more"
        ):
            attempt()
    assert content(stored.path) == before


def test_long_texts_in_few_bytes_are_refused_before_they_are_made(tmp_path, monkeypatch):
    long = "x" * 10**5

    def wordy(cell, rng):
        return [{"text": long, "v": rng.random()} for _ in range(1000)]

    stored = run(toy(wordy, replicates=2, name="wordy"), tmp_path / "run")
    assert sum(part.stat().st_size for part in files(stored.path)) < 10**6
    monkeypatch.setattr(partfiles.memory, "free", lambda: 2.0**27)
    assert stored.count() == 4
    with complaint(ValueError, "about 381 MiB", "free"):
        stored.read(["text"])
    assert len(stored.read(["v"])) == 4000
