"""The benchmark of pFL^MF, in miniature: all contenders do the same work."""

import sys

import numpy as np
import pytest

from linrep.bench import pflmf as bench
from linrep.bench import timing
from tests.bench.support import spoil
from tests.tools import complaint

TINY = {
    "participants": bench.Size(7, 3, 2, False, 4, repetitions=2),
    "full": bench.Size(7, 40, 2, True, 4, repetitions=2),
    "logistic": bench.Size(6, 3, 2, True, 3, m=4, local_steps=2, repetitions=2),
}


@pytest.fixture(autouse=True)
def _tiny(monkeypatch):
    monkeypatch.setattr(bench, "SIZES", TINY)
    monkeypatch.setattr(timing, "_SETTLE", 0.0)


def test_contenders_agree_and_are_all_timed():
    cases = list(bench.measure())
    assert len(cases) == len(TINY)
    for records in cases:
        assert all(record.agree and record.seconds > 0.0 for record in records)
        assert [record.contender for record in records][:2] == ["linrep", "NumPy"]


@pytest.mark.parametrize("name", TINY)
def test_the_contenders_move(name):
    case = bench._draw(TINY[name])
    U, V = bench._linrep(case)()
    assert np.abs(U - case.U).max() > 1e-6
    assert np.abs(V - case.V).max() > 1e-6


@pytest.mark.parametrize("name", TINY)
def test_jax_agrees(name):
    pytest.importorskip("jax")
    case = bench._draw(TINY[name])
    for one, other in zip(bench._linrep(case)(), bench._jax(case)(), strict=True):
        np.testing.assert_allclose(np.array(one), np.array(other), atol=1e-12)


def test_disagreement_is_found(monkeypatch):
    monkeypatch.setitem(sys.modules, "jax", None)
    spoil(monkeypatch, bench, "_numpy_full", lambda first: first + 1e-6)
    assert not any(record.agree for record in bench.compare("full"))


def test_unknown_sizes_are_refused():
    with complaint(ValueError, "participants", "'huge'"):
        bench.compare("huge")
