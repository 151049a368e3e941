"""Counts of replicates as cells of a summary: numbers that are shown as a text."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import ClassVar

import pandas as pd


@dataclass(frozen=True)
class Share:
    """Of how many replicates something is true: "16 of 20".

    Attributes
    ----------
    count, of : int
        Replicates of which it is true, and all.
    """

    kind: ClassVar[str] = "share"
    count: int
    of: int

    def __str__(self):
        return f"{self.count} of {self.of}"


@dataclass(frozen=True)
class Order:
    """How many replicates are won, tied and lost: "12/3/5".

    Attributes
    ----------
    won, tied, lost : int
    """

    kind: ClassVar[str] = "order"
    won: int
    tied: int
    lost: int

    def __str__(self):
        return f"{self.won}/{self.tied}/{self.lost}"


__all__ = ["Order", "Share", "counted", "ordered"]

Counts = Share | Order


def numbers(counts: Counts) -> list[int]:
    """Return the counts as plain numbers."""
    return [int(number) for number in astuple(counts)]


def counted(values: pd.Series) -> Share:
    """Return of how many replicates something is true, as a summary has it: "16 of 20".

    Parameters
    ----------
    values : Series of bool
        One for each of independent replicates.
    """
    return Share(int(values.sum()), len(values))


def ordered(won: pd.Series, lost: pd.Series, by: list[str]) -> pd.Series:
    """Return how many replicates are won, tied and lost in each group, as "12/3/5".

    Parameters
    ----------
    won, lost : Series of bool
        One for each of independent replicates, under the same index.
    by : list of str
        Levels of the index that make a group.
    """
    counts = pd.DataFrame({"won": won, "tied": ~won & ~lost, "lost": lost}).groupby(by).sum()
    cells = [Order(*map(int, row)) for row in counts.to_numpy()]
    return pd.Series(cells, counts.index, dtype=object)
