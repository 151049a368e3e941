"""Whether two independent runs of one sweep agree: in a statistic, a share, an order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from linrep._lib import validation as check
from linrep.stats._arguments import counts, fraction, quantile

_ALL = 8  # all halves of so many are taken,
_SOME = 64  # and so many are drawn of more
_BALANCED = 4096  # up to which a matrix of that order fits into memory
_MOST = 100_000
#: Increasing functions, and the ways back.
_Scale: TypeAlias = tuple[Callable[[Any], Any], Callable[[Any], Any]]
_LINEAR: _Scale = np.positive, np.positive
_LOGS: _Scale = np.log, np.exp
_RECIPROCALS: _Scale = (lambda x: -1.0 / x), (lambda u: -1.0 / u if u < 0.0 else np.inf)


def half_samples(replicates: int) -> tuple[NDArray[np.bool_], float]:
    """Return halves of the replicates, whose statistics show how much the full one varies.

    Parameters
    ----------
    replicates : int
        From 2 to 100,000.

    Returns
    -------
    halves : ndarray of bool, shape (count, replicates)
        Each row chooses half of the replicates, rounded down.
    degrees : float
        Of freedom of the variance that is estimated from them.

    Notes
    -----
    McCarthy's balanced half-samples (Rev. Int. Stat. Inst. 37, 1969), with their complements, where
    there is a Hadamard matrix of that order (by doubling or Paley's construction, up to 4,096): of
    a mean they give the usual variance exactly. So do all halves, which are taken where they are
    few. Else 64 are drawn, always the same ones, and the degrees of freedom are fewer for it.
    """
    n = check.integer("replicates", replicates, minimum=2, maximum=_MOST)
    matrix = _hadamard(n) if n <= _BALANCED else None
    if n > 2 and matrix is not None:
        chosen = matrix[1:] > 0
        return np.concatenate([chosen, ~chosen]), n - 1.0
    few = n <= _ALL
    rng = np.random.default_rng(n)
    places = (
        combinations(range(n), n // 2)
        if few
        else (rng.permutation(n)[: n // 2] for _ in range(_SOME))
    )
    halves = np.array([np.isin(np.arange(n), np.fromiter(place, int)) for place in places])
    return halves, n - 1.0 if few else 1.0 / (1.0 / (n - 1.0) + 1.0 / _SOME)


def _hadamard(n):
    """Return a Hadamard matrix whose first row is ones, None if the two constructions give none."""
    if n == 1:
        return np.ones((1, 1))
    if n % 2 == 0 and (smaller := _hadamard(n // 2)) is not None:
        return np.kron([[1.0, 1.0], [1.0, -1.0]], smaller)
    q = n - 1
    if n % 4 or any(q % p == 0 for p in range(2, int(q**0.5) + 1)):
        return None
    squares = {i * i % q for i in range(1, q)}
    residue = np.array([0.0, *(1.0 if i in squares else -1.0 for i in range(1, q))])
    matrix = np.eye(n)
    matrix[0, 1:], matrix[1:, 0] = 1.0, -1.0
    matrix[1:, 1:] += residue[np.subtract.outer(np.arange(q), np.arange(q)) % q]
    return matrix * matrix[0]


def rerun_interval(
    value: float,
    halves: ArrayLike,
    singles: ArrayLike,
    *,
    level: float,
    interval: tuple[float, float] | None = None,
    error: float = 0.0,
    signed: bool = False,
) -> tuple[float, float]:
    """Return an interval for the statistic of another, independent run.

    Parameters
    ----------
    value : float
        The statistic of all replicates; infinite for what is not reached.
    halves : array_like, shape (count,)
        That of their :func:`half_samples`, in this order; NaN where it is not defined.
    singles : array_like, shape (replicates,)
        That of each replicate alone; NaN where it is not defined.
    level : float
        Probability with which another run of the same sweep is outside, in (0, 1).
    interval : (float, float), optional
        A 95 % interval of the statistic that is known.
    error : float, default 0
        A standard error that is known.
    signed : bool, default False
        Whether the statistic can have either sign, although what is seen may all be positive.

    Returns
    -------
    low, high : float
        Both equal to the value if nothing varies.

    Notes
    -----
    The scale is that of logarithms if all numbers are positive, of reciprocals if some are infinite
    as well, and linear otherwise and for what is signed. On it the standard error is the largest of
    these: the root mean square distance between the halves' statistics and that of all (given the
    data, a random half varies about the whole as the whole does about the truth); the standard
    deviation of single replicates over the root of their number, without which a median whose
    middle values happen to be close would seem exact; what is known otherwise; and, of whole
    numbers, rounding, which gives a replicate a variance of 1/12. Two runs differ by sqrt(2) times
    that, and the quantile is Student's: exact for means of normal replicates, an approximation for
    others.
    """
    level = fraction("level", level)
    for name, number in (("value", value), ("error", error)):
        if np.isnan(number):
            raise ValueError(f"{name} must be a number, got nan")
    halves = check.real_array("halves", halves)
    singles = check.real_array("singles", singles)
    if singles.ndim != 1 or singles.size < 2:
        raise ValueError(f"singles must hold two replicates or more, got shape {singles.shape}")
    if halves.ndim != 1:
        raise ValueError(f"halves must be a list, got shape {halves.shape}")
    if interval is not None and len(interval) != 2:
        raise ValueError(f"interval must be two numbers, got {interval!r}")
    replicates = singles.size
    degrees = half_samples(replicates)[1]
    seen = np.concatenate([[value], halves[~np.isnan(halves)], singles[~np.isnan(singles)]])
    positive = (seen > 0.0).all() and not signed
    scale, back = _LOGS if positive else _LINEAR
    if positive and np.isinf(seen).any():
        scale, back = _RECIPROCALS
    half = replicates // 2
    with np.errstate(divide="ignore", over="ignore"):
        centre, defined = scale(np.float64(value)), scale(halves[~np.isnan(halves)])
        variances: list[Any] = [0.0]
        if not np.isfinite([centre, *defined]).all():
            return -np.inf, np.inf  # it ranges from nothing to infinity
        if not defined.size and np.isnan(singles).any():
            return -np.inf, np.inf  # how much it varies is not known
        if defined.size:
            variances.append(np.mean((defined - centre) ** 2) * half / (replicates - half))
        if np.isfinite(alone := scale(singles)).all():
            variances.append(np.var(alone, ddof=1) / replicates)
            finite = np.isfinite(seen).all()
            if finite and value == round(value) and (singles == singles.round()).all():
                variances.append((scale(value + 0.5) - centre) ** 2 / 3.0 / replicates)
        if error > 0.0:
            variances.append((scale(value + error) - centre) ** 2)
        below = above = np.sqrt(max(variances))
        if interval is not None:
            usual = quantile(0.975, degrees)
            # Where all that is seen is positive, nothing below 0 is meant.
            ends = np.sort(scale(np.maximum(interval, 0.0 if positive else -np.inf)))
            below = max(below, (centre - ends[0]) / usual)
            above = max(above, (ends[1] - centre) / usual)
        reach = np.sqrt(2.0) * -quantile(level / 2.0, degrees)
        return float(back(centre - reach * below)), float(back(centre + reach * above))


def shares_differ(one: Sequence[int], two: Sequence[int]) -> float:
    """Return the p-value for equal probabilities of success in two runs.

    Parameters
    ----------
    one, two : (int, int)
        Successes, and the independent replicates that they are of.

    Returns
    -------
    float
        Of Fisher's exact test, two-sided.

    Raises
    ------
    ValueError
        If counts are not whole, or there are more successes than replicates.
    """
    won, trials = counts(
        *np.stack([check.table("one", one, (2,)), check.table("two", two, (2,))], 1)
    )
    table = np.stack([won, trials - won], axis=1).astype(int)
    return float(scipy.stats.fisher_exact(table)[1])


def orders_differ(one: Sequence[int], two: Sequence[int]) -> float:
    """Return the p-value for equal probabilities to win, tie and lose in two runs.

    Parameters
    ----------
    one, two : (int, int, int)
        Replicates that were won, tied and lost.

    Returns
    -------
    float
        The smaller of those for winning and for losing, times two (Bonferroni), at most 1.
    """
    for name, counted in (("one", one), ("two", two)):
        check.numbers(name, check.array(name, counted, (3,)), minimum=0.0, whole=True)
    ends = (shares_differ((one[at], sum(one)), (two[at], sum(two))) for at in (0, 2))
    return min(1.0, 2.0 * min(ends))
