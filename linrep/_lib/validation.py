"""Checks of what callers hand in.

Each error is one line: which argument, what was wrong, what is allowed.
"""

import math
import re
from collections.abc import Hashable, Iterable, Sequence
from itertools import zip_longest
from numbers import Integral, Number, Real
from typing import Any

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import NDArray

from linrep._lib.suggest import near, propose

#: Of what scales a problem, so that what is drawn of it is data.
LARGEST = 1e30
#: Of data: fourth powers stay finite, and those of its inverse positive.
LARGEST_DATA = 1e75
#: Integers up to it are floats, too.
WHOLE = 2**53

_MOST_BITS = 1023  # of integers that floating point has
_MOST_LOCAL_STEPS = 10**9  # of one client in one round, which cannot be interrupted
_IDENTIFIER = re.compile(r"\w[\w+-]*(\.[\w+-]+)*")


def integer(name: str, value: Any, *, minimum: int, maximum: int | None = None) -> int:
    """Return value as an int in [minimum, maximum]."""
    # Plain numbers, which most are, need no look at what else counts as one.
    if type(value) is not int and (
        isinstance(value, (bool, np.bool_)) or not isinstance(value, Integral)
    ):
        raise TypeError(f"{name} must be an integer, got {value!r}")
    number = int(value)
    if number < minimum or (maximum is not None and number > maximum):
        allowed = f"at least {minimum}" if maximum is None else f"between {minimum} and {maximum}"
        raise ValueError(f"{name} must be {allowed}, got {number}")
    return number


def count(name: str, value: Any, *, minimum: int = 1, most: int) -> int:
    """Return value as an int from minimum on, and at most what can be computed with or run."""
    number = integer(name, value, minimum=minimum)
    if number > most:
        raise ValueError(f"{name} must be at most {most}, got {number}")
    return number


def real(
    name: str,
    value: Any,
    *,
    minimum: float = -np.inf,
    maximum: float = np.inf,
    above: float | None = None,
    below: float | None = None,
) -> float:
    """Return value as a finite float in [minimum, maximum], where given strictly between bounds."""
    if not isinstance(value, float) and (
        isinstance(value, (bool, np.bool_)) or not isinstance(value, Real)
    ):
        raise TypeError(f"{name} must be a real number, got {value!r}")
    number = float(not_huge(name, value))
    if not math.isfinite(number):
        raise ValueError(f"{name} must be finite, got {number}")
    if above is not None and number <= above:
        raise ValueError(f"{name} must be greater than {above:g}, got {number:g}")
    if below is not None and number >= below:
        raise ValueError(f"{name} must be below {below:g}, got {number}")
    if number < minimum:
        raise ValueError(f"{name} must be at least {minimum:g}, got {number:g}")
    if number > maximum:
        raise ValueError(f"{name} must be at most {maximum:g}, got {number:g}")
    return number


def not_huge(name: str, value: Any) -> Any:
    """Return a number if there is one of floating point that is near it."""
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        raise ValueError(f"{name} is too large: it has {value.bit_length()} bits")
    return value


def choice(name: str, value: Any, allowed: Iterable[str]) -> str:
    """Return value if it is one of the allowed names."""
    allowed = tuple(allowed)
    if not isinstance(value, str) or value not in allowed:
        candidates = near(value, allowed) if isinstance(value, str) else []
        hint = f"; {propose(map(repr, candidates))}" if candidates else ""
        known = ", ".join(map(repr, allowed))
        raise ValueError(f"{name} must be one of {known}, got {value!r}{hint}")
    return value


def instance(name: str, value: Any, *kinds: type) -> Any:
    """Return value if it is of one of these classes."""
    if not isinstance(value, kinds):
        wanted = " or ".join(kind.__name__ for kind in kinds)
        raise TypeError(f"{name} must be {wanted}, got {kind_of(value, wanted)}")
    return value


def kind_of(value: Any, wanted: str) -> str:
    """Return what a value's class is called, with its module where that is like what is wanted."""
    kind = type(value)
    return f"{kind.__module__}.{kind.__name__}" if kind.__name__ in wanted else kind.__name__


def identifier(name: str, value: Any) -> str:
    """Return value if files may be named by it: parts separated by dots."""
    if not isinstance(value, str) or not _IDENTIFIER.fullmatch(value):
        allowed = "letters, digits, '_', '+' and '-', with dots between them"
        raise ValueError(f"{name} must be of {allowed}, got {value!r}")
    return value


