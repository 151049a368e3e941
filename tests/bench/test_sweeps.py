"""The benchmark of sweeps, in miniature."""

import sys

import numpy as np
import pytest

from linrep.bench import throughput
from linrep.bench.sweeps import bench_sweeps, measure


@pytest.fixture
def only_linrep(monkeypatch):
    """Leave out what is not always installed, and what starts processes."""
    monkeypatch.setitem(sys.modules, "joblib", None)
    monkeypatch.setitem(sys.modules, "xyzpy", None)
    monkeypatch.setattr(throughput, "_WORKERS", (1,))
    monkeypatch.setattr(throughput, "_pool", throughput._linrep)


def test_bench_sweeps_measures_a_small_sweep():
    result = bench_sweeps(200)
    assert result["replicates"] == 200
    assert result["parts"] >= 1
    assert result["bytes"] > 200 * 8
    assert all(np.isfinite(result[name]) for name in ("overhead", "read"))


def test_overhead_and_reading_are_told(only_linrep):
    (overhead,), (read,), others = measure(200, 1)
    assert "memory grew" in overhead.note
    assert "parts" in read.note
    assert read.seconds > 0.0
    assert {record.case for record in others} == {"200 replicates"}


def test_what_is_not_installed_is_told(only_linrep):
    plain, *others = throughput.measure(300, 2)
    assert [record.contender for record in others] == ["linrep, 1 worker", "Pool, 1 worker"]
    assert "joblib is not installed; xyzpy is not installed" in plain.note
    assert all(record.agree for record in (plain, *others))
    assert all("replicates a second" in record.note for record in (plain, *others))


def test_other_numbers_are_noticed(only_linrep, monkeypatch):
    honest = throughput._pool

    def dishonest(*arguments, **options):
        read = honest(*arguments, **options)
        return lambda: np.asarray(read())[::-1]

    monkeypatch.setattr(throughput, "_pool", dishonest)
    records = throughput.measure(200, 1)
    assert not any(record.agree for record in records)
    assert all("mean nothing" in record.note for record in records)


@pytest.mark.parametrize("library", ["joblib", "xyzpy"])
def test_libraries_that_are_there_compute_and_store_the_same(library, tmp_path):
    pytest.importorskip(library)
    store = getattr(throughput, f"_{library}")
    assert list(store(tmp_path, 2, workers=1)()) == throughput._plain_loop(tmp_path, 2)()


@pytest.mark.slow
def test_processes_compute_and_store_the_same(monkeypatch):
    monkeypatch.setattr(throughput, "_WORKERS", (2,))
    records = throughput.measure(200, 1)
    assert all(record.agree for record in records)
    assert {"linrep, 2 workers", "Pool, 2 workers"} <= {record.contender for record in records}
