"""Numbers that are named by their setting, put into tables: "error, p = 0.1, K = 5"."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

_SETTING = re.compile(r"([A-Za-z]\w*'?(?: [A-Z]\w*)?) = ([\w.+-]+)")


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


def setting(name: str) -> tuple[str, dict[str, str]]:
    """Split a name into what it is of and the setting, pieces like "K = 5" behind commas."""
    rest, found = [], {}
    for piece in name.split(", "):
        match = _SETTING.fullmatch(piece)
        if match and match[1] not in found:
            found[match[1]] = match[2]
        else:
            rest.append(piece)
    return ", ".join(rest), found


def grids(facts: Iterable[Mapping[str, Any]]) -> tuple[list[Grid], list[Mapping[str, Any]]]:
    """Return tables of the facts that are named by a setting, and the other facts.

    One quantity on two parameters has a row for each value of the first and a column for each
    value of the second; otherwise a row is a setting and a column a quantity.

    Parameters
    ----------
    facts : iterable of mapping
        With name, value and unit.
    """
    groups: dict[tuple[str, ...], list[tuple[str, dict[str, str], Mapping[str, Any]]]] = {}
    for fact in facts:
        of, where = setting(fact["name"])
        groups.setdefault(tuple(where), []).append((of, where, fact))
    tables, others = [], []
    for keys, group in groups.items():
        if keys and len({tuple(where.values()) for _, where, _ in group}) > 1:
            tables.append(_grid(keys, group))
        else:
            others += [fact for _, _, fact in group]
    return tables, others


def _grid(keys, group):
    cells = {(tuple(where.values()), of): fact for of, where, fact in group}
    settings = list(dict.fromkeys(where for where, _ in cells))
    names = list(dict.fromkeys(of for _, of in cells))
    units = {fact["unit"] for fact in cells.values()} - {""}
    unit = units.pop() if len(units) == 1 else ""
    if len(keys) == 2 and len(names) == 1:
        rows, columns = (
            list(dict.fromkeys(where[place] for where in settings)) for place in (0, 1)
        )
        heads = (keys[0], *(f"{keys[1]} = {column}" for column in columns))
        lines = (
            (row, *(cells.get(((row, column), names[0])) for column in columns)) for row in rows
        )
        return Grid(names[0], heads, 1, tuple(lines), unit)
    title = names[0] if len(names) == 1 else ""
    heads = (*keys, *(names if len(names) > 1 else ["value"]))
    lines = ((*where, *(cells.get((where, name)) for name in names)) for where in settings)
    return Grid(title, heads, len(keys), tuple(lines), unit)
