"""Numbers that were taken at several settings, put into tables."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from linrep.claims.quantities import Fact


@dataclass(frozen=True)
class Grid:
    """A table: its heads, and rows whose first `keys` cells are the setting.

    `unit` is that of all numbers in it that have one, "" where they have several or none.
    """

    title: str
    heads: tuple[str, ...]
    keys: int
    rows: tuple[tuple[Any, ...], ...]
    unit: str = ""


def title(fact: Fact) -> str:
    """Return what a fact of a ledger is of, with its setting: "error, p = 0.1, K = 5"."""
    at = fact.setting.items()
    return ", ".join([fact.name, *(f"{name} = {_text(value)}" for name, value in at)])


def grids(facts: Iterable[Fact]) -> tuple[list[Grid], list[Fact]]:
    """Return tables of the facts that were taken at several settings, and the other facts.

    One quantity on two parameters has a row for each value of the first and a column for each
    value of the second; otherwise a row is a setting and a column a quantity.
    """
    groups: dict[tuple[str, ...], list[Fact]] = {}
    for fact in facts:
        groups.setdefault(tuple(fact.setting), []).append(fact)
    tables, others = [], []
    for keys, group in groups.items():
        if keys and len({_values(fact) for fact in group}) > 1:
            tables.append(_grid(keys, group))
        else:
            others += group
    return tables, others


def _grid(keys, group):
    cells = {(_values(fact), fact.name): fact for fact in group}
    settings = list(dict.fromkeys(where for where, _ in cells))
    names = list(dict.fromkeys(name for _, name in cells))
    units = {fact.unit for fact in group} - {""}
    unit = units.pop() if len(units) == 1 else ""
    if len(keys) == 2 and len(names) == 1:
        rows, columns = (list(dict.fromkeys(values)) for values in zip(*settings, strict=True))
        heads = (keys[0], *(f"{keys[1]} = {column}" for column in columns))
        lines = (
            (row, *(cells.get(((row, column), names[0])) for column in columns)) for row in rows
        )
        return Grid(names[0], heads, 1, tuple(lines), unit)
    caption = names[0] if len(names) == 1 else ""
    heads = (*keys, *(names if len(names) > 1 else ["value"]))
    lines = ((*where, *(cells.get((where, name)) for name in names)) for where in settings)
    return Grid(caption, heads, len(keys), tuple(lines), unit)


def _values(fact):
    return tuple(map(_text, fact.setting.values()))


def _text(value):
    """Return a value of a setting as it is written: sizes in full, other numbers to six digits."""
    return f"{value:g}" if isinstance(value, float) else str(value)
