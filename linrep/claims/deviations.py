"""Deviations from what is expected, and the identities that they measure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from linrep.claims.measurements import Identity, Readings


def relative(actual, expected, floor: float = 0.0) -> float:
    """Return the largest deviation, relative to the largest entry expected or a larger floor."""
    actual, expected = np.asarray(actual, dtype=float), np.asarray(expected, dtype=float)
    scale = max(float(np.abs(expected).max(initial=0.0)), floor, np.finfo(float).tiny)
    return float(np.abs(actual - expected).max(initial=0.0)) / scale


def identities(deviations: Mapping[str, Any], tolerance: float = 1e-12) -> list[Identity]:
    """Return an identity for each name, of the deviations found for it."""
    return [Identity(each, tolerance, name=name) for name, each in deviations.items()]


def readings(
    deviations: Mapping[str, Any], tolerance: float = 1e-12, *, name: str, phrase: str = ""
) -> Readings:
    """Return an identity that can be read in several ways, of the deviations found for each."""
    return Readings(identities(deviations, tolerance), name=name, phrase=phrase)
