"""What moves FLUTE's state on: rounds on samples, or in the population limit."""

import numpy as np

from linrep.algorithms._schedule import Schedule
from linrep.driver import WORK_PER_CALL
from linrep.kernels import flute as kernel
from linrep.problems.samples import DESIGNS

_ROUNDS_PER_CALL = 4096


class Sampled:
    """Rounds on stored or fresh samples; run() moves `state` on."""

    def __init__(self, source, m, B, W, steps, rounds, participants, data_rng, participation_rng):
        self._source, self._steps = source, steps
        self._BT, self._W = B.T.copy(), W.copy()
        d, k = B.shape
        ahead = max(1, min(rounds, _ROUNDS_PER_CALL))
        self._schedule = Schedule(participation_rng, len(W), participants, ahead)
        a_round = participants * (m * (2 * d + 4 * k) + 4 * d * k)
        self.most = max(1, min(ahead, int(WORK_PER_CALL / a_round)))
        self._losses = np.empty(self.most)
        self._data_rng = data_rng
        self._work = kernel.workspace(B.shape[1], B.shape[0], m, participants)
        self.loss = np.nan

    @property
    def state(self):
        return self._BT.T.copy(), self._W.copy()

    def run(self, rounds):
        """Run at most so many rounds; return how many were completed, and how they ended."""
        completed, status = kernel.run(
            self._data_rng, *self._source, self._schedule.next(rounds), self._BT, self._W,
            *self._steps, self._losses, self._work,
        )  # fmt: skip
        if completed:
            self.loss = self._losses[completed - 1]
        return completed, status


class Population:
    """Rounds of infinitely many samples, in the singular bases of Phi."""

    loss = np.nan

    def __init__(self, truth, B, W, steps):
        self._U, self._singular_values, self._V = truth.svd
        self._start: tuple | None = (B, W)
        self._BT = (self._U.T @ B).T.copy()
        self._WT = (self._V.T @ W).T.copy()
        k = B.shape[1]
        self.most = max(1, int(WORK_PER_CALL / (8 * k * k * (len(B) + len(W)))))
        self._steps = steps
        self._work = (
            np.empty_like(self._BT), np.empty_like(self._WT), np.empty((k, k)), np.empty((k, k)),
        )  # fmt: skip

    @property
    def state(self):
        if self._start is not None:  # exactly what it was
            return self._start
        return self._U @ self._BT.T, self._V @ self._WT.T

    def run(self, rounds):
        """Run rounds; return how many were completed, and how they ended."""
        self._start = None
        return kernel.run_population(
            self._BT, self._WT, self._singular_values, *self._steps, rounds, *self._work
        )


def source(truth, data, m):
    """Return the kernel's arguments that say where gradients come from."""
    no_matrices, no_models, no_numbers = np.empty((0, 0, 0)), np.empty((0, 0)), np.empty(0)
    if data is None:
        return (
            kernel.FRESH, DESIGNS[truth.design], truth.degrees_of_freedom, truth.noise,
            np.empty((m, truth.d)), np.empty(m), np.empty(0, np.int64),
            no_matrices, truth.theta, no_numbers,
        )  # fmt: skip
    if data.m.min() > data.d:  # the second moments are smaller than the samples
        S, centres, rests = _sufficient(data)
        empty = np.empty((0, data.d)), no_numbers, data.offsets
        return kernel.GRAM, 0, 0.0, 0.0, *empty, S, centres, rests
    stored = data.X, data.y, data.offsets
    return kernel.STORED, 0, 0.0, 0.0, *stored, no_matrices, no_models, no_numbers


def _sufficient(data):
    """Return each client's X'X/m, a least-squares model, and what that leaves of its loss."""
    n, d = data.n, data.d
    S, centres, rests = np.empty((n, d, d)), np.empty((n, d)), np.empty(n)
    for i in range(n):
        X, y = data.client(i)
        S[i] = X.T @ X / len(y)
        centres[i] = np.linalg.lstsq(X, y, rcond=None)[0]
        rests[i] = np.mean((X @ centres[i] - y) ** 2) / 2.0
    return S, centres, rests
