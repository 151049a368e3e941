"""How many samples a run has seen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

#: Starts that are computed from samples.
STARTS = ("moments", "projected_gradient", "truncated")


def samples_seen(
    problem: Any, settings: Mapping[str, Any], rounds: ArrayLike
) -> NDArray[np.float64] | None:
    """Return how many samples all clients together have seen until some rounds.

    Parameters
    ----------
    problem : object
        What an algorithm was given: ClientData, objectives on them, or a truth to draw from.
    settings : mapping
        Of its trace: ``batches``, ``m``, ``participants`` and ``start`` count.
    rounds : array_like of int

    Returns
    -------
    ndarray or None
        Those that are stored, once; with new ones in every round, those drawn so far. None where
        there are no samples, or the settings do not say how they are drawn.
    """
    rounds = np.asarray(rounds, dtype=np.float64)
    stored = getattr(getattr(problem, "data", problem), "y", None)
    if stored is not None:
        return np.full(rounds.shape, float(len(stored)))
    batches, m = settings.get("batches"), settings.get("m")
    if batches in (None, "population") or m is None or not hasattr(problem, "n"):
        return None
    if batches == "fixed":
        return np.full(rounds.shape, float(np.sum(np.broadcast_to(m, problem.n))))
    split = 2 if batches in ("split", "gram_split") else 1
    at_start = problem.n * m if settings.get("start") in STARTS else 0
    return at_start + rounds * settings.get("participants", problem.n) * m * split
