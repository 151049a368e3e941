"""Inequalities between elementary functions over a whole region, by interval arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from heapq import heappop, heappush
from typing import Any

from linrep.claims.evidence import INTERVALS
from linrep.claims.measurements import Condition, Missing
from linrep.claims.quantities import LOWER, UPPER

Side = Callable[..., Any]
Ends = tuple[Fraction | int, Fraction | int]


@dataclass(frozen=True, eq=False)
class _Enclosed(Condition):
    """What was found by :func:`everywhere`: a check can ask for it, and cannot say it."""

    def _ground(self):
        return INTERVALS


def everywhere(
    lhs: Side, rhs: Side, region: Mapping[str, Ends], *, boxes: int = 20_000, **options: Any
) -> Condition | Missing:
    """Certify that lhs <= rhs on a box, or find a point of it where lhs > rhs.

    The box is cut in two, where it is longest, until the inequality is certain on each piece.

    Parameters
    ----------
    lhs, rhs : callable
        Of the variables by name, as `flint.arb` numbers: arithmetic, powers and methods such as
        ``x.log()``, ``x.exp()``, ``x.sqrt()``.
    region : mapping of str to (number, number)
        The ends of each variable: whole numbers or fractions. A range without end has to be mapped
        to one that has, such as x to 1/x.
    boxes : int
        How many are looked at before it is given up. Where both sides meet in a point, no number is
        enough: divide by what vanishes there.
    **options
        `name`, `quantity`, `setting` of the measurement; ``strength="proved"`` where it is a step
        of a derivation, and not what the statement says.

    Returns
    -------
    Condition or Missing
        Certified, or an exact counterexample: `measured` is an upper bound of the largest
        lhs - rhs, or a lower one of that of the point. Missing where it was given up.

    Raises
    ------
    ValueError
        If an end of the region is below the other.
    """
    from flint import arb, fmpq

    def ball(low, high):
        low, high = (arb(fmpq(end.numerator, end.denominator)) for end in (low, high))
        return low.union(high)

    def excess(box):
        at = {name: ball(*ends) for name, ends in box.items()}
        return lhs(**at) - rhs(**at)

    whole = {name: (Fraction(low), Fraction(high)) for name, (low, high) in region.items()}
    for name, (low, high) in whole.items():
        if low > high:
            raise ValueError(f"region of {name}: the lower end {low} is above the upper one {high}")
    options = {"quantity": "lhs - rhs", **options}
    settled = -float("inf")
    pending: list[tuple[float, int, dict[str, tuple[Fraction, Fraction]]]] = []
    looked = 0

    def look(box):
        nonlocal settled, looked
        looked += 1
        difference = excess(box)
        if difference <= 0:
            settled = max(settled, float(difference.upper()))
        else:
            heappush(
                pending,
                (-float(difference.upper()) if difference.is_finite() else -1e300, looked, box),
            )

    look(whole)
    while pending and looked < boxes:
        *_, box = heappop(pending)
        middle = {name: (low + high) / 2 for name, (low, high) in box.items()}
        point = excess({name: (value, value) for name, value in middle.items()})
        if point > 0:
            setting = {**options.pop("setting", {}), **{name: str(x) for name, x in middle.items()}}
            return _Enclosed(
                False, float(point.lower()), 0.0, n_trials=looked, setting=setting,
                measured_is=LOWER, **options,
            )  # fmt: skip
        longest = max(box, key=lambda name: box[name][1] - box[name][0])
        low, high = box[longest]
        for ends in ((low, middle[longest]), (middle[longest], high)):
            look({**box, longest: ends})
    if pending:
        return Missing(
            why=f"{len(pending)} pieces of the region are left after {looked}",
            needed="a bound that is not attained, or more pieces", **options,
        )  # fmt: skip
    return _Enclosed(True, settled, 0.0, n_trials=looked, measured_is=UPPER, **options)
