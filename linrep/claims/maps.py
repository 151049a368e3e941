"""Verdicts, and maps of them: of a sentence one for each of its readings."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    import pandas as pd

#: What a check may find.
HOLDS, MISPRINT, DEPENDS, FAILS, VACUOUS, UNDECIDED = VERDICTS = (
    "holds", "misprint", "depends on the reading", "fails", "vacuous", "undecided",
)  # fmt: skip
#: In place of a verdict, of a check that raised, and where none has been run.
ERROR, UNCHECKED = "error", "unchecked"

_LETTERS = {HOLDS: "h", FAILS: "f"}  # all others are undecided
_VERDICTS = {"h": HOLDS, "f": FAILS, "u": UNDECIDED}
_VERBS = {  # of one, and of several
    HOLDS: ("holds", "hold"),
    MISPRINT: ("is a misprint", "are misprints"),
    DEPENDS: ("depends on the reading", "depend on the reading"),
    FAILS: ("fails", "fail"),
    ERROR: ("stops with an error", "stop with an error"),
}


def counted(counts: Mapping[str, int]) -> list[tuple[str, str]]:
    """Return verdicts with what is said of so many: ("fails", "2 fail")."""
    return [(name, f"{count} {verb(name, count)}") for name, count in counts.items() if count]


def verb(verdict: str, count: int) -> str:
    """Return what so many of a verdict do: "fails", or "fail"."""
    one, several = _VERBS.get(verdict, (f"is {verdict}", f"are {verdict}"))
    return one if count == 1 else several


@dataclass(frozen=True)
class Map:
    """The verdicts of a sentence in all of its readings.

    Attributes
    ----------
    axes : mapping of str to sequence of str
        What is open, and its values. Cells are in the order of their product, the last the fastest.
    verdicts : str
        A letter a cell: h for holds, f for fails, u for undecided.
    phrase : str
        The paper's words that leave it open.
    excluded : mapping of str to mapping of str to str
        Values of axes that the paper's words exclude, with these words.
    estimate, low, high : sequence of float or None
        The number of each cell, and its interval; empty where no cell has one.
    quantity : str
        What these are, "" where cells have different ones.
    limit : float or None
        What the statement says of it.
    quantities : sequence of str
        The different ones.
    which : sequence of int
        Of each cell, the place of its own among them.
    about : mapping of str to str
        Of axes a line on what they and their values mean.
    needed : str
        What would decide cells that are undecided.

    Examples
    --------
    >>> from linrep.claims.maps import Map
    >>> found = Map({"epochs": ("10", "20"), "statistic": ("median", "mean")}, "ffhu")
    >>> found.verdict(), found.decides()
    ('depends on the reading', {'epochs': 0.5})
    """

    axes: Mapping[str, Sequence[str]]
    verdicts: str
    phrase: str = ""
    excluded: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    estimate: Sequence[float | None] = ()
    low: Sequence[float | None] = ()
    high: Sequence[float | None] = ()
    quantity: str = ""
    limit: float | None = None
    quantities: Sequence[str] = ()
    which: Sequence[int] = ()
    about: Mapping[str, str] = field(default_factory=dict)
    needed: str = ""

    def __post_init__(self):
        object.__setattr__(self, "axes", {name: tuple(each) for name, each in self.axes.items()})
        for name in ("estimate", "low", "high", "quantities", "which"):
            values = tuple(getattr(self, name))
            object.__setattr__(self, name, values if set(values) != {None} else ())

    @classmethod
    def of(cls, cells: Sequence[Any], axes: Any, **texts: Any) -> Self:
        """Put decided cells, each an Evidence, together."""
        quantities = list(dict.fromkeys(cell.quantity for cell in cells))
        same = len({(cell.quantity, cell.predicted) for cell in cells}) == 1
        return cls(
            axes,
            "".join(_LETTERS.get(cell.verdict, "u") for cell in cells),
            estimate=[_rounded(cell.measured) for cell in cells],
            low=[_rounded(cell.low) for cell in cells],
            high=[_rounded(cell.high) for cell in cells],
            quantity=cells[0].quantity if same else "",
            limit=_rounded(cells[0].predicted) if same else None,
            quantities=() if same else quantities,
            which=() if same else [quantities.index(cell.quantity) for cell in cells],
            **texts,
        )

    def as_json(self) -> dict[str, Any]:
        """Return plain values, from which ``Map(**values)`` makes it again."""
        found = {each.name: getattr(self, each.name) for each in fields(self)}
        found["axes"] = {name: list(values) for name, values in self.axes.items()}
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in found.items()
            if value not in (None, "", {}, ())
        }

    @cached_property
    def counted(self) -> list[bool]:
        """Of each cell whether it counts: no value of it is excluded."""
        return [
            not any(value in self.excluded.get(name, ()) for name, value in reading.items())
            for reading in self.readings()
        ]

    def readings(self) -> list[dict[str, str]]:
        """Return the values of each cell."""
        return [
            dict(zip(self.axes, values, strict=True)) for values in product(*self.axes.values())
        ]

    def counts(
        self, values: Mapping[str, Collection[str]] | None = None, *, excluded: bool = False
    ) -> dict[str, int]:
        """Return how many cells have which verdict.

        Parameters
        ----------
        values : mapping of str to collection of str, optional
            Of axes the values of the cells that are counted.
        excluded : bool, default False
            Count excluded cells as well.

        Raises
        ------
        ValueError
            If there is no such axis, or it has no such value.
        """
        kept = zip(self.verdicts, self.counted, self.having(values or {}), strict=True)
        found = Counter(letter for letter, counts, has in kept if has and (counts or excluded))
        return {verdict: found[letter] for letter, verdict in _VERDICTS.items()}

    def having(self, values: Mapping[str, Collection[str]]) -> list[bool]:
        """Return of each cell whether its values are among these; see :meth:`counts`."""
        for name, wanted in values.items():
            if name not in self.axes:
                raise ValueError(f"no axis {name!r}, only {', '.join(self.axes)}")
            for value in wanted:
                if value not in self.axes[name]:
                    raise ValueError(f"no {name} {value!r}, only {', '.join(self.axes[name])}")
        return [
            all(reading[name] in wanted for name, wanted in values.items())
            for reading in self.readings()
        ]

    def verdict(self, *, excluded: bool = False) -> str:
        """Return what is found of the sentence: all cells alike, both, or undecided.

        Parameters
        ----------
        excluded : bool, default False
            Count excluded cells as well.
        """
        counts = self.counts(excluded=excluded)
        if counts[HOLDS] and counts[FAILS]:
            return DEPENDS
        if counts[UNDECIDED]:
            return UNDECIDED
        return HOLDS if counts[HOLDS] else FAILS

    def decides(self) -> dict[str, float]:
        """Return what it depends on, what decides most first.

        Of an axis that is the share of the pairs of readings that differ in it alone of which one
        holds and the other fails; axes of which no pair does are left out.
        """
        kept, found = self.counted, {}
        stride = len(self.verdicts)
        for name, values in self.axes.items():
            stride //= len(values)
            pairs = flips = 0
            for cell, letter in enumerate(self.verdicts):
                place = cell // stride % len(values)
                for other in range(cell + stride, cell + (len(values) - place) * stride, stride):
                    if kept[cell] and kept[other]:
                        pairs += 1
                        flips += {letter, self.verdicts[other]} == {"h", "f"}
            if flips:
                found[name] = flips / pairs
        return dict(sorted(found.items(), key=lambda item: -item[1]))

    def sentence(self) -> str:
        """Return what is found in a sentence."""
        counts = self.counts()
        total = sum(counts.values())
        said = f"of {total} readings " + ", ".join(text for _, text in counted(counts))
        if total == 1:
            said = f"its one reading {HOLDS if counts[HOLDS] else 'does not hold'}"
        if not self.excluded:
            return said
        more = len(self.verdicts) - total
        verdict = self.verdict(excluded=True)
        return f"{said}; with the {more} that the paper's words exclude: {verdict}"

    def lines(self) -> list[str]:
        """Return what decides, and how many readings have which verdict by value, a line an axis.

        The first line says what decides, and what would decide those that are undecided.
        """
        deciding = self.decides()
        shares = ", ".join(
            f"{f'{share:.0%}' if share >= 0.005 else 'less than 1%'} ({name})"
            for name, share in deciding.items()
        )
        pairs = "of two readings that differ in one thing alone one holds and the other fails"
        said = f"what decides: {pairs} in {shares} of the pairs" if deciding else ""
        found = ["; ".join(filter(None, [said, self.needed, "holds/fails/undecided by value:"]))]
        for name in sorted(self.axes, key=lambda name: -deciding.get(name, 0.0)):
            by_words: dict[str, list[str]] = {}
            for value in self.axes[name]:
                words = self.excluded.get(name, {}).get(value, "")
                counts = "/".join(map(str, self.counts({name: [value]}).values()))
                by_words.setdefault(words, []).append(value if words else f"{value} {counts}")
            texts = [
                ", ".join(values) + f" excluded by “{words}”" * bool(words)
                for words, values in by_words.items()
            ]
            about = f" ({self.about[name]})" if name in self.about else ""
            found.append(f"{name}{about}: " + "; ".join(texts))
        return found

    def rows(self) -> pd.DataFrame:
        """Return a row a cell: its values, whether it counts, its verdict, number and interval.

        Where cells have different quantities, a column says which.
        """
        import numpy as np
        import pandas as pd

        table = pd.DataFrame(self.readings())
        table["counted"] = self.counted
        table["verdict"] = [_VERDICTS[letter] for letter in self.verdicts]
        if self.which:
            table["quantity"] = [self.quantities[place] for place in self.which]
        for name in ("estimate", "low", "high"):
            values = getattr(self, name) or [None] * len(table)
            table[name] = np.array(values, dtype=float)
        return table

    def points(self, name: str = "") -> pd.DataFrame:
        """Return what its picture is drawn from.

        Parameters
        ----------
        name : str
            Of the part.
        """
        import numpy as np
        import pandas as pd

        table = self.rows()
        table["series"] = table["verdict"].where(table["counted"], "excluded")
        groups = [HOLDS, UNDECIDED, FAILS, "excluded"]
        numbers = table["estimate"] if self.quantity else pd.Series(0.0, table.index)
        order = np.lexsort([numbers, table["series"].map(groups.index)])
        limit = np.nan if self.limit is None else self.limit
        return pd.DataFrame(
            {
                "panel": name,
                "x": np.argsort(order) + 1.0,
                "y": table["estimate"] if self.quantity else np.nan,
                "low": table["low"] if self.quantity else np.nan,
                "high": table["high"] if self.quantity else np.nan,
                "series": table["series"],
                "xlabel": "reading, in order",
                "ylabel": self.quantity,
                "predicted": limit,
                "reading": [
                    "\n".join(f"{axis}: {value}" for axis, value in reading.items())
                    for reading in self.readings()
                ],
            }
        )


def joint(maps: Sequence[Map]) -> str:
    """Return what is found of several parts of a sentence, each read in every way.

    An axis that several have with the same values is read alike: a reading of all holds if one of
    each part does that has the same values there, and fails if one of a part does.

    Parameters
    ----------
    maps : sequence of Map
    """
    axes = Counter(axis for each in maps for axis in each.axes.items())
    shared = [axis for axis, count in axes.items() if count > 1]
    by_values: list[tuple[list[int], dict[tuple[str, ...], set[str]]]] = []
    for each in maps:
        own = [place for place, axis in enumerate(shared) if axis in each.axes.items()]
        at: dict[tuple[str, ...], set[str]] = {}
        for reading, letter, kept in zip(each.readings(), each.verdicts, each.counted, strict=True):
            if kept:
                values = tuple(reading[shared[place][0]] for place in own)
                at.setdefault(values, set()).add(_VERDICTS[letter])
        by_values.append((own, at))
    found = set()
    for combination in product(*(values for _, values in shared)):
        verdicts = [
            at.get(tuple(combination[place] for place in own), set()) for own, at in by_values
        ]
        if not all(verdicts):  # excluded
            continue
        if all(HOLDS in each for each in verdicts):
            found.add(HOLDS)
        if any(FAILS in each for each in verdicts):
            found.add(FAILS)
        if {FAILS} not in verdicts and any(UNDECIDED in each for each in verdicts):
            found.add(UNDECIDED)
    if {HOLDS, FAILS} <= found:
        return DEPENDS
    return UNDECIDED if UNDECIDED in found or not found else found.pop()


def _rounded(value):
    """Return a number to as many digits as are recorded, None for what is not finite."""
    return float(f"{value:.6g}") if math.isfinite(value) else None
