"""Timings of FedRep next to the same work in batched NumPy and in JAX, in one process.

The contenders take turns on the same data, from the same start and with the same participants,
and must end at the same numbers. They do the same work: exact heads, one step, QR, no metrics.
All use one thread; several trials are also run by linrep on two.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from linrep._lib.threads import one_thread
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
from linrep.kernels import designs, rounds
from linrep.kernels import fedrep_adaptive as adapting
from linrep.kernels.fedrep import Samples, run_fixed_trials
from linrep.problems import SharedRepresentation, subspace

# Up to about this many multiplications OpenBLAS skips the packing that tall thin matrices pay for.
_SMALL_PRODUCT = 1e6


@dataclass(frozen=True)
class Size:
    """A problem: n clients with m samples each in d dimensions, rank k, and how long it is run."""

    d: int
    k: int
    m: int
    n: int
    participants: int
    rounds: int
    trials: int = 1
    repetitions: int = 15


SIZES = {
    "S": Size(d=10, k=2, m=5, n=100, participants=10, rounds=1000),
    "S1000": Size(d=10, k=2, m=5, n=1000, participants=100, rounds=300),
    "M": Size(d=100, k=5, m=30, n=200, participants=200, rounds=20),
    "L": Size(d=1000, k=5, m=100, n=200, participants=200, rounds=2, repetitions=7),
    # Long enough for an operating system to spread two threads over two cores.
    "T": Size(d=10, k=2, m=5, n=100, participants=10, rounds=500, trials=100, repetitions=9),
}


def parse_sizes(text: str) -> tuple[str, ...]:
    """Return the names in a comma-separated list, each checked to be one of `SIZES`."""
    return _check_sizes([name.strip() for name in text.split(",")])


def measure(
    sizes: Sequence[str] = tuple(SIZES), repetitions: int | None = None
) -> Iterator[list[Record]]:
    """Time rounds of FedRep on stored data.

    Parameters
    ----------
    sizes : sequence of str
        Keys of `SIZES`.
    repetitions : int, optional
        Timed calls of each contender; by default as many as the size asks for.

    Yields
    ------
    list of Record
        Of one size, or of several trials on one thread and then on two. The note is the time that
        a core's multiply-adds or its reading of the participants' covariates, whichever is the
        slower, would take at least, as a share of linrep's.

    Raises
    ------
    ValueError
        If a size is unknown.
    """
    for name in _check_sizes(sizes):
        yield from _compare(name, repetitions)


# A case and the contenders: callables that run all rounds once and return B and W with a leading
# axis of trials, B as (trials, d, k).


@dataclass(frozen=True)
class _Case:
    size: Size
    X: np.ndarray  # (trials, n m, d)
    y: np.ndarray  # (trials, n m)
    offsets: np.ndarray
    schedule: np.ndarray  # (trials, rounds, participants)
    BT: np.ndarray  # (trials, k, d), where all start
    step_size: float


def _draw(size: Size) -> _Case:
    rng = np.random.default_rng(0)
    truth = SharedRepresentation.random(n=size.n, d=size.d, k=size.k, noise=0.1, rng=rng)
    shape = size.trials, size.n * size.m
    X, y = np.empty((*shape, size.d)), np.empty(shape)
    schedule = np.empty((size.trials, size.rounds, size.participants), dtype=np.int64)
    BT = np.empty((size.trials, size.k, size.d))
    for trial in range(size.trials):
        data = truth.draw(size.m, rng=rng)
        X[trial], y[trial] = data.X, data.y
        designs.draw_participants(rng, np.arange(size.n), schedule[trial])
        BT[trial] = subspace.random_frame(size.d, size.k, rng).T
    step_size = 0.25 / truth.sigma_max(size.participants) ** 2
    return _Case(size, X, y, data.offsets, schedule, BT, step_size)


def _linrep(case: _Case, pool: ThreadPoolExecutor | None = None, threads: int = 1):
    size = case.size
    BT, W = np.empty_like(case.BT), np.empty((size.trials, size.n, size.k))
    truth = [np.stack([part] * size.trials) for part in rounds.no_truth(size.d, size.k)]
    metrics = np.empty((size.trials, size.rounds + 1, 4))
    outcomes = np.empty((size.trials, 2), dtype=np.int64)
    settings = rounds.Settings(case.step_size, True, rounds.EXACT, 0.0, True, -1.0)
    works = [rounds.workspace(size.k, size.d, size.m, size.participants) for _ in range(threads)]
    ends = np.linspace(0, size.trials, threads + 1).astype(int)
    parts = [slice(*pair) for pair in pairwise(ends)]

    def run_part(part, work):
        run_fixed_trials(
            Samples(case.X[part], case.y[part], case.offsets), case.schedule[part], BT[part],
            W[part], settings, rounds.Truth(*(each[part] for each in truth)), metrics[part],
            outcomes[part], work,
        )  # fmt: skip

    def call():
        BT[:] = case.BT
        W[:] = 0.0
        if pool is None:
            run_part(parts[0], works[0])
        else:
            list(pool.map(run_part, parts, works))
        return BT.swapaxes(1, 2), W

    return call


def _adaptive(case: _Case):
    """Return the rounds with steps found on the way, of one trial."""
    size = case.size
    memory, at_start = (adapting.memory(size.n, size.k, size.d) for _ in range(2))
    work = rounds.workspace(size.k, size.d, size.m, size.participants)
    truth, metrics = rounds.no_truth(size.d, size.k), np.empty((size.rounds + 1, 5))
    settings = rounds.Settings(1.0, True, rounds.EXACT, 0.0, True, -1.0)
    BT, W = np.empty_like(case.BT[0]), np.empty((size.n, size.k))
    adapting.largest_curvatures(case.X[0], case.offsets, at_start.largest, work.residual, work.g)

    def call():
        BT[:] = case.BT[0]
        W[:] = 0.0
        for array, start in zip(memory, at_start, strict=True):
            array[:] = start
        adapting.run_adaptive(
            Samples(case.X[0], case.y[0], case.offsets), memory, case.schedule[0], BT, W, settings,
            truth, metrics, work,
        )  # fmt: skip
        return BT.T[None], W[None]

    return call


def _numpy(case: _Case):
    size = case.size
    n, m, d, k, participants = size.n, size.m, size.d, size.k, size.participants
    trials = () if size.trials == 1 else (size.trials,)
    everyone = participants == n
    small = participants * m * d * k <= _SMALL_PRODUCT
    X, y = case.X.reshape(*trials, n, m, d), case.y.reshape(*trials, n, m)
    all_X, all_y = X.reshape(-1, m, d), y.reshape(-1, m)
    clients = case.schedule + n * np.arange(size.trials)[:, None, None]
    clients = np.moveaxis(clients, 1, 0).reshape(size.rounds, *trials, participants)
    start = np.ascontiguousarray(case.BT.swapaxes(1, 2)).reshape(*trials, d, k)
    if not everyone:
        X, y = np.empty((*trials, participants, m, d)), np.empty((*trials, participants, m))

    def call():
        B, W = start, np.zeros((*trials, n, k))
        all_W = W.reshape(-1, k)
        for selected in clients:
            if not everyone:
                np.take(all_X, selected, axis=0, out=X, mode="clip")
                np.take(all_y, selected, axis=0, out=y, mode="clip")
            if small:
                Z = (X.reshape(*trials, -1, d) @ B).reshape(*trials, participants, m, k)
            else:
                Z = X @ B[..., None, :, :]
            ZT = Z.swapaxes(-1, -2)
            w = np.linalg.solve(ZT @ Z, ZT @ y[..., None])
            residual = Z @ w - y[..., None]
            gradients = (residual.swapaxes(-1, -2) @ X)[..., 0, :]
            w = w[..., 0]
            step = gradients.swapaxes(-1, -2) @ w
            Q, R = np.linalg.qr(B - case.step_size / (participants * m) * step)
            B = Q * np.sign(np.diagonal(R, axis1=-2, axis2=-1))[..., None, :]
            if everyone:
                W = w
            else:
                all_W[selected] = w
        return B.reshape(-1, d, k), W.reshape(-1, n, k)

    return call


def _jax(case: _Case):
    import jax
    import jax.numpy as jnp
    from jax.scipy.linalg import cho_factor, cho_solve

    in_doubles = double_precision()
    size = case.size
    everyone = size.participants == size.n

    def client(X, y, B):
        Z = X @ B
        w = cho_solve(cho_factor(Z.T @ Z), Z.T @ y)
        return w, X.T @ (Z @ w - y)

    def trial(X, y, schedule, B, W):
        def one_round(state, selected):
            B, W = state
            X_round, y_round = (X, y) if everyone else (X[selected], y[selected])
            w, gradients = jax.vmap(client, (0, 0, None))(X_round, y_round, B)
            step = gradients.T @ w / (size.participants * size.m)
            Q, R = jnp.linalg.qr(B - case.step_size * step)
            return (Q * jnp.sign(jnp.diagonal(R)), w if everyone else W.at[selected].set(w)), None

        return jax.lax.scan(one_round, (B, W), schedule)[0]

    arrays: Sequence[np.ndarray] = (
        case.X.reshape(-1, size.n, size.m, size.d),
        case.y.reshape(-1, size.n, size.m),
        case.schedule,
        case.BT.swapaxes(1, 2),
        np.zeros((size.trials, size.n, size.k)),
    )
    if size.trials == 1:
        arrays = [array[0] for array in arrays]
        compiled = jax.jit(trial)
    else:
        compiled = jax.jit(jax.vmap(trial))
    with in_doubles(True):
        arguments = jax.block_until_ready([jnp.asarray(array) for array in arrays])

    def call():
        with in_doubles(True):
            B, W = jax.block_until_ready(compiled(*arguments))
        return (B, W) if size.trials > 1 else (B[None], W[None])

    return call


def _compare(name: str, repetitions: int | None) -> Iterator[list[Record]]:
    """Yield the records of one size: on one thread and, for several trials, on two."""
    size = SIZES[name]
    case = _draw(size)
    limits = Limits(case.X)
    with ThreadPoolExecutor(2) as pool:
        variants = {"linrep": _linrep(case)}
        if size.trials > 1:
            variants["two threads"] = _linrep(case, pool, 2)
        others: dict[str, Any] = with_jax({"NumPy": _numpy(case)}, lambda: _jax(case))
        contenders: dict[str, Callable[[], Any]] = {**variants, **others}
        # Compiles what is to be compiled, too.
        results = [[np.array(part) for part in call()] for call in contenders.values()]
        difference = largest_difference(results)
        adaptive = {"adaptive step": _adaptive(case)} if size.trials == 1 else {}
        with one_thread():
            times = take_turns(
                {**contenders, **adaptive, **limits.contenders}, repetitions or size.repetitions
            )
    clients, samples = size.trials * size.participants, size.m * (size.d + size.k)
    flops = clients * (2 * samples * (size.k + 1) + 2 * size.d * size.k)
    covariates = clients * size.m * size.d * case.X.itemsize
    for threads, variant in enumerate(variants, start=1):
        beside = others if threads == 1 else ["linrep"]
        note = limits.note(
            times, times[variant] * threads / size.rounds, flops=flops, read=covariates
        )
        yield make_records(
            "FedRep: a round on stored data",
            f"{name}: {_describe(size)}" + (f", {threads} threads" if threads > 1 else ""),
            {each: times[each] for each in (variant, *beside)},
            size.rounds,
            agree=bool(difference <= TOLERANCE),
            difference=difference,
            notes={variant: note},
        )

    if adaptive:
        yield make_records(
            "FedRep: a round with a step that is found",
            f"{name}: {_describe(size)}",
            {"constant step": times["linrep"], "adaptive step": times["adaptive step"]},
            size.rounds,
        )


def _describe(size: Size) -> str:
    n = f"{size.participants} of {size.n}" if size.participants < size.n else f"{size.n}"
    trials = f", {size.trials} trials" if size.trials > 1 else ""
    return f"n = {n}, m = {size.m}, d = {size.d}, k = {size.k}{trials}"


def _check_sizes(sizes: Sequence[str]) -> tuple[str, ...]:
    for name in sizes:
        if name not in SIZES:
            raise ValueError(f"size must be one of {', '.join(SIZES)}, got {name!r}")
    return tuple(dict.fromkeys(sizes))
