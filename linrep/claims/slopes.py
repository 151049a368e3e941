"""Power laws and open constants, decided by slopes of logarithms with their intervals."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from linrep.claims.confidence import Moments, of_mean, of_quantile, of_sum
from linrep.claims.decisions import more
from linrep.claims.evidence import FAILS, HOLDS, LEVEL, UNDECIDED, Evidence

#: Slopes of the logarithm of a constant up to this count as no growth.
GROWTH = 0.05

#: The least power of 1/x with which a constant that stays bounded is taken to reach its limit.
LOWER_ORDER = 0.5

#: How many times the runs are better made than larger sizes tried, where a slope is off.
_WORTHWHILE = 100.0
STATISTICS = ("median", "mean")


@dataclass(frozen=True)
class Slope:
    """A slope of log y against log x, with an interval that also holds its bend.

    Attributes
    ----------
    value, low, high : float
        `low` and `high` are value -+ (noise + bend).
    noise, bend : float
        Half-width due to replicates; change of the slope when the smaller half of x is left out,
        as far as it exceeds what noise makes of it.
    error, change, change_error : float
        Standard error of the value; that change with its sign, and its standard error.
    """

    value: float
    noise: float
    bend: float
    error: float = 0.0
    change: float = 0.0
    change_error: float = 0.0

    @property
    def low(self) -> float:
        """Lower end."""
        return self.value - self.noise - self.bend

    @property
    def high(self) -> float:
        """Upper end."""
        return self.value + self.noise + self.bend


class Bounds(NamedTuple):
    """Logarithms of independent estimates, each with an interval of one level.

    Attributes
    ----------
    value, low, high : ndarray, shape (N,)
    """

    value: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]

    @classmethod
    def of(cls, samples: Sequence[ArrayLike], statistic: str | float, level: float) -> Bounds:
        """Return those of the mean, the median or a quantile of each sample, which are positive."""
        arrays = [np.asarray(each, dtype=float) for each in samples]
        if statistic == "mean":
            moments = [Moments.of(each) for each in arrays]
            rows = [(each.mean, *of_mean(each, level)) for each in moments]
        else:
            share = 0.5 if statistic == "median" else float(statistic)
            with np.errstate(invalid="ignore"):  # between two infinite ones
                values = [np.quantile(each, share) for each in arrays]
            rows = [
                (value, *of_quantile(each, share, level))
                for value, each in zip(values, arrays, strict=True)
            ]
        return cls.of_positive(rows)

    @classmethod
    def known(cls, samples: Sequence[ArrayLike], statistic: str | float) -> Bounds:
        """Return those of replicates in which chance has no part: from the least to the largest."""
        value = cls.of(samples, statistic, 0.5).value
        with np.errstate(divide="ignore"):
            low, high = (np.log([end(each) for each in samples]) for end in (np.min, np.max))
        return cls(value, np.minimum(low, value), np.maximum(high, value))

    @classmethod
    def of_positive(cls, rows: ArrayLike) -> Bounds:
        """Return logarithms of rows (value, low, high); an end that is not positive is none."""
        with np.errstate(divide="ignore", invalid="ignore"):
            value, low, high = np.log(np.maximum(np.array(rows, dtype=float), 0.0)).T
        return cls(value, low, high)


def log_slope(
    x: ArrayLike,
    samples: Sequence[ArrayLike],
    *,
    statistic: str | float = "median",
    level: float = LEVEL,
) -> Slope:
    """Fit log statistic(samples) against log x."""
    return fit(np.log(np.asarray(x, dtype=float)), Bounds.of(samples, statistic, level), level)


def fit(logs: NDArray[np.float64], bounds: Bounds, level: float) -> Slope:
    """Return the slope of values against logs, with noise from their intervals."""
    if np.unique(logs).size < 3:
        raise ValueError("x must hold at least three different values to fit a slope")

    upper = logs >= np.median(logs)
    if np.unique(logs[upper]).size < 2:
        upper = logs >= np.sort(np.unique(logs))[-2]
    weights = _weights(logs)
    value, noise = of_sum(weights, *bounds)
    change, change_noise = of_sum(_weights(logs, upper) - weights, *bounds)
    quantile = _quantile(level)
    change_error = change_noise / quantile
    # The square of the measured change is that of the true one and its variance, in the mean.
    bend = math.sqrt(max(0.0, change**2 - change_error**2))
    return Slope(value, noise, bend, noise / quantile, change, change_error)


def limit(logs: NDArray[np.float64], bounds: Bounds, level: float) -> Slope:
    """Return the slope that is tended to as x grows, with noise from the intervals.

    The value is the slope of the last of three stretches. Provided that the change from one stretch
    to the next is at most half of the change before, as it is far enough out with a lower-order
    term 1/x, the limit is no farther away than the last change, the bend; the noise is that of the
    value and the bend together. The bend is infinite where the changes refute that.
    """
    parts = [(low <= logs) & (logs <= high) for low, high in stretches(logs)]
    first, second, last = (_weights(logs, each) for each in parts)
    change, change_noise = of_sum(last - second, *bounds)
    before, _ = of_sum(second - first, *bounds)
    ends = (second, last, last + (last - second))
    noise = max(of_sum(each, *bounds)[1] for each in ends)
    signs = math.copysign(1.0, change), math.copysign(0.5, before)
    excess, chance = of_sum(signs[0] * (last - second) - signs[1] * (second - first), *bounds)
    bend = abs(change) if excess <= chance + 1e-9 else math.inf
    value, _ = of_sum(last, *bounds)
    quantile = _quantile(level)
    return Slope(value, noise, bend, noise / quantile, change, change_noise / quantile)


def remaining(logs: NDArray[np.float64], bounds: Bounds, level: float) -> Slope:
    """Return the least slope that can remain as x grows, with noise from the intervals.

    Where y tends to a limit as x^-1/2 vanishes, or a higher power (`LOWER_ORDER`), its slope falls
    with each octave by a factor of 2^-1/2 at least. If the fall from the lower half of x to the
    upper one is a part of such a fall, no less than the value remains; without a fall, it is the
    slope of the upper half. `change` is the upper slope less the lower one.
    """
    sizes, middle = np.unique(logs), np.median(logs)
    lower = _weights(logs, logs <= max(middle, sizes[1]))
    upper = _weights(logs, logs >= min(middle, sizes[-2]))
    vanishing = -np.exp(-LOWER_ORDER * (logs - logs[0]))
    share = (upper @ vanishing) / (lower @ vanishing)
    left = upper + (upper - lower) * share / (1.0 - share)
    quantile = _quantile(level)
    # Both ends have to be beyond what is claimed: neither takes a share of the level.
    ends = (of_sum(each, *bounds) for each in (left, upper))
    value, noise = min(ends, key=lambda end: end[0] - end[1])
    change, change_noise = of_sum(upper - lower, *bounds)
    return Slope(value, noise, 0.0, noise / quantile, change, change_noise / quantile)


def stretches(logs: NDArray[np.float64]) -> list[tuple[float, float]]:
    """Return the ends of three stretches of sizes, from the logarithms of these."""
    sizes = np.unique(logs)
    if sizes.size < 4:
        raise ValueError("x must hold at least four different values for a slope in the limit")
    ends = sizes[np.linspace(0, sizes.size - 1, 4).round().astype(int)]
    if np.diff(ends).min() < math.log(2.0) - 1e-9:
        raise ValueError(
            "x must make three stretches of an octave or more for a slope in the limit"
        )
    return list(pairwise(ends.tolist()))


def _weights(logs, among=True):
    """Return what the slope of values over some of the places is of them: weights of a sum."""
    among = np.broadcast_to(among, logs.shape)
    centred = np.where(among, logs - logs[among].mean(), 0.0)
    return centred / (centred @ centred)


def _quantile(level):
    return float(scipy.stats.norm.isf(level))


def exponent(
    slope: Slope,
    predicted: float,
    *,
    margin: float = 0.1,
    at_most: bool = False,
    level: float = LEVEL,
    n_trials: int = 0,
) -> Evidence:
    """Decide whether a power law has the exponent that is claimed."""
    low, high = slope.low, slope.high
    inside = high <= predicted + margin and (at_most or low >= predicted - margin)
    outside = low > predicted + margin or (not at_most and high < predicted - margin)
    off = slope.value - predicted
    sign = "at most " if at_most else ""
    larger, factor = _takes(slope, off, margin, at_most) if n_trials else (True, 1.0)
    sentence = f"exponent {slope.value:.3f} [{low:.3f}, {high:.3f}], claimed {sign}{predicted:g}"
    if inside and at_most and high < predicted - margin:
        sentence += ", not tight"
    return Evidence(
        HOLDS if inside else FAILS if outside else UNDECIDED,
        sentence,
        measured=slope.value,
        predicted=predicted,
        interval=(low, high),
        n_trials=n_trials,
        level=level,
        counterexample={"exponent": slope.value} if outside else None,
        needed=""
        if inside or outside
        else _needed("larger sizes" if larger else "", factor, n_trials),
    )


def _needed(larger, factor, n_trials):
    """Say what decides: larger sizes, the text says of what, or so many times the runs, or both."""
    if not larger:
        return more(n_trials, factor)
    return larger if factor <= 1.0 or not n_trials else f"{larger}, and {more(n_trials, factor)}"


def _takes(slope, off, margin, at_most):
    """Return whether it takes larger sizes, and how many times the runs.

    Larger sizes where the slope bends or is too near to a margin. What is off by less than three
    standard errors is taken for noise, of which many runs leave nothing; a change of the slope,
    too, unless it leads from a value that is off to what is claimed. Two standard errors are added
    for the chance in runs to come.
    """
    if not slope.noise < math.inf:
        return True, 1.0
    chance = slope.noise + 2.0 * (slope.error + slope.change_error)
    near = abs(off) <= 3.0 * slope.error
    returns = not near and -math.copysign(slope.change, off * slope.change) > slope.change_error
    bends = returns or abs(slope.change) > 3.0 * slope.change_error
    bend = slope.bend if bends else 0.0
    # Inside the margins the nearer one has to leave the interval; outside, the interval that one.
    room = abs((0.0 if near else off if at_most else abs(off)) - margin)
    if room > 2.0 * bend:
        factor = max(2.0, (chance / (room - bend)) ** 2)
        if near or factor <= _WORTHWHILE:
            return False, factor
    return True, (chance / margin) ** 2


def _takes_of_line(slope, tail):
    """Return the same of a line along which a constant may be bounded or grow."""
    larger, factor = False, 1.0
    if slope.low <= GROWTH:
        larger, factor = _takes(slope, slope.value, GROWTH, True)
    if slope.value <= max(GROWTH, 3.0 * slope.error):
        return larger, factor
    # It also has to be seen that it goes on: a slope that is the same everywhere, but for noise.
    if tail.change < -3.0 * tail.change_error:
        return True, factor
    chance = (tail.noise + 3.0 * tail.error) / (slope.value - GROWTH)
    return larger, max(2.0, factor, chance**2)


def _needed_of_lines(variables, pairs, n_trials):
    """Say what decides all lines, those that surely stay bounded aside."""
    open_ = [
        (variable, *_takes_of_line(*pair))
        for variable, pair in zip(variables, pairs, strict=True)
        if pair[0].high > GROWTH
    ]
    larger = dict.fromkeys(variable for variable, too_small, _ in open_ if too_small)
    factor = max(factor for *_, factor in open_)
    return _needed(f"larger {' and '.join(larger)}" if larger else "", factor, n_trials)


def shared(level: float, lines: Sequence[object]) -> float:
    """Return the level of each line."""
    return level / len(lines)


def bounded(
    variables: Sequence[str],
    lines: Sequence[tuple[NDArray[np.float64], Bounds]],
    *,
    largest: float,
    at: Mapping[str, Any],
    level: float,
    n_trials: int,
) -> Evidence:
    """Decide whether a constant stays bounded along all lines.

    It grows where the slope over all sizes, and what can remain of it, are above `GROWTH`: growth
    that falls off towards larger sizes may come to an end.
    """
    share = shared(level, lines)
    fits = [fit(*line, share) for line in lines]
    tails = [remaining(*line, share) for line in lines]
    # One that surely grows decides, and the steepest of those; else the one that may grow most.
    pairs = list(zip(fits, tails, strict=True))
    growing = [place for place, pair in enumerate(pairs) if min(each.low for each in pair) > GROWTH]
    place = max(growing or range(len(fits)), key=lambda place: fits[place].high)
    variable, slope = variables[place], fits[place]
    grows, stays = bool(growing), slope.high <= GROWTH
    upwards = slope.low > GROWTH
    may_end = ", which may come to an end" if upwards and not grows else ""
    return Evidence(
        FAILS if grows else HOLDS if stays else UNDECIDED,
        f"the constant needed {'grows like' if upwards else 'changes at most like'} {variable}^"
        f"{slope.value:.3f} [{slope.low:.3f}, {slope.high:.3f}]{may_end}; largest {largest:.3g}",
        measured=slope.value,
        predicted=0.0,
        interval=(slope.low, slope.high),
        n_trials=n_trials,
        level=level,
        counterexample={
            "grows with": variable, "exponent": slope.value, "largest": largest,
            **{key: _plain(value) for key, value in at.items()},
        } if grows else None,
        needed="" if grows or stays else _needed_of_lines(variables, pairs, n_trials),
    )  # fmt: skip


def _plain(value):
    return value.item() if hasattr(value, "item") else value
