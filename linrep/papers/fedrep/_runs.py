"""Runs of FedRep against what Theorem 1 promises, and the fewest samples that keep the promise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from linrep import algorithms
from linrep.claims import Threshold
from linrep.problems import SharedRepresentation
from linrep.problems.subspace import frame_at_distance
from linrep.stats import transition_point
from linrep.theory.fedrep import contraction, sample_size, step_size_limit

ROUNDS = 30  # after which a run has to have come as near as the theorem promises
SHARE = 0.9  # of the runs that have to
GRID = 1.1  # ratio of neighbouring m around the smallest sufficient one


@dataclass(frozen=True)
class Problem:
    """A truth, where and how a run on it begins, and the theorem's numbers.

    Attributes
    ----------
    truth : SharedRepresentation
    participants : int
        Clients in a round; singular values are extreme over all sets of so many.
    step_size, condition, factor : float
        Eta, kappa, and the factor by which (11) lets a round shrink the distance.
    distance : float
        Of the start.
    start : float or ndarray
        As :func:`linrep.fedrep` takes it.
    """

    truth: Any
    participants: int
    step_size: float
    condition: float
    factor: float
    distance: float
    start: Any

    def run(self, m, rng, *, rounds=ROUNDS, tolerance=None):
        """Return the distances of a run, and those that (11) promises, round by round.

        Normal covariates are simulated through their sufficient statistics, with the same law.
        """
        trace = algorithms.fedrep(
            self.truth, m=m, rounds=rounds, step_size=self.step_size, tolerance=tolerance, rng=rng,
            batches="gram" if self.truth.design == "gaussian" else "fresh", start=self.start,
            participation=self.participants / self.truth.n,
        )  # fmt: skip
        distances = np.full(rounds + 1, np.inf)
        distances[: trace.rounds + 1] = trace["distance"]
        if trace.stop_reason == "converged":
            distances[trace.rounds + 1 :] = 0.0
        return distances, self.distance * self.factor ** np.arange(rounds + 1)


def draw_problem(rng, *, d, n, k, condition=None, start=0.5, fraction=1.0, participation=1.0,
                 design="gaussian", angles="equal"):  # fmt: skip
    """Draw a problem; fraction is that of the largest step size which the theorem allows.

    `condition` is that of the heads of all clients.
    """
    stored = design != "gaussian" or angles != "equal"
    truth = SharedRepresentation.random(
        n=n, d=d, k=k, condition=condition, design=design, store=stored, rng=rng
    )
    rn = max(1, round(participation * n))
    size = rn if k > 1 else n  # with k = 1 all sets of clients have the same singular value
    largest, smallest = truth.sigma_max(size), truth.sigma_min(size)
    eta = fraction * float(step_size_limit(largest))
    return Problem(
        truth=truth,
        participants=rn,
        step_size=eta,
        condition=max(1.0, largest / smallest) if smallest > 0.0 else math.inf,
        factor=float(contraction(smallest, step_size=eta, initial_distance=start)),
        distance=start,
        start=frame_at_distance(truth.B, start, angles=angles, rng=rng) if stored else start,
    )


def samples_asked(problem, constant):
    """Return the samples per client that the theorem asks for, with its constant."""
    asked = sample_size(
        problem.truth.d,
        problem.truth.k,
        problem.participants,
        condition=problem.condition,
        initial_distance=problem.distance,
        constant=constant,
    )
    return math.ceil(asked)


def run(rng, m, *, rounds=ROUNDS, tolerance=None, **cell):
    """Draw a problem; return the distances of a run on it, and those that (11) promises."""
    return draw_problem(rng, **cell).run(m, rng, rounds=rounds, tolerance=tolerance)


def smallest_m(rng, runs, **cell):
    """Return the smallest m with which 9 of 10 runs keep (11) after the rounds, and its runs."""

    def kept(m, count):
        wins = 0
        for _ in range(count):
            distances, promised = run(rng, m, **cell)
            wins += distances[-1] <= promised[-1]
        return wins

    low, high = 1, cell["k"] + 1
    while kept(high, 2) < 2:
        low, high = high, 2 * high
    while high > low + 1 and high > GRID * low:
        middle = round(math.sqrt(low * high))
        low, high = (low, middle) if kept(middle, 2) == 2 else (middle, high)
    grid = sorted({max(1, round(high * GRID**step)) for step in range(-4, 6)} | {low, high})
    wins = [kept(m, runs) for m in grid]
    return transition_point(grid, wins, runs, level=SHARE), runs * len(grid)


def growth(rng, runs, name, x, cells, **claimed):
    """Return the smallest sufficient m along a line of cells, whose exponent is claimed."""
    points, trials = zip(*(smallest_m(rng, runs, **cell) for cell in cells), strict=True)
    return Threshold(
        x, points, runs=sum(trials), along=name, of="smallest sufficient $m$", name=name,
        setting={key: value for key, value in cells[-1].items() if value is not None}, **claimed,
    )  # fmt: skip


def fewest_samples(rng, runs, count, size, rounds, **cell):
    """Return the fewest samples per client, m times rounds, to 1e-3 of the starting distance.

    One for each of the runs: the fewest over m = size(multiple) for so many multiples.
    """
    goal, best = 1e-3 * cell["start"], []
    for _ in range(runs):
        totals = []
        for multiple in np.geomspace(0.1, 1.6, count) * 1.5 ** rng.uniform():
            m = size(multiple)
            distances, _ = run(rng, m, rounds=rounds, tolerance=goal, **cell)
            reached = np.flatnonzero(distances <= goal)
            totals.append(m * reached[0] if reached.size else math.inf)
        best.append(min(totals))
    return np.array(best)
