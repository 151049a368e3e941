"""Grids: which cells a sweep has, and what a cell is called."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import pandas as pd

from linrep._lib.arguments import checked
from linrep._lib.formulas import Expression
from linrep._lib.suggest import unknown
from linrep.sweeps.columns import plain, whole

Cell = dict[str, Any]
Rule = str | Callable[[Cell], Any]


@dataclass(frozen=True, eq=False)
class Grid:
    """The cells of a sweep, in order, and those that constraints left out.

    Attributes
    ----------
    cells : tuple of dict
        Parameters of each cell, plain values.
    left_out : dict of str to int
        Number of cells left out, by reason.
    """

    cells: tuple[Cell, ...]
    left_out: Mapping[str, int]

    @classmethod
    def product(
        cls,
        axes: Mapping[str, Any],
        *,
        zipped: Sequence[Sequence[str]] = (),
        derived: Mapping[str, Rule] | None = None,
        constraints: Mapping[Rule, str] | str | Iterable[str] = (),
    ) -> Grid:
        """Return the cartesian product of axes, the last one varying fastest.

        Parameters
        ----------
        axes : mapping of str to sequence or value
            The values of each parameter: None, booleans, integers, finite floats, strings. A single
            value is a parameter that all cells share. Whole floats become integers: 10.0 and 10 are
            the same cell.
        zipped : sequence of sequences of str
            Groups of axes of equal length that vary together instead of forming a product.
        derived : mapping of str to str or callable, optional
            Further parameters, computed from those before: an :class:`Expression` such as
            ``"10 * k"``, or a function of the cell.
        constraints : mapping of str or callable to str, or sequence of str
            Conditions that a cell must meet, with the reason: expressions such as
            ``"k <= d"``, or functions of the cell. An expression can be its own reason.

        Raises
        ------
        ValueError, TypeError
            If an axis is empty, repeats a value or holds what is not a plain finite value, if
            zipped axes differ in length or are unknown, if an expression cannot be evaluated, or
            if no cell is left.

        Examples
        --------
        >>> grid = Grid.product({"d": [4, 8], "k": [2, 6]}, constraints={"k <= d": "rank"})
        >>> [cell_name(cell) for cell in grid]
        ['d=4,k=2', 'd=8,k=2', 'd=8,k=6']
        >>> grid.left_out
        {'rank': 1}
        """
        values = {_check_name(name): _read_axis(name, axis) for name, axis in axes.items()}
        if not values:
            raise ValueError("axes must hold at least one parameter")
        cells = []
        for combination in product(*_bundles(values, zipped)):
            chosen = {name: value for bundle in combination for name, value in bundle}
            cells.append({name: chosen[name] for name in values})
        for name, rule in (derived or {}).items():
            if _check_name(name) in values:
                raise ValueError(f"derived parameter {name!r} is an axis already")
            for cell, value in zip(cells, _evaluate(rule, cells), strict=True):
                cell[name] = _read_value(name, value)
            values[name] = ()
        if not isinstance(constraints, Mapping):
            rules = (constraints,) if isinstance(constraints, str) else constraints
            constraints = {rule: getattr(rule, "__name__", str(rule)) for rule in rules}
        left_out: dict[str, int] = {}
        for rule, reason in constraints.items():
            holds = _evaluate(rule, cells) if cells else []
            remaining = [cell for cell, fine in zip(cells, holds, strict=True) if fine]
            if len(remaining) < len(cells):
                left_out[reason] = left_out.get(reason, 0) + len(cells) - len(remaining)
            cells = remaining
        if not cells:
            raise ValueError(f"no cell is left: {'; '.join(left_out)}")
        return cls(_distinct(cells), left_out)

    @classmethod
    def of(cls, cells: Iterable[Mapping[str, Any]]) -> Grid:
        """Return a grid of the given cells.

        Parameters
        ----------
        cells : iterable of mappings
            Names and plain values of the parameters of each cell; at least one cell, all distinct.

        Raises
        ------
        ValueError, TypeError
            If there is no cell, two are the same, or a name or a value cannot be one.
        """
        read = list(map(_read_cell, cells))
        if not read:
            raise ValueError("cells of a grid must be at least one")
        return cls(_distinct(read), {})

    def find(self, selection: Mapping[str, Any] | str) -> Cell:
        """Return the one cell whose parameters have the given values.

        Parameters
        ----------
        selection : mapping of str to plain values, or str
            Some of a cell's parameters, or such as in the cell's name: ``"n=10,m=5"``.

        Raises
        ------
        ValueError
            If there is none, or more than one.
        """
        if isinstance(selection, str):
            name, wanted = selection, set(map(str.strip, selection.split(",")))
        else:
            (cell,) = Grid.of([selection])
            name, wanted = cell_name(cell), _texts(cell)
        matches = [cell for cell in self.cells if cell_name(cell) == name]
        matches = matches or [cell for cell in self.cells if wanted <= _texts(cell)]
        if len(matches) == 1:
            return matches[0]
        examples = " and ".join(map(cell_name, (matches or self.cells)[:2]))
        have = f"{len(matches)} cells have" if matches else "no cell has"
        which = f"{have} {name or 'no parameters'}; {'they' if matches else 'others'} begin with"
        raise ValueError(f"selection must single out a cell: {which} {examples}")

    @classmethod
    def around(cls, middle: Mapping[str, Any], axes: Mapping[str, Iterable[Any]]) -> Grid:
        """Return the cells in which at most one parameter differs from a base setting.

        Parameters
        ----------
        middle : mapping
            All parameters and their plain values.
        axes : mapping of str to iterable
            Values that some of them take, one after the other; that of the middle makes one cell.

        Raises
        ------
        ValueError, TypeError
            If an axis is no parameter of the middle, or a name or a value cannot be one.

        Examples
        --------
        >>> grid = Grid.around({"n": 10, "m": 5}, {"n": [10, 20], "m": [5, 8]})
        >>> [cell_name(cell) for cell in grid]
        ['n=10,m=5', 'n=20,m=5', 'n=10,m=8']
        """
        if not axes:
            raise ValueError("axes must hold at least one")
        for name in axes:
            if name not in middle:
                raise ValueError(f"axes must be parameters of the middle, got {name!r}")
        cells = [{**middle, name: value} for name, values in axes.items() for value in values]
        return cls.of({canonical(cell): cell for cell in cells}.values())

    def __add__(self, other: Grid) -> Grid:
        """Return the cells of both, which must be distinct."""
        left_out = dict(self.left_out)
        for reason, count in other.left_out.items():
            left_out[reason] = left_out.get(reason, 0) + count
        return Grid(_distinct([*self.cells, *other.cells]), left_out)

    def __len__(self):
        return len(self.cells)

    def __iter__(self):
        return iter(self.cells)

    def __repr__(self):
        names = ", ".join(dict.fromkeys(name for cell in self.cells for name in cell))
        rules = "; ".join(f"{count} left out: {rule}" for rule, count in self.left_out.items())
        return f"Grid({len(self)} cells of {names}{f'; {rules}' if rules else ''})"


def canonical(cell: Mapping[str, Any]) -> str:
    """Return the one JSON text that stands for a cell: sorted names, whole floats as integers.

    Parameters
    ----------
    cell : mapping of str to plain values
    """
    return json.dumps(
        {name: whole(value) for name, value in cell.items()},
        sort_keys=True,
        separators=(",", ":"),
        allow_nan=False,
        ensure_ascii=False,
    )


def cell_name(cell: Mapping[str, Any]) -> str:
    """Return a cell's name, one for one with its parameters: ``d=10,heads=qr,k=2``.

    Parameters
    ----------
    cell : mapping of str to plain values
    """
    return ",".join(f"{name}={_show(whole(cell[name]))}" for name in sorted(cell))


def _check_name(name):
    if not isinstance(name, str) or not name.isidentifier():
        raise ValueError(f"a parameter's name must be an identifier, got {name!r}")
    return name


def _show(value):
    """Quote a string only where it could be mistaken for something else."""
    if type(value) is int:
        return str(value)
    if isinstance(value, str) and not (
        value.replace("_", "a").replace("-", "a").replace(":", "a").replace(".", "a").isalnum()
        and value[0].isalpha()
        and value not in ("true", "false", "null")
    ):
        return json.dumps(value, ensure_ascii=False)
    return value if isinstance(value, str) else json.dumps(value)


def _read_axis(name, axis):
    if isinstance(axis, str | bytes | Mapping) or not isinstance(axis, Iterable):
        axis = [axis]
    values = [_read_value(name, value) for value in axis]
    if not values:
        raise ValueError(f"axis {name!r} is empty; it must hold at least one value")
    seen = set()
    for value in values:
        key = canonical({name: value})
        if key in seen:
            raise ValueError(f"axis {name!r} holds {value!r} twice")
        seen.add(key)
    return values


def _read_cell(cell):
    if not isinstance(cell, Mapping):
        raise TypeError(f"cells of a grid must be mappings, got {cell!r:.60}")
    return {_check_name(name): _read_value(name, value) for name, value in cell.items()}


def _texts(cell):
    """Return the parameters of a cell, each as in its name."""
    return {cell_name({name: value}) for name, value in cell.items()}


def _read_value(name, value):
    """Return a plain, finite Python value."""
    value = plain(f"parameter {name!r}", value)
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"parameter {name!r} must be finite, got {value}")
    return whole(value)


def zipped_groups(
    zipped: Iterable[Iterable[str]], axes: Iterable[str]
) -> dict[str, tuple[str, ...]]:
    """Return the group of each axis that is zipped; a ValueError refuses groups that are none."""
    group_of: dict[str, tuple[str, ...]] = {}
    for group in zipped:
        names = (group,) if isinstance(group, str) else tuple(group)
        if len(names) < 2:
            raise ValueError(f"zipped must hold groups of at least two axes, got {group!r}")
        for name in names:
            if name not in axes:
                raise ValueError(unknown("zipped: unknown axis", name, axes))
            if name in group_of:
                raise ValueError(f"zipped: axis {name!r} is in two groups")
            group_of[name] = names
    return group_of


def _bundles(values, zipped):
    """Return, for each factor of the product, its list of ((name, value), ...)."""
    group_of = zipped_groups(zipped, values)
    for group in dict.fromkeys(group_of.get(name, (name,)) for name in values):
        if len({len(values[name]) for name in group}) > 1:
            sizes = ", ".join(f"{name} {len(values[name])}" for name in group)
            raise ValueError(f"zipped axes must be of equal length, got {sizes}")
        columns = [[(member, value) for value in values[member]] for member in group]
        yield list(zip(*columns, strict=True))


def _evaluate(rule, cells):
    """Return a rule's value for every cell."""
    if callable(rule):
        return [rule(dict(cell)) for cell in cells]
    result = Expression(rule).value(pd.DataFrame(cells))
    return result.tolist() if isinstance(result, pd.Series) else [result] * len(cells)


def _distinct(cells):
    seen = set()
    for cell in cells:
        key = canonical(cell)
        if key in seen:
            raise ValueError(f"cell {cell_name(cell)} occurs twice")
        seen.add(key)
    return tuple(cells)


checked(globals())
