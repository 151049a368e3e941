"""Instances read off real numbers, for searches that count what is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from linrep._lib.arguments import checked
from linrep.claims.claim import Budget
from linrep.claims.measurements import Search
from linrep.claims.violations import search

Array = NDArray[np.float64]
Instance = TypeVar("Instance")


class Reader:
    """Real numbers, read one after the other.

    Parameters
    ----------
    numbers : ndarray, optional
        Without them whatever is read is 1, and counted.

    Attributes
    ----------
    count : int
        How many were read.
    """

    def __init__(self, numbers: Array | None = None):
        self._given = numbers
        self.count = 0

    def numbers(self, *shape: int) -> Array:
        """Return so many real numbers.

        Parameters
        ----------
        *shape : int
            Of the array.
        """
        start, self.count = self.count, self.count + int(np.prod(shape))
        if self._given is None:
            return np.ones(shape)
        return self._given[start : self.count].reshape(shape)

    def number(self) -> float:
        """Return a real number."""
        return float(self.numbers(1)[0])

    def share(self) -> float:
        """Return a number from 0 to 1: all of them can be reached, the ends by whole numbers."""
        return 0.5 + 0.5 * float(np.cos(np.pi * self.number()))

    def between(self, low: float, high: float) -> float:
        """Return a number from one to another, the ends included.

        Parameters
        ----------
        low, high : float
        """
        return low + (high - low) * self.share()

    def frame(self, d: int, k: int) -> Array:
        """Return a matrix with orthonormal columns, by QR, shape (d, k).

        Parameters
        ----------
        d, k : int
        """
        return np.linalg.qr(self.numbers(d, k))[0]


def search_instances(
    sides: Callable[[Instance], tuple[float, float] | None],
    shapes: Sequence[Mapping[str, int]],
    read: Callable[[Reader, Mapping[str, int]], Instance | None],
    budget: Budget,
    rng: np.random.Generator,
    *,
    reader: type[Reader] = Reader,
    **options: Any,
) -> Search:
    """Look for an instance on which lhs <= rhs is violated.

    Parameters
    ----------
    sides : callable
        ``sides(instance)`` returns lhs and rhs, or None where the instance does not satisfy the
        hypotheses.
    shapes : sequence of mapping
        Sizes to search at, smallest first.
    read : callable
        ``read(reader, shape)`` returns an instance, such as a NamedTuple, of numbers that it reads,
        or None where they give none. How many it reads depends on the shape alone.
    budget : Budget
    rng : numpy.random.Generator
    reader : type of Reader
        What reads.
    **options
        As for :func:`linrep.claims.search`.

    Returns
    -------
    Search
    """

    def lhs_rhs(shape: Mapping[str, int], x: Array) -> tuple[float, float] | None:
        instance = read(reader(x), shape)
        return None if instance is None else sides(instance)

    def length(shape: Mapping[str, int]) -> int:
        counting = reader()
        read(counting, shape)
        return counting.count

    return search(lhs_rhs, shapes, length, budget, rng, **options)


checked(globals(), nan=False)
