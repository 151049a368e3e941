"""What a check measures: raw numbers, what the statement says of them, and how that is decided.

One class per kind of decision; those that can go wrong by chance are in
:mod:`linrep.claims.sampled`. A stored measurement can be decided again at another level.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from fractions import Fraction
from math import log10
from numbers import Rational
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from linrep._lib import validation as check
from linrep.claims.evidence import (
    CERTIFIED,
    DERIVED,
    ENUMERATED,
    EXACT,
    FAILS,
    FRACTIONS,
    HOLDS,
    INTERVALS,
    PROVED,
    SEARCHED,
    STATISTICAL,
    STRENGTHS,
    UNDECIDED,
    VACUOUS,
    VALUE,
    Evidence,
    decided,
    ratio_is,
    said,
    words,
)
from linrep.theory.requirements import POSSIBLE

#: What a check can say of a measurement's strength.
CLAIMED = ("", PROVED, ENUMERATED, STATISTICAL, SEARCHED)
_EXACTLY = (CERTIFIED, EXACT)
_KEPT = 500  # cases and samples, of more than that
_RANKS = 100  # more than a picture can show
_FURTHER = 1.001  # times the ratio at the smallest violation; the worst is shown if beyond

Array = NDArray[np.float64]
Instance = Mapping[str, Any]
Case = tuple[float | Fraction, float | Fraction, Instance]


@dataclass(frozen=True, eq=False)
class Measurement:
    """Base of all measurements.

    Attributes
    ----------
    name : str
        Of the part of the statement that it is about.
    quantity, unit : str
        What the number decided on is, and its unit; "" where it is a pure number.
    setting : mapping
        Plain values: where it was taken. It becomes part of the counterexample if the part fails.
    weight : float
        Its share of the claim's level, relative to those of other statistical measurements.
    strength : str
        "proved" says that a section of the page of proofs derives it for the whole region that the
        statement names: the verdict is "derived" where that section is found. "enumerated exactly"
        if it covers the whole finite domain; by default "statistical" or "searched". What is
        sampled is never more than statistical.
    measured_is, predicted_is : {"value", "lower bound", "upper bound"}
        What the number decided on, and the one that the statement has for it, are of the quantity:
        the ends of an interval, a sum broken off or the first terms of an estimate are bounds.
    printed_at : str
        Of a reading: where else the paper has this form, "" where it reads the sentence itself.

    Examples
    --------
    >>> from linrep.claims import Cases, decide
    >>> found = decide(Cases([(1.0, 2.0, {"n": 3})], name="first part", setting={"d": 5}))
    >>> found.name, found.verdict, found.strength
    ('first part', 'holds', 'searched')
    """

    _: KW_ONLY
    name: str = ""
    quantity: str = ""
    unit: str = ""
    setting: Instance = field(default_factory=dict)
    weight: float = 1.0
    strength: str = ""
    measured_is: str = VALUE
    predicted_is: str = VALUE
    printed_at: str = ""

    #: Whether deciding it can go wrong by chance.
    statistical: ClassVar[bool] = False
    #: What kind of statement it is about; "" where it does not tell.
    kind: ClassVar[str] = "specification"

    def decide(self, level: float) -> Evidence:
        """Decide it by itself.

        Parameters
        ----------
        level : float
            Probability of a false verdict that it is allowed, if it is statistical.
        """
        found = self._decision(level)
        instance = found.counterexample
        return replace(
            found,
            name=self.name,
            quantity=found.quantity or self.quantity,
            unit=self.unit,
            counterexample=None if instance is None else {**self.setting, **instance},
            worst=None if found.worst is None else {**self.setting, **found.worst},
            measured_is=self.measured_is,
            predicted_is=self.predicted_is,
            kinds=tuple(filter(None, [self.kind])),
            strength=(strength := self._strength(found.verdict)),
            claimed=self._derivable(found.verdict, strength),
            ground=self._ground() if self.strength == PROVED or strength in _EXACTLY else "",
            printed_at=self.printed_at,
        )

    def picture(self, level: float) -> pd.DataFrame | None:
        """Return the points that show it beside what is claimed, None if there are none.

        Axes are logarithmic: what is not positive is left out.

        Parameters
        ----------
        level : float
            Of intervals, on each side.
        """
        return None

    def joined(self, others: Sequence[Measurement]) -> Measurement:
        """Return it with the runs of others: the same measurement, taken with other random numbers.

        Parameters
        ----------
        others : sequence of Measurement
            Where chance does not decide, the first of all that fails counts, else this one.

        Raises
        ------
        ValueError
            If they are not of the same kind, or one that more runs are not added to; or if what is
            claimed is not the same in all runs, as of instances that are drawn.
        """
        if any(type(each) is not type(self) for each in others):
            raise ValueError(f"{_of(self)} is not of the same kind in all runs")
        changes = self._joined(others)
        if changes is None:
            failing = (each for each in (self, *others) if each.decide(0.0).verdict == FAILS)
            return next(failing, self)
        for name in (each.name for each in fields(self)):
            if name in (*changes, "rng"):
                continue
            if not all(_same(getattr(self, name), getattr(each, name)) for each in others):
                raise ValueError(f"{_of(self)} has another {name} in other runs")
        return replace(self, **changes)

    def underived(self) -> Measurement:
        """Return it without the strength that a derivation gives: of other constants."""
        return replace(self, strength="") if self.strength == PROVED else self

    def _decision(self, level):
        raise TypeError(f"a check yields measurements, got {type(self).__name__}")

    def _joined(self, others):
        """Return what changes where others are joined, None where one of all counts."""
        if self.statistical:
            raise ValueError(f"more runs cannot be added to a {_of(self)}")
        return None

    def _strength(self, verdict):
        """Return what the measurement has by itself, whatever a derivation says."""
        if verdict == UNDECIDED:
            return ""
        if verdict == FAILS and self._ground():
            return EXACT
        if self._ground() == INTERVALS and self.strength != PROVED:
            return CERTIFIED
        own = STATISTICAL if self.statistical else SEARCHED
        return own if self.statistical or self.strength == PROVED else self.strength or own

    def _derivable(self, verdict, strength):
        """Return the strength where a derivation is found, which never grounds a failure."""
        if self.strength != PROVED or verdict in (FAILS, UNDECIDED):
            return strength
        return "" if self.statistical else min(DERIVED, strength, key=STRENGTHS.index)

    def _ground(self):
        """Return what makes the numbers exact, "" where they may be rounded."""
        return ""


@dataclass(frozen=True, eq=False)
class Cases(Measurement):
    """Numbers lhs that are claimed to be at most rhs, compared as exactly as they are given.

    Attributes
    ----------
    cases : iterable of (float, float, mapping)
        lhs, rhs, and the instance. Of many only the worst are kept.
    count, violations : int
        How many there were, and how many with a larger left side; counted if not given.
    shown : sequence of str
        Names of what the verdict's sentence says of the worst instance, such as ``("p", "T")``.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from linrep.claims import Cases, decide
    >>> found = decide(Cases([(Fraction(1, n), Fraction(1, 2), {"n": n}) for n in (1, 2, 3)]))
    >>> found.verdict, found.strength, found.counterexample["n"]
    ('fails', 'exact', 1)
    """

    cases: Sequence[Case] = ()
    _: KW_ONLY
    count: int = 0
    violations: int = 0
    shown: Sequence[str] = ()
    quantity: str = "left side"
    kind: ClassVar[str] = "deterministic inequality"

    def __post_init__(self):
        cases: list[Any] = [tuple(case) for case in _listed("cases", self.cases)]
        if not cases:
            raise ValueError(f"{_of(self)} holds no case")
        if any(len(case) != 3 for case in cases):
            raise ValueError("cases must be triples (lhs, rhs, instance)")
        for left, right, instance in cases:
            if math.isnan(left) or math.isnan(right):
                raise ValueError(f"{_of(self)} holds NaN at {dict(instance)}")
        if not self.count:
            object.__setattr__(self, "count", len(cases))
            object.__setattr__(self, "violations", sum(case[0] > case[1] for case in cases))
        if len(cases) > _KEPT:
            cases = sorted(cases, key=lambda case: case[1] - case[0])[:_KEPT]
        object.__setattr__(self, "cases", cases)

    def _decision(self, level):
        left, right, worst = max(self.cases, key=_difference)
        fails = self.violations > 0
        kind = ratio_is(self.measured_is, self.predicted_is)
        return Evidence(
            FAILS if fails else HOLDS,
            _excess(left, right, self.violations, self.count, worst, self.shown, kind),
            measured=float(left),
            predicted=float(right),
            tightness=ratio(left, right),
            n_trials=self.count,
            counterexample={**worst, "left": float(left), "right": float(right)} if fails else None,
        )

    def _ground(self):
        left, right, _ = max(self.cases, key=_difference)
        return FRACTIONS if _are_exact(left, right) else ""

    def picture(self, level: float) -> pd.DataFrame | None:
        """Return left over right in order of size."""
        left, right = np.array([case[:2] for case in self.cases], dtype=float).T
        with np.errstate(invalid="ignore", divide="ignore"):
            ratios = np.where((left > 0.0) & (right > 0.0), left / right, np.nan)
        several = f" in the worst {len(ratios)} of {self.count}"
        rank = f"rank{several if len(ratios) < self.count else ''}"
        return in_order(ratios, self.name, rank, "left over right", 1.0)


@dataclass(frozen=True, eq=False)
class Identity(Measurement):
    """Deviations of two expressions that are claimed to be equal.

    Attributes
    ----------
    deviations : iterable of (float, mapping)
        Relative deviation, already divided by the conditioning of its instance, and the instance.
        Infinite where shapes do not fit.
    tolerance : float
        Largest deviation that counts as rounding.

    Examples
    --------
    >>> from linrep.claims import Identity, decide
    >>> deviations = [(abs((0.1 * n) / n - 0.1) / 0.1, {"n": n}) for n in (1, 2, 3)]
    >>> decide(Identity(deviations, tolerance=1e-12)).verdict
    'holds'
    """

    deviations: Sequence[tuple[float, Instance]] = ()
    tolerance: float = 1e-12
    quantity: str = field(default="relative deviation", kw_only=True)
    kind: ClassVar[str] = "identity"

    def __post_init__(self):
        object.__setattr__(
            self, "deviations", [tuple(each) for each in _listed("deviations", self.deviations)]
        )
        if not self.deviations:
            raise ValueError(f"{_of(self)} holds no deviation")

    def _decision(self, level):
        worst, instance = max(
            self.deviations, key=lambda case: math.inf if math.isnan(case[0]) else case[0]
        )
        count, good = len(self.deviations), worst <= self.tolerance
        return decided(
            good,
            not good,
            f"largest {self.quantity} {worst:.2g} over {count} instance{'s' * (count > 1)}, "
            f"{self.tolerance:.0e} allowed",
            example={**instance, "deviation": float(worst)},
            measured=float(worst),
            predicted=self.tolerance,
            n_trials=count,
        )

    def picture(self, level: float) -> pd.DataFrame | None:
        """Return the deviations in order of size."""
        deviations = [deviation for deviation, _ in self.deviations]
        return in_order(deviations, self.name, "rank", self.quantity, self.tolerance)


@dataclass(frozen=True, eq=False)
class Search(Measurement):
    """The outcome of a search for a violation of left <= right; :func:`search_instances` makes one.

    Attributes
    ----------
    excess : float
        The largest left - right that was met, relative to the sum of their sizes.
    guard : float
        Excesses up to this are rounding.
    equal : int
        Instances whose left side is larger by no more than rounding: both sides count as equal.
    tightest : float
        The largest left/right.
    evaluations : int
    left, right : float
        lhs and rhs of the violation that was kept, NaN where there is none.
    instance : mapping
        That violation.
    ratios : array_like
        Values of left/right that were met; only as many are kept as a picture shows.
    worst : mapping
        The instance of the largest left/right that was met, with both sides as ``left`` and
        ``right``.

    Examples
    --------
    >>> import numpy as np
    >>> from linrep.claims import Budget, decide, search_instances
    >>> def sides(x):
    ...     return float(np.abs(x).sum()), float(np.linalg.norm(x))
    >>> rng = np.random.default_rng(0)
    >>> found = search_instances(sides, [{"d": 2}], {"x": ("d",)}, Budget("quick"), rng)
    >>> type(found).__name__, decide(found).verdict
    ('Search', 'fails')
    """

    excess: float = math.nan
    guard: float = 1e-9
    equal: int = 0
    tightest: float = math.nan
    evaluations: int = 0
    left: float = math.nan
    right: float = math.nan
    instance: Instance = field(default_factory=dict)
    ratios: Any = ()
    worst: Instance = field(default_factory=dict)
    quantity: str = field(default="relative excess of the left side", kw_only=True)
    kind: ClassVar[str] = "deterministic inequality"

    def __post_init__(self):
        object.__setattr__(self, "ratios", _thinned(check.real_array("ratios", self.ratios)))

    def _decision(self, level):
        return self._violation() if self.excess > self.guard else self._none()

    def _violation(self):
        """Return that a left side above the right one was met: the smallest, and the worst."""
        left, right, worst = self.left, self.right, self.worst
        behind = f": {_times(left, right)}" if right > 0.0 else ""
        most = ""
        if worst and ratio(worst["left"], worst["right"]) > _FURTHER * ratio(left, right):
            most = f"; at the worst instance {_times(worst['left'], worst['right'])}"
        return Evidence(
            FAILS,
            f"left side {left:.6g}, right side {right:.6g}{behind}{most}",
            measured=left,
            predicted=right,
            tightness=ratio(left, right),
            quantity="left side",
            n_trials=self.evaluations,
            counterexample={**self.instance, "left": left, "right": right},
            worst=worst if most else None,
        )

    def _none(self):
        """Return that none was met, with the largest left/right, or the largest relative excess.

        The former where both sides are positive at the largest excess, but for sides that vanish.
        """
        most = self.tightest
        of_ratio = (most - 1.0) / (most + 1.0) if 0.0 < most < math.inf else math.nan
        by_ratio = math.isclose(self.excess, of_ratio, abs_tol=1e-9) or (
            self.excess == 0.0 and most > 0.0
        )
        largest = f", left/right up to {most:.4g}" if most > -math.inf else ""
        rounded = f", equal to rounding in {self.equal} of them" if self.equal else ""
        return Evidence(
            HOLDS,
            f"no violation in {self.evaluations} instances searched{largest}{rounded}",
            measured=most if by_ratio else self.excess,
            predicted=1.0 if by_ratio else 0.0,
            tightness=most,
            quantity="left over right" if by_ratio else "",
            n_trials=self.evaluations,
            worst=self.worst or None,
        )

    def picture(self, level: float) -> pd.DataFrame | None:
        """Return left over right in order of size."""
        several = f" in {self.ratios.size} of {self.evaluations} instances"
        rank = f"rank{several if self.ratios.size < self.evaluations else ''}"
        return in_order(self.ratios, self.name, rank, "left over right", 1.0)


@dataclass(frozen=True, eq=False)
class Condition(Measurement):
    """A condition that computed numbers settle by themselves.

    Attributes
    ----------
    good : bool
        Whether the statement is true.
    measured, claimed : float or Fraction
        The number it is about, and what the statement says of it.
    n_trials : int
        Evaluations behind it.

    Examples
    --------
    >>> from linrep.claims import Condition, decide
    >>> decide(Condition(3.2 <= 4.0, measured=3.2, claimed=4.0)).sentence
    'true, 3.2, claimed 4'
    """

    good: bool = True
    measured: float | Fraction = math.nan
    claimed: float | Fraction = math.nan
    _: KW_ONLY
    n_trials: int = 0

    def _decision(self, level):
        measured, claimed = float(self.measured), float(self.claimed)
        texts = ["true" if self.good else "false"]
        if not math.isnan(measured):
            texts.append(said(self.measured_is, measured))
        if not math.isnan(claimed):
            texts.append(f"claimed {claimed:.4g}")
        return decided(
            self.good,
            not self.good,
            ", ".join(texts),
            example=dict(self.setting),
            measured=measured,
            predicted=claimed,
            n_trials=self.n_trials,
        )


@dataclass(frozen=True, eq=False)
class Vacuous(Measurement):
    """Hypotheses or a bound that say nothing at any size that can exist.

    Attributes
    ----------
    measured, claimed : float
        The number that shows it, and the largest value at which it would say something.
    why : str
        A few words.

    Examples
    --------
    >>> from linrep.claims import Vacuous, decide
    >>> found = decide(Vacuous(measured=2.5, claimed=1.0, why="the probability is above 1"))
    >>> found.verdict
    'vacuous'
    """

    measured: float = math.nan
    claimed: float = math.nan
    why: str = ""

    def _decision(self, level):
        return Evidence(VACUOUS, self.why, measured=self.measured, predicted=self.claimed)


@dataclass(frozen=True, eq=False)
class Missing(Measurement):
    """A measurement that could not be taken; the part is undecided.

    Attributes
    ----------
    why, needed : str
        A few words: what happened, and what would decide.

    Examples
    --------
    >>> from linrep.claims import Missing, decide
    >>> found = decide(Missing(why="no run converged", needed="longer runs"))
    >>> found.verdict, found.needed
    ('undecided', 'longer runs')
    """

    why: str = ""
    needed: str = ""
    kind: ClassVar[str] = ""

    def _decision(self, level):
        return Evidence(UNDECIDED, self.why, needed=self.needed)


@dataclass(frozen=True, eq=False)
class Together(Measurement):
    """Many small measurements that are shown as one; all have to hold.

    Attributes
    ----------
    parts : sequence of Measurement
    left_out : float
        Weight of planned measurements about which the statement says nothing, because one of its
        hypotheses was not met: their share of the level is not given to others.

    Examples
    --------
    >>> from linrep.claims import Condition, Together, judge
    >>> found = judge([Together([Condition(True), Condition(False, name="odd n")], name="all n")])
    >>> found.verdict, len(found.parts)
    ('fails', 1)
    """

    parts: Sequence[Measurement] = ()
    _: KW_ONLY
    left_out: float = 0.0

    def __post_init__(self):
        object.__setattr__(self, "parts", _listed("parts", self.parts))
        for part in self.parts:
            check.instance("parts", part, Measurement)
        if not self.parts:
            raise ValueError(f"{_of(self)} holds no measurement")
        _check_no_strength(self)

    def _joined(self, others):
        return _joined_parts(self, others)

    def underived(self) -> Together:
        """Return it with parts that no derivation makes proved."""
        return replace(self, parts=[part.underived() for part in self.parts])


@dataclass(frozen=True, eq=False)
class Readings(Measurement):
    """Measurements for each of several readings of the text; one of them has to hold.

    Attributes
    ----------
    parts : sequence of Measurement
        One per reading, named after it.
    phrase : str
        The paper's words that can be read in several ways; needed where the sentence itself can.
    printed_elsewhere : mapping of str to str
        Of readings that are another form than the sentence's own: where the paper prints it. If
        only these hold, the sentence is a misprint. A form that is printed nowhere is no reading
        but a corrected statement.

    Examples
    --------
    >>> from linrep.claims import Condition, Readings, judge
    >>> readings = [Condition(False, name="in n"), Condition(True, name="in n and d")]
    >>> found = judge([Readings(readings, phrase="grows with the problem")])
    >>> found.verdict, found.sentence
    ('holds', 'in n and d: true (the other reading fails)')
    """

    parts: Sequence[Measurement] = ()
    _: KW_ONLY
    phrase: str = ""
    printed_elsewhere: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self):
        object.__setattr__(self, "parts", _listed("parts", self.parts))
        for part in self.parts:
            check.instance("parts", part, Measurement)
        if not self.parts:
            raise ValueError(f"{_of(self)} holds no reading")
        names = [part.name for part in self.parts]
        if "" in names or len(set(names)) < len(names):
            raise ValueError(f"{_of(self)}: each reading must have a name of its own, got {names}")
        for name, place in self.printed_elsewhere.items():
            if name not in names or not place:
                raise ValueError(
                    f"{_of(self)}: printed_elsewhere must say of readings, {', '.join(names)}, "
                    f"where they are printed, got {name!r}: {place!r}"
                )
        own = set(names) - set(self.printed_elsewhere)
        if not own:
            raise ValueError(f"{_of(self)}: one reading must be of the sentence itself")
        if len(own) > 1 and not self.phrase:
            raise ValueError(
                f"{_of(self)}: phrase must have the paper's words that can be read as "
                + ", ".join(name for name in names if name in own)
            )
        parts = [
            replace(part, printed_at=self.printed_elsewhere.get(part.name, part.printed_at))
            for part in self.parts
        ]
        object.__setattr__(self, "parts", parts)
        _check_no_strength(self)

    def _joined(self, others):
        return _joined_parts(self, others)

    def underived(self) -> Readings:
        """Return it with readings that no derivation makes proved."""
        return replace(self, parts=[part.underived() for part in self.parts])


@dataclass(frozen=True, eq=False)
class Curve:
    """Points for the picture that decide nothing.

    Attributes
    ----------
    points : DataFrame
        As :func:`linrep.figures.plotting.evidence` takes them: columns panel, x, y, xlabel, ylabel,
        and perhaps series, low, high and predicted. Axes are logarithmic.

    Examples
    --------
    >>> import pandas as pd
    >>> from linrep.claims import Curve
    >>> points = pd.DataFrame({"panel": "", "x": [1.0, 2.0], "y": [0.5, 0.25]})
    >>> Curve(points.assign(xlabel="round", ylabel="error")).points["y"].tolist()
    [0.5, 0.25]
    """

    points: pd.DataFrame

    def __post_init__(self):
        missing = [name for name in _DRAWN if name not in self.points]
        if missing:
            raise ValueError(
                f"the points of a Curve must have columns {', '.join(_DRAWN)}, and have no "
                f"{', '.join(missing)}"
            )


_DRAWN = ("panel", "x", "y", "xlabel", "ylabel")


def flat(measurements: Iterable[Measurement]) -> list[Measurement]:
    """Return measurements with those of groups in their place."""
    single: list[Measurement] = []
    for item in measurements:
        single += flat(item.parts) if isinstance(item, Together | Readings) else [item]
    return single


def joined(runs: Sequence[Sequence[Any]]) -> list[Any]:
    """Return the measurements of several runs of a check as those of one."""
    columns = [[item for item in run if isinstance(item, Measurement)] for run in runs]
    if len(set(map(len, columns))) > 1:
        raise ValueError("runs have different numbers of measurements")
    rest = [item for item in runs[0] if not isinstance(item, Measurement)]
    return [first.joined(others) for first, *others in zip(*columns, strict=True)] + rest


def _same(one, other):
    """Tell whether two attributes are equal: texts, numbers, arrays, or mappings of them."""
    if isinstance(one, Mapping):
        return one.keys() == other.keys() and all(_same(one[name], other[name]) for name in one)
    return np.array_equal(one, other)


def _joined_parts(group, others):
    return {"parts": joined([group.parts, *(other.parts for other in others)])}


def shared(measurements: Iterable[Measurement]) -> float:
    """Return the weight among which a level is shared, as planned: whatever came out.

    What could not be taken keeps its share: else outcomes would choose the level of the others.
    """
    total = 0.0
    for item in measurements:
        if isinstance(item, Together | Readings):
            total += shared(item.parts) + getattr(item, "left_out", 0.0)
        elif item.statistical or isinstance(item, Missing):
            total += item.weight
    return total


def _excess(left, right, violations, count, instance, shown, kind):
    """Say in how many cases the left side is larger, and by how much at most."""
    cases = "case" if count == 1 else "cases"
    counts = f"left side larger in {violations} of {count} {cases}"
    if not violations:
        return counts
    at = ", ".join(f"{name} = {instance[name]}" for name in shown if name in instance)
    behind = f" ({at})" if at else ""
    if not right > 0.0:
        upto = "" if words(kind) or count == 1 else "up to "
        return f"{counts}, by {upto}{said(kind, float(left - right))}{behind}"
    where = ": " if count == 1 else "; at the largest excess "
    return f"{counts}{where}{_times(left, right, kind)}{behind}"


def _times(left, right, kind=VALUE):
    """Say how many times the right side the left one is."""
    if left == np.inf:
        return "the left side is infinite"
    more = float((left - right) / right)
    # Just above 1, it is the excess that has digits.
    if more >= 0.001:
        return f"{said(kind, 1.0 + more)} times the right side"
    return f"{words(kind)}1 + {said(kind, more, 2).removeprefix(words(kind))} times the right side"


def ratio(left: float | Fraction, right: float | Fraction) -> float:
    """Return how much of a bound is used, NaN where lhs and rhs are not both positive."""
    return float(left / right) if left > 0.0 and 0.0 < right < np.inf else np.nan


def in_order(
    values: ArrayLike,
    name: str,
    rank: str,
    label: str,
    claimed: float,
    *,
    allowed: str = "below",
) -> pd.DataFrame | None:
    """Return positive values in order of their size, None if there are none."""
    y = np.sort(np.asarray(values, dtype=float), axis=None)
    y = y[np.isfinite(y) & (y > 0.0)]
    if not y.size:
        return None
    x = np.unique(np.geomspace(1.0, y.size, _RANKS).round())
    return pd.DataFrame(
        {
            "panel": name, "series": "", "x": x, "y": y[x.astype(int) - 1],
            "xlabel": rank, "ylabel": label, "predicted": claimed if claimed > 0.0 else np.nan,
            "allowed": allowed,
        }
    )  # fmt: skip


def _are_exact(left, right):
    """Tell whether two numbers are rational, and one of them a fraction."""
    rational = isinstance(left, Rational) and isinstance(right, Rational)
    return rational and Fraction in (type(left), type(right))


def _difference(case):
    left, right, _ = case
    return left - right


def _listed(name, values):
    """Return values as a list, if they are several."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise TypeError(f"{name} must be a list, got {type(values).__name__}")
    return list(values)


