"""Checks of arguments that the statistics share, and Student's quantile."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from linrep._lib import validation as check


def fraction(name: str, value: Any) -> float:
    """Return value as a float in (0, 1)."""
    return check.real(name, value, above=0.0, below=1.0)


def quantile(share: float, degrees: float) -> float:
    """Return Student's quantile, the bits of scipy.stats.t.ppf without its machinery."""
    return float(stdtrit(degrees, share))


def positive(name: str, value: Any, shape: tuple[int | None, ...] | None) -> NDArray[np.float64]:
    """Return value as an array of positive numbers."""
    values = check.array(name, value, shape)
    if not (values > 0.0).all():
        raise ValueError(f"{name} must be positive, its smallest value is {values.min():g}")
    return values


def counts(successes: Any, trials: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
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
