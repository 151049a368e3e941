"""Helpers of the checks on Theorem 1."""

import numpy as np
import pytest

from linrep.claims.fedrep import theorem1


def test_smallest_m_is_where_runs_begin_to_succeed(monkeypatch):
    monkeypatch.setattr(
        theorem1, "_run", lambda rng, m, **cell: (np.array([m < 137.0]), np.array([0.5]))
    )
    point, runs = theorem1._smallest_m(None, 5, k=2)
    assert point.low <= 137 <= point.high <= 1.15 * 137
    assert runs > 5


@pytest.mark.parametrize("design", ["gaussian", "rademacher"])
def test_run_promises_what_the_theorem_prints(design):
    rng = np.random.default_rng(0)
    distances, promised = theorem1._run(
        rng, 40, d=8, n=6, k=2, condition=1.0, start=0.5, design=design, rounds=5
    )
    assert distances.shape == promised.shape == (6,)
    np.testing.assert_allclose(promised, 0.5 * (1.0 - 0.25 * 0.75 / 2.0) ** (np.arange(6) / 2.0))
    np.testing.assert_allclose(distances[0], 0.5)


def test_typical_norm_is_near_the_sum_of_roots():
    found = theorem1._typical_norm(2000, 2, np.random.default_rng(0))
    np.testing.assert_allclose(found, np.sqrt(2000) + np.sqrt(2), rtol=0.02)
