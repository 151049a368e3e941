"""From measurements to a verdict: the only place that knows of levels and puts parts together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

import pandas as pd

from linrep._lib.validation import choice
from linrep.claims.confidence import takes_runs
from linrep.claims.evidence import (
    DEPENDS,
    FAILS,
    HOLDS,
    LEVEL,
    MISPRINT,
    TYPES,
    UNDECIDED,
    VACUOUS,
    Evidence,
    Fact,
    combine,
    counted,
    read_in_several_ways,
    strengths_of,
)
from linrep.claims.measurements import CLAIMED, Curve, Measurement, Readings, Together, flat, shared
from linrep.claims.multiverse import Reread
from linrep.claims.sampled import Frequency, shares

_PANELS = 6


def judge(measured: Iterable[Measurement | Fact | Curve], level: float = LEVEL) -> Evidence:
    """Decide a claim from all that its check measured.

    Parameters
    ----------
    measured : iterable of Measurement, Fact and Curve
    level : float
        Probability of a false verdict, shared among the statistical measurements by their weights.

    Returns
    -------
    Evidence

    Raises
    ------
    ValueError
        If there is no measurement, or one quantity has two units.
    """
    measured = list(measured)
    measurements = [item for item in measured if isinstance(item, Measurement)]
    if not measurements:
        raise ValueError("measured holds no measurement: the check yields none")
    units: dict[str, str] = {}
    for item in flat(measurements):
        if units.setdefault(item.quantity, item.unit) != item.unit:
            raise ValueError(
                f"{item.quantity!r} is measured in {units[item.quantity]!r} and in {item.unit!r}"
            )
        choice("strength", item.strength, CLAIMED)
        choice("measured_is", item.measured_is, TYPES)
        choice("predicted_is", item.predicted_is, TYPES)
    facts = tuple(item for item in measured if isinstance(item, Fact))
    for fact in facts:
        choice("value_is", fact.value_is, TYPES)
    total = shared(measurements)
    unit = level / total if total else 0.0
    parts = [_decided(item, unit) for item in measurements]
    whole = combine(parts)
    curves = [item.points for item in measured if isinstance(item, Curve)]
    if whole.points is not None:
        curves.insert(0, whole.points)
    if not curves:  # then what decides is drawn
        chief = next(place for place, part in enumerate(parts) if part.verdict == whole.verdict)
        curves = list(_drawn(measurements[chief], unit))
    points = pd.concat(curves, ignore_index=True) if curves else None
    return replace(whole, facts=facts, points=points)


def runs_decide(measured: Iterable[Measurement | Fact | Curve], level: float = LEVEL) -> bool:
    """Tell whether more runs would decide all that is undecided of a claim.

    Of several readings one that is undecided has to be such that runs decide it.
    """
    measurements = [item for item in measured if isinstance(item, Measurement)]
    total = shared(measurements)
    unit = level / total if total else 0.0
    return all(_runs_decide(item, unit) for item in measurements)


def _runs_decide(item, unit):
    """Tell whether a measurement is decided already, or would be by more runs."""
    if isinstance(item, Together):
        return all(_runs_decide(part, unit) for part in item.parts)
    found = _decided(item, unit)
    if found.verdict != UNDECIDED:
        return True
    if isinstance(item, Reread):
        each = unit * item.weight / item.intervals
        return all(_runs_decide(cell, each / (shared([cell]) or 1.0)) for cell in item.cells)
    if isinstance(item, Readings):
        open_parts = [part for part in item.parts if _decided(part, unit).verdict == UNDECIDED]
        return any(_runs_decide(part, unit) for part in open_parts)
    return takes_runs(found.needed)


def _drawn(measurement, unit):
    """Yield the points of what decides, of so many panels as a reader looks at."""
    items = flat([measurement])
    rare = [item for item in items if isinstance(item, Frequency)]
    if len(rare) > 1:  # beside each other
        yield shares(
            (item.violations, item.trials, item.at_most, unit * item.weight) for item in rare
        )
        items = [item for item in items if not isinstance(item, Frequency)]
    for item in items[:_PANELS]:
        points = item.picture(unit * item.weight)
        if points is not None:
            yield points


def _decided(item, unit):
    """Decide a measurement; of the level each statistical one has its weight times the unit."""
    if isinstance(item, Together):
        parts = [_decided(part, unit) for part in item.parts]
        several = tuple(part for part in parts if read_in_several_ways(part))
        whole = combine(parts)
        return replace(whole, parts=several, name=item.name, printed_at=item.printed_at)
    if isinstance(item, Reread):
        each = unit * item.weight / item.intervals
        return item.decided([_decided(cell, each / (shared([cell]) or 1.0)) for cell in item.cells])
    if isinstance(item, Readings):
        best = _best([_decided(part, unit) for part in item.parts], item.name)
        return replace(best, phrase=item.phrase, printed_at=item.printed_at)
    return item.decide(unit * item.weight if item.statistical else 0.0)


def _best(readings, name):
    """Put readings together: it fails only if all of them do.

    What fails however the sentence is read, and holds in a form printed elsewhere, is a misprint;
    while that form is undecided, so is the sentence.
    """
    order = (HOLDS, MISPRINT, DEPENDS, VACUOUS, UNDECIDED, FAILS)
    chief = min(readings, key=lambda each: (bool(each.printed_at), order.index(each.verdict)))
    elsewhere = [each for each in readings if each.printed_at]
    verdict = chief.verdict
    if verdict == FAILS and elsewhere:
        best = min(elsewhere, key=lambda each: order.index(each.verdict))
        if best.verdict in (HOLDS, UNDECIDED):
            chief, verdict = best, MISPRINT if best.verdict == HOLDS else UNDECIDED
    counts = Counter(reading.verdict for reading in readings if reading is not chief)
    others = ", ".join(text for _, text in counted(counts))
    others = (
        f"the other reading {others[2:]}" if len(readings) == 2 else f"other readings: {others}"
    )
    whole = combine(readings)
    return replace(
        chief,
        verdict=verdict,
        printed_at="",
        sentence=f"{chief.name}: {chief.sentence}"
        + (f" ({others})" if counts else ""),
        name=name, reading=chief.name, parts=tuple(readings), points=whole.points,
        n_trials=whole.n_trials,
        level=whole.level,
        **strengths_of(readings, chief.verdict, every=chief.verdict == FAILS),
    )  # fmt: skip


def decide(measurement: Measurement, level: float = LEVEL) -> Evidence:
    """Decide one measurement.

    Parameters
    ----------
    measurement : Measurement
    level : float
        Probability of a false verdict that it is allowed; for statistical ones.

    Returns
    -------
    Evidence
        With a picture, where there is something to draw.
    """
    decided = measurement.decide(level)
    if decided.points is None:
        decided = replace(decided, points=measurement.picture(level))
    return decided
