"""What moves FLUTE's state on: rounds on samples, or in the population limit."""

import numpy as np

from linrep import _memory as memory
from linrep.algorithms._schedule import Schedule
from linrep.driver import WORK_PER_CALL
from linrep.kernels import flute as kernel
from linrep.problems.samples import DESIGNS

ROUNDS_PER_CALL = 4096
# Dimension from which on second moments are kept as triangles: below, where a client's are in cache
# anyway, the whole matrix is the faster one.
PACKED_FROM = 100


class Sampled:
    """Rounds on stored or fresh samples; run() moves `state` on."""

    def __init__(self, source, B, W, steps, schedule: Schedule, data_rng, m):
        self._source, self._steps, self._schedule = source, steps, schedule
        self._BT, self._W = B.T.copy(), W.copy()
        (d, k), participants = B.shape, schedule.participants
        a_round = participants * (m * (2 * d + 4 * k) + 4 * d * k)
        self.most = max(1, min(schedule.ahead, int(WORK_PER_CALL / a_round)))
        self._losses = np.empty(self.most)
        self._data_rng = data_rng
        self._work = kernel.workspace(k, d, m, participants)
        self.loss = np.nan

    @property
    def state(self):
        """B (d, k) and W (n, k)."""
        return self._BT.T.copy(), self._W.copy()

    def run(self, rounds):
        """Run at most so many rounds; return how many were completed, and how they ended."""
        schedule = self._schedule.next(rounds)
        completed, status = kernel.run(
            self._data_rng, self._source, schedule, self._BT, self._W, self._steps, self._losses,
            self._work,
        )  # fmt: skip
        self._schedule.give_back(len(schedule) - completed)
        if completed:
            self.loss = self._losses[completed - 1]
        return completed, status

    def save(self):
        """Return what `restore` needs to go on from here."""
        state = self._data_rng.bit_generator.state
        return self._BT.copy(), self._W.copy(), self.loss, self._schedule.save(), state

    def restore(self, saved):
        """Go to where `save` was called."""
        self._BT[:], self._W[:], self.loss, schedule, state = saved
        self._schedule.restore(schedule)
        self._data_rng.bit_generator.state = state


class Population:
    """Rounds of infinitely many samples, in the singular bases of Phi."""

    loss = np.nan

    def __init__(self, truth, B, W, steps):
        self._of_start = max(truth.n, truth.d) ** 2 > memory.DENSE
        if not self._of_start:
            self._U, self._singular_values, self._V = truth.svd
            self._BT = (self._U.T @ B).T.copy()
            self._WT = (self._V.T @ W).T.copy()
        else:
            U, self._singular_values, VT = np.linalg.svd(truth.Phi, full_matrices=False)
            self._U, self._BT = _coordinates(U, B)
            self._V, self._WT = _coordinates(VT.T, W)
        self._start: tuple | None = (B, W)
        k = B.shape[1]
        self.most = max(1, int(WORK_PER_CALL / (8 * k * k * (len(B) + len(W)))))
        self._steps = steps
        self._work = kernel.PopulationWorkspace(
            np.empty_like(self._BT), np.empty_like(self._WT), np.empty((k, k)), np.empty((k, k))
        )

    @property
    def state(self):
        """B (d, k) and W (n, k)."""
        if self._start is not None:  # exactly what it was
            return self._start
        return self._U @ self._BT.T, self._V @ self._WT.T

    def run(self, rounds):
        """Run rounds; return how many were completed, and how they ended."""
        self._start = None
        return kernel.run_population(
            self._BT, self._WT, self._singular_values, self._steps, rounds, self._work
        )

    def save(self):
        """Return what `restore` needs to go on from here."""
        bases = (self._U, self._V) if self._of_start else ()
        return self._BT.copy(), self._WT.copy(), *bases

    def restore(self, saved):
        """Go to where `save` was called."""
        self._BT[:], self._WT[:], *bases = saved
        if bases:
            self._U, self._V = bases
        self._start = None


def _coordinates(basis, start):
    """Return a basis of the columns of both, and in it the start's coordinates, transposed.

    What is orthogonal to the singular vectors of Phi moves by a matrix (k, k) from the right, so
    that it stays in the span of what the start has of it.
    """
    inside = basis.T @ start
    rest = start - basis @ inside
    again = basis.T @ rest  # a second time: little may be left of the rest
    outside, factor = np.linalg.qr(rest - basis @ again)
    return np.hstack([basis, outside]), np.vstack([inside + again, factor]).T.copy()


def source(truth, data, m):
    """Return where the kernel's gradients come from."""
    nothing = kernel.Source(
        kind=kernel.STORED,
        design=0,
        degrees_of_freedom=0.0,
        noise=0.0,
        X=np.empty((0, 0)),
        y=np.empty(0),
        offsets=np.empty(0, np.int64),
        S=np.empty((0, 0, 0)),
        triangles=np.empty((0, 0)),
        centres=np.empty((0, 0)),
        rests=np.empty(0),
    )
    if data is None:
        memory.require("a client's batch", m * truth.d, m=m, d=truth.d)
        return nothing._replace(
            kind=kernel.FRESH,
            design=DESIGNS[truth.design],
            degrees_of_freedom=float(truth.degrees_of_freedom),
            noise=truth.noise,
            X=np.empty((m, truth.d)),
            y=np.empty(m),
            centres=truth.theta,
        )
    if data.m.min() > data.d:  # the second moments are smaller than the samples
        kind, field = (kernel.GRAM, "S") if data.d < PACKED_FROM else (kernel.PACKED, "triangles")
        moments, centres, rests = _sufficient(data, packed=kind == kernel.PACKED)
        known = {field: moments, "centres": centres, "rests": rests}
        return nothing._replace(kind=kind, **known)
    return nothing._replace(kind=kernel.STORED, X=data.X, y=data.y, offsets=data.offsets)


def _sufficient(data, packed):
    """Return each client's X'X/m, a least-squares model, and what that leaves of its loss.

    Packed, of X'X/m the upper triangle, row after row.
    """
    n, d = data.n, data.d
    S = np.empty((n, d * (d + 1) // 2) if packed else (n, d, d))
    centres, rests = np.empty((n, d)), np.empty(n)
    upper = np.triu_indices(d)
    for i in range(n):
        X, y = data.client(i)
        moments = X.T @ X / len(y)
        S[i] = moments[upper] if packed else moments
        centres[i] = np.linalg.lstsq(X, y, rcond=None)[0]
        rests[i] = np.mean((X @ centres[i] - y) ** 2) / 2.0
    return S, centres, rests
