"""Timings of FLUTE next to the same work in batched NumPy and in JAX, and of the lifted map.

The contenders take turns on the same data from the same start, and must end at the same numbers.
NumPy and JAX use as many threads as they like, linrep one. What a machine can do at best is
measured in between: the rate of NumPy's product of large square matrices on one thread, and the
speed at which one thread reads what linrep reads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd

from linrep.algorithms._flute_rounds import source
from linrep.algorithms.flute import gaussian_start
from linrep.bench.timing import (
    BYTES_PER_READ,
    TOLERANCE,
    describe_machine,
    has_jax,
    largest_difference,
    one_thread,
    per_unit,
    sum_up,
    take_turns,
)
from linrep.kernels import flute as kernel
from linrep.problems import LowRankRegression

_SQUARE = 768  # side of the matrices whose product is timed


@dataclass(frozen=True)
class Size:
    """A problem: n clients with m samples each in d dimensions, rank k, and how long it is run.

    With more samples than dimensions a round goes through the second moments, else the samples.
    """

    d: int
    k: int
    m: int
    n: int
    rounds: int
    repetitions: int = 9


SIZES = {
    "figure1": Size(d=10, k=4, m=12, n=15, rounds=100),
    "figure3": Size(d=10, k=8, m=20, n=30, rounds=50),
    "figure4": Size(d=10, k=6, m=8, n=10, rounds=100),
    "samples": Size(d=500, k=10, m=100, n=200, rounds=3, repetitions=5),
    "moments": Size(d=500, k=10, m=600, n=200, rounds=2, repetitions=5),
}
#: Rows of Theta, rank, trials at once and steps.
MAPS = ((20, 4, 50, 400), (60, 8, 10, 200), (1000, 10, 1, 200), (1000, 50, 1, 20))


def run_benchmark(echo: Callable[[str], None]) -> bool:
    """Run the benchmark and print it; return whether all contenders got to the same numbers."""
    for line in describe_machine():
        echo(line)
    echo("")
    echo("FLUTE: time per round, median; ratios are medians of paired ratios")
    echo(f"{'size':8} {'n':>4} {'m':>4} {'d':>4} {'k':>3} {'linrep/µs':>10} {'NumPy/µs':>10} "
         f"{'JAX/µs':>9} {'NumPy:linrep':>13} {'JAX:linrep':>11}   of what the machine can do"
    )  # fmt: skip
    agree = True
    for name in SIZES:
        row = compare(name)
        agree = agree and row["agree"]
        echo(f"{name:8} {row['n']:4} {row['m']:4} {row['d']:4} {row['k']:3} "
             f"{1e6 * row['linrep']:10.1f} {1e6 * row['numpy']:10.1f} {1e6 * row['jax']:9.1f} "
             f"{row['numpy_ratio']:12.1f}x {row['jax_ratio']:10.1f}x   {_share(row)}"
        )  # fmt: skip
        if not row["agree"]:
            echo(f"{name}: the results differ by {row['difference']:.1e}; the times mean nothing")
    echo("")
    echo("Lifted map: time per step and entry of Theta, per flop; against a loop in NumPy")
    for rows, k, trials, steps in MAPS:
        row = compare_map(rows, k, trials, steps)
        agree = agree and row["agree"]
        echo(f"{rows:5} rows, k = {k:<3} {trials:3} trials: {1e9 * row['linrep']:7.2f} ns, "
             f"{row['flops']:.0f} flops, {1e-9 * row['rate']:5.1f} GF/s; "
             f"NumPy {row['numpy_ratio']:.1f}x as long; {_share(row)}"
        )  # fmt: skip
    return agree


def bench_flute(sizes: Sequence[str] = tuple(SIZES), repetitions: int | None = None):
    """Time rounds of FLUTE on stored data.

    Parameters
    ----------
    sizes : sequence of str
        Keys of `SIZES`.
    repetitions : int, optional
        Timed calls of each contender; by default as many as the size asks for.

    Returns
    -------
    DataFrame
        One row per size: ``linrep``, ``numpy`` and ``jax`` are seconds per round, medians (NaN
        without JAX); ``numpy_ratio`` and ``jax_ratio`` medians of the ratio to linrep;
        ``gemm_rate`` (flops per second) and ``read_bandwidth`` (bytes per second) what the machine
        does; ``share`` the time that the slower of the two would take at least, over linrep's, and
        ``binds`` which that is; ``difference`` between the results, ``agree`` whether it is
        rounding.

    Raises
    ------
    ValueError
        If a size is unknown.
    """
    return pd.DataFrame([compare(name, repetitions) for name in sizes])


def compare(name: str, repetitions: int | None = None) -> dict[str, Any]:
    """Return the row of one size; see bench_flute."""
    if name not in SIZES:
        raise ValueError(f"size must be one of {', '.join(SIZES)}, got {name!r}")
    size = SIZES[name]
    case = _draw(size)
    contenders: dict[str, Callable[[], Any]] = {"linrep": _linrep(case), "numpy": _numpy(case)}
    if has_jax():
        contenders["jax"] = _jax(case)
    flops = size.n * size.d * (6 * size.k + (2 * size.d if case.moments else 4 * size.m))
    numbers = case.S if case.moments else case.X
    row = _times(contenders, numbers, size.rounds, repetitions or size.repetitions)
    return {
        "size": name,
        **{key: getattr(size, key) for key in ("n", "m", "d", "k", "rounds")},
        **row,
        **_limits(row, flops, numbers.nbytes),
    }


def compare_map(rows: int, k: int, trials: int, steps: int, repetitions: int = 7) -> dict[str, Any]:
    """Time the lifted map; ``linrep`` and ``numpy`` are seconds per step and entry of Theta.

    ``flops`` are those per entry: k + 1 of the Gram matrix, of which only half is needed, 2 k of
    its product with Theta, and 2.
    """
    rng = np.random.default_rng(0)
    Thetas = 0.1 * rng.standard_normal((trials, rows, k))
    eigenvalues = np.tile(np.linspace(2.0, -2.0, rows), (trials, 1))
    contenders: dict[str, Callable[[], Any]] = {
        "linrep": _map(Thetas, eigenvalues, steps),
        "numpy": _numpy_map(Thetas, eigenvalues, steps),
    }
    flops = 3.0 * k + 3.0
    row = _times(contenders, Thetas.reshape(-1), steps * Thetas.size, repetitions)
    row |= _limits(row, flops, 0.0)
    return {"rows": rows, "k": k, "flops": flops, "rate": flops / row["linrep"], **row}


# What is timed.


@dataclass(frozen=True)
class _Case:
    size: Size
    data: Any
    source: tuple
    X: np.ndarray  # (n, m, d)
    y: np.ndarray  # (n, m)
    B: np.ndarray
    W: np.ndarray
    step_size: float

    @property
    def moments(self) -> bool:
        """Tell whether the second moments are used."""
        return self.source[0] == kernel.GRAM

    @property
    def S(self) -> np.ndarray:
        """The second moments (n, d, d)."""
        return self.source[7]

    @property
    def centres(self) -> np.ndarray:
        """Least-squares models (n, d)."""
        return self.source[8]


def _draw(size: Size) -> _Case:
    rng = np.random.default_rng(0)
    values = 2.0 * size.d / (np.arange(1, min(size.n, size.d) + 1) + 1)
    truth = LowRankRegression.random(
        n=size.n, d=size.d, singular_values=values, noise=0.5, rng=rng
    )  # fmt: skip
    data = truth.draw(size.m, rng=rng)
    B, W = gaussian_start(size.n, size.d, size.k, 0.1, rng)
    X = data.X.reshape(size.n, size.m, size.d)
    step_size = 0.05 / values[0]
    return _Case(size, data, source(None, data, size.m), X, data.y.reshape(size.n, -1), B, W,
                 step_size)  # fmt: skip


def _linrep(case: _Case):
    size, eta = case.size, case.step_size
    schedule = np.tile(np.arange(size.n), (size.rounds, 1))
    work = kernel.workspace(size.k, size.d, size.m, size.n)
    losses, rng = np.empty(size.rounds), np.random.default_rng(0)
    start = np.ascontiguousarray(case.B.T)
    BT, W = np.empty_like(start), np.empty_like(case.W)

    def call():
        BT[:], W[:] = start, case.W
        completed, _ = kernel.run(
            rng, *case.source, schedule, BT, W, eta, eta, 0.5 * eta, 0.5 * eta, 0.0, losses, work
        )
        assert completed == size.rounds
        return BT.T, W

    return call


def _numpy(case: _Case):
    eta, X, y, S, centres = case.step_size, case.X, case.y, case.S, case.centres
    m = case.size.m

    def call():
        B, W = case.B, case.W
        for _ in range(case.size.rounds):
            models = W @ B.T
            if case.moments:
                g = np.matmul(S, (models - centres)[..., None])[..., 0]
            else:
                residual = np.matmul(X, models[..., None])[..., 0] - y
                g = np.matmul(residual[:, None, :], X)[:, 0] / m
            difference = 0.5 * eta * (B.T @ B - W.T @ W)
            B, W = (
                B - eta * (g.T @ W) - B @ difference,
                W - eta * (g @ B) + W @ difference,
            )
        return B, W

    return call


def _jax(case: _Case):
    import jax
    import jax.numpy as jnp

    # A context manager; older versions of JAX keep it in jax.experimental.
    double_precision: Any = getattr(jax, "enable_x64", None)
    if double_precision is None:
        double_precision = import_module("jax.experimental").enable_x64
    eta, m = case.step_size, case.size.m

    def rounds(first, second, B, W):
        def one(state, _):
            B, W = state
            models = W @ B.T
            if case.moments:
                g = jnp.einsum("nij,nj->ni", first, models - second)
            else:
                residual = jnp.einsum("nmd,nd->nm", first, models) - second
                g = jnp.einsum("nm,nmd->nd", residual, first) / m
            difference = 0.5 * eta * (B.T @ B - W.T @ W)
            step_B, step_W = eta * (g.T @ W) + B @ difference, eta * (g @ B) - W @ difference
            return (B - step_B, W - step_W), None

        return jax.lax.scan(one, (B, W), None, length=case.size.rounds)[0]

    compiled = jax.jit(rounds)
    arrays = (case.S, case.centres) if case.moments else (case.X, case.y)
    with double_precision(True):
        arguments = jax.block_until_ready([jnp.asarray(a) for a in (*arrays, case.B, case.W)])

    def call():
        with double_precision(True):
            return jax.block_until_ready(compiled(*arguments))

    return call


def _map(Thetas, eigenvalues, steps):
    trials, rows, k = Thetas.shape
    start = np.ascontiguousarray(Thetas.swapaxes(1, 2))
    state, RT = np.empty_like(start), np.zeros_like(start)
    record, out = np.array([steps]), np.empty((trials, 1, k, rows))
    work = np.empty((k, rows)), np.empty((k, k)), np.empty(trials, int), np.empty(trials, int)
    sizes = np.full(trials, 0.05)

    def call():
        state[:] = start
        kernel.run_theta(state, eigenvalues, sizes, RT, record, out, *work)
        return (out[:, 0].swapaxes(1, 2),)

    return call


def _numpy_map(Thetas, eigenvalues, steps):
    growth = 1.0 + 0.025 * eigenvalues[..., None]

    def call():
        Theta = Thetas
        for _ in range(steps):
            Theta = growth * Theta - Theta @ (0.025 * (Theta.swapaxes(1, 2) @ Theta))
        return (Theta,)

    return call


def _times(contenders, numbers, work, repetitions):
    """Time contenders, a product of matrices and a pass over numbers; per unit of work."""
    results = [[np.array(part) for part in call()] for call in contenders.values()]
    difference = largest_difference(results)
    square = np.random.default_rng(1).standard_normal((_SQUARE, _SQUARE))
    flat = np.ravel(numbers)
    reads = max(1, round(BYTES_PER_READ / flat.nbytes))

    def gemm():
        with one_thread():
            return square @ square

    machine = {"gemm": gemm, "read": lambda: sum_up(flat, reads)}
    machine["read"]()
    times = take_turns({**contenders, **machine}, repetitions)
    gemm_rate = 2.0 * _SQUARE**3 / times.pop("gemm")
    bandwidth = reads * flat.nbytes / times.pop("read")
    size = max(float(np.abs(part).max()) for part in results[0])
    return {
        **per_unit(times, work),
        "gemm_rate": float(np.median(gemm_rate)),
        "read_bandwidth": float(np.median(bandwidth)),
        "difference": difference,
        "agree": difference <= TOLERANCE * max(1.0, size),
    }


def _limits(row, flops, read):
    """Return the share of linrep's time that flops or reading would take at least, and which."""
    at_least = {"products": flops / row["gemm_rate"], "reading": read / row["read_bandwidth"]}
    binds = max(at_least, key=at_least.__getitem__)
    return {"share": at_least[binds] / row["linrep"], "binds": binds}


def _share(row) -> str:
    rate = (
        f"{row['read_bandwidth'] / 1e9:.1f} GB/s read"
        if row["binds"] == "reading"
        else f"{row['gemm_rate'] / 1e9:.1f} GF/s of products"
    )
    return f"{100 * row['share']:.0f} % of {rate}"