def array(
    name: str, value: Any, shape: tuple[int | None, ...] | None, *, copy: bool = False
) -> NDArray[np.float64]:
    """Return value as a C-contiguous float64 array of finite numbers, or a copy of it.

    shape is a tuple of sizes, None standing for any positive one; or None for any shape.
    """
    given, value = value, real_array(name, value)
    if shape is not None and (
        value.ndim != len(shape)
        or any(want not in (None, have) for have, want in zip(value.shape, shape, strict=True))
    ):
        wanted = ", ".join("any" if size is None else str(size) for size in shape)
        raise ValueError(f"{name} must have shape ({wanted}), got {value.shape}")
    if value.size == 0:
        raise ValueError(f"{name} must not be empty, got shape {value.shape}")
    if np.count_nonzero(np.isfinite(value)) < value.size:  # what all() finds out, in half the time
        raise ValueError(f"{name} must be finite, it holds NaN or infinity")
    if copy and not isinstance(given, list | tuple):  # of which numpy has made an array of its own
        return np.array(value, order="C")
    return np.asarray(value, order="C")


def data(
    name: str, value: Any, shape: tuple[int | None, ...] | None, *, copy: bool = False
) -> NDArray[np.float64]:
    """Return value as `array` does, if it can be computed with."""
    values = array(name, value, shape, copy=copy)
    moderate(name, values)
    return values


def labels(name: str, value: Any, size: int, *, copy: bool = False) -> NDArray[np.float64]:
    """Return value as `array` does, a list of so many numbers that may stand in a column."""
    values = real_array(name, value)
    values = values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values
    return array(name, values, (size,), copy=copy)


def distinct(name: str, values: Sequence[Any]) -> None:
    """Raise if one of some names is there twice."""
    if len(set(values)) < len(values):
        twice = next(value for place, value in enumerate(values) if value in values[:place])
        raise ValueError(f"{name} must be distinct, {twice!r} is there twice")


def same_columns(
    name: str, given: Sequence[Any] | None, known: Sequence[Any] | None, whose: str
) -> None:
    """Raise unless columns, where both have names, are the same in the same order."""
    if given is None or known is None or given == known:
        return
    pairs = zip_longest(map(repr, given), map(repr, known), fillvalue="none")
    place, (got, want) = next(each for each in enumerate(pairs) if each[1][0] != each[1][1])
    raise ValueError(
        f"{name} must have the columns of {whose}, in their order: column {place} is {got}, not "
        f"{want}"
    )


def moderate(name: str, values: NDArray[np.float64]) -> None:
    """Raise unless the largest of finite numbers can be squared several times."""
    size = max(values.max(), -values.min())
    if size > LARGEST_DATA or 0.0 < size < 1.0 / LARGEST_DATA:
        raise ValueError(
            f"{name} must be between {1.0 / LARGEST_DATA:g} and {LARGEST_DATA:g} in size where it "
            f"is largest, got {size:g}: take other units"
        )


def real_array(name: str, value: Any) -> NDArray[np.float64]:
    """Return value as a float64 array, which may hold NaN or infinity.

    Refused are complex numbers, texts, dates, other objects, a missing value of pandas, and a
    masked entry, whose value is whatever stands behind the mask. Truth values are 0 and 1 as they
    are in numpy, since indicators come as such (pandas' get_dummies), but not one by itself: an
    option in the wrong place.
    """
    if type(value) is np.ndarray and value.dtype == np.float64:
        return value
    array = read_array(name, value, "an array of real numbers")
    kind = array.dtype.kind
    if kind == "c":
        raise TypeError(f"{name} must be real, got complex numbers")
    if kind == "O" and not any(map(_no_number, array.flat)):
        kind = "f"
    if kind not in "biuf" or (kind == "b" and array.ndim == 0):
        raise TypeError(f"{name} must be an array of real numbers, got {_describe(array, value)}")
    try:
        return array.astype(np.float64, copy=False)
    except OverflowError:
        raise ValueError(f"{name} holds an integer that is too large for floating point") from None


