"""The benchmark of FLUTE, in miniature: all contenders do the same work."""

import sys

import numpy as np
import pytest

from linrep.bench import flute as bench
from linrep.bench import timing
from tests.bench.support import spoil
from tests.tools import complaint

TINY = {
    "stored": bench.Size(d=6, k=2, m=4, n=7, rounds=3, repetitions=2),
    "second": bench.Size(d=4, k=3, m=9, n=5, rounds=4, repetitions=2),
}
MAPS = ((8, 1, 2, 3), (7, 2, 1, 3), (12, 5, 2, 3), (9, 6, 1, 2))


@pytest.fixture(autouse=True)
def _tiny(monkeypatch):
    monkeypatch.setattr(bench, "SIZES", TINY)
    monkeypatch.setattr(bench, "MAPS", MAPS[:1])
    monkeypatch.setattr(timing, "_SETTLE", 0.0)


def test_contenders_agree_and_are_all_timed():
    cases = list(bench.measure())
    assert len(cases) == len(TINY) + 1
    for records in cases:
        assert all(record.agree and record.seconds > 0.0 for record in records)
        assert [record.contender for record in records][:2] == ["linrep", "NumPy"]
        assert "% of" in records[0].note
    assert [bench._draw(size).moments for size in TINY.values()] == [False, True]


@pytest.mark.parametrize("name", TINY)
def test_the_contenders_move(name):
    case = bench._draw(TINY[name])
    B, W = bench._linrep(case)()
    assert np.abs(B - case.B).max() > 1e-6
    assert np.abs(W - case.W).max() > 1e-6


@pytest.mark.parametrize("name", TINY)
def test_jax_agrees(name):
    pytest.importorskip("jax")
    case = bench._draw(TINY[name])
    for one, other in zip(bench._linrep(case)(), bench._jax(case)(), strict=True):
        np.testing.assert_allclose(np.array(one), np.array(other), atol=1e-12)


@pytest.mark.parametrize("shape", MAPS)
def test_maps_agree(shape):
    assert all(record.agree for record in bench.compare_map(*shape, repetitions=1))


def test_disagreement_is_found(monkeypatch):
    monkeypatch.setitem(sys.modules, "jax", None)
    spoil(monkeypatch, bench, "_numpy", lambda first: first + 1e-6)
    assert not any(record.agree for record in bench.compare("stored"))


def test_unknown_sizes_are_refused():
    with complaint(ValueError, "stored", "'huge'"):
        bench.compare("huge")
