"""The run directory: parts, what is foreign, merging."""

import errno
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest

from linrep._lib import atomic
from linrep._lib.atomic import _host
from linrep.sweeps import Run, create_run, directories, merge, open_run, run
from linrep.sweeps.directories import check_directory
from linrep.sweeps.merging import compact
from linrep.sweeps.parts import Segment, read_rows, select_rows
from linrep.sweeps.store import Completeness
from tests.sweeps import functions
from tests.sweeps.support import Counting, content, numbers, part_files, same_rows, toy
from tests.tools import complaint

# --- writing and reading ---


def test_some_columns_can_be_read_in_the_order_asked_for(tmp_path):
    stored = toy().run(tmp_path / "run")
    rows = stored.read()
    for columns in (["first", "a"], ["a"], ["status", "replicate"]):
        pd.testing.assert_frame_equal(stored.read(columns), rows[columns])
    with complaint(ValueError, "'q'", "there are", "first"):
        stored.read(["q"])


def test_a_run_tells_what_it_holds(tmp_path):
    stored = create_run(tmp_path / "empty", toy())
    assert stored.read(partial=True).empty
    assert list(stored.read(["a", "first"], partial=True)) == ["a", "first"]
    assert (stored.count(), stored.total, stored.failed()) == (0, 6, 0)
    assert stored.failures().empty
    stored = toy(functions.fragile, replicates=20).run(tmp_path / "run")
    failed = stored.read()["status"] == "failed"
    assert 0 < failed.sum() == stored.failed() == len(stored.failures())
    assert stored.count() == stored.total == 40
    assert stored.cells == ({"a": 1}, {"a": 2})
    assert "40 of 40" in repr(stored)


# --- what is not a part ---


def test_what_an_interrupted_write_left_is_removed(tmp_path):
    run(toy(), tmp_path / "run")
    ended = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    mine = tmp_path / "run" / f".writing-{_host()}-{int(ended.stdout)}-x.parquet"
    others = tmp_path / "run" / ".writing-elsewhere-1-x.parquet"
    odd = [tmp_path / "run" / name for name in (".writing-", f".writing-{_host()}-x")]
    for path in odd:
        path.write_bytes(b"")
    mine.write_bytes(b"PAR1")
    others.write_bytes(b"PAR1")
    assert not open_run(tmp_path / "run").damaged()
    run(toy(), tmp_path / "run")
    assert not mine.exists()
    assert others.exists()


def test_parts_without_a_specification_are_left_as_they_are(tmp_path):
    stored = run(toy(), tmp_path / "run")
    specification = (stored.path / "sweep.json").read_bytes()
    (stored.path / "sweep.json").unlink()
    before = content(stored.path)
    with complaint(ValueError, "it has no sweep.json", "copy its sweep.json here"):
        run(toy(), stored.path)
    assert content(stored.path) == before
    (stored.path / "sweep.json").write_bytes(specification)
    assert open_run(stored.path).completeness().whole


def test_a_finished_run_may_lie_where_nothing_can_be_written(tmp_path, monkeypatch):
    run(toy(), tmp_path / "run")
    (tmp_path / "run" / ".lock").unlink()
    before = content(tmp_path / "run")

    def refuse(path, mode="r", *arguments, **options):
        raise OSError(errno.EROFS, "Read-only file system", str(path))

    monkeypatch.setattr(directories, "open", refuse, raising=False)
    monkeypatch.setattr(atomic, "write", refuse)
    assert run(toy(), tmp_path / "run").completeness().whole
    assert content(tmp_path / "run") == before
    with pytest.raises(OSError, match="Read-only"):
        run(toy(replicates=5), tmp_path / "run", extend=True)


# --- parts that overlap ---


def test_a_later_generation_replaces_earlier_rows(tmp_path):
    first = run(toy(lambda cell, rng: 1, name="x"), tmp_path / "first")
    second = run(toy(lambda cell, rng: 2, name="x"), tmp_path / "second")
    for part in second.parts():
        first.write(pq.read_table(part.path), part.segments, generation=1)
    assert first.read()["value"].tolist() == [2] * 6
    assert open_run(first.path).read()["value"].tolist() == [2] * 6
    for part in second.parts():
        first.write(pq.read_table(part.path), part.segments, generation=0)
    assert open_run(first.path).count() == 6


