"""From measurements to a verdict: the only place that knows of levels and puts parts together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import singledispatch
from numbers import Rational
from typing import Any

import numpy as np
import pandas as pd

from linrep._lib.arguments import checked
from linrep._lib.validation import choice
from linrep.claims import decisions, pictures, slopes
from linrep.claims.evidence import (
    FAILS,
    HOLDS,
    LEVEL,
    PROVED,
    SEARCHED,
    STATISTICAL,
    STRENGTHS,
    UNDECIDED,
    VACUOUS,
    Evidence,
    combine,
    counted,
    ratio_is,
    read_in_several_ways,
    strength_of,
    words,
)
from linrep.claims.measurements import (
    TYPES,
    VALUE,
    Cases,
    Condition,
    Constant,
    Curve,
    Exponent,
    Fact,
    Frequency,
    Identity,
    Mean,
    Measurement,
    Missing,
    Paired,
    Readings,
    Search,
    Threshold,
    Together,
    Trend,
    Vacuous,
    flat,
    shared,
)

_PANELS = 6


def judge(found: Iterable[Measurement | Fact | Curve], level: float = LEVEL) -> Evidence:
    """Decide a claim from all that its check measured.

    Parameters
    ----------
    found : iterable of Measurement, Fact and Curve
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
    found = list(found)
    measurements = [item for item in found if isinstance(item, Measurement)]
    if not measurements:
        raise ValueError("no measurement was found: the check yields none")
    units: dict[str, str] = {}
    for item in flat(measurements):
        if units.setdefault(item.quantity, item.unit) != item.unit:
            raise ValueError(
                f"{item.quantity!r} is measured in {units[item.quantity]!r} and in {item.unit!r}"
            )
        if item.strength not in ("", *STRENGTHS):
            raise ValueError(
                f"strength must be one of {', '.join(STRENGTHS)}, got {item.strength!r}"
            )
        choice("measured_is", item.measured_is, TYPES)
        choice("predicted_is", item.predicted_is, TYPES)
    facts = tuple(item for item in found if isinstance(item, Fact))
    for fact in facts:
        choice("value_is", fact.value_is, TYPES)
    total = shared(measurements)
    unit = level / total if total else 0.0
    parts = [_decided(item, unit) for item in measurements]
    whole = combine(parts)
    curves = [item.points for item in found if isinstance(item, Curve)]
    if whole.points is not None:
        curves.insert(0, whole.points)
    if not curves:  # then what decides is drawn
        chief = next(place for place, part in enumerate(parts) if part.verdict == whole.verdict)
        curves = list(_drawn(measurements[chief], unit))
    points = pd.concat(curves, ignore_index=True) if curves else None
    return replace(whole, facts=facts, points=points)


def _drawn(measurement, unit):
    """Yield the points of what decides, of so many panels as a reader looks at."""
    items = flat([measurement])
    rare = [item for item in items if isinstance(item, Frequency)]
    if len(rare) > 1:  # beside each other
        yield pictures.shares(rare, [unit * item.weight for item in rare])
        items = [item for item in items if not isinstance(item, Frequency)]
    for item in items[:_PANELS]:
        points = pictures.picture(item, unit * item.weight)
        if points is not None:
            yield points


def _decided(item, unit):
    """Decide a measurement; of the level each statistical one has its weight times the unit."""
    if isinstance(item, Together):
        parts = [_decided(part, unit) for part in item.parts]
        several = tuple(part for part in parts if read_in_several_ways(part))
        return replace(combine(parts), parts=several, name=item.name)
    if isinstance(item, Readings):
        return _best([_decided(part, unit) for part in item.parts], item.name)
    return _number(item, unit * item.weight if item.statistical else 0.0)


