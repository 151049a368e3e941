"""Statistics of trajectories."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from linrep import _validation as check

_SHORTEST_PLATEAU = 10  # rounds
_FLAT = 0.1  # slope on a plateau, as a share of the slope before it


@dataclass(frozen=True)
class ContractionRate:
    """Contraction of a positive sequence per step, up to its plateau.

    Attributes
    ----------
    rate : float
        Geometric mean of the ratios of successive values, below 1 for a decaying sequence.
    low, high : float
        Confidence interval of `rate`.
    confidence : float
        Its level.
    steps : int
        Number of ratios used: those before the plateau.
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


def contraction_rate(values: ArrayLike, *, confidence: float = 0.95) -> ContractionRate:
    """Estimate how fast a positive sequence contracts per step, and where it stops doing so.

    Parameters
    ----------
    values : array_like, shape (T + 1,)
        Positive and finite; zeros at the end count as a plateau.
    confidence : float, default 0.95
        Level of the interval, in (0, 1).

    Returns
    -------
    ContractionRate

    Raises
    ------
    ValueError
        If fewer than three positive values come before the first zero.

    Notes
    -----
    The plateau is found by least squares with a broken stick, ``a + b min(t, tau)``, on the
    logarithms, and accepted if what follows is flat. The rate is the mean increment of the
    logarithms before it, while the values stay above ten times its level; its interval is the
    Student interval of batch means with about sqrt(T) batches, which allows for the dependence
    between rounds. For a sequence whose rate drifts, the mean is over the rounds used.
    """
    values = check.array("values", values, (None,))
    confidence = check.real("confidence", confidence, above=0.0)
    if confidence >= 1.0:
        raise ValueError(f"confidence must be below 1, got {confidence}")
    if (values < 0.0).any():
        raise ValueError("values must not be negative")
    zeros = np.flatnonzero(values == 0.0)
    length = int(zeros[0]) if zeros.size else values.size
    if length < 3:
        raise ValueError("values must hold at least three positive numbers before a zero")
    logs = np.log(values[:length])
    plateau, level = _plateau(logs)
    stop = length - 1
    if plateau is not None:
        above = np.flatnonzero(logs[: plateau + 1] < level + np.log(10.0))
        stop = max(int(above[0]) if above.size else plateau, min(plateau, 2))
    elif zeros.size:
        plateau, level = length, -np.inf
    increments = np.diff(logs[: stop + 1])
    centre, half = _batch_means(increments, confidence)
    low, high = np.exp([centre - half, centre + half]) if np.isfinite(half) else (0.0, np.inf)
    return ContractionRate(
        rate=float(np.exp(centre)),
        low=float(low),
        high=float(high),
        confidence=confidence,
        steps=increments.size,
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
    if np.polyfit(np.arange(tail.size), tail, 1)[0] < _FLAT * slope:
        return None, None
    return corner, float(tail.mean())


def _batch_means(increments, confidence):
    """Return the mean and the half-width of its interval, infinite if there are too few."""
    centre = increments.mean()
    batches = max(2, int(np.sqrt(increments.size)))
    if increments.size < 4:
        return centre, np.inf
    means = np.array([batch.mean() for batch in np.array_split(increments, batches)])
    error = means.std(ddof=1) / np.sqrt(batches)
    return centre, stats.t.ppf(0.5 + confidence / 2.0, batches - 1) * error
