"""What moves FLUTE's state on: rounds on samples, or in the population limit."""

from typing import ClassVar, NamedTuple

import numpy as np

from linrep._lib import memory
from linrep.algorithms._compression import compressed
from linrep.algorithms._schedule import Schedule
from linrep.algorithms._setup import MEASURED_AT_ONCE
from linrep.algorithms.descent import Descent, Smoothness
from linrep.algorithms.driver import WORK_PER_CALL, Method
from linrep.algorithms.flute.options import Options, Weights
from linrep.kernels import flute as kernel
from linrep.kernels import flute_abreast as abreast
from linrep.kernels.linalg import RANK_TOLERANCE
from linrep.kernels.rounds import COMPLETED, CONVERGED
from linrep.problems.samples import DESIGNS

ROUNDS_PER_CALL = 4096
# Dimension from which on second moments are kept as triangles: below, where a client's are in cache
# anyway, the whole matrix is the faster one.
PACKED_FROM = 100
# Sizes at which all clients' rounds are run side by side: in more dimensions, or of fewer clients,
# there is nothing to gain, and more clients' second moments are not in cache.
_DIMENSIONS, _CLIENTS = range(1, 12), range(14, 4097)
_PIVOTS = 1e-7  # smallest over largest above which a triangular system is solved as it is


class Draws(NamedTuple):
    """Where gradients come from: samples, stored or drawn, and the participants of each round."""

    source: kernel.Source
    schedule: Schedule
    rng: np.random.Generator
    m: int  # samples of the largest batch


