"""Files of parts: one schema for all of a run, and damage that is noticed."""

import shutil
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linrep._lib import atomic
from linrep.sweeps import Incomplete, Run, create_run, merge, open_run, run
from linrep.sweeps.merging import compact
from linrep.sweeps.parts import Coverage, Damaged, Segment, digest, read_part, read_rows
from tests.sweeps import functions
from tests.sweeps.support import Counting, content, numbers, part_files, same_rows, toy
from tests.tools import complaint, sampled


def flip(part, place=-100):
    """Change one bit of a part."""
    content = bytearray(part.read_bytes())
    content[place] ^= 1 << place % 8
    part.write_bytes(content)
    return part


def cut(part):
    """Take the last byte from a part."""
    part.write_bytes(part.read_bytes()[:-1])
    return part


def foreign(part):
    """Put what somebody else has written in the place of a part, named after its digest, too."""
    pq.write_table(pa.table({"cell": ["a=1"]}), part)
    return part.rename(part.with_name(f"{digest(part.read_bytes())}.parquet"))


DAMAGES = {damage.__name__: damage for damage in (flip, cut, foreign)}


# --- one schema ---


def fails_at_odd(cell, rng):
    if cell["a"] % 2:
        raise RuntimeError("odd")
    return {"v": float(cell["a"])}


def of_the_cell(cell, rng):
    return {f"of_{cell['a']}": rng.random(), "both": cell["a"]}


def of_many_types(cell, rng):
    return {"v": (None, 2, 2.5, "text", True, 2**60, -1)[cell["a"]]}


FUNCTIONS = [fails_at_odd, of_the_cell, of_many_types]


def schemas(path):
    """Return the different schemas of the parts in a run directory."""
    every = (pq.read_schema(part) for part in part_files(path))
    return {frozenset(zip(each.names, map(str, each.types), strict=True)) for each in every}


def texts(table, names):
    """Return the values of some columns as texts, sorted; numbers as floats, if they are some."""

    def text(value):
        return "" if pd.isna(value) else str(float(value) if isinstance(value, int) else value)

    keys = table[["cell", "replicate", "row"]].astype({"cell": str})
    frame = pd.concat([keys, table[names].astype(object).map(text)], axis=1)
    return sorted(map(tuple, frame.drop_duplicates().to_numpy().tolist()))


def check_readers(path):
    """Assert that pandas finds in the parts what linrep finds."""
    assert len(schemas(path)) == 1
    assert {entry.suffix for entry in (path / "parts").iterdir()} == {".parquet"}
    rows = open_run(path).read(partial=True)
    table = pd.read_parquet(path / "parts")
    assert set(table) == set(rows)
    names = [name for name in rows if name not in ("seconds", "stream", "versions", "cell")]
    assert texts(table, names) == texts(rows, names)


@pytest.mark.parametrize(
    "order",
    sampled([(1, 3, 5, 0, 2, 4, 6), (0, 1, 2, 3, 4, 5, 6), (6, 5, 4, 3, 2, 1, 0)], 1),
    ids=str,
)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_pandas_finds_what_linrep_finds_at_all_times(tmp_path, function, order):
    """Cells one by one, each by a process of its own: whatever is there when it begins."""
    cells = [{"a": a} for a in order]
    for count in range(1, 8):
        run(toy(function, cells[:count], 2), tmp_path / "run", extend=True)
        check_readers(tmp_path / "run")
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
    function = fails_at_odd if "b" in more else functions.uniform
    cells = [{"a": 1}, {"a": 2}]
    run(toy(function, cells), tmp_path / "run")
    grown = toy(function, [*cells, {"a": 4, **more}])
    run(grown, tmp_path / "run", extend=True)
    check_readers(tmp_path / "run")
    same_rows(open_run(tmp_path / "run"), run(grown, tmp_path / "whole"))


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


