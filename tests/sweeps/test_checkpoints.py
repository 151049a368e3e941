"""Replicates that take long: what comes first, when a sweep ends, and where it goes on."""

import time
from types import SimpleNamespace

import pytest

from linrep.sweeps import Stopped, checkpoints, note, open_run, run, runner, scratch
from tests.sweeps import functions
from tests.sweeps.support import same_rows, toy
from tests.tools import complaint, sampled


def started(run):
    """Return cells and replicates in the order in which they were stored, one worker's."""
    parts = sorted(run.parts(), key=lambda part: part.path.stat().st_mtime_ns)
    return [(each.cell, each.start) for part in parts for each in part.segments]


def test_what_is_worth_most_is_computed_first_and_what_is_worth_nothing_not_at_all(tmp_path):
    def order(cell, replicate):
        return None if cell["a"] == 3 else (replicate, -cell["a"])

    sweep = toy(functions.counted_down, [{"a": a, "tenths": 0} for a in (1, 2, 3)])
    done = run(sweep, tmp_path / "run", order=order, chunk_seconds=1e-9)
    assert done.count() == 6
    assert not done.completeness().whole
    again = run(sweep, tmp_path / "run")
    same_rows(again, run(sweep, tmp_path / "other"))


def test_order_is_followed(tmp_path, monkeypatch):
    seen = []
    sweep = toy(lambda cell, rng: seen.append(cell["a"]) or 0.0)
    run(sweep, tmp_path / "run", order=lambda cell, replicate: (replicate, -cell["a"]))
    assert seen == [2, 1, 2, 1, 2, 1]


@pytest.mark.parametrize("processes", [False, True])
def test_a_budget_interrupts_and_the_same_sweep_goes_on(tmp_path, monkeypatch, processes):
    def monotonic():
        """Tell the time by a clock on which an hour passes as the first replicate is stored."""
        return 3600.0 * bool(list(tmp_path.glob("run/parts/*.parquet")))

    sweep = toy(functions.counted_down, [{"tenths": 1}], replicates=8)
    with monkeypatch.context() as patch:
        patch.setattr(runner, "time", SimpleNamespace(monotonic=monotonic, sleep=time.sleep))
        with pytest.raises(Stopped) as stopped:
            run(sweep, tmp_path / "run", budget=60.0, chunk_seconds=1e-9, processes=processes)
    assert 0 < stopped.value.run.count() < 8
    done = run(sweep, tmp_path / "run", processes=processes)
    assert done.count() == 8


@pytest.fixture
def interrupted_in_a_replicate(monkeypatch, tmp_path):
    """Interrupt the sweep in the folder "run" when a replicate there has made its first step."""

    def interrupt(*arguments, **options):
        notes = tmp_path.glob(f"run/{checkpoints.FOLDER}/*/note")
        if any(note.read_text().startswith("step ") for note in notes):
            monkeypatch.setattr(runner, "wait", wait)
            raise KeyboardInterrupt
        return wait(*arguments, **options)

    wait = runner.wait
    monkeypatch.setattr(runner, "wait", interrupt)


@pytest.mark.parametrize("stored", sampled([True, False], 1))
def test_an_interrupt_counts_what_was_asked_for_and_says_what_is_begun(
    tmp_path, stored, interrupted_in_a_replicate
):
    sweep = toy(functions.counted_down, [{"a": 1, "tenths": 0}, {"a": 2, "tenths": 80}])
    if stored:  # what is not asked for does not count, whether it is there or begun
        run(
            sweep,
            tmp_path / "run",
            order=lambda cell, replicate: 0 if cell["a"] == 1 < replicate else None,
        )
        name = next(name for name in sweep.names if "a=2" in name)
        with checkpoints.of(str(tmp_path / "run" / checkpoints.FOLDER), name, 1):
            note("of a process that was killed")

    def order(cell, replicate):
        return None if replicate else cell["a"]

    with pytest.raises(Stopped, match=r"stopped at 1 of 2 replicates, begun: step \d+$"):
        run(sweep, tmp_path / "run", order=order, chunk_seconds=1e-9, grace=0.1, processes=True)


def test_failures_that_are_to_be_tried_again_do_not_count_as_done(tmp_path, monkeypatch):
    def function(cell, rng):
        if cell["a"] == 2 and not again:
            raise ValueError("at first")
        return rng.random()

    def interrupt(*given, **options):
        raise KeyboardInterrupt

    again: list[int] = []
    sweep = toy(function)
    assert run(sweep, tmp_path / "run").failed() == 3
    again.append(1)
    monkeypatch.setattr(runner, "_drive", interrupt)
    with pytest.raises(Stopped, match=r"stopped at 3 of 6 replicates$"):
        run(sweep, tmp_path / "run", retry_failed=True, same_code=True)
    with pytest.raises(Stopped, match=r"stopped at 1 of 2 replicates$"):
        run(sweep, tmp_path / "run", retry_failed=True, same_code=True, shard=(1, 3))


@pytest.mark.slow
def test_after_a_grace_processes_are_ended_and_go_on_from_their_files(
    tmp_path, interrupted_in_a_replicate
):
    sweep = toy(functions.counted_down, [{"tenths": 80}], replicates=1)
    with pytest.raises(Stopped) as stopped:
        run(sweep, tmp_path / "run", grace=0.5, processes=True)
    assert stopped.value.at_once
    assert stopped.value.run.count() == 0
    assert "begun: step " in str(stopped.value)
    done = run(sweep, tmp_path / "run", processes=True)
    rows = done.read()
    assert rows["found"].iloc[0] > 0
    alone = toy(functions.counted_down, [{"tenths": 80}], replicates=1)
    assert rows["stream"].iloc[0] == alone.run(tmp_path / "other").read()["stream"].iloc[0]
    assert not list((tmp_path / "run" / checkpoints.FOLDER).iterdir())


def test_outside_of_a_sweep_there_is_no_place_for_files():
    assert scratch("file") is None
    note("nobody hears it")


def test_files_of_a_replicate_are_removed_when_it_is_stored_and_no_others(tmp_path):
    def function(cell, rng):
        scratch("file").write_text("x")
        if cell["a"] == 2:
            raise ValueError("after all")
        return {"files": len(list(scratch("file").parents[1].iterdir()))}

    done = run(toy(function, replicates=1), tmp_path / "run")
    assert done.failed() == 1
    assert not list((tmp_path / "run" / checkpoints.FOLDER).iterdir())
    assert open_run(tmp_path / "run").read()["files"].dropna().tolist() == [1]


@pytest.mark.parametrize("setting", ["grace", "budget"])
def test_what_is_no_number_of_seconds_is_refused(tmp_path, setting):
    with complaint(ValueError, setting):
        run(toy(), tmp_path / "run", **{setting: -1.0})


def test_processes_have_one_thread_each(tmp_path):
    done = run(toy(functions.threads_of_openmp, replicates=1), tmp_path / "run", processes=True)
    assert set(done.read()["value"]) == {"1"}
