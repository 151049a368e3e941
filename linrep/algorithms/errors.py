"""How far what a run learned is from the truth that its samples are of.

Where that is known every method records ``population_risk``, if it has models, and ``distance``, if
it has a representation of the truth's rank.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from linrep.problems import subspace
from linrep.problems.regression import ImplicitRepresentation
from linrep.trace import Trace

Values = NDArray[np.float64]


def errors(trace: Trace, truth: Any) -> dict[str, float]:
    """Return distance and population risk of a run's last state, as far as they are defined.

    ``population_risk`` is half the mean squared distance to the true models, where the state has
    models; ``distance`` that to a truth's representation, of models without one that of their k
    leading right singular vectors. Nothing of a truth that stores neither, or where there is none.
    """
    metrics: dict[str, float] = {}
    if truth is None or isinstance(truth, ImplicitRepresentation):
        return metrics
    models = trace.models if _has_models(trace.state) else None
    if models is not None:
        metrics |= models_errors(models, truth)
    if hasattr(truth, "B"):
        B = trace.state.get("B")
        if B is None and models is not None:
            B = _leading(models, truth.k)
        if B is not None:
            metrics["distance"] = subspace.distance_or_nan(B, truth.B)
    return metrics


def representation_errors(B: Values, W: Values, truth: Any) -> dict[str, float]:
    """Return ``distance`` and ``population_risk`` of a representation and heads, as metrics.

    The first for a truth's representation of the same rank; nothing where no truth is known, or
    one that stores nothing.
    """
    if truth is None or isinstance(truth, ImplicitRepresentation):
        return {}
    metrics = {}
    if getattr(truth, "k", None) == B.shape[1]:
        metrics["distance"] = subspace.distance_or_nan(B, truth.B)
    with np.errstate(over="ignore", invalid="ignore"):
        return metrics | models_errors(W @ B.T, truth)


def models_errors(models: Values, truth: Any) -> dict[str, float]:
    """Return the population risk of models (n, d) as a row of metrics: nothing without a truth.

    ``population_risk`` is half the mean squared distance to the true models.
    """
    if truth is None:
        return {}
    return {"population_risk": float(0.5 * np.mean(np.sum((models - truth.theta) ** 2, axis=1)))}


def _leading(models, k):
    """Return the k leading right singular vectors of a matrix of models, None below that rank."""
    if not np.isfinite(models).all() or np.linalg.matrix_rank(models) < k:
        return None
    return np.linalg.svd(models, full_matrices=False)[2][:k].T


def _has_models(state):
    return "theta" in state or any(set(pair) <= set(state) for pair in (("B", "W"), ("U", "V")))
