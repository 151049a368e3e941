"""Measurements, facts and curves as plain values, which a store holds, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from fractions import Fraction
from typing import Any

import pandas as pd

from linrep.claims import intervals, measurements, quantities, rates, sampled
from linrep.claims.measurements import Curve, Measurement
from linrep.claims.quantities import Fact

_CLASSES = {
    name: each
    for module in (intervals, measurements, quantities, rates, sampled)
    for name, each in vars(module).items()
    if isinstance(each, type) and issubclass(each, Measurement | Curve | Fact)
}


def plain(item: Any) -> Any:
    """Return a measurement, fact or curve as plain values that :func:`read` takes."""
    if isinstance(item, Measurement | Fact | Curve):
        values = {each.name: plain(getattr(item, each.name)) for each in fields(item) if each.init}
        return {"class": type(item).__name__, **values}
    if isinstance(item, pd.DataFrame):
        return {"table": {name: plain(column.tolist()) for name, column in item.items()}}
    if isinstance(item, Mapping):
        return {"mapping": {str(name): plain(value) for name, value in item.items()}}
    if isinstance(item, Fraction):
        return {"fraction": str(item)}
    if hasattr(item, "tolist"):
        return plain(item.tolist())
    if isinstance(item, list | tuple):
        return [plain(value) for value in item]
    if item is None or isinstance(item, bool | int | float | str):
        return item
    raise TypeError(f"a measurement holds a {type(item).__name__}: {item!r}")


def read(item: Any) -> Any:
    """Return the measurement, fact or curve of which :func:`plain` made plain values."""
    if isinstance(item, list):
        return [read(value) for value in item]
    if not isinstance(item, dict):
        return item
    if "class" in item:
        values = {name: read(value) for name, value in item.items() if name != "class"}
        return _CLASSES[item["class"]](**values)
    if "fraction" in item:
        return Fraction(item["fraction"])
    if "table" in item:
        return pd.DataFrame({name: read(column) for name, column in item["table"].items()})
    return {name: read(value) for name, value in item["mapping"].items()}
