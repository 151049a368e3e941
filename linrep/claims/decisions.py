"""How each kind of measurement is decided, with the probability that the decision is wrong.

What rests on slopes is in :mod:`linrep.claims.slopes`, what is searched for in
:mod:`linrep.claims.search`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from linrep.claims.confidence import Interval, Moments, enough
from linrep.claims.evidence import FAILS, HOLDS, LEVEL, UNDECIDED, VALUE, Evidence, said, words
from linrep.stats import proportion_interval

#: What it takes where replicates do not differ.
UNTIL_DIFFERENT = "more runs, until replicates differ"
_MOST = 1e9  # runs that can be made
_FURTHER = 1.001  # times the ratio at the smallest violation; the worst is shown if it is beyond


def identity(
    deviations: Iterable[tuple[float, Mapping[str, Any]]],
    tolerance: float,
    *,
    quantity: str = "relative deviation",
) -> Evidence:
    """Decide whether two expressions are equal up to rounding."""
    cases = list(deviations)
    if not cases:
        raise ValueError("deviations must hold at least one instance, got none")
    worst, instance = max(cases, key=lambda case: math.inf if math.isnan(case[0]) else case[0])
    good = worst <= tolerance
    return Evidence(
        HOLDS if good else FAILS,
        f"largest {quantity} {worst:.2g} over {len(cases)} instance{'s' * (len(cases) > 1)}, "
        f"{tolerance:.0e} allowed",
        measured=float(worst),
        predicted=tolerance,
        n_trials=len(cases),
        counterexample=None if good else {**instance, "deviation": float(worst)},
    )


def frequency(
    violations: int,
    trials: int,
    allowed: float,
    *,
    level: float = LEVEL,
    before: str = "",
) -> Evidence:
    """Decide whether an event is as rare as a bound says, by a Clopper-Pearson interval."""
    share, low, high = map(
        float, proportion_interval(violations, trials, confidence=1.0 - 2.0 * level)
    )
    counts = (
        f"{before}{violations} of {trials} runs violate it, a share of at most {allowed:.2g} may"
    )
    common: dict[str, Any] = {
        "measured": share,
        "predicted": allowed,
        "interval": (low, high),
        "n_trials": trials,
        "level": level,
    }
    if low > allowed:
        counted = {"violations": violations, "trials": trials}
        return Evidence(FAILS, counts, counterexample=counted, **common)
    if high <= allowed:
        return Evidence(HOLDS, counts, **common)
    clean = math.log(level) / math.log1p(-allowed) if 0.0 < allowed < 1.0 else math.inf
    if violations == 0:
        sentence = f"not refuted: {counts}"
        clean = math.ceil(min(clean, _MOST))
        needed = f"{clean} runs without a violation" if clean < _MOST else more(trials, math.inf)
        return Evidence(UNDECIDED, sentence, needed=needed, **common)

    def undecided(runs):
        most, least = _decisive(runs, allowed, level)
        return _at_most(least - 1.0, runs, violations, trials) - _at_most(
            most, runs, violations, trials
        )

    return Evidence(UNDECIDED, counts, needed=more(trials, _times(trials, undecided)), **common)


def _decisive(runs, allowed, level):
    """Return the largest number of events that is surely rarer, and the least surely more often."""
    rare = scipy.stats.binom.ppf(level, runs, allowed) - 1.0
    return rare, scipy.stats.binom.isf(level, runs, allowed) + 1.0


def _at_most(limit, runs, events, trials):
    """Return with what probability at most so many of these runs have an event.

    It came in so many of the trials: by Jeffreys' prior its probability has a beta distribution, as
    its share of the runs has nearly, whose variance is that of both.
    """
    mean, concentration = (events + 0.5) / (trials + 1.0), trials + 1.0
    concentration = (concentration + 1.0) * runs / (concentration + runs) - 1.0
    found = scipy.stats.beta.cdf(
        (limit + 0.5) / runs, mean * concentration, (1.0 - mean) * concentration
    )
    return np.where(limit < 0.0, 0.0, found)


def _times(made, undecided: Callable[[NDArray[np.float64]], NDArray[np.float64]]):
    """Return how many times the runs decide in 19 of 20 cases, infinity where none do.

    That is asked of what is to be found if all values of the truth are as likely beforehand: what
    was measured is not taken for true.
    """
    runs = np.ceil(made * 2.0 ** np.arange(0.5, max(1.0, math.log2(_MOST / made)), 0.5))
    open_ = undecided(runs)
    if np.isnan(open_).any():
        return math.nan
    enough = open_ <= 0.05
    return float(runs[enough.argmax()] / made) if enough.any() else math.inf


def _inside(distances, halves, fewer, error):
    """Return with what probability an end is in the interval of an estimate of more runs.

    The ends are at these distances from the estimate that was made, which has this standard error;
    the runs then are 1/`fewer` times those that were made.
    """
    spread = error * np.sqrt(1.0 + fewer)
    with np.errstate(divide="ignore", invalid="ignore"):
        inside = [
            scipy.stats.norm.cdf((halves - distance) / spread)
            - scipy.stats.norm.cdf((-halves - distance) / spread)
            for distance in distances
            if math.isfinite(distance)
        ]
    return np.sum(inside, axis=0)


def more(made: int, factor: float, of: str = "runs") -> str:
    """Say how many runs it would take, `factor` times as many as were made, if numbers stay."""
    needed = made * factor
    if math.isnan(needed):
        return UNTIL_DIFFERENT
    if not needed < _MOST:
        return f"more {of} than can be made"
    digits = max(1, math.floor(math.log10(max(needed, 1.0))))
    rounded = math.ceil(needed / 10 ** (digits - 1)) * 10 ** (digits - 1)
    return f"about {max(rounded, made + 1)} {of}"


def takes_runs(needed: str) -> bool:
    """Tell whether it is so many runs that would decide, and not other sizes."""
    clean = needed.endswith("runs without a violation")
    return needed.startswith("about ") or clean or needed == UNTIL_DIFFERENT


def equal_replicates(made: int, level: float, at: str = "") -> Evidence:
    """Return that replicates do not differ: none may be of a rarer kind by chance alone."""
    sentence = f"replicates are all equal{at}, which says nothing of their noise"
    return Evidence(UNDECIDED, sentence, needed=UNTIL_DIFFERENT, n_trials=made, level=level)


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


def expectation(
    moments: Moments,
    interval: Callable[[int], Interval],
    predicted: float,
    *,
    margin: float = 0.1,
    level: float = LEVEL,
) -> Evidence:
    """Decide whether independent samples have the mean that a formula gives."""
    size, mean, spread, _ = moments
    low, high = interval(size)
    known = low == high
    # A constant sample differs from its formula by rounding.
    rounding = 1e-12 * (abs(mean) + abs(predicted))
    low, high = low - rounding, high + rounding
    off = not low <= predicted <= high
    scale = abs(predicted) if predicted else spread
    sharp = known or max(mean - low, high - mean) <= margin * scale

    def undecided(runs):  # the standard deviation, too, is known only so well
        return _halves(mean, interval, runs) > margin * scale / (1.0 + 2.0 / size**0.5)

    return Evidence(
        FAILS if off else HOLDS if sharp else UNDECIDED,
        f"{_shown(mean, low, high)}, claimed {predicted:.4g}",
        measured=mean,
        predicted=float(predicted),
        interval=(low, high),
        n_trials=size,
        level=level,
        counterexample={"mean": mean} if off else None,
        needed="" if off or sharp else _more_samples(moments, (low, high), undecided),
    )


def mean_between(
    moments: Moments,
    interval: Callable[[int], Interval],
    low: float,
    high: float,
    *,
    level: float = LEVEL,
) -> Evidence:
    """Decide whether the mean of independent samples lies between two numbers."""
    size, mean, spread, _ = moments
    ends = interval(size)
    good, bad = low <= ends[0] and ends[1] <= high, ends[1] < low or ends[0] > high
    claimed = f"between {low:.4g} and {high:.4g}"
    if math.isinf(low) or math.isinf(high):
        claimed = f"at most {high:.4g}" if math.isinf(low) else f"at least {low:.4g}"
    error = 0.0 if math.isnan(spread) else spread / math.sqrt(size)

    def undecided(runs):
        halves = _halves(mean, interval, runs)
        return _inside((low - mean, high - mean), halves, size / runs, error)

    return Evidence(
        HOLDS if good else FAILS if bad else UNDECIDED,
        f"{_shown(mean, *ends)}, claimed {claimed}",
        measured=mean,
        predicted=low if math.isinf(high) else high,
        interval=ends,
        n_trials=size,
        level=level,
        counterexample={"mean": mean} if bad else None,
        needed="" if good or bad else _more_samples(moments, ends, undecided),
    )


def _shown(mean, low, high):
    """Say what is known of a mean, and that there are too few samples to know more."""
    few = "" if low > -math.inf and high < math.inf else ", samples too few for this level"
    return f"mean {mean:.4g} [{low:.4g}, {high:.4g}]{few}"


def _halves(mean, interval, runs):
    """Return the half-widths of the intervals that numbers of samples have, the wider halves."""
    return np.array([np.abs(np.subtract(interval(int(size)), mean)).max() for size in runs])


def _more_samples(moments, ends, undecided):
    """Say how many samples decide; a single one of no known range says nothing of noise."""
    if math.isnan(moments.deviation) and not all(map(math.isfinite, ends)):
        return UNTIL_DIFFERENT
    return more(moments.size, _times(moments.size, undecided))


def ordering(
    smaller: ArrayLike,
    larger: ArrayLike,
    *,
    tie: float = 0.02,
    same: bool = False,
    level: float = LEVEL,
) -> Evidence:
    """Decide a comparison that is paired over seeds."""
    a, b = np.asarray(smaller, dtype=float), np.asarray(larger, dtype=float)
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = np.sort(np.where(a == b, 1.0, a / b))
    n = ratio.size
    # Largest r with P(Binomial(n, 1/2) < r) <= level / 2: the r-th smallest and largest.
    rank = int(scipy.stats.binom.ppf(level / 2.0, n, 0.5))
    low, high = (ratio[rank - 1], ratio[n - rank]) if rank > 0 else (0.0, math.inf)
    median = float(np.median(ratio))
    within = low >= 1.0 - tie and high <= 1.0 + tie
    below, above = high < 1.0 - tie, low > 1.0 + tie
    if same:
        good, bad = within, below or above
    else:
        good, bad = below, above or within
    wins, ties = int(np.sum(ratio < 1.0 - tie)), int(np.sum(np.abs(ratio - 1.0) <= tie))
    return Evidence(
        HOLDS if good else FAILS if bad else UNDECIDED,
        f"median ratio {median:.3g} [{low:.3g}, {high:.3g}]: {wins} smaller, {ties} tied, "
        f"{n - wins - ties} larger",
        measured=median,
        predicted=1.0,
        interval=(float(low), float(high)),
        n_trials=n,
        level=level,
        counterexample={"median ratio": median} if bad else None,
        needed="" if good or bad else more(n, _times_of_ratios(ratio, tie, level), "seeds"),
    )


def _times_of_ratios(ratio, tie, level):
    """Return how many times the seeds put the whole interval below, above or within the ties."""
    n = ratio.size
    outside = int(np.sum(ratio >= 1.0 - tie)), int(np.sum(ratio <= 1.0 + tie))

    def undecided(seeds):
        few, _ = _decisive(seeds, 0.5, level / 2.0)
        not_below, not_above, below, above = (
            _at_most(few, seeds, count, n)
            for count in (*outside, *(n - count for count in outside))
        )
        return 1.0 - not_below - not_above - np.maximum(0.0, below + above - 1.0)

    return _times(n, undecided)


def trend(
    samples: ArrayLike,
    *,
    level: float = LEVEL,
) -> Evidence:
    """Decide whether measurements grow from column to column."""
    samples = np.asarray(samples, dtype=float)
    up = scipy.stats.page_trend_test(samples).pvalue
    down = scipy.stats.page_trend_test(-samples).pvalue
    ranks = scipy.stats.rankdata(samples, axis=1)
    ranks -= ranks.mean(axis=1, keepdims=True)
    places = np.arange(samples.shape[1]) - (samples.shape[1] - 1) / 2.0
    lengths = np.maximum(np.linalg.norm(ranks, axis=1), 1e-300) * np.linalg.norm(places)
    correlations = ranks @ places / lengths
    correlation, rows = float(np.mean(correlations)), len(samples)
    good, bad = up <= level / 2.0, down <= level / 2.0
    # Page's statistic is the mean correlation over its standard error without a trend.
    null = 1.0 / math.sqrt(rows * (samples.shape[1] - 1))
    error = max(null, float(np.std(correlations)) / math.sqrt(rows))
    half = scipy.stats.norm.isf(level / 2.0) * null

    def undecided(runs):
        return _inside([correlation], half * np.sqrt(rows / runs), rows / runs, error)

    return Evidence(
        HOLDS if good else FAILS if bad else UNDECIDED,
        f"mean rank correlation {correlation:.2f} over {len(samples)} seeds, "
        f"p = {min(up, down):.1g}",
        measured=correlation,
        predicted=1.0,
        n_trials=samples.size,
        level=level,
        counterexample={"rank correlation": correlation} if bad else None,
        needed="" if good or bad else more(rows, _times(rows, undecided), "seeds"),
    )


def excess(
    left: float | Fraction,
    right: float | Fraction,
    violations: int,
    count: int,
    instance: Mapping[str, Any],
    shown: Iterable[str] = (),
    kind: str = VALUE,
) -> str:
    """Say in how many cases the left side is larger, and by how much at most."""
    cases = "case" if count == 1 else "cases"
    counts = f"left side larger in {violations} of {count} {cases}"
    if not violations:
        return counts
    at = ", ".join(f"{name} = {instance[name]}" for name in shown if name in instance)
    behind = f" ({at})" if at else ""
    if not right > 0.0:
        upto = "" if words(kind) or count == 1 else "up to "
        return f"{counts}, by {upto}{said(kind, float(left - right))}{behind}"
    where = ": " if count == 1 else "; at the largest excess "
    return f"{counts}{where}{times(left, right, kind)}{behind}"


def times(left, right, kind=VALUE):
    """Say how many times the right side the left one is."""
    if left == np.inf:
        return "the left side is infinite"
    more = float((left - right) / right)
    # Just above 1, it is the excess that has digits.
    if more >= 0.001:
        return f"{said(kind, 1.0 + more)} times the right side"
    return f"{words(kind)}1 + {said(kind, more, 2).removeprefix(words(kind))} times the right side"


def ratio(left, right):
    """Return how much of a bound is used, NaN where lhs and rhs are not both positive."""
    return float(left / right) if left > 0.0 and 0.0 < right < np.inf else np.nan


def violation(
    left: float,
    right: float,
    evaluations: int,
    instance: Mapping[str, Any],
    worst: Mapping[str, Any],
) -> Evidence:
    """Return that a search met a left side above the right one: the smallest, and the worst."""
    behind = f": {times(left, right)}" if right > 0.0 else ""
    most = ""
    if worst and ratio(worst["left"], worst["right"]) > _FURTHER * ratio(left, right):
        most = f"; at the worst instance {times(worst['left'], worst['right'])}"
    return Evidence(
        FAILS,
        f"left side {left:.6g}, right side {right:.6g}{behind}{most}",
        measured=left,
        predicted=right,
        tightness=ratio(left, right),
        quantity="left side",
        n_trials=evaluations,
        counterexample={**instance, "left": left, "right": right},
        worst=worst if most else None,
    )


def not_violated(
    excess: float, tightest: float, evaluations: int, worst: Mapping[str, Any], equal: int = 0
) -> Evidence:
    """Return that a search met none, with the largest left/right, or the largest relative excess.

    The former where both sides are positive at the largest excess, but for sides that vanish. In so
    many instances both sides are equal to rounding, the left one being larger by that.
    """
    of_ratio = (tightest - 1.0) / (tightest + 1.0) if 0.0 < tightest < math.inf else math.nan
    by_ratio = math.isclose(excess, of_ratio, abs_tol=1e-9) or (excess == 0.0 and tightest > 0.0)
    largest = f", left/right up to {tightest:.4g}" if tightest > -math.inf else ""
    rounded = f", equal to rounding in {equal} of them" if equal else ""
    return Evidence(
        HOLDS,
        f"no violation in {evaluations} instances searched{largest}{rounded}",
        measured=tightest if by_ratio else excess,
        predicted=1.0 if by_ratio else 0.0,
        tightness=tightest,
        quantity="left over right" if by_ratio else "",
        n_trials=evaluations,
        worst=worst or None,
    )


def condition(
    good: bool,
    measured: float,
    claimed: float,
    setting: Mapping[str, Any],
    *,
    kind: str = VALUE,
    n_trials: int = 0,
) -> Evidence:
    """Return what computed numbers settle by themselves, the measured one being of a kind."""
    texts = ["true" if good else "false"]
    if not math.isnan(measured):
        texts.append(said(kind, measured))
    if not math.isnan(claimed):
        texts.append(f"claimed {claimed:.4g}")
    return Evidence(
        HOLDS if good else FAILS,
        ", ".join(texts),
        measured=measured,
        predicted=claimed,
        n_trials=n_trials,
        counterexample=None if good else dict(setting),
    )
