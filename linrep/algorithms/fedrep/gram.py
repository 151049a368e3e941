"""FedRep without samples: representations by their coordinates against the truth."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from linrep.algorithms._setup import Setup
from linrep.algorithms.driver import WORK_PER_CALL
from linrep.algorithms.fedrep.options import Options, Step
from linrep.algorithms.fedrep.rounds import Tabled
from linrep.kernels import gram as kernel
from linrep.kernels.gram_clients import BLOCK, Batch, client_workspace
from linrep.problems.regression import ImplicitRepresentation, SharedRepresentation
from linrep.problems.subspace import orthonormalize


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


class Simulated(Tabled):
    """Rounds on simulated batches."""

    buffers = ("_state",)

    def __init__(self, setup: Setup, options: Options, step: Step):
        source, n, d, k = setup.source, setup.n, setup.d, setup.k
        require_gaussian(f"batches={options.batches!r}", source)
        super().__init__(setup, options, step, 4)
        self._batch = Batch(setup.largest, source.noise, options.split)
        self._implicit = isinstance(source, ImplicitRepresentation)
        C, Phi = coordinates(setup.B, np.eye(*setup.B.shape) if self._implicit else source.B)
        self._state = kernel.State(C, Phi, np.ascontiguousarray(setup.W.T))
        self._truth = kernel.Truth(np.ascontiguousarray(source.W.T), source.W.T @ source.W / n)
        self._others = float(d - k - len(Phi))
        self._measure()
        self._heads = kernel.heads_workspace(k, setup.participants)
        self._work = client_workspace(k, d), kernel.server_workspace(k, d)
        self.most = max(1, int(WORK_PER_CALL / (setup.participants * k * k * 10)))

    @property
    def state(self):
        """Coordinates against B*, the heads, and a B that has them, where B* is stored."""
        C, Phi, WT = self._state
        state = {"C": C, "Phi": Phi, "W": np.ascontiguousarray(WT.T)}
        if not self._implicit:
            state["B"] = lift(self._setup.source, C, Phi, self._setup.data_rng)
        return state

    def _play(self, schedule, rows):
        return kernel.run_gram(
            self._rng, self._others, self._batch, self._settings, self._truth, schedule,
            self._state, rows, self._heads, self._work,
        )  # fmt: skip

    def _measure(self):
        C, Phi, WT = self._state
        (k, _), n = C.shape, self._setup.n
        excess = kernel.deviation(C, self._truth.WT, WT, 0, n, np.empty(BLOCK)) / n
        kernel.measure(Phi, self._truth.moment, excess, np.empty((k, k)), self._table[0])
