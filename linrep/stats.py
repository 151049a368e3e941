"""Statistics of trajectories and of parameter sweeps."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats
from scipy.optimize import brentq
from scipy.special import expit, log_expit, logit

from linrep import _validation as check

_SHORTEST_PLATEAU = 10  # steps
_FLAT = 0.1  # largest slope on a plateau, as a share of the slope before it
_SURPRISE = 4.0  # standard deviations by which going on as before would have left the plateau
_CLEAR = 10.0  # values count as decaying while they are this many times the plateau's level
_FEWEST = 4  # steps from which an interval is estimated
# Logarithms that agree to this are the same: far above rounding, far below the steps of a sweep.
_COLLINEAR = 1e-8
_JUMP = 1e6  # log-odds between neighbouring points that no number of trials tells from infinity


@dataclass(frozen=True)
class ContractionRate:
    """Contraction of a positive sequence per step, up to its plateau.

    Attributes
    ----------
    rate : float
        Geometric mean of the ratios of successive values, below 1 for a decaying sequence; NaN if
        not even the first step stays clear of the plateau.
    low, high : float
        Confidence interval of `rate`; from 0 to infinity for fewer than four steps.
    confidence : float
        Its level.
    steps : int
        Number of ratios used: those of values clear of the plateau.
    plateau : int or None
        Step at which the plateau starts, None if the sequence does not reach one.
    level : float or None
        Geometric mean of the values from there on.
    """

    rate: float
    low: float
    high: float
    confidence: float
    steps: int
    plateau: int | None
    level: float | None

    def __str__(self):
        text = f"{self.rate:.6g} [{self.low:.6g}, {self.high:.6g}] over {self.steps} rounds"
        if self.plateau is None:
            return text + ", no plateau"
        return text + f", plateau {self.level:.2g} from round {self.plateau}"


def contraction_rate(
    values: ArrayLike, *, confidence: float = 0.95, floor: float = 0.0
) -> ContractionRate:
    """Estimate how fast a positive sequence contracts per step, and where it stops doing so.

    Parameters
    ----------
    values : array_like, shape (T + 1,)
        Finite and positive.
    confidence : float, default 0.95
        Level of the interval, in (0, 1).
    floor : float, default 0
        Values below it are taken to be it: the size of rounding errors.

    Returns
    -------
    ContractionRate

    Raises
    ------
    ValueError
        If a value is not positive and there is no floor.

    Notes
    -----
    The plateau is found by least squares with a broken stick, ``a + b min(t, tau)``, on the
    logarithms. It is accepted if it has at least 10 steps, its own slope is within a tenth of b
    of zero, and going on with the increments before it would have led away by four of their
    standard deviations. The rate is the mean increment of the logarithms while the values stay
    above ten times the plateau; its interval is the Student interval of batch means with about
    sqrt(steps) batches, which allows for the dependence between steps. For a sequence whose rate
    drifts, the mean is over the steps used.
    """
    values = check.array("values", values, (None,))
    confidence = _share("confidence", confidence)
    if (values < 0.0).any():
        raise ValueError("values must be positive, or a floor be given; some are negative")
    values = np.maximum(values, check.real("floor", floor, minimum=0.0))
    if not (values > 0.0).all():
        raise ValueError("values must be positive, or a floor be given")
    logs = np.log(values)
    plateau, level = _plateau(logs)
    stop = logs.size - 1
    if plateau is not None:
        unclear = np.flatnonzero(logs < level + np.log(_CLEAR))
        stop = max(0, int(unclear[0]) - 1)
    centre, half = _batch_means(np.diff(logs[: stop + 1]), confidence)
    return ContractionRate(
        rate=float(np.exp(centre)),
        low=float(np.exp(centre - half)),
        high=float(np.exp(centre + half)),
        confidence=confidence,
        steps=stop,
        plateau=plateau,
        level=None if level is None else float(np.exp(level)),
    )


def _plateau(logs):
    """Return (first step, mean log) of the final plateau, or (None, None)."""
    last = logs.size - 1
    if last < 2 * _SHORTEST_PLATEAU:
        return None, None
    steps = np.arange(logs.size, dtype=float)
    y = logs - logs.mean()
    y -= y.mean()  # what rounding left of it
    # With u = min(t, tau): sums over t <= tau by cumulation, over t > tau in closed form.
    after = last - steps
    sum_u = np.cumsum(steps) + after * steps
    sum_uu = np.cumsum(steps**2) + after * steps**2
    tail_y = y.sum() - np.cumsum(y)
    sum_uy = np.cumsum(steps * y) + steps * tail_y
    spread = sum_uu - sum_u**2 / logs.size
    explained = np.zeros(logs.size)
    np.divide(sum_uy**2, spread, out=explained, where=spread > 0)
    corner = int(np.argmax(explained))
    slope = sum_uy[corner] / spread[corner] if spread[corner] > 0 else 0.0
    rounding = logs.size * np.finfo(np.float64).eps * np.abs(logs).max()
    if corner < 1 or last - corner < _SHORTEST_PLATEAU or -slope * corner <= rounding:
        return None, None
    tail = logs[corner + (last - corner) // 5 :]
    if abs(np.polyfit(np.arange(tail.size), tail, 1)[0]) > _FLAT * -slope:
        return None, None
    spread_before = np.diff(logs[: corner + 1]).std()
    if -slope * (last - corner) < _SURPRISE * spread_before * np.sqrt(last - corner):
        return None, None
    return corner, float(tail.mean())


def _batch_means(increments, confidence):
    """Return the mean and the half-width of its interval, infinite or NaN if there are too few."""
    if increments.size < _FEWEST:
        return (increments.mean(), np.inf) if increments.size else (np.nan, np.nan)
    batches = max(2, int(np.sqrt(increments.size)))
    means = np.array([batch.mean() for batch in np.array_split(increments, batches)])
    error = means.std(ddof=1) / np.sqrt(batches)
    return increments.mean(), stats.t.ppf(0.5 + confidence / 2.0, batches - 1) * error


def mean_interval(
    values: ArrayLike, *, geometric: bool = False, confidence: float = 0.95
) -> tuple[Any, Any, Any]:
    """Return mean and Student interval over trials, column by column.

    Parameters
    ----------
    values : array_like, shape (trials, ...)
        One row per trial.
    geometric : bool
        Work with logarithms and transform back: the geometric mean, for positive values that
        spread over orders of magnitude.
    confidence : float, default 0.95
        Level of the interval, in (0, 1).

    Returns
    -------
    mean, low, high : ndarray, shape (...)
        The interval is NaN for a single trial.

    Raises
    ------
    ValueError
        If values are not finite, or not positive although the mean is geometric.
    """
    values = check.array("values", values, None)
    confidence = _share("confidence", confidence)
    if values.ndim == 0:
        raise ValueError("values must have one row per trial, got a single number")
    if geometric:
        logs = np.log(_positive("values", values, None))
        mean, low, high = mean_interval(logs, confidence=confidence)
        return np.exp(mean), np.exp(low), np.exp(high)
    trials = len(values)
    mean = values.mean(axis=0)
    if trials > 1:
        half = stats.t.ppf(0.5 + confidence / 2, trials - 1) * stats.sem(values, axis=0)
    else:
        half = np.full(mean.shape, np.nan)
    return mean, mean - half, mean + half


def proportion_interval(
    successes: ArrayLike, trials: ArrayLike, *, confidence: float = 0.95
) -> tuple[Any, Any, Any]:
    """Return proportions of successes with their exact intervals.

    Parameters
    ----------
    successes, trials : array_like of whole numbers
        Shapes that broadcast; at least one trial, and at most as many successes.
    confidence : float, default 0.95
        Level of each interval, in (0, 1).

    Returns
    -------
    estimate, low, high : ndarray, or float where both counts are numbers

    Raises
    ------
    ValueError
        If counts are not whole, out of range, or of shapes that do not broadcast.

    Notes
    -----
    The interval of Clopper and Pearson (Biometrika 26, 1934): the proportions which neither of two
    one-sided binomial tests rejects. It covers at least as often as `confidence` says, for any
    number of trials.
    """
    successes, trials = _counts(successes, trials)
    tail = 0.5 - _share("confidence", confidence) / 2.0
    failures = trials - successes
    # Where a beta distribution degenerates the bound is the end of [0, 1], put in by hand.
    low = stats.beta.ppf(tail, np.maximum(successes, 1.0), failures + 1.0)
    high = stats.beta.isf(tail, successes + 1.0, np.maximum(failures, 1.0))
    low = np.where(successes == 0.0, 0.0, low)[()]
    high = np.where(failures == 0.0, 1.0, high)[()]
    return successes / trials, low, high


@dataclass(frozen=True)
class ScalingExponents:
    """A fitted power law, ``y = constant * x1**exponents["x1"] * x2**exponents["x2"] * ...``.

    Attributes
    ----------
    exponents : dict of str to float
        By variable.
    low, high : dict of str to float
        Ends of their confidence intervals, each at the given level.
    constant : float
        The factor in front.
    residual : float
        Residual standard deviation of log y.
    confidence : float
        Level of the intervals.
    """

    exponents: dict[str, float]
    low: dict[str, float]
    high: dict[str, float]
    constant: float
    residual: float
    confidence: float

    def __str__(self):
        powers = (
            f"{name}^{power:.4g} [{self.low[name]:.4g}, {self.high[name]:.4g}]"
            for name, power in self.exponents.items()
        )
        factors = " * ".join((f"{self.constant:.4g}", *powers))
        return f"{factors}, residual {self.residual:.2g} in log y"


def scaling_exponents(
    y: ArrayLike,
    x: ArrayLike | Mapping[str, ArrayLike],
    *,
    confidence: float = 0.95,
    robust: bool = False,
) -> ScalingExponents:
    """Fit a power law by least squares of log y on the logarithms of x and a constant.

    Parameters
    ----------
    y : array_like, shape (N,)
        Positive; at least two more than there are exponents.
    x : mapping of str to array_like, shape (N,), or array_like, shape (N,)
        The variables by name, positive. A single array goes by the name "x".
    confidence : float, default 0.95
        Level of each interval, in (0, 1).
    robust : bool
        Allow errors of log y whose variance differs between points.

    Returns
    -------
    ScalingExponents

    Raises
    ------
    ValueError
        If values are not positive, points too few, a variable is constant, or one is a product of
        powers of others, so that their exponents cannot be told apart.

    Notes
    -----
    Intervals are Student's with N - 1 - (number of exponents) degrees of freedom: exact for
    independent normal errors of log y with equal variance. With `robust` the standard errors are
    HC3 (MacKinnon and White, J. Econometrics 29, 1985): each residual is divided by one minus the
    leverage of its point, which equals the jackknife but for a factor (N - 1)/N and its centring.
    """
    y = _positive("y", y, (None,))
    confidence = _share("confidence", confidence)
    if isinstance(x, Mapping):
        columns = {name: (f"x[{name!r}]", column) for name, column in x.items()}
    else:
        columns = {"x": ("x", x)}
    if not columns:
        raise ValueError("x must hold at least one variable, got none")
    logs = np.column_stack([np.log(_positive(*column, y.shape)) for column in columns.values()])
    free = y.size - logs.shape[1] - 1
    if free < 1:
        raise ValueError(
            f"y must hold at least {logs.shape[1] + 2} points to fit a constant and the exponents "
            f"of {_listed(columns)}, got {y.size}"
        )
    centre = logs.mean(axis=0)
    _require_distinct(list(columns), logs - centre)
    design = np.column_stack([np.ones(y.size), logs - centre])
    inverse = np.linalg.pinv(design)
    fit = inverse @ np.log(y)
    residuals = np.log(y) - design @ fit
    residual = np.sqrt(residuals @ residuals / free)
    errors = np.full(y.size, residual)
    if robust:
        room = 1.0 - np.sum(design * inverse.T, axis=1)
        if room.min() <= _COLLINEAR:
            raise ValueError(
                f"robust needs several points behind each exponent; the one at index "
                f"{room.argmin()} determines an exponent by itself"
            )
        errors = residuals / room
    half = stats.t.ppf(0.5 + confidence / 2.0, free) * np.sqrt(inverse**2 @ errors**2)[1:]
    powers = fit[1:]
    return ScalingExponents(
        exponents=dict(zip(columns, powers.tolist(), strict=True)),
        low=dict(zip(columns, (powers - half).tolist(), strict=True)),
        high=dict(zip(columns, (powers + half).tolist(), strict=True)),
        constant=float(np.exp(fit[0] - powers @ centre)),
        residual=float(residual),
        confidence=confidence,
    )


def _require_distinct(names, centred):
    """Raise unless the columns of centred logarithms are linearly independent, naming culprits."""
    constant = np.abs(centred).max(axis=0) <= _COLLINEAR
    if constant.any():
        alike = _listed(np.array(names)[constant])
        raise ValueError(f"{alike} must vary, or its exponent cannot be told from the constant")
    _, sizes, directions = np.linalg.svd(
        centred / np.linalg.norm(centred, axis=0), full_matrices=False
    )
    null = np.abs(directions[sizes <= _COLLINEAR])
    if null.size:
        # A variable takes part in a dependence if it has a share in a null direction.
        alike = _listed(np.array(names)[null.max(axis=0) > np.sqrt(_COLLINEAR)])
        raise ValueError(
            f"the exponents of {alike} cannot be told apart: their logarithms are "
            f"linearly dependent"
        )


@dataclass(frozen=True)
class Collapse:
    """How well measured values are a constant times predicted ones.

    Attributes
    ----------
    constant : float
        Geometric mean of measured / predicted.
    spread : float
        Largest over smallest ratio, of points or, where groups were given, of their constants.
    slope : float
        Of log measured on log predicted: 1 if the prediction scales as what was measured.
    low, high : float
        Confidence interval of `slope`.
    confidence : float
        Its level.
    constants : dict
        Geometric mean of the ratio by group; empty where no groups were given.
    """

    constant: float
    spread: float
    slope: float
    low: float
    high: float
    confidence: float
    constants: dict[Any, float]

    def __str__(self):
        slope = f"{self.slope:.4g} [{self.low:.4g}, {self.high:.4g}]"
        among = f" among {len(self.constants)} groups" if self.constants else ""
        return f"{self.constant:.4g} * predicted, spread {self.spread:.3g}{among}, slope {slope}"


def collapse(
    y: ArrayLike,
    predicted: ArrayLike,
    groups: ArrayLike | None = None,
    *,
    confidence: float = 0.95,
) -> Collapse:
    """Measure how well values are a constant times their prediction.

    Parameters
    ----------
    y, predicted : array_like, shape (N,)
        Measured and predicted values, positive; three points or more.
    groups : array_like, shape (N,), optional
        Labels of points that belong together. The spread is then that between the groups'
        constants, free of the noise within groups.
    confidence : float, default 0.95
        Level of the interval of the slope, in (0, 1).

    Returns
    -------
    Collapse

    Raises
    ------
    ValueError
        If values are not positive, points too few, or predictions all equal.

    Notes
    -----
    The slope and its interval are those of `scaling_exponents`, over all points.
    """
    y = _positive("y", y, (None,))
    predicted = _positive("predicted", predicted, y.shape)
    law = scaling_exponents(y, {"predicted": predicted}, confidence=confidence)
    logs = np.log(y) - np.log(predicted)
    constants = {}
    if groups is not None:
        labels = np.asarray(groups)
        if labels.shape != y.shape:
            raise ValueError(f"groups must have shape {y.shape}, got {labels.shape}")
        for label in dict.fromkeys(labels.tolist()):
            constants[label] = float(np.exp(logs[labels == label].mean()))
    compared = np.log(list(constants.values())) if constants else logs
    return Collapse(
        constant=float(np.exp(logs.mean())),
        spread=float(np.exp(np.ptp(compared))),
        slope=law.exponents["predicted"],
        low=law.low["predicted"],
        high=law.high["predicted"],
        confidence=law.confidence,
        constants=constants,
    )


@dataclass(frozen=True)
class TransitionPoint:
    """Where a probability of success crosses a level.

    Attributes
    ----------
    x : float
        Maximum-likelihood estimate; NaN if it is not within the range of the data.
    low, high : float
        Confidence interval; 0 or infinite where the data set no limit within their range.
    confidence : float
        Its level.
    level : float
        The probability that is crossed.
    slope : float
        Of the log-odds against log x; infinite for a perfect jump, NaN if all trials ended alike.
    """

    x: float
    low: float
    high: float
    confidence: float
    level: float
    slope: float

    def __str__(self):
        interval = f"[{self.low:.4g}, {self.high:.4g}]"
        if np.isnan(self.x):
            return f"no crossing of {self.level:g} within the data, {interval}"
        return f"{self.x:.4g} {interval}, {'rising' if self.slope > 0 else 'falling'}"


def transition_point(
    x: ArrayLike,
    successes: ArrayLike,
    trials: ArrayLike,
    *,
    confidence: float = 0.95,
    level: float = 0.5,
) -> TransitionPoint:
    """Estimate where the probability of success crosses a level as x grows.

    Parameters
    ----------
    x : array_like, shape (N,)
        Positive; two different values or more. The same value may come repeatedly.
    successes : array_like of whole numbers, shape (N,)
        At each x, out of `trials`.
    trials : array_like of whole numbers, shape (N,), or int
        At least one at each x.
    confidence : float, default 0.95
        Level of the interval, in (0, 1).
    level : float, default 0.5
        The probability that is crossed, in (0, 1).

    Returns
    -------
    TransitionPoint

    Raises
    ------
    ValueError
        If x is not positive, all x are equal, or counts are not whole or out of range.

    Notes
    -----
    The log-odds of success are taken to be linear in log x, rising or falling. Location and slope
    are estimated by maximum likelihood. The interval holds the locations that a likelihood-ratio
    test with one degree of freedom does not reject, the slope being chosen anew for each (profile
    likelihood; Venzon and Moolgavkar, Applied Statistics 37, 1988). Slopes are bounded, but only
    where neighbouring x differ by a million in log-odds, so that a perfect jump is an ordinary
    case: any place in its bracket fits it as well as any other, and the middle is reported. The
    chi-square distribution is an approximation: with eight x and 5 to 30 trials at each, 95 %
    intervals cover in 93 to 96 of 100 simulations.

    Nothing is extrapolated. An estimate outside the range of x is NaN, an end of the interval
    outside it is 0 or infinite; an interval all of which lies outside starts at the last x. If
    the data are consistent with a constant probability, they set no limits at all (as in
    Fieller's theorem), and the interval is from 0 to infinity.
    """
    x = _positive("x", x, (None,))
    successes, trials = _counts(successes, trials)
    confidence, level = _share("confidence", confidence), _share("level", level)
    if successes.shape != x.shape:
        raise ValueError(f"successes must have shape {x.shape}, as x has, got {successes.shape}")
    places, which = np.unique(np.log(x), return_inverse=True)
    if places.size < 2:
        raise ValueError(f"x must hold at least two different values, got only {x[0]:g}")
    won = np.bincount(which, successes)
    lost = np.bincount(which, trials - successes)
    if not won.any() or not lost.any():
        return TransitionPoint(np.nan, 0.0, np.inf, confidence, level, np.nan)

    width = np.ptp(places)
    t = (places - places[0]) / width
    offset = logit(level)
    steepest = _JUMP / np.diff(t).min()

    def likelihood(location, slope):
        odds = offset + slope * (t - location)
        return won @ log_expit(odds) + lost @ log_expit(-odds)

    def profile(location):
        z = t - location
        return likelihood(
            location, _zero(lambda b: z @ _score(offset + b * z, won, lost), steepest)
        )

    location, slope = _logistic_fit(t, won, lost, offset, steepest)
    constant = logit(won.sum() / (won.sum() + lost.sum()))
    flat = won.sum() * log_expit(constant) + lost.sum() * log_expit(-constant)
    low, high = 0.0, np.inf
    peak = likelihood(location, slope) if np.isfinite(location) else flat
    drop = stats.chi2.ppf(confidence, 1) / 2.0
    # The likelihood is concave in intercept and slope. Where it excludes slope zero, what it does
    # not exclude is one interval of locations; where not, there are far ones on either side.
    if peak - flat > drop:

        def excess(u):
            return peak - profile(u) - drop

        nearest = min(max(location, 0.0), 1.0)
        if location >= 0.0 and excess(0.0) > 0.0:
            low = brentq(excess, 0.0, nearest) if excess(nearest) < 0.0 else nearest
            low = np.exp(places[0] + width * low)
        if location <= 1.0 and excess(1.0) > 0.0:
            high = brentq(excess, nearest, 1.0) if excess(nearest) < 0.0 else nearest
            high = np.exp(places[0] + width * high)
    return TransitionPoint(
        x=float(np.exp(places[0] + width * location)) if 0.0 <= location <= 1.0 else np.nan,
        low=float(low),
        high=float(high),
        confidence=confidence,
        level=level,
        slope=float(np.copysign(np.inf, slope) if abs(slope) == steepest else slope / width),
    )


def _logistic_fit(t, won, lost, offset, steepest):
    """Return the most likely location, where the log-odds are offset, and the slope.

    t increases from 0 to 1, and there are both successes and failures. The slope is ±steepest for
    a jump; the location is NaN if the slope is zero.
    """
    share = won / (won + lost)
    steps = np.diff(share)
    between = np.flatnonzero((won > 0) & (lost > 0))
    if between.size <= 1 and ((steps >= 0).all() or (steps <= 0).all()):
        slope = np.copysign(steepest, share[-1] - share[0])
        if between.size:
            (only,) = between
            return t[only] - (logit(share[only]) - offset) / slope, slope
        jump = np.abs(steps).argmax()
        return (t[jump] + t[jump + 1]) / 2.0, slope
    total = logit(won.sum() / (won.sum() + lost.sum()))

    def intercept(slope):
        ends = total - slope * np.array([t[0], t[-1]])
        return brentq(
            lambda a: _score(a + slope * t, won, lost).sum(), ends.min() - 1.0, ends.max() + 1.0
        )

    # Profile likelihood again, now of the slope: concave, so its derivative has one zero.
    slope = _zero(lambda b: t @ _score(intercept(b) + b * t, won, lost), steepest)
    rounding = won.size * np.finfo(np.float64).eps ** 0.5
    return (offset - intercept(slope)) / slope if abs(slope) > rounding else np.nan, slope


def _score(odds, won, lost):
    """Return the derivative of the log-likelihood in each log-odds, without cancellation."""
    return won * expit(-odds) - lost * expit(odds)


def _zero(decreasing: Callable[[float], float], limit: float) -> float:
    """Return where a decreasing function is zero, or the end of [-limit, limit] closest to it."""
    sign = 1.0 if decreasing(0.0) > 0.0 else -1.0
    near, far = 0.0, sign
    while sign * decreasing(far) > 0.0:
        if abs(far) >= limit:
            return far
        near, far = far, sign * min(4.0 * abs(far), limit)
    return brentq(decreasing, near, far)


def _share(name: str, value: Any) -> float:
    """Return value as a float in (0, 1)."""
    number = check.real(name, value, above=0.0)
    if number >= 1.0:
        raise ValueError(f"{name} must be below 1, got {number}")
    return number


def _positive(name: str, value: Any, shape: tuple[int | None, ...] | None) -> NDArray[np.float64]:
    """Return value as an array of positive numbers."""
    values = check.array(name, value, shape)
    if not (values > 0.0).all():
        raise ValueError(f"{name} must be positive, its smallest value is {values.min():g}")
    return values


def _counts(successes: Any, trials: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return counts of successes and trials, broadcast against each other."""
    won, total = (
        check.array(name, value, None)
        for name, value in (("successes", successes), ("trials", trials))
    )
    for name, values in (("successes", won), ("trials", total)):
        if (values != np.floor(values)).any():
            raise ValueError(f"{name} must be whole numbers")
    if (total < 1.0).any():
        raise ValueError(f"trials must be at least 1, got {total.min():g}")
    try:
        won, total = np.broadcast_arrays(won, total)
    except ValueError:
        raise ValueError(
            f"successes and trials must have shapes that fit, got {won.shape} and {total.shape}"
        ) from None
    if (won < 0.0).any() or (won > total).any():
        raise ValueError("successes must be between 0 and the number of trials")
    return won, total


def _listed(names) -> str:
    """Return names as in a sentence."""
    *others, last = map(str, names)
    return f"{', '.join(others)} and {last}" if others else last