def table(name: str, value: Any, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Return value as a float64 array of a shape, which may hold NaN or infinity."""
    array = real_array(name, value)
    if array.shape != shape:
        raise ValueError(f"{name} must have shape {shape}, got {array.shape}")
    return array


def read_array(name: str, value: Any, wanted: str = "an array") -> NDArray[Any]:
    """Return value as an array of any type; one of its entries may not be masked."""
    if has_masked(value):
        raise ValueError(f"{name} must have no missing values, it has masked entries")
    if hasattr(value, "toarray"):
        raise TypeError(f"{name} must be {wanted}, got a sparse one: its .toarray() is")
    try:
        return np.asarray(value)
    except (TypeError, ValueError, RuntimeError) as error:  # ragged lists; a tensor's own reasons
        reason = "rows of several lengths" if isinstance(value, list | tuple) else str(error)
        raise TypeError(f"{name} must be {wanted}, got {reason.splitlines()[0]}") from None


def has_masked(value):
    """Tell whether an array, or one in a list, has a masked entry."""
    if isinstance(value, np.ma.MaskedArray):
        return bool(np.ma.is_masked(value))
    if not isinstance(value, list | tuple):
        return False
    nested = any(issubclass(kind, np.ma.MaskedArray | list | tuple) for kind in {*map(type, value)})
    return nested and any(map(has_masked, value))


def _no_number(x):
    return x is not None and (not isinstance(x, Number) or isinstance(x, complex))


def _describe(array, value):
    """Describe what an array holds that are no numbers."""
    if array.dtype.kind != "O":
        kinds = {"b": "a truth value", "M": "dates", "m": "spans of time", "V": "records"}
        return kinds.get(array.dtype.kind, "texts")
    wrong = next(filter(_no_number, array.flat))
    missing = type(wrong).__name__ in ("NAType", "NaTType")
    return "missing values" if missing else f"an object of type {type(wrong).__name__}"


def places(name: str, value: Any, size: int) -> NDArray[np.int64]:
    """Return a list of indices between 0 and size - 1, at least one, as int64."""
    indices = read_array(name, value)
    if indices.ndim != 1 or indices.size == 0 or indices.dtype.kind not in "iu":
        raise ValueError(f"{name} must be a list of integers, at least one")
    wrong = indices[(indices < 0) | (indices >= size)]
    if wrong.size:
        raise ValueError(f"{name} must be between 0 and {size - 1}, got {wrong[0]}")
    return indices.astype(np.int64)


def numbers(
    name: str,
    value: Any,
    *,
    minimum: float = -np.inf,
    maximum: float = np.inf,
    above: float | None = None,
    whole: bool = False,
) -> NDArray[np.float64]:
    """Return value, a number or an array of any shape, as float64 within [minimum, maximum].

    Where given, above is a bound that no number may reach; whole asks for integers.
    """
    values = array(name, value, None)
    if whole and (values != np.floor(values)).any():
        raise ValueError(f"{name} must be whole, got {values[values != np.floor(values)][0]:g}")
    if above is not None and np.count_nonzero(values <= above):
        raise ValueError(f"{name} must be greater than {above:g}, got {values.min():g}")
    if minimum > -np.inf and np.count_nonzero(values < minimum):
        raise ValueError(f"{name} must be at least {minimum:g}, got {values.min():g}")
    if maximum < np.inf and np.count_nonzero(values > maximum):
        raise ValueError(f"{name} must be at most {maximum:g}, got {values.max():g}")
    return values


def columns(name: str, table: Any, *wanted: Hashable) -> None:
    """Raise unless a DataFrame has the columns that are wanted."""
    missing = [column for column in wanted if column not in table.columns]
    if missing:
        there = ", ".join(map(str, table.columns))
        raise ValueError(f"{name} must have a column {missing[0]!r}, got {there}")


def noise(value: Any) -> float:
    """Return the standard deviation of noise as a float that is at least 0."""
    return real("noise", value, minimum=0.0, maximum=LARGEST)


def local_steps(value: Any) -> int:
    """Return a number of local steps as an int that is at least 1."""
    return count("local_steps", value, most=_MOST_LOCAL_STEPS)


def rank(k: Any, n: int, d: int) -> int:
    """Return the rank k of a matrix of models (n, d) as an int in [1, min(n, d)]."""
    number = integer("k", k, minimum=1)
    if number > min(n, d):
        raise ValueError(f"k must be between 1 and {min(n, d)} = min(n, d), got {number}")
    return number


def count_participants(n: int, participation: Any) -> int:
    """Return the whole number of clients nearest to participation times n."""
    participation = real("participation", participation, above=0.0, maximum=1.0)
    participants = int(np.floor(participation * n + 0.5))
    if participants < 1:
        raise ValueError(
            f"participation {participation:g} selects none of {n} clients; "
            f"it must be at least {0.5 / n:g}"
        )
    return participants


def seed_sequence(rng: Any) -> SeedSequence:
    """Return the seed sequence of whole numbers, or of none; nothing else is a seed."""
    kinds = int | np.integer | Sequence | np.ndarray | None
    if isinstance(rng, kinds) and not isinstance(rng, bool | str | bytes | np.ma.MaskedArray):
        try:
            return SeedSequence(rng)
        except (TypeError, ValueError):  # negative numbers, and numbers that are not whole
            pass
    got = repr(rng) if isinstance(rng, int | float | str | list) else type(rng).__name__
    raise TypeError(
        "rng must be None, a whole number from 0 on or a list of them, or a Generator, "
        f"BitGenerator or SeedSequence of numpy.random, got {got:.60}"
    )
