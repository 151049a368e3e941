"""Sweeps killed, raced, on a full disk, bereft of a worker: the same rows, none lost or twice."""

import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from linrep.sweeps import Stopped, open_run, run
from tests.sweeps import functions, survivor
from tests.sweeps.support import same_rows, toy

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
    assert not result.damaged()
    assert not list(directory.glob("**/.writing-*"))
    same_rows(result, undisturbed)


@pytest.mark.slow
@pytest.mark.parametrize("is_killed", [True, False])
def test_two_processes_race_on_one_directory(tmp_path, undisturbed, is_killed):
    directory = tmp_path / "run"
    first, second = start("threads", directory), start("threads", directory)
    while is_killed and count_parts(directory) < 3 and first.poll() is None:
        time.sleep(0.001)
    kill(first) if is_killed else finish(first)
    finish(second)
    result = open_run(directory)
    assert result.count() == result.total
    same_rows(result, undisturbed)


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
    assert not stopped.damaged()
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
def test_a_poisonous_replicate_costs_dask_one_worker(tmp_path, capfd):
    distributed = pytest.importorskip("distributed", reason="Dask is not installed")
    cells = [{"a": a, "log": str(tmp_path / "log")} for a in (1, 2, 3)]
    with (
        distributed.LocalCluster(
            n_workers=0, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        threading.Timer(2.0, cluster.scale, [1]).start()
        result = run(
            toy(functions.ends_any_worker, cells, 2), tmp_path / "run",
            executor=client.get_executor(),
        )  # fmt: skip
        assert result.failed() == 2
        assert "there is no worker: waiting for one" in capfd.readouterr().err
        assert (tmp_path / "log").read_text() == "lost\n"
        cluster.scale(0)
        threading.Timer(3.0, os.kill, [os.getpid(), signal.SIGINT]).start()
        with pytest.raises(Stopped):
            run(toy(), tmp_path / "nobody", executor=client.get_executor())


PATIENCE = 90


@pytest.fixture
def cluster(tmp_path):
    """Return a function that starts a scheduler or a worker in a process of its own."""
    pytest.importorskip("distributed", reason="Dask is not installed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"tcp://127.0.0.1:{port}"
    started = []

    def begin(kind):
        options = {
            "scheduler": ["--host", "127.0.0.1", "--port", str(port)],
            "worker": [address, "--nthreads", "1", "--nworkers", "1"],
        }[kind]
        process = subprocess.Popen(
            [sys.executable, "-m", f"distributed.cli.dask_{kind}", *options,
             "--dashboard-address", ":0"],
            cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env=os.environ | {"PYTHONPATH": str(ROOT)}, start_new_session=True,
        )  # fmt: skip
        started.append(process)
        return process

    begin.address = address
    yield begin
    for process in started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def sweep_on(cluster, folder, *arguments, command=("-m", "linrep.cli")):
    folder.mkdir()
    (folder / "beside.py").write_text("OFFSET = 1.0\n")
    (folder / "measured.py").write_text(
        "import os, time\n"
        "import beside\n"
        "def measure(cell, rng):\n"
        "    time.sleep(0.02)\n"
        "    value = rng.random()\n"
        "    if cell['poison'] and value > 0.99:\n"
        "        os._exit(5)\n"
        "    return value + beside.OFFSET\n"
    )
    return subprocess.Popen(
        [sys.executable, *command, "sweep", "--function", "measured.py:measure",
         "--dask", cluster.address, "--replicates", "150", "--out", "run", *arguments],
        cwd=folder, env=os.environ | {"PYTHONPATH": str(ROOT)}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


NOBODY = "run: there is no worker: waiting for one\n"


@pytest.mark.slow
def test_workers_that_come_late_compute_functions_in_files_and_survive_poison(tmp_path, cluster):
    cluster("scheduler")
    process = sweep_on(cluster, tmp_path / "here", "--poison", "0,1")
    assert process.stderr.readline() == NOBODY
    cluster("worker")
    out, errors = process.communicate(timeout=PATIENCE)
    assert errors.replace(NOBODY, "") == ""  # as while the one that was lost is started again
    rows = open_run(tmp_path / "here" / "run").read()
    failed = rows[rows["status"] == "failed"]
    assert len(rows) == 300
    assert process.returncode == (1 if len(failed) else 0)
    assert f"300 of 300 replicates, {len(failed)} failed" in out
    assert (failed["poison"] == 1).all()
    assert len(failed) > 0
    assert failed["exception"].str.contains("exit status 5").all()
    assert rows["value"].dropna().between(1.0, 2.0).all()


@pytest.mark.slow
def test_the_end_of_a_scheduler_is_a_line_and_nothing_is_lost(tmp_path, cluster):
    scheduler = cluster("scheduler")
    cluster("worker")
    process = sweep_on(cluster, tmp_path / "here", "--poison", "0", "--replicates", "1000")
    directory = tmp_path / "here" / "run"
    until = time.monotonic() + PATIENCE
    while count_parts(directory) < 2 and time.monotonic() < until:
        time.sleep(0.05)
    scheduler.kill()
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1
    assert len(errors.splitlines()) == 1
    assert f"the scheduler {cluster.address} is gone" in errors
    assert "the same command continues" in errors
    stopped = open_run(directory)
    assert 0 < stopped.count() < stopped.total
    assert not stopped.damaged()


IMPATIENT = """
import sys
from linrep.cli import main
from linrep.sweeps import crews
crews.PATIENCE = 5.0
main(sys.argv[1:])
"""


@pytest.mark.slow
@pytest.mark.parametrize("who", ["scheduler", "worker"])
@pytest.mark.parametrize("is_known", [True, False])
def test_where_the_cluster_is_frozen_one_signal_ends_in_a_line(tmp_path, cluster, who, is_known):
    processes = {kind: cluster(kind) for kind in ("scheduler", "worker")}
    options = ("--poison", "0", "--replicates", "1000")
    process = sweep_on(cluster, tmp_path / "here", *options, command=("-c", IMPATIENT))
    directory = tmp_path / "here" / "run"
    until = time.monotonic() + PATIENCE
    while count_parts(directory) < 2 and time.monotonic() < until:
        time.sleep(0.05)
    os.killpg(processes[who].pid, signal.SIGSTOP)
    # A worker may come after the sweep has begun.
    first = next(line for line in process.stderr if line != NOBODY) if is_known else ""
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=PATIENCE)
    silent, *last = (first + errors).replace(NOBODY, "").splitlines()
    assert "run: no answer from " in silent
    assert (cluster.address in silent) == (who == "scheduler")
    assert silent.endswith("for 5 s: Ctrl-C ends this, and the same call goes on from there")
    assert len(last) == 1
    assert "the same command continues from there" in last[0]
    assert process.returncode == 130
    stopped = open_run(directory)
    assert 0 < stopped.count() < stopped.total
    assert not stopped.damaged()


HANGING = """
import sys, time
from linrep.cli import main
from tests.sweeps import functions
main(["sweep", "--function", "tests.sweeps.functions:blocks", "--a", "1,2", "--replicates", "10",
      "--workers", "2", "--out", sys.argv[1], *sys.argv[2:]])
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "options"), [(signal.SIGINT, ()), (signal.SIGTERM, ("--processes",))]
)
def test_a_second_signal_ends_at_once_whatever_hangs(tmp_path, number, options):
    directory = tmp_path / "run"
    process = subprocess.Popen(
        [sys.executable, "-c", HANGING, str(directory), *options], cwd=ROOT, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    until = time.monotonic() + PATIENCE
    while count_parts(directory) < 3 and time.monotonic() < until:
        time.sleep(0.05)
    time.sleep(2.0)  # until all that does not hang has ended
    process.send_signal(number)
    time.sleep(1.0)
    assert process.poll() is None  # it waits for the chunk
    process.send_signal(number)
    _, errors = process.communicate(timeout=PATIENCE)  # the replicate would take longer
    assert process.returncode == 128 + number
    assert len(errors.splitlines()) == 1
    assert "the same command continues" in errors
    assert open_run(directory).count() >= 3
    finished = run(toy(functions.blocks, replicates=10), directory, timeout=1.0)
    assert (finished.count(), finished.failed()) == (20, 1)
