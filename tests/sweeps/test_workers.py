"""Replicates that end or block their process: failed rows, and nothing else is lost."""

import os
import pickle
import re
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pytest

from linrep.sweeps import load, run, workers
from linrep.sweeps.chunks import sealed
from linrep.sweeps.targets import own_sources
from linrep.sweeps.workers import WorkerEnded, WorkerPool, run_jobs, run_sealed
from tests.sweeps import functions
from tests.sweeps.support import job, same_rows, toy
from tests.tools import sampled

CELLS = [{"a": 1}, {"a": 2}, {"a": 3}]


def poisoned(function, **options):
    return toy(function, CELLS, 10, **options)


def is_poison(rows):
    return (rows["a"] == 2) & (rows["replicate"] == functions.POISONED)


ENDS = (functions.ends_its_process, {"processes": True}, "WorkerEnded: .* exit status 7")
KILLED = (functions.is_killed, {"processes": True}, "WorkerEnded: .* SIGKILL, as when memory")
BLOCKS = (functions.blocks, {"timeout": 1.0}, "TimeoutError: longer than 1 s")


@pytest.mark.parametrize(
    ("poison", "workers"),
    [
        (ENDS, 2),
        (KILLED, 1),
        (BLOCKS, 1),
        pytest.param(ENDS, 1, marks=pytest.mark.slow),
        pytest.param(KILLED, 2, marks=pytest.mark.slow),
        pytest.param(BLOCKS, 2, marks=pytest.mark.slow),
    ],
)
def test_a_poisonous_replicate_is_a_failed_row(tmp_path, poison, workers):
    function, options, reason = poison
    stored = run(poisoned(function), tmp_path / "run", workers=workers, **options)
    rows = stored.read()
    assert stored.count() == stored.total == 30
    failed = rows[rows["status"] == "failed"]
    assert list(failed.index) == list(rows.index[is_poison(rows)])
    assert re.match(reason, failed["exception"].iloc[0])
    harmless = toy(functions.uniform, CELLS, 10, name=stored.description["name"])
    whole = run(harmless, tmp_path / "whole").read()
    drop = ["status", "exception", "seconds", "versions"]
    same_rows(
        rows[~is_poison(rows)].drop(columns=drop).reset_index(drop=True),
        whole[~is_poison(whole)].drop(columns=drop).reset_index(drop=True),
    )


def test_after_a_kill_the_poison_is_found_in_processes(tmp_path, capsys):
    stored = run(poisoned(functions.ends_its_process), tmp_path / "run", shard=(2, 3))
    (stored.path / ".running").touch()  # as a sweep leaves it that is killed
    stored = run(poisoned(functions.ends_its_process), tmp_path / "run", progress=False)
    assert "was killed" in capsys.readouterr().err
    assert (stored.count(), stored.failed()) == (30, 1)
    assert not (stored.path / ".running").exists()
    again = run(poisoned(functions.ends_its_process), tmp_path / "run", retry_failed=True,
                processes=True)  # fmt: skip
    assert (again.count(), again.failed()) == (30, 1)


