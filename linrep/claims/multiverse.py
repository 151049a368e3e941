"""Sentences on figures and tables: decided in every reading that their words leave open.

What a paper says of runs leaves things open: how long they are, which statistic is meant, whether
every panel is, or all together. Here each combination of what is open is a cell with a verdict of
its own, and the verdict on the sentence says in how many it holds: a multiverse analysis (Steegen,
Tuerlinckx, Gelman and Vanpaemel, Perspectives on Psychological Science 11, 2016), whose picture is
the specification curve (Simonsohn, Simmons and Nelson, Nature Human Behaviour 4, 2020). Values of
the axes that many sentences have stand here, so that no statement chooses them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property
from itertools import pairwise, product
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from linrep._lib import validation as check
from linrep.claims.evidence import (
    DEPENDS,
    FAILS,
    HOLDS,
    READINGS,
    UNDECIDED,
    Evidence,
    runs_of,
    strengths_of,
)
from linrep.claims.maps import Map
from linrep.claims.measurements import Measurement, Together, _of, flat, joined, shared
from linrep.claims.sampled import Paired, Trend

#: Two numbers tie whose ratio is within 1 -+ this.
TIES = {"no tie": 0.0, "0.5 %": 0.005, "2 %": 0.02}
#: Of runs: a median of the ratios of pairs, or the ratio of the means, as curves of means show it.
STATISTICS = ("median", "mean")
#: Whether a sentence is about all sizes together, or about each of them.
SCOPES = ("all sizes together", "every size")
#: How a quantity may be meant to grow along sizes.
GROWTHS = ON_AVERAGE, FROM_END_TO_END, AT_EVERY_STEP = (
    "on average", "from end to end", "at every step",
)  # fmt: skip
#: What of a run counts up to a length.
OF_RUN = ("last", "best")
#: What axes of runs are about whose values are some of these, where a statement does not say it.
_ABOUT = (
    (
        STATISTICS,
        "what of runs in pairs is compared: the median of their ratios, or the ratio of the means",
    ),
    (TIES, "by how much the smaller number has to be below the larger one"),
    (SCOPES, "whether sizes are put together, or it has to be so at each of them"),
    (OF_RUN, "which error of a run: the last one, or the smallest so far"),
    (
        (*GROWTHS, *(f"{how}, {statistic}" for how in GROWTHS[1:] for statistic in STATISTICS)),
        "along all sizes by their ranks, from the first to the last, or from each to the next",
    ),
)


def lengths(longest: int, end: int | None = None) -> tuple[int, ...]:
    """Return the lengths at which runs are read where a sentence says none.

    Parameters
    ----------
    longest : int
        The longest run that the paper states, T: they are T/8, T/4, T/2, T and 2 T.
    end : int, optional
        Where an axis ends that is longer: they go on, each twice the one before, up to twice that.

    Returns
    -------
    tuple of int

    Examples
    --------
    >>> from linrep.claims.multiverse import lengths
    >>> lengths(200), lengths(100, 500)
    ((25, 50, 100, 200, 400), (12, 25, 50, 100, 200, 400, 800))
    """
    longest = check.integer("longest", longest, minimum=8)
    found = [longest / 8 * 2**power for power in range(5)]
    while end is not None and 2.0 * found[-1] <= 2.0 * end:
        found.append(2.0 * found[-1])
    return tuple(map(int, found))


def up_to(errors: Any, at: Sequence[int]) -> np.ndarray:
    """Return the last and the best of each run's errors up to some lengths.

    Parameters
    ----------
    errors : array_like, shape (..., T)
        Of runs, in order.
    at : sequence of int
        Places on the last axis.

    Returns
    -------
    ndarray, shape (2, len(at), ...)
        In the order of `OF_RUN`; what is not finite is infinite from there on.
    """
    errors = np.asarray(errors, dtype=float)
    errors = np.where(np.isfinite(errors), errors, np.inf)
    both = np.stack([errors, np.minimum.accumulate(errors, axis=-1)])
    return np.moveaxis(both[..., list(at)], -1, 1)


# What is measured.


@dataclass(frozen=True, eq=False)
class Reread(Measurement):
    """Base of what is measured in every reading of a sentence.

    Attributes
    ----------
    phrase : str
        The paper's words that leave it open.
    excluded : mapping of str to mapping of str to str
        Of axes the values that the paper's words exclude, with these words. Such cells are decided
        and shown, and do not count.
    about : mapping of str to str
        Of axes a line on what they and their values mean. Those of the values that stand in this
        module have one.

    Notes
    -----
    The probability that any cell has a wrong verdict by chance is at most the level that the
    measurement gets, whatever runs cells share: each interval has an equal share of it.
    """

    _: KW_ONLY
    phrase: str = ""
    excluded: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    about: Mapping[str, str] = field(default_factory=dict)
    quantity: str = READINGS

    if TYPE_CHECKING:  # of each kind an attribute, or put together when it is asked for

        @property
        def axes(self) -> Mapping[str, Sequence[str]]:
            """What is open, and its values."""

        @property
        def cells(self) -> Sequence[Measurement]:
            """A measurement for each combination of values, the last axis the fastest."""

    @property
    def statistical(self) -> bool:  # type: ignore[override]
        """Whether deciding any of its cells can go wrong by chance."""
        return shared(self.cells) > 0.0

    def __post_init__(self):
        excluded = {name: words for name, words in self.excluded.items() if words}
        object.__setattr__(self, "excluded", excluded)
        if not self.phrase:
            raise ValueError(f"{_of(self)}: phrase must have the paper's words that leave it open")
        for name, values in self.excluded.items():
            for value, words in values.items():
                if value not in self.axes.get(name, ()) or not words:
                    raise ValueError(
                        f"{_of(self)}: excluded must have the paper's words by value of its axes, "
                        f"{', '.join(self.axes)}, got {name!r}: {dict(values)}"
                    )
        if any(len(self.excluded.get(name, ())) == len(each) for name, each in self.axes.items()):
            raise ValueError(f"{_of(self)}: excluded must leave a reading")
        for name, line in self.about.items():
            if name not in self.axes or not line or not isinstance(line, str):
                raise ValueError(
                    f"{_of(self)}: about must have a line by name of its axes, "
                    f"{', '.join(self.axes)}, got {name!r}: {line!r}"
                )

    @property
    def intervals(self) -> int:
        """How many confidence intervals decide the cells, among which its level is shared."""
        return len(self.cells)

    def decided(self, cells: Sequence[Evidence]) -> Evidence:
        """Return what is found of the sentence, of its cells, decided in their order."""
        found = Map.of(
            cells,
            self.axes,
            phrase=self.phrase,
            excluded={name: dict(words) for name, words in self.excluded.items()},
            about=dict(self.about),
        )
        verdict, counts = found.verdict(), found.counts()
        pairs = list(zip(cells, self.cells, strict=True))
        pairs = [pair for pair, counts in zip(pairs, found.counted, strict=True) if counts]
        found = replace(found, needed=_needed(pairs))
        counting = [cell for cell, _ in pairs]
        which = (HOLDS, FAILS) if verdict == DEPENDS else (verdict,)
        having = [cell for cell in counting if cell.verdict in which]
        needed = [cell.needed for cell in counting if cell.verdict == UNDECIDED]
        strengths: dict[str, Any] = strengths_of(
            [replace(cell, verdict=verdict) for cell in having], verdict, every=verdict != FAILS
        )
        return Evidence(
            verdict,
            found.sentence(),
            measured=counts[HOLDS] / len(counting),
            quantity=self.quantity,
            n_trials=max(cell.n_trials for cell in cells),
            level=min(1.0, sum(cell.level for cell in cells) * self.intervals / len(cells)),
            counterexample=having[0].counterexample if verdict == FAILS else None,
            ground=next((cell.ground for cell in having if cell.ground), "") * (verdict == FAILS),
            needed=max(needed, key=runs_of) if verdict == UNDECIDED and all(needed) else "",
            name=self.name,
            kinds=tuple(dict.fromkeys(kind for cell in cells for kind in cell.kinds)),
            points=found.points(),
            map=found,
            **strengths,
        )


def _needed(pairs):
    """Say how many readings more runs would decide, "" where no number of them would.

    Of each reading there is what was found and the measurement.
    """
    factors = []
    for found, cell in pairs:
        if found.verdict == UNDECIDED:
            parts = flat([cell])
            made = found.n_trials / sum(
                part.samples.shape[1] if isinstance(part, Trend) else 1 for part in parts
            )
            factors.append(runs_of(found.needed) / made if made else math.inf)
    if not any(map(math.isfinite, factors)):
        return ""
    few, many = (sum(factor <= times for factor in factors) for times in (10, 100))
    return (
        f"of the {len(factors)} undecided readings 10 times as many runs would decide {few}, 100 "
        f"times as many {many}, if their numbers stay"
    )


@dataclass(frozen=True, eq=False)
class Multiverse(Reread):
    """A sentence measured in every reading that its words leave open; :meth:`of` makes one.

    Attributes
    ----------
    axes : mapping of str to sequence of str
        What is open, and its values.
    cells : sequence of Measurement
        One for each combination of values, the last axis the fastest.
    decided_by : int, optional
        Of how many confidence intervals they are decided, where several have one.

    Examples
    --------
    >>> from linrep.claims import Condition, Multiverse, judge
    >>> accuracy = {"A": (70, 80), "B": (75, 70)}
    >>> def ahead(column, by):
    ...     gain = accuracy["A"][column] - accuracy["B"][column]
    ...     return Condition(gain > by, measured=gain, claimed=by)
    >>> axes = {"column": {"first": 0, "second": 1}, "by": {"0": 0, "5 points": 5}}
    >>> found = judge([Multiverse.of(ahead, axes, phrase="A outperforms B")])
    >>> found.verdict, found.parts[0].map.decides()
    ('depends on the reading', {'column': 1.0})
    """

    axes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    cells: Sequence[Measurement] = ()
    _: KW_ONLY
    decided_by: int | None = None

    @property
    def intervals(self) -> int:
        """How many confidence intervals decide the cells: as many, if it is not said otherwise."""
        return len(self.cells) if self.decided_by is None else self.decided_by

    def __post_init__(self):
        axes = {name: tuple(map(str, values)) for name, values in self.axes.items()}
        object.__setattr__(self, "axes", axes)
        if not self.cells or len(self.cells) != math.prod(map(len, axes.values())):
            raise ValueError(f"{_of(self)} must have a cell for each combination of its axes")
        for cell in self.cells:
            check.instance("cells", cell, Measurement)
        super().__post_init__()

    @classmethod
    def of(
        cls,
        measure: Callable[..., Measurement],
        axes: Mapping[str, Mapping[str, Any] | Sequence[Any]],
        **options: Any,
    ) -> Self:
        """Measure a sentence in each combination of values.

        Parameters
        ----------
        measure : callable
            Is called with a keyword argument an axis, and returns a measurement.
        axes : mapping
            Names of axes, in which blanks stand for underscores of keywords, and their values: by
            label, or in a sequence where their text labels them.
        **options
            Further attributes.
        """
        named = {name: _by_label(values) for name, values in axes.items()}
        keywords = [name.replace(" ", "_") for name in named]
        cells = [
            measure(**dict(zip(keywords, values, strict=True)))
            for values in product(*(each.values() for each in named.values()))
        ]
        return cls({name: tuple(values) for name, values in named.items()}, cells, **options)

    @classmethod
    def along(cls, axis: str, parts: Mapping[str, Reread], **options: Any) -> Self:
        """Measure a sentence along a further axis, each value of which has cells of its own.

        Parameters
        ----------
        axis : str
            It comes first.
        parts : mapping of str to measurement in readings
            By the value of that axis; all with the same axes, phrase and name.
        **options
            Further attributes, in place of those of the first part; `about` beside those.

        Returns
        -------
        Multiverse

        Examples
        --------
        >>> import numpy as np
        >>> from linrep.claims import Comparison, judge
        >>> from linrep.claims.multiverse import Multiverse
        >>> larger = 1.0 + np.random.default_rng(0).random((3, 100))
        >>> smaller = larger * [[1.1], [0.9], [0.9]]  # for n = 1, 2, 3
        >>> parts = {
        ...     f"n >= {least}": Comparison(
        ...         smaller[least - 1 :],
        ...         larger[least - 1 :],
        ...         over={"n": range(least, 4)},
        ...         each="n",
        ...         phrase="for all n",
        ...     )
        ...     for least in (1, 2)
        ... }
        >>> judge([Multiverse.along("sizes", parts)]).parts[0].map.decides()
        {'sizes': 1.0}
        """
        first = next(iter(parts.values()))
        if any(dict(part.axes) != dict(first.axes) for part in parts.values()):
            raise ValueError(f"parts along {axis!r} must have the same axes")
        cells = [cell for part in parts.values() for cell in part.cells]
        same = {name: getattr(first, name) for name in ("name", "phrase", "excluded")}
        same["decided_by"] = sum(part.intervals for part in parts.values())
        options = {**same, **options, "about": {**first.about, **options.get("about", {})}}
        return cls({axis: tuple(parts), **first.axes}, cells, **options)

    def _joined(self, others):
        return {"cells": joined([self.cells, *(other.cells for other in others)])}


def _by_label(values):
    return dict(values) if isinstance(values, Mapping) else {str(x): x for x in values}


@dataclass(frozen=True, eq=False)
class _OfRuns(Reread):
    """Base of what is measured of arrays of runs.

    Attributes
    ----------
    over : mapping of str to sequence
        Of the arrays the axes but the last, which is that of the runs, with their values.
    sizes : str
        Which of them has the sizes that the sentence is about; the others are open.
    each : str
        Which of them has what it is about one by one, in whatever reading.
    """

    over: Mapping[str, Any] = field(default_factory=dict, kw_only=True)
    sizes: str = field(default="", kw_only=True)
    each: str = field(default="", kw_only=True)

    #: Which of its attributes have an entry a run.
    arrays: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self):
        over = {name: tuple(map(str, values)) for name, values in self.over.items()}
        object.__setattr__(self, "over", over)
        shape = tuple(map(len, over.values()))
        for name in self.arrays:
            values = check.real_array(name, getattr(self, name))
            object.__setattr__(self, name, values)
            if values.ndim != len(shape) + 1 or values.shape[:-1] != shape or not values.size:
                raise ValueError(
                    f"{_of(self)}: {name} must be of shape {shape} with an axis of runs behind, "
                    f"got {values.shape}"
                )
            if np.isnan(values).any():
                raise ValueError(f"{_of(self)} holds NaN in its {name}")
            if values.shape != getattr(self, self.arrays[0]).shape:
                raise ValueError(f"{_of(self)} has {' and '.join(self.arrays)} of different shapes")
        for name in self._inner:
            if name not in over:
                raise ValueError(f"{_of(self)}: over must have the axis {name!r}")
        common = {
            name: line
            for name, values in self.axes.items()
            for known, line in _ABOUT
            if set(values) <= set(known)
        }
        object.__setattr__(self, "about", {**common, **self.about})
        super().__post_init__()

    @property
    def _inner(self):
        """The axes that readings do not choose from."""
        return [name for name in (self.sizes, self.each) if name]

    @property
    def _how(self):
        """The further axes, with their values: by label, or themselves."""
        several = bool(self.sizes) and len(self.over[self.sizes]) > 1
        return {"scope": SCOPES} if several else {}

    @cached_property
    def axes(self) -> dict[str, Sequence[str]]:
        """What is open, and its values: axes of the arrays, then those of the kind of sentence."""
        own = {name: values for name, values in self.over.items() if name not in self._inner}
        return {**own, **{name: tuple(values) for name, values in self._how.items()}}

    @cached_property
    def cells(self) -> list[Measurement]:
        """A measurement for each combination of values, the last axis the fastest."""
        own = [name for name in self.over if name not in self._inner]
        every = [{self.each: x} for x in range(len(self.over[self.each]))] if self.each else [{}]
        found = []
        for places in product(*(range(len(self.over[name])) for name in own)):
            at = dict(zip(own, places, strict=True))
            for values in product(*(_by_label(each).items() for each in self._how.values())):
                parts = [self._part({**at, **one}, values) for one in every]
                found.append(parts[0] if len(parts) == 1 else Together(parts))
        return found

    def _part(self, at, values):
        """Return the measurement of a reading at places on axes, with values of how it is read."""
        where = tuple(at.get(name, slice(None)) for name in self.over)
        runs = [getattr(self, name)[where] for name in self.arrays]
        inner = [name for name in self.over if name not in at]
        first = inner.index(self.sizes) if self.sizes else None
        runs = [each[None] if first is None else np.moveaxis(each, first, 0) for each in runs]
        setting = {name: self.over[name][place] for name, place in at.items()}
        labels = {name: label for name, (label, _) in zip(self._how, values, strict=True)}
        how = {name: value for name, (_, value) in zip(self._how, values, strict=True)}
        return self._cell(runs, how, {**setting, **labels})

    def _cell(self, runs, how, setting):
        """Return the measurement of a reading, of arrays whose first axis has the sizes."""
        scope = how.pop("scope", SCOPES[0])
        if scope == SCOPES[0]:
            return self._measured(self._pooled(runs), how, setting)
        parts = []
        for place, size in enumerate(self.over[self.sizes]):
            at = {**setting, self.sizes: size}
            parts.append(
                replace(self._measured([each[place] for each in runs], how, at), name=size)
            )
        return Together(parts)

    def _pooled(self, runs):
        """Put the runs of all sizes together."""
        raise NotImplementedError

    def _measured(self, runs, how, setting):
        """Return the measurement of runs of one size, or of all together."""
        raise NotImplementedError

    def _joined(self, others):
        return {
            name: np.concatenate([getattr(each, name) for each in (self, *others)], axis=-1)
            for name in self.arrays
        }


@dataclass(frozen=True, eq=False)
class Comparison(_OfRuns):
    """Numbers of paired runs of which one is claimed to be smaller, in every reading.

    Attributes
    ----------
    smaller, larger : array_like
        Positive; an axis for each of `over`, and a last one of runs. Entries of one place share
        their random numbers. Infinity stands for "never".
    of : {"errors", "rounds", "numbers", "gains"}
        What they are. Of "rounds" the median alone is read, as a run that never gets there has no
        finite number, and of "gains", which are ratios.
    within : bool, default False
        Runs of one place share random numbers across sizes, too: then all sizes together are the
        geometric mean over them, a number a run, and else all runs of all sizes.

    Notes
    -----
    Beside the axes of `over` these are open: whether all sizes are meant together or each of them
    (`SCOPES`), the statistic (`STATISTICS`), and what counts as a tie (`TIES`).

    Examples
    --------
    >>> import numpy as np
    >>> from linrep.claims import Comparison, judge
    >>> larger = 1.0 + np.random.default_rng(0).random((2, 60))
    >>> smaller = larger * [[0.9], [1.1]]
    >>> found = judge([Comparison(smaller, larger, over={"T": (10, 20)}, phrase="eventually")])
    >>> found.verdict, found.parts[0].map.decides()
    ('depends on the reading', {'T': 1.0})
    """

    smaller: Any = ()
    larger: Any = ()
    _: KW_ONLY
    of: str = "errors"
    within: bool = False

    arrays: ClassVar[tuple[str, ...]] = ("smaller", "larger")

    def __post_init__(self):
        check.choice("of", self.of, ("errors", "rounds", "numbers", "gains"))
        super().__post_init__()

    @property
    def _how(self):
        own = {} if self.of in ("rounds", "gains") else {"statistic": STATISTICS}
        return {**super()._how, **own, "tie": TIES}

    @property
    def intervals(self) -> int:
        """One for all ties: they are limits that it is compared with."""
        return len(self.cells) // len(TIES)

    def _pooled(self, runs):
        """Put the runs of all sizes together, each size's numbers over what is usual there."""
        if self.within:
            with np.errstate(divide="ignore"):
                return [np.exp(np.log(each).mean(axis=0)) for each in runs]
        usual = runs[1].mean(axis=-1, keepdims=True)
        usual = np.where(np.isfinite(usual) & (usual > 0.0), usual, 1.0)
        return [(each / usual).ravel() for each in runs]

    def _measured(self, runs, how, setting):
        return Paired(*runs, quantity=f"ratio of {self.of}", setting=setting, **how)


