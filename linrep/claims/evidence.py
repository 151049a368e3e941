"""What a check found: a verdict with the numbers it rests on."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from numbers import Real
from typing import TYPE_CHECKING, Any, Required, Self, TypedDict

from linrep._lib import display as show
from linrep._lib import shapes
from linrep._lib import validation as check
from linrep.claims.maps import (
    DEPENDS,
    ERROR,
    FAILS,
    HOLDS,
    MISPRINT,
    UNCHECKED,
    UNDECIDED,
    VACUOUS,
    VERDICTS,
    Map,
    counted,
    joint,
    verb,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

#: What a number is of the quantity that it is named after: it itself, or a bound of it.
VALUE, LOWER, UPPER = TYPES = "value", "lower bound", "upper bound"

#: What a verdict rests on, the firmest first. The first three are found, and cannot be said.
STRENGTHS = CERTIFIED, EXACT, DERIVED, ENUMERATED, STATISTICAL, SEARCHED = (
    "certified", "exact", "derived", "enumerated exactly", "statistical", "searched",
)  # fmt: skip
#: What a check says of a measurement that a derivation covers.
PROVED = "proved"

#: What exact numbers can be.
FRACTIONS, INTERVALS = "fractions", "intervals"

#: What is measured of a sentence in all of its readings.
READINGS = "share of readings that hold"

#: Probability of a false verdict that the whole ledger is allowed, and the number of claims with a
#: statistical measurement that it is shared among: what it has room for, not what it holds, so that
#: a claim's verdict depends neither on the claims that are run nor on those that are added.
LEDGER_LEVEL, STATISTICAL_CLAIMS = 0.01, 250
LEVEL = LEDGER_LEVEL / STATISTICAL_CLAIMS


def tally(counts: Mapping[str, int], noun: str = "claim") -> list[tuple[str, str]]:
    """Return a sentence on verdicts in pieces: of each the verdict, "" of others, and the text.

    Parameters
    ----------
    counts : mapping
        How many there are of each verdict.
    noun : str
        What they are verdicts of, in the singular.

    Examples
    --------
    >>> "".join(text for _, text in tally({"holds": 2, "fails": 1}))
    '3 claims: 2 hold, 1 fails'
    >>> "".join(text for _, text in tally({"fails": 22}))
    '22 of 22 claims fail'
    """
    texts = counted(counts)
    total = sum(counts.values())
    if len(texts) == 1:
        ((name, _),) = texts
        of = f"1 {noun}" if total == 1 else f"{total} of {total} {noun}s"
        return [(name, f"{of} {verb(name, total)}")]
    pieces = [("", f"{total} {noun}s{': ' if texts else ''}")]
    for index, piece in enumerate(texts):
        pieces += [("", ", ")] * bool(index) + [piece]
    return pieces


_SIGNS = {VALUE: "", LOWER: "≥ ", UPPER: "≤ "}
_WORDS = {"": "", VALUE: "", LOWER: "at least ", UPPER: "at most "}
#: Where it is rounded to: a lower bound down.
_TOWARD = {"": 0, VALUE: 0, LOWER: -1, UPPER: 1}
_OPPOSITE = {VALUE: VALUE, LOWER: UPPER, UPPER: LOWER}


def words(kind: str) -> str:
    """Return what is said before a number of a type: "at least " before a lower bound."""
    return _WORDS[kind]


def said(kind: str, value: float, digits: int = 4) -> str:
    """Return a number of a type in words, a bound rounded outwards: "at least 1.47"."""
    number = show.number(value, _TOWARD[kind], digits) if math.isfinite(value) else str(value)
    return words(kind) + number


def ratio_is(measured_is: str, predicted_is: str) -> str:
    """Return what a ratio or a difference of two numbers is, "" where both bounds leave it open."""
    kinds = {measured_is, _OPPOSITE[predicted_is]}
    if len(kinds) > 1:
        kinds.discard(VALUE)
    return kinds.pop() if len(kinds) == 1 else ""


def readings_that_hold(maps: Sequence[Map]) -> str:
    """Return how many readings hold: "119 of 576 readings hold", "8 of 30 readings of 2 parts"."""
    counts = [each.counts() for each in maps]
    held, total = sum(each[HOLDS] for each in counts), sum(sum(each.values()) for each in counts)
    return f"{held} of {total} readings " + (f"of {len(maps)} parts " if maps[1:] else "") + "hold"


def shown(item: Evidence | Fact, key: str) -> str:
    """Return a number of a result, of a part of one or of a fact, a bound with ≥ or ≤ before it."""
    if isinstance(item, Evidence) and (found := item.share_of):
        return readings_that_hold(found) if key == "measured" else ""
    value = getattr(item, key)
    if isinstance(value, str):
        return value
    return sign(item, key) * math.isfinite(value) + show.number(value, toward(item, key))


def sign(item: Evidence | Fact, key: str) -> str:
    """Return what is shown before a number: nothing, or the sign of a bound and a blank."""
    return _SIGNS[_kind(item, key)]


def toward(item: Evidence | Fact, key: str) -> int:
    """Return where a number is rounded to: -1 for down, a lower bound, 1 for up, else 0."""
    return _TOWARD[_kind(item, key)]


def _kind(item, key):
    if key == "tightness":
        kinds = (getattr(item, f"{name}_is") for name in ("measured", "predicted"))
        return ratio_is(*kinds) or VALUE
    return getattr(item, f"{key}_is", VALUE)


def instance(evidence: Evidence) -> Mapping[str, Any] | None:
    """Return the counterexample of a result with its bounds as they are shown."""
    counterexample = evidence.counterexample
    keys = {"left": "measured", "right": "predicted"}
    bounds = {name: shown(evidence, key) for name, key in keys.items() if sign(evidence, key)}
    return counterexample and {key: bounds.get(key, value) for key, value in counterexample.items()}


def instances(evidence: Evidence) -> dict[str, list[str]]:
    """Return what fails, or comes nearest to it, in lines to read."""
    found = {}
    example, worst = plain_values(instance(evidence)), plain_values(evidence.worst)
    if example:
        found["instance" if worst is None else "smallest"] = show.instance(example)
    if worst is not None:
        found["worst" if example else "tightest"] = show.instance(worst)
    return found


@dataclass(frozen=True)
class Fact:
    """A number worth reporting that decides nothing.

    Attributes
    ----------
    name, unit : str
    value : float or str
    value_is : {"value", "lower bound", "upper bound"}
        Of what is named. The largest or smallest of the instances tried is a value.
    setting : mapping of str to float or str
        Where the number was taken, in the paper's letters: numbers of one name at several settings
        are shown as a table.

    Examples
    --------
    >>> from linrep.claims import Fact
    >>> Fact("rounds to 1e-3", 42, setting={"d": 20}).setting
    {'d': 20}
    """

    name: str
    value: Any
    unit: str = ""
    value_is: str = VALUE
    setting: Mapping[str, Any] = field(default_factory=dict, kw_only=True)

    def __post_init__(self):
        check.instance("value", self.value, Real, str)
        # Of arrays of sizes, too; a ledger holds plain numbers.
        plain = {name: getattr(x, "item", lambda x=x: x)() for name, x in self.setting.items()}
        object.__setattr__(self, "setting", plain)


_NUMBERS = ("measured", "predicted", "tightness", "low", "high")


class Part(TypedDict, total=False):
    """Plain values of evidence in the order in which they are written, null for no finite number.

    Those that a ledger leaves out are as in evidence that says nothing of them.
    """

    name: str
    verdict: Required[str]
    sentence: str
    measured: float | None
    predicted: float | None
    tightness: float | None
    low: float | None
    high: float | None
    n_trials: int
    level: float
    measured_is: str
    predicted_is: str
    quantity: str
    unit: str
    needed: str
    strength: str
    claimed: str
    ground: str
    asked: list[str]
    map: Mapping[str, Any] | None
    counterexample: Mapping[str, Any] | None
    worst: Mapping[str, Any] | None


@dataclass(frozen=True)
class Evidence:
    """The outcome of a check, or of a part of one.

    Attributes
    ----------
    verdict : str
        One of `VERDICTS`, or "error".
        Misprint: it fails where it is stated, and holds in the form that the paper prints
        elsewhere. Depends on the reading: its words leave open what is compared, and it holds in
        some readings and fails in others. Vacuous: the hypotheses or the bound say nothing at any
        size that can exist. Error: the check raised.
    sentence : str
        What was found, in one sentence.
    measured, predicted : float
        The number decided on, and what the statement says of it.
    interval : pair of float or None
        Of `measured`, at level 1 - `level`.
    tightness : float
        How much of a bound is used; NaN where nothing is bounded, or lhs and rhs are not positive.
    n_trials : int
        Random repetitions, or evaluations of a search.
    level : float
        Probability of a false verdict; 0 where exact arithmetic or a search decides.
    counterexample : mapping or None
        Plain values that reproduce a failure.
    worst : mapping or None
        Of a search the instance of the largest left over right side that was met, where that is
        not the counterexample, and both sides.
    needed : str
        What would decide, where it is undecided.
    name : str
        Of the part.
    parts : tuple of Evidence
        What the verdict was put together from.
    points : DataFrame or None
        What its picture is drawn from: columns panel, x, y, low, high, series, and xlabel, ylabel.
    quantity, unit : str
        What `measured` and `predicted` are.
    measured_is, predicted_is : {"value", "lower bound", "upper bound"}
        Of that quantity.
    facts : tuple of Fact
        Numbers worth telling that decide nothing.
    kinds : tuple of str
        What kinds of statements were decided.
    strength : str
        What the verdict rests on, one of `STRENGTHS`: certified by a program that is not the check,
        exact numbers of a counterexample, derived in a section of a page of proofs, enumerated
        exactly over the whole finite domain, statistical at a level, or searched. "" where it is
        undecided.
    claimed : str
        The strength that it has where the derivation is found that the check says there is; ""
        where it is sampled, and the derivation of other parts covers it.
    reading : str
        Where the text can be read in several ways, which are the parts: the one that was taken.
    ground : {"", "fractions", "intervals"}
        What exact numbers a part rests on.
    asked : tuple of str
        Lines of a proof that solvers are asked: where they prove them all, it is certified.
    phrase : str
        The paper's words that can be read so.
    map : Map or None
        Of a sentence on a figure or a table: the verdict of each reading, see
        ``linrep.claims.maps.Map``.
    printed_at : str
        Of a reading: where else the paper has this form, "" where it reads the sentence itself.

    Examples
    --------
    >>> from linrep.claims import Mean, decide
    >>> found = decide(Mean([0.9, 1.1, 1.0, 1.05] * 5, at_most=2.0), level=0.01)
    >>> found.verdict, round(found.measured, 4), found.n_trials
    ('holds', 1.0125, 20)
    """

    verdict: str
    sentence: str
    measured: float = math.nan
    predicted: float = math.nan
    interval: tuple[float, float] | None = None
    tightness: float = math.nan
    n_trials: int = 0
    level: float = 0.0
    counterexample: Mapping[str, Any] | None = None
    needed: str = ""
    name: str = ""
    parts: tuple[Evidence, ...] = ()
    points: pd.DataFrame | None = field(default=None, compare=False)
    quantity: str = ""
    unit: str = ""
    facts: tuple[Fact, ...] = ()
    kinds: tuple[str, ...] = ()
    strength: str = ""
    claimed: str = ""
    reading: str = ""
    ground: str = ""
    asked: tuple[str, ...] = ()
    phrase: str = ""
    printed_at: str = ""
    measured_is: str = VALUE
    predicted_is: str = VALUE
    worst: Mapping[str, Any] | None = None
    map: Map | None = None

    def __post_init__(self):
        if self.verdict not in (*VERDICTS, ERROR, UNCHECKED):
            raise ValueError(f"verdict must be one of {', '.join(VERDICTS)}, got {self.verdict!r}")
        for name in ("measured", "predicted", "tightness"):
            object.__setattr__(self, name, float(getattr(self, name)))

    @property
    def readings(self) -> tuple[Mapping[str, Any], ...]:
        """For each way in which a part can be read: its name, where, whether taken, its verdict."""
        return tuple(
            {
                "of": item.name,
                "phrase": item.phrase,
                "reading": part.name,
                "printed_at": part.printed_at,
                "taken": part.name == item.reading,
                "verdict": part.verdict,
            }
            for item in read_in_several_ways(self)
            for part in item.parts
        )

    @property
    def share_of(self) -> list[Map]:
        """The maps whose share of readings that hold was measured, none where that was not."""
        if self.quantity != READINGS:
            return []
        return [part.map for part in (self, *self.parts) if part.map is not None]

    @property
    def low(self) -> float:
        """The lower end of the interval, NaN where there is none."""
        return math.nan if self.interval is None else self.interval[0]

    @property
    def high(self) -> float:
        """The upper end of the interval, NaN where there is none."""
        return math.nan if self.interval is None else self.interval[1]

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """Return the evidence that :meth:`as_json` made plain values of.

        Parameters
        ----------
        values : mapping
            What is not finite is NaN afterwards.

        Raises
        ------
        ValueError
            If a key is unknown or missing, or a value of another type.
        """
        shapes.check(values, Part, values.get("name") or "a part")
        return cls(**fields_of(values) | believed(values))

    def as_json(self) -> dict[str, Any]:
        """Return what a ledger holds of it: plain values, None for what is not finite."""
        values = {name: plain_values(getattr(self, name)) for name in Part.__annotations__}
        values["map"] = None if self.map is None else self.map.as_json()
        finite = {name: _finite(getattr(self, name)) for name in _NUMBERS}
        return values | finite

    def plot(self) -> list[Axes]:
        """Draw the measurements that the verdict rests on, one panel each.

        Returns
        -------
        list of matplotlib axes

        Raises
        ------
        ValueError
            If the check left nothing to draw.

        See Also
        --------
        linrep.figures.plotting.evidence
        """
        from linrep.figures import plotting

        if self.points is None:
            raise ValueError("this evidence has no points to draw")
        return plotting.evidence(self.points).axes

    def __repr__(self):
        name = f" of {self.name}" if self.name else ""
        numbers = ", ".join(f"{name} {value}" for name, value in self._numbers().items())
        return f"Evidence{name}: {self.verdict}. {self.sentence} ({numbers})"

    def _numbers(self):
        numbers = {
            name: shown(self, name)
            for name in ("measured", "predicted", "tightness")
            if not math.isnan(getattr(self, name)) and shown(self, name)
        }
        if self.interval is not None:
            numbers["interval"] = " to ".join(map(show.number, self.interval))
        numbers |= {"trials": str(self.n_trials), "error level": f"{self.level:.1g}"}
        if self.parts:
            numbers["parts"] = str(len(self.parts))
        if self.needed:
            numbers["it would take"] = self.needed
        if self.counterexample is not None:
            numbers["counterexample"] = show.brief(dict(instance(self) or {}))
        return numbers


def fields_of(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that plain values have, with the interval of its ends."""
    known = {name: value for name, value in values.items() if value is not None}
    if "asked" in known:
        known["asked"] = tuple(known["asked"])
    if "map" in known:
        known["map"] = Map(**known["map"])
    ends = known.pop("low", math.nan), known.pop("high", math.nan)
    return known if all(map(math.isnan, ends)) else {**known, "interval": ends}


