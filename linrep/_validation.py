"""Checks of what callers hand in: one clear line saying which argument, what was wrong, what is allowed."""

from collections.abc import Iterable
from numbers import Integral, Real

import numpy as np


def integer(name, value, *, minimum, maximum=None):
    """Return value as an int in [minimum, maximum]."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be an integer, got {value!r}")
    if value < minimum or (maximum is not None and value > maximum):
        allowed = f"at least {minimum}" if maximum is None else f"between {minimum} and {maximum}"
        raise ValueError(f"{name} must be {allowed}, got {value}")
    return int(value)


def real(name, value, *, minimum=-np.inf, above=None):
    """Return value as a finite float, at least minimum and, where given, strictly above a bound."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a real number, got {value!r}")
    if not np.isfinite(value):
        raise ValueError(f"{name} must be finite, got {value}")
    if above is not None and value <= above:
        raise ValueError(f"{name} must be greater than {above}, got {value}")
    if value < minimum:
        raise ValueError(f"{name} must be at least {minimum}, got {value}")
    return float(value)


def choice(name, value, allowed: Iterable[str]):
    """Return value if it is one of the allowed names."""
    allowed = tuple(allowed)
    if value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {value!r}")
    return value


def array(name, value, shape):
    """Return value as a C-contiguous float64 array of finite numbers.

    shape is a tuple of sizes, None standing for any positive one.
    """
    if not isinstance(value, np.ndarray) or value.dtype != np.float64:
        if np.iscomplexobj(value):
            raise TypeError(f"{name} must be real, got complex numbers")
        try:
            value = np.asarray(value, dtype=np.float64)
        except (TypeError, ValueError):
            raise TypeError(f"{name} must be an array of real numbers") from None
    if value.ndim != len(shape) or any(
        want is not None and have != want for have, want in zip(value.shape, shape, strict=True)
    ):
        wanted = ", ".join("any" if size is None else str(size) for size in shape)
        raise ValueError(f"{name} must have shape ({wanted}), got {value.shape}")
    if value.size == 0:
        raise ValueError(f"{name} must not be empty, got shape {value.shape}")
    if not np.isfinite(value).all():
        raise ValueError(f"{name} must be finite, it holds NaN or infinity")
    return np.ascontiguousarray(value)
