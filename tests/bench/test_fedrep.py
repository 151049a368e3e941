"""What the benchmark measures is left out here; that all contenders do the same work is not."""

import sys

import numpy as np
import pytest

from linrep.bench import fedrep as bench
from linrep.bench import timing
from linrep.problems import subspace
from tests.bench.support import spoil
from tests.tools import complaint

TINY = {
    "some": bench.Size(d=6, k=2, m=4, n=7, participants=3, rounds=5, repetitions=2),
    "everyone": bench.Size(d=6, k=1, m=3, n=4, participants=4, rounds=4, repetitions=2),
    "trials": bench.Size(d=5, k=2, m=4, n=6, participants=2, rounds=4, trials=3, repetitions=2),
}


@pytest.fixture(autouse=True)
def _tiny(monkeypatch):
    for name, size in TINY.items():
        monkeypatch.setitem(bench.SIZES, name, size)
    monkeypatch.setattr(timing, "_SETTLE", 0.0)


@pytest.fixture
def without_jax(monkeypatch):
    monkeypatch.setitem(sys.modules, "jax", None)


@pytest.mark.parametrize("name", TINY)
def test_contenders_agree_and_are_all_timed(name):
    cases = list(bench.measure([name]))
    assert len(cases) == 2
    if TINY[name].trials == 1:
        constant, adaptive = cases.pop()
        assert "step that is found" in constant.table
        assert (constant.ratio, adaptive.agree) == (1.0, None)
        assert adaptive.seconds > 0.0
    for records in cases:
        assert all(record.agree for record in records)
        other = "two threads" if "2 threads" in records[0].case else "NumPy"
        assert {"linrep", other} <= {record.contender for record in records}
        assert all(record.seconds > 0.0 and record.ratio > 0.0 for record in records)
        assert records[0].note.endswith(("GB/s read", "GF/s"))
    assert len({records[0].case for records in cases}) == len(cases)


def test_the_contenders_move(without_jax):
    case = bench._draw(TINY["some"])
    B, W = bench._linrep(case)()
    assert subspace.distance(B[0], case.BT[0].T) > 1e-3
    # The heads of clients that never took part are still zero.
    np.testing.assert_array_equal(np.flatnonzero(W[0].any(axis=1)), np.unique(case.schedule))


@pytest.mark.parametrize("name", ["some", "everyone", "trials"])
def test_jax_agrees(name):
    pytest.importorskip("jax")
    case = bench._draw(TINY[name])
    results = [[np.array(part) for part in make(case)()] for make in (bench._linrep, bench._jax)]
    assert bench.largest_difference(results) <= bench.TOLERANCE


@pytest.mark.parametrize("change", [lambda B: B + 1e-9, lambda B: B * np.nan])
def test_disagreement_is_found(monkeypatch, without_jax, change):
    spoil(monkeypatch, bench, "_numpy", change)
    records, _ = bench.measure(["some"], repetitions=1)
    assert [record.agree for record in records] == [False, False]


def test_sizes_are_read_from_text_and_checked():
    assert bench.parse_sizes("S, L,S") == ("S", "L")
    for bad in (lambda: bench.parse_sizes("S,Q"), lambda: list(bench.measure(["Q"]))):
        with complaint(ValueError, "S1000", "'Q'"):
            bad()