def believed(values: Mapping[str, Any]) -> dict[str, str]:
    """Return the strengths that plain values have by themselves, whatever they say.

    What says more than its numbers do claims that there is a derivation.
    """
    said, failed = values.get("strength", ""), values["verdict"] == FAILS
    grounded = {CERTIFIED: values.get("ground") == INTERVALS, EXACT: bool(values.get("ground"))}
    had = EXACT if failed else CERTIFIED
    if said in (CERTIFIED, EXACT, PROVED) and grounded[had]:
        return {"strength": had, "claimed": had}
    if said not in (CERTIFIED, EXACT, DERIVED, PROVED):
        return {"strength": said, "claimed": values.get("claimed", said)}
    sampled = values.get("level", 0.0) > 0.0
    own = STATISTICAL if sampled else SEARCHED
    claimed = "" if sampled and said != DERIVED else DERIVED
    return {"strength": own, "claimed": own if failed else claimed}


def plain_values(value: Any) -> Any:
    """Return what JSON can hold: fractions, and numbers that are not finite, as text."""
    if isinstance(value, Mapping):
        return {name: plain_values(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [plain_values(entry) for entry in value]
    as_text = isinstance(value, Fraction) or (isinstance(value, float) and not math.isfinite(value))
    return str(value) if as_text else value


def _finite(value):
    return float(value) if math.isfinite(value) else None


def combine(parts: Iterable[Evidence]) -> Evidence:
    """Put parts together: all have to hold.

    One that fails makes the whole fail, else one that is undecided makes it undecided, and so on.
    The numbers are those of the part that decides: the first of the worst verdict, of failures the
    one that stands most firmly. What holds is as strong as its weakest part, a failure as the
    strongest part that fails.
    """
    parts = tuple(parts)
    if not parts:
        raise ValueError("parts must hold at least one piece of evidence, got none")
    order = (FAILS, UNDECIDED, DEPENDS, VACUOUS, MISPRINT, HOLDS)
    maps = [part.map for part in parts if part.map is not None]
    together = joint(maps) if len(maps) > 1 else ""

    def rank(part):
        firm = STRENGTHS.index(part.strength) if part.strength else len(STRENGTHS)
        verdict = together if together and part.map is not None else part.verdict
        return order.index(verdict), verdict != part.verdict, firm if verdict == FAILS else 0

    chief = min(parts, key=rank)
    verdict = order[rank(chief)[0]]
    needed = [part.needed for part in parts if part.verdict == UNDECIDED]
    points = None
    tables = [
        part.points.assign(
            **{
                name: [f"{part.name} {text}".strip() for text in part.points[name]]
                for name in ("panel", "part")
                if name in part.points
            }
        )
        for part in parts
        if part.points is not None
    ]
    if tables:
        import pandas as pd

        points = pd.concat(tables, ignore_index=True)
    return replace(
        chief,
        verdict=verdict,
        sentence=f"{chief.name}: {chief.sentence}".removeprefix(": "),
        n_trials=sum(part.n_trials for part in parts),
        level=min(1.0, sum(part.level for part in parts)),
        needed=max(needed, key=runs_of) if verdict == UNDECIDED and all(needed) else "",
        name="",
        reading="",
        asked=(),
        map=None,
        parts=parts,
        **strengths_of_parts(parts, verdict),
        kinds=tuple(dict.fromkeys(kind for part in parts for kind in part.kinds)),
        points=points,
    )


def runs_of(needed: str) -> float:
    """Return the number in what it would take, infinity where there is none."""
    digits = "".join(filter(str.isdigit, needed))
    return float(digits) if digits else math.inf


def strengths_of_parts(parts: Iterable[Evidence], verdict: str) -> dict[str, Any]:
    """Return the strengths of a verdict that parts have together."""
    return strengths_of(parts, verdict, every=verdict in (HOLDS, MISPRINT))


def strengths_of(parts: Iterable[Evidence], verdict: str, *, every: bool) -> dict[str, str]:
    """Return the strength of a verdict, and the claimed one, from those of the parts that have it.

    Where it takes every one of them the weakest counts, else the strongest.
    """
    having = [part for part in parts if part.verdict == verdict and part.strength]
    which = max if every else min
    claimed = [part.claimed for part in having]
    if any(claimed) and not all(claimed):  # samples, which the derivation of other parts covers
        claimed = [item or DERIVED for item in claimed]
    return {
        "strength": which([part.strength for part in having], key=STRENGTHS.index, default=""),
        "claimed": which(filter(None, claimed), key=STRENGTHS.index, default=""),
    }


def decided(
    good: bool,
    bad: bool,
    sentence: str,
    *,
    example: Mapping[str, Any] | None = None,
    needed: Callable[[], str] = str,
    **numbers: Any,
) -> Evidence:
    """Return that something holds or fails, or is undecided: then what is needed is found out."""
    return Evidence(
        FAILS if bad else HOLDS if good else UNDECIDED,
        sentence,
        counterexample=example if bad else None,
        needed="" if good or bad else needed(),
        **numbers,
    )


def read_in_several_ways(evidence: Evidence) -> list[Evidence]:
    """Return the parts of some evidence, at any depth, that have readings."""
    if evidence.reading:
        return [evidence]
    return [item for part in evidence.parts for item in read_in_several_ways(part)]
