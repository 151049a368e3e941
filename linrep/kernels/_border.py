"""What calls from Python are checked for, and the memory that they share.

A public function is a `Call`: one table of what it takes and writes, read here. What is wrong is
reported in one line that names the argument. Types and sizes are checked here; what is in the
arrays, and whether they share memory, by the compiled code, before anything is written. It returns
one of the results below, of which an exception is made here.
"""

from collections.abc import Callable, Mapping
from operator import itemgetter
from typing import Any

import numpy as np

from linrep._lib import validation as check
from linrep.kernels.jit import kernel
from linrep.kernels.linalg import finite

#: How a compiled call ended.
FINE, OFFSETS, INDICES, OVERLAP, ASYMMETRIC, UNORDERED, LOST = range(7)

_ARRAY, _FLOAT, _INT = np.ndarray, np.dtype(np.float64), np.dtype(np.int64)
_ABSENT = {_FLOAT: np.empty((0, 0)), _INT: np.empty(0, np.int64)}  # stand for None
_STEPS = 2**31  # more than anybody waits for, and few enough to be counted


class Workspace:
    """Scratch memory for calls in a loop: hand the same one to each, also to different functions.

    It grows to what a call needs and keeps nothing from one call to the next. Threads need one
    each.
    """

    def __init__(self) -> None:
        self._numbers = np.empty(0)


def _scratch(work, size):
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