# --- what a directory holds ---


FOREIGN = {
    "a file": ("notes.txt", b"mine"),
    "somebody's parts": ("parts/mine.parquet", b"not really"),
    "JSON": ("sweep.json", b'{"wandb": true}'),
    "half a specification": ("sweep.json", b'{"format": 2, "cells": []}'),
    "no text": ("sweep.json", b"\xff\x00"),
    "a folder": ("sweep.json/notes.txt", b""),
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_a_foreign_directory_is_refused_and_left_alone(tmp_path, kind):
    path = tmp_path / "theirs"
    name, data = FOREIGN[kind]
    (path / name).parent.mkdir(parents=True)
    (path / name).write_bytes(data)
    before = content(tmp_path)
    for attempt in (
        lambda: run(toy(), path),
        lambda: run(toy(), path, extend=True, retry_failed=True),
        lambda: check_directory(path, toy()),
        lambda: open_run(path),
    ):
        with complaint(ValueError, str(path)):
            attempt()
    assert content(tmp_path) == before


def test_a_file_or_what_is_below_one_is_no_directory(tmp_path):
    (tmp_path / "file").write_text("")
    with complaint(ValueError, "is a file"):
        run(toy(), tmp_path / "file")
    with pytest.raises(OSError, match="file"):
        run(toy(), tmp_path / "file" / "below")
    with complaint(ValueError, "not a run directory"):
        open_run(tmp_path / "file" / "below")
    assert list(content(tmp_path)) == ["file"]


def test_an_empty_directory_or_an_attempt_at_one_is_taken(tmp_path):
    path = tmp_path / "run"
    (path / "parts").mkdir(parents=True)
    (path / ".writing-elsewhere-1-sweep.json").write_text("{")
    check_directory(path, toy())
    assert run(toy(), path).count() == 6


@pytest.mark.parametrize("links", [True, False])
def test_threads_that_start_at_a_time_share_a_directory_or_are_refused(
    tmp_path, links, monkeypatch
):
    if not links:
        monkeypatch.setattr(os, "link", lambda *_: (_ for _ in ()).throw(PermissionError(1, "no")))
    for place in range(5):
        path, barrier = tmp_path / f"{place}", threading.Barrier(4)

        def start(seed, path=path, barrier=barrier):
            barrier.wait()
            try:
                return run(toy(seed=seed), path)
            except ValueError as error:
                return str(error)

        with ThreadPoolExecutor(4) as pool:
            same = list(pool.map(start, [0] * 4))
        assert all(open_run(path).completeness().whole for _ in same)
        path = tmp_path / f"other{place}"
        with ThreadPoolExecutor(4) as pool:
            barrier = threading.Barrier(4)
            others = list(pool.map(start, range(4), [path] * 4, [barrier] * 4))
        refused = [item for item in others if isinstance(item, str)]
        assert len(refused) == 3
        assert " ".join(item for item in refused if "holds another sweep (seed:" not in item) == ""
        assert open_run(path).completeness().whole


# --- merging ---


def test_merging_shards_gives_what_one_run_gives(tmp_path):
    shards = [run(toy(), tmp_path / str(i), shard=(i, 3)).path for i in (1, 2, 3)]
    before = [content(path) for path in shards]
    merged = merge(tmp_path / "all", shards)
    assert merged.count() == merged.total == 6
    same_rows(merged, run(toy(), tmp_path / "whole"))
    assert [content(path) for path in shards] == before
    function = Counting(functions.normal)
    function.__qualname__ = "normal"
    run(toy(function), tmp_path / "all", same_code=True)
    assert function.total == 0


def test_merging_again_or_into_one_of_the_sources_changes_nothing(tmp_path):
    shards = [run(toy(), tmp_path / str(i), shard=(i, 2)).path for i in (1, 2)]
    merged = numbers(merge(tmp_path / "all", shards))
    once = content(tmp_path / "all")
    assert merge(tmp_path / "all", [*shards, tmp_path / "all"]).count() == 6
    assert content(tmp_path / "all") == once
    same_rows(numbers(merge(shards[0], shards)), merged)


def test_only_runs_of_the_same_sweep_can_be_merged(tmp_path):
    one = run(toy(), tmp_path / "one").path
    other = run(toy(seed=1), tmp_path / "other").path
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "notes.txt").write_text("mine")
    before = content(tmp_path)
    with complaint(ValueError, "other", "one", "seed"):
        merge(tmp_path / "all", [one, other])
    with complaint(ValueError, "one", "seed"):
        merge(other, [one])
    with complaint(ValueError, "nowhere", "not a run directory"):
        merge(tmp_path / "all", [one, tmp_path / "nowhere"])
    with complaint(ValueError, "theirs", "not empty"):
        merge(tmp_path / "theirs", [one])
    with complaint(ValueError, "at least one"):
        merge(tmp_path / "all", [])
    assert content(tmp_path) == before


