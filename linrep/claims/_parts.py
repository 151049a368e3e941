"""What checks are put together from, whatever the paper."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from linrep.claims import (
    FAILS,
    HOLDS,
    LEVEL,
    UNDECIDED,
    VACUOUS,
    Evidence,
    combine,
    identity,
)

Array = NDArray[np.float64]
Cases = Iterable[tuple[float, Mapping[str, Any]]]


def relative(found, expected, floor: float = 0.0) -> float:
    """Return the largest deviation, relative to the largest entry expected or a larger floor."""
    found, expected = np.asarray(found, dtype=float), np.asarray(expected, dtype=float)
    scale = max(float(np.abs(expected).max(initial=0.0)), floor, np.finfo(float).tiny)
    return float(np.abs(found - expected).max(initial=0.0)) / scale


def shown(good: bool, sentence: str, **numbers) -> Evidence:
    """Return the evidence of a fact that computed numbers settle, without error level."""
    if good:
        numbers.pop("counterexample", None)
    return Evidence(HOLDS if good else FAILS, sentence, **numbers)


def readings(cases: Mapping[str, Cases], tolerance: float, *, name: str = "") -> Evidence:
    """Decide an identity whose text can be read in several ways: one of them has to hold.

    Deviations are as for :func:`linrep.claims.identity`, infinite where shapes do not fit. The
    sentence says of each reading whether it holds.
    """
    found = {reading: identity(given, tolerance) for reading, given in cases.items()}
    best = min(found.values(), key=lambda evidence: evidence.measured)
    told = (
        f"{reading}: {'holds' if evidence.verdict == HOLDS else 'does not'} "
        + ("(shapes do not fit)" if np.isinf(evidence.measured) else f"({evidence.measured:.1e})")
        for reading, evidence in found.items()
    )
    return replace(best, sentence="; ".join(told), name=name)


def best_reading(readings):
    """Return evidence on a sentence of several readings: it fails only if all of them do."""
    order = (HOLDS, VACUOUS, UNDECIDED, FAILS)
    chief = min(readings, key=lambda reading: order.index(reading.verdict))
    whole = combine(readings)
    sentence = f"{chief.name}: {chief.sentence}"
    others = [f"{part.name} {part.verdict}" for part in readings if part is not chief] or ["none"]
    return replace(
        whole, verdict=chief.verdict, measured=chief.measured, interval=chief.interval,
        counterexample=chief.counterexample, needed=chief.needed, tightness=chief.tightness,
        predicted=chief.predicted, sentence=f"{sentence} (other readings: {', '.join(others)})",
    )  # fmt: skip


def if_all_hold(parts, sentence: str) -> Evidence:
    """Put parts together; the sentence is for where all hold, and does for no other outcome."""
    found = combine(parts)
    return combine(parts, sentence) if found.verdict == HOLDS else found


def together(parts, name):
    """Put many small parts together as one, without keeping them."""
    return replace(combine(parts), parts=(), name=name)


def decided(parts) -> list:
    """Return the evidence of parts, callables that take ``level=``; they share one claim's."""
    parts = list(parts)
    return [part(level=LEVEL / len(parts)) for part in parts]


def at_most(cases, *, name: str = "") -> Evidence:
    """Decide left <= right for every case (left, right, instance), as exactly as they are given."""
    cases = list(cases)
    left, right, worst = max(cases, key=lambda case: case[0] - case[1])
    bad = [case for case in cases if case[0] > case[1]]
    counts = f"left side larger in {len(bad)} of {len(cases)} cases"
    return Evidence(
        FAILS if bad else HOLDS,
        f"{counts}, by {float(left - right):.4g} in the worst" if bad else counts,
        measured=float(left),
        predicted=float(right),
        n_trials=len(cases),
        counterexample={**worst, "left": float(left), "right": float(right)} if bad else None,
        name=name,
    )


def cells(base, **sweeps):
    """Return settings: the base with each variable in turn run through its values."""
    return [{**base, name: value} for name, values in sweeps.items() for value in values]


def table(settings, draw, replicates: int) -> pd.DataFrame:
    """Return a row per setting and replicate: the setting, and draw(setting) as the constant.

    `draw` may return one number, or an array of so many replicates that need no loop.
    """
    rows, seen = [], set()
    for setting in settings:
        key = tuple(sorted(setting.items()))
        if key in seen:
            continue
        seen.add(key)
        values: list[float] = []
        while len(values) < replicates:
            values.extend(np.atleast_1d(draw(**setting)))
        rows.append(pd.DataFrame({**setting, "constant": values[:replicates]}))
    return pd.concat(rows, ignore_index=True)


def draw_seeds(rng, count: int) -> list[int]:
    """Draw the seeds of so many replicates."""
    return [int(seed) for seed in rng.integers(2**32, size=count)]


def medians(rows):
    """Return medians of y over seeds, for pictures."""
    keys = ["panel", "series", "x", "xlabel", "ylabel"]
    return pd.concat(rows).groupby(keys, sort=False)["y"].median().reset_index()
