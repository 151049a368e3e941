"""Timings of FLUTE next to the same work in batched NumPy and in JAX, and of the lifted map.

The contenders take turns on the same data from the same start, and must end at the same numbers.
All use one thread. What a core can do at best is measured
in between: its multiply-adds, and the speed at which it reads what linrep reads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from linrep._lib.threads import one_thread
from linrep.algorithms.flute import gaussian_start
from linrep.algorithms.flute_rounds import side_by_side, source
from linrep.bench.limits import Limits
from linrep.bench.timing import (
    TOLERANCE,
    Record,
    double_precision,
    largest_difference,
    make_records,
    take_turns,
    with_jax,
)
from linrep.kernels import flute as kernel
from linrep.kernels import flute_abreast as abreast
from linrep.problems import LowRankRegression


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


def measure(repetitions: int | None = None) -> Iterator[list[Record]]:
    """Time rounds of FLUTE on stored data, and steps of the lifted map.

    Parameters
    ----------
    repetitions : int, optional
        Timed calls of each contender; by default as many as the size asks for.

    Yields
    ------
    list of Record
        Of one size. The note is the time that a core's multiply-adds or its reading, whichever is
        the slower, would take at least, as a share of linrep's.
    """
    for name in SIZES:
        yield compare(name, repetitions)
    for rows, k, trials, steps in MAPS:
        yield compare_map(rows, k, trials, steps, repetitions or 7)


def compare(name: str, repetitions: int | None = None) -> list[Record]:
    """Return the records of all contenders at one size."""
    if name not in SIZES:
        raise ValueError(f"size must be one of {', '.join(SIZES)}, got {name!r}")
    size = SIZES[name]
    case = _draw(size)
    contenders = with_jax({"linrep": _linrep(case), "NumPy": _numpy(case)}, lambda: _jax(case))
    flops = size.n * size.d * (6 * size.k + (2 * size.d if case.moments else 4 * size.m))
    numbers = case.read
    return _time_all(
        "FLUTE: a round on stored data",
        f"{name}: n = {size.n}, m = {size.m}, d = {size.d}, k = {size.k}",
        contenders, numbers, size.rounds, repetitions or size.repetitions, flops, numbers.nbytes,
    )  # fmt: skip


def compare_map(rows: int, k: int, trials: int, steps: int, repetitions: int = 7) -> list[Record]:
    """Time the lifted map per step and entry of Theta."""
    rng = np.random.default_rng(0)
    Thetas = 0.1 * rng.standard_normal((trials, rows, k))
    eigenvalues = np.tile(np.linspace(2.0, -2.0, rows), (trials, 1))
    contenders: dict[str, Callable[[], Any]] = {
        "linrep": _map(Thetas, eigenvalues, steps),
        "NumPy": _numpy_map(Thetas, eigenvalues, steps),
    }
    # Per entry: k + 1 of the Gram matrix, of which only half is needed, 2 k of the product, and 2.
    return _time_all(
        "FLUTE's lifted map: a step, per entry",
        f"{rows} rows, k = {k}, {trials} at once",
        contenders, Thetas.reshape(-1), steps * Thetas.size, repetitions, 3.0 * k + 3.0, 0.0,
    )  # fmt: skip


# What is timed.


@dataclass(frozen=True)
class _Case:
    size: Size
    data: Any
    source: kernel.Source
    X: np.ndarray  # (n, m, d)
    y: np.ndarray  # (n, m)
    B: np.ndarray
    W: np.ndarray
    step_size: float

    @property
    def moments(self) -> bool:
        """Tell whether the second moments are used."""
        return self.source.kind in (kernel.GRAM, kernel.PACKED)

    @property
    def read(self) -> np.ndarray:
        """What linrep reads of the data."""
        if not self.moments:
            return self.X
        return self.source.S if self.source.kind == kernel.GRAM else self.source.triangles

    @property
    def S(self) -> np.ndarray:
        """The second moments (n, d, d)."""
        return np.matmul(self.X.swapaxes(1, 2), self.X) / self.size.m

    @property
    def centres(self) -> np.ndarray:
        """Least-squares models (n, d)."""
        return self.source.centres


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
    return _Case(size, data, source(None, data, size.m, 1e9), X, data.y.reshape(size.n, -1), B, W,
                 step_size)  # fmt: skip


def _linrep(case: _Case):
    size, eta = case.size, case.step_size
    schedule = np.tile(np.arange(size.n), (size.rounds, 1))
    work = kernel.workspace(size.k, size.d, size.m, size.n)
    losses, rng = np.empty(size.rounds), np.random.default_rng(0)
    steps = kernel.Steps(eta, eta, 0.5 * eta, 0.5 * eta, 0.0)
    start = np.ascontiguousarray(case.B.T)
    BT, W = np.empty_like(start), np.empty_like(case.W)

    def call():
        BT[:], W[:] = start, case.W
        completed, _ = kernel.run(rng, case.source, schedule, BT, W, steps, losses, work)
        assert completed == size.rounds
        return BT.T, W

    def call_abreast():
        BT[:], W[:] = start, case.W
        completed, _ = abreast.run(moments, BT, W, steps, losses, scratch)
        assert completed == size.rounds
        return BT.T, W

    if not side_by_side(case.source, size.n):
        return call
    moments = abreast.moments(case.source.S, case.centres, case.source.rests)
    scratch = abreast.workspace(size.k, moments)
    return call_abreast


def _numpy(case: _Case):
    eta, X, y, centres = case.step_size, case.X, case.y, case.centres
    S = case.S if case.moments else np.empty(0)
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

    in_doubles = double_precision()
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
    with in_doubles(True):
        arguments = jax.block_until_ready([jnp.asarray(a) for a in (*arrays, case.B, case.W)])

    def call():
        with in_doubles(True):
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


def _time_all(table, case, contenders, numbers, work, repetitions, flops, read) -> list[Record]:
    """Time contenders, and in between what a core can do at best.

    A unit of work takes so many flops, and reads so many bytes.
    """
    results = [[np.array(part) for part in call()] for call in contenders.values()]
    difference = largest_difference(results)
    limits = Limits(numbers)
    with one_thread():
        times = take_turns({**contenders, **limits.contenders}, repetitions)
    note = limits.note(times, times["linrep"] / work, flops=flops, read=read)
    size = max(float(np.abs(part).max()) for part in results[0])
    return make_records(
        table, case, {name: times[name] for name in contenders}, work,
        agree=bool(difference <= TOLERANCE * max(1.0, size)), difference=difference,
        notes={"linrep": note},
    )  # fmt: skip
