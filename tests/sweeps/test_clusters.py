"""Dask clusters whose workers do not answer: that is said, and others compute what they have."""

import asyncio
import os
import signal
import threading
import time
from concurrent.futures import Future
from contextlib import suppress
from types import SimpleNamespace

import pytest

from linrep.sweeps import Stopped, crews, open_run, run
from tests.sweeps import functions
from tests.sweeps.support import same_rows, toy

distributed = pytest.importorskip("distributed", reason="Dask is not installed")

PATIENCE = 90.0
CELLS = [{"steps": steps, "scale": 1.0} for steps in (5, 10)]


def slow(replicates=400):
    return toy(functions.slow_walk, CELLS, replicates)


@pytest.fixture
def cluster(monkeypatch):
    """A cluster of two processes, which are silent after five seconds."""
    monkeypatch.setattr(crews, "PATIENCE", 5.0)
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0"
        ) as started,
        distributed.Client(started) as client,
    ):
        yield client


@pytest.fixture
def frozen():
    """Return a function that stops a process; all go on in the end."""
    stopped = []

    def freeze(process):
        stopped.append(process)
        os.kill(process, signal.SIGSTOP)

    yield freeze
    for process in stopped:
        with suppress(ProcessLookupError):  # Dask ends who has not answered for minutes
            os.kill(process, signal.SIGCONT)


def once_there_are_parts(directory, do):
    """Do something in a thread when a sweep has stored its first rows."""

    def wait():
        until = time.monotonic() + PATIENCE
        while not list(directory.glob("parts/*.parquet")) and time.monotonic() < until:
            time.sleep(0.01)
        do()

    thread = threading.Thread(target=wait)
    thread.start()
    return thread


@pytest.mark.slow
def test_what_a_frozen_worker_has_is_computed_by_others(tmp_path, cluster, frozen, capfd):
    (address, process), _ = cluster.run(os.getpid).items()
    thread = once_there_are_parts(tmp_path / "run", lambda: frozen(process))
    options = {"executor": cluster.get_executor(), "chunk_seconds": 0.05}
    stored = run(slow(), tmp_path / "run", **options)
    thread.join()
    assert stored.count() == stored.total
    said = f"{stored.path}: no answer from {address} for 5 s: others compute what it has\n"
    assert said in capfd.readouterr().err
    same_rows(stored, run(slow(), tmp_path / "here"))


@pytest.mark.slow
def test_one_interrupt_does_not_wait_for_a_frozen_worker(tmp_path, cluster, frozen):
    """Nor does it wait for what others could compute instead: what they have is stored."""
    (_, process), _ = cluster.run(os.getpid).items()

    def freeze_and_interrupt():
        frozen(process)
        time.sleep(0.5)
        os.kill(os.getpid(), signal.SIGINT)

    thread = once_there_are_parts(tmp_path / "run", freeze_and_interrupt)
    with pytest.raises(Stopped, match="stopped at") as stopped:
        run(slow(4000), tmp_path / "run", executor=cluster.get_executor(), chunk_seconds=0.05)
    thread.join()
    assert not stopped.value.at_once
    assert 0 < open_run(tmp_path / "run").count() < 8000


class Scheduler:
    """Dask's, of two workers, of which B is heard of no more."""

    address = "tcp://nowhere"

    async def identity(self):
        workers = {"A": {"last_seen": time.monotonic()}, "B": {"last_seen": 0.0}}
        return {"workers": {each: {"nthreads": 1, **seen} for each, seen in workers.items()}}

    async def processing(self, workers):
        return {each: [] for each in workers}

    async def has_what(self, workers):
        return {each: list(self.held) if each == "A" else [] for each in workers}


def test_a_result_that_does_not_arrive_is_lost_where_a_worker_is_silent(monkeypatch):
    """Dask fetches several at a time, and all of them wait for a silent worker's."""
    monkeypatch.setattr(crews, "PATIENCE", 0.3)
    monkeypatch.setattr(crews, "_ASK_EVERY", 0.05)
    monkeypatch.setattr("distributed.scheduler.heartbeat_interval", lambda count: 0.01)
    scheduler = Scheduler()
    scheduler.held = []
    client = SimpleNamespace(
        scheduler=scheduler, status="running", sync=lambda find: asyncio.run(find())
    )
    made = SimpleNamespace(_client=client, submit=lambda *_, key, **__: Future())
    crew = crews._Cluster(made, None)
    try:
        job = crew._send(print)
        held = crew._keys[job]
        until = time.monotonic() + PATIENCE
        while crew.look().workers != 1:  # B is silent
            assert time.monotonic() < until
            time.sleep(0.02)
        assert crew.look().silent == set()  # A computes it
        scheduler.held = [held]
        while crew.look().silent != {job}:
            assert time.monotonic() < until
            time.sleep(0.02)
    finally:
        crew.end()
