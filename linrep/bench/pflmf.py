"""Timings of pFL^MF's rounds next to the same work in batched NumPy and in JAX, in one process.

The contenders take turns on the same functions, from the same start, with the same participants,
and must end at the same numbers. All use one thread. Local
steps are done the quick way by all: on quadratic functions the heads' gradients follow a linear
recursion, on samples the projected covariates are kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from linrep._lib.threads import one_thread
from linrep.algorithms.pflmf_rounds import Compiled
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
from linrep.kernels.pflmf import Settings
from linrep.problems import ClientData, LogisticObjectives, Objectives, QuadraticObjectives


@dataclass(frozen=True)
class Size:
    """A problem: n clients, models of dimension d and rank k, K local steps; and how it is run.

    With m samples a client losses are logistic, else functions are quadratic. U moves with all
    clients' gradients (everyone), or with the participants' mean.
    """

    n: int
    d: int
    k: int
    everyone: bool
    rounds: int
    m: int = 0
    local_steps: int = 5
    participation: float = 0.5
    repetitions: int = 15


SIZES = {
    "small": Size(40, 3, 3, False, 2000),
    "small, full": Size(40, 3, 3, True, 2000),
    "large": Size(1000, 500, 10, False, 10),
    "large, full": Size(1000, 500, 10, True, 10),
    "logistic": Size(40, 3, 3, True, 500, m=20),
    "logistic, large": Size(1000, 500, 10, True, 2, m=10, repetitions=7),
}


def measure(repetitions: int | None = None) -> Iterator[list[Record]]:
    """Time rounds of pFL^MF.

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


def compare(name: str, repetitions: int | None = None) -> list[Record]:
    """Return the records of all contenders at one size."""
    if name not in SIZES:
        raise ValueError(f"size must be one of {', '.join(SIZES)}, got {name!r}")
    size = SIZES[name]
    case = _draw(size)
    numpy = _numpy_logistic if size.m else _numpy_full if size.everyone else _numpy_participants
    contenders = with_jax({"linrep": _linrep(case), "NumPy": numpy(case)}, lambda: _jax(case))
    results = [[np.array(part) for part in call()] for call in contenders.values()]
    difference = largest_difference(results)
    m = f", m = {size.m}" if size.m else ""
    numbers, flops, read = _work(case)
    limits = Limits(numbers)
    with one_thread():
        times = take_turns({**contenders, **limits.contenders}, repetitions or size.repetitions)
    note = limits.note(times, times["linrep"] / size.rounds, flops=flops, read=read)
    return make_records(
        "pFL^MF: a round",
        f"{name}: n = {size.n}, d = {size.d}, k = {size.k}{m}, K = {size.local_steps}",
        {name: times[name] for name in contenders},
        size.rounds,
        agree=bool(difference <= TOLERANCE),
        difference=difference,
        notes={"linrep": note},
    )


def _work(case: _Case) -> tuple[np.ndarray, float, float]:
    """Return what is read, and a round's flops (of exponentials, none) and bytes."""
    size, K = case.size, case.size.local_steps
    n, d, k, m = size.n, size.d, size.k, size.m
    if m:
        X = case.problem.data.X  # type: ignore[attr-defined]
        return X, n * (2 * m * d * (k + 1) + 4 * m * k * K + 4 * d * k), X.nbytes
    A = case.problem.A  # type: ignore[attr-defined]
    moving = float(case.masks.sum(axis=1).mean())
    asked = n if size.everyone else moving
    return A, asked * 4 * d * k + moving * 2 * k * k * (K - 1), asked * d * A.itemsize


# What is timed.


@dataclass(frozen=True)
class _Case:
    size: Size
    problem: Objectives
    U: np.ndarray
    V: np.ndarray
    masks: np.ndarray  # (rounds, n)
    scales: np.ndarray  # (rounds,)
    steps: tuple[float, float]


def _draw(size: Size) -> _Case:
    rng = np.random.default_rng(0)
    n, d, k = size.n, size.d, size.k
    masks = rng.random((size.rounds, n)) < size.participation
    U, V = rng.standard_normal((d, k)) / np.sqrt(d), 0.1 * rng.standard_normal((n, k))
    problem: Objectives = QuadraticObjectives(rng.standard_normal((n, d)))
    if size.m:
        X = rng.standard_normal((n * size.m, d))
        y = np.sign(rng.standard_normal(n * size.m))
        problem = LogisticObjectives(ClientData(X, y, np.arange(n + 1) * size.m))
    counts = np.full(size.rounds, n) if size.everyone else np.maximum(masks.sum(axis=1), 1)
    return _Case(size, problem, U, V, masks, 1.0 / counts, (0.1, 0.1))


