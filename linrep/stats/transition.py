"""Where a probability of success crosses a level, with its interval."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike
from scipy.special import expit, log_expit, logit

from linrep.stats._arguments import counts, fraction, positive

_JUMP = 1e6  # log-odds between neighbouring points that no number of trials tells from infinity


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
    are estimated by maximum likelihood. The interval contains the locations that a likelihood-ratio
    test with one degree of freedom does not reject, the slope being chosen anew for each (profile
    likelihood; Venzon and Moolgavkar, Applied Statistics 37, 1988). Slopes are bounded, but only
    where neighbouring x differ by a million in log-odds, so that a perfect jump is an ordinary
    case: any place in its bracket fits it as well as any other, and the middle is reported. The
    chi-square distribution is an approximation: with eight x and 5 to 30 trials at each, 95 %
    intervals cover in 93 to 96 of 100 simulations.

    Nothing is extrapolated. An estimate outside the range of x is NaN, an end of the interval
    outside it is 0 or infinite; an interval that lies entirely outside starts at the last x. If the
    data are consistent with a constant probability, they set no limits at all (as in Fieller's
    theorem), and the interval is from 0 to infinity.
    """
    x = positive("x", x, (None,))
    successes, trials = counts(successes, trials)
    confidence, level = fraction("confidence", confidence), fraction("level", level)
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
    drop = scipy.stats.chi2.ppf(confidence, 1) / 2.0
    # The likelihood is concave in intercept and slope. Where it excludes slope zero, what it does
    # not exclude is one interval of locations; where not, there are far ones on either side.
    if peak - flat > drop:

        def excess(u):
            return peak - profile(u) - drop

        nearest = min(max(location, 0.0), 1.0)
        if location >= 0.0 and excess(0.0) > 0.0:
            low = scipy.optimize.brentq(excess, 0.0, nearest) if excess(nearest) < 0.0 else nearest
            low = np.exp(places[0] + width * low)
        if location <= 1.0 and excess(1.0) > 0.0:
            high = scipy.optimize.brentq(excess, nearest, 1.0) if excess(nearest) < 0.0 else nearest
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
        return scipy.optimize.brentq(
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
    return scipy.optimize.brentq(decreasing, near, far)
