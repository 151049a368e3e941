"""The distance of two subspaces: time and accuracy next to SciPy's."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.linalg

from linrep import subspace
from linrep.bench.timing import take_turns


def run_benchmark(echo: Callable[[str], None]) -> None:
    """Run the benchmark and print it."""
    result = bench_distance()
    echo("Distance of two subspaces, d = 1000, k = 5")
    echo(
        f"  linrep {1e6 * result['linrep']:.1f} µs, "
        f"scipy.linalg.subspace_angles {1e6 * result['scipy']:.1f} µs, ratio "
        f"{result['ratio']:.1f}x"
    )
    echo(
        f"  largest relative error at distance 1e-12: linrep {result['error']:.1e}, "
        f"SciPy {result['scipy_error']:.1e}"
    )


def bench_distance(repetitions: int = 15) -> dict[str, float]:
    """Time `linrep.subspace.distance` and SciPy's at d = 1000, k = 5, and measure their accuracy.

    Returns
    -------
    dict
        ``linrep`` and ``scipy``: seconds per call; ``ratio``: median ratio SciPy/linrep;
        ``error`` and ``scipy_error``: largest relative error at a distance of 1e-12 over 20 draws,
        half with equal angles and half with a single one, against an evaluation of the same
        matrices in extended precision (NaN where the platform has none).
    """
    calls, d, k = 20, 1000, 5

    def with_scipy(B1, B2):
        return np.sin(scipy.linalg.subspace_angles(B1, B2)[0])

    B1, B2 = subspace.random_frame(d, k, rng=0), subspace.random_frame(d, k, rng=1)
    contenders = {
        name: lambda function=function: [function(B1, B2) for _ in range(calls)]
        for name, function in (("linrep", subspace.distance), ("scipy", with_scipy))
    }
    times = take_turns(contenders, repetitions)
    errors = {"error": np.nan, "scipy_error": np.nan}
    if np.finfo(np.longdouble).eps < 1e-18:
        draws = []
        for seed in range(20):
            rng = np.random.default_rng(seed)
            B1 = subspace.random_frame(d, k, rng)
            angles = "equal" if seed % 2 else "single"
            B2 = subspace.frame_at_distance(B1, 1e-12, angles=angles, rng=rng)
            exact = extended_distance(B1, B2)
            draws.append([subspace.distance(B1, B2) / exact - 1, with_scipy(B1, B2) / exact - 1])
        errors = dict(zip(errors, np.abs(draws).max(axis=0).tolist(), strict=True))
    return {
        "linrep": float(np.median(times["linrep"])) / calls,
        "scipy": float(np.median(times["scipy"])) / calls,
        "ratio": float(np.median(times["scipy"] / times["linrep"])),
        **errors,
    }


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
