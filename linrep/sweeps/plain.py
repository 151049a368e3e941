"""Plain values: what parameters and columns may hold."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np

LARGEST_INTEGER = 2**63 - 1
LARGEST_IN_FLOATS = 2**53  # integers up to it are floats, too


def plain(what: str, value: Any) -> Any:
    """Return None, a boolean, a string, an integer of 64 bits or a float as Python has it.

    A TypeError or ValueError says of a value that is none of these what it is the value of.
    """
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.ndim == 0):
        value = value.item()
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        value.encode()  # which half a surrogate pair does not survive, nor would it a file
        return str.__str__(value)  # of a subclass, such as an enumeration's
    if isinstance(value, Integral):
        if abs(int(value)) > LARGEST_INTEGER:
            raise ValueError(f"{what} must fit 64 bits, got {value}")
        return int(value)
    if isinstance(value, Real):
        return float(value)
    raise TypeError(
        f"{what} must be a number, a string, a boolean or None, got {type(value).__name__}"
    )


def whole(value: Any) -> Any:
    """Return whole floats as integers: 10.0 and 10 are the same parameter."""
    if isinstance(value, float) and value.is_integer() and abs(value) <= LARGEST_INTEGER:
        return int(value)
    return value
