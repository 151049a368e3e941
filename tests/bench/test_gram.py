"""The benchmark of simulated batches, in miniature."""

import pytest

from linrep.bench import gram as bench
from linrep.bench import timing


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr(timing, "_SETTLE", 0.0)


def test_all_contenders_are_compared():
    records = bench.compare(12, 8, n=20, repetitions=2)
    names = ["simulated", "sampled", "sampled, NumPy", "its draws"]
    assert [record.contender for record in records] == names
    assert all(record.seconds > 0.0 for record in records)


@pytest.mark.compiled
def test_any_size_is_timed():
    (record,) = bench.scaling(10, 10**9, 10**6, repetitions=2)
    assert record.seconds > 0.0


def test_every_number_of_threads_is_timed():
    records = bench.threads(n=50, counts=(1, 2), rounds=2, repetitions=2)
    assert [record.contender for record in records] == ["1 thread(s)", "2 thread(s)"]
    assert all(record.ratio > 0.0 for record in records)
