"""The distance of two subspaces: time and accuracy next to SciPy's."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy.linalg

from linrep.bench.timing import Record, make_records, take_turns
from linrep.problems import subspace


def measure(repetitions: int = 15) -> Iterator[list[Record]]:
    """Time linrep's distance of subspaces and SciPy's at d = 1000, k = 5, and measure their errors.

    Yields
    ------
    list of Record
        The note is the largest relative error at a distance of 1e-12 over 20 draws, half with equal
        angles and half with a single one, against an evaluation of the same matrices in extended
        precision, where the platform has one.
    """
    calls, d, k = 20, 1000, 5
    B1, B2 = subspace.random_frame(d, k, rng=0), subspace.random_frame(d, k, rng=1)
    functions = {"linrep": subspace.distance, "SciPy": _with_scipy}
    contenders = {
        name: lambda function=function: [function(B1, B2) for _ in range(calls)]
        for name, function in functions.items()
    }
    notes = {}
    if np.finfo(np.longdouble).eps < 1e-18:
        notes = {
            name: f"relative error {error:.1e} at distance 1e-12"
            for name, error in zip(functions, _errors(d, k, functions.values()), strict=True)
        }
    times = take_turns(contenders, repetitions)
    yield make_records("Distance of two subspaces", f"d = {d}, k = {k}", times, calls, notes=notes)


def _with_scipy(B1, B2):
    return np.sin(scipy.linalg.subspace_angles(B1, B2)[0])


def _errors(d, k, functions):
    """Return the largest relative error of each function over draws."""
    draws = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        B1 = subspace.random_frame(d, k, rng)
        angles = "equal" if seed % 2 else "single"
        B2 = subspace.frame_at_distance(B1, 1e-12, angles=angles, rng=rng)
        exact = extended_distance(B1, B2)
        draws.append([function(B1, B2) / exact - 1 for function in functions])
    return np.abs(draws).max(axis=0)


def extended_distance(B1: np.ndarray, B2: np.ndarray) -> float:
    """Return the principal-angle distance of two bases, computed in extended precision."""
    Q1, Q2 = _extended_frame(B1), _extended_frame(B2)
    for _ in range(2):
        Q2 = Q2 - Q1 @ (Q1.T @ Q2)
    gram = Q2.T @ Q2
    scale = np.trace(gram)
    if scale == 0:
        return 0.0
    # The largest eigenvalue loses nothing in double precision once the matrix is of order one.
    largest = np.linalg.eigvalsh((gram / scale).astype(np.float64))[-1]
    return float(np.sqrt(largest * scale))


def _extended_frame(B) -> np.ndarray:
    Q = B.astype(np.longdouble)
    for column in range(Q.shape[1]):
        for _ in range(2):
            before = Q[:, :column]
            Q[:, column] -= before @ (before.T @ Q[:, column])
        Q[:, column] /= np.sqrt(Q[:, column] @ Q[:, column])
    return Q
