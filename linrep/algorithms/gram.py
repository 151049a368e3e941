"""FedRep without samples: representations by their coordinates against the truth."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
from numpy.typing import NDArray

from linrep._clock import account, share
from linrep.algorithms._setup import Setup
from linrep.kernels import designs
from linrep.kernels import gram as kernel
from linrep.kernels.gram_clients import BLOCK, client_workspace
from linrep.kernels.rounds import (
    COMPLETED,
    CONVERGED,
    DISTANCE,
    DIVERGED,
    LOSS,
    POPULATION_RISK,
)
from linrep.problems.regression import ImplicitRepresentation, SharedRepresentation
from linrep.subspace import orthonormalize

GROUP = 16384  # participants that share a stream; part of how streams are used
WORK_PER_CALL = 2e8  # multiplications after which a kernel returns, so that runs can be interrupted


def coordinates(
    B: NDArray[np.float64], truth: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return C = B' B* (k, k) and Phi = F' B* (p, k) of a frame B and B*, with p = min(k, d - k).

    F is an orthonormal basis of what the truth adds to span(B): B* = B C + F Phi. B* need
    neither be a frame nor have as many columns as B.
    """
    C = B.T @ truth
    outside = truth - B @ C
    outside -= B @ (B.T @ outside)
    p = min(truth.shape[1], B.shape[0] - B.shape[1])
    Phi = np.linalg.qr(outside)[1]
    if p < len(Phi):  # the rank is p, but the first p rows need not hold all
        _, lengths, directions = np.linalg.svd(Phi)
        Phi = lengths[:p, None] * directions[:p]
    return C, Phi


def lift(
    truth: SharedRepresentation, C: NDArray[np.float64], Phi: NDArray[np.float64], rng
) -> NDArray[np.float64]:
    """Return a frame B (d, k) with these coordinates, uniform among those there are."""
    k = len(C)
    complement = np.linalg.qr(np.vstack([C, Phi]), mode="complete")[0][:, k:]
    return embed(truth, C.T, complement[:k].T, rng)


def embed(
    truth: SharedRepresentation, D: NDArray[np.float64], E: NDArray[np.float64], rng
) -> NDArray[np.float64]:
    """Return B = B* D + N E, with N (d, p) uniform among the frames orthogonal to B*."""
    B = truth.B @ D
    if len(E) == 0:
        return B
    N = rng.standard_normal((truth.d, len(E)))
    for _ in range(2):  # a second time: little may be left of N outside of B*
        N = orthonormalize(N - truth.B @ (truth.B.T @ N))
    return B + N @ E


def require_gaussian(what: str, truth: SharedRepresentation) -> None:
    """Refuse other designs; what is to be simulated begins the message."""
    if truth.design != "gaussian":
        raise ValueError(
            f"{what} needs a Gaussian design, got {truth.design!r}: of others the Gram matrix does "
            "not say enough"
        )