def _best(readings, name):
    """Put readings together: it fails only if all of them do."""
    order = (HOLDS, VACUOUS, UNDECIDED, FAILS)
    chief = min(readings, key=lambda reading: order.index(reading.verdict))
    counts = Counter(reading.verdict for reading in readings if reading is not chief)
    others = ", ".join(text for _, text in counted(counts))
    others = (
        f"the other reading {others[2:]}" if len(readings) == 2 else f"other readings: {others}"
    )
    whole = combine(readings)
    return replace(
        chief,
        sentence=f"{chief.name}: {chief.sentence}"
        + (f" ({others})" if counts else ""),
        name=name, reading=chief.name, parts=tuple(readings), points=whole.points,
        n_trials=whole.n_trials,
        level=whole.level,
        strength=strength_of(readings, chief.verdict, every=chief.verdict == FAILS),
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
    found = _number(measurement, level)
    if found.points is None:
        found = replace(found, points=pictures.picture(measurement, level))
    return found


def _number(measurement, level):
    found = _decide(measurement, level)
    setting = found.counterexample
    if setting is not None and measurement.setting:
        setting = {**measurement.setting, **setting}
    return replace(
        found, name=measurement.name, quantity=found.quantity or measurement.quantity,
        unit=measurement.unit, counterexample=setting,
        measured_is=measurement.measured_is, predicted_is=measurement.predicted_is,
        kinds=found.kinds or tuple(filter(None, [measurement.kind])),
        strength=_strength(measurement, found.verdict),
    )  # fmt: skip


def _strength(measurement, verdict):
    if verdict == UNDECIDED:
        return ""
    if verdict == FAILS and isinstance(measurement, Cases):
        left, right, _ = max(measurement.cases, key=lambda case: case[0] - case[1])
        if Fraction in (type(left), type(right)) and all(
            isinstance(each, Rational) for each in (left, right)
        ):
            return PROVED  # by a counterexample without rounding
    return measurement.strength or (STATISTICAL if measurement.statistical else SEARCHED)


@singledispatch
def _decide(measurement, level):
    raise TypeError(f"a check yields measurements, got {type(measurement).__name__}")


@_decide.register
def _(item: Cases, level):
    left, right, worst = max(item.cases, key=lambda case: case[0] - case[1])
    bad, kind = item.violations, ratio_is(item.measured_is, item.predicted_is)
    return Evidence(
        FAILS if bad else HOLDS,
        excess(left, right, bad, item.count, worst, item.shown, kind),
        measured=float(left),
        predicted=float(right),
        tightness=_ratio(left, right),
        n_trials=item.count,
        counterexample={**worst, "left": float(left), "right": float(right)} if bad else None,
    )


def excess(
    left: float | Fraction,
    right: float | Fraction,
    violations: int,
    count: int,
    instance: Mapping[str, Any],
    shown: Iterable[str] = (),
    kind: str = VALUE,
) -> str:
    """Say in how many cases the left side is larger, and how large it is where most is in excess.

    Parameters
    ----------
    left, right : float or Fraction
        Of the case with the largest difference.
    violations, count : int
    instance : mapping
        That case.
    shown : iterable of str
        Names of what is said of it.
    kind : str
        Which of a value and its bounds the excess is, "" where that is open.
    """
    cases = "case" if count == 1 else "cases"
    counts = f"left side larger in {violations} of {count} {cases}"
    if not violations:
        return counts
    at = ", ".join(f"{name} = {instance[name]}" for name in shown if name in instance)
    behind = f" ({at})" if at else ""
    if not right > 0.0:
        by = words(kind) or ("" if count == 1 else "up to ")
        return f"{counts}, by {by}{float(left - right):.4g}{behind}"
    where = ": " if count == 1 else "; at the largest excess "
    return f"{counts}{where}{_times(left, right, kind)}{behind}"


def _times(left, right, kind=VALUE):
    """Say how many times the right side the left one is."""
    if left == np.inf:
        return "the left side is infinite"
    more = float((left - right) / right)
    # Just above 1, it is the excess that has digits.
    times = f"{1.0 + more:.4g}" if more >= 0.001 else f"1 + {more:.2g}"
    return f"{words(kind)}{times} times the right side"


@_decide.register
def _(item: Identity, level):
    return decisions.identity(item.deviations, item.tolerance, quantity=item.quantity)


@_decide.register
def _(item: Search, level):
    if item.excess > item.guard:
        times = f": {_times(item.left, item.right)}" if item.right > 0.0 else ""
        return Evidence(
            FAILS,
            f"left side {item.left:.6g}, right side {item.right:.6g}{times}",
            measured=item.left,
            predicted=item.right,
            tightness=_ratio(item.left, item.right),
            quantity="left side",
            n_trials=item.evaluations,
            counterexample={**item.instance, "left": item.left, "right": item.right},
        )
    return Evidence(
        HOLDS,
        f"no violation in {item.evaluations} instances searched, left/right up to "
        f"{item.tightest:.4g}",
        measured=item.excess,
        predicted=0.0,
        tightness=item.tightest,
        n_trials=item.evaluations,
    )


@_decide.register
def _(item: Frequency, level):
    found = decisions.frequency(
        item.violations, item.trials, item.at_most, level=level, before=words(item.measured_is)
    )
    return replace(found, tightness=_ratio(found.measured, found.predicted))


@_decide.register
def _(item: Mean, level):
    if item.equals is not None:
        found = decisions.expectation(item.moments, item.equals, margin=item.margin, level=level)
    else:
        low = -np.inf if item.at_least is None else item.at_least
        high = np.inf if item.at_most is None else item.at_most
        found = decisions.mean_between(item.moments, low, high, level=level)
    if item.at_most is None:
        return found  # nothing is bounded from above
    return replace(found, tightness=_ratio(found.measured, found.predicted))


@_decide.register
def _(item: Paired, level):
    return decisions.ordering(item.smaller, item.larger, tie=item.tie, same=item.same, level=level)


@_decide.register
def _(item: Trend, level):
    return decisions.trend(item.samples, level=level)


@_decide.register
def _(item: Exponent, level):
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = slopes.fit(np.log(item.x), np.log(item.resampled), level)
    found = _power(item, slope, level, sum(map(len, item.samples)))
    return replace(found, points=_points(item, item.resampled[:, 0]))


@_decide.register
def _(item: Threshold, level):
    if np.isnan(item.resampled).any():
        slope = slopes.Slope(np.nan, np.inf, 0.0)
    else:
        slope = slopes.fit(np.log(item.x), item.resampled, level)
    place, low, high = np.array(item.points, dtype=float).T
    points = _points(item, place).assign(low=low, high=high)
    return replace(_power(item, slope, level, item.runs), points=points)


def _power(item, slope, level, n_trials):
    predicted = item.equals if item.at_most is None else item.at_most
    return slopes.exponent(
        slope, predicted, margin=item.margin, at_most=item.at_most is not None, level=level,
        n_trials=n_trials,
    )  # fmt: skip


def _points(item, y):
    bound = item.at_most is not None
    predicted = item.at_most if bound else item.equals
    # From the smallest size on a smaller exponent stays below; an equal one is met at the largest.
    start = item.x.argmin() if bound else item.x.argmax()
    return pd.DataFrame(
        {
            "panel": "", "series": "", "x": item.x, "y": y,
            "xlabel": item.along or "x", "ylabel": item.of or item.name or item.quantity,
            "predicted": y[start] * (item.x / item.x[start]) ** predicted,
            "allowed": "below" if bound else "",
        }
    )  # fmt: skip


@_decide.register
def _(item: Constant, level):
    return slopes.bounded(item, level)


@_decide.register
def _(item: Condition, level):
    return Evidence(
        HOLDS if item.good else FAILS,
        f"{'true' if item.good else 'false'}"
        + ("" if np.isnan(item.measured) else f", {words(item.measured_is)}{item.measured:.4g}")
        + ("" if np.isnan(item.claimed) else f", claimed {item.claimed:.4g}"),
        measured=item.measured,
        predicted=item.claimed,
        n_trials=item.n_trials,
        counterexample=None if item.good else dict(item.setting),
    )


@_decide.register
def _(item: Vacuous, level):
    return Evidence(VACUOUS, item.why, measured=item.measured, predicted=item.claimed)


@_decide.register
def _(item: Missing, level):
    return Evidence(UNDECIDED, item.why, needed=item.needed)


def _ratio(left, right):
    """Return how much of a bound is used, NaN where lhs and rhs are not both positive."""
    return float(left / right) if left > 0.0 and 0.0 < right < np.inf else np.nan


checked(globals(), nan=False)
