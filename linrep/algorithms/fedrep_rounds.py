"""FedRep's rounds on stored or drawn samples."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from functools import partial
from itertools import pairwise
from queue import SimpleQueue

import numpy as np

from linrep._lib import memory
from linrep._lib.clock import account, share
from linrep.algorithms._schedule import Schedule
from linrep.algorithms._setup import MEASURED_AT_ONCE, METRICS, Setup
from linrep.algorithms.driver import WORK_PER_CALL, Method
from linrep.algorithms.fedrep_options import Options, Step
from linrep.kernels import fedrep_adaptive as adapting
from linrep.kernels import halves
from linrep.kernels import rounds as kernel
from linrep.kernels.fedrep import (
    Batch,
    Samples,
    finish_round,
    fixed_gradients,
    fresh_gradients,
    run_fixed,
    run_fresh,
)
from linrep.problems.low_rank import LowRankRegression
from linrep.problems.regression import DESIGNS

# Multiplications of a round that is long, and of a group of its clients: some fifty times what
# it costs to hand a group to a thread. Both are part of how sums are ordered and streams are used.
LONG, GROUP = 2**24, 2**22

_TRUTH_ERROR = kernel.DISTANCE  # its column of the table: where one is there the other is not


def _models(setup: Setup):
    """Return the true models (n, d) where they are known, but are not of a representation B*."""
    truth = None if setup.data is None else setup.data.truth
    return truth.theta if isinstance(truth, LowRankRegression) else None


def _store(X, storage):
    """Return covariates as they are kept, refusing those that single precision does not have."""
    if storage == "float64":
        return X
    with np.errstate(over="ignore"):
        single = X.astype(np.float32)
    sizes = np.abs(single)
    if not np.isfinite(sizes).all() or ((sizes < np.finfo(np.float32).tiny) & (X != 0.0)).any():
        raise ValueError(
            "storage='float32' needs covariates that are 0 or between 1.2e-38 and 3.4e38 in size"
        )
    return single


class _TruthErrors:
    """Writes the mean over clients of |B w_i - theta_i| into a table, for many states at once."""

    def __init__(self, theta, table):
        self._theta, self._table = theta, table
        self._waiting = []

    def add(self, row, BT, W):
        """Take the state that a row is of."""
        self._waiting.append((row, BT.copy(), W.copy()))
        if len(self._waiting) * self._theta.size >= MEASURED_AT_ONCE:
            self.write()

    def write(self):
        """Write those that wait."""
        if self._waiting:
            rows, BT, W = map(np.array, zip(*self._waiting, strict=True))
            with np.errstate(over="ignore", invalid="ignore"):
                errors = np.linalg.norm(W @ BT - self._theta, axis=-1)
                self._table[rows, _TRUTH_ERROR] = np.mean(errors, axis=-1)
            self._waiting = []


class Sampled(Method):
    """Rounds on stored or drawn samples; see :class:`linrep.algorithms.driver.Method`.

    In a long round clients are in groups, which are spread over threads and, with drawn samples,
    have streams of their own. Of whitened rounds the loss and, with all clients and exact heads,
    the state are the lowest so far. A `schedule` says who takes part; by default participants are
    drawn.
    """

    buffers = ("_BT", "_W", "_memory")
    kept = ("_schedules", "_rngs")

    def __init__(self, setup: Setup, options: Options, step: Step, *, schedule=None):
        settings = options.numbers(setup, step)
        self._map = None  # back to the coordinates of the data
        if step.whitened:
            setup, self._map = setup.whitened()
        n, d, k = setup.n, setup.d, setup.k
        given = setup.data
        if options.storage == "float64":
            work = d * (k + 1.0)
            setup = setup.compressed(options.rounds, work, in_halves=options.in_halves)
        #: Whether stored samples are read by their triangular factors.
        self.factored = setup.data is not given
        known = setup.truth
        truth = kernel.no_truth(d, k) if known is None else kernel.truth_of(known.B, known.W)
        if setup.data is None:
            memory.require("a client's batch", setup.largest * (d + k), m=setup.largest, d=d)
        self._setup, self._done = setup, 0
        self.descends = not options.in_halves
        self._BT, self._W = np.ascontiguousarray(setup.B.T), np.ascontiguousarray(setup.W)
        self._table = np.full((options.rounds + 1, 5 if step.adaptive else 4), np.nan)
        self._memory = adapting.memory(n, k, d) if step.adaptive else None
        self._undoes = settings.local_steps == kernel.EXACT and setup.participants == n
        self._keeps_lowest = step.whitened and self._undoes
        self._lowest = np.inf  # loss before the rounds of the table
        self._settings, self._truth = settings, truth
        self._work = kernel.workspace(k, d, setup.largest, setup.participants)
        self._measure()
        a_round = setup.participants * setup.largest * d * k
        groups = min(setup.participants, a_round // GROUP) if a_round >= LONG else 1
        self._rngs = [setup.data_rng] if groups == 1 else setup.data_rng.spawn(groups)
        prepare = self._prepare_drawn if setup.data is None else self._prepare_stored
        self._run = prepare(options, groups)
        self.most = max(1, int(WORK_PER_CALL / a_round))
        ahead = max(1, min(self.most, options.rounds))
        self._schedules = schedule
        if schedule is None:
            self._schedules = Schedule(setup.participation_rng, n, setup.participants, ahead)
        theta = _models(setup)
        # The kernels do not measure it: they are to return where it is recorded.
        self._truth_errors = None if theta is None else _TruthErrors(theta, self._table)
        self.every_round = theta is None

    def _prepare_drawn(self, options, groups):
        """Return what runs rounds on drawn samples, with the clients in so many groups."""
        setup, source, d = self._setup, self._setup.source, self._setup.d
        design = DESIGNS[source.design], source.degrees_of_freedom, source.noise, options.split
        free: SimpleQueue[Batch] = SimpleQueue()  # one for each thread
        for _ in range(min(options.workers, groups)):
            room = np.empty((setup.largest, d)), np.empty(setup.largest), np.empty(d)
            free.put(Batch(*design, *room))
        if groups == 1:
            return partial(run_fresh, setup.data_rng, free.get())

        def gradients(group, clients, weight, work):
            batch = free.get()
            try:
                return fresh_gradients(
                    self._rngs[group], batch, clients, self._BT, self._W, weight, self._settings,
                    self._truth, work,
                )  # fmt: skip
            finally:  # another group may wait for it
                free.put(batch)

        return _InGroups(gradients, finish_round, self._workspaces(groups), options.workers)

    def _prepare_stored(self, options, groups):
        """Return what runs rounds on stored samples, with the clients in so many groups."""
        data = self._setup.stored
        samples = Samples(_store(data.X, options.storage), data.y, data.offsets)
        finish = finish_round
        # Two ways to run the same rounds: in one call, or in groups of clients.
        run, of_group = partial(run_fixed, samples), fixed_gradients
        if options.in_halves:
            run, of_group = partial(halves.run_halves, samples), halves.halves_gradients
        if self._memory is not None:
            run = partial(adapting.run_adaptive, samples, self._memory)
            finish = self._finish_adaptive(samples, self._memory)
        if groups == 1:
            return run

        def gradients(group, clients, weight, work):
            return of_group(*samples, clients, self._BT, self._W, weight, self._settings, work)

        return _InGroups(gradients, finish, self._workspaces(groups), options.workers)

    def _finish_adaptive(self, samples, memory):
        """Return what ends a round whose step is found, in place of `finish_round`."""
        covariates, _, offsets = samples
        adapting.largest_curvatures(
            covariates, offsets, memory.largest, self._work.residual, self._work.g
        )

        def finish(BT, W, clients, loss, settings, truth, row, work):
            return adapting.finish_adaptive(
                covariates, offsets, BT, W, clients, loss, settings, truth, memory, row, work
            )

        return finish

    def _workspaces(self, groups):
        """Return a workspace for each group of a round's clients, with a part of its heads."""
        setup, work = self._setup, self._work
        ends = np.linspace(0, setup.participants, groups + 1).astype(int)
        return [
            kernel.workspace(setup.k, setup.d, setup.largest, 0)._replace(
                heads=work.heads[first:last], losses=work.losses[first:last]
            )
            for first, last in pairwise(ends)
        ]

    @property
    def state(self):
        """B (d, k) and W (n, k): with steps that may be undone, the last that were accepted."""
        BT, W = self._reported()
        if self._map is not None:
            B = self._map.frame(BT)
            return {"B": B, "W": W @ ((self._map.forward @ BT.T).T @ B)}
        if W is not self._W:
            return {"B": BT.T.copy(), "W": W.copy()}
        return {"B": self._BT.T.copy(), "W": self._W}

    def _reported(self):
        """Return what a round came to: with steps that may be undone, the last it accepted."""
        known = self._memory
        if known is not None and self._keeps_lowest and known.numbers[adapting.LOWEST] < np.inf:
            return known.lowestT, known.heads
        if self._memory is not None and self._undoes and self._memory.numbers[adapting.ACCEPTED]:
            return self._memory.BT, self._memory.W
        return self._BT, self._W

    def _measure(self):
        """Write the metrics of where the run begins into the table."""
        if len(self._truth.BT):
            row, orthonormal = self._table[0], self._settings.orthonormal
            kernel.measure(*self._reported(), self._truth, orthonormal, self._work, row)

    def run(self, rounds):
        """Run at most so many rounds; return how many were completed, and how they ended."""
        schedule = self._schedules.next(rounds)
        rows = self._table[self._done : self._done + len(schedule) + 1]
        completed, status = self._run(
            schedule, self._BT, self._W, self._settings, self._truth, rows, self._work
        )
        self._done += completed
        self._schedules.give_back(len(schedule) - completed)
        return completed, status

    def measure(self):
        """Return the number of the round, by which the table has its metrics."""
        if self._truth_errors is not None:
            self._truth_errors.add(self._done, *self._reported())
        return self._done

    def table(self, measured):
        """Return the metrics of these rounds."""
        if self._truth_errors is not None:
            self._truth_errors.write()
        columns = {"loss": kernel.LOSS}
        if self._setup.truth is not None:
            columns = METRICS
        elif self._truth_errors is not None:
            columns = {"loss": kernel.LOSS, "truth_error": _TRUTH_ERROR}
        if self._memory is not None:
            columns = {**columns, "step_size": adapting.STEP}
        metrics = {name: self._table[measured, column] for name, column in columns.items()}
        if self._keeps_lowest:
            losses = np.fmin.accumulate(np.fmin(self._table[:, kernel.LOSS], self._lowest))
            metrics["loss"] = np.where(np.array(measured) > 0, losses[measured], np.nan)
        return metrics

    def converged(self, measured):
        """Tell whether the distance is within the tolerance in a round."""
        return self._table[measured, kernel.DISTANCE] <= self._settings.tolerance

    def restore(self, saved):
        """Go to where `save` was called, random streams included."""
        super().restore(saved)
        if self._memory is not None:
            self._lowest = self._memory.numbers[adapting.LOWEST]
        self._done = 0  # the table's rows are counted from here
        self._measure()


