"""The benchmark of estimators, in miniature."""

import pytest

import linrep as lr
from linrep.bench import estimators as bench
from linrep.bench import timing


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr(timing, "_SETTLE", 0.0)


def test_rounds_and_factorizations_agree_with_their_contenders():
    data = lr.SharedRepresentation.random(n=12, d=8, k=2, noise=0.1, rng=0).draw(6, rng=1)
    for records in (
        bench.rounds(data, k=2, count=3, repetitions=2),
        bench.factorization(data, k=2, iterations=5, repetitions=2),
        bench.long_samples(n=12, d=8, k=2, m=30, count=3, repetitions=2),
    ):
        assert len(records) >= 2
        assert all(record.agree for record in records)


def test_a_comparison_is_timed():
    (record,) = bench.comparison(n=12, d=8, k=2, sizes=(6, 8), trials=2)
    assert record.seconds > 0.0
    assert "2 sizes, 2 trials" in record.case
