"""Helpers of the claims on who needs how many samples."""

import numpy as np
import pytest

from linrep.papers.fedrep import collaboration
from linrep.papers.fedrep.collaboration import Curve


def test_smallest_sufficient_m_is_d_alone_and_k_with_the_representation():
    rng = np.random.default_rng(0)
    for size in (6, 10):
        (alone, clients), (new, _) = (
            collaboration._alone(16, size, rng),
            collaboration._new(size, 24, rng),
        )
        assert clients == 5 * 16
        assert size - 1 <= alone.x <= size
        assert size - 1 <= new.x <= size


def test_counts_of_a_curve_are_those_at_the_ratios_chosen():
    curve = Curve(excess=[1, 2, 4], won=[0, 1, 5], trials=5, unit=2.0)
    np.testing.assert_array_equal(curve.count(lambda ratio: ratio < 1.0), [0, 5])
    np.testing.assert_array_equal(curve.count(lambda ratio: ratio >= 1.0), [6, 10])


@pytest.mark.parametrize("power", [-1.0, 0.0, 2.0])
def test_fitted_exponent_of_a_power_law(power):
    x = np.array([1, 4, 16])
    assert collaboration._fitted(x, 3.0 * x**power) == pytest.approx(power)
