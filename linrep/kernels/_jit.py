"""The decorator every kernel carries.

Numba's disk cache is keyed by the file that defines a function, so an edit in one kernel module
would leave stale machine code of its callers in others. The decorator adds a digest of all kernel
sources to that key: any edit in this package recompiles whatever may depend on it.
"""

from functools import partial
from hashlib import blake2b
from pathlib import Path

import numba

_SOURCES = sorted(Path(__file__).parent.glob("*.py"))
_DIGEST = blake2b(b"".join(path.read_bytes() for path in _SOURCES), digest_size=8).hexdigest()

# Sums may be reordered (that is what lets them use vector registers) and multiplications fused;
# NaN and infinity keep their meaning, which the detection of divergence relies on.
_FASTMATH = {"reassoc", "contract", "nsz"}


def kernel(function=None, *, counted=False):
    """Compile a function of arrays: cached on disk, GIL released, NumPy's rules for x/0.

    Inlined wherever another kernel calls it: a process that compiles would otherwise run another
    copy of the callee than one that loads the cache, with its sums in another order.

    Views are not reference-counted, which would cost small problems dearly. Two kinds of
    function must be, and say so by ``counted``: one that creates an array, or calls one of NumPy's
    that does (it is refused otherwise; assigning an array to a slice counts, too); and one that
    Python hands a Generator, which would never be released.
    """
    if function is None:
        return partial(kernel, counted=counted)
    compiled = numba.njit(
        cache=True,
        nogil=True,
        error_model="numpy",
        fastmath=_FASTMATH,
        forceinline=True,
        _nrt=counted,
    )(function)
    if not numba.config.DISABLE_JIT:
        file = compiled._cache._cache_file
        file._source_stamp = (file._source_stamp, _DIGEST)
    return compiled
