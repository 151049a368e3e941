"""The decorator every kernel carries.

Nothing fails for want of the cache: where no folder can be written, the disk is full, or a file is
damaged, kernels are compiled again.
"""

import warnings
from functools import partial
from multiprocessing import parent_process

import numba

# Sums may be reordered (that is what lets them use vector registers) and multiplications fused;
# NaN and infinity keep their meaning, which the detection of divergence relies on.
_FASTMATH = {"reassoc", "contract", "nsz"}


def _not_kept(reason):
    """Warn, in one process and, by Python's rule, once, that each start compiles anew."""
    if parent_process() is None:
        warnings.warn(
            f"compiled kernels are not kept ({reason}): set NUMBA_CACHE_DIR to a folder that "
            "can be written",
            RuntimeWarning,
            stacklevel=1,
        )


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
    from linrep.kernels._numba import compiled

    options = {
        "nopython": True,
        "boundscheck": None,
        "nogil": True,
        "error_model": "numpy",
        "fastmath": _FASTMATH,
        "_nrt": counted,
    }
    return compiled(function, options, _not_kept)
