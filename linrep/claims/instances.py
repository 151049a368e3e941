"""Instances read off real numbers, for searches that count what is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linrep.claims.claim import Budget
from linrep.claims.measurements import Search
from linrep.claims.violations import search

Array = NDArray[np.float64]


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

    Examples
    --------
    >>> import numpy as np
    >>> from linrep.claims import Reader
    >>> counting = Reader()
    >>> counting.frame(3, 2).shape, counting.between(0.0, 1.0), counting.count
    ((3, 2), 0.0, 7)
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
    sides: Callable[..., tuple[float, ...] | None],
    shapes: Sequence[Mapping[str, int]],
    read: Callable[[Reader, Mapping[str, int]], Any] | Mapping[str, Sequence[str | int]],
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
        hypotheses; as a third number it may return the size of the largest term of which they are
        sums, to which rounding is relative.
    shapes : sequence of mapping
        Sizes to search at, smallest first.
    read : callable or mapping
        ``read(reader, shape)`` returns an instance, such as a NamedTuple, of numbers that it reads,
        or None where they give none. How many it reads depends on the shape alone. Or the shapes of
        arrays by name, in names of sizes and whole numbers, as in ``{"A": ("d", 2), "c": ()}``:
        `sides` then takes these arrays, and numbers for those without sizes, by name.
    budget : Budget
    rng : numpy.random.Generator
    reader : type of Reader
        What reads.
    **options
        As for :func:`linrep.claims.search`.

    Returns
    -------
    Search
        Its instances by the names of their parts: fields of a NamedTuple or a dataclass, keys of a
        mapping.

    Examples
    --------
    >>> from linrep.claims import Budget, decide
    >>> def sides(A, x):
    ...     return np.linalg.norm(A @ x), np.linalg.norm(A) * np.linalg.norm(x)
    >>> arrays = {"A": ("d", "d"), "x": ("d",)}
    >>> rng = np.random.default_rng(0)
    >>> found = search_instances(sides, [{"d": 1}, {"d": 2}], arrays, Budget(), rng)
    >>> decide(found).verdict, sorted(found.worst)
    ('holds', ['A', 'd', 'left', 'right', 'x'])
    """
    if isinstance(read, Mapping):
        if not read:
            raise ValueError("read must name at least one array, got none")
        return search_instances(
            lambda arrays: sides(**arrays),
            shapes,
            _reading(read),
            budget,
            rng,
            reader=reader,
            **options,
        )
    reads: Callable[[Reader, Mapping[str, int]], Any] = read

    def lhs_rhs(shape: Mapping[str, int], x: Array) -> tuple[float, ...] | None:
        instance = reads(reader(x), shape)
        return None if instance is None else sides(instance)

    def length(shape: Mapping[str, int]) -> int:
        counting = reader()
        reads(counting, shape)
        return counting.count

    def named(shape: Mapping[str, int], x: Array) -> Mapping[str, Any]:
        try:
            return {**shape, **_parts(reads(reader(x), shape))}
        except _Unnamed:
            return {**shape, "x": x.tolist()}

    return search(lhs_rhs, shapes, length, budget, rng, named=named, **options)


def _reading(arrays):
    """Return what reads arrays by name, whose shapes are in names of sizes and whole numbers."""

    def read(reader, shape):
        found = {}
        for name, sizes in arrays.items():
            unknown = [size for size in sizes if isinstance(size, str) and size not in shape]
            if unknown:
                raise ValueError(f"read: shapes have no size {unknown[0]!r}, which {name} takes")
            numbers = reader.numbers(*(shape.get(size, size) for size in sizes))
            found[name] = numbers if sizes else float(numbers)
        return found

    return read


class _Unnamed(Exception):
    """An instance has a part that plain values do not say."""


def _parts(item):
    """Return the parts of an instance as plain values by name, those of a part behind a dot."""
    if hasattr(item, "_asdict"):
        item = item._asdict()
    elif is_dataclass(item):
        item = {each.name: getattr(item, each.name) for each in fields(item)}
    elif not isinstance(item, Mapping):
        return {"x": _plain(item)}
    found: dict[str, Any] = {}
    for name, part in item.items():
        if hasattr(part, "_asdict") or is_dataclass(part) or isinstance(part, Mapping):
            found |= {f"{name}.{inner}": value for inner, value in _parts(part).items()}
        else:
            found[name] = _plain(part)
    return found


def _plain(value):
    """Return a number, a text or an array as plain values."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise _Unnamed
