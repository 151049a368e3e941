"""What moves pFL^MF's factors on: compiled rounds, or rounds on any clients' functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from linrep.algorithms.descent import FIRST, ROUGH, Backtracking, Descent, Smoothness
from linrep.algorithms.pflmf.options import Options
from linrep.algorithms.resumable import Resumable
from linrep.kernels import pflmf as kernel
from linrep.kernels import pflmf_samples
from linrep.kernels.rounds import COMPLETED, CONVERGED, DIVERGED
from linrep.problems.losses import LeastSquaresObjectives, LogisticObjectives, SampleObjectives
from linrep.problems.objectives import Objectives, QuadraticObjectives

_NO_MATRICES, _NO_WEIGHTS = np.empty((0, 0, 0)), np.empty((0, 0))


def is_compiled(problem: Objectives) -> bool:
    """Tell whether there is a kernel for a problem."""
    return type(problem) in (QuadraticObjectives, LeastSquaresObjectives, LogisticObjectives)


def make_rounds(options: Options, problem: Objectives, U, V, batch_rng):
    """Return what runs rounds with these settings, and how the step is found."""
    n, finds_step = problem.n, options.step_size is None
    exact, simultaneous = options.is_exact(n), not options.alternating
    if finds_step and exact and options.local_steps == 1 and simultaneous:
        return Adaptive(problem, U, V), "adaptive"
    settings = options.numbers(n)
    steps: Compiled | General
    if options.batch is None and simultaneous and is_compiled(problem):
        steps = Compiled(problem, U, V, settings, local_steps=options.local_steps)
    else:
        steps = General(
            problem, U, V, settings, local_steps=options.local_steps,
            alternating=options.alternating, batch=options.batch, rng=batch_rng,
        )  # fmt: skip
    if not finds_step:
        return steps, "given"
    ratio = settings.head_step_size
    if exact:
        return Searching(problem, steps, ratio=ratio), "adaptive"
    drawn = options.share(n) < 1.0
    return BySmoothness(problem, steps, ratio=ratio, drawn=drawn, batch=options.batch), "smoothness"


class Rounds(Resumable):
    """What moves the factors on: `run` does, and has `state` and `totals`, see the kernel.

    Attributes
    ----------
    finds_steps : bool
        Whether the step of the last round is known as `step`.
    further : int
        Clients asked in the last call, beyond those of its rounds.
    work : float
        Multiplications of a round, about.
    """

    finds_steps = False
    further = 0
    work = np.inf


class Compiled(Rounds):
    """Rounds in a kernel."""

    buffers = ("_now", "totals")
    kept = ("_start",)

    def __init__(self, problem, U, V, settings: kernel.Settings, *, local_steps):
        self._functions, self._run, m = _functions(problem)
        self.settings = settings
        self._start = kernel.State(U.T.copy(), V.copy())
        self._now = kernel.State(U.T.copy(), V.copy())
        (n, k), d = V.shape, len(U)
        self._work = kernel.workspace(n, k, d, m, local_steps)
        self._silence = kernel.Noise(False, np.empty((1, k, d)), np.empty((1, local_steps, n, k)))
        self.totals = np.zeros(4)
        squares = 0 if getattr(problem, "H", None) is None else n * d * d
        samples = problem.data.X.size if m else 0
        self.work = (local_steps + 2) * (2 * n * d * k + squares + 2 * samples)

    @property
    def state(self):
        """U (d, k) and V (n, k)."""
        UT, V = self._now
        return UT.T.copy(), V.copy()

    def run(self, masks, scales, noise):
        """Run a round per mask; return how many were completed, and how they ended."""
        noise = self._silence if noise is None else kernel.Noise(True, *noise)
        return self._run(
            self._functions, masks, scales, self.settings, noise, self._start, self._now,
            self.totals, self._work,
        )  # fmt: skip


class Adaptive(Rounds):
    """Rounds of all clients with one local step, by steps that are found on the way, in NumPy."""

    buffers = ("totals",)
    kept = ("_descent", "_start")

    finds_steps = True

    def __init__(self, problem, U, V):
        self._problem, self._start = problem, (U, V)
        self._descent = Descent(self._evaluate, U, V)
        self.totals = np.zeros(4)

    def _evaluate(self, U, V):
        value, *gradients = self._problem.factor_gradients(U, V)
        return value, gradients, None

    @property
    def state(self):
        """U (d, k) and V (n, k)."""
        U, V = self._descent.factors
        return U.copy(), V.copy()

    @property
    def step(self):
        """The step of the last round."""
        return self._descent.step

    def run(self, masks, scales, noise):
        """Run a round per mask, all clients in each; return how many, and how they ended."""
        descent, asked = self._descent, self._descent.asked
        done, status = 0, COMPLETED
        while done < len(masks) and status == COMPLETED:
            for column, gradient in enumerate(descent.gradients, kernel.SUM_U):
                self.totals[column] += np.sum(gradient**2)
            descent.move()
            pairs = zip(descent.factors, self._start, strict=True)
            for column, (factor, first) in enumerate(pairs, kernel.REACH_U):
                self.totals[column] = max(self.totals[column], np.linalg.norm(factor - first))
            done += 1
            status = CONVERGED if descent.step == 0.0 else COMPLETED
        self.further = (descent.asked - asked - done) * self._problem.n
        return done, status


class _OnOthers(Rounds):
    """Rounds of others, compiled or not, whose step is found."""

    finds_steps = True

    def __init__(self, problem, steps: Any, *, ratio):
        self._problem, self._steps, self._ratio, self.work = problem, steps, ratio, steps.work

    def _set_step(self, step):
        """Let rounds take this step, and heads one that is by the ratio longer."""
        longer = self._ratio * step
        self._steps.settings = self._steps.settings._replace(
            step_size=step, head_step_size=longer, head_step=longer / self._problem.n
        )

    @property
    def state(self):
        """U (d, k) and V (n, k)."""
        return self._steps.state

    @property
    def totals(self):
        """What is summed up, see the kernel."""
        return self._steps.totals


class BySmoothness(_OnOthers):
    """Rounds by steps of 1.5/L."""

    kept = ("_steps", "smoothness", "step")

    def __init__(self, problem, steps, *, ratio, drawn, batch, first=FIRST):
        super().__init__(problem, steps, ratio=ratio)
        U, V = steps.state
        self.smoothness = Smoothness(U.size + V.size, drawn=drawn, first=first)
        self._excess = np.ones(len(V)) if batch is None else _excess(problem, batch)
        self.step = np.nan

    def run(self, masks, scales, noise):
        """Run a round per mask; return how many were completed, and how they ended."""
        self.further = 0
        for t, (mask, scale) in enumerate(zip(masks, scales, strict=True)):
            if mask.any() or self._steps.settings.everyone:
                before = self.smoothness.gradients
                self.step = self.find_step(mask, scale)
                self.further += int(mask.sum()) * (self.smoothness.gradients - before)
                self._set_step(self.step)
            now = slice(t, t + 1)
            noise_now = None if noise is None else [each[now] for each in noise]
            completed, status = self._steps.run(masks[now], scales[now], noise_now)
            if status != COMPLETED:
                break
        return t + completed, status

    def find_step(self, mask, scale):
        """Return the step for a round in which these take part."""
        problem = self._problem
        rows = np.ones((problem.n, 1)) if self._steps.settings.everyone else mask[:, None]

        def gradient(U, V):
            g = rows * problem.gradients(V @ U.T) / problem.n
            return g.T @ V, g @ U

        heads = (self._ratio * mask * self._excess)[:, None]
        asked = self._excess[rows[:, 0] > 0.0]
        shared = 1.0 + (asked.max() - 1.0) / len(asked)  # as the mean is over so many more samples
        weights = shared * scale * problem.n, heads
        return self.smoothness.step(gradient, self._steps.state, weights)


class Searching(_OnOthers):
    """Rounds of all clients, without noise, whose steps are lengthened while F falls."""

    kept = ("_steps", "_search")

    def __init__(self, problem, steps, *, ratio):
        super().__init__(problem, steps, ratio=ratio)
        smooth = BySmoothness(problem, steps, ratio=ratio, drawn=False, batch=None, first=ROUGH)
        first = smooth.find_step(np.ones(problem.n), 1.0 / problem.n)
        self._before = smooth.smoothness.gradients  # asked for before the first round
        self._search = Backtracking(
            self._play, steps.save, steps.restore, value=self._value(), first=first
        )
        self._round: tuple[Any, ...] = ()

    @property
    def step(self):
        """The step of the last round."""
        return self._search.step

    @np.errstate(over="ignore", invalid="ignore")  # such a round is taken back
    def _value(self):
        U, V = self._steps.state
        return self._problem.value(V @ U.T)

    def _play(self, step):
        self._set_step(step)
        completed, _ = self._steps.run(*self._round, None)
        return self._value() if completed else np.nan

    def run(self, masks, scales, noise):
        """Run a round per mask, all clients in each; return how many, and how they ended."""
        search, trials = self._search, self._search.trials
        done, status = 0, COMPLETED
        while done < len(masks) and status == COMPLETED:
            self._round = masks[done : done + 1], scales[done : done + 1]
            search.move()
            done += 1
            status = CONVERGED if search.step == 0.0 else COMPLETED
        further = search.trials - trials - done + (0 if trials else self._before)
        self.further = further * self._problem.n
        return done, status


def _excess(problem, batch):
    """Return by how much the curvature of each client's mini-batches exceeds that of its samples.

    The expected smoothness of batches drawn with replacement, (1 - 1/b) L_i + max_j L_ij / b, over
    L_i (Gower et al., *SGD: General analysis and improved rates*, 2019).
    """
    data = problem.data
    squares = problem.curvature * np.sum(data.X**2, axis=1) + problem.ridge
    single = np.maximum.reduceat(squares, data.offsets[:-1])
    ratio = np.ones(problem.n)
    np.divide(single, problem.smoothness, out=ratio, where=problem.smoothness > 0.0)
    return 1.0 + np.maximum(ratio - 1.0, 0.0) / batch


class General(Rounds):
    """The same rounds for any functions, on mini-batches, or with U after V; in NumPy.

    A batch is of so many samples of each client, with replacement, for each stochastic gradient.
    """

    buffers = ("totals",)
    kept = ("_U", "_V", "_start")

    def __init__(
        self, problem, U, V, settings, *, local_steps, alternating=False, batch=None, rng=None
    ):
        if batch is not None and not isinstance(problem, SampleObjectives):
            raise ValueError("batch needs losses of samples")
        self._problem, self.settings, self._local_steps = problem, settings, local_steps
        self._alternating, self._batch, self._rng = alternating, batch, rng
        self._U, self._V = U.copy(), V.copy()
        self._start = U.copy(), V.copy()
        self.totals = np.zeros(4)

    @property
    def state(self):
        """U (d, k) and V (n, k)."""
        return self._U.copy(), self._V.copy()

    @np.errstate(over="ignore", invalid="ignore")  # what overflows is not finite then
    def run(self, masks, scales, noise):
        """Run a round per mask; return how many were completed, and how they ended."""
        for t, (mask, scale) in enumerate(zip(masks, scales, strict=True)):
            in_U, in_V = (0.0, np.zeros(self._local_steps)) if noise is None else (
                noise[0][t].T, noise[1][t])  # fmt: skip
            U, path = self._round(mask, scale, in_U, in_V)
            if not (np.isfinite(U).all() and np.isfinite(path[-1]).all()):
                return t, DIVERGED
            if self.settings.measured:
                self._add(U, path)
            self._U, self._V = U, path[-1]
        return len(masks), COMPLETED

    def _round(self, mask, scale, noise_U, noise_V):
        """Return the new U, and V before and after every local step."""
        U, n = self._U, self._problem.n
        step_size, head_step_size, _, everyone, _ = self.settings
        path = [self._V]
        for noise in noise_V:
            step = self._gradients(path[-1]) @ U / n + noise
            path.append(path[-1] - head_step_size * mask[:, None] * step)
        V = path[-1] if self._alternating else path[0]
        weights = scale * (np.ones(n) if everyone else mask)
        return U - step_size * (self._gradients(V).T @ (weights[:, None] * V) + noise_U), path

    def _gradients(self, V):
        problem = self._problem
        if self._batch is not None:
            problem = problem.resample(self._batch, self._rng)
        return problem.gradients(V @ self._U.T)

    def _add(self, U, path):
        squares = [self._problem.factor_gradients(self._U, V) for V in path[:-1]]
        self.totals[kernel.SUM_U] += np.sum(squares[0].in_U ** 2)
        self.totals[kernel.SUM_V] += np.mean([np.sum(each.in_V**2) for each in squares])
        first_U, first_V = self._start
        reach = [np.linalg.norm(U - first_U), max(np.linalg.norm(V - first_V) for V in path)]
        self.totals[kernel.REACH_U :] = np.maximum(self.totals[kernel.REACH_U :], reach)


def _functions(problem):
    """Return the functions as the kernel takes them, the kernel, and the largest batch."""
    if isinstance(problem, SampleObjectives):
        logistic = isinstance(problem, LogisticObjectives)
        data = problem.data
        loss = pflmf_samples.LOGISTIC if logistic else pflmf_samples.LEAST_SQUARES
        losses = pflmf_samples.Losses(loss, data.X, data.y, data.offsets, float(problem.ridge))
        return losses, pflmf_samples.run_samples, int(data.m.max())
    H, weights = problem.H, problem.weights
    functions = kernel.Quadratic(kernel.IDENTITY, problem.A, _NO_MATRICES, _NO_WEIGHTS)
    if weights is not None:
        functions = functions._replace(kind=kernel.DIAGONAL, weights=weights)
    elif H is not None and H.ndim == 2:
        functions = functions._replace(kind=kernel.SHARED, H=H[None])
    elif H is not None:
        functions = functions._replace(kind=kernel.OWN, H=H)
    return functions, kernel.run_quadratic, 0
