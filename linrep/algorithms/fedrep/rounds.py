"""FedRep's rounds on stored or drawn samples."""

from __future__ import annotations

from functools import partial

import numpy as np

from linrep._lib import memory
from linrep.algorithms._setup import METRICS, Setup
from linrep.algorithms.driver import WORK_PER_CALL, Method
from linrep.algorithms.fedrep.options import Options, Step
from linrep.kernels import fedrep_adaptive as adapting
from linrep.kernels import halves
from linrep.kernels import rounds as kernel
from linrep.kernels.fedrep import Batch, Samples, run_fixed, run_fresh
from linrep.problems.low_rank import LowRankRegression
from linrep.problems.regression import DESIGNS


class Tabled(Method):
    """Rounds that kernels note in a table, a row each; see the driver's :class:`Method`.

    A `schedule` says who takes part; by default participants are drawn.
    """

    kept = ("_schedules", "_rng")

    every_round = True

    def __init__(self, setup: Setup, options: Options, step: Step, columns: int, schedule=None):
        self._setup, self._settings = setup, options.numbers(setup, step)
        self._rng, self._done = setup.data_rng, 0
        self._table = np.full((options.rounds + 1, columns), np.nan)
        self._schedules = setup.schedule() if schedule is None else schedule

    def _play(self, schedule, rows):
        """Play rounds and fill their rows; return how many were completed, and how they ended."""
        raise NotImplementedError

    def _measure(self):
        """Write the metrics of where the run begins into the table."""
        raise NotImplementedError

    def run(self, rounds):
        """Run at most so many rounds; return how many were completed, and how they ended."""
        schedule = self._schedules.next(rounds)
        rows = self._table[self._done : self._done + len(schedule) + 1]
        completed, status = self._play(schedule, rows)
        self._done += completed
        self._schedules.give_back(schedule, completed)
        return completed, status

    def measure(self):
        """Return the number of the round, by which the table has its metrics."""
        return self._done

    def table(self, measured):
        """Return the metrics of these rounds."""
        return {name: self._table[measured, column] for name, column in METRICS.items()}

    def converged(self, measured):
        """Tell whether the distance is within the tolerance in a round."""
        return self._table[measured, kernel.DISTANCE] <= self._settings.tolerance

    def restore(self, saved):
        """Go to where `save` was called, from where the table's rows are counted then."""
        super().restore(saved)
        self._done = 0
        self._measure()


class Sampled(Tabled):
    """Rounds on stored or drawn samples.

    Of whitened rounds the loss and, with all clients and exact heads, the state are the lowest so
    far.
    """

    buffers = ("_BT", "_W", "_memory")

    def __init__(self, setup: Setup, options: Options, step: Step, *, schedule=None):
        self._map = None  # back to the coordinates of the data
        if step.whitened:
            setup, self._map = setup.whitened()
        n, d, k = setup.n, setup.d, setup.k
        given = setup.data
        setup = setup.compressed(options.rounds, d * (k + 1.0), in_halves=options.in_halves)
        #: Whether stored samples are read by their triangular factors.
        self.factored = setup.data is not given
        known = setup.truth
        self._truth = kernel.no_truth(d, k) if known is None else kernel.truth_of(known.B, known.W)
        if setup.data is None:
            memory.require("a client's batch", setup.largest * (d + k), m=setup.largest, d=d)
        super().__init__(setup, options, step, 5 if step.adaptive else 4, schedule)
        settings = self._settings
        self.descends = not options.in_halves
        self._BT, self._W = np.ascontiguousarray(setup.B.T), np.ascontiguousarray(setup.W)
        self._undoes = settings.local_steps == kernel.EXACT and setup.participants == n
        self._keeps_lowest = step.whitened and self._undoes
        self._lowest = np.inf  # loss before the rounds of the table
        self._work = kernel.workspace(k, d, setup.largest, setup.participants)
        self._memory = self._curvatures() if step.adaptive else None
        self._measure()
        self._run = self._rounds(options)
        self.most = max(1, int(WORK_PER_CALL / (setup.participants * setup.largest * d * k)))
        models = None if setup.data is None else setup.data.truth
        # The kernels do not measure true models: they are to return where these are recorded.
        self._models = models.theta if isinstance(models, LowRankRegression) else None
        self.every_round = self._models is None

    def _curvatures(self):
        """Return what rounds with steps that are found begin with: the clients' curvatures."""
        setup, work, data = self._setup, self._work, self._setup.stored
        found = adapting.memory(setup.n, setup.k, setup.d)
        adapting.largest_curvatures(data.X, data.offsets, found.largest, work.residual, work.g)
        return found

    def _rounds(self, options):
        """Return the kernel that runs rounds on these samples."""
        data = self._setup.data
        if data is None:
            source = self._setup.source
            design = DESIGNS[source.design], source.degrees_of_freedom, source.noise, options.split
            room = (self._setup.largest, self._setup.d)
            batch = Batch(*design, np.empty(room), np.empty(room[0]), np.empty(room[1]))
            return partial(run_fresh, self._rng, batch)
        samples = Samples(data.X, data.y, data.offsets)
        if self._memory is not None:
            return partial(adapting.run_adaptive, samples, self._memory)
        return partial(halves.run_halves if options.in_halves else run_fixed, samples)

    @property
    def state(self):
        """B (d, k) and W (n, k): with steps that may be undone, the last that were accepted."""
        BT, W = self._reported()
        if self._map is not None:
            B = self._map.frame(BT)
            return {"B": B, "W": W @ ((self._map.forward @ BT.T).T @ B)}
        return {"B": BT.T.copy(), "W": W if W is self._W else W.copy()}

    def _reported(self):
        """Return what a round came to: with steps that may be undone, the last it accepted."""
        known = self._memory
        if known is not None and self._keeps_lowest and known.numbers[adapting.LOWEST] < np.inf:
            return known.lowestT, known.heads
        if known is not None and self._undoes and known.numbers[adapting.ACCEPTED]:
            return known.BT, known.W
        return self._BT, self._W

    def _measure(self):
        if len(self._truth.BT):
            row, orthonormal = self._table[0], self._settings.orthonormal
            kernel.measure(*self._reported(), self._truth, orthonormal, self._work, row)

    def _play(self, schedule, rows):
        return self._run(schedule, self._BT, self._W, self._settings, self._truth, rows, self._work)

    def measure(self):
        """Return the number of the round, whose error against true models is noted, too."""
        if self._models is not None:  # in the column of the distance, which they have not
            BT, W = self._reported()
            with np.errstate(over="ignore", invalid="ignore"):
                errors = np.linalg.norm(W @ BT - self._models, axis=1)
                self._table[self._done, kernel.DISTANCE] = np.mean(errors)
        return super().measure()

    def table(self, measured):
        """Return the metrics of these rounds."""
        columns = {"loss": kernel.LOSS}
        if self._setup.truth is not None:
            columns = METRICS
        elif self._models is not None:
            columns = {"loss": kernel.LOSS, "truth_error": kernel.DISTANCE}
        if self._memory is not None:
            columns = {**columns, "step_size": adapting.STEP}
        metrics = {name: self._table[measured, column] for name, column in columns.items()}
        if self._keeps_lowest:
            losses = np.fmin.accumulate(np.fmin(self._table[:, kernel.LOSS], self._lowest))
            metrics["loss"] = np.where(np.array(measured) > 0, losses[measured], np.nan)
        return metrics

    def restore(self, saved):
        """Go to where `save` was called, with the lowest loss until then."""
        super().restore(saved)
        if self._memory is not None:
            self._lowest = self._memory.numbers[adapting.LOWEST]