def run_simulated(
    setup: Setup, *, rounds, split, step_size, averaged, local_steps, head_step_size, tolerance,
    workers,
):  # fmt: skip
    """Run rounds on simulated batches; return the state, a row of metrics per round, the status.

    Beyond `GROUP` participants, groups of so many have streams of their own and are spread over
    threads; their sums are added in the order of the groups.
    """
    truth, d, k = setup.source, setup.d, setup.k
    implicit = isinstance(truth, ImplicitRepresentation)
    C, Phi = coordinates(setup.B, np.eye(*setup.B.shape) if implicit else truth.B)
    WT, truthT = np.ascontiguousarray(setup.W.T), np.ascontiguousarray(truth.W.T)
    moment = truth.W.T @ truth.W / setup.n
    table = np.full((rounds + 1, 4), np.nan)
    G, scratch = np.empty((k, k)), np.empty(BLOCK)
    excess = kernel.deviation(C, truthT, WT, 0, setup.n, scratch) / setup.n
    kernel.measure(Phi, moment, excess, G, table[0])
    groups = range(0, setup.participants, GROUP)
    streams = setup.data_rng.spawn(len(groups)) if len(groups) > 1 else [setup.data_rng]
    run = partial(
        _run_in_one if len(groups) == 1 else _run_in_groups,
        heads=[kernel.heads_workspace(k, min(GROUP, setup.participants)) for _ in groups],
        client_work=[client_workspace(k, d) for _ in groups],
        server_work=kernel.server_workspace(k, d),
        m=setup.largest, others=float(d - k - len(Phi)), noise=truth.noise, split=split,
        truthT=truthT, moment=moment, C=C, Phi=Phi, WT=WT, step_size=step_size, averaged=averaged,
        local_steps=local_steps, head_step_size=head_step_size, tolerance=tolerance,
    )  # fmt: skip
    per_call = max(1, int(WORK_PER_CALL / (setup.participants * k * k * 10)))
    order = np.arange(setup.n)
    done, status = 0, COMPLETED
    if table[0, DISTANCE] <= tolerance:
        status = CONVERGED
    with ThreadPoolExecutor(workers, initializer=share, initargs=(account(),)) as pool:
        while done < rounds and status == COMPLETED:
            schedule = np.empty((min(per_call, rounds - done), setup.participants), dtype=np.int64)
            designs.draw_participants(setup.participation_rng, order, schedule)
            completed, status = run(
                pool, streams, schedule=schedule, metrics=table[done : done + len(schedule) + 1]
            )
            done += completed
    state = {"C": C, "Phi": Phi, "W": np.ascontiguousarray(WT.T)}
    if not implicit:
        state["B"] = lift(truth, C, Phi, setup.data_rng)
    return state, table[: done + 1], status


def _run_in_one(
    pool, streams, *, m, others, noise, split, truthT, moment, C, Phi, WT, step_size, averaged,
    local_steps, head_step_size, tolerance, schedule, metrics, heads, client_work, server_work,
):  # fmt: skip
    """Run one round per row of schedule in one kernel; return rounds done and the status."""
    return kernel.run_gram(
        streams[0], m, others, noise, split, truthT, moment, schedule, C, Phi, WT, step_size,
        averaged, local_steps, head_step_size, tolerance, metrics, heads[0], client_work[0],
        server_work,
    )  # fmt: skip


def _run_in_groups(
    pool, streams, *, m, others, noise, split, truthT, moment, C, Phi, WT, step_size, averaged,
    local_steps, head_step_size, tolerance, schedule, metrics, heads, client_work, server_work,
):  # fmt: skip
    """Do what _run_in_one does, with the clients of a round in groups, one stream each."""
    n, participants = WT.shape[1], schedule.shape[1]
    factor = step_size / (m * participants) if averaged else step_size / m
    UT, S, R, QT, ET, CT, C0, Phi0, G, _ = server_work
    sums = [(np.empty_like(UT), np.empty_like(S)) for _ in streams]

    def play(group, clients):
        return kernel.play_apart(
            streams[group], m, noise, split, truthT, clients, C, Phi, WT, local_steps,
            head_step_size, *sums[group], heads[group], client_work[group],
        )  # fmt: skip

    def deviation(first):
        last = min(n, first + GROUP)
        return kernel.deviation(C, truthT, WT, first, last, np.empty(BLOCK))

    for t, row in enumerate(metrics[1:]):
        groups = [schedule[t, first : first + GROUP] for first in range(0, participants, GROUP)]
        loss = sum(pool.map(play, range(len(groups)), groups))
        row[LOSS] = loss / (2.0 * m * participants)
        with np.errstate(all="ignore"):
            UT[:], S[:] = (np.sum(parts, axis=0) for parts in zip(*sums, strict=True))
        C0[:], Phi0[:] = C, Phi
        good = np.isfinite(loss) and kernel.move_apart(
            streams[0], others, factor, UT, S, R, C, Phi, QT, ET, CT
        )
        if good:
            excess = sum(pool.map(deviation, range(0, n, GROUP))) / n
            kernel.measure(Phi, moment, excess, G, row)
            good = np.isfinite(row[POPULATION_RISK])
        if not good:
            C[:], Phi[:] = C0, Phi0
            for clients, before in zip(groups, heads, strict=True):
                kernel.exchange(clients, before, WT)
            return t, DIVERGED
        if row[DISTANCE] <= tolerance:
            return t + 1, CONVERGED
    return len(schedule), COMPLETED
