"""The decorator every kernel carries, and what is done where numba lacks what it relies on.

Kernels are compiled whole, draw by NumPy's C functions and solve by LAPACK's through parts of numba
that it does not promise to keep: `_whole`, `_draws` and `_gelsd`. Each has a stand-in that is made
of public parts, slower. A version of numba that is not known is tried before it is relied on.

Nothing fails for want of the cache: where no folder can be written, the disk is full, or a file is
damaged, kernels are compiled again.
"""

import warnings
from functools import partial
from importlib import import_module
from multiprocessing import parent_process

import numba

# Sums may be reordered (that is what lets them use vector registers) and multiplications fused;
# NaN and infinity keep their meaning, which the detection of divergence relies on.
_FASTMATH = {"reassoc", "contract", "nsz"}
#: The newest version of numba that all tests were run with.
_KNOWN = (0, 68)


def private(name):
    """Return a module of this folder that relies on private parts of numba, None if they lack.

    Parameters
    ----------
    name : str
        Its function ``attempt`` raises if it does not do its work.
    """
    try:
        module = import_module(f"linrep.kernels.{name}")
        if tuple(int(part) for part in numba.__version__.split(".")[:2]) > _KNOWN:
            module.attempt()
    except Exception as error:  # whatever another version makes of it
        _stands_in(error)
        return None
    return module


_lacking: list[Exception] = []


def _stands_in(error):
    """Warn, in one process and once, that kernels are not what they could be."""
    _lacking.append(error)
    if parent_process() is None and len(_lacking) == 1:
        warnings.warn(
            f"numba {numba.__version__} lacks what kernels are made of ({error}): they are "
            f"compiled with its public parts alone, and slower; numba {_KNOWN[0]}.{_KNOWN[1]} "
            "has all of them",
            RuntimeWarning,
            stacklevel=1,
        )


def _not_kept(reason):
    """Warn, in one process and, by Python's rule, once, that each start compiles anew."""
    if parent_process() is None:
        warnings.warn(
            f"compiled kernels are not kept ({reason}): set NUMBA_CACHE_DIR to a folder that "
            "can be written",
            RuntimeWarning,
            stacklevel=1,
        )


_whole = None if numba.config.DISABLE_JIT else private("_whole")


def kernel(function=None, *, counted=False):
    """Compile a function of arrays: cached on disk, GIL released, NumPy's rules for x/0.

    Inlined wherever another kernel calls it, or hands it to a third one as an argument (not as a
    part of a tuple). Without compilation (NUMBA_DISABLE_JIT) it is the function itself.

    Views are not reference-counted, which would cost small problems dearly. Two kinds of
    function must be, and say so by ``counted``: one that creates an array, or calls one of NumPy's
    that does (it is refused otherwise; assigning an array to a slice counts, too); and one that
    Python hands a Generator, which would never be released.
    """
    if function is None:
        return partial(kernel, counted=counted)
    if numba.config.DISABLE_JIT:
        return function
    options = {
        "nopython": True,
        "boundscheck": None,
        "nogil": True,
        "error_model": "numpy",
        "fastmath": _FASTMATH,
    }
    if _whole is not None:
        return _whole.compiled(function, {**options, "_nrt": counted}, _not_kept)
    compiled = numba.jit(**options)(function)
    try:
        compiled.enable_caching()
    except RuntimeError:  # what numba raises if it finds no folder
        _not_kept("no folder for them")
    return compiled
