"""Measurements whose decisions can go wrong by chance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property, partial
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.stats import norm

from linrep._lib import validation as check
from linrep.claims import decisions, pictures, slopes
from linrep.claims.confidence import Moments, of_bounded_mean, of_mean
from linrep.claims.evidence import words
from linrep.claims.measurements import Measurement, _listed, _of, _samples, _thinned
from linrep.claims.slopes import STATISTICS, Bounds
from linrep.stats import TransitionPoint


@dataclass(frozen=True, eq=False)
class Frequency(Measurement):
    """How often an event occurred that is claimed to be rare.

    Attributes
    ----------
    violations, trials : int
    at_most : float
        Probability that the statement allows it.

    Examples
    --------
    >>> from linrep.claims import Frequency, decide
    >>> found = decide(Frequency(violations=0, trials=100, at_most=0.01), level=0.001)
    >>> found.verdict, found.needed
    ('undecided', '688 runs without a violation')
    """

    violations: int = 0
    trials: int = 0
    at_most: float = 0.0
    quantity: str = field(default="share of runs that violate it", kw_only=True)

    statistical: ClassVar[bool] = True
    kind: ClassVar[str] = "probability bound"

    @classmethod
    def of_runs(cls, lhs: ArrayLike, rhs: ArrayLike, *, at_most: float, **options: Any) -> Self:
        """Count the runs in which lhs <= rhs is violated anywhere: a bound for all rounds at once.

        Parameters
        ----------
        lhs : array_like, shape (N, T)
            A row per independent run, a column per round.
        rhs : array_like
            The bound, of a shape that goes with it, such as (T,).
        at_most : float
            Probability delta that the statement allows a violation in any round.
        **options
            Further attributes.

        Returns
        -------
        Frequency

        Examples
        --------
        Sums of 100 signs stay below 25 throughout with probability at least 0.95:

        >>> import numpy as np
        >>> from linrep.claims import Frequency, decide
        >>> sums = np.random.default_rng(0).choice([-1, 1], (4000, 100)).cumsum(axis=1)
        >>> decide(Frequency.of_runs(sums, 25.0, at_most=0.05)).verdict
        'holds'
        """
        lhs, rhs = check.real_array("lhs", lhs), check.real_array("rhs", rhs)
        if lhs.ndim != 2 or not lhs.size or np.isnan(lhs).any():
            raise ValueError("lhs must be of shape (runs, rounds), without NaN")
        try:
            bound = np.broadcast_to(rhs, lhs.shape)
        except ValueError:
            raise ValueError(
                f"rhs must go with the shape of lhs, {lhs.shape}, got {rhs.shape}"
            ) from None
        if np.isnan(bound).any():
            raise ValueError("rhs must hold no NaN")
        violations = int(np.any(lhs > bound, axis=1).sum())
        return cls(violations, lhs.shape[0], at_most, **options)

    def _joined(self, others):
        return {
            name: sum(getattr(each, name) for each in (self, *others))
            for name in ("violations", "trials")
        }

    def _decision(self, level):
        before = words(self.measured_is)
        decided = decisions.frequency(
            self.violations, self.trials, self.at_most, level=level, before=before
        )
        return _with_tightness(decided)

    def picture(self, level: float) -> pd.DataFrame | None:
        """Return the share with its interval."""
        return pictures.shares([(self.violations, self.trials, self.at_most, level)])


@dataclass(frozen=True, eq=False)
class Mean(Measurement):
    """Independent samples whose mean is claimed to be a number, or to lie between two.

    Attributes
    ----------
    samples : array_like, shape (N,)
        Independent.
    equals, at_least, at_most : float or None
        What is claimed of the mean: either `equals`, or one or both of the others.
    margin : float, default 0.1
        With `equals`: it holds only if the interval is no wider than this share of it on each side
        (of the samples' standard deviation, should it be 0).
    within : (float, float) or None
        A range of all that can be sampled. With it the interval of the mean is that of bets, which
        keeps its level for any law; without it Student's, with its skewness taken off, and none
        where samples are too few or too skewed for that (docs/concepts.md, *Error levels*).
    deterministic : bool, default False
        Chance has no part in the samples: their mean is somewhere between them. Without that,
        samples that are all equal are undecided, unless they have a range.
    moments : Moments
        Of the samples, of which only as many are kept as a picture shows, if they have no range;
        computed from them if not given.

    Examples
    --------
    >>> import numpy as np
    >>> from linrep.claims import Mean, decide
    >>> squares = np.random.default_rng(0).chisquare(5, 4000)
    >>> decide(Mean(squares, equals=5.0)).verdict, decide(Mean(squares, at_most=4.0)).verdict
    ('holds', 'fails')
    >>> few = decide(Mean(squares[:20], at_most=10.0))
    >>> few.verdict, few.needed
    ('undecided', 'about 120 runs')
    >>> decide(Mean(squares[:200] > 20.0, at_most=0.5, within=(0, 1))).verdict
    'holds'
    """

    samples: Any = ()
    _: KW_ONLY
    equals: float | None = None
    at_least: float | None = None
    at_most: float | None = None
    margin: float = 0.1
    within: tuple[float, float] | None = None
    deterministic: bool = False
    moments: Any = None
    quantity: str = "mean"

    statistical: ClassVar[bool] = True
    kind: ClassVar[str] = "expectation"

    def __post_init__(self):
        samples = _samples(self, "samples", self.samples)
        moments = Moments.of(samples)
        if self.moments is not None:
            size, *rest = check.table("moments", self.moments, (4,)).tolist()
            moments = Moments(int(size), *rest)
        object.__setattr__(self, "moments", moments)
        if self.within is None:
            samples = _thinned(samples)
        else:
            low, high = check.table("within", self.within, (2,)).tolist()
            width = high - low
            if not 0.0 < width < np.inf or samples.min() < low or samples.max() > high:
                raise ValueError(
                    f"{_of(self)}: within must be a finite range (low, high) of all samples, which "
                    f"are in [{samples.min():g}, {samples.max():g}], got {self.within!r}"
                )
            object.__setattr__(self, "within", (low, high))
        object.__setattr__(self, "samples", samples)
        bounds = self.at_least is not None or self.at_most is not None
        if (self.equals is not None) == bounds:
            raise ValueError(f"{_of(self)} takes equals, or at_least and at_most")

    def _joined(self, others):
        every = [self, *others]
        return {
            "samples": np.concatenate([each.samples for each in every]),
            "moments": Moments.together([each.moments for each in every]),
        }

    def _decision(self, level):
        equal = self.moments.deviation == 0.0
        if equal and not self.deterministic and self.within is None:
            return decisions.equal_replicates(self.moments.size, level)
        known = self.moments, partial(self._interval, level, self._ends(level))
        if self.equals is not None:
            return decisions.expectation(*known, self.equals, margin=self.margin, level=level)
        low = -np.inf if self.at_least is None else self.at_least
        high = np.inf if self.at_most is None else self.at_most
        decided = decisions.mean_between(*known, low, high, level=level)
        return decided if self.at_most is None else _with_tightness(decided)

    def _ends(self, level):
        """Return the interval of the mean."""
        if self.deterministic:
            return float(np.min(self.samples)), float(np.max(self.samples))
        if self.within is not None:
            return of_bounded_mean(self.samples, self.within, level / 2.0)
        return of_mean(self.moments, level / 2.0)

    def _interval(self, level, ends, size):
        """Return the interval that so many such samples would have."""
        if self.deterministic or size == self.moments.size:
            return ends
        if self.within is None:
            return of_mean(self.moments._replace(size=size), level / 2.0)
        mean, fewer = self.moments.mean, np.sqrt(self.moments.size / size)
        return mean + fewer * (ends[0] - mean), mean + fewer * (ends[1] - mean)

    def picture(self, level: float) -> pd.DataFrame | None:
        """Return the samples in order of size."""
        bounds = (self.equals, self.at_most, self.at_least)
        claimed = next(bound for bound in bounds if bound is not None)
        allowed = "below"
        if self.at_most is None:
            allowed = "" if self.at_least is None else "above"
        several = f" in {len(self.samples)} of {self.moments.size} samples"
        rank = f"rank{several if len(self.samples) < self.moments.size else ''}"
        return pictures.in_order(
            self.samples, self.name, rank, self.quantity, claimed, allowed=allowed
        )


@dataclass(frozen=True, eq=False)
class Paired(Measurement):
    """Two measurements per seed, of which one is claimed to be the smaller.

    Attributes
    ----------
    smaller, larger : array_like, shape (N,)
        Positive; entries of one index share their random numbers. Infinity stands for "never".
    tie : float, default 0.02
        Ratios within 1 -+ this are ties.
    same : bool, default False
        The claim is that they tie.

    Examples
    --------
    >>> import numpy as np
    >>> from linrep.claims import Paired, decide
    >>> larger = 1.0 + np.random.default_rng(0).random(40)
    >>> decide(Paired(0.9 * larger, larger)).verdict
    'holds'
    >>> decide(Paired(larger, larger, same=True)).verdict
    'holds'
    """

    smaller: Any = ()
    larger: Any = ()
    _: KW_ONLY
    tie: float = 0.02
    same: bool = False
    quantity: str = "median ratio"

    statistical: ClassVar[bool] = True
    kind: ClassVar[str] = "comparison"

    def __post_init__(self):
        for side in ("smaller", "larger"):
            object.__setattr__(self, side, _samples(self, side, getattr(self, side)))
        if np.shape(self.smaller) != np.shape(self.larger):
            raise ValueError(f"{_of(self)} has sides of different lengths")

    def _joined(self, others):
        return {
            side: np.concatenate([getattr(each, side) for each in (self, *others)])
            for side in ("smaller", "larger")
        }

    def _decision(self, level):
        return decisions.ordering(
            self.smaller, self.larger, tie=self.tie, same=self.same, level=level
        )

    def picture(self, level: float) -> pd.DataFrame | None:
        """Return the ratios in order of size."""
        with np.errstate(invalid="ignore", divide="ignore"):
            ratios = self.smaller / self.larger
        return pictures.in_order(ratios, self.name, "rank", "ratio of a pair", 1.0)


@dataclass(frozen=True, eq=False)
class Trend(Measurement):
    """Measurements that are claimed to grow from column to column.

    Attributes
    ----------
    samples : array_like, shape (R, N)
        A row per seed, a column per size, at least three; infinity stands for "never".

    Examples
    --------
    >>> import numpy as np
    >>> from linrep.claims import Trend, decide
    >>> noise = np.random.default_rng(0).random((30, 4))
    >>> decide(Trend(noise + np.arange(4))).verdict
    'holds'
    """

    samples: Any = ()
    quantity: str = field(default="mean rank correlation", kw_only=True)

    statistical: ClassVar[bool] = True
    kind: ClassVar[str] = "comparison"

    def __post_init__(self):
        object.__setattr__(self, "samples", _samples(self, "samples", self.samples))

    def _joined(self, others):
        return {"samples": np.concatenate([each.samples for each in (self, *others)])}

    def _decision(self, level):
        return decisions.trend(self.samples, level=level)

    def picture(self, level: float) -> pd.DataFrame | None:
        """Return the median over seeds of every column, with quartiles."""
        return pictures.quartiles(self.samples, self.name)


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

    def __post_init__(self):
        object.__setattr__(self, "x", check.array("x", self.x, (None,)))
        if (self.equals is None) == (self.at_most is None):
            raise ValueError(f"{_of(self)} takes equals or at_most")

    @property
    def _claimed(self) -> float:
        return next(each for each in (self.equals, self.at_most) if each is not None)

    def _decided(self, slope, level, n_trials):
        return slopes.exponent(
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
                "ylabel": self.of or self.name or self.quantity,
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
                slopes.stretches(np.log(self.x))

    def _joined(self, others):
        return joined_samples(self, others)

    def _decision(self, level):
        fit = slopes.limit if self.tail else slopes.fit
        made = sum(map(len, self.samples))
        bounds, open_ = _bounds(
            self.x, self.samples, self.statistic, level, self.along, self.deterministic
        )
        if open_ is None:
            with np.errstate(divide="ignore", invalid="ignore"):
                open_ = self._decided(fit(np.log(self.x), bounds, level), level, made)
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
        slope = slopes.Slope(np.nan, np.inf, 0.0)
        if np.isfinite(bounds).all():
            farther = norm.isf(level) / norm.isf(0.5 - self.confidence / 2.0)
            bounds = Bounds(value, *(value + farther * (end - value) for end in ends))
            slope = slopes.fit(np.log(self.x), bounds, level)
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
        share = slopes.shared(level, lines)
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
        decided = slopes.bounded(
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
        return bounds, replace(decisions.few_replicates(samples, statistic, 0.5), level=level)
    bounds = Bounds.of(samples, statistic, level)
    equal = decisions.equal_along(x, samples, along)
    if equal:
        return bounds, decisions.equal_replicates(made, level, equal)
    if np.isfinite(bounds).all():
        return bounds, None
    return bounds, decisions.few_replicates(samples, statistic, level, made)


def joined_samples(item: Any, others: Sequence[Any]) -> dict[str, Any]:
    """Return the replicates at each x of a measurement and of others."""
    every = [item, *others]
    if any(not np.array_equal(each.x, item.x) for each in every):
        raise ValueError(f"{_of(item)} is at other sizes in other runs")
    samples = zip(*(each.samples for each in every), strict=True)
    return {"samples": [np.concatenate(each) for each in samples]}


def _with_tightness(decided):
    return replace(decided, tightness=decisions.ratio(decided.measured, decided.predicted))


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
