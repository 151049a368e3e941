"""The limits of a core, and the share of them that a time is."""

import numpy as np
import pytest

from linrep.bench import limits


def test_what_is_timed_is_computed():
    rng = np.random.default_rng(0)
    X, Y, x = rng.standard_normal((3, 8)), rng.standard_normal((4, 8)), rng.standard_normal(41)
    weights = np.arange(1.0, 13.0).reshape(3, 4)
    expected = 5 * np.sum(weights * (X @ Y.T))
    assert limits.multiply_add(X, Y, 5) == pytest.approx(expected, rel=1e-12)
    assert limits.read(x, 3) == pytest.approx(3 * x[:40].sum(), rel=1e-12)


def test_the_nearer_limit_is_told():
    found = limits.Limits(np.ones(1000))
    times = {"multiply-add": np.array([1.0]), "read": np.array([1.0])}
    peak = found.note(times, np.array([1.0]), flops=1e6, read=1.0)
    assert peak.endswith(" GF/s")
    share, _, rate, _ = found.note(times, np.array([0.5]), flops=0.0, read=25e6).split(maxsplit=3)
    assert (share, rate) == ("50%", "0.1")
