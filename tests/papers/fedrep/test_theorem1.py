"""Helpers of the checks on Theorem 1, and on its rate."""

import numpy as np
import pytest

from linrep.papers.fedrep import model, noise_floor, theorem1


def test_smallest_m_is_where_runs_begin_to_succeed(monkeypatch):
    monkeypatch.setattr(
        model, "run", lambda rng, m, **cell: (np.array([m < 137.0]), np.array([0.5]))
    )
    point, runs = theorem1.smallest_m(None, 5, k=2)
    assert point.low <= 137 <= point.high <= 1.15 * 137
    assert runs > 5


@pytest.mark.parametrize("design", ["gaussian", "rademacher"])
def test_run_promises_what_the_theorem_prints(design):
    rng = np.random.default_rng(0)
    distances, promised = model.run(
        rng, 40, d=8, n=6, k=2, condition=1.0, start=0.5, design=design, rounds=5
    )
    assert distances.shape == promised.shape == (6,)
    np.testing.assert_allclose(promised, 0.5 * (1.0 - 0.25 * 0.75 / 2.0) ** (np.arange(6) / 2.0))
    np.testing.assert_allclose(distances[0], 0.5)


def test_numbers_of_a_problem_are_extremes_over_sets_of_participants():
    problem = model.draw_problem(np.random.default_rng(0), d=8, n=6, k=2, participation=0.5)
    assert problem.participants == 3
    W = problem.truth.W
    values = np.array(
        [
            np.linalg.svd(W[[a, b, c]] / np.sqrt(3), compute_uv=False)
            for a in range(6)
            for b in range(a)
            for c in range(b)
        ]
    )
    largest, smallest = values.max(), values.min()
    assert problem.step_size == pytest.approx(0.25 / largest**2)
    assert problem.condition == pytest.approx(largest / smallest)
    assert problem.factor**2 == pytest.approx(1 - problem.step_size * 0.75 * smallest**2 / 2)


def test_instances_satisfy_assumption_2():
    rng = np.random.default_rng(0)
    for design in ("gaussian", "sphere"):
        for cell in theorem1.instances(design, 60, rng):
            assert np.isfinite(model.draw_problem(rng, **cell).condition)


def testtypical_norm_is_near_the_sum_of_roots():
    found = noise_floor.typical_norm(2000, 2, np.random.default_rng(0))
    np.testing.assert_allclose(found, np.sqrt(2000) + np.sqrt(2), rtol=0.02)