@pytest.fixture(scope="module")
def pool():
    """Return somebody else's executor, of one process."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        yield pool


def test_an_executor_of_processes_survives_what_a_guarded_replicate_does(tmp_path, pool):
    stored = run(poisoned(functions.blocks), tmp_path / "run", executor=pool, timeout=1.0)
    assert pool.submit(os.getpid).result() > 0
    assert (stored.count(), stored.failed()) == (30, 1)


def test_workers_that_come_later_are_used(tmp_path, pool):
    asked = []

    def workers():
        asked.append(time.monotonic())
        return min(len(asked) - 1, 1)  # none at first

    stored = run(toy(), tmp_path / "run", executor=pool, workers=workers)
    assert stored.count() == stored.total
    assert len(asked) >= 2


def test_a_function_reaches_a_machine_that_has_not_its_file(tmp_path, monkeypatch, pool):
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "beside.py").write_text("OFFSET = 10.0\n")
    path = tmp_path / "swept_there.py"
    path.write_text("import beside\ndef f(cell, rng):\n    return rng.random() + beside.OFFSET\n")
    function = load(f"{path}:f")
    there = sealed(job(toy(function), ("a=1", 0, 2)))
    assert {source.name for source in own_sources()} >= {"swept_there", "beside"}
    for name in ("swept_there", "beside"):
        del sys.modules[name]
        (tmp_path / f"{name}.py").unlink()
    value = pool.submit(functions.first_value, there).result()
    assert 10.0 <= value < 11.0


@pytest.fixture
def worker_ends():
    """End the process that guards jobs of this one, which otherwise stays as long as this does."""
    yield
    workers._of_thread.process.end()
    del workers._of_thread.process


SHORT_LIVED = """
import pickle, sys
from linrep.sweeps.workers import WorkerEnded, WorkerPool, run_jobs, run_sealed
run_sealed(pickle.load(open(sys.argv[1], "rb")), "sweep", 0)
"""


@pytest.mark.parametrize("reached", sampled([True, False], 1))
def test_the_first_process_that_is_lost_is_the_last(tmp_path, monkeypatch, reached, worker_ends):
    """An executor that begins a job anew wherever it can, without a word, as Dask's does."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    folder = tmp_path / "run" if reached else tmp_path
    (tmp_path / "run").mkdir(exist_ok=reached)
    scratch = tmp_path / ("run" if reached else "elsewhere") / ".scratch"
    poison, other = (
        sealed(job(toy(function, [{"a": 2}], 5), ("a=2", 4, 5), seconds=1.0, scratch=str(scratch)))
        for function in (functions.ends_its_process, functions.process)
    )
    assert run_sealed(other, "sweep", 1).table["value"].to_pylist() == [os.getpid()]
    (tmp_path / "job").write_bytes(pickle.dumps(poison))
    worker = [sys.executable, "-c", SHORT_LIVED, tmp_path / "job"]
    assert subprocess.run(worker, check=False).returncode == 7
    again = run_sealed(poison, "sweep", 0)
    assert again.failed == 1
    assert "exit status 7" in again.table["exception"].to_pylist()[0]
    assert run_sealed(other, "sweep", 2).table["value"].to_pylist() != [os.getpid()]
    assert run_sealed(other, "another", 2).table["value"].to_pylist() == [os.getpid()]
    assert [path.name for path in folder.glob(".*")] == [".attempt-sweep-lost"]
    if reached:
        monkeypatch.undo()
        run(toy(), tmp_path / "swept")
        (folder / ".attempt-sweep-lost").rename(tmp_path / "swept" / ".attempt-sweep-lost")
        run(toy(), tmp_path / "swept")
        assert not list((tmp_path / "swept").glob(".attempt*"))


# --- jobs of any kind ---


def square(x):
    time.sleep(0.01)
    return x * x


def end(status):
    os._exit(status)


def kill():
    os.kill(os.getpid(), signal.SIGKILL)


def refuse():
    raise ValueError("no")


class Stubborn(Exception):
    """One that cannot be read again."""

    def __init__(self, message, further):
        super().__init__(message)


def refuse_stubbornly():
    raise Stubborn("no", "further")


@pytest.mark.parametrize("workers", sampled([2, 1], 1))
def test_jobs_that_end_their_process_are_named_and_the_others_computed(workers):
    jobs = {f"square {x}": (square, x) for x in range(6)}
    poison = {"exit": (end, 0), "killed": (kill,)}
    mixed = dict(sorted((jobs | poison).items(), key=lambda item: item[0][-1]))
    with WorkerPool(workers) as pool:
        results = dict(run_jobs(pool, mixed))
    assert results.keys() == mixed.keys()
    for name in poison:
        assert isinstance(results[name], WorkerEnded)
    assert [results[f"square {x}"] for x in range(6)] == [x * x for x in range(6)]


def test_what_a_job_raises_is_raised_and_an_end_between_two_is_no_fault_of_the_next():
    """What cannot be sent arrives as a line."""
    with WorkerPool(1) as pool:
        with pytest.raises(ValueError, match="no"):
            list(run_jobs(pool, {"one": (refuse,)}))
        with pytest.raises(ValueError, match="Stubborn: no"):
            pool.submit(refuse_stubbornly).result()
        first = pool.submit(os.getpid).result()
        os.kill(first, signal.SIGKILL)
        assert dict(run_jobs(pool, {"square": (square, 2)})) == {"square": 4}
        assert pool.submit(os.getpid).result() != first


def test_where_no_process_can_begin_no_job_is_blamed(monkeypatch):
    monkeypatch.setattr(sys, "executable", shutil.which("false"))
    with WorkerPool(1) as pool, pytest.raises(ChildProcessError, match="outside of any job"):
        list(run_jobs(pool, {"square": (square, 2)}))
