"""Bounds as functions of the total number of samples, to be drawn beside what runs reach."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linrep._lib import validation as check
from linrep._lib.arguments import checked
from linrep.problems.regression import SharedRepresentation
from linrep.theory import bounds, minimax
from linrep.theory._clients import require_spanning

Values = NDArray[np.float64]
Line = Callable[[ArrayLike], Values]
METRICS = ("population_risk", "squared_chordal")


def lines(truth: SharedRepresentation, *, metric: str = "population_risk") -> dict[str, Line]:
    """Return bounds on a metric, as functions of the samples of all clients together.

    Parameters
    ----------
    truth : SharedRepresentation
        Of heads that span R^k.
    metric : {"population_risk", "squared_chordal"}
        Half the mean over clients of the models' squared errors, as in traces; or the sum of the
        squared sines of the principal angles, whose root is at least the ``distance`` of traces,
        and at most sqrt(k) times that.

    Returns
    -------
    dict of str to callable
        By name; each takes an array of sample sizes and returns one of the same shape. Samples are
        spread evenly over the clients; a number that is no multiple of theirs counts as the next
        multiple. Infinite where nothing of the kind can be estimated. Errors given the covariates
        are there for Gaussian ones only.

    Raises
    ------
    ValueError
        If the metric is another, or the heads do not span R^k.

    Examples
    --------
    >>> import linrep as lr
    >>> truth = lr.SharedRepresentation.random(n=50, d=20, k=2, noise=0.1, rng=0)
    >>> lines = lr.theory.bound_lines.lines(truth)
    >>> sorted(lines)[:2]
    ['Cramér-Rao', 'Cramér-Rao given the covariates']
    >>> lines["Cramér-Rao"]([500, 1000]).round(5).tolist()
    [0.00136, 0.00068]
    """
    check.choice("metric", metric, METRICS)
    require_spanning(truth)
    risk = metric == "population_risk"

    def value(bound):
        return 0.5 * bound.mean if risk else bound.squared_chordal

    functions = {
        "heads known": lambda m: value(bounds.known_heads(truth, m)),
        "Cramér-Rao": lambda m: value(bounds.cramer_rao(truth, m)),
    }
    if truth.design == "gaussian":
        functions["Cramér-Rao given the covariates"] = lambda m: value(
            bounds.cramer_rao(truth, m, given_design=True)
        )
    if not risk:
        functions["minimax"] = lambda m: minimax.squared_chordal(truth, m)
    elif truth.design == "gaussian":
        functions["representation known"] = lambda m: value(bounds.known_representation(truth, m))
        functions["minimax"] = lambda m: (
            0.5
            / truth.n
            * float(minimax.prediction_error(truth.d, truth.k, truth.n, m, noise=truth.noise))
        )
    return {name: _line(function, truth.n) for name, function in functions.items()}


def _line(function, n):
    """Return a function of the total number of samples from one of the samples of a client."""

    def line(total: ArrayLike) -> Values:
        sizes = np.ceil(check.numbers("total", total, minimum=1.0) / n)
        values = [function(int(m)) for m in sizes.ravel()]
        return np.array(values, dtype=np.float64).reshape(sizes.shape)

    return line


checked(globals(), nan=False, large=False)
