"""Power laws and open constants, decided by slopes of logarithms with their intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from linrep.claims.decisions import more
from linrep.claims.evidence import FAILS, HOLDS, LEVEL, UNDECIDED, Evidence
from linrep.problems.random import RNGLike, generator

#: Slopes of the logarithm of a constant up to this count as no growth.
GROWTH = 0.05

#: The least power of 1/x with which a constant that stays bounded is taken to reach its limit.
LOWER_ORDER = 0.5

RESAMPLES = 400
#: How many times the runs are better made than larger sizes tried, where a slope is off.
_WORTHWHILE = 100.0
STATISTICS = {"median": np.median, "mean": np.mean}


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


def log_slope(
    x: ArrayLike,
    samples: Sequence[ArrayLike],
    *,
    statistic: Callable[..., Any] = np.median,
    level: float = LEVEL,
    rng: RNGLike = None,
) -> Slope:
    """Fit log statistic(samples) against log x.

    Parameters
    ----------
    x : array_like, shape (N,)
        Positive, at least three different values.
    samples : sequence of N array_like, each shape (R_i,)
        Positive replicates at each x, at least two.
    statistic : callable, default numpy.median
        ``statistic(array, axis=)``.
    level : float
        Probability on each side that the slope is outside because of noise.
    rng : optional
        Of the bootstrap.

    Returns
    -------
    Slope
        Noise by the bootstrap standard error, replicates being resampled at each x, and the normal
        quantile; bend from a fit to the upper half of x, whose noise is taken off.
    """
    logs = np.log(np.asarray(x, dtype=float))
    return fit(logs, np.log(resample(samples, statistic, rng)), level)


def resample(samples, statistic, rng) -> NDArray[np.float64]:
    """Return the statistic of each sample, then of replicates drawn from it with replacement."""
    rng = generator(rng)
    columns = []
    for sample in samples:
        sample = np.asarray(sample, dtype=float)
        drawn = sample[rng.integers(len(sample), size=(RESAMPLES, len(sample)))]
        columns.append([statistic(sample, axis=0), *statistic(drawn, axis=1)])
    return np.array(columns)


def resample_points(points, rng) -> NDArray[np.float64]:
    """Return logarithms of places, then draws uniform in log from their intervals."""
    with np.errstate(divide="ignore"):
        place, low, high = np.log(np.array(points, dtype=float)).T[:, :, None]
    if not (np.isfinite(low) & np.isfinite(high)).all():
        return np.full((len(points), 1 + RESAMPLES), np.nan)
    drawn = generator(rng).uniform(low, high, size=(len(points), RESAMPLES))
    return np.hstack([place, drawn])


def fit(logs: NDArray[np.float64], values: NDArray[np.float64], level: float) -> Slope:
    """Return the slope of column 0 of values, with noise from the others."""
    if np.unique(logs).size < 3:
        raise ValueError("x must hold at least three different values to fit a slope")

    upper = logs >= np.median(logs)
    if np.unique(logs[upper]).size < 2:
        upper = logs >= np.sort(np.unique(logs))[-2]
    all_of_them = _slopes(logs, values)
    return _with_noise(all_of_them, _slopes(logs[upper], values[upper]) - all_of_them, level)


def limit(logs: NDArray[np.float64], values: NDArray[np.float64], level: float) -> Slope:
    """Return the slope that is tended to as x grows, with noise from all columns but the first.

    The value is the slope of the last of three stretches. Provided that the change from one stretch
    to the next is at most half of the change before, as it is far enough out with a lower-order
    term 1/x, the limit is no farther away than the last change, the bend; the noise is that of the
    value and the bend together. The bend is infinite where the changes refute that.
    """
    parts = [(low <= logs) & (logs <= high) for low, high in stretches(logs)]
    first, second, last = (_slopes(logs[each], values[each]) for each in parts)
    change, before = last - second, second - first
    quantile = float(scipy.stats.norm.isf(level))
    ends = (last - change, last, last + change)
    error = max(float(np.std(each[1:], ddof=1)) for each in ends)
    excess = np.abs(change) - np.abs(before) / 2.0
    tends = excess[0] <= quantile * np.std(excess[1:], ddof=1) + 1e-9
    bend = abs(float(change[0])) if tends else math.inf
    change_error = float(np.std(change[1:], ddof=1))
    return Slope(float(last[0]), quantile * error, bend, error, float(change[0]), change_error)


def remaining(logs: NDArray[np.float64], values: NDArray[np.float64], level: float) -> Slope:
    """Return the least slope that can remain as x grows, with noise from all columns but the first.

    Where y tends to a limit as x^-1/2 vanishes, or a higher power (`LOWER_ORDER`), its slope falls
    with each octave by a factor of 2^-1/2 at least. If the fall from the lower half of x to the
    upper one is a part of such a fall, no less than the value remains; without a fall, it is the
    slope of the upper half. `change` is the upper slope less the lower one.
    """
    sizes, middle = np.unique(logs), np.median(logs)
    below, above = logs <= max(middle, sizes[1]), logs >= min(middle, sizes[-2])
    lower, upper = _slopes(logs[below], values[below]), _slopes(logs[above], values[above])
    vanishing = -np.exp(-LOWER_ORDER * (logs - logs[0]))
    share = _slopes(logs[above], vanishing[above]) / _slopes(logs[below], vanishing[below])
    change = upper - lower
    left = upper + change * share / (1.0 - share)
    quantile = float(scipy.stats.norm.isf(level))
    errors = [float(np.std(each[1:], ddof=1)) for each in (left, upper, change)]
    # Both ends have to be beyond what is claimed: neither takes a share of the level.
    value, error = min(
        zip((left[0], upper[0]), errors[:2], strict=True),
        key=lambda end: end[0] - quantile * end[1],
    )
    return Slope(float(value), quantile * error, 0.0, error, float(change[0]), errors[2])


def stretches(logs: NDArray[np.float64]) -> list[tuple[float, float]]:
    """Return the ends of three stretches of sizes, from the logarithms of these.

    Raises
    ------
    ValueError
        If there are less than four sizes, or a stretch is shorter than an octave: along it a slope
        hardly changes, however far it is from its limit.
    """
    sizes = np.unique(logs)
    if sizes.size < 4:
        raise ValueError("x must hold at least four different values for a slope in the limit")
    ends = sizes[np.linspace(0, sizes.size - 1, 4).round().astype(int)]
    if np.diff(ends).min() < math.log(2.0) - 1e-9:
        raise ValueError(
            "x must make three stretches of an octave or more for a slope in the limit"
        )
    return list(pairwise(ends.tolist()))


def _slopes(logs, values):
    centred = logs - logs.mean()
    return centred @ values / (centred @ centred)


def _with_noise(slopes, change, level):
    error, change_error = (float(np.std(each[1:], ddof=1)) for each in (slopes, change))
    # The square of the measured change is that of the true one and its variance, in the mean.
    bend = math.sqrt(max(0.0, change[0] ** 2 - change_error**2))
    noise = float(scipy.stats.norm.isf(level)) * error
    return Slope(float(slopes[0]), noise, bend, error, float(change[0]), change_error)


def exponent(
    slope: Slope,
    predicted: float,
    *,
    margin: float = 0.1,
    at_most: bool = False,
    level: float = LEVEL,
    n_trials: int = 0,
) -> Evidence:
    """Decide whether a power law has the exponent that is claimed.

    Parameters
    ----------
    slope : Slope
        Measured.
    predicted : float
        Claimed.
    margin : float, default 0.1
        Exponents so near count as equal: it holds if the whole interval is within.
    at_most : bool, default False
        The claim is O(.): a smaller exponent satisfies it as well, and is said not to be tight.
    level : float
        Of a false verdict, on either side.
    n_trials : int
        Random repetitions behind the slope.

    Returns
    -------
    Evidence
    """
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


def bounded(
    variables: Sequence[str],
    lines: Sequence[tuple[NDArray[np.float64], NDArray[np.float64]]],
    *,
    largest: float,
    at: Mapping[str, Any],
    level: float,
    n_trials: int,
) -> Evidence:
    """Decide whether a constant stays bounded along all lines.

    It grows where the slope over all sizes, and what can remain of it, are above `GROWTH`: growth
    that falls off towards larger sizes may come to an end.

    Parameters
    ----------
    variables : sequence of str
        Along which each line goes.
    lines : sequence of (ndarray, ndarray)
        Of each line logarithms of the sizes, and of the constant with its resamples as columns.
    largest : float
        Value of the constant.
    at : mapping
        Where that is.
    level : float
        Of a false verdict, shared among the lines.
    n_trials : int
        Random repetitions behind the slopes.
    """
    share = level / len(lines)
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