# --- putting parts together ---


def many_parts(tmp_path, function=functions.normal, replicates=40):
    """Return a run in many parts, as one that was killed leaves it, and the same run whole."""
    cells = [{"a": a} for a in range(3)]
    whole = run(toy(function, cells, replicates), tmp_path / "whole")
    stored = create_run(tmp_path / "run", toy(function, cells, replicates))
    rows = pq.read_table(part_files(whole.path)[0])
    for part in whole.parts():
        for segment in part.segments:
            for start in range(segment.start, segment.stop, 7):
                piece = Segment(segment.cell, start, min(start + 7, segment.stop))
                stored.write(select_rows(rows, [piece]), [piece], 0, part.machine)
    return stored, whole


def test_putting_parts_together_changes_no_row(tmp_path):
    stored, whole = many_parts(tmp_path)
    assert len(stored.parts()) > 10
    before = stored.read()
    compact(stored)
    assert len(stored.parts()) == len(part_files(stored.path)) == 1
    pd.testing.assert_frame_equal(before, stored.read(), check_exact=True)
    pd.testing.assert_frame_equal(before, open_run(stored.path).read(), check_exact=True)
    same_rows(stored, whole)
    once = content(stored.path)
    compact(stored)
    assert content(stored.path) == once


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_kill_while_parts_are_put_together_loses_nothing(tmp_path, monkeypatch, when):
    stored, whole = many_parts(tmp_path)
    write = Run.write

    def killed(self, *arguments):
        if when == "after":
            write(self, *arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(Run, "write", killed)
    with pytest.raises(KeyboardInterrupt):
        compact(stored)
    monkeypatch.undo()
    left = open_run(stored.path)
    assert left.count() == left.total
    same_rows(left, whole)
    compact(left)
    same_rows(open_run(stored.path), whole)


def test_parts_that_vanish_while_they_are_read_are_looked_for_again(tmp_path):
    stored, whole = many_parts(tmp_path)
    assert stored.count() == stored.total  # it knows the small parts
    compact(open_run(stored.path))  # another process
    same_rows(stored, whole)
    assert stored.failed() == 0


def test_parts_of_other_machines_or_generations_stay_apart(tmp_path):
    stored, _ = many_parts(tmp_path)
    some = stored.parts()[:4]
    for part in some[:2]:
        stored.write(read_rows(part), part.segments, 0, "another")
    for part in some[2:]:
        stored.write(read_rows(part), part.segments, 1, part.machine)
    machines, before = stored.machines(), stored.read()
    compact(stored)
    assert len(stored.parts()) == 3
    assert stored.machines() == machines
    pd.testing.assert_frame_equal(before, stored.read(), check_exact=True)


def test_a_damaged_part_is_not_put_together(tmp_path):
    stored, _ = many_parts(tmp_path)
    broken = stored.parts()[0].path
    broken.write_bytes(broken.read_bytes()[:99])
    compact(stored)  # it was whole when it was met
    assert broken.exists()
    assert list(open_run(stored.path).damaged()) == [broken]


def test_a_run_is_whole_where_nothing_is_missing_failed_or_damaged():
    found = {
        (stored, failed, damage): Completeness(
            Path("run"), 2, stored, failed, {Path("a"): "cut"} if damage else {}
        ).whole
        for stored in (1, 2)
        for failed in (0, 1)
        for damage in (False, True)
    }
    assert [case for case, whole in found.items() if whole] == [(2, 0, False)]
