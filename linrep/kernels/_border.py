"""What calls from Python are checked for, and the memory that they share.

What is wrong is reported in one line that names the argument. Types and sizes are checked here;
what is in the arrays, and whether they share memory, by the compiled code, before anything is
written. It returns one of the results below, which `refusal` makes an exception of.
"""

from collections.abc import Callable
from functools import wraps
from inspect import signature
from math import inf
from typing import ParamSpec, TypeVar

import numpy as np

from linrep._lib import validation as check
from linrep.kernels.jit import kernel
from linrep.kernels.linalg import finite

FINE, OFFSETS, INDICES, OVERLAP, ASYMMETRIC, LOST = range(6)  # how a compiled call ended
EVERYONE = np.empty(0, np.int64)  # stands for participants 0, ..., n - 1

_ARRAY, _FLOAT, _INT = np.ndarray, np.dtype(np.float64), np.dtype(np.int64)
_STEPS = 2**31  # more than anybody waits for, and few enough to be counted

_P = ParamSpec("_P")
_R = TypeVar("_R")


class _Layout(ValueError):
    """An array that is read lies otherwise in memory than compiled code takes it."""


def any_layout(call: Callable[_P, _R]) -> Callable[_P, _R]:
    """Let a call take what it reads in any order in memory, or read-only: as copies.

    What is read-only, as columns of a data frame are, would be compiled for once more.

    What is right pays for one more call. Results are those of the copies, to the last bit.
    """
    names = tuple(signature(call).parameters)

    @wraps(call)
    def taken(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        try:
            return call(*args, **kwargs)
        except _Layout:
            given = {**dict(zip(names, args, strict=False)), **kwargs}
        _copy_into_rows(given)
        return call(**given)  # type: ignore[arg-type, call-arg]

    return taken


def _copy_into_rows(arguments):
    """Replace arrays that are read by copies where need be, unless outputs share their memory.

    Compiled code would see the copies' memory only.
    """
    out = arguments.get("out")
    outputs = {f"out[{i}]": A for i, A in enumerate(out)} if type(out) is tuple else {"out": out}
    for name, A in arguments.items():
        if name == "out" or type(A) is not _ARRAY or A.flags.carray:
            continue
        for output, written in outputs.items():
            rows = type(written) is _ARRAY and written.flags.c_contiguous  # or is refused anyway
            if rows and np.may_share_memory(written, A):
                raise ValueError(f"{output} must not share memory with {name}")
        arguments[name] = A.copy()


class Workspace:
    """Scratch memory for calls in a loop: hand the same one to each, also to different functions.

    It grows to what a call needs and keeps nothing from one call to the next. Threads need one
    each.
    """

    def __init__(self) -> None:
        self._numbers = np.empty(0)


def scratch(work, size):
    """Return at least so many float64 numbers, from the workspace if there is one."""
    if work is None:
        return np.empty(size)
    if type(work) is not Workspace:
        raise TypeError(
            f"work must be a linrep.kernels.Workspace or None, got {type(work).__name__}"
        )
    if work._numbers.size < size:
        work._numbers = np.empty(size)
    return work._numbers


def floats(name, A, shape, why=""):
    """Check an array of float64 that is read; why says where its shape comes from."""
    if type(A) is _ARRAY and A.dtype is _FLOAT and A.shape == shape and A.flags.carray:
        return
    _look(name, A, _FLOAT, shape, why)


def matrix(name, A):
    """Check a matrix of float64 of any size, which is returned."""
    if type(A) is _ARRAY and A.dtype is _FLOAT and A.ndim == 2 and A.size and A.flags.carray:
        return A.shape
    return _look(name, A, _FLOAT, (None, None))


def vector(name, A):
    """Check a list of float64, at least one; return how many there are."""
    if type(A) is _ARRAY and A.dtype is _FLOAT and A.ndim == 1 and A.size and A.flags.carray:
        return A.size
    return _look(name, A, _FLOAT, (None,))[0]


def columns(name, A, rows, why):
    """Check a matrix of float64 with so many rows; return how many columns it has."""
    if type(A) is _ARRAY and A.dtype is _FLOAT and A.ndim == 2 and A.flags.carray:
        found, k = A.shape
        if found == rows and k:
            return k
    return _look(name, A, _FLOAT, (rows, None), why)[1]


def integers(name, A):
    """Check a list of int64, at least one; return how many there are."""
    if type(A) is _ARRAY and A.dtype is _INT and A.ndim == 1 and A.size and A.flags.carray:
        return A.size
    return _look(name, A, _INT, (None,))[0]


def samples(X, y, offsets):
    """Check clients' samples; return how many there are, their dimension, and that of clients."""
    N, d = matrix("X", X)
    floats("y", y, (N,), ", a label per row of X")
    return N, d, groups(offsets)


def problem(X, y, offsets, B, W, names="BW"):
    """Check samples and factors of the clients' models; return N, d, n and k."""
    N, d, n = samples(X, y, offsets)
    first, second = names
    k = columns(first, B, d, ", a row per column of X")
    floats(second, W, (n, k), f", a row per client of offsets and a column per column of {first}")
    return N, d, n, k


def entries(items, values, offsets, Z, U, V):
    """Check entries of clients, their side information and factors; return d, p and k."""
    N, n = integers("items", items), groups(offsets)
    floats("values", values, (N,), ", one per item")
    p = columns("Z", Z, n, ", a row per client of offsets")
    d, k = matrix("U", U)
    floats("V", V, (p, k), ", a row per column of Z and a column per column of U")
    return d, p, k


def round_on_samples(X, y, offsets, B, W, clients, out, names="BW"):
    """Check a round's arrays; return its participants and what it writes to."""
    _, d, n, k = problem(X, y, offsets, B, W, names)
    return participants(clients), *targets(out, (d, k), (n, k))


def round_on_centres(A, U, V, clients, out):
    """Check a round's arrays; return its participants and what it writes to."""
    n, d = matrix("A", A)
    k = columns("U", U, d, ", a row per column of A")
    floats("V", V, (n, k), ", a row per row of A and a column per column of U")
    return participants(clients), *targets(out, (d, k), (n, k))


def groups(offsets):
    """Check offsets, but for what is in them; return how many clients there are."""
    size = integers("offsets", offsets)
    if size < 2:
        raise ValueError("offsets must have two entries or more, one more than there are clients")
    return size - 1


def _is_target(A, shape):
    """Tell whether results of this shape can be written into an array."""
    return type(A) is _ARRAY and A.dtype is _FLOAT and A.shape == shape and A.flags.carray


def target(A, shape, why):
    """Return `out`, made here if it is None."""
    if A is None:
        return np.empty(shape)
    if not _is_target(A, shape):
        _look("out", A, _FLOAT, shape, why, written=True)
    return A


def targets(out, shape, other):
    """Return what a round's new factors are written to; see target."""
    if out is None:
        return np.empty(shape), np.empty(other)
    if not (isinstance(out, tuple) and len(out) == 2):
        raise TypeError("out must be a pair of arrays, or None")
    for index, (A, wanted) in enumerate(zip(out, (shape, other), strict=True)):
        if not _is_target(A, wanted):
            _look(f"out[{index}]", A, _FLOAT, wanted, written=True)
    return out


def participants(A):
    """Return clients that take part in a round; None stands for all of them."""
    if A is None:
        return EVERYONE
    integers("participants", A)
    return A


def positive(name, value):
    """Return a number greater than 0."""
    if type(value) is float and 0.0 < value < inf:
        return value
    return check.real(name, value, above=0.0)


def real(name, value):
    """Return a finite number."""
    if type(value) is float and -inf < value < inf:
        return value
    return check.real(name, value)


def index(name, value, size):
    """Return one of 0, ..., size - 1."""
    if type(value) is int and 0 <= value < size:
        return value
    return check.integer(name, value, minimum=0, maximum=size - 1)


def steps_of(head_steps):
    """Return how many steps heads take, and their size."""
    if not (isinstance(head_steps, tuple) and len(head_steps) == 2):
        raise TypeError(
            f"head_steps must be a pair (number of steps, step size) or None, got {head_steps!r}"
        )
    steps, size = head_steps
    if type(steps) is int and type(size) is float and 0 < steps < _STEPS and 0.0 < size < inf:
        return head_steps
    steps = check.integer("head_steps[0]", steps, minimum=1, maximum=_STEPS - 1)
    return steps, check.real("head_steps[1]", size, above=0.0)


def refusal(status, arguments, outputs, *, indices="participants", below=0, lost=""):
    """Return the exception that tells why a compiled call has written nothing.

    arguments maps names to arrays; outputs names to pairs of an array and the name of the argument
    that it may replace, being the same array. Indices, of that name, must be below a number.
    Where the numbers were lost although all arguments are finite, `lost` says how.
    """
    if status == OFFSETS:
        return _wrong_offsets(arguments)
    if status == INDICES:
        A = arguments[indices]
        wrong = A[(A < 0) | (below <= A)][0]
        return ValueError(f"{indices} must be between 0 and {below - 1}, got {wrong}")
    if status == OVERLAP:
        return _shared_memory(arguments, outputs)
    if status == ASYMMETRIC:
        return ValueError("H must be symmetric")
    for name, A in arguments.items():
        if A.dtype == _FLOAT and not np.isfinite(A).all():
            return ValueError(f"{name} must be finite, it holds NaN or infinity")
    return FloatingPointError(f"{lost}; nothing was written")


def _wrong_offsets(arguments):
    offsets = arguments["offsets"]
    name = "y" if "y" in arguments else "items"
    end = len(arguments[name])
    back = np.flatnonzero(offsets[1:] <= offsets[:-1])
    if offsets[0] != 0:
        got = f"{offsets[0]} as the first"
    elif back.size:
        got = f"{offsets[back[0] + 1]} after {offsets[back[0]]}"
    else:
        got = f"{offsets[-1]} as the last"
    return ValueError(f"offsets must increase from 0 to {end}, the length of {name}, got {got}")


def _shared_memory(arguments, outputs):
    for name, (out, replaced) in outputs.items():
        others = {other: pair[0] for other, pair in outputs.items() if other != name}
        for other, A in {**arguments, **others}.items():
            itself = other == replaced and out.ctypes.data == A.ctypes.data
            if np.may_share_memory(out, A) and not itself:
                unless = ", unless it is that array" if other == replaced else ""
                return ValueError(f"{name} must not share memory with {other}{unless}")
    raise AssertionError("no arrays share memory")


def _look(name, A, dtype, shape, why="", written=False):
    """Return an array's shape, or raise what is wrong with it; None is any positive size."""
    if type(A) is not _ARRAY:
        hint = "; its .to_numpy() is one" if hasattr(A, "to_numpy") else ""
        raise TypeError(f"{name} must be a numpy.ndarray, got {type(A).__name__}{hint}")
    if A.dtype != dtype:
        raise TypeError(f"{name} must have dtype {dtype}, got {A.dtype}")
    if A.ndim != len(shape) or any(
        have != want if want is not None else have == 0
        for have, want in zip(A.shape, shape, strict=True)
    ):
        sizes = ", ".join("any" if size is None else str(size) for size in shape)
        wanted = f"({sizes},)" if len(shape) == 1 else f"({sizes})"
        positive = ", of positive sizes" if 0 in A.shape else ""
        raise ValueError(f"{name} must have shape {wanted}{why}{positive}, got {A.shape}")
    kind = ValueError if written else _Layout
    if not A.flags.c_contiguous:
        raise kind(f"{name} must be C-contiguous; numpy.ascontiguousarray makes it so")
    if not A.flags.aligned:
        raise kind(f"{name} must be aligned; its copy is")
    if not A.flags.writeable:
        raise kind(f"{name} must be writeable")
    return A.shape


@kernel
def transpose(A, AT):
    """Write the transpose of A into AT."""
    for row in range(A.shape[0]):
        for column in range(A.shape[1]):
            AT[column, row] = A[row, column]


@kernel
def overlap(A, B):
    """Tell whether two contiguous arrays share memory."""
    a, b = A.ctypes.data, B.ctypes.data
    return a < b + B.nbytes and b < a + A.nbytes


@kernel
def overlap_partly(A, B):
    """Tell whether two contiguous arrays of one size share memory, but are not the same."""
    return overlap(A, B) and A.ctypes.data != B.ctypes.data


@kernel
def good_offsets(offsets, end):
    """Tell whether offsets increase from 0 to the end."""
    last = offsets.shape[0] - 1
    good = offsets[0] == 0 and offsets[last] == end
    for i in range(last):
        good = good and offsets[i] < offsets[i + 1]
    return good


@kernel
def all_below(indices, size):
    """Tell whether indices are between 0 and size - 1."""
    good = True
    for i in indices:
        good = good and 0 <= i < size
    return good


@kernel
def finite_vector(x):
    """Tell whether all numbers are finite."""
    good = True
    for value in x:
        good = good and finite(value)
    return good


@kernel
def finite_matrix(A):
    """Do the same for a matrix."""
    good = True
    for row in range(A.shape[0]):
        good = good and finite_vector(A[row])
    return good


@kernel
def mixed_up(B, W, new_B, new_W):
    """Tell whether outputs share memory with factors that they do not replace, or in part."""
    return (
        overlap(new_B, new_W)
        or overlap(new_B, W)
        or overlap(new_W, B)
        or overlap_partly(new_B, B)
        or overlap_partly(new_W, W)
    )


@kernel
def flaw_of_round_on_samples(X, y, offsets, clients, B, W, new_B, new_W):
    """Return what is wrong with a round's arguments, FINE if nothing is."""
    N, n = X.shape[0], offsets.shape[0] - 1
    if not good_offsets(offsets, N):
        return OFFSETS
    if not all_below(clients, n):
        return INDICES
    if mixed_up(B, W, new_B, new_W):
        return OVERLAP
    for out in (new_B, new_W):
        if overlap(out, X) or overlap(out, y) or overlap(out, offsets) or overlap(out, clients):
            return OVERLAP
    return FINE
