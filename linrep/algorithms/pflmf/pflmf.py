"""pFL^MF: personalized models as one low-rank matrix, by gradient steps on its factors."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linrep._lib import validation as check
from linrep._lib.arguments import checked
from linrep._lib.clock import Stopwatch
from linrep.algorithms._compression import compressed_losses
from linrep.algorithms._setup import read_pair, start_name
from linrep.algorithms.diagnosis import own_data
from linrep.algorithms.driver import WORK_PER_CALL, Method, begin, drive, each_way
from linrep.algorithms.errors import models_errors
from linrep.algorithms.pflmf.options import Options
from linrep.algorithms.pflmf.rounds import make_rounds
from linrep.algorithms.registry import algorithm
from linrep.algorithms.resumable import Resumable
from linrep.algorithms.step_sizes import units_of
from linrep.kernels import designs
from linrep.kernels.pflmf import REACH_U, REACH_V, SUM_U, SUM_V
from linrep.problems import subspace
from linrep.problems.clients import ClientData
from linrep.problems.losses import as_objectives
from linrep.problems.low_rank import LowRankRegression
from linrep.problems.objectives import Objectives
from linrep.problems.random import RNGLike
from linrep.problems.regression import SharedRepresentation
from linrep.problems.subspace import random_frame
from linrep.trace import Trace, read_rounds

__all__ = ["pflmf"]

Values = NDArray[np.float64]
STARTS = ("random", "balanced", "zero", "spectral")
_SCALE = 0.1  # of a random start
_NUMBERS_PER_CALL = 1 << 20


@algorithm("regression")
def pflmf(
    problem: Objectives | ClientData | SharedRepresentation | LowRankRegression,
    *,
    step_size: float | None = None,
    k: int | None = None,
    m: int | ArrayLike | None = None,
    rounds: int = 1000,
    local_steps: int = 1,
    head_step_size: float | str | None = None,
    participation: float = 1.0,
    sampling: str = "bernoulli",
    aggregate: str = "participants",
    order: str = "simultaneous",
    gradient_noise: float = 0.0,
    batch: int | None = None,
    start: str | tuple[ArrayLike, ArrayLike] | Trace = "random",
    scale: float | None = None,
    stationarity: bool = True,
    record: int | ArrayLike = 1,
    tolerance: float | None = None,
    rng: RNGLike = None,
) -> Trace:
    r"""Minimize :math:`F(UV^\top) = \frac1n \sum_i f_i(U v_i)` by block-coordinate gradient steps.

    Each round, participants take local steps on their heads v_i with U fixed, and the server a step
    on U with a mean of gradients at the old heads:

    .. math::
        v_i \leftarrow v_i - \eta_v \frac1n U^\top \nabla f_i(U v_i), \qquad
        U \leftarrow U - \eta \frac1{|S|} \sum_{i \in S} \nabla f_i(U v_i) v_i^\top

    Parameters
    ----------
    problem : Objectives, ClientData, SharedRepresentation or LowRankRegression
        Clients' functions; samples, for their least squares; or a truth, from which m samples per
        client are drawn.
    step_size : float, optional
        Step size :math:`\eta`, the paper's eta_u. By default it is found in every round: where all
        clients take one local step, in simultaneous order and without noise or mini-batches, rounds
        are gradient descent on F, and the step is that of Barzilai and Borwein; a step that raises
        F is repeated with a shorter length. With several local steps, or in alternating order, the
        step is lengthened while F falls, and halved when it rises. If clients are drawn, or
        gradients are noisy, it is 1.5/L, where L is the largest curvature of the participants'
        function at (U, V). When only rounding is left to gain, the run ends as ``converged``.
    k
    m : int or array_like of int, shape (n,), optional
        Samples per client, with a truth only.
    rounds
    local_steps : int, default 1
        K steps on a head per round.
    head_step_size : float or "theorem", optional
        Step size :math:`\eta_v` of the head steps; by default `step_size`, the one step size of
        Algorithm 1. ``"theorem"`` is participation times step_size over local_steps, as Theorem 1
        has it. A number requires that `step_size` is given.
    participation : float, default 1
        Probability that a client takes part in a round, or fraction of clients that do.
    sampling : {"bernoulli", "fixed"}
        Every client takes part independently with probability p (Appendix A.1); or a uniform subset
        does, whose size is the whole number nearest to p n.
    aggregate : {"participants", "full", "unbiased"}
        U moves with the participants' mean gradient (Algorithm 1); with all clients' (equation (9)
        and Appendix A.1); or with the participants' sum over p n, which is unbiased for it. The
        first leaves U unchanged in a round without participants.
    order : {"simultaneous", "alternating"}
        U moves with gradients at the heads of the round's start (Algorithm 1, Appendix A.1), or at
        the new ones.
    gradient_noise : float, default 0
        Standard deviation sigma of the noise on gradients: every stochastic gradient in U or V is
        the exact one plus independent normal entries that have expected squares sigma^2 in all,
        equality in Assumption 2.
    batch : int, optional
        Samples a client draws, with replacement, for each stochastic gradient instead of all.
    start : {"random", "balanced", "zero", "spectral"}, pair (U, V) or Trace
        Independent N(0, scale^2) entries; `scale` times random frames, so that U'U = V'V; a random
        frame U, on samples of no known truth in units as `scale` has them, and V = 0; balanced
        factors of the best approximation of rank k of the matrix of the clients' own minimizers; or
        the matrices U (d, k) and V (n, k). With the trace of another run, that run is continued
        with its streams, and `rng` must not be given.
    scale : float, optional
        0.1 by default; on samples whose truth is not known, where no step size is given, times the
        root of the labels' standard deviation over the covariates' root mean square, and at most so
        large that the start's predictions are a tenth of the labels in root mean square: from a
        start that is far too large, steps that suit it are too short to learn the models.
    stationarity : bool, default True
        Measure in every round what Theorem 1 bounds; this requires the gradients of all clients.
    record
    tolerance : float, optional
        Stop as ``converged`` after the first round where the gradient's norm is at most this, which
        is measured in every round then.
    rng

    Returns
    -------
    Trace
        State ``U`` (d, k) and ``V`` (n, k); client i's model is U v_i. Metrics:

        - ``objective``: F;
        - ``gradient_U``, ``gradient_V``: squared Frobenius norms of its gradients in U and V;
        - ``average_U``, ``average_V``: the two parts of the left side of Theorem 1 with T = the
          rounds so far: means over the rounds of the squared gradient in U, and in V of the mean
          over local steps; NaN for the start;
        - ``reach_U``, ``reach_V``: the largest distances of U, and of V after any local step, from
          the start so far: that is, where smoothness is needed;
        - ``gap``, ``error``: F less its optimum of rank k, and the distance of the models from that
          optimum relative to it, if it has a closed form;
        - ``truth_error``: mean distance per client of its model from the truth, where known; of
          samples of a truth also ``population_risk``, and ``distance`` if it has a representation
          of rank k;
        - ``step_size``, if it is found in every round: that of the round, NaN for the start;
        - ``floats_up``, ``floats_down``: numbers sent so far, d k each way per client asked,
          including what was tried or measured to find a step.

        Averages and reaches are recorded with ``stationarity=True``.

    Notes
    -----
    pFL^MF, Algorithm 1, equations (6) to (9), and Appendix A.1; the documentation on pFL^MF has
    where these differ. Quadratic functions, least squares and logistic losses run compiled, unless
    with mini-batches or in alternating order; all others in NumPy.

    Examples
    --------
    >>> import numpy as np
    >>> import linrep as lr
    >>> A = np.random.default_rng(0).standard_normal((30, 5))
    >>> problem = lr.QuadraticObjectives(A)
    >>> trace = lr.pflmf(problem, k=2, step_size=0.5, head_step_size=5, rounds=2000, rng=1)
    >>> bool(trace["error"][-1] < 1e-6)
    True
    """
    watch = Stopwatch()
    options = Options(
        rounds=read_rounds(rounds, record), step_size=step_size, local_steps=local_steps,
        head_step_size=head_step_size, participation=participation, sampling=sampling,
        aggregate=aggregate, order=order, gradient_noise=gradient_noise, batch=batch,
        stationarity=stationarity, tolerance=tolerance,
    )  # fmt: skip
    begun = begin(problem, start, rng, "data", "participation", "start", "noise")
    data_rng, participation_rng, start_rng, noise_rng = begun.rngs
    described = repr(problem)
    objectives, k = _read_problem(problem, k, m, data_rng)
    n, d, share = objectives.n, objectives.d, options.share(objectives.n)
    finds_step = step_size is None
    usual, size = _sizes(problem, k) if finds_step else (_SCALE, 1.0)
    scale = usual if scale is None else scale
    U, V, start_floats = _read_start(start, objectives, k, scale, size, start_rng)
    losses = objectives
    if options.batch is None:
        asked = 1.0 if options.everyone else share
        losses = compressed_losses(objectives, begun.in_all(options.rounds) * asked * d * (k + 1.0))
    steps, rule = make_rounds(options, losses, U, V, noise_rng)
    draws = _Draws(options, (n, d, k), participation_rng, noise_rng)
    method = _PFLMF(objectives, steps, draws, options)

    return drive(
        method,
        algorithm="pFL^MF",
        rounds=options.rounds,
        record=record,
        settings={
            "problem": described, "k": k, "m": m, **vars(options),
            "step_size": rule if finds_step else options.step_size, "step_size_rule": rule,
            # Where the step is found, times that.
            "head_step_size": options.numbers(n).head_step_size, "participation": share,
            "start": start_name(start), "scale": scale, "factored": losses is not objectives,
        },
        watch=watch,
        sent=each_way(d * k, *start_floats),
        judged=tolerance is not None,
        begun=begun,
    )  # fmt: skip


class _PFLMF(Method):
    """Rounds with what is measured of them; see :class:`linrep.algorithms.driver.Method`."""

    kept = ("_steps", "_draws", "_done", "_clients")

    saved_before_run = True

    def __init__(self, problem, steps, draws, options: Options):
        self._problem, self._steps, self._draws = problem, steps, draws
        # Otherwise the minimizers take many iterations, and are none where there is no minimum.
        closed = type(problem).minimizers is not Objectives.minimizers
        self._best = problem.best(steps.state[0].shape[1]) if closed else None
        self._stationarity = options.stationarity
        self._limit = -1.0 if options.tolerance is None else options.tolerance * options.tolerance
        self._done, self._clients = 0, 0
        self.most = draws.most(steps.work)

    @property
    def state(self):
        U, V = self._steps.state
        return {"U": U, "V": V}

    @property
    def asked(self):
        return self._clients

    def run(self, rounds):
        masks, scales, noise, asked = self._draws.take(rounds)
        completed, status = self._steps.run(masks, scales, noise)
        self._done += completed
        self._clients += int(asked[:completed].sum()) + self._steps.further
        return completed, status

    def measure(self):
        """Return a row of metrics, None where they are not finite."""
        U, V = self._steps.state
        totals, rounds = self._steps.totals, self._done
        with np.errstate(all="ignore"):  # what overflows is not finite then
            value, in_U, in_V = self._problem.factor_gradients(U, V)
            row = {
                "objective": value,
                "gradient_U": np.sum(in_U**2),
                "gradient_V": np.sum(in_V**2),
            }
            if self._done and not np.isfinite(list(row.values())).all():
                return None
            if self._stationarity:
                row["average_U"] = totals[SUM_U] / rounds if rounds else np.nan
                row["average_V"] = totals[SUM_V] / rounds if rounds else np.nan
                row["reach_U"], row["reach_V"] = totals[REACH_U], totals[REACH_V]
            if self._steps.finds_steps:
                row["step_size"] = self._steps.step
            truth = getattr(getattr(self._problem, "data", None), "truth", None)
            if truth is not None and getattr(truth, "k", None) == U.shape[1]:
                row["distance"] = subspace.distance_or_nan(U, truth.B)
            return row | distances(self._problem, self._best, V @ U.T, value)

    def converged(self, measured):
        return measured["gradient_U"] + measured["gradient_V"] <= self._limit


class _Draws(Resumable):
    """Participants and noise of rounds to come."""

    buffers = ("_order",)
    kept = ("_rng", "_noise_rng")

    def __init__(self, options: Options, sizes, participation_rng, noise_rng):
        n, d, k = sizes
        self._n, self._share, self._participants = n, options.share(n), options.participants(n)
        self._everyone, self._aggregate = options.everyone, options.aggregate
        self._noise = options.gradient_noise
        self._rng, self._noise_rng = participation_rng, noise_rng
        self._shapes = (k, d), (options.local_steps, n, k)
        self._order = np.arange(n)

    def most(self, work):
        """Return how many rounds, of so many multiplications each, one call may take."""
        _, n, k = self._shapes[1]
        numbers = n + (k * self._shapes[0][1] + self._shapes[1][0] * n * k if self._noise else 0)
        return max(1, min(_NUMBERS_PER_CALL // numbers, int(WORK_PER_CALL / work)))

    def take(self, rounds):
        """Return masks, scales, noise and the number of clients asked for, for each round."""
        masks = self._masks(rounds)
        counts = masks.sum(axis=1)
        asked = np.full(rounds, self._n) if self._everyone else counts
        return masks, self._scales(counts), self._draw(counts), asked

    def _masks(self, rounds):
        if self._participants is None:
            return self._rng.random((rounds, self._n)) < self._share
        schedule = np.empty((rounds, self._participants), dtype=np.int64)
        designs.draw_participants(self._rng, self._order, schedule)
        masks = np.zeros((rounds, self._n), dtype=bool)
        np.put_along_axis(masks, schedule, True, axis=1)
        return masks

    def _scales(self, counts):
        if self._aggregate == "participants":
            return 1.0 / np.maximum(counts, 1)
        summed = self._n * (self._share if self._aggregate == "unbiased" else 1.0)
        return np.full(len(counts), 1.0 / summed)

    def _draw(self, counts):
        """Return noise in U and V, None where there is none; round by round, as it is used."""
        if not self._noise:
            return None
        rounds, in_U = len(counts), int(np.prod(self._shapes[0]))
        drawn = self._noise_rng.standard_normal((rounds, in_U + int(np.prod(self._shapes[1]))))
        noises = [
            self._noise / np.sqrt(shape[-1] * shape[-2]) * part.reshape(rounds, *shape)
            for shape, part in zip(self._shapes, np.hsplit(drawn, [in_U]), strict=True)
        ]
        if self._aggregate == "participants":
            noises[0][counts == 0] = 0.0
        return noises


def distances(problem: Objectives, best, theta: Values, value: float) -> dict[str, float]:
    """Return ``gap`` and ``error`` against an optimum, and errors against a truth, where known."""
    row = {}
    if best is not None:
        size = np.linalg.norm(best.theta)
        row["gap"] = value - best.value
        row["error"] = np.linalg.norm(theta - best.theta) / size if size > 0.0 else np.nan
    if problem.truth is not None:
        row["truth_error"] = np.mean(np.linalg.norm(theta - problem.truth, axis=1))
    return row | models_errors(theta, getattr(getattr(problem, "data", None), "truth", None))


def _read_problem(problem, k, m, rng):
    """Return clients' functions and the rank."""
    if isinstance(problem, SharedRepresentation) and k is None:
        k = problem.k
    if isinstance(problem, SharedRepresentation | LowRankRegression):
        if m is None:
            raise ValueError("m must be given: the number of samples per client")
        problem = problem.draw(m, rng=rng)
    elif m is not None:
        raise ValueError("m must be given with a truth only")
    problem = as_objectives(problem)
    if k is None:
        raise ValueError("k must be given: the rank of the matrix of models")
    return problem, check.rank(k, problem.n, problem.d)


