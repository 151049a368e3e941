"""The benchmark of ratings, in miniature."""

import pytest

pytest.importorskip("sklearn")

from linrep.bench import ratings as bench
from linrep.bench import timing


def test_a_sweep_is_that_of_numpy(monkeypatch):
    monkeypatch.setattr(timing, "_SETTLE", 0.0)
    records = bench.sweep(n=30, d=20, entries=300, rank=3, repetitions=2)
    assert [record.contender for record in records][:2] == ["linrep", "NumPy, row by row"]
    assert all(record.agree and record.seconds > 0.0 for record in records)
