"""Products that take more registers than every processor has, by their own function."""

import numpy as np
import pytest

from linrep.kernels import wide


@pytest.mark.parametrize(("m", "k"), [(4, 5), (5, 5), (13, 10), (7, 4), (11, 6), (10, 8)])
def test_fives_of_samples_are_projected_if_directions_are_fives(m, k):
    rng = np.random.default_rng(0)
    X, BT, Z = rng.standard_normal((m, 97)), rng.standard_normal((k, 97)), np.full((k, m), np.nan)
    done = wide.project_by_fives(X, BT, Z)
    assert done == (0 if k % 5 else m - m % 5)
    np.testing.assert_allclose(Z[:, :done], BT @ X[:done].T, rtol=1e-12, atol=1e-12)
    assert np.isnan(Z[:, done:]).all()


@pytest.mark.parametrize(("features", "expected"), [("", False), ("+avx2,+avx512vl", True)])
def test_registers_are_those_of_the_processor_that_is_compiled_for(monkeypatch, features, expected):
    monkeypatch.setattr(wide.numba.config, "CPU_FEATURES", features)
    assert wide._has_32_registers() is expected