class Call:
    """A public function: what it takes, what it writes, and the compiled function that it calls.

    Parameters
    ----------
    run : callable
        Takes the arguments of `takes`, scratch memory, and what is written. Returns how it ended
        and, behind that, what it returns beside the outputs.
    takes : dict
        For every argument its shape in letters, of which each means one size, or, if it is no
        array, a function of its name, its value, and the sizes, which returns it.
    writes : pairs of str
        The shape of each output, and the argument that it may replace, being the same array.
    scratch : callable, optional
        How many numbers of scratch memory are needed, from the sizes.
    result : callable, optional
        Makes the result of the outputs and what stands beside them; by default the only output.
    tall : str, optional
        The argument that must not have more columns than rows.
    below : pair of str, optional
        The argument whose numbers must be below a size, and that size's letter.
    lost : str, optional
        What has happened if numbers are lost although all arguments are finite.
    """

    def __init__(
        self,
        run: Callable[..., Any],
        takes: Mapping[str, str | Callable[[str, Any, dict[str, int]], Any]],
        writes: tuple[tuple[str, str], ...] = (),
        *,
        scratch: Callable[..., int] = lambda **sizes: 0,
        result: Callable[..., Any] = lambda out: out,
        tall: str = "",
        below: tuple[str, str] = ("", ""),
        lost: str = "",
    ) -> None:
        self._run, self._scratch, self._result = run, scratch, result
        texts = {name: each for name, each in takes.items() if isinstance(each, str)}
        self._arrays = [(name, *_read(each)) for name, each in texts.items()]
        self._reads, self._takes = itemgetter(*texts), itemgetter(*takes)
        self._others = [(name, each) for name, each in takes.items() if not isinstance(each, str)]
        self._outputs = ["out"] if len(writes) == 1 else [f"out[{i}]" for i in range(len(writes))]
        self._shapes = [tuple(shape.split()) for shape, _ in writes]
        self._replaced = [replaced for _, replaced in writes]
        self._tall, self._below, self._lost = tall, below, lost
        self._absent = [(name, _ABSENT[dtype]) for name, _, dtype, may_be in self._arrays if may_be]
        self._sized = all(read is not rank for _, read in self._others)
        # Of the last call: how arrays lay, sizes, shapes of outputs, scratch memory. In a loop they
        # are the same again and again, and need no second look.
        self._before: tuple[Any, dict[str, int], list[Any], int] = ((), {}, [], 0)

    def __call__(self, given: dict[str, Any], unread: str = "") -> Any:
        """Check arguments by name and call; of what is not read the content does not matter."""
        out = given.get("out")
        outputs: Any = out if type(out) is tuple else (out,)
        layout = _layout(self._reads(given) + outputs)
        before, sizes, shapes, needed = self._before
        known = layout == before
        copied: dict[str, Any] = {}
        if not known:
            sizes, copied = self._sizes(given)
        for name, absent in self._absent:
            if given[name] is None:
                given[name] = absent
        for name, read in self._others:
            given[name] = read(name, given[name], sizes)
        if not known:
            outputs = self._targets(out, sizes)
            for name, A in copied.items():
                for output, written in zip(self._outputs, outputs, strict=True):
                    if np.may_share_memory(written, A):
                        raise ValueError(f"{output} must not share memory with {name}")
            needed = self._scratch(**sizes)
            if not copied and self._sized:
                self._before = layout, sizes, [A.shape for A in outputs], needed
        elif out is None:
            outputs = [np.empty(shape) for shape in shapes]
        numbers = _scratch(given.get("work"), needed)
        ended = self._run(*self._takes(given), numbers, *outputs)
        status, *beside = ended if type(ended) is tuple else (ended,)
        if status == FINE:
            return self._result(*outputs, *beside)
        raise self._refusal(status, given, outputs, sizes, unread)

    def _sizes(self, given):
        """Return what letters mean, and arrays of which copies are handed on."""
        sizes: dict[str, int] = {}
        copied: dict[str, Any] = {}
        for name, letters, dtype, optional in self._arrays:
            A = given[name]
            if A is None and optional:
                continue
            self._check_kind(name, A, letters, dtype)
            if not A.flags.carray:
                # Compiled code takes rows in the order of memory. What is read-only, as columns of
                # a data frame are, would be compiled for once more.
                copied[name] = A
                given[name] = A.copy()
            for letter, size in zip(letters, A.shape, strict=True):
                if letter == "n+1":
                    letter, size = "n", size - 1
                if size < 1 or sizes.setdefault(letter, size) != size:
                    positive = ", of positive sizes" if size < 1 else ""
                    raise self._wrong_shape(name, A, letters, sizes, positive)
        if self._tall and sizes["k"] > sizes["d"]:
            raise ValueError(
                f"{self._tall} must have at most as many columns as rows, "
                f"got shape {given[self._tall].shape}"
            )
        return sizes, copied

    def _targets(self, out, sizes):
        """Return what results are written to: `out`, or new arrays."""
        shapes = [tuple(sizes[letter] for letter in letters) for letters in self._shapes]
        if out is None:
            return [np.empty(shape) for shape in shapes]
        outputs = (out,) if len(shapes) == 1 else out
        if not (type(outputs) is tuple and len(outputs) == len(shapes)):
            raise TypeError("out must be a pair of arrays, or None")
        for name, A, shape, letters in zip(
            self._outputs, outputs, shapes, self._shapes, strict=True
        ):
            self._check_kind(name, A, letters, _FLOAT)
            if A.shape != shape:
                raise self._wrong_shape(name, A, letters, sizes)
            if not A.flags.carray:
                raise ValueError(f"{name} must be C-contiguous, aligned and writeable")
        return outputs

    def _check_kind(self, name, A, letters, dtype):
        if type(A) is not _ARRAY:
            hint = "; its .to_numpy() is one" if hasattr(A, "to_numpy") else ""
            raise TypeError(f"{name} must be a numpy.ndarray, got {type(A).__name__}{hint}")
        if A.dtype != dtype:
            raise TypeError(f"{name} must have dtype {dtype}, got {A.dtype}")
        if A.ndim != len(letters):
            raise self._wrong_shape(name, A, letters, {})

    def _wrong_shape(self, name, A, letters, sizes, positive=""):
        shape = f"({letters[0]},)" if len(letters) == 1 else f"({', '.join(letters)})"
        known = []
        for letter in letters:
            whose = [other for other, each, *_ in self._arrays if {letter, f"{letter}+1"} & {*each}]
            if letter in sizes and whose[:1] != [name]:
                source = f" as in {whose[0]}" if whose else ""
                known.append(f"{letter} = {sizes[letter]}{source}")
        where = f" with {', '.join(known)}" if known else ""
        return ValueError(f"{name} must have shape {shape}{where}{positive}, got {A.shape}")

    def _refusal(self, status, given, outputs, sizes, unread):
        """Return the exception that tells why a compiled call has written nothing."""
        arrays = {name: given[name] for name, *_ in self._arrays}
        if status == OFFSETS:
            return _wrong_offsets(arrays)
        if status == INDICES:
            name, size = self._below[0], sizes[self._below[1]]
            wrong = given[name][(given[name] < 0) | (size <= given[name])][0]
            return ValueError(f"{name} must be between 0 and {size - 1}, got {wrong}")
        if status == OVERLAP:
            return self._shared_memory(arrays, outputs)
        if status == ASYMMETRIC:
            return ValueError("H must be symmetric")
        if status == UNORDERED:
            return ValueError("record must be numbers of steps that increase, from 0 or more")
        for name, A in arrays.items():
            if name != unread and A.dtype == _FLOAT and not np.isfinite(A).all():
                return ValueError(f"{name} must be finite, it holds NaN or infinity")
        return FloatingPointError(f"{self._lost.format_map(given)}; nothing was written")

    def _shared_memory(self, arrays, outputs):
        written = dict(zip(self._outputs, outputs, strict=True))
        for (name, out), replaced in zip(written.items(), self._replaced, strict=True):
            for other, A in {**arrays, **written}.items():
                itself = other == name or (other == replaced and out.ctypes.data == A.ctypes.data)
                if np.may_share_memory(out, A) and not itself:
                    unless = ", unless it is that array" if other == replaced else ""
                    return ValueError(f"{name} must not share memory with {other}{unless}")
        raise AssertionError("no arrays share memory")


