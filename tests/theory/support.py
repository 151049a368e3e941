"""What the tests of the theory share."""

import numpy as np
from scipy import stats

import linrep as lr
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
    """Return least squares of least norm of many problems of full rank, Z (N, m, k), y (N, m)."""
    ZT, y = Z.swapaxes(1, 2), y[..., None]
    if Z.shape[1] < Z.shape[2]:
        return (ZT @ np.linalg.solve(Z @ ZT, y))[..., 0]
    return np.linalg.solve(ZT @ Z, ZT @ y)[..., 0]


def problem(rng, *, n=5, d=6, k=2, noise=0.3, equal=False):
    """Return a problem with normal heads, or with heads of equal singular values."""
    W = np.random.default_rng(rng).standard_normal((n, k))
    if equal:
        W = np.sqrt(n) * np.linalg.qr(W)[0]
    return lr.SharedRepresentation(lr.subspace.random_frame(d, k, rng), W, noise)


#: Heads that do not span R^k, and covariates that are not Gaussian.
FLAT = lr.SharedRepresentation(np.eye(3)[:, :2], np.ones((4, 2)), 0.1)
SIGNS = lr.SharedRepresentation(np.eye(3)[:, :1], np.ones((4, 1)), 0.1, "rademacher")