def _linrep(case: _Case):
    size = case.size
    step_size, head_step_size = case.steps
    settings = Settings(step_size, head_step_size, head_step_size / size.n, size.everyone, False)

    def call():
        rounds = Compiled(case.problem, case.U, case.V, settings, local_steps=size.local_steps)
        rounds.run(case.masks, case.scales, None)
        return rounds.state

    return call


def _move_heads(V, Z, U, step, local_steps):
    """Take local steps on quadratic functions, Z being the heads' gradients."""
    Z *= step
    V -= Z
    if local_steps > 1:
        G = step * (U.T @ U)
        for _ in range(local_steps - 1):
            Z -= Z @ G
            V -= Z


def _numpy_full(case: _Case):
    A, eta, n = case.problem.A, case.steps[0], case.size.n  # type: ignore[attr-defined]
    step, local_steps = case.steps[1] / n, case.size.local_steps
    R = np.empty_like(A)

    def call():
        U, V = case.U, case.V.copy()
        for mask in case.masks:
            np.dot(V, U.T, out=R)
            np.subtract(R, A, out=R)
            in_U, Z = R.T @ V, R @ U
            Z *= mask[:, None]
            _move_heads(V, Z, U, step, local_steps)
            U = U - eta / n * in_U
        return U, V

    return call


def _numpy_participants(case: _Case):
    A, eta = case.problem.A, case.steps[0]  # type: ignore[attr-defined]
    step, local_steps = case.steps[1] / case.size.n, case.size.local_steps

    def call():
        U, V = case.U, case.V.copy()
        for mask, scale in zip(case.masks, case.scales, strict=True):
            some = np.flatnonzero(mask)
            heads = V[some]
            R = heads @ U.T
            R -= A[some]
            in_U, Z = R.T @ heads, R @ U
            _move_heads(heads, Z, U, step, local_steps)
            V[some] = heads
            U = U - eta * scale * in_U
        return U, V

    return call


def _numpy_logistic(case: _Case):
    (eta, step), n, m = case.steps, case.size.n, case.size.m
    X, y = _samples(case)

    def slopes(Z, V):
        scores = np.matmul(Z, V[..., None])[..., 0]
        return expit(-y * scores) * (-y / m)

    def call():
        U, V = case.U, case.V.copy()
        for mask in case.masks:
            Z = np.matmul(X, U)
            rho = slopes(Z, V)
            in_U = np.matmul(rho[:, None, :], X)[:, 0].T @ V
            for local in range(case.size.local_steps):
                rho = slopes(Z, V) if local else rho
                V = V - step / n * mask[:, None] * np.matmul(rho[:, None, :], Z)[:, 0]
            U = U - eta / n * in_U
        return U, V

    return call


def _samples(case):
    n, m, data = case.size.n, case.size.m, case.problem.data
    return data.X.reshape(n, m, -1), data.y.reshape(n, m)


def _jax(case: _Case):
    import jax
    import jax.numpy as jnp

    in_doubles = double_precision()
    size = case.size
    n, m, K, (eta, step) = size.n, size.m, size.local_steps, case.steps

    def quadratic(A, U, V, mask, weights):
        R = V @ U.T - A
        in_U, Z = R.T @ (weights[:, None] * V), step / n * mask[:, None] * (R @ U)
        G = step / n * (U.T @ U)
        V = V - Z
        for _ in range(K - 1):
            Z = Z - Z @ G
            V = V - Z
        return U - eta * in_U, V

    def logistic(data, U, V, mask, weights):
        X, y = data
        Z = jnp.einsum("nmd,dk->nmk", X, U)

        def slopes(V):
            return jax.nn.sigmoid(-y * jnp.einsum("nmk,nk->nm", Z, V)) * (-y / m)

        in_U = jnp.einsum("nm,nmd->nd", slopes(V), X).T @ (weights[:, None] * V)
        for _ in range(K):
            V = V - step / n * mask[:, None] * jnp.einsum("nm,nmk->nk", slopes(V), Z)
        return U - eta * in_U, V

    def rounds(data, U, V, masks, weights):
        def one(state, drawn):
            return (logistic if m else quadratic)(data, *state, *drawn), None

        return jax.lax.scan(one, (U, V), (masks, weights))[0]

    compiled = jax.jit(rounds)
    functions = _samples(case) if m else case.problem.A  # type: ignore[attr-defined]
    who = np.ones_like(case.masks) if size.everyone else case.masks
    with in_doubles(True):
        arguments = jax.tree_util.tree_map(
            jnp.asarray,
            (functions, case.U, case.V, case.masks.astype(float), who * case.scales[:, None]),
        )

    def call():
        with in_doubles(True):
            return jax.block_until_ready(compiled(*arguments))

    return call
