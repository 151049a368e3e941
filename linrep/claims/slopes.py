"""Power laws and open constants, decided by slopes of logarithms with their intervals."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd
import scipy
from numpy.typing import ArrayLike, NDArray

from linrep._lib import validation as check
from linrep.claims.confidence import Moments, enough, more, of_mean, of_quantile, of_sum
from linrep.claims.evidence import LEVEL, UNDECIDED, Evidence, decided
from linrep.claims.measurements import Measurement, _listed, _of, _samples
from linrep.claims.sampled import equal_replicates
from linrep.stats import TransitionPoint

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
    sentence = (
        f"exponent {slope.value:.3f} [{low:.3f}, {high:.3f}], claimed "
        f"{'at most ' if at_most else ''}{predicted:g}"
    )
    if inside and at_most and high < predicted - margin:
        sentence += ", not tight"

    def needed():
        off = slope.value - predicted
        larger, factor = _takes(slope, off, margin, at_most) if n_trials else (True, 1.0)
        return _needed("larger sizes" if larger else "", factor, n_trials)

    return decided(
        inside,
        low > predicted + margin or (not at_most and high < predicted - margin),
        sentence,
        example={"exponent": slope.value},
        needed=needed,
        measured=slope.value,
        predicted=predicted,
        interval=(low, high),
        n_trials=n_trials,
        level=level,
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
    return decided(
        stays,
        grows,
        f"the constant needed {'grows like' if upwards else 'changes at most like'} {variable}^"
        f"{slope.value:.3f} [{slope.low:.3f}, {slope.high:.3f}]{may_end}; largest {largest:.3g}",
        example={
            "grows with": variable, "exponent": slope.value, "largest": largest,
            **{key: _plain(value) for key, value in at.items()},
        },
        needed=lambda: _needed_of_lines(variables, pairs, n_trials),
        measured=slope.value,
        predicted=0.0,
        interval=(slope.low, slope.high),
        n_trials=n_trials,
        level=level,
    )  # fmt: skip


def _plain(value):
    return value.item() if hasattr(value, "item") else value


# Measurements.


@dataclass(frozen=True, eq=False)
class _PowerLaw(Measurement):
    """Something along an axis that is claimed to be a power of it."""

    x: Any = ()
    _: KW_ONLY
    equals: float | None = None
    at_most: float | None = None
    margin: float = 0.1
    along: str = ""
    of: str = ""

    statistical: ClassVar[bool] = True
    #: What is drawn along the axis, where nobody says of what the law is.
    drawn: ClassVar[str] = "what is measured"

    def __post_init__(self):
        object.__setattr__(self, "x", check.array("x", self.x, (None,)))
        if (self.equals is None) == (self.at_most is None):
            raise ValueError(f"{_of(self)} takes equals or at_most")

    @property
    def _claimed(self) -> float:
        return next(each for each in (self.equals, self.at_most) if each is not None)

    def _decided(self, slope, level, n_trials):
        return exponent(
            slope,
            self._claimed,
            margin=self.margin,
            at_most=self.at_most is not None,
            level=level,
            n_trials=n_trials,
        )

    def _drawn(self, y):
        bound = self.at_most is not None
        # From the smallest size on a smaller exponent stays below; an equal one is met at the
        # largest.
        start = self.x.argmin() if bound else self.x.argmax()
        return pd.DataFrame(
            {
                "panel": "",
                "series": "",
                "x": self.x,
                "y": y,
                "xlabel": self.along or "x",
                "ylabel": self.of or self.drawn,
                "predicted": y[start] * (self.x / self.x[start]) ** self._claimed,
                "allowed": "below" if bound else "",
            }
        )


@dataclass(frozen=True, eq=False)
class Exponent(_PowerLaw):
    """Positive replicates along an axis, whose typical size is claimed to be a power of it.

    Attributes
    ----------
    x : array_like, shape (N,)
        Positive, at least three different values.
    samples : sequence of N array_like
        Replicates at each x, at least two.
    equals, at_most : float or None
        The exponent claimed. With `at_most` the claim is O(.): a smaller one satisfies it as well,
        and is said not to be tight.
    margin : float, default 0.1
        Exponents within this margin count as equal.
    statistic : {"median", "mean"}
        Typical size.
    tail : bool, default False
        The exponent is claimed as x grows. Sizes make three stretches of an octave or more: the
        slope of the last one counts, and the change from the one before, with its noise, is added
        to its interval on both sides, as what may be left. It says nothing of logarithms, with
        which slopes tend to none in so short a range: :class:`Rate` has them as terms.
    deterministic : bool, default False
        Chance has no part in the replicates: the typical size is between them. Without that, equal
        ones are undecided.
    along, of : str
        Labels of both axes.

    Examples
    --------
    >>> import numpy as np
    >>> from linrep.claims import Exponent, decide
    >>> rng, sizes = np.random.default_rng(0), [50, 100, 200, 400]
    >>> errors = [rng.chisquare(50, 1000) / size for size in sizes]
    >>> decide(Exponent(sizes, errors, equals=-1.0)).verdict
    'holds'
    >>> decide(Exponent(sizes, [few[:10] for few in errors], equals=-1.0)).needed
    'about 60 runs'
    """

    samples: Any = ()
    _: KW_ONLY
    statistic: str = "median"
    tail: bool = False
    deterministic: bool = False
    quantity: str = "exponent"

    kind: ClassVar[str] = "rate or exponent"

    def __post_init__(self):
        samples = [_samples(self, "samples", each) for each in _listed("samples", self.samples)]
        object.__setattr__(self, "samples", samples)
        sizes = len(check.array("x", self.x, (None,)))
        if len(samples) != sizes:
            raise ValueError(f"{_of(self)} has {len(samples)} samples at {sizes} sizes")
        check.choice("statistic", self.statistic, STATISTICS)
        super().__post_init__()
        if self.tail:
            with np.errstate(divide="ignore", invalid="ignore"):
                stretches(np.log(self.x))

    def _joined(self, others):
        return joined_samples(self, others)

    def _decision(self, level):
        slope = limit if self.tail else fit
        made = sum(map(len, self.samples))
        bounds, open_ = _bounds(
            self.x, self.samples, self.statistic, level, self.along, self.deterministic
        )
        if open_ is None:
            with np.errstate(divide="ignore", invalid="ignore"):
                open_ = self._decided(slope(np.log(self.x), bounds, level), level, made)
        return replace(open_, points=self._drawn(np.exp(bounds.value)))


@dataclass(frozen=True, eq=False)
class Threshold(_PowerLaw):
    """Smallest sufficient sizes along an axis, claimed to grow like a power of it.

    Attributes
    ----------
    x : array_like, shape (N,)
        Positive, at least three different values.
    points : sequence of N TransitionPoint
        With intervals of one confidence; their logarithms count as normal, which is as true as that
        the log-odds of success are linear in log x (:func:`linrep.stats.transition_point`). Kept as
        (place, low, high).
    equals, at_most, margin, along, of
        As in :class:`Exponent`.
    runs : int
        Random repetitions behind the points.
    confidence : float, default 0.95
        Of the intervals.

    Examples
    --------
    >>> from linrep.claims import Threshold, decide
    >>> points = [(d * 0.98, d * 0.96, d * 1.0) for d in (10, 20, 40, 80)]
    >>> found = decide(Threshold([10, 20, 40, 80], points, equals=1.0))
    >>> round(found.measured, 2)
    1.0
    """

    points: Any = ()
    _: KW_ONLY
    runs: int = 0
    confidence: float = 0.95
    quantity: str = "exponent of the smallest sufficient size"

    drawn: ClassVar[str] = "smallest sufficient size"

    kind: ClassVar[str] = "sample-size threshold"

    def __post_init__(self):
        points = [
            (point.x, point.low, point.high) if isinstance(point, TransitionPoint) else tuple(point)
            for point in _listed("points", self.points)
        ]
        if not points or any(len(point) != 3 for point in points):
            raise ValueError("points must be triples (x, low, high), at least one")
        check.real_array("points", points)
        check.real("confidence", self.confidence, above=0.0)
        if not self.confidence < 1.0:
            raise ValueError(f"confidence must be below 1, got {self.confidence:g}")
        sizes = len(check.array("x", self.x, (None,)))
        if len(points) != sizes:
            raise ValueError(f"{_of(self)} has {len(points)} points at {sizes} sizes")
        object.__setattr__(self, "points", points)
        super().__post_init__()

    def _decision(self, level):
        value, *ends = bounds = Bounds.of_positive(self.points)
        slope = Slope(np.nan, np.inf, 0.0)
        if np.isfinite(bounds).all():
            farther = _quantile(level) / _quantile(0.5 - self.confidence / 2.0)
            bounds = Bounds(value, *(value + farther * (end - value) for end in ends))
            slope = fit(np.log(self.x), bounds, level)
        size, low, high = np.array(self.points, dtype=float).T
        points = self._drawn(size).assign(low=low, high=high)
        return replace(self._decided(slope, level, self.runs), points=points)


@dataclass(frozen=True, eq=False)
class Constant(Measurement):
    """The constant that a bound leaves open, over a grid; claimed to stay bounded.

    It holds if along no line it grows by more than x^0.05. It fails if along one it does, and would
    go on to if its slope fell as that of a limit approached like x^-1/2 does: growth that falls off
    faster may come to an end beyond the grid, and is undecided.

    Attributes
    ----------
    rows : DataFrame
        A row per replicate: the variables and the constant that it needs, left side over right
        side with the open constant at 1.
    along : sequence of str
        The directions: along each, lines of at least three points that share all other variables.
    of : str
        Column of the constant.
    by : sequence of str
        Further columns that the points of a line share, and that are not directions.
    quantile : float, default 0.8
        Of the replicates, at each point. The nearer to 1, the more replicates it takes.
    deterministic : bool, default False
        As in :class:`Exponent`.
    label : str
        Of the constant in pictures.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from linrep.claims import Constant, decide
    >>> rng, n = np.random.default_rng(0), np.repeat([10.0, 30.0, 90.0, 270.0], 200)
    >>> bounded = pd.DataFrame({"n": n, "constant": rng.uniform(1.0, 1.1, n.size)})
    >>> decide(Constant(bounded, ["n"])).verdict
    'holds'
    >>> decide(Constant(bounded.assign(constant=n * bounded["constant"]), ["n"])).verdict
    'fails'
    """

    rows: pd.DataFrame = field(default_factory=pd.DataFrame)
    along: Sequence[str] = ()
    of: str = "constant"
    _: KW_ONLY
    by: Sequence[str] = ()
    quantile: float = 0.8
    deterministic: bool = False
    label: str = ""
    quantity: str = "exponent of the constant needed"

    statistical: ClassVar[bool] = True
    kind: ClassVar[str] = "probability bound"

    def __post_init__(self):
        for name in (self.of, *self.by, *self.along):
            check.columns("rows", self.rows, name)
        check.real("quantile", self.quantile, minimum=0.0, maximum=1.0)
        lines = self.lines
        for variable in self.along:
            if variable not in {line.variable for line in lines}:
                raise ValueError(f"{_of(self)} has no line of three points along {variable!r}")

    def _joined(self, others):
        return {"rows": pd.concat([each.rows for each in (self, *others)], ignore_index=True)}

    @cached_property
    def lines(self) -> list[Line]:
        """The lines of at least three points, in the order of the directions."""
        columns = [*self.by, *self.along]
        return [
            line
            for variable in self.along
            for line in _lines(self.rows, columns, variable, self.of)
        ]

    def _decision(self, level):
        lines, made = self.lines, len(self.rows)
        share = shared(level, lines)
        known = [
            _bounds(
                each.x, each.samples, self.quantile, share, each.variable, self.deterministic, made
            )
            for each in lines
        ]
        frames = [
            pd.DataFrame(
                {
                    "panel": f"along {line.variable}",
                    "part": "",
                    "along": line.variable,
                    "series": line.series,
                    "x": line.x,
                    "y": np.exp(bounds.value),
                    "xlabel": line.variable,
                    "ylabel": self.label or f"{self.quantile:.0%} quantile of the constant",
                }
            )
            for line, (bounds, _) in zip(lines, known, strict=True)
        ]
        points = pd.concat(frames, ignore_index=True)
        open_ = next((each for _, each in known if each is not None), None)
        if open_ is not None:
            return replace(open_, n_trials=made, level=level, points=points)
        columns = [*self.by, *self.along]
        quantiles = self.rows.groupby(columns)[self.of].quantile(self.quantile)
        where = np.atleast_1d(np.asarray(quantiles.idxmax(), dtype=object))
        decided = bounded(
            [line.variable for line in lines],
            [(np.log(line.x), bounds) for line, (bounds, _) in zip(lines, known, strict=True)],
            largest=float(quantiles.max()),
            at=dict(zip(columns, where, strict=True)),
            level=level,
            n_trials=made,
        )
        return replace(decided, points=points)


@dataclass(frozen=True, eq=False)
class Line:
    """Replicates of a constant along a variable, other columns being fixed."""

    variable: str
    series: str
    x: NDArray[np.float64]
    samples: list[NDArray[np.float64]]


def _bounds(x, samples, statistic, level, along, deterministic, made=0):
    """Return logarithms of a statistic along x with their intervals; evidence if these are open.

    Replicates that are all equal say nothing of their noise, and too few give no interval.
    """
    made = made or sum(map(len, samples))
    if deterministic:
        bounds = Bounds.known(samples, statistic)
        if np.isfinite(bounds).all():
            return bounds, None
        return bounds, replace(few_replicates(samples, statistic, 0.5), level=level)
    bounds = Bounds.of(samples, statistic, level)
    equal = equal_along(x, samples, along)
    if equal:
        return bounds, equal_replicates(made, level, equal)
    if np.isfinite(bounds).all():
        return bounds, None
    return bounds, few_replicates(samples, statistic, level, made)


def joined_samples(item: Any, others: Sequence[Any]) -> dict[str, Any]:
    """Return the replicates at each x of a measurement and of others."""
    every = [item, *others]
    if any(not np.array_equal(each.x, item.x) for each in every):
        raise ValueError(f"{_of(item)} is at other sizes in other runs")
    samples = zip(*(each.samples for each in every), strict=True)
    return {"samples": [np.concatenate(each) for each in samples]}


def few_replicates(
    samples: Sequence[NDArray[np.float64]], statistic: str | float, level: float, made: int = 0
) -> Evidence:
    """Return that replicates have no interval of their statistic, and how many would have.

    They are too few somewhere, or they vanish or are infinite so often that their number is not
    what is missing.
    """
    made = made or sum(map(len, samples))
    least = enough(level)
    if statistic != "mean":
        share = 0.5 if statistic == "median" else float(statistic)
        least = enough(level, max(share, 1.0 - share))
    times = max(least / len(each) for each in samples)
    several = times > 1.0
    what = statistic if isinstance(statistic, str) else f"{statistic:.0%} quantile"
    return Evidence(
        UNDECIDED,
        f"replicates are too few for an interval of the {what} at this level"
        if several
        else f"the {what} of replicates has no interval that is positive and finite",
        needed=more(made, times) if several else "replicates that are positive and finite",
        n_trials=made,
        level=level,
    )


def equal_along(x: NDArray[np.float64], samples: Sequence[NDArray[np.float64]], along: str) -> str:
    """Return at which x replicates are all equal, as " at n = 10, 20", or nothing."""
    equal = [f"{size:g}" for size, each in zip(x, samples, strict=True) if each.min() == each.max()]
    return f" at {along or 'x'} = {', '.join(equal)}" if equal else ""


def _lines(table, columns, variable, value):
    """Yield the lines of at least three points along a variable, other columns being fixed."""
    others = [other for other in columns if other != variable]
    for key, line in table.groupby(others) if others else [((), table)]:
        key = key if isinstance(key, tuple) else (key,)
        cells = [
            # Logarithms are taken of high quantiles, which do not feel where the rest is cut off.
            (float(size), sample.clip(lower=sample[sample > 0.0].min()).to_numpy())
            for size, sample in line.groupby(variable)[value]
            if (sample > 0.0).any()
        ]
        if len(cells) >= 3:
            held = ", ".join(
                f"{name} = {value if isinstance(value, str) else f'{value:g}'}"
                for name, value in zip(others, key, strict=True)
            )
            sizes, samples = zip(*cells, strict=True)
            yield Line(variable, held, np.array(sizes), list(samples))
