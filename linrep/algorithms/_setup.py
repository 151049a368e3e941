"""What the iterative methods share: reading their arguments and getting under way."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linrep._lib import validation as check
from linrep._lib.weights import WEIGHTS, reciprocal_shares
from linrep.algorithms._compression import compressed, compressed_halves
from linrep.algorithms._schedule import Schedule
from linrep.algorithms.driver import Beginning, begin, each_way
from linrep.algorithms.starts import (
    models_start,
    moments_start,
    projected_gradient_start,
    random_start,
    truncated_start,
)
from linrep.algorithms.whitening import Whitening, whitening
from linrep.kernels.rounds import DISTANCE, HEAD_ERROR, LOSS, POPULATION_RISK
from linrep.problems.clients import ClientData
from linrep.problems.regression import ImplicitRepresentation, SharedRepresentation
from linrep.problems.subspace import frame_at_distance, orthonormalize
from linrep.trace import Trace

BATCHES = ("fixed", "fresh", "split", "gram", "gram_split")
_SPECTRAL = ("moments", "truncated")
STARTS = ("moments", "models", "random", "projected_gradient", "truncated")
PROJECTED_GRADIENT_ROUNDS = 10
MEASURED_AT_ONCE = 2**15  # numbers of the models of states that wait to be measured together
#: Columns of what kernels note of every round, where there is a truth.
METRICS = {
    "distance": DISTANCE,
    "loss": LOSS,
    "head_error": HEAD_ERROR,
    "population_risk": POPULATION_RISK,
}


@dataclass(frozen=True)
class Setup:
    """A checked problem with its start and its streams; see :func:`prepare`."""

    truth: SharedRepresentation | None
    data: ClientData | None  # None where every round draws anew
    largest: int  # batch
    k: int
    n: int
    d: int
    B: NDArray[np.float64]
    W: NDArray[np.float64]
    participants: int
    floats_up: int
    floats_down: int
    start: str
    data_rng: np.random.Generator
    participation_rng: np.random.Generator
    begun: Beginning

    @property
    def source(self) -> SharedRepresentation:
        """The truth that batches are drawn from, where there are no stored data."""
        assert self.truth is not None
        return self.truth

    @property
    def stored(self) -> ClientData:
        """The samples, where they are stored."""
        assert self.data is not None
        return self.data

    def orthonormalize(self):
        """Take an orthonormal basis of the starting B, with W B' as it is."""
        frame = orthonormalize(self.B)
        self.W[:] = self.W @ (self.B.T @ frame)
        self.B[:] = frame

    def whitened(self) -> tuple[Setup, Whitening]:
        """Return the same in coordinates in which pooled covariates have second moment I.

        Of stored data without a truth, whose representation and heads are orthonormalized there.
        """
        data = self.stored
        coordinates = whitening(data).widened(self.k)
        Z = ClientData(coordinates.covariates(data.X), data.y, data.offsets)
        inside = replace(self, data=Z, d=Z.d, B=coordinates.back @ self.B, W=self.W.copy())
        inside.orthonormalize()
        return inside, coordinates

    def compressed(self, rounds: int, work: float, *, in_halves: bool = False) -> Setup:
        """Return the same on factors of the samples, where rounds of so much work a sample pay it.

        The rounds are those of one long run, if this one goes on from another. Where samples are
        drawn in every round, there is nothing to be factored.
        """
        if self.data is None:
            return self
        factored = compressed_halves if in_halves else compressed
        share = self.participants / self.n
        data = factored(self.data, self.begun.in_all(rounds) * share * work)
        return replace(self, data=data, largest=int(data.m.max()))

    def schedule(self) -> Schedule:
        """Return the participants of the rounds."""
        return Schedule(self.participation_rng, self.n, self.participants)

    def sent(self, per_client: int):
        """Return what the driver is to know of floats, of which a client sends so many a round."""
        return each_way(self.participants * per_client, self.floats_up, self.floats_down)