@pytest.mark.parametrize("remedy", ["sweep", "merge", "merge from it"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_part_does_not_count_and_is_computed_again(tmp_path, damage, remedy):
    function = Counting(functions.fragile)
    sweep = toy(function, replicates=10)
    whole = run(sweep, tmp_path / "whole")
    shutil.copytree(whole.path, tmp_path / "run")
    victim = part_files(tmp_path / "run")[0]
    lost = read_part(victim).replicates
    victim = DAMAGES[damage](victim)
    stored = open_run(tmp_path / "run")
    assert stored.count() == 20 - lost
    assert list(stored.damaged()) == [victim]
    with pytest.warns(Incomplete, match=rf"1 damaged part\(s\): {victim.name} \(it"):
        assert len(stored.read(["cell", "replicate"]).drop_duplicates()) == 20 - lost
    function.calls.clear()
    if remedy == "sweep":
        again = run(sweep, stored.path)
        assert function.total == lost
        assert [path.name for path in (again.path / ".damaged").iterdir()] == [victim.name]
    elif remedy == "merge":
        again = merge(stored.path, [whole.path])
    else:
        again = merge(tmp_path / "other", [stored.path])
        assert (again.count(), again.damaged()) == (20 - lost, {})
        again = run(sweep, again.path)
        assert function.total == lost
    assert (again.count(), again.damaged()) == (20, {})
    same_rows(again, whole)
    check_readers(again.path)


@pytest.mark.parametrize("stride", [67, pytest.param(1, marks=pytest.mark.slow)])
def test_a_flipped_bit_is_noticed_wherever_it_is(tmp_path, stride):
    (part,) = part_files(run(toy(), tmp_path / "run").path)
    good = part.read_bytes()
    known = read_part(part)
    for place in range(0, len(good), stride):
        flip(part, place)
        assert read_part(part).damage
        with complaint(Damaged, part.name):
            read_rows(known)
        part.write_bytes(good)
    assert not read_part(part).damage


def test_a_part_that_cannot_be_opened_is_not_taken_for_damaged(tmp_path, monkeypatch):
    """Other people's files, or too many open ones: tidying up must not set them aside."""
    run(toy(), tmp_path / "run")
    before = content(tmp_path / "run")

    def refuse(path):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(PermissionError):
        run(toy(), tmp_path / "run")
    monkeypatch.undo()
    assert content(tmp_path / "run") == before


def test_a_run_of_another_format_is_refused_and_left_as_it_is(tmp_path):
    stored = run(toy(), tmp_path / "run")
    file = stored.path / "sweep.json"
    file.write_text(file.read_text().replace('"format": 2', '"format": 1'))
    before = content(stored.path)
    for attempt in (
        lambda: open_run(stored.path),
        lambda: run(toy(), stored.path),
        lambda: merge(tmp_path / "other", [stored.path]),
    ):
        with complaint(ValueError, "sweep.json has format 1", "format 2 only", "another folder"):
            attempt()
    assert content(stored.path) == before


# --- sets of replicates ---

segments = st.builds(
    lambda cell, start, length: Segment(cell, start, start + length),
    st.sampled_from("ab"),
    st.integers(0, 20),
    st.integers(1, 8),
)


def members(pieces):
    return [(piece.cell, i) for piece in pieces for i in range(piece.start, piece.stop)]


@given(st.lists(segments, max_size=8), segments, st.integers(1, 25))
def test_coverage_is_a_set_of_replicates(added, asked, replicates):
    covered, model = Coverage(), set()
    for segment in added:
        covered.add(segment)
        model |= set(members([segment]))
    missing = list(covered.missing(asked))
    assert members(missing) == [pair for pair in members([asked]) if pair not in model]
    within = list(covered.within(asked.cell, replicates))
    assert members(within) == sorted(
        pair for pair in model if pair[0] == asked.cell and pair[1] < replicates
    )
    for pieces in (missing, within):  # as few pieces as possible, none of them empty
        assert all(len(piece) > 0 for piece in pieces)
        assert all(one.stop < other.start for one, other in pairwise(pieces))
