"""Independent repetitions of a run."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from linrep._lib import validation as check
from linrep._lib.arguments import checked
from linrep.problems.random import RNGLike, stream
from linrep.trace import Trace, Trials

__all__ = ["run_trials"]


def run_trials(
    algorithm: Callable[..., Any],
    problem: Any,
    *,
    trials: int,
    workers: int = 1,
    rng: RNGLike = None,
    **settings: Any,
) -> list:
    """Run an algorithm several times with independent randomness.

    Parameters
    ----------
    algorithm : callable
        ``algorithm(problem, *, rng, **settings)``: one of this package, or your own.
    problem : SharedRepresentation, ClientData, or callable
        The same for all trials; or ``problem(rng)``, called once per trial to draw a new one.
    trials : int
        Number of repetitions, at least 1.
    workers : int, default 1
        Threads. The kernels release the interpreter's lock; the numbers do not depend on this.
    rng : optional
        Anything `numpy.random.default_rng` takes. Every trial has its own streams for the problem
        and for the run, so that all methods of this package get the same problems, data and
        participants from the same `rng`. An algorithm of your own gets the same problems, and with
        ``streams(rng, "data", "participation", "start")`` the same data, participants and starts:
        see :func:`linrep.streams`.
    **settings
        Passed to the algorithm.

    Returns
    -------
    list
        What the algorithm returned, trial by trial; traces come as :class:`linrep.trace.Trials`,
        which is displayed as a table and has a plot and a DataFrame.
    """
    trials = check.integer("trials", trials, minimum=1)
    workers = check.integer("workers", workers, minimum=1)
    pairs = [generator.spawn(2) for generator in stream(rng, "trials").spawn(trials)]

    def one(pair):
        problem_rng, run_rng = pair
        instance = problem(problem_rng) if callable(problem) else problem
        return algorithm(instance, rng=run_rng, **settings)

    if workers == 1:
        results = [one(pair) for pair in pairs]
    else:
        with ThreadPoolExecutor(workers) as pool:
            results = list(pool.map(one, pairs))
    return Trials(results) if all(isinstance(item, Trace) for item in results) else results


checked(globals(), units=False)