def _sizes(problem, k):
    """Return the standard deviation of a random start's entries, and the size of balanced factors.

    Both are in the units of data of one's own.
    """
    data = own_data(problem)
    if data is None or not hasattr(data, "X"):
        return _SCALE, 1.0
    size = float(np.sqrt(units_of(data).models))
    # Predictions x'Uv have the variance scale^4 k |x|^2.
    return min(_SCALE, (0.01 / (k * data.X.shape[1])) ** 0.25) * size, size


def _read_start(start, problem, k, scale, size, rng):
    """Return U, V, and the floats sent up and down to find them."""
    n, d = problem.n, problem.d
    if not isinstance(start, str):
        U, V = read_pair(start, "a name", U=(d, k), V=(n, k))
        return U, V, (0, 0)
    check.choice("start", start, STARTS)
    scale = check.real("scale", scale, above=0.0)
    if start == "random":
        U = scale * rng.standard_normal((d, k))
        return U, scale * rng.standard_normal((n, k)), (0, 0)
    if start == "balanced":
        return scale * random_frame(d, k, rng), scale * random_frame(n, k, rng), (0, 0)
    if start == "zero":
        return size * random_frame(d, k, rng), np.zeros((n, k)), (0, 0)
    V, s, UT = np.linalg.svd(problem.minimizers, full_matrices=False)
    roots = np.sqrt(s[:k])
    return UT[:k].T * roots, V[:, :k] * roots, (n * d, n * k)


checked(globals(), units=False)
