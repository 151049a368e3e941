"""Bounds and limits beside which a comparison's methods are drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from linrep.problems.regression import ImplicitRepresentation, SharedRepresentation
from linrep.theory import asymptotics, bound_lines

Line = Callable[[float], float]
#: By metric: the name in :mod:`linrep.theory.bound_lines`, and those of its lines that are drawn.
_DRAWN = {
    "population_risk": ("population_risk", ("Cramér-Rao", "representation known")),
    "distance": ("squared_chordal", ("Cramér-Rao",)),
}


def of_truths(truths: Sequence[Any], metric: str) -> dict[str, Line]:
    """Return bounds on a metric as functions of the samples in total, each the mean over truths.

    Of the ``distance`` it is the root of the bound on the sum of squared sines over k: the largest
    of k squares is at least their mean.

    Parameters
    ----------
    truths : sequence
    metric : str

    Returns
    -------
    dict of str to callable
        Empty where none is known: without noise, of heads that span less than their space, of other
        problems, or of other metrics.
    """
    known = all(
        isinstance(each, SharedRepresentation)
        and not isinstance(each, ImplicitRepresentation)
        and each.noise > 0.0
        for each in truths
    )
    if metric not in _DRAWN or not truths or not known:
        return {}
    of, names = _DRAWN[metric]
    try:
        every = [bound_lines.lines(truth, metric=of) for truth in truths]
    except ValueError:  # heads that do not span their space
        return {}

    def line(name):
        def at(samples):
            values = [
                np.sqrt(lines[name](samples) / truth.k) if metric == "distance"
                else lines[name](samples)
                for truth, lines in zip(truths, every, strict=True)
            ]  # fmt: skip
            return float(np.mean(values))

        def mean(samples):
            # Between whole numbers of samples per client it is straight on logarithmic axes.
            n = truths[0].n
            low = np.floor(samples / n)
            share = samples / n - low
            if share == 0.0 or low == 0.0 or not np.isfinite(at(low * n)):
                return at(samples)
            return float(at(low * n) ** (1.0 - share) * at((low + 1.0) * n) ** share)

        return mean

    return {name: line(name) for name in names if all(name in lines for lines in every)}


def of_runs(
    runs: Mapping[str, Sequence[tuple[Any, Mapping[str, Any]]]], rows: pd.DataFrame, axis: str
) -> dict[str, Line]:
    """Return the distance of each method in the limit of large n and d, along an axis.

    Parameters
    ----------
    runs : mapping of str to sequence of pairs
        By method, the truth and the settings of every trial.
    rows : DataFrame
        Of the comparison.
    axis : str
        Its column on the axis.

    Returns
    -------
    dict of str to callable
        Geometric means over trials; of methods without a known limit there is none, see
        :func:`linrep.theory.asymptotics.learning_curves.of_run`.
    """
    lines: dict[str, Line] = {}
    for method, trials in runs.items():
        own = rows[rows["method"] == method]
        own = own[own["trial"] == own["trial"].iloc[0]]
        recorded = own["rounds"].to_numpy()
        try:
            curves = [
                asymptotics.of_run(truth, settings, rounds=int(recorded[-1]), rng=0).distance
                for truth, settings in trials
            ]
        except (ValueError, TypeError):  # not FedRep, or outside of what the limit is for
            continue
        logs = np.log(np.maximum(curves, np.finfo(np.float64).tiny)).mean(axis=0)
        at = partial(np.interp, xp=own[axis].to_numpy(), fp=logs[recorded])
        lines[f"limit, {method}"] = partial(_exponential, at)
    return lines


def _exponential(at, place):
    return float(np.exp(at(place)))
