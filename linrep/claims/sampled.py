"""Frequencies, means, comparisons and trends: what can go wrong by chance, with its probability."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import lru_cache
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import stdtr
from scipy.stats import binom, norm, page_trend_test, rankdata

from linrep._lib import validation as check
from linrep.claims.confidence import (
    MOST,
    UNTIL_DIFFERENT,
    Moments,
    chance_of_at_most,
    decisive,
    inside_later,
    more,
    of_bounded_mean,
    of_mean,
    times,
)
from linrep.claims.evidence import UNDECIDED, Evidence, decided, words
from linrep.claims.measurements import Measurement, _of, _samples, _thinned, in_order, ratio
from linrep.stats import proportion_interval

_FAR = 1e6  # times a ratio, beyond which an end of its interval is not looked for


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
        count, runs, allowed = self.violations, self.trials, self.at_most
        share, low, high = map(
            float, proportion_interval(count, runs, confidence=1.0 - 2.0 * level)
        )
        good, bad = high <= allowed, low > allowed
        sentence = (
            f"{words(self.measured_is)}{count} of {runs} runs violate it, a share of at most "
            f"{allowed:.2g} may"
        )
        return decided(
            good,
            bad,
            sentence if good or count else f"not refuted: {sentence}",
            example={"violations": count, "trials": runs},
            needed=lambda: self._needed(level),
            measured=share,
            predicted=allowed,
            interval=(low, high),
            tightness=ratio(share, allowed),
            n_trials=runs,
            level=level,
        )

    def _needed(self, level):
        """Say how many runs decide."""
        count, made, allowed = self.violations, self.trials, self.at_most
        if count == 0:
            clean = math.log(level) / math.log1p(-allowed) if 0.0 < allowed < 1.0 else math.inf
            clean = math.ceil(min(clean, MOST))
            return f"{clean} runs without a violation" if clean < MOST else more(made, math.inf)

        def undecided(runs):
            most, least = decisive(runs, allowed, level)
            return chance_of_at_most(least - 1.0, runs, count, made) - chance_of_at_most(
                most, runs, count, made
            )

        return more(made, times(made, undecided))

    def picture(self, level: float) -> pd.DataFrame | None:
        """Return the share with its interval."""
        return shares([(self.violations, self.trials, self.at_most, level)])


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
        if self.moments.deviation == 0.0 and not self.deterministic and self.within is None:
            return equal_replicates(self.moments.size, level)
        if self.equals is None:
            return self._between(level)
        return self._equal(level, self.equals)

    def _equal(self, level, predicted):
        """Decide whether it is the number that is claimed."""
        size, mean, spread, _ = self.moments
        ends = self._ends(level)
        # A constant sample differs from its formula by rounding.
        rounding = 1e-12 * (abs(mean) + abs(predicted))
        low, high = ends[0] - rounding, ends[1] + rounding
        scale = self.margin * (abs(predicted) if predicted else spread)
        sharp = ends[0] == ends[1] or max(mean - low, high - mean) <= scale

        def undecided(runs):  # the standard deviation, too, is known only so well
            return self._halves(level, ends, runs) > scale / (1.0 + 2.0 / size**0.5)

        return self._of_mean(
            sharp, not low <= predicted <= high, (low, high), f"{predicted:.4g}", predicted, level,
            undecided,
        )  # fmt: skip

    def _between(self, level):
        """Decide whether it lies between the numbers that are claimed."""
        low = -math.inf if self.at_least is None else self.at_least
        high = math.inf if self.at_most is None else self.at_most
        size, mean, spread, _ = self.moments
        ends = self._ends(level)
        claimed = f"between {low:.4g} and {high:.4g}"
        if None in (self.at_least, self.at_most):
            claimed = f"at least {low:.4g}" if self.at_most is None else f"at most {high:.4g}"
        error = 0.0 if math.isnan(spread) else spread / math.sqrt(size)

        def undecided(runs):
            halves = self._halves(level, ends, runs)
            return inside_later((low - mean, high - mean), halves, size / runs, error)

        found = self._of_mean(
            low <= ends[0] and ends[1] <= high, ends[1] < low or ends[0] > high, ends, claimed,
            low if self.at_most is None else high, level, undecided,
        )  # fmt: skip
        used = math.nan if self.at_most is None else ratio(mean, high)
        return replace(found, tightness=used)

    def _of_mean(self, good, bad, ends, claimed, predicted, level, undecided):
        size, mean, spread, _ = self.moments
        known = all(map(math.isfinite, ends))

        def needed():
            if math.isnan(spread) and not known:  # a single sample says nothing of noise
                return UNTIL_DIFFERENT
            return more(size, times(size, undecided))

        few = "" if known else ", samples too few for this level"
        return decided(
            good,
            bad,
            f"mean {mean:.4g} [{ends[0]:.4g}, {ends[1]:.4g}]{few}, claimed {claimed}",
            example={"mean": mean},
            needed=needed,
            measured=mean,
            predicted=float(predicted),
            interval=ends,
            n_trials=size,
            level=level,
        )

    def _ends(self, level):
        """Return the interval of the mean."""
        if self.deterministic:
            return float(np.min(self.samples)), float(np.max(self.samples))
        if self.within is not None:
            return of_bounded_mean(self.samples, self.within, level / 2.0)
        return of_mean(self.moments, level / 2.0)

    def _halves(self, level, ends, runs):
        """Return half the widths, the wider halves, of intervals of so many such samples."""
        size, mean, *_ = self.moments
        if self.deterministic or self.within is not None:
            half = np.abs(np.subtract(ends, mean)).max()
            return np.full(len(runs), half) * (1.0 if self.deterministic else np.sqrt(size / runs))
        of_size = (of_mean(self.moments._replace(size=int(each)), level / 2.0) for each in runs)
        return np.array([np.abs(np.subtract(each, mean)).max() for each in of_size])

    def picture(self, level: float) -> pd.DataFrame | None:
        """Return the samples in order of size."""
        bounds = (self.equals, self.at_most, self.at_least)
        claimed = next(bound for bound in bounds if bound is not None)
        allowed = "below"
        if self.at_most is None:
            allowed = "" if self.at_least is None else "above"
        several = f" in {len(self.samples)} of {self.moments.size} samples"
        rank = f"rank{several if len(self.samples) < self.moments.size else ''}"
        return in_order(self.samples, self.name, rank, self.quantity, claimed, allowed=allowed)


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
    statistic : {"median", "mean"}
        What is compared: the median of the ratios of pairs, which needs no law, or the ratio of the
        means, by Fieller's interval with the skewness taken off.

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
    statistic: str = "median"
    quantity: str = "median ratio"

    statistical: ClassVar[bool] = True
    kind: ClassVar[str] = "comparison"

    def __post_init__(self):
        for side in ("smaller", "larger"):
            object.__setattr__(self, side, _samples(self, side, getattr(self, side)))
        if np.shape(self.smaller) != np.shape(self.larger):
            raise ValueError(f"{_of(self)} has sides of different lengths")
        check.choice("statistic", self.statistic, ("median", "mean"))

    def _joined(self, others):
        return {
            side: np.concatenate([getattr(each, side) for each in (self, *others)])
            for side in ("smaller", "larger")
        }

    def _decision(self, level):
        a, b, tie = self.smaller, self.larger, self.tie
        with np.errstate(invalid="ignore", divide="ignore"):
            ratios = np.sort(np.where(a == b, 1.0, a / b), axis=None)
        n = ratios.size
        if self.statistic == "mean":
            middle, low, high = _ratio_of_means(a.tobytes(), b.tobytes(), level / 2.0)
        else:
            # Largest r with P(Binomial(n, 1/2) < r) <= level / 2: the r-th smallest and largest.
            rank = int(binom.ppf(level / 2.0, n, 0.5))
            low, high = (ratios[rank - 1], ratios[n - rank]) if rank > 0 else (0.0, math.inf)
            middle = float(np.median(ratios))
        within = low >= 1.0 - tie and high <= 1.0 + tie
        below, above = high < 1.0 - tie, low > 1.0 + tie
        good, bad = (within, below or above) if self.same else (below, above or within)
        wins, ties = int(np.sum(ratios < 1.0 - tie)), int(np.sum(np.abs(ratios - 1.0) <= tie))
        what = "median ratio" if self.statistic == "median" else "ratio of the means"
        return decided(
            good,
            bad,
            f"{what} {middle:.3g} [{low:.3g}, {high:.3g}]: {wins} smaller, {ties} tied, "
            f"{n - wins - ties} larger",
            example={what: middle},
            needed=lambda: more(n, self._times(ratios, (middle, low, high), level), "seeds"),
            measured=middle,
            predicted=1.0,
            interval=(float(low), float(high)),
            n_trials=n,
            level=level,
        )

    def _times(self, ratios, found, level):
        """Return how many times the seeds decide it, by the ratios or by the interval found."""
        if self.statistic == "median":
            return _times_of_ratios(ratios, self.tie, level)
        middle, low, high = found
        half = max(middle - low, high - middle)
        if not math.isfinite(half):  # a mean of what never ends is infinite
            return math.nan if math.isfinite(middle) else math.inf
        ends = [1.0 - self.tie - middle, 1.0 + self.tie - middle]

        def undecided(seeds):
            fewer = ratios.size / seeds
            return inside_later(ends, half * np.sqrt(fewer), fewer, half / norm.isf(level / 2.0))

        return times(ratios.size, undecided)

    def picture(self, level: float) -> pd.DataFrame | None:
        """Return the ratios in order of size."""
        with np.errstate(invalid="ignore", divide="ignore"):
            ratios = self.smaller / self.larger
        return in_order(ratios, self.name, "rank", "ratio of a pair", 1.0)


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
        rows, columns = self.samples.shape
        ranks = rankdata(self.samples, axis=1)
        ranks -= ranks.mean(axis=1, keepdims=True)
        places = np.arange(columns) - (columns - 1) / 2.0
        lengths = np.maximum(np.linalg.norm(ranks, axis=1), 1e-300) * np.linalg.norm(places)
        correlations = ranks @ places / lengths
        correlation = float(np.mean(correlations))
        # Page's statistic is the mean correlation over its standard error without a trend.
        null = 1.0 / math.sqrt(rows * (columns - 1))
        own = float(np.std(correlations)) / math.sqrt(rows)
        error = max(null, own)
        # Page's law is that of exchangeable columns: of unequal spreads it may be too narrow.
        up, down = (
            max(page_trend_test(sign * self.samples).pvalue, _beyond(sign * correlation, own, rows))
            for sign in (1.0, -1.0)
        )
        half = norm.isf(level / 2.0) * null

        def undecided(runs):
            return inside_later([correlation], half * np.sqrt(rows / runs), rows / runs, error)

        return decided(
            up <= level / 2.0,
            down <= level / 2.0,
            f"mean rank correlation {correlation:.2f} over {rows} seeds, p = {min(up, down):.1g}",
            example={"rank correlation": correlation},
            needed=lambda: more(rows, times(rows, undecided), "seeds"),
            measured=correlation,
            predicted=1.0,
            n_trials=self.samples.size,
            level=level,
        )

    def picture(self, level: float) -> pd.DataFrame | None:
        """Return the median over seeds of every column, with quartiles."""
        return _quartiles(self.samples, self.name)


def _beyond(mean, error, size):
    """Return Student's probability of a mean as large if it is 0 in truth."""
    return float(stdtr(size - 1, -mean / error)) if error > 0.0 else float(mean <= 0.0)


