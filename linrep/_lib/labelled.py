"""What datasets of xarray say of themselves: attributes that NetCDF can hold."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

#: Units of what has one; everything else is a pure number, or in the units of the data.
UNITS = {"seconds": "s", "wall_time": "s"}
#: Attributes that mean something to readers of NetCDF.
_RESERVED = {"coordinates": "coordinates_of"}


def attributes(values: Mapping[str, Any]) -> dict[str, int | float | str]:
    """Return settings as attributes: numbers and texts, other values as JSON, without what is None.

    Examples
    --------
    >>> attributes({"step_size": 0.5, "record": None, "fresh": True, "cuts": [1, 2]})
    {'step_size': 0.5, 'fresh': 'true', 'cuts': '[1, 2]'}
    """
    return {
        _RESERVED.get(name, name): _attribute(value)
        for name, value in values.items()
        if value is not None
    }


def _attribute(value):
    if hasattr(value, "tolist"):  # arrays and numbers of NumPy
        value = value.tolist()
    if isinstance(value, int | float | str) and not isinstance(value, bool):
        return value
    return json.dumps(value, default=lambda part: getattr(part, "tolist", lambda: str(part))())


def described(name: str, label: str | None = None) -> dict[str, str]:
    """Return the attributes of a variable: what it is, in words, and its unit."""
    unit = {"units": UNITS[name]} if name in UNITS else {}
    return ({"long_name": label} if label else {}) | unit
