"""How much each client counts in a mean over clients."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from linrep._lib import validation as check

#: All clients alike, or all samples.
WEIGHTS = ("clients", "samples")


def reciprocal_shares(weights: Any, m: NDArray[Any], least: int = 1) -> NDArray[np.float64]:
    """Return one over the share that each client has in a mean, infinite where it has none.

    Weights are one of `WEIGHTS`, or an array (n,) that is not negative; clients of fewer than
    least samples do not count.
    """
    if isinstance(weights, str):
        check.choice("weights", weights, WEIGHTS)
        given = np.ones(len(m)) if weights == "clients" else m.astype(np.float64)
    else:
        given = check.numbers("weights", weights, minimum=0.0)
        given = check.array("weights", given, (len(m),))
    given = np.where(m >= least, given, 0.0)
    total = given.sum()
    if not total > 0.0:
        raise ValueError(
            f"weights must not be 0 for all clients of at least {least} sample{'s' * (least > 1)}"
        )
    return np.divide(total, given, out=np.full(len(m), np.inf), where=given > 0.0)


def named(weights: Any) -> str | tuple[float, ...]:
    """Return what a trace's settings have of weights, which are compared and stored."""
    return weights if isinstance(weights, str) else tuple(np.asarray(weights).tolist())
