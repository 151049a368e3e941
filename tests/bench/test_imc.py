"""The benchmark of matrix completion, in miniature."""

import numpy as np
import pytest

from linrep.algorithms import imc
from linrep.bench import imc as bench
from tests.tools import first_of


@pytest.mark.parametrize("setting", first_of([(setting,) for setting in bench.SETTINGS]))
def test_every_solver_gets_to_the_goal(setting):
    records = bench.compare(*setting, repetitions=1)
    assert [record.contender for record in records] == list(bench.SOLVERS)
    assert all(record.agree and record.seconds > 0.0 for record in records)


def test_a_solver_that_does_not_get_there_is_told(monkeypatch):
    monkeypatch.setattr(bench, "GOAL", 1e-300)
    monkeypatch.setattr(bench, "SOLVERS", {"Gauss-Newton": bench.SOLVERS["Gauss-Newton"]})
    (record,) = bench.compare(*bench.SETTINGS[0], repetitions=1)
    assert record.agree is False
    assert "the goal is not reached" in record.note


@pytest.mark.parametrize("batched", [True, False])
def test_the_same_steps_by_lsqr(batched):
    seen = bench.draw(10.0, 4.0, 1)
    found = bench.gauss_newton_by_lsqr(seen, batched=batched)["error"]
    assert found[-1] < 1e-12
    # The spectral start is the same.
    np.testing.assert_allclose(found[0], imc.gauss_newton(seen, bench.K)["error"][0])


def test_rounds_are_timed_with_and_without_the_loop():
    records = bench.rounds(16, 20, 4, 2, 5, 4, repetitions=2, entries=400)
    assert [record.contender for record in records] == ["linrep", "NumPy loop"]
    assert all(record.seconds > 0.0 for record in records)


def test_the_loop_does_the_same_steps():
    """On one entry and one client there is nothing to draw: kernel and loop must agree."""
    from linrep import Observations, perfedsi

    seen = Observations([0], [0], [1.0], Z=np.array([[0.6, 0.8]]))
    start = np.array([[0.5]]), np.array([[0.3], [0.4]])
    setting = {"step_size": 0.1, "local_steps": 3, "participants": 1}
    U, V = bench._loop(seen, start, 4, **setting)
    state = perfedsi(seen, k=1, start=start, rounds=4, **setting).state
    np.testing.assert_allclose(U, state["U"], rtol=1e-12)
    np.testing.assert_allclose(V, state["V"], rtol=1e-12)
