"""Means that are claimed to be a sum of known terms, with constants that are left open."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd
import scipy
from numpy.typing import ArrayLike, NDArray

from linrep._lib import validation as check
from linrep.claims.confidence import Moments, enough, more, of_mean
from linrep.claims.evidence import FAILS, HOLDS, UNDECIDED, Evidence
from linrep.claims.measurements import Measurement, _listed, _of, _samples
from linrep.claims.sampled import equal_replicates
from linrep.claims.slopes import equal_along, joined_samples

Array = NDArray[np.float64]

_INFEASIBLE = 2  # of SciPy's linprog
_WIDE = 5.0  # logarithm of a factor within which a mean is as good as unknown


@dataclass(frozen=True, eq=False)
class Rate(Measurement):
    """Replicates along an axis, whose mean is claimed to be a sum of known terms.

    The terms' constants are open. Means follow the formula if for some constants their ratio to it
    changes over all sizes by a factor of at most 1 + margin.

    It fails if they surely do not, for any constants. It holds if they surely do, and surely would
    not if the first term, the leading one, were of another exponent: had it a further factor
    x^apart or x^-apart. Sure is what follows from intervals that hold all means at once with
    probability 1 - level: those of means (docs/concepts.md, *Error levels*), on the scale of
    logarithms. The best constants are found by linear programming. Replicates that are all equal,
    as counts of a rare event are, say nothing of their noise: with them it is undecided.

    Attributes
    ----------
    x : array_like, shape (N,)
        Positive.
    samples : sequence of N array_like
        Replicates at each x, at least two, with a positive mean.
    formula : mapping of str to callable or array_like
        The terms by their printed form, the leading one first: each a function of x, or its values.
    signed : sequence of str
        Terms whose constant may be negative; the others' may not.
    margin : float, default 0.1
        How much the ratio may change.
    apart : float, default 0.25
        The error in the leading term's exponent that has to be noticed.
    deterministic : bool, default False
        Chance has no part in the samples: where they are equal, they are known.
    along, of : str
        Labels of both axes.

    Examples
    --------
    The mean of the inverse of a chi-squared variable of n degrees of freedom is 1/(n - 2):

    >>> import numpy as np
    >>> from linrep.claims import Rate, decide
    >>> rng, n = np.random.default_rng(0), np.array([10, 20, 40, 80, 160])
    >>> samples = [1.0 / rng.chisquare(size, 50_000) for size in n]
    >>> decide(Rate(n, samples, {"1/(n-2)": lambda n: 1.0 / (n - 2.0)})).verdict
    'holds'
    >>> decide(Rate(n, samples, {"1/n": lambda n: 1.0 / n})).verdict
    'fails'
    >>> terms = {"1/n": lambda n: 1.0 / n, "1/n^2": lambda n: 1.0 / n**2}
    >>> decide(Rate(n, samples, terms)).verdict
    'holds'
    """

    x: Any = ()
    samples: Any = ()
    formula: Mapping[str, Any] = field(default_factory=dict)
    _: KW_ONLY
    signed: Sequence[str] = ()
    margin: float = 0.1
    apart: float = 0.25
    deterministic: bool = False
    along: str = ""
    of: str = ""
    quantity: str = "change of the ratio to the formula"

    statistical: ClassVar[bool] = True
    kind: ClassVar[str] = "rate or exponent"

    def __post_init__(self):
        x = check.array("x", self.x, (None,))
        object.__setattr__(self, "x", x)
        samples = [_samples(self, "samples", each) for each in _listed("samples", self.samples)]
        object.__setattr__(self, "samples", samples)
        if len(samples) != len(x):
            raise ValueError(f"{_of(self)} has {len(samples)} samples at {len(x)} sizes")
        if np.min(x) <= 0.0 or np.unique(x).size < 3:
            raise ValueError(f"{_of(self)}: x must hold at least three different positive values")
        if any(len(each) < 2 or not 0.0 < np.mean(each) < np.inf for each in samples if each.any()):
            raise ValueError(
                f"{_of(self)}: samples must be at least two for each x, with a positive mean"
            )
        none = [not each.any() for each in samples]
        if all(none) or (self.deterministic and any(none)):
            raise ValueError(f"{_of(self)}: samples must have a positive mean, got zeros only")
        if not self.formula:
            raise ValueError(f"{_of(self)}: formula must have at least one term")
        terms = {name: _values(name, term, x) for name, term in self.formula.items()}
        object.__setattr__(self, "formula", terms)
        for name in _listed("signed", self.signed):
            check.choice("signed", name, terms)
        check.real("margin", self.margin, above=0.0)
        check.real("apart", self.apart, above=0.0)

    def _joined(self, others):
        return joined_samples(self, others)

    def _decision(self, level):
        moments = [Moments.of(each) for each in self.samples]
        made = sum(map(len, self.samples))
        equal = equal_along(self.x, self.samples, self.along)
        if equal and not self.deterministic:
            return equal_replicates(made, level, equal)
        try:
            return self._of_means(moments, level)
        except RuntimeError as error:
            return Evidence(UNDECIDED, str(error), needed="other sizes", n_trials=made, level=level)

    def _of_means(self, moments, level):
        means = np.array([each.mean for each in moments])
        errors = np.array([each.deviation / np.sqrt(each.size) for each in moments]) / means
        tail = level / (2.0 * len(means))
        ends = np.array([of_mean(each, tail) for each in moments])
        halves = np.abs(ends / means[:, None] - 1.0).max(axis=1)
        terms = np.column_stack(list(self.formula.values()))
        found = _change(terms, means, halves, self._lowest)
        others = [self._with(terms, power, means, halves) for power in (self.apart, -self.apart)]
        nearest = min(others, key=lambda other: other.value)
        most = 1.0 + self.margin
        fails, fits = found.low > most, found.high <= most
        holds = fits and min(other.low for other in others) > most
        formula = " + ".join(
            f"{value:.3g} ({name})"
            for name, value in zip(self.formula, found.constants, strict=True)
        )
        leading = next(iter(self.formula))
        open_ = not (holds or fails)
        sentence = (
            f"the ratio to {formula} changes by a factor of {found.value:.3f} [{found.low:.3f}, "
            f"{found.high:.3f}], at most {most:g} allowed; by {nearest.value:.3f} with an exponent "
            f"of {leading} that is {self.apart:g} off"
        )
        return Evidence(
            HOLDS if holds else FAILS if fails else UNDECIDED,
            sentence,
            measured=found.value,
            predicted=most,
            interval=(found.low, found.high),
            n_trials=sum(each.size for each in moments),
            level=level,
            counterexample={"change": found.value} if fails else None,
            needed=self._needed(found, nearest, fits, tail, errors, moments) if open_ else "",
            points=self._drawn(means, halves, terms @ found.constants),
        )

    @property
    def _lowest(self):
        """The lowest value of each constant."""
        return [None if name in self.signed else 0.0 for name in self.formula]

    def _with(self, terms, power, means, halves):
        """Return the change of the ratio to a formula whose leading term has another exponent."""
        factor = (self.x / self.x.max()) ** power
        changed = np.column_stack([terms[:, 0] * factor, terms[:, 1:]])
        return _change(changed, means, halves, self._lowest)

    def _needed(self, found, nearest, fits, tail, errors, moments):
        """Say what decides: that a change which may be noise is none is taken for true."""
        made = sum(each.size for each in moments)
        if math.isinf(found.high) and found.low <= 1.0:
            few = enough(tail) / min(each.size for each in moments)
            if few > 1.0:
                return more(made, few)
        most = math.log(1.0 + self.margin)
        rooms = []
        if not fits:
            rooms.append(abs(math.log(found.value if found.low > 1.0 else 1.0) - most))
        rooms.append(math.log(nearest.value) - most)
        if rooms[-1] <= 0.0:
            return "sizes further apart"
        # Both ends of a ratio move, and the largest and the smallest of several by chance.
        quantile = scipy.stats.norm.isf(tail)
        chance = (2.0 * quantile + 4.0) * errors.max()
        return more(made, max(2.0, (chance / min(rooms)) ** 2) if min(rooms) else math.inf)

    def _drawn(self, means, halves, fitted):
        return pd.DataFrame(
            {
                "panel": "",
                "series": "",
                "x": self.x,
                "y": means,
                "low": means * np.exp(-halves),
                "high": means * np.exp(halves),
                "xlabel": self.along or "x",
                "ylabel": self.of or "mean of what is measured",
                "predicted": fitted,
            }
        )


class _Change(NamedTuple):
    """By what factor a ratio changes, for the best constants, and an interval of that factor."""

    value: float
    low: float
    high: float
    constants: Array


def _change(terms, means, halves, lowest):
    """Return the change of the ratio of means, known up to factors exp(halves), to a formula."""
    value, constants = least_change(terms, means, means, lowest)
    if not halves.max() < _WIDE:
        return _Change(value, 1.0, math.inf, constants)
    low, high = means * np.exp(-halves), means * np.exp(halves)
    least, _ = least_change(terms, low, high, lowest)
    most, _ = least_change(terms, high, low, lowest)
    return _Change(value, max(1.0, least), most, constants)


def least_change(
    terms: ArrayLike, low: ArrayLike, high: ArrayLike, lowest: Sequence[float | None]
) -> tuple[float, Array]:
    """Return the smallest S for which low <= f <= S high with a sum f of terms times constants."""
    terms, low, high = (np.asarray(each, dtype=float) for each in (terms, low, high))
    sizes = np.maximum(np.abs(terms / low[:, None]).max(axis=0), np.finfo(float).tiny)
    rows = terms / sizes
    upper = np.column_stack([-rows / low[:, None], np.zeros(len(low))])
    lower = np.column_stack([rows / high[:, None], -np.ones(len(low))])
    found = scipy.optimize.linprog(
        np.eye(terms.shape[1] + 1)[-1],
        A_ub=np.vstack([upper, lower]),
        b_ub=np.concatenate([-np.ones(len(low)), np.zeros(len(low))]),
        bounds=[*((each, None) for each in lowest), (0.0, None)],
    )
    if found.status == _INFEASIBLE:
        return math.inf, np.full(terms.shape[1], np.nan)
    if not found.success:
        raise RuntimeError(f"linear programming gave up: {found.message}")
    change = float(found.x[-1])
    return change, found.x[:-1] / sizes / math.sqrt(max(change, 1.0))


def _values(name, term, x):
    """Return a term's values at x, of a function or as they are given."""
    values = np.broadcast_to(term(x), x.shape) if callable(term) else term
    return check.array(f"formula {name!r}", values, x.shape)
