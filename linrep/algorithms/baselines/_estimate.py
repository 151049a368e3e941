"""The trace of an estimator that is computed in one place, from all samples at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linrep._lib.clock import Stopwatch
from linrep.algorithms.diagnosis import diagnose_estimate, own_data
from linrep.algorithms.errors import representation_errors
from linrep.algorithms.local import fit_heads, heads_loss
from linrep.problems.clients import ClientData
from linrep.problems.prediction import origin
from linrep.problems.regression import SharedRepresentation
from linrep.trace import Trace


def estimate(
    algorithm: str,
    data: ClientData,
    B: NDArray[np.float64],
    watch: Stopwatch,
    settings: Mapping[str, Any] | None = None,
) -> Trace:
    """Return the trace of a representation (d, k) with the heads fitted on it, of one row.

    Parameters
    ----------
    algorithm : str
    data : ClientData
    B : ndarray, shape (d, k)
        Orthonormal columns.
    watch : Stopwatch
        Running since the estimator was called.
    settings : mapping, optional
        Besides the problem and k.
    """
    W = fit_heads(data, B)
    metrics = {"loss": np.array([heads_loss(data, B, W)])}
    truth = data.truth
    if isinstance(truth, SharedRepresentation) and truth.k == B.shape[1]:
        errors = representation_errors(B, W, truth)
        metrics |= {name: np.array([value]) for name, value in errors.items()}
    metrics["samples"] = np.array([float(len(data.y))])
    state = {"B": B, "W": W}
    return Trace(
        algorithm=algorithm,
        metrics=metrics,
        state=state,
        settings={"problem": repr(data), "k": B.shape[1], **(settings or {})},
        wall_time=watch.seconds(),
        notes=diagnose_estimate(data, state) if own_data(data) is not None else (),
        **origin(data),
    )
