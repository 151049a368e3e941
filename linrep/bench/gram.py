"""Timings of simulated batches next to sampled ones, and how they depend on d, m and n."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from linrep.algorithms import fedrep
from linrep.bench.timing import Record, make_records, take_turns
from linrep.kernels import designs, gram, gram_clients, rounds
from linrep.kernels.fedrep import Batch, run_fresh
from linrep.kernels.gram_clients import BLOCK, client_workspace, draw_bartlett
from linrep.kernels.jit import kernel
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
_SETTINGS = rounds.Settings(_STEP_SIZE, True, rounds.EXACT, 0.0, True, -1.0)


def measure() -> Iterator[list[Record]]:
    """Time simulated rounds next to sampled ones, over sizes, and by the number of threads.

    Yields
    ------
    list of Record
        Of one case. "its draws" are the random numbers of the simulation alone.
    """
    for d, m in SIZES:
        yield compare(d, m)
    for n, d, m in SCALING:
        yield scaling(n, d, m)
    yield threads()


def compare(d: int, m: int, n: int = CLIENTS, repetitions: int = 9) -> list[Record]:
    """Time one round of FedRep with exact heads on fresh Gaussian batches.

    All metrics are asked of both compiled kernels, none of NumPy.
    """
    many = max(1, _WORK // n)
    contenders = {
        "simulated": _make_simulated_round(n, d, m, many),
        "sampled": _make_sampled_round(n, d, m),
        "sampled, NumPy": _numpy(n, d, m),
        "its draws": _draws(n, d, m, many),
    }
    times = take_turns(contenders, repetitions)
    work = {name: many if name in ("simulated", "its draws") else 1 for name in contenders}
    return make_records(
        "FedRep: a round on fresh Gaussian batches", f"n = {n}, m = {m}, d = {d}, k = {K}",
        times, work,
    )  # fmt: skip


def scaling(n: int, d: int, m: int, repetitions: int = 7) -> list[Record]:
    """Time simulated rounds of any size, per client."""
    many = max(1, 4 * _WORK // n)
    times = take_turns({"simulated": _make_simulated_round(n, d, m, many)}, repetitions)
    return make_records(
        "FedRep: a simulated round, per client", f"n = {n:,}, m = {m:,}, d = {d:,}, k = {K}",
        times, many * n,
    )  # fmt: skip


def threads(
    n: int = MANY, counts: Sequence[int] = (1, 2), rounds: int = 10, repetitions: int = 5
) -> list[Record]:
    """Time whole runs of `fedrep` with one and more threads."""
    truth = ImplicitRepresentation(_truth(n), 10**6)

    def run(workers):
        return lambda: fedrep(
            truth, m=100, rounds=rounds, batches="gram", start=0.6, step_size=_STEP_SIZE,
            workers=workers, rng=0,
        )  # fmt: skip

    times = take_turns({f"{count} thread(s)": run(count) for count in counts}, repetitions)
    return make_records("FedRep: a simulated round, by threads", f"n = {n:,}", times, rounds)


def _truth(n):
    heads = np.random.default_rng(0).standard_normal((n, K))
    return heads * np.sqrt(K) / np.linalg.norm(heads, axis=1, keepdims=True)


def _make_simulated_round(n, d, m, many):
    heads = _truth(n)
    truthT, moment = np.ascontiguousarray(heads.T), heads.T @ heads / n
    schedule = np.broadcast_to(np.arange(n), (many, n)).copy()
    room, works = gram.heads_workspace(K, n), (client_workspace(K, d), gram.server_workspace(K, d))
    truth, batch = gram.Truth(truthT, moment), gram_clients.Batch(m, 0.0, False)
    rng = np.random.default_rng(1)
    metrics, WT = np.empty((many + 1, 4)), np.zeros((K, n))

    def call():
        state = gram.State(0.8 * np.eye(K), 0.6 * np.eye(K), WT)
        gram.run_gram(
            rng, float(d - 2 * K), batch, _SETTINGS, truth, schedule, state, metrics, room, works
        )

    return call


def _make_sampled_round(n, d, m):
    heads = _truth(n)
    truth = rounds.truth_of(np.eye(d, K), heads)
    schedule = np.arange(n)[None]
    work, rng = rounds.workspace(K, d, m, n), np.random.default_rng(1)
    room = np.empty((m, d)), np.empty(m), np.empty(d)
    batch = Batch(designs.GAUSSIAN, 5.0, 0.0, False, *room)
    metrics, W = np.empty((2, 4)), np.zeros((n, K))

    def call():
        BT = 0.8 * np.eye(K, d) + 0.6 * np.eye(K, d, K)
        run_fresh(rng, batch, schedule, BT, W, _SETTINGS, truth, metrics, work)

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