def prepare(
    problem, *, m, k, batches, start, participation, rng, weights="clients"
) -> Setup:  # fmt: skip
    """Check the arguments every iterative method takes, spawn its streams, draw data and start.

    The streams are data, participation and start. Two methods given the same seed thus see the
    same data, participants and starting points. Stored samples are multiplied by the roots of their
    clients' weights, relative to the mean one, which changes no least-squares head.
    """
    given = problem
    alike = isinstance(weights, str) and check.choice("weights", weights, WEIGHTS) == "clients"
    if isinstance(problem, ClientData) and not alike:
        problem = _weighted(problem, weights)
    begun = begin(problem, start, rng, "data", "participation", "start")
    data_rng, participation_rng, start_rng = begun.rngs
    truth, data, m = read_problem(problem, m, batches)
    n, d = problem.n, problem.d
    k = read_rank(k, truth, n, d)
    if truth is not None and k != truth.k:
        raise ValueError(f"k must equal the truth's rank {truth.k}, got {k}")
    participants = check.count_participants(n, participation)
    if data is None and batches == "fixed":
        given = truth.draw(m, rng=data_rng)
        data = given if alike else _weighted(given, weights)
    if data is None and not alike:
        raise ValueError("weights must be 'clients' where every round draws new samples")
    if isinstance(truth, ImplicitRepresentation):
        read = _read_implicit_start(start, truth, k, n, d, start_rng)
    elif isinstance(start, str) and start in _SPECTRAL and data is not None:
        read = _spectral_start(start, given, k, weights)
    else:
        read = _read_start(start, truth, data, m, k, n, d, start_rng)
    B, W, up, down = read
    largest = m if data is None else int(data.m.max())
    name: Any = float(start) if _is_distance(start) else start_name(start)
    return Setup(
        truth, data, largest, k, n, d, B, W, participants, up, down, name, data_rng,
        participation_rng, begun,
    )  # fmt: skip


def _weighted(data, weights):
    parts = reciprocal_shares(weights, data.m)
    if np.isinf(parts).any():
        raise ValueError("weights must be positive for all clients: leave the others out")
    roots = np.repeat(np.sqrt(data.n / parts), data.m)
    return replace(data, X=data.X * roots[:, None], y=data.y * roots)


def read_pair(start, names: str, **shapes: tuple[int, int]) -> list[NDArray[np.float64]]:
    """Return copies of the two matrices that a start is given as; names are the others it has.

    Of a Trace, those of its state.
    """
    if isinstance(start, Trace):
        missing = [name for name in shapes if name not in start.state]
        if missing:
            raise ValueError(f"start must be a trace with {' and '.join(missing)} in its state")
        start = tuple(start.state[name] for name in shapes)
    if not isinstance(start, tuple | list) or len(start) != 2:
        got = f", got {start!r}" if isinstance(start, str) else ""
        raise ValueError(f"start must be {names} or a pair ({', '.join(shapes)}){got}")
    return [
        check.array(f"start's {name}", matrix, shape).copy()
        for matrix, (name, shape) in zip(start, shapes.items(), strict=True)
    ]


def start_name(start: object) -> str:
    """Return what a trace's settings call a start: its name, or how it was given."""
    if isinstance(start, str):
        return start
    return "trace" if isinstance(start, Trace) else "given"


def choose_batches(problem: object, drawn: str = "fresh") -> str:
    """Return which batches a run has by default: those of samples, or new ones of a truth."""
    return drawn if isinstance(problem, SharedRepresentation) else "fixed"


def read_problem(problem, m, batches, kinds: tuple[type, ...] = (SharedRepresentation,)):
    """Check what samples come from, and return the truth, the data, and m; each may be None.

    A truth of another kind than these is none.
    """
    if isinstance(problem, ClientData):
        if m is not None:
            raise ValueError("m must not be given with ClientData, which has its samples already")
        if batches != "fixed":
            raise ValueError(
                f"batches must be 'fixed' with ClientData, got {batches!r}; new samples can be "
                "drawn only from a truth"
            )
        truth = problem.truth
        return truth if isinstance(truth, kinds) else None, problem, None
    if batches == "population":
        if m is not None:
            raise ValueError("m must not be given with batches='population'")
    elif m is None:
        raise ValueError("m must be given: the number of samples per client")
    elif batches != "fixed":
        m = check.count("m", m, most=check.WHOLE)
    return problem, None, m


