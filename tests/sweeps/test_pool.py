"""Worker processes: jobs that end theirs, whatever the others do."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from linrep.sweeps.pool import WorkerEnded, completed, process_pool


def square(x):
    time.sleep(0.01)
    return x * x


def end(status):
    os._exit(status)


def kill():
    os.kill(os.getpid(), signal.SIGKILL)


def refuse():
    raise ValueError("no")


@pytest.mark.parametrize("workers", [1, 2])
def test_jobs_that_end_their_process_are_named_and_the_others_computed(workers):
    jobs = {f"square {x}": (square, x) for x in range(6)}
    poison = {"exit": (end, 0), "killed": (kill,)}
    mixed = dict(sorted((jobs | poison).items(), key=lambda item: item[0][-1]))
    with process_pool(workers) as pool:
        found = dict(completed(pool, mixed, workers))
    assert found.keys() == mixed.keys()
    for name in poison:
        assert isinstance(found[name], WorkerEnded)
    assert [found[f"square {x}"] for x in range(6)] == [x * x for x in range(6)]


def test_what_a_job_raises_is_raised():
    with process_pool(1) as pool, pytest.raises(ValueError, match="no"):
        list(completed(pool, {"one": (refuse,)}, 1))


SCRIPT = """
import os, time
from linrep.sweeps.pool import completed, finish, process_pool

def end():
    os._exit(1)

def nap():
    time.sleep(600)

if __name__ == "__main__":
    with process_pool(1) as pool:
        try:
            for name, found in completed(pool, {"end": (end,), "nap": (nap,), "more": (nap,)}, 1):
                print(name, type(found).__name__, flush=True)
        except KeyboardInterrupt:
            finish(pool)
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


@pytest.mark.slow
def test_where_no_process_can_begin_no_job_is_blamed(tmp_path):
    """As in a script without a guard for what is run when it is imported."""
    (tmp_path / "script.py").write_text(SCRIPT.replace('if __name__ == "__main__":', "if True:"))
    root = str(Path(__file__).parents[2])
    found = subprocess.run(
        [sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, timeout=120,
        env=os.environ | {"PYTHONPATH": root},
    )  # fmt: skip
    assert found.returncode not in (0, 3)
    assert "WorkerEnded" not in found.stdout
    assert "BrokenProcessPool" in found.stderr
