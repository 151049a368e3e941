"""What the tests of the theory share."""

import numpy as np
from scipy import stats

from tests.tools import EPS, FALSE_ALARM, close


def check_mean(samples, expected):
    """Compare means over the first axis with their expectations, at a false alarm in a million."""
    samples = np.asarray(samples).reshape(len(samples), -1)
    expected = np.ravel(expected)
    z = stats.norm.isf(0.5 * FALSE_ALARM / expected.size)
    scale = np.abs(samples).max(axis=0)
    error = z * samples.std(axis=0, ddof=1) / np.sqrt(len(samples))
    close(samples.mean(axis=0), expected, error + 100 * EPS * scale)


def fit(Z, y):
    """Return the least-squares solutions of least norm of many problems, Z (N, m, k), y (N, m)."""
    return (np.linalg.pinv(Z) @ y[..., None])[..., 0]