def equal_replicates(made: int, level: float, at: str = "") -> Evidence:
    """Return that replicates do not differ: none may be of a rarer kind by chance alone."""
    sentence = f"replicates are all equal{at}, which says nothing of their noise"
    return Evidence(UNDECIDED, sentence, needed=UNTIL_DIFFERENT, n_trials=made, level=level)


@lru_cache(maxsize=256)  # of one interval many ties are decided
def _ratio_of_means(a, b, tail):
    """Return a mean over another, and its interval: no end where samples do not allow one.

    The ratio r is where the interval of the mean of a - r b has 0 (Fieller, JRSS B 16, 1954). The
    samples are given as bytes.
    """
    a, b = np.frombuffer(a), np.frombuffer(b)
    if not (np.isfinite(a).all() and np.isfinite(b).all() and min(a.mean(), b.mean()) > 0.0):
        return math.nan, 0.0, math.inf
    ratio = float(a.mean() / b.mean())

    def excess(r, place):
        return of_mean(Moments.of(a - r * b), tail)[place]

    ends = []
    for place, factor in enumerate((0.5, 2.0)):
        near, far = ratio, ratio * factor
        # The lower end is where a smaller r leaves 0 below the interval, the upper one above it.
        while (excess(far, place) > 0.0) == bool(place) and 1.0 / _FAR < far / ratio < _FAR:
            near, far = far, far * factor
        if (excess(far, place) > 0.0) == bool(place):
            ends.append((0.0, math.inf)[place])
        elif (excess(near, place) > 0.0) == bool(place):
            ends.append(brentq(excess, near, far, args=(place,), rtol=1e-9))
        else:  # of equal ratios to rounding
            ends.append(ratio)
    return ratio, ends[0], ends[1]