class Rounds(Method):
    """What all rounds have in common; see :class:`linrep.algorithms.driver.Method`.

    What is measured of them are the factors, with the loss and the step of the last round: kernels
    end before these are not finite. The table makes metrics of many at a time, since a call costs
    more than a state.
    """

    kept: ClassVar[tuple[str, ...]] = ("loss", "step")

    def __init__(self, table, B, W):
        self._table, self.at_once = table, -(-MEASURED_AT_ONCE // (len(B) * len(W)))
        self.loss = self.step = np.nan

    @property
    def factors(self):
        """B (d, k) and W (n, k)."""
        raise NotImplementedError

    @property
    def state(self):
        """The factors by their names."""
        return dict(zip("BW", self.factors, strict=True))

    def measure(self):
        """Return the state with its loss and step."""
        return *self.factors, self.loss, self.step

    def table(self, measured):
        """Return the metrics of these rounds."""
        metrics = self._table([row[:3] for row in measured])
        found = {} if self.asked is None else {"step_size": np.array([row[3] for row in measured])}
        return metrics | found


class Sampled(Rounds):
    """Rounds on stored or fresh samples."""

    buffers = ("_BT", "_W")
    kept = ("_schedule", "_data_rng")

    def __init__(self, table, draws: Draws, B, W, steps: kernel.Steps):
        super().__init__(table, B, W)
        self._source, self._schedule, self._data_rng, m = draws
        self._steps = steps
        self._BT, self._W = B.T.copy(), W.copy()
        (d, k), participants = B.shape, self._schedule.participants
        a_round = participants * (m * (2 * d + 4 * k) + 4 * d * k)
        self.most = max(1, min(ROUNDS_PER_CALL, int(WORK_PER_CALL / a_round)))
        self._losses = np.empty(self.most)
        self._work = kernel.workspace(k, d, m, participants)

    @property
    def factors(self):
        """B (d, k) and W (n, k)."""
        return self._BT.T.copy(), self._W.copy()

    def run(self, rounds):
        """Run at most so many rounds; return how many were completed, and how they ended."""
        return self._play(self._schedule.next(rounds))

    def _play(self, schedule):
        completed, status = self._compute(schedule)
        self._schedule.give_back(schedule, completed)
        if completed:
            self.loss = self._losses[completed - 1]
        return completed, status

    def _compute(self, schedule):
        return kernel.run(
            self._data_rng, self._source, schedule, self._BT, self._W, self._steps, self._losses,
            self._work,
        )  # fmt: skip


class Abreast(Sampled):
    """The same, of all clients side by side; see `side_by_side`."""

    def __init__(self, table, draws: Draws, B, W, steps: kernel.Steps):
        super().__init__(table, draws, B, W, steps)
        source = draws.source
        self._moments = abreast.moments(source.S, source.centres, source.rests)
        self._scratch = abreast.workspace(B.shape[1], self._moments)

    def _compute(self, schedule):
        losses = self._losses[: len(schedule)]
        return abreast.run(self._moments, self._BT, self._W, self._steps, losses, self._scratch)


class Population(Rounds):
    """Rounds of infinitely many samples, in the singular bases of Phi."""

    def __init__(self, table, truth, B, W, steps):
        super().__init__(table, B, W)
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
    def factors(self):
        """B (d, k) and W (n, k)."""
        if self._start is not None:  # exactly what it was
            return self._start
        return self._U @ self._BT.T, self._V @ self._WT.T

    def run(self, rounds):
        """Run at most so many rounds; return how many were completed, and how they ended."""
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


def make_rounds(options: Options, table, truth, draws: Draws | None, B, W, sizes, unit):
    """Return what runs rounds with these settings, and how the step is found.

    The sizes of the steps are eta_l and eta_r, and the unit is that of covariates.
    """
    n, found = len(W), options.step_size is None
    weights = options.weights(sizes[1], n, unit**2)
    if draws is None:
        if found:
            losses = PopulationLosses(truth, B.shape[1])
            return Adaptive(table, losses, B, W, weights), "adaptive"
        return Population(table, truth, B, W, options.steps(sizes, n, n)), options.rule
    participants = draws.schedule.participants
    if found and participants < n:
        return BySmoothness(table, draws, B, W, weights), "smoothness"
    if found:
        return Adaptive(table, StoredLosses(draws, B.shape, n), B, W, weights), "adaptive"
    kind = Abreast if side_by_side(draws.source, participants) else Sampled
    return kind(table, draws, B, W, options.steps(sizes, n, participants)), options.rule


class StoredLosses:
    """The sum of clients' losses on stored samples, with its gradients."""

    def __init__(self, draws: Draws, shape, n):
        self._source, self._n, m, (d, k) = draws.source, n, draws.m, shape
        self._work = kernel.workspace(k, d, m, 1)
        #: Multiplications that everyone's losses take, about.
        self.cost = n * (m * 2 * d + 4 * k * d)

    def __call__(self, BT, W, participants=None):
        """Return the participants' sum, and the gradients in BT and W."""
        if participants is None:
            participants = np.arange(self._n)
        in_BT, in_W = np.empty_like(BT), np.zeros_like(W)
        loss = kernel.evaluate(self._source, participants, BT, W, in_BT, in_W, self._work)
        return loss, in_BT, in_W


class PopulationLosses:
    """What the above is for infinitely many samples: half of ||B W' - Phi||^2."""

    def __init__(self, truth, k):
        self._theta = truth.theta
        self.cost = 3 * self._theta.size * k

    def __call__(self, BT, W):
        """Return the sum, and the gradients in BT and W."""
        residual = W @ BT - self._theta
        return 0.5 * np.sum(residual**2), W.T @ residual, residual @ BT.T


class Adaptive(Rounds):
    """Rounds of all clients, by gradient descent whose steps are found on the way."""

    kept = ("_descent",)

    def __init__(self, table, losses, B, W, weights: Weights):
        super().__init__(table, B, W)
        self._losses, self._weights = losses, weights
        self._descent = Descent(self._evaluate, B.T, W)
        self.most = max(1, int(WORK_PER_CALL / (2 * losses.cost)))

    def _evaluate(self, BT, W):
        loss, in_BT, in_W = self._losses(BT, W)
        value, more_BT, more_W = self._weights.regularizer(BT, W)
        data = self._weights.data
        gradients = data * in_BT + more_BT, data * in_W + more_W
        return data * loss + value, gradients, loss / len(W)

    @property
    def factors(self):
        """B (d, k) and W (n, k)."""
        BT, W = self._descent.factors
        return BT.T.copy(), W.copy()

    @property
    def asked(self):
        """How often a round's clients were asked for gradients so far."""
        return self._descent.asked

    def run(self, rounds):
        """Run at most so many rounds; return how many were completed, and how they ended."""
        descent = self._descent
        for done in range(1, rounds + 1):
            before, self.loss = descent.x, descent.note
            descent.move()
            self.step = descent.step
            change = np.linalg.norm(descent.x - before)
            if change <= self._weights.tolerance * np.linalg.norm(descent.x):
                return done, CONVERGED
        return rounds, COMPLETED


class BySmoothness(Sampled):
    """Rounds of drawn clients on stored samples, by steps of 1.5/L."""

    kept = ("_smoothness", "_rounds")

    def __init__(self, table, draws: Draws, B, W, weights: Weights):
        none = kernel.Steps(0.0, 0.0, 0.0, 0.0, weights.tolerance)
        super().__init__(table, draws, B, W, none)
        self._weights, self._objective = weights, StoredLosses(draws, B.shape, len(W))
        self._smoothness = Smoothness(B.size + W.size, drawn=True)
        self._share = len(W) / draws.schedule.participants
        self._rounds = 0

    @property
    def asked(self):
        """How often a round's clients were asked for gradients so far."""
        return self._rounds + self._smoothness.gradients

    def run(self, rounds):
        """Run at most so many rounds; return how many were completed, and how they ended."""
        for done in range(rounds):
            schedule = self._schedule.next(1)
            self.step = self._find_step(schedule[0])
            data_step = self.step * self._weights.data
            self._steps = kernel.Steps(
                data_step, data_step * self._share, self.step * self._weights.first,
                self.step * self._weights.second, self._weights.tolerance,
            )  # fmt: skip
            completed, status = self._play(schedule)
            self._rounds += completed
            if status != COMPLETED:
                return done + completed, status
        return rounds, COMPLETED

    def _find_step(self, participants):
        """Return the step for a round's participants, whose sum stands for all."""
        asked = np.zeros((len(self._W), 1))
        asked[participants] = 1.0
        scale = self._weights.data * self._share

        def gradient(BT, W):
            _, in_BT, in_W = self._objective(BT, W, participants)
            _, more_BT, more_W = self._weights.regularizer(BT, W)
            return scale * in_BT + more_BT, scale * in_W + more_W

        # Of the same function, heads take a shorter step than B.
        weights = 1.0, asked / self._share
        return self._smoothness.step(gradient, (self._BT, self._W), weights)


def _coordinates(basis, start):
    """Return a basis of the columns of both, and in it the start's coordinates, transposed.

    What is orthogonal to the singular vectors of Phi moves by a matrix (k, k) from the right, so
    that it stays in the span of what the start has of it.
    """
    inside = basis.T @ start
    remainder = start - basis @ inside
    again = basis.T @ remainder  # a second time: little may be left of the remainder
    outside, factor = np.linalg.qr(remainder - basis @ again)
    return np.hstack([basis, outside]), np.vstack([inside + again, factor]).T.copy()


def source(truth, data, m, rounds=0):
    """Return where the kernel's gradients come from.

    Stored samples are read in so many rounds: where that pays for factoring them, and every client
    has more of them than dimensions, the gradients are of second moments.
    """
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
    rows = compressed(data, 2.0 * data.d * rounds)
    if rows is data or data.m.min() <= data.d:
        return nothing._replace(kind=kernel.STORED, X=rows.X, y=rows.y, offsets=rows.offsets)
    kind, field = (kernel.GRAM, "S") if data.d < PACKED_FROM else (kernel.PACKED, "triangles")
    moments, centres, rests = _sufficient(rows, packed=kind == kernel.PACKED)
    return nothing._replace(kind=kind, **{field: moments, "centres": centres, "rests": rests})


def side_by_side(source: kernel.Source, participants: int) -> bool:
    """Tell whether `Abreast` is the faster one, which needs second moments and all clients."""
    if source.kind != kernel.GRAM:
        return False
    n, d = source.centres.shape
    return participants == n and n in _CLIENTS and d in _DIMENSIONS


def _sufficient(rows, packed):
    """Return each client's X'X/m, a least-squares model, and what that leaves of its loss.

    Of clients with d + 1 rows each, all but the last of X triangular. Packed, of X'X/m the upper
    triangle, row after row.
    """
    n, d = rows.n, rows.d
    X, y = rows.X.reshape(n, d + 1, d), rows.y.reshape(n, d + 1)
    pivots = np.abs(np.diagonal(X, axis1=1, axis2=2))
    regular = pivots.min(axis=1) > _PIVOTS * pivots.max(axis=1)
    centres = np.empty((n, d))
    centres[regular] = np.linalg.solve(X[regular, :d], y[regular, :d, None])[..., 0]
    for lacking in np.flatnonzero(~regular):
        centres[lacking] = np.linalg.lstsq(X[lacking], y[lacking], RANK_TOLERANCE)[0]
    rests = np.mean((np.einsum("ijc,ic->ij", X, centres) - y) ** 2, axis=1) / 2.0
    upper = np.triu_indices(d)
    S = np.empty((n, upper[0].size) if packed else (n, d, d))
    for i, factor in enumerate(X):
        moments = factor.T @ factor / (d + 1)
        S[i] = moments[upper] if packed else moments
    return S, centres, rests
