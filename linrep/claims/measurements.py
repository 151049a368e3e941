"""What a check measures: raw numbers, and what the statement says of them.

One class per kind of decision. None of them decides; :mod:`linrep.claims.decisions` does, so that a
stored measurement can be decided again at another level.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from fractions import Fraction
from functools import cached_property, partial
from numbers import Real
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from linrep._lib import validation as check
from linrep._lib.arguments import checked
from linrep.problems.random import RNGLike, generator
from linrep.stats import TransitionPoint

#: What a number is of the quantity that it is named after: it itself, or a bound of it.
VALUE, LOWER, UPPER = TYPES = "value", "lower bound", "upper bound"

RESAMPLES = 400
_KEPT = 500  # cases and samples, of more than that

Array = NDArray[np.float64]
Instance = Mapping[str, Any]
Number: TypeAlias = Any  # or a text; NaN where there is none
Case = tuple[float | Fraction, float | Fraction, Instance]


class Moments(NamedTuple):
    """Number, mean and standard deviation of independent samples."""

    size: int
    mean: float
    deviation: float

    @classmethod
    def of(cls, samples: NDArray[np.float64]) -> Moments:
        """Compute them; with one sample the deviation is NaN."""
        with np.errstate(invalid="ignore", divide="ignore"):
            deviation = float(samples.std(ddof=1)) if samples.size > 1 else math.nan
        return cls(int(samples.size), float(samples.mean()), deviation)


@dataclass(frozen=True, eq=False)
class Measurement:
    """Base of all measurements.

    Attributes
    ----------
    name : str
        Of the part of the statement that it is about.
    quantity, unit : str
        What the number decided on is, and its unit; "" where it is a pure number.
    setting : mapping
        Plain values: where it was taken. It becomes part of the counterexample if the part fails.
    weight : float
        Its share of the claim's level, relative to those of other statistical measurements.
    strength : str
        "proved" if it settles the whole region that the statement names (bounds by a derivation,
        exact algebra, interval arithmetic), "enumerated exactly" if it covers the whole finite
        domain; by default "statistical" or "searched".
    measured_is, predicted_is : {"value", "lower bound", "upper bound"}
        What the number decided on, and the one that the statement has for it, are of the quantity:
        the ends of an interval, a sum broken off or the first terms of an estimate are bounds.
    """

    _: KW_ONLY
    name: str = ""
    quantity: str = ""
    unit: str = ""
    setting: Instance = field(default_factory=dict)
    weight: float = 1.0
    strength: str = ""
    measured_is: str = VALUE
    predicted_is: str = VALUE

    #: Whether deciding it can go wrong by chance.
    statistical: ClassVar[bool] = False
    #: What kind of statement it is about; "" where it does not tell.
    kind: ClassVar[str] = "specification"


@dataclass(frozen=True, eq=False)
class Cases(Measurement):
    """Numbers lhs that are claimed to be at most rhs, compared as exactly as they are given.

    Attributes
    ----------
    cases : iterable of (float, float, mapping)
        lhs, rhs, and the instance. Of many only the worst are kept.
    count, violations : int
        How many there were, and how many with a larger left side; counted if not given.
    shown : sequence of str
        Names of what the verdict's sentence says of the worst instance, such as ``("p", "T")``.
    """

    cases: Sequence[Case] = ()
    _: KW_ONLY
    count: int = 0
    violations: int = 0
    shown: Sequence[str] = ()
    quantity: str = "left side"
    kind: ClassVar[str] = "deterministic inequality"

    def __post_init__(self):
        cases: list[Any] = [tuple(case) for case in _listed("cases", self.cases)]
        if not cases:
            raise ValueError(f"{_of(self)} holds no case")
        if any(len(case) != 3 for case in cases):
            raise ValueError("cases must be triples (lhs, rhs, instance)")
        for left, right, instance in cases:
            if math.isnan(left) or math.isnan(right):
                raise ValueError(f"{_of(self)} holds NaN at {dict(instance)}")
        if not self.count:
            object.__setattr__(self, "count", len(cases))
            object.__setattr__(self, "violations", sum(case[0] > case[1] for case in cases))
        if len(cases) > _KEPT:
            cases = sorted(cases, key=lambda case: case[1] - case[0])[:_KEPT]
        object.__setattr__(self, "cases", cases)


@dataclass(frozen=True, eq=False)
class Identity(Measurement):
    """Deviations of two expressions that are claimed to be equal.

    Attributes
    ----------
    deviations : iterable of (float, mapping)
        Relative deviation, already divided by the conditioning of its instance, and the instance.
        Infinite where shapes do not fit.
    tolerance : float
        Largest deviation that counts as rounding.
    """

    deviations: Sequence[tuple[float, Instance]] = ()
    tolerance: float = 1e-12
    quantity: str = field(default="relative deviation", kw_only=True)
    kind: ClassVar[str] = "identity"

    def __post_init__(self):
        object.__setattr__(
            self, "deviations", [tuple(each) for each in _listed("deviations", self.deviations)]
        )
        if not self.deviations:
            raise ValueError(f"{_of(self)} holds no deviation")


@dataclass(frozen=True, eq=False)
class Search(Measurement):
    """The outcome of a search for a violation of left <= right; :func:`search` makes one.

    Attributes
    ----------
    excess : float
        The largest left - right that was met, relative to the sum of their sizes.
    guard : float
        Excesses up to this are rounding.
    tightest : float
        The largest left/right.
    evaluations : int
    left, right : float
        lhs and rhs of the violation that was kept, NaN where there is none.
    instance : mapping
        That violation.
    ratios : array_like
        Values of left/right that were met; only as many are kept as a picture shows.
    """

    excess: float = math.nan
    guard: float = 1e-9
    tightest: float = math.nan
    evaluations: int = 0
    left: float = math.nan
    right: float = math.nan
    instance: Instance = field(default_factory=dict)
    ratios: Any = ()
    quantity: str = field(default="relative excess of the left side", kw_only=True)
    kind: ClassVar[str] = "deterministic inequality"

    def __post_init__(self):
        object.__setattr__(self, "ratios", _thinned(check.real_array("ratios", self.ratios)))


@dataclass(frozen=True, eq=False)
class Frequency(Measurement):
    """How often an event occurred that is claimed to be rare.

    Attributes
    ----------
    violations, trials : int
    at_most : float
        Probability that the statement allows it.
    """

    violations: int = 0
    trials: int = 0
    at_most: float = 0.0
    quantity: str = field(default="share of runs that violate it", kw_only=True)

    statistical: ClassVar[bool] = True
    kind: ClassVar[str] = "probability bound"


@dataclass(frozen=True, eq=False)
class Mean(Measurement):
    """Independent samples whose mean is claimed to be a number, or to lie between two.

    Attributes
    ----------
    samples : array_like, shape (N,)
        Their mean should be close to normal.
    equals, at_least, at_most : float or None
        What is claimed of the mean: either `equals`, or one or both of the others.
    margin : float, default 0.1
        With `equals`: it holds only if the interval is no wider than this share of it on each side
        (of the samples' standard deviation, should it be 0).
    moments : Moments
        Of the samples, of which only as many are kept as a picture shows; computed from them if not
        given.
    """

    samples: Any = ()
    _: KW_ONLY
    equals: float | None = None
    at_least: float | None = None
    at_most: float | None = None
    margin: float = 0.1
    moments: Any = None
    quantity: str = "mean"

    statistical: ClassVar[bool] = True
    kind: ClassVar[str] = "expectation"

    def __post_init__(self):
        samples = _samples(self, "samples", self.samples)
        moments = Moments.of(samples)
        if self.moments is not None:
            size, mean, deviation = check.table("moments", self.moments, (3,)).tolist()
            moments = Moments(int(size), mean, deviation)
        object.__setattr__(self, "moments", moments)
        object.__setattr__(self, "samples", _thinned(samples))
        bounds = self.at_least is not None or self.at_most is not None
        if (self.equals is not None) == bounds:
            raise ValueError(f"{_of(self)} takes equals, or at_least and at_most")


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


@dataclass(frozen=True, eq=False)
class Trend(Measurement):
    """Measurements that are claimed to grow from column to column.

    Attributes
    ----------
    samples : array_like, shape (R, N)
        A row per seed, a column per size, at least three; infinity stands for "never".
    """

    samples: Any = ()
    quantity: str = field(default="mean rank correlation", kw_only=True)

    statistical: ClassVar[bool] = True
    kind: ClassVar[str] = "comparison"

    def __post_init__(self):
        object.__setattr__(self, "samples", _samples(self, "samples", self.samples))


@dataclass(frozen=True, eq=False)
class Exponent(Measurement):
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
    along, of : str
        Labels of both axes.
    resampled : array_like, shape (N, 1 + RESAMPLES)
        The statistic of the replicates, then of replicates drawn from them; made from `rng` where
        it is not given.
    rng : optional
        Of the bootstrap.
    """

    x: Any = ()
    samples: Any = ()
    _: KW_ONLY
    equals: float | None = None
    at_most: float | None = None
    margin: float = 0.1
    statistic: str = "median"
    along: str = ""
    of: str = ""
    resampled: Any = None
    rng: RNGLike = field(default=0, repr=False)
    quantity: str = "exponent"

    statistical: ClassVar[bool] = True
    kind: ClassVar[str] = "rate or exponent"

    def __post_init__(self):
        samples = [_samples(self, "samples", each) for each in _listed("samples", self.samples)]
        object.__setattr__(self, "samples", samples)
        object.__setattr__(self, "x", check.array("x", self.x, (None,)))
        if len(samples) != len(self.x):
            raise ValueError(f"{_of(self)} has {len(samples)} samples at {len(self.x)} sizes")
        if (self.equals is None) == (self.at_most is None):
            raise ValueError(f"{_of(self)} takes equals or at_most")
        drawn = self.resampled
        if drawn is None:
            statistic = STATISTICS[check.choice("statistic", self.statistic, STATISTICS)]
            drawn = resample(samples, statistic, self.rng)
        object.__setattr__(self, "resampled", check.real_array("resampled", drawn))
        object.__setattr__(self, "rng", None)


@dataclass(frozen=True, eq=False)
class Threshold(Measurement):
    """Smallest sufficient sizes along an axis, claimed to grow like a power of it.

    Attributes
    ----------
    x : array_like, shape (N,)
        Positive, at least three different values.
    points : sequence of N TransitionPoint
        Each counts as uniform in log over its interval. Kept as (place, low, high).
    equals, at_most, margin, along, of
        As in :class:`Exponent`.
    runs : int
        Random repetitions behind the points.
    resampled : array_like, shape (N, 1 + RESAMPLES)
        Logarithms of the places, then draws from the intervals; made from `rng` where it is not
        given. NaN where an interval is open.
    rng : optional
        Of the draws.
    """

    x: Any = ()
    points: Any = ()
    _: KW_ONLY
    equals: float | None = None
    at_most: float | None = None
    margin: float = 0.1
    along: str = ""
    of: str = ""
    runs: int = 0
    resampled: Any = None
    rng: RNGLike = field(default=0, repr=False)
    quantity: str = "exponent of the smallest sufficient size"

    statistical: ClassVar[bool] = True
    kind: ClassVar[str] = "sample-size threshold"

    def __post_init__(self):
        points = [
            (point.x, point.low, point.high) if isinstance(point, TransitionPoint) else tuple(point)
            for point in _listed("points", self.points)
        ]
        if not points or any(len(point) != 3 for point in points):
            raise ValueError("points must be triples (x, low, high), at least one")
        check.real_array("points", points)
        object.__setattr__(self, "points", points)
        object.__setattr__(self, "x", check.array("x", self.x, (None,)))
        if (self.equals is None) == (self.at_most is None):
            raise ValueError(f"{_of(self)} takes equals or at_most")
        drawn = self.resampled
        if drawn is None:
            drawn = resample_points(points, self.rng)
        object.__setattr__(self, "resampled", check.real_array("resampled", drawn))
        object.__setattr__(self, "rng", None)


@dataclass(frozen=True, eq=False)
class Constant(Measurement):
    """The constant that a bound leaves open, over a grid; claimed to stay bounded.

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
    quantile : float, default 0.95
        Of the replicates, at each point.
    label : str
        Of the constant in pictures.
    resampled : sequence of array_like
        For each line the quantiles, then those of replicates drawn from these; made from `rng`
        where it is not given.
    rng : optional
        Of the bootstrap.
    """

    rows: pd.DataFrame = field(default_factory=pd.DataFrame)
    along: Sequence[str] = ()
    of: str = "constant"
    _: KW_ONLY
    by: Sequence[str] = ()
    quantile: float = 0.95
    label: str = ""
    resampled: Any = None
    rng: RNGLike = field(default=0, repr=False)
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
        drawn = self.resampled
        if drawn is None:
            rng = generator(self.rng)
            statistic = partial(np.quantile, q=self.quantile)
            drawn = [resample(line.samples, statistic, rng) for line in lines]
        drawn = [check.real_array("resampled", each) for each in _listed("resampled", drawn)]
        object.__setattr__(self, "resampled", drawn)
        object.__setattr__(self, "rng", None)

    @cached_property
    def lines(self) -> list[Line]:
        """The lines of at least three points, in the order of the directions."""
        columns = [*self.by, *self.along]
        return [
            line
            for variable in self.along
            for line in _lines(self.rows, columns, variable, self.of)
        ]


@dataclass(frozen=True, eq=False)
class Condition(Measurement):
    """A condition that computed numbers settle by themselves.

    Attributes
    ----------
    good : bool
        Whether the statement is true.
    measured, claimed : float
        The number it is about, and what the statement says of it.
    n_trials : int
        Evaluations behind it.
    """

    good: bool = True
    measured: float = math.nan
    claimed: float = math.nan
    _: KW_ONLY
    n_trials: int = 0


@dataclass(frozen=True, eq=False)
class Vacuous(Measurement):
    """Hypotheses or a bound that say nothing at any size that can exist.

    Attributes
    ----------
    measured, claimed : float
        The number that shows it, and the largest value at which it would say something.
    why : str
        A few words.
    """

    measured: float = math.nan
    claimed: float = math.nan
    why: str = ""


@dataclass(frozen=True, eq=False)
class Missing(Measurement):
    """A measurement that could not be taken; the part is undecided.

    Attributes
    ----------
    why, needed : str
        A few words: what happened, and what would decide.
    """

    why: str = ""
    needed: str = ""
    kind: ClassVar[str] = ""


@dataclass(frozen=True, eq=False)
class Together(Measurement):
    """Many small measurements that are shown as one; all have to hold.

    Attributes
    ----------
    parts : sequence of Measurement
    left_out : float
        Weight of planned measurements about which the statement says nothing, because one of its
        hypotheses was not met: their share of the level is not given to others.
    """

    parts: Sequence[Measurement] = ()
    _: KW_ONLY
    left_out: float = 0.0

    def __post_init__(self):
        object.__setattr__(self, "parts", _listed("parts", self.parts))
        for part in self.parts:
            check.instance("parts", part, Measurement)
        if not self.parts:
            raise ValueError(f"{_of(self)} holds no measurement")
        _check_no_strength(self)


@dataclass(frozen=True, eq=False)
class Readings(Measurement):
    """Measurements for each of several readings of the text; one of them has to hold.

    Attributes
    ----------
    parts : sequence of Measurement
        One per reading, named after it.
    """

    parts: Sequence[Measurement] = ()

    def __post_init__(self):
        object.__setattr__(self, "parts", _listed("parts", self.parts))
        for part in self.parts:
            check.instance("parts", part, Measurement)
        if not self.parts:
            raise ValueError(f"{_of(self)} holds no reading")
        names = [part.name for part in self.parts]
        if "" in names or len(set(names)) < len(names):
            raise ValueError(f"{_of(self)}: each reading must have a name of its own, got {names}")
        _check_no_strength(self)


@dataclass(frozen=True)
class Fact:
    """A number worth reporting that decides nothing.

    Attributes
    ----------
    name, unit : str
    value : float or str
    value_is : {"value", "lower bound", "upper bound"}
        Of what is named. The largest or smallest of the instances tried is a value.
    setting : mapping of str to float or str
        Where the number was taken, in the paper's letters: numbers of one name at several settings
        are shown as a table.
    """

    name: str
    value: Number
    unit: str = ""
    value_is: str = VALUE
    setting: Mapping[str, Any] = field(default_factory=dict, kw_only=True)

    def __post_init__(self):
        check.instance("value", self.value, Real, str)
        # Of arrays of sizes, too; a ledger holds plain numbers.
        plain = {name: getattr(x, "item", lambda x=x: x)() for name, x in self.setting.items()}
        object.__setattr__(self, "setting", plain)


@dataclass(frozen=True, eq=False)
class Curve:
    """Points for the picture that decide nothing.

    Attributes
    ----------
    points : DataFrame
        As :func:`linrep.figures.plotting.evidence` takes them: columns panel, x, y, xlabel, ylabel,
        and perhaps series, low, high and predicted. Axes are logarithmic.
    """

    points: pd.DataFrame

    def __post_init__(self):
        missing = [name for name in _DRAWN if name not in self.points]
        if missing:
            raise ValueError(
                f"the points of a Curve must have columns {', '.join(_DRAWN)}, and have no "
                f"{', '.join(missing)}"
            )


@dataclass(frozen=True, eq=False)
class Line:
    """Replicates of a constant along a variable, other columns being fixed."""

    variable: str
    series: str
    x: NDArray[np.float64]
    samples: list[NDArray[np.float64]]


_DRAWN = ("panel", "x", "y", "xlabel", "ylabel")
STATISTICS = {"median": np.median, "mean": np.mean}


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


def flat(measurements: Iterable[Measurement]) -> list[Measurement]:
    """Return measurements with those of groups in their place."""
    found: list[Measurement] = []
    for item in measurements:
        found += flat(item.parts) if isinstance(item, Together | Readings) else [item]
    return found


def shared(measurements: Iterable[Measurement]) -> float:
    """Return the weight among which a level is shared, as planned: whatever came out.

    What could not be taken keeps its share: else outcomes would choose the level of the others.
    """
    total = 0.0
    for item in measurements:
        if isinstance(item, Together | Readings):
            total += shared(item.parts) + getattr(item, "left_out", 0.0)
        elif item.statistical or isinstance(item, Missing):
            total += item.weight
    return total


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


def _listed(name, values):
    """Return values as a list, if they are several."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise TypeError(f"{name} must be a list, got {type(values).__name__}")
    return list(values)


def _samples(measurement, name, values):
    values = check.real_array(name, values)
    if values.size == 0:
        raise ValueError(f"{_of(measurement)} holds no sample")
    if np.isnan(values).any():
        raise ValueError(f"{_of(measurement)} holds NaN in its {name}")
    return values


def _thinned(values):
    """Return values, the smallest and the largest among them, of so many as a picture shows."""
    if values.size <= _KEPT:
        return values
    return np.sort(values, axis=None)[np.linspace(0, values.size - 1, _KEPT).astype(int)]


def _check_no_strength(group):
    if group.strength:
        raise ValueError(f"{_of(group)}: its parts have a strength each, it has none of its own")


def _of(measurement):
    kind = type(measurement).__name__
    return f"{kind} {measurement.name!r}" if measurement.name else kind


checked(globals(), nan=False)
