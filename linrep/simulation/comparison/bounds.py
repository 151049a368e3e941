"""Bounds beside which a comparison's methods are drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from linrep.problems.regression import ImplicitRepresentation, SharedRepresentation
from linrep.theory import bound_lines

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