def _samples(measurement, name, values):
    values = check.real_array(name, values)
    if values.size == 0:
        raise ValueError(f"{_of(measurement)} holds no sample")
    if np.isnan(values).any():
        raise ValueError(f"{_of(measurement)} holds NaN in its {name}")
    return values


def _thinned(values):
    """Return values, the smallest and the largest among them, of so many as a picture shows."""
    if values.size <= _KEPT:
        return values
    return np.sort(values, axis=None)[np.linspace(0, values.size - 1, _KEPT).astype(int)]


def _check_no_strength(group):
    if group.strength:
        raise ValueError(f"{_of(group)}: its parts have a strength each, it has none of its own")


def _of(measurement):
    kind = type(measurement).__name__
    return f"{kind} {measurement.name!r}" if measurement.name else kind


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


def within_reach(
    asked: Iterable[tuple[float, Mapping[str, Any]]], *, name: str = "", of: str = "samples"
) -> Cases | Vacuous:
    """Decide whether what a statement asks for can exist at any of some settings.

    Parameters
    ----------
    asked : iterable of (float, mapping)
        The decimal logarithm of the number of samples or rounds, as it may be too large itself, and
        the setting: the smallest that the statement allows are to be among them. Constants that the
        statement leaves open are taken as 1.
    name : str
        Of the part.
    of : str, default "samples"
        What is asked for.

    Returns
    -------
    Cases or Vacuous
        Vacuous if the least of them is beyond :data:`linrep.theory.requirements.POSSIBLE`.

    Raises
    ------
    ValueError
        If there are no settings.
    """
    found = list(asked)
    if not found:
        raise ValueError("asked must hold at least one setting, got none")
    least, setting = min(found, key=lambda pair: pair[0])
    most, quantity = log10(POSSIBLE), f"log10 of the least {of} asked for"
    if least <= most:
        return Cases([(least, most, setting)], name=name, quantity=quantity)
    why = f"10^{least:.1f} {of} at least, more than the 10^{most:.0f} that can exist"
    return Vacuous(least, most, why, name=name, quantity=quantity, setting=setting)
