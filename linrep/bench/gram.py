"""Timings of simulated batches next to sampled ones, and how they depend on d, m and n."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from linrep.algorithms import fedrep
from linrep.bench.timing import take_turns
from linrep.kernels import designs, gram, rounds
from linrep.kernels._jit import kernel
from linrep.kernels.fedrep import run_fresh, workspace
from linrep.kernels.gram_clients import BLOCK, client_workspace, draw_bartlett
from linrep.problems import ImplicitRepresentation

K, CLIENTS, MANY = 5, 200, 10**6
#: (d, m) at which sampling is affordable.
SIZES = ((100, 30), (1000, 100))
#: (n, d, m): the cost must depend on n alone.
SCALING = (
    (CLIENTS, 100, 30),
    (CLIENTS, 10**3, 100),
    (CLIENTS, 10**6, 10**4),
    (CLIENTS, 10**9, 10**6),
    (10**4, 10**6, 100),
    (10**4, 10**9, 10**6),
    (10**5, 10**9, 100),
    (10**6, 10**9, 100),
)
_STEP_SIZE, _WORK = 0.2, 4_000  # clients times rounds in a timed call


def run_benchmark(echo: Callable[[str], None]) -> None:
    """Run the benchmark and print it."""
    echo(f"FedRep on fresh Gaussian batches, n = {CLIENTS}, k = {K}: time per round, medians")
    echo(f"{'d':>6} {'m':>5} {'simulated/µs':>13} {'sampled/µs':>11} {'NumPy/µs':>10} "
         f"{'sampled:simulated':>18} {'NumPy:simulated':>16} {'to its own draws':>17}")  # fmt: skip
    for row in bench_gram().itertuples():
        echo(f"{row.d:6} {row.m:5} {1e6 * row.simulated:13.1f} {1e6 * row.sampled:11.0f} "
             f"{1e6 * row.numpy:10.0f} {row.sampled_ratio:17.0f}x {row.numpy_ratio:15.0f}x "
             f"{row.draws_ratio:16.2f}x")  # fmt: skip
    echo("")
    echo("Simulated batches, k = 5: time per round and per client")
    for row in bench_scaling().itertuples():
        echo(f"n = {row.n:<8} d = {row.d:<11} m = {row.m:<8} {1e6 * row.simulated:10.1f} µs "
             f"{1e9 * row.simulated / row.n:7.1f} ns a client")  # fmt: skip
    echo("")
    times = bench_threads()
    for threads, values in times.items():
        ratio = np.median(times[1] / values)
        echo(f"n = {MANY}, {threads} threads: {1e3 * np.median(values):.1f} ms a round, "
             f"{ratio:.2f} times as fast as one")  # fmt: skip


def bench_gram(
    sizes: Sequence[tuple[int, int]] = SIZES, n: int = CLIENTS, repetitions: int = 9
) -> pd.DataFrame:
    """Time one round of FedRep with exact heads, interleaved.

    Parameters
    ----------
    sizes : sequence of (d, m)
        Dimension and samples per client.
    n : int
        Clients.
    repetitions : int
        Timed calls of each contender.

    Returns
    -------
    DataFrame
        Seconds per round, medians: ``simulated`` (batches="gram"), ``sampled`` (the compiled kernel
        that draws them), ``numpy`` (batched NumPy that draws them), ``draws`` (the random numbers
        of the simulation alone); and medians of ratios to ``simulated``, of ``simulated`` to
        ``draws`` for the last. No metrics are asked of NumPy, all of the other two.
    """
    lines = []
    for d, m in sizes:
        many = max(1, _WORK // n)
        contenders = {
            "simulated": _simulated(n, d, m, many),
            "sampled": _sampled(n, d, m),
            "numpy": _numpy(n, d, m),
            "draws": _draws(n, d, m, many),
        }
        times = take_turns(contenders, repetitions)
        times["simulated"] /= many
        times["draws"] /= many
        line: dict[str, Any] = {"d": d, "m": m}
        line |= {name: float(np.median(values)) for name, values in times.items()}
        for name in ("sampled", "numpy"):
            line[f"{name}_ratio"] = float(np.median(times[name] / times["simulated"]))
        line["draws_ratio"] = float(np.median(times["simulated"] / times["draws"]))
        lines.append(line)
    return pd.DataFrame(lines)


def bench_scaling(
    sizes: Sequence[tuple[int, int, int]] = SCALING, repetitions: int = 7
) -> pd.DataFrame:
    """Time simulated rounds over (n, d, m); ``simulated`` is in seconds per round, a median."""
    lines = []
    for n, d, m in sizes:
        many = max(1, 4 * _WORK // n)
        times = take_turns({"simulated": _simulated(n, d, m, many)}, repetitions)["simulated"]
        lines.append({"n": n, "d": d, "m": m, "simulated": float(np.median(times)) / many})
    return pd.DataFrame(lines)


def bench_threads(
    n: int = MANY, threads: Sequence[int] = (1, 2), rounds: int = 10, repetitions: int = 5
) -> dict[int, Any]:
    """Time whole runs of `fedrep` with one and more threads; return seconds per round of each."""
    truth = ImplicitRepresentation(_truth(n), 10**6)

    def run(workers):
        return lambda: fedrep(
            truth, m=100, rounds=rounds, batches="gram", start=0.6, step_size=_STEP_SIZE,
            workers=workers, rng=0,
        )  # fmt: skip

    times = take_turns({str(count): run(count) for count in threads}, repetitions)
    return {int(count): values / rounds for count, values in times.items()}


def _truth(n):
    heads = np.random.default_rng(0).standard_normal((n, K))
    return heads * np.sqrt(K) / np.linalg.norm(heads, axis=1, keepdims=True)


def _simulated(n, d, m, many):
    heads = _truth(n)
    truthT, moment = np.ascontiguousarray(heads.T), heads.T @ heads / n
    schedule = np.broadcast_to(np.arange(n), (many, n)).copy()
    work = gram.heads_workspace(K, n), client_workspace(K, d), gram.server_workspace(K, d)
    rng = np.random.default_rng(1)
    metrics, WT = np.empty((many + 1, 4)), np.zeros((K, n))

    def call():
        C, Phi = 0.8 * np.eye(K), 0.6 * np.eye(K)
        gram.run_gram(
            rng, m, float(d - 2 * K), 0.0, False, truthT, moment, schedule, C, Phi, WT,
            _STEP_SIZE, True, rounds.EXACT, 0.0, -1.0, metrics, *work,
        )  # fmt: skip

    return call


def _sampled(n, d, m):
    heads = _truth(n)
    truthT = np.eye(K, d)
    schedule = np.arange(n)[None]
    work, rng = workspace(K, d, m, n), np.random.default_rng(1)
    X, y, theta = np.empty((m, d)), np.empty(m), np.empty(d)
    metrics, W = np.empty((2, 4)), np.zeros((n, K))

    def call():
        BT = 0.8 * np.eye(K, d) + 0.6 * np.eye(K, d, K)
        run_fresh(
            rng, designs.GAUSSIAN, 5.0, 0.0, False, X, y, theta, schedule, BT, W, _STEP_SIZE, True,
            rounds.EXACT, 0.0, True, truthT, heads, heads.T @ heads / n, -1.0, metrics, work,
        )  # fmt: skip

    return call


def _numpy(n, d, m):
    theta = _truth(n) @ np.eye(K, d)
    rng = np.random.default_rng(1)
    X = np.empty((n, m, d))

    def call():
        B = 0.8 * np.eye(d, K) + 0.6 * np.eye(d, K, -K)
        rng.standard_normal(out=X)
        y = (X @ theta[..., None])[..., 0]
        Z = X @ B
        ZT = Z.swapaxes(-1, -2)
        w = np.linalg.solve(ZT @ Z, ZT @ y[..., None])
        residual = Z @ w - y[..., None]
        gradients = (residual.swapaxes(-1, -2) @ X)[:, 0]
        np.linalg.qr(B - _STEP_SIZE / (n * m) * (gradients.T @ w[..., 0]))

    return call


def _draws(n, d, m, many):
    rng = np.random.default_rng(1)
    g, squares = np.empty((2 * K, BLOCK)), np.empty((2, BLOCK))
    R = np.empty((min(K, d - 2 * K), K))
    return lambda: _draw(rng, many, n, float(d - 2 * K), m, g, squares, R)


@kernel(counted=True)
def _draw(rng, rounds, clients, others, m, g, squares, R):
    """Draw the numbers of simulated rounds, in their order and to where they go."""
    k = R.shape[1]
    for _ in range(rounds):
        for start in range(0, clients, BLOCK):
            count = min(BLOCK, clients - start)
            for i in range(count):
                for a in range(k):
                    g[a, i] = rng.standard_normal()
                squares[0, i] = rng.chisquare(m - k + 1.0)
            for i in range(count):
                squares[1, i] = rng.chisquare(float(m - k))
                for a in range(k, g.shape[0]):
                    g[a, i] = rng.standard_normal()
        draw_bartlett(rng, others, R)
