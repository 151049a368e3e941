"""Running: the same rows whoever computes them, only what is missing, all that was asked for."""

import signal
import threading
import warnings
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from itertools import count
from multiprocessing import get_context

import pytest
from hypothesis import given
from hypothesis import strategies as st

import linrep as lr
from linrep.sweeps import Grid, Run, Stopped, Sweep, open_run, run, runner
from linrep.sweeps.todo import _shares
from tests.sweeps import functions
from tests.sweeps.support import Counting, numbers, same_rows, toy
from tests.tools import interrupted


def large(function=functions.normal, **options):
    cells = Grid.product({"a": range(6), "b": [0.5, "x"]})
    return Sweep(function, cells, **{"replicates": 4, "seed": 9, **options})


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """The rows of one thread."""
    return numbers(run(large(), tmp_path_factory.mktemp("runs") / "alone"))


# --- the same rows ---


@pytest.mark.parametrize(
    "options",
    [
        {"chunk_seconds": 1e-9},
        {"workers": 2},
        {"workers": 2, "processes": True, "chunk_seconds": 0.05},
    ],
)
def test_threads_processes_and_chunks_make_no_difference(tmp_path, alone, options):
    same_rows(numbers(run(large(), tmp_path / "run", **options)), alone)


def test_an_executor_of_ones_own_makes_no_difference_and_stays_open(tmp_path, alone):
    with ThreadPoolExecutor(2) as pool:
        stored = run(large(), tmp_path / "threads", executor=pool, workers=2)
        assert pool.submit(int, "3").result() == 3
    same_rows(numbers(stored), alone)
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        same_rows(numbers(run(large(), tmp_path / "processes", executor=pool)), alone)


def test_the_order_of_cells_makes_no_difference_to_what_is_in_them(tmp_path, alone):
    sweep = Sweep(functions.normal, list(large().grid)[::-1], 4, seed=9)
    backward = numbers(run(sweep, tmp_path / "run"))
    assert backward["a"].tolist() == alone["a"].tolist()[::-1]
    same_rows(
        *(
            rows.astype({"cell": str}).sort_values(["cell", "replicate"], ignore_index=True)
            for rows in (alone, backward)
        )
    )


# --- only what is missing ---


@pytest.mark.parametrize("workers", [1, 2])
def test_an_interrupted_run_goes_on_where_it_was(tmp_path, workers, monkeypatch):
    function = Counting()
    written = []
    write = Run.write

    def fail(self, table, segments, *others):
        if len(written) == 3:
            raise OSError(28, "No space left on device")
        written.append(sum(map(len, segments)))
        return write(self, table, segments, *others)

    monkeypatch.setattr(Run, "write", fail)
    sweep = large(function, replicates=20)
    with pytest.raises(OSError, match="No space left"):
        run(sweep, tmp_path / "run", chunk_seconds=1e-9, workers=workers)
    monkeypatch.undo()
    assert open_run(tmp_path / "run").count() == sum(written) == 3
    for thread in threading.enumerate():  # the run did not wait for a replicate under way
        if thread.name.startswith("ThreadPoolExecutor"):
            thread.join(timeout=30.0)
    function.calls.clear()
    stored = run(sweep, tmp_path / "run", workers=workers)
    assert function.total == 240 - 3
    whole = large(functions.uniform, name="counting", replicates=20)
    same_rows(stored, run(whole, tmp_path / "whole"))


@pytest.mark.parametrize("stride", [23, pytest.param(1, marks=pytest.mark.slow)])
def test_wherever_an_interrupt_comes_it_is_said_how_far_the_sweep_is(tmp_path, stride):
    sweep = Sweep(functions.uniform, [{"a": 1}, {"a": 2}], 1, seed=9)
    whole = run(sweep, tmp_path / "whole")
    said, outcomes = [], []
    for place in count(step=stride):
        folder = tmp_path / str(place)
        try:
            with interrupted(place, runner.run, runner._drive) as sent:
                run(sweep, folder, chunk_seconds=1e-9, progress=False)
        except Stopped as stopped:
            said.append(str(stopped))
            done = stopped.run.count()
            at = "after the last" if done == 2 else f"at {done}"
            outcomes.append(f"{folder}: stopped {at} of 2 replicates")
        except KeyboardInterrupt:  # before it has begun
            assert not list(folder.glob("parts/*"))
        if not sent:
            break
        same_rows(run(sweep, folder), whole)
    assert said == outcomes
    assert len({line.partition(": ")[2] for line in said}) >= 2


