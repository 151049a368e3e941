"""Representations by their coordinates against the truth, for simulation without samples."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from linrep.problems.regression import SharedRepresentation
from linrep.subspace import random_frame


def coordinates(
    B: NDArray[np.float64], truth: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return C = B' B* (k, k) and Phi = F' B* (p, k) of two frames, with p = min(k, d - k).

    F is an orthonormal basis of what the truth adds to span(B): B* = B C + F Phi.
    """
    d, k = B.shape
    C = B.T @ truth
    outside = truth - B @ C
    outside -= B @ (B.T @ outside)
    p = min(k, d - k)
    Phi = np.linalg.qr(outside, mode="r")
    if p < k:  # the rank is p, but the first p rows need not hold all
        _, lengths, directions = np.linalg.svd(Phi)
        Phi = lengths[:p, None] * directions[:p]
    return C, Phi


def lift(
    truth: SharedRepresentation, C: NDArray[np.float64], Phi: NDArray[np.float64], rng
) -> NDArray[np.float64]:
    """Return a frame B (d, k) with these coordinates, uniform among those there are."""
    d, k = truth.B.shape
    p = len(Phi)
    both = np.vstack([C, Phi])
    complete = np.linalg.qr(both, mode="complete")[0][:, k:]
    # N is uniform among the frames orthogonal to B*.
    if p == 0:
        return truth.B @ C.T
    N = random_frame(d, p, rng)
    for _ in range(2):
        N = np.linalg.qr(N - truth.B @ (truth.B.T @ N))[0]
    return truth.B @ C.T + N @ complete[:k].T
