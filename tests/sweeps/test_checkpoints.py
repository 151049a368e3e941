"""Replicates that take long: how a sweep ends, and where it goes on."""

import pytest

from linrep.sweeps import Stopped, checkpoints, note, open_run, run, runner, scratch
from tests.sweeps import functions
from tests.sweeps.support import toy


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


def test_an_interrupt_counts_what_was_asked_for_and_says_what_is_begun(
    tmp_path, interrupted_in_a_replicate
):
    """What is not asked for does not count, whether it is there or begun."""
    cells = [{"a": 1, "tenths": 0}, {"a": 2, "tenths": 80}]
    run(toy(functions.counted_down, cells[:1], 2), tmp_path / "run")
    sweep = toy(functions.counted_down, cells, 2)
    with checkpoints.of(str(tmp_path / "run" / checkpoints.FOLDER), sweep.names[1], 0):
        note("of a process that was killed")
    with pytest.raises(Stopped, match=r"stopped at 1 of 2 replicates, begun: step \d+$"):
        run(sweep, tmp_path / "run", shard=(1, 2), extend=True, grace=0.1, processes=True)


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


def test_processes_have_one_thread_each(tmp_path):
    done = run(toy(functions.threads_of_openmp, replicates=1), tmp_path / "run", processes=True)
    assert set(done.read()["value"]) == {"1"}