def _times_of_ratios(ratio, tie, level):
    """Return how many times the seeds put the whole interval below, above or within the ties."""
    n = ratio.size
    outside = int(np.sum(ratio >= 1.0 - tie)), int(np.sum(ratio <= 1.0 + tie))

    def undecided(seeds):
        few, _ = decisive(seeds, 0.5, level / 2.0)
        not_below, not_above, below, above = (
            chance_of_at_most(few, seeds, count, n)
            for count in (*outside, *(n - count for count in outside))
        )
        return 1.0 - not_below - not_above - np.maximum(0.0, below + above - 1.0)

    return times(n, undecided)


def shares(frequencies: Iterable[tuple[int, int, float, float]]) -> pd.DataFrame:
    """Return the shares of events with their intervals, in order of their size."""
    rows = []
    for violations, trials, at_most, level in frequencies:
        share, low, high = proportion_interval(violations, trials, confidence=1.0 - 2.0 * level)
        rows.append({"y": share, "low": low, "high": high, "predicted": at_most})
    table = pd.DataFrame(rows, dtype=float).sort_values(["y", "high"], ignore_index=True)
    # On a logarithmic axis a share of 0 is its interval alone.
    return table.assign(
        panel="", series="", x=np.arange(1.0, len(table) + 1.0),
        y=table["y"].where(table["y"] > 0.0),
        predicted=table["predicted"].where(table["predicted"] > 0.0), allowed="below",
        xlabel="rank", ylabel="share of violations",
    )  # fmt: skip


def _quartiles(samples: ArrayLike, name: str) -> pd.DataFrame:
    """Return the median of every column with its quartiles, against its number."""
    samples = np.atleast_2d(samples)
    low, y, high = np.quantile(samples, (0.25, 0.5, 0.75), axis=0, method="nearest")
    return pd.DataFrame(
        {
            "panel": name, "series": "", "x": np.arange(1.0, samples.shape[1] + 1.0),
            "y": np.where((y > 0.0) & np.isfinite(y), y, np.nan), "low": low, "high": high,
            "xlabel": "size, in order", "ylabel": "median, quartiles",
        }
    )  # fmt: skip