def _layout(arrays):
    """Return how arrays lie in memory, None if one of them is no array."""
    try:
        return [A if A is None else (A.shape, A.dtype, A.flags.carray, type(A)) for A in arrays]
    except AttributeError:
        return None


def _read(text):
    """Return letters, type and whether None is one, of "n k", "N: int" or "rows k | None"."""
    shape, _, kind = text.removesuffix(" | None").partition(": ")
    return tuple(shape.split()), _INT if kind else _FLOAT, text.endswith(" | None")


def _wrong_offsets(arrays):
    offsets = arrays["offsets"]
    name = "y" if "y" in arrays else "items"
    end = len(arrays[name])
    back = np.flatnonzero(offsets[1:] <= offsets[:-1])
    if offsets[0] != 0:
        got = f"{offsets[0]} as the first"
    elif back.size:
        got = f"{offsets[back[0] + 1]} after {offsets[back[0]]}"
    else:
        got = f"{offsets[-1]} as the last"
    return ValueError(f"offsets must increase from 0 to {end}, the length of {name}, got {got}")


def positive(name, value, sizes):
    """Return a number greater than 0."""
    return check.real(name, value, above=0.0)


def real(name, value, sizes):
    """Return a finite number."""
    return check.real(name, value)


def index(letter):
    """Return what reads one of 0, ..., the size of a letter less 1."""
    return lambda name, value, sizes: check.integer(
        name, value, minimum=0, maximum=sizes[letter] - 1
    )


def rank(name, value, sizes):
    """Return how many columns there are, at most the dimension."""
    sizes["k"] = check.integer(name, value, minimum=1, maximum=sizes["d"])
    return sizes["k"]


def steps(name, value, sizes):
    """Return how many steps heads take, and their size; 0 stands for None."""
    if value is None:
        return 0, 0.0
    if not (isinstance(value, tuple) and len(value) == 2):
        raise TypeError(
            f"{name} must be a pair (number of steps, step size) or None, got {value!r}"
        )
    return (
        check.integer(f"{name}[0]", value[0], minimum=1, maximum=_STEPS - 1),
        check.real(f"{name}[1]", value[1], above=0.0),
    )


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
