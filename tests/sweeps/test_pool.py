"""Worker processes: jobs that end theirs, whatever the others do."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from linrep.sweeps.workers import WorkerEnded, WorkerPool, run_jobs
from tests.tools import sampled


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


def test_what_a_job_raises_is_raised():
    """What cannot be sent arrives as a line."""
    with WorkerPool(1) as pool:
        with pytest.raises(ValueError, match="no"):
            list(run_jobs(pool, {"one": (refuse,)}))
        with pytest.raises(ValueError, match="Stubborn: no"):
            pool.submit(refuse_stubbornly).result()


SCRIPT = """
import os, time
from linrep.sweeps.workers import WorkerPool, run_jobs

def end():
    os._exit(1)

def nap():
    time.sleep(600)

if __name__ == "__main__":
    with WorkerPool(1) as pool:
        try:
            for name, result in run_jobs(pool, {"end": (end,), "nap": (nap,), "more": (nap,)}):
                print(name, type(result).__name__, flush=True)
        except KeyboardInterrupt:
            try:
                pool.shutdown(cancel_futures=True)
            except KeyboardInterrupt:
                raise SystemExit(3)
"""


@pytest.mark.slow
def test_a_second_interrupt_ends_jobs_also_after_a_process_was_lost(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    root = str(Path(__file__).parents[2])
    process = subprocess.Popen(
        [sys.executable, "script.py"], cwd=tmp_path, stdout=subprocess.PIPE, text=True,
        env=os.environ | {"PYTHONPATH": root},
    )  # fmt: skip
    try:
        assert process.stdout.readline() == "end WorkerEnded\n"
        for _ in range(10):  # two, unless a busy machine takes two that follow for one
            time.sleep(2.0)
            if process.poll() is not None:
                break
            process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 3
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_where_no_process_can_begin_no_job_is_blamed(monkeypatch):
    monkeypatch.setattr(sys, "executable", shutil.which("false"))
    with (
        WorkerPool(1) as pool,
        pytest.raises(ChildProcessError, match="outside of any job"),
    ):
        list(run_jobs(pool, {"square": (square, 2)}))


def test_a_process_that_ends_between_two_jobs_is_no_fault_of_the_next():
    with WorkerPool(1) as pool:
        first = pool.submit(os.getpid).result()
        os.kill(first, signal.SIGKILL)
        assert dict(run_jobs(pool, {"square": (square, 2)})) == {"square": 4}
        assert pool.submit(os.getpid).result() != first


def test_a_process_serves_many_jobs_and_ends_with_its_pool():
    with WorkerPool(1) as pool:
        (process,) = {pool.submit(os.getpid).result() for _ in range(5)}
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)
