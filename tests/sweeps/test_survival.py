"""Sweeps killed, raced, on a full disk, bereft of a worker: the same rows, none lost or twice."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from linrep.sweeps import open_run, run
from tests.sweeps import survivor
from tests.sweeps.support import same_rows

ROOT = Path(__file__).resolve().parents[2]


def start(kind, directory, workers=1):
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        [sys.executable, "-m", "tests.sweeps.survivor", kind, str(directory), str(workers)],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def kill(process):
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    process.stderr.close()


def finish(process):
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors.decode()


def count_parts(directory):
    return len(list(Path(directory, "parts").glob("*.parquet")))


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    directory = tmp_path_factory.mktemp("undisturbed") / "run"
    return run(survivor.sweep(), directory, chunk_seconds=0.02)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "kills"), [("threads", 22), ("processes", 8)])
def test_killed_at_random_moments_nothing_is_lost_or_counted_twice(
    tmp_path, kind, kills, undisturbed
):
    directory = tmp_path / "run"
    moments = random.Random(kind)
    stored = 0
    for _ in range(kills):
        # Each life gets a little past the start, so that kills hit any phase, also the very first.
        parts = count_parts(directory)
        process = start(kind, directory)
        aim = moments.choice((0, 1, 2))
        while process.poll() is None and count_parts(directory) < parts + aim:
            time.sleep(0.001)
        time.sleep(moments.uniform(0.0, 0.03))
        assert process.poll() is None  # killed while at work
        kill(process)
        if (directory / "sweep.json").exists():
            before, stored = stored, open_run(directory).count()
            assert before <= stored < undisturbed.total
    finish(start(kind, directory))
    result = open_run(directory)
    assert result.count() == result.total
    assert result.damaged() == []
    assert not list(directory.glob("**/.writing-*"))
    same_rows(result, undisturbed)


@pytest.mark.slow
def test_two_processes_race_on_one_directory(tmp_path, undisturbed):
    directory = tmp_path / "run"
    racers = [start("threads", directory), start("threads", directory)]
    for racer in racers:
        finish(racer)
    result = open_run(directory)
    assert result.count() == result.total
    same_rows(result, undisturbed)


@pytest.mark.slow
def test_one_of_two_racing_processes_is_killed(tmp_path, undisturbed):
    directory = tmp_path / "run"
    first, second = start("threads", directory), start("threads", directory)
    while count_parts(directory) < 3 and first.poll() is None:
        time.sleep(0.001)
    kill(first)
    finish(second)
    same_rows(open_run(directory), undisturbed)


@pytest.fixture
def small_disk(tmp_path):
    """A disk of 400 kB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", str(folder)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("mounting a small file system needs more rights than this user has")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.slow
def test_a_full_disk_loses_nothing(small_disk, tmp_path):
    directory = small_disk / "run"
    process = start("fast", directory)
    _, errors = process.communicate(timeout=120)
    assert process.returncode != 0
    assert "No space left on device" in errors.decode()
    stopped = open_run(directory)
    assert 0 < stopped.count() < stopped.total
    assert stopped.damaged() == []
    partial = stopped.read(partial=True)
    # With more room it goes on.
    roomy = tmp_path / "roomy"
    shutil.copytree(directory, roomy)
    finish(start("fast", roomy))
    whole = run(survivor.sweep(survivor.walk, 5_000), tmp_path / "whole")
    same_rows(open_run(roomy), whole)
    keys = ["cell", "replicate", "row"]
    both = partial[[*keys, "end"]].merge(whole.read([*keys, "end"]), on=keys)
    assert len(both) == len(partial)
    assert (both["end_x"] == both["end_y"]).all()


@pytest.mark.slow
def test_dask_gives_the_same_rows_though_a_worker_dies(tmp_path, undisturbed):
    distributed = pytest.importorskip("distributed", reason="Dask is not installed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        pids = client.run(os.getpid)
        directory = tmp_path / "run"
        killer = subprocess.Popen(
            [
                sys.executable,
                "-c",
                "import glob, os, signal, sys, time\n"
                "while not glob.glob(sys.argv[1] + '/parts/*.parquet'): time.sleep(0.001)\n"
                "os.kill(int(sys.argv[2]), signal.SIGKILL)",
                str(directory),
                str(next(iter(pids.values()))),
            ]
        )
        result = run(
            survivor.sweep(),
            directory,
            executor=client.get_executor(),
            workers=2,
            chunk_seconds=0.05,
        )
        assert killer.wait(timeout=60) == 0
        assert result.count() == result.total
        same_rows(result, undisturbed)