class _InGroups:
    """Runs rounds as the kernels do, with the clients in groups that threads take in turn.

    A group has as many clients as there are heads in its workspace. Gradients and losses are summed
    up group by group, whatever the number of threads.
    """

    def __init__(self, gradients, finish, works, workers):
        self._gradients, self._finish = gradients, finish
        self._works, self._workers = works, workers

    def __call__(self, schedule, BT, W, settings, truth, rows, work):
        """Run a round for each row of the schedule; return how many, and how they ended."""
        works = self._works
        rounds, participants = schedule.shape
        weights = [1.0 / participants if settings.averaged else 1.0] * len(works)
        ends = np.cumsum([0, *(len(each.heads) for each in works)])
        with self._threads() as pool:
            each_group = map if pool is None else pool.map
            for t, clients in enumerate(schedule):
                groups = [clients[first:last] for first, last in pairwise(ends)]
                losses = list(
                    each_group(self._gradients, range(len(works)), groups, weights, works)
                )
                work.gradientT[:] = 0.0
                with np.errstate(all="ignore"):
                    for each in works:
                        work.gradientT[:] += each.gradientT
                status = self._finish(
                    BT, W, clients, sum(losses) / participants, settings, truth, rows[t + 1], work
                )
                if status != kernel.COMPLETED:
                    return t + (status == kernel.CONVERGED), status
        return rounds, kernel.COMPLETED

    def _threads(self):
        """Return a pool of threads as a context, None for a single one."""
        if self._workers == 1:
            return nullcontext()
        return ThreadPoolExecutor(self._workers, initializer=share, initargs=(account(),))
