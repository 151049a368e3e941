"""FedRep without samples: representations by their coordinates against the truth."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from linrep._lib.clock import account, share
from linrep.algorithms._schedule import Schedule
from linrep.algorithms._setup import METRICS, Setup
from linrep.algorithms.driver import WORK_PER_CALL, Method
from linrep.algorithms.fedrep_options import Options, Step
from linrep.kernels import gram as kernel
from linrep.kernels.gram_clients import BLOCK, Batch, client_workspace
from linrep.kernels.rounds import (
    COMPLETED,
    CONVERGED,
    DISTANCE,
    DIVERGED,
    LOSS,
    POPULATION_RISK,
)
from linrep.problems.regression import ImplicitRepresentation, SharedRepresentation
from linrep.problems.subspace import orthonormalize

GROUP = 16384  # participants that share a stream; part of how streams are used


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


class Simulated(Method):
    """Rounds on simulated batches; see :class:`linrep.algorithms.driver.Method`.

    Beyond `GROUP` participants, groups of so many have streams of their own and are spread over
    threads; their sums are added in the order of the groups.
    """

    buffers = ("_state",)
    kept = ("_schedules", "_all_streams")

    every_round = True

    def __init__(self, setup: Setup, options: Options, step: Step):
        source, n, d, k = setup.source, setup.n, setup.d, setup.k
        require_gaussian(f"batches={options.batches!r}", source)
        self._setup, self._settings, self._done = setup, options.numbers(setup, step), 0
        self._workers = options.workers
        self._batch = Batch(setup.largest, source.noise, options.split)
        self._implicit = isinstance(source, ImplicitRepresentation)
        C, Phi = coordinates(setup.B, np.eye(*setup.B.shape) if self._implicit else source.B)
        self._state = kernel.State(C, Phi, np.ascontiguousarray(setup.W.T))
        self._truth = kernel.Truth(np.ascontiguousarray(source.W.T), source.W.T @ source.W / n)
        self._others = float(d - k - len(Phi))
        self._table = np.full((options.rounds + 1, 4), np.nan)
        self._measure()
        groups = range(0, setup.participants, GROUP)
        self._streams = setup.data_rng.spawn(len(groups)) if len(groups) > 1 else [setup.data_rng]
        self._all_streams = [setup.data_rng]
        if len(groups) > 1:
            self._all_streams += self._streams
        self._heads = [kernel.heads_workspace(k, min(GROUP, setup.participants)) for _ in groups]
        self._client_work = [client_workspace(k, d) for _ in groups]
        self._server_work = kernel.server_workspace(k, d)
        self.most = max(1, int(WORK_PER_CALL / (setup.participants * k * k * 10)))
        ahead = max(1, min(self.most, options.rounds))
        self._schedules = Schedule(setup.participation_rng, n, setup.participants, ahead)

    @property
    def state(self):
        """Coordinates against B*, the heads, and a B that has them, where B* is stored."""
        C, Phi, WT = self._state
        state = {"C": C, "Phi": Phi, "W": np.ascontiguousarray(WT.T)}
        if not self._implicit:
            state["B"] = lift(self._setup.source, C, Phi, self._setup.data_rng)
        return state

    def run(self, rounds):
        """Run at most so many rounds; return how many were completed, and how they ended."""
        schedule = self._schedules.next(rounds)
        rows = self._table[self._done : self._done + len(schedule) + 1]
        if len(self._streams) > 1:
            with ThreadPoolExecutor(
                self._workers, initializer=share, initargs=(account(),)
            ) as pool:
                completed, status = self._run_in_groups(pool, schedule, rows)
        else:
            completed, status = kernel.run_gram(
                self._streams[0], self._others, self._batch, self._settings, self._truth, schedule,
                self._state, rows, self._heads[0], (self._client_work[0], self._server_work),
            )  # fmt: skip
        self._done += completed
        self._schedules.give_back(len(schedule) - completed)
        return completed, status

    def _run_in_groups(self, pool, schedule, rows):
        """Run rounds as the kernel does, with the clients in groups that have a stream each."""
        C, Phi, WT = self._state
        m, settings, server = self._batch.m, self._settings, self._server_work
        n, participants = WT.shape[1], schedule.shape[1]
        factor = settings.step_size / (m * participants if settings.averaged else m)
        sums = [(np.empty_like(server.UT), np.empty_like(server.S)) for _ in self._streams]

        def play(group, clients):
            return kernel.play(
                self._streams[group], self._batch, settings, self._truth, clients, self._state,
                sums[group], self._heads[group], self._client_work[group],
            )  # fmt: skip

        for t, row in enumerate(rows[1:]):
            groups = [schedule[t, first : first + GROUP] for first in range(0, participants, GROUP)]
            loss = sum(pool.map(play, range(len(groups)), groups))
            row[LOSS] = loss / (2.0 * m * participants)
            with np.errstate(all="ignore"):
                server.UT[:], server.S[:] = (
                    np.sum(each, axis=0) for each in zip(*sums, strict=True)
                )
            server.C[:], server.Phi[:] = C, Phi
            good = np.isfinite(loss) and kernel.move(
                self._streams[0], self._others, factor, C, Phi, server
            )
            if good:
                ends = [min(n, first + GROUP) for first in range(0, n, GROUP)]
                excess = sum(pool.map(self._deviation, range(0, n, GROUP), ends)) / n
                kernel.measure(Phi, self._truth.moment, excess, server.G, row)
                good = np.isfinite(row[POPULATION_RISK])
            if not good:
                C[:], Phi[:] = server.C, server.Phi
                for clients, before in zip(groups, self._heads, strict=True):
                    kernel.exchange(clients, before, WT)
                return t, DIVERGED
            if row[DISTANCE] <= settings.tolerance:
                return t + 1, CONVERGED
        return len(schedule), COMPLETED

    def _measure(self):
        """Write the metrics of where the run begins into the table."""
        (k, _), n = self._state.C.shape, self._setup.n
        excess = self._deviation(0, n) / n
        kernel.measure(
            self._state.Phi, self._truth.moment, excess, np.empty((k, k)), self._table[0]
        )

    def _deviation(self, first, last):
        """Return the sum of |w_i - C w_i*|^2 over some clients."""
        C, _, WT = self._state
        return kernel.deviation(C, self._truth.WT, WT, first, last, np.empty(BLOCK))

    def measure(self):
        """Return the number of the round, by which the table has its metrics."""
        return self._done

    def table(self, measured):
        """Return the metrics of these rounds."""
        return {name: self._table[measured, column] for name, column in METRICS.items()}

    def converged(self, measured):
        """Tell whether the distance is within the tolerance in a round."""
        return self._table[measured, DISTANCE] <= self._settings.tolerance

    def restore(self, saved):
        """Go to where `save` was called, random streams included."""
        super().restore(saved)
        self._measure()
