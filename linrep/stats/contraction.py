"""How fast a trajectory contracts, and where it stops doing so."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from linrep._lib import validation as check
from linrep.stats._arguments import fraction, quantile

_SHORTEST_PLATEAU = 10  # steps
_FLAT = 0.1  # largest slope on a plateau, as a share of the slope before it
_SURPRISE = 4.0  # standard deviations by which going on as before would have left the plateau
_CLEAR = 10.0  # values count as decaying while they are this many times the plateau's level
_DIGITS = 12  # that are shown at most, of an interval of the size of rounding errors
_FEWEST = 4  # steps from which an interval is estimated


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
        low, rate, high = self._numbers()
        return f"{rate} [{low}, {high}] over {self.steps} rounds, {self._ending()}"

    def __repr__(self):
        low, rate, high = self._numbers()
        return (
            f"ContractionRate({rate} per step, {self.confidence:.4g} interval [{low}, {high}] over "
            f"{self.steps} steps, {self._ending()})"
        )

    def _numbers(self):
        """Return the ends of the interval and the rate between them, to two digits of its width."""
        numbers = self.low, self.rate, self.high
        half = (self.high - self.low) / 2.0
        if not 0.0 < half < math.inf:
            return tuple(f"{value:.4g}" for value in numbers)
        digits = max(1 - math.floor(math.log10(half)), 0)
        form = f".{digits}f" if digits < _DIGITS else f".{_DIGITS}g"
        return tuple(format(value, form) for value in numbers)

    def _ending(self):
        if self.plateau is None:
            return "no plateau"
        return f"plateau {self.level:.2g} from round {self.plateau}"


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
    confidence = fraction("confidence", confidence)
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
    return increments.mean(), quantile(0.5 + confidence / 2.0, batches - 1) * error