@pytest.mark.parametrize(("kind", "name"), [(ThreadPoolExecutor, "submit"), (Run, "write")])
def test_what_is_computed_when_an_interrupt_comes_is_stored(tmp_path, monkeypatch, kind, name):
    """Between two places, too: handed over and not noted, returned and not written."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    function = Counting()
    sweep = toy(function, [{"a": 1}], 50)
    do, calls = getattr(kind, name), []

    def interrupt(*arguments):
        calls.append(arguments)
        if len(calls) == 2 and name == "write":
            signal.raise_signal(signal.SIGINT)
        found = do(*arguments)
        if len(calls) == 2 and name == "submit":
            found.result()
            signal.raise_signal(signal.SIGINT)
        return found

    monkeypatch.setattr(kind, name, interrupt)
    try:
        with ThreadPoolExecutor(1) as pool, pytest.raises(Stopped):
            run(sweep, tmp_path / "run", executor=pool, chunk_seconds=1e-9)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
    assert open_run(tmp_path / "run").count() == function.calls[(("a", 1),)] < 50


def test_extending_computes_only_what_is_new_and_changes_nothing(tmp_path):
    function = Counting()
    before = numbers(run(toy(function), tmp_path / "run"))
    seconds = open_run(tmp_path / "run").read(["seconds"])
    function.calls.clear()
    grown = toy(function, [{"a": 3}, {"a": 1}, {"a": 2}], 5)
    stored = run(grown, tmp_path / "run", extend=True)
    assert function.calls == {(("a", 1),): 2, (("a", 2),): 2, (("a", 3),): 5}
    after = stored.read()
    old = after[(after["a"] != 3) & (after["replicate"] < 3)].reset_index(drop=True)
    assert old[["seconds"]].equals(seconds)
    after = numbers(stored)
    kept = after[(after["a"] != 3) & (after["replicate"] < 3)].reset_index(drop=True)
    same_rows(kept, before)
    same_rows(after, run(grown, tmp_path / "whole").read().drop(columns=["seconds", "versions"]))
    assert run(grown, tmp_path / "run").count() == 15  # no need to say extend again


# --- failures ---


def test_failed_replicates_are_computed_again_only_when_asked(tmp_path):
    broken = tmp_path / "broken"
    broken.touch()

    def flaky(cell, rng):
        value = rng.random()
        if broken.exists() and value < 0.4:
            raise OSError("disk")
        return value

    function = Counting(flaky)
    sweep = toy(function, replicates=20)
    first = run(sweep, tmp_path / "run")
    failed = first.failed()
    assert 0 < failed < 40
    function.calls.clear()
    run(sweep, tmp_path / "run")
    assert function.total == 0
    run(sweep, tmp_path / "run", retry_failed=True)
    assert function.total == failed
    assert open_run(tmp_path / "run").failed() == failed

    broken.unlink()
    function.calls.clear()
    stored = run(sweep, tmp_path / "run", retry_failed=True)
    assert function.total == failed
    assert stored.count() == 40
    for opened in (stored, open_run(tmp_path / "run")):
        assert opened.failed() == 0
        assert opened.failures().empty
    function.calls.clear()
    run(sweep, tmp_path / "run", retry_failed=True)
    assert function.total == 0
    whole = toy(functions.uniform, replicates=20, name="counting")
    same_rows(stored, run(whole, tmp_path / "whole"))


# --- shards ---


@given(st.integers(1, 8), st.integers(1, 30), st.integers(1, 40), st.booleans())
def test_shards_are_disjoint_and_together_everything(count, replicates, shards, reverse):
    def share(cells, index, reverse):
        sweep = toy(cells=[{"a": a} for a in cells], replicates=replicates)
        return [(s.cell, r) for s in _shares(sweep, index, shards, reverse)
                for r in range(s.start, s.stop)]  # fmt: skip

    found = []
    for index in range(1, shards + 1):
        mine = sorted(share(range(count), index, reverse))
        assert mine == sorted(share(reversed(range(count)), index, False))
        found += mine
    assert sorted(found) == sorted((f"a={a}", r) for a in range(count) for r in range(replicates))


def test_shards_may_share_a_directory(tmp_path, alone):
    for index in (1, 2, 3):
        stored = run(large(), tmp_path / "run", shard=(index, 3))
    assert stored.count() == 48
    same_rows(numbers(stored), alone)


# --- what makes no difference ---


# --- what functions may be ---


def test_a_function_that_cannot_be_handed_to_processes_is_refused(tmp_path):
    lock = threading.Lock()
    with pytest.raises(ValueError, match="cannot be handed to other processes, use threads"):
        run(toy(lambda cell, rng: lock), tmp_path / "run", processes=True)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("how", ["threads", "processes", "executor"])
def test_what_runs_would_warn_of_is_in_their_rows_and_said_once(tmp_path, capfd, how):
    cells = Grid.product({"kinds": ["", "wide still", "still still"], "fails": [False, True]})
    sweep = Sweep(functions.noted, cells, replicates=5)
    options = {"threads": {"workers": 2}, "processes": {"processes": True}}.get(how)
    with warnings.catch_warnings(record=True) as caught, ThreadPoolExecutor(2) as pool:
        warnings.simplefilter("always")
        first = sweep.run(tmp_path / "run", **options or {"executor": pool}, progress=False)
        again = sweep.run(tmp_path / "run", progress=False)
    (one,) = caught
    assert one.category is lr.RunWarning
    assert one.filename == __file__
    assert str(one.message).endswith("column notes: still (20 of 30), wide (10 of 30)")
    assert "Warning" not in capfd.readouterr().err
    rows = first.read()
    expected = {"": None, "wide still": "still; wide", "still still": "still"}
    for kinds, note in expected.items():
        own = rows[rows["kinds"] == kinds]["notes"]
        assert own.isna().all() if note is None else (own == note).all()
    assert (rows["status"] == "failed").sum() == 15
    assert again.notes() == {"still": 20, "wide": 10}


def test_a_bar_shows_progress_and_failures(tmp_path, capsys):
    run(toy(functions.fragile, replicates=10), tmp_path / "run", progress=True)
    shown = capsys.readouterr().err
    assert "fragile" in shown
    assert "20/20" in shown
    assert "5 failed" in shown
    run(toy(functions.fragile, replicates=10), tmp_path / "run", progress=False)
    assert capsys.readouterr().err == ""