@dataclass(frozen=True, eq=False)
class Growth(_OfRuns):
    """A number of runs that is claimed to grow along sizes, in every reading.

    Attributes
    ----------
    values : array_like
        Positive; an axis for each of `over`, and a last one of runs.
    along : str
        Which axis of `over` it grows along.
    falls : bool, default False
        It is claimed to fall.

    Notes
    -----
    Beside the axes of `over` these are open: whether it grows on average, by ranks, from the first
    size to the last, or at every step (`GROWTHS`), by the median or the mean; and, of other sizes,
    whether all are meant together or each of them (`SCOPES`).

    Examples
    --------
    >>> import numpy as np
    >>> from linrep.claims import Growth, judge
    >>> values = np.random.default_rng(0).random((3, 60)) + [[1.0], [3.0], [2.0]]
    >>> found = judge([Growth(values, over={"n": (1, 2, 3)}, along="n", phrase="grows with n")])
    >>> found.parts[0].map.verdicts, found.parts[0].map.decides()
    ('hhhff', {'grows': 0.6})
    """

    values: Any = ()
    _: KW_ONLY
    along: str = ""
    falls: bool = False

    arrays: ClassVar[tuple[str, ...]] = ("values",)

    @property
    def _inner(self):
        return [*super()._inner, self.along]

    @property
    def _how(self):
        one = len(self.over[self.along]) < 3  # step
        grows = {} if one else {ON_AVERAGE: (ON_AVERAGE, "")}
        for steps in (FROM_END_TO_END,) if one else (FROM_END_TO_END, AT_EVERY_STEP):
            grows |= {f"{steps}, {statistic}": (steps, statistic) for statistic in STATISTICS}
        return {**super()._how, "grows": grows}

    def _pooled(self, runs):
        (values,) = runs
        return [np.concatenate(list(values), axis=-1)]

    def _measured(self, runs, how, setting):
        values = runs[0][::-1] if self.falls else runs[0]
        labels = self.over[self.along][::-1] if self.falls else self.over[self.along]
        which, statistic = how["grows"]
        if which == ON_AVERAGE:
            return Trend(values.T, setting=setting)
        steps = list(pairwise(range(len(labels))))
        if which == FROM_END_TO_END:
            steps = [(0, len(labels) - 1)]
        parts = [
            Paired(
                values[one], values[other], tie=0.0, statistic=statistic,
                quantity="median ratio" if statistic == "median" else "ratio of the means",
                name=f"{self.along} = {labels[one]} and {labels[other]}", setting=setting,
            )
            for one, other in steps
        ]  # fmt: skip
        return parts[0] if len(parts) == 1 else Together(parts)
