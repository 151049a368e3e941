"""The result of a selection."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from linrep._lib.display import brief
from linrep.trace import Trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Methods in which no client learns from another.
ALONE = ("local_only", "ridge")
_SHOWN, _DRAWN = 12, 40  # candidates
_CLEAR = 2.0  # paired standard errors


@dataclass(eq=False)
class Selection:
    """Candidates with their errors on held-out samples, the chosen one, and its fit to all data.

    Attributes
    ----------
    table : DataFrame
        A row per candidate, least error first: ``algorithm``; the settings that candidates differ
        in; ``error``, the mean over held-out samples, averaged over the splits; its
        ``standard_error``, over the splits; ``explained_variance``, of squared errors, 1 - error /
        variance of the labels held out; ``behind``, its error less that of the first row, and the
        ``paired_error`` of that, the standard error over the splits of the differences; ``rounds
        done``; ``stopped``, the trace's stop reason, "diverged" if any split's run did; and
        ``seconds``, of all splits.
    splits : DataFrame
        Mean error of every candidate (column) in every split (row).
    clients : DataFrame
        Mean error of every candidate (column) at every client's (row) held-out samples; NaN for a
        client that has none.
    best : str
        The chosen candidate, in the index of these tables.
    measure : {"squared", "sign"}
    rule : {"least", "one_standard_error"}
    overlap : float
        Held-out samples over those learned from. Standard errors are the standard deviation over
        K splits times the root of 1/K plus this, as splits learn from the same samples in part
        (Nadeau and Bengio, *Inference for the generalization error*, 2003).

    Notes
    -----
    The least of many errors is on the small side. For one to report, keep samples that
    :func:`select` does not see: ``train, test = data.split(...)``.
    """

    table: pd.DataFrame
    splits: pd.DataFrame
    clients: pd.DataFrame
    best: str
    measure: str
    rule: str
    overlap: float
    _fit: Callable[[str], Trace] = field(init=False, repr=False)

    @cached_property
    def trace(self) -> Trace:
        """The chosen candidate, run on all data."""
        return self.fit(self.best)

    def fit(self, candidate: str) -> Trace:
        """Run a candidate on all data.

        Parameters
        ----------
        candidate : str
            In the index of the tables.

        Raises
        ------
        KeyError
            If there is none of this name.
        """
        return self._fit(candidate)

    def compare(self, one: str, two: str) -> tuple[float, float]:
        """Return the difference of two candidates' errors, and its paired standard error.

        Parameters
        ----------
        one, two : str
            In the index of the tables.
        """
        return paired(self.splits[one] - self.splits[two], self.overlap)

    def summary(self) -> str:
        """Say in a sentence who is ahead, and whether by more than two paired standard errors.

        The best candidate in which clients share anything is compared with the best in which none
        does; if all are of one kind, the first method with the second. The best of several
        candidates is often ahead by one standard error on data with nothing to share.
        """
        alone = self.table["algorithm"].isin(ALONE)
        both = bool(alone.any() and not alone.all())
        kinds = (alone if both else self.table["algorithm"]).to_numpy()
        firsts = [group.index[0] for _, group in self.table.groupby(kinds, sort=False)]
        if len(firsts) == 1:
            return f"{firsts[0]} has {self._value(firsts[0])}, and there is no other method"
        ahead, other = firsts[:2]
        difference, error = self.compare(other, ahead)
        clear = difference > _CLEAR * error
        by = f"difference {difference:.3g}"
        if error > 0.0:
            by += f" ± {error:.2g} ({difference / error:.1f} paired standard errors)"
        elif np.isnan(error):
            by += ", with no standard error"
        place = "ahead of" if difference > 0.0 else "level with"
        values = f"{self._value(ahead)} against {self._value(other)}"
        text = f"{ahead} is {place} {other}, {values}, {by}"
        if self.measure == "squared" and not self.table["explained_variance"].iloc[0] > 0.0:
            return f"{text}; none predicts better than the mean of all labels"
        if not both:
            return text if clear else f"{text}, which may be chance"
        if not clear:
            return f"{text}; whether sharing pays here, these data cannot tell"
        return f"{text}; sharing {'does not pay' if alone[ahead] else 'pays'} here"

    def edges(self) -> list[str]:
        """Return the chosen settings that are the least or the largest of those tried.

        More may be found beyond them; ranks and rounds of 1 and ridges of 0 have nothing below.
        """
        row = self.table.loc[self.best]
        tried = self.table[self.table["algorithm"] == row["algorithm"]]
        limits = []
        for name in self.table.columns[1 : self.table.columns.get_loc("error")]:
            values = {value for value in tried[name].dropna() if isinstance(value, int | float)}
            if len(values) < 2 or row[name] not in values:
                continue
            least = {"k": 1, "rounds": 1, "ridge": 0}.get(name)
            if row[name] == max(values) or (row[name] == min(values) and row[name] != least):
                limits.append(f"{name}={brief(row[name])}")
        return limits

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw every candidate with its standard error, the best first; return the axes.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; a new figure's by default.
        """
        from linrep.figures.plotting.selection import candidates

        return candidates(self.table.head(_DRAWN), best=self.best, measure=self.measure, ax=ax)

    def _value(self, name):
        row = self.table.loc[name]
        if self.measure == "sign":
            return f"{100 * row['error']:.1f} % of signs wrong"
        return f"{100 * row['explained_variance']:.1f} % of the variance explained"

    def __repr__(self):
        columns = ["error", "standard_error", "behind", "paired_error"]
        if self.measure == "squared":
            columns.insert(2, "explained_variance")
        shown = self.table[columns].head(_SHOWN).to_string(float_format="{:.4g}".format)
        rest = len(self.table) - _SHOWN
        more = f"\n... and {rest} more" if rest > 0 else ""
        return f"{shown}{more}\nchosen: {self._chosen()}\n{self.summary()}"

    def _repr_html_(self):
        text = f"chosen: {escape(self._chosen())}<br>{escape(self.summary())}"
        return f"{self.table.to_html()}<p>{text}</p>"

    def _chosen(self):
        edges = self.edges()
        note = f" (at the edge of what was tried: {', '.join(edges)})" if edges else ""
        return f"{self.best}{note}"


def paired(differences: ArrayLike, overlap: float) -> tuple[float, float]:
    """Return the mean of numbers that belong to splits, and its standard error.

    Splits have training samples in common, so that the variance among them is too small for one
    over their number; a share of held-out over training samples is added to that (Nadeau and
    Bengio, *Inference for the generalization error*, 2003).

    Parameters
    ----------
    differences : array_like, shape (splits,)
    overlap : float
        That share.
    """
    values = np.asarray(differences, dtype=float)
    if len(values) < 2 or not np.isfinite(values).all():
        return float(values.mean()), float("nan")
    return float(values.mean()), float(values.std(ddof=1) * np.sqrt(1 / len(values) + overlap))