def read_rank(k, truth, n, d):
    """Return the rank to learn, by default that of the truth's representation."""
    if k is None:
        if not isinstance(truth, SharedRepresentation):
            raise ValueError("k must be given: the rank of the representation to learn")
        k = truth.k
    return check.rank(k, n, d)


def _is_distance(start):
    return isinstance(start, float | int) and not isinstance(start, bool)


def _read_distance(start):
    return check.real("start, a distance,", start, minimum=0.0, maximum=1.0)


def _read_start(start, truth, data, m, k, n, d, rng):
    """Return B, W, and the floats sent up and down to find them."""
    none = np.zeros((n, k))
    if isinstance(start, str):
        check.choice("start", start, STARTS)
        if start == "random":
            return *random_start(n, d, k, rng), 0, 0
        sample = data if data is not None else truth.draw(m, rng=rng)
        if start == "projected_gradient":
            sent = PROJECTED_GRADIENT_ROUNDS * n * d
            found = projected_gradient_start(sample, k, rounds=PROJECTED_GRADIENT_ROUNDS)
            return *found, sent, sent
        if start == "models":  # found in one place
            return models_start(sample, k), none, 0, 0
        return _spectral_start(start, sample, k)
    if _is_distance(start):
        if truth is None:
            raise ValueError("start as a distance needs a known truth")
        return frame_at_distance(truth.B, _read_distance(start), rng=rng), none, 0, 0
    if isinstance(start, Trace):
        start = tuple(read_pair(start, "", B=(d, k), W=(n, k)))
    if isinstance(start, tuple) and len(start) != 2:
        raise ValueError("start must be a name, a distance, a matrix B, or a pair (B, W)")
    B, W = start if isinstance(start, tuple) else (start, none)
    B = check.array("start", B, (d, k)).copy()
    if np.linalg.matrix_rank(B) < k:
        raise ValueError("start must have full column rank, its columns are linearly dependent")
    return B, check.array("start's heads", W, (n, k)).copy(), 0, 0


def _spectral_start(start, data, k, weights="clients"):
    """Return what _read_start does, from a matrix of moments."""
    n, d = data.n, data.d
    if start == "moments":
        return moments_start(data, k, weights=weights), np.zeros((n, k)), n * d * (d + 1) // 2, 0
    # A sum of squares, the threshold, and a column of the matrix.
    return truncated_start(data, k, weights=weights), np.zeros((n, k)), n * (d + 1), n


def _read_implicit_start(start, truth, k, n, d, rng):
    """Return what _read_start does, for a truth that stores no B*.

    B is in coordinates of B* and of what B adds to it.
    """
    p = min(k, d - k)
    if isinstance(start, str) and start == "random":
        # Of a standard normal matrix (d, k) the lower d - k rows enter by their triangular factor.
        factor = np.triu(rng.standard_normal((p, k)))
        factor[np.arange(p), np.arange(p)] = np.sqrt(rng.chisquare(d - k - np.arange(p)))
        B = orthonormalize(np.vstack([rng.standard_normal((k, k)), factor]))
        return B, rng.standard_normal((n, k)), 0, 0
    if _is_distance(start):
        B = frame_at_distance(np.eye(k + p, k), _read_distance(start), rng=rng)
    elif isinstance(start, Trace):  # where the run went from is in the coordinates it keeps
        B = np.eye(k + p, k)
    else:
        raise ValueError(
            f"start must be 'random' or a distance for a truth that stores no B*, got {start!r}"
        )
    return B, np.zeros((n, k)), 0, 0
