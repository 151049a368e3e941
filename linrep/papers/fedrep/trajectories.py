"""How fast methods are, in every way in which Figures 3 and 7 are read.

A trajectory is read at lengths, by what it contracts over the shortest of them, and by the rounds
that it takes to shares of the way. The way goes, in logarithms, from where what is compared starts
to where the least accurate of it ends, so that all get there, but for chance. Where methods are
given their best steps, these are chosen once, on further problems, by a rule for all ways.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from linrep.papers.fedrep.settings import PUBLISHED_ROUNDS

#: Shares of the way to which rounds are counted.
SHARES = (0.5, 0.9, 0.99)
#: Multiples of the theorem's step size among which each method is given its best, and the number
#: of further problems on which that is chosen.
MULTIPLES = (1.0, 2.0, 4.0, 8.0)
TUNING = 10


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
    after = [f"{what} after {length} rounds" for length in at]
    return [*after, f"contraction over {at[0]} rounds", *rounds]


def speeds(values: np.ndarray, at: Sequence[int]) -> np.ndarray:
    """Return the smaller, the faster: values at lengths, contraction, rounds to shares of the way.

    Parameters
    ----------
    values : ndarray, shape (..., compared, T + 1)
        Of the start and of each round, of what has one goal: methods, or sizes.
    at : sequence of int
        Lengths.

    Returns
    -------
    ndarray, shape (..., ways, compared)
        The contraction is over the shortest length, so that ties are of that, too; of one round it
        is a root. A run that does not get to a goal is given all T rounds: a mean of rounds is a
        restricted mean, as in survival analysis.

    Notes
    -----
    A trajectory ends at the median of the last quarter of its rounds. The way is common to all that
    is compared: from the nearest start to the farthest end that is nearer. Where there is none,
    nothing gets anywhere.
    """
    longest = values.shape[-1] - 1
    start = values[..., 0].min(axis=-1, keepdims=True)
    ends = np.median(values[..., -(longest // 4) :], axis=-1)
    end = np.where(ends < start, ends, 0.0).max(axis=-1, keepdims=True)
    rounds = []
    for share in SHARES:
        goals = np.broadcast_to(start ** (1.0 - share) * end**share, ends.shape)
        pairs = zip(values.reshape(-1, longest + 1), goals.ravel(), strict=True)
        found = [min(arrival(own, goal), longest) for own, goal in pairs]
        rounds.append(np.reshape(found, ends.shape))
    after = [values[..., length] for length in at]
    return np.stack([*after, after[0] / values[..., 0], *rounds], axis=-2)


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


def best_steps(
    run: Callable[[int, Mapping[str, float], int], np.ndarray],
    methods: Sequence[str],
    seeds: Sequence[int],
) -> dict[str, float]:
    """Return each method's best multiple: of the least mean logarithm after the notebook's rounds.

    Parameters
    ----------
    run : callable
        Of a seed, each method's multiple and rounds; returns values of methods and rounds.
    methods : sequence of str
    seeds : sequence of int
        Of further problems.
    """
    ends = [
        [run(seed, dict.fromkeys(methods, multiple), PUBLISHED_ROUNDS)[:, -1] for seed in seeds]
        for multiple in MULTIPLES
    ]
    best = np.log(ends).mean(axis=1).argmin(axis=0)
    return {method: MULTIPLES[place] for method, place in zip(methods, best, strict=True)}
