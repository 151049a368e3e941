"""Confidence intervals of means and of proportions."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike

from linrep._lib import validation as check
from linrep.stats._arguments import counts, fraction, positive, quantile


def mean_interval(
    values: ArrayLike, *, axis: int = 0, geometric: bool = False, confidence: float = 0.95
) -> tuple[Any, Any, Any]:
    """Return mean and Student interval over trials, column by column.

    Parameters
    ----------
    values : array_like, shape (trials, ...)
        One row per trial.
    axis : int, default 0
        Which axis the trials are along.
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
        If values are not finite, or not positive although the mean is geometric; if there is no
        such axis.
    """
    values = check.array("values", values, None)
    confidence = fraction("confidence", confidence)
    if values.ndim == 0:
        raise ValueError("values must have one row per trial, got a single number")
    axis = check.integer("axis", axis, minimum=-values.ndim, maximum=values.ndim - 1)
    if geometric:
        logs = np.log(positive("values", values, None))
        mean, low, high = mean_interval(logs, axis=axis, confidence=confidence)
        return np.exp(mean), np.exp(low), np.exp(high)
    trials = values.shape[axis]
    mean = values.mean(axis=axis)
    if trials > 1:
        error = scipy.stats.sem(values, axis=axis)
        half = quantile(0.5 + confidence / 2, trials - 1) * error
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
    successes, trials = counts(successes, trials)
    tail = 0.5 - fraction("confidence", confidence) / 2.0
    failures = trials - successes
    # Where a beta distribution degenerates the bound is the end of [0, 1], put in by hand.
    low = scipy.stats.beta.ppf(tail, np.maximum(successes, 1.0), failures + 1.0)
    high = scipy.stats.beta.isf(tail, successes + 1.0, np.maximum(failures, 1.0))
    low = np.where(successes == 0.0, 0.0, low)[()]
    high = np.where(failures == 0.0, 1.0, high)[()]
    return successes / trials, low, high
