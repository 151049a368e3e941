"""How fast methods are, in every way in which Figures 3 and 7 are read.

A trajectory is read at lengths, and by the rounds that it takes to shares of the way. The way goes,
in logarithms, from where a method starts to the lowest that any of those compared gets on the same
problem, so that each goal is one that can be reached and that is not reached at the start.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

#: Shares of the way to which rounds are counted.
SHARES = (0.5, 0.9, 0.99)


def ways(what: str, at: Sequence[int]) -> list[str]:
    """Return in how many ways a trajectory is read, in the order of `speeds`.

    Parameters
    ----------
    what : str
        What falls.
    at : sequence of int
        Lengths.
    """
    rounds = [f"rounds to {share:.0%} of the way" for share in SHARES]
    return [f"{what} after {length} rounds" for length in at] + rounds


def speeds(values: np.ndarray, at: Sequence[int]) -> np.ndarray:
    """Return the smaller, the faster: values at lengths, and rounds to shares of the way.

    Parameters
    ----------
    values : ndarray, shape (methods, T + 1)
        On one problem, of the start and of each round.
    at : sequence of int
        Lengths.

    Returns
    -------
    ndarray, shape (ways, methods)
        A run that does not get there is given all T rounds: it is not before one that does.
    """
    lowest, longest = values.min(), values.shape[1] - 1
    rounds = np.full((len(SHARES), len(values)), float(longest))
    for place, own in enumerate(values):
        if lowest < own[0]:
            goals = [own[0] ** (1.0 - share) * lowest**share for share in SHARES]
            rounds[:, place] = [min(arrival(own, goal), longest) for goal in goals]
    return np.concatenate([values[:, list(at)].T, rounds])


def arrival(values: np.ndarray, goal: float) -> float:
    """Return the rounds until values, one per round, are at most a goal, infinity for never.

    Between rounds the logarithm is taken as linear, so that neighbours in the same round differ.

    Parameters
    ----------
    values : ndarray
        Positive.
    goal : float
    """
    near = np.flatnonzero(values <= goal)
    if not near.size:
        return np.inf
    if near[0] == 0:
        return 0.0
    high, low = values[near[0] - 1 : near[0] + 1]
    return float(near[0] - 1.0 + np.log(high / goal) / np.log(high / low))


def padded(
    values: np.ndarray, rounds: int, worst: float = np.inf, *, rounding: float = 1e-12
) -> np.ndarray:
    """Return a trajectory of all its rounds, which are finite, and not below rounding.

    Parameters
    ----------
    values : ndarray
        Of a run that may have ended before its last round, or diverged.
    rounds : int
    worst : float, optional
        What it is given from there on, of which 1/rounding times its start is taken at most.
    rounding : float, default 1e-12
        Values smaller than this share of the start are raised to it: a sum of squares knows its
        square.
    """
    found = np.full(rounds + 1, worst)
    found[: len(values)] = np.where(np.isfinite(values), values, worst)
    return np.clip(found, rounding * found[0], found[0] / rounding)


def at_best(numbers: np.ndarray, tuning: int) -> np.ndarray:
    """Return what methods take with the step that is best on further problems.

    Parameters
    ----------
    numbers : ndarray, shape (..., steps, runs)
    tuning : int
        Of the runs the first so many, by the median of which steps are chosen.

    Returns
    -------
    ndarray, shape (..., runs - tuning)
    """
    if numbers.shape[-2] == 1:
        return numbers[..., 0, tuning:]
    best = np.median(numbers[..., :tuning], axis=-1).argmin(axis=-1)[..., None, None]
    return np.take_along_axis(numbers[..., tuning:], best, axis=-2)[..., 0, :]
