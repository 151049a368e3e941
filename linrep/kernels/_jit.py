"""The decorator every kernel carries, and where compiled kernels are kept.

Numba's disk cache is keyed by the file that defines a function, so an edit in one kernel module
would leave stale machine code of its callers in others. The key here holds a digest of all kernel
sources, too: any edit in this package recompiles whatever may depend on it.

Nothing fails for want of the cache: where no folder can be written, the disk is full, or a file is
damaged, kernels are compiled again.
"""

import warnings
from functools import partial
from hashlib import blake2b
from multiprocessing import parent_process
from pathlib import Path

import numba
from numba.core.caching import FunctionCache, IndexDataCacheFile

_SOURCES = sorted(Path(__file__).parent.glob("*.py"))
_DIGEST = blake2b(b"".join(path.read_bytes() for path in _SOURCES), digest_size=8).hexdigest()

# Sums may be reordered (that is what lets them use vector registers) and multiplications fused;
# NaN and infinity keep their meaning, which the detection of divergence relies on.
_FASTMATH = {"reassoc", "contract", "nsz"}


class _Entries(IndexDataCacheFile):
    """Files of one function's compiled versions, each named by what it holds.

    Numba numbers them: two processes that compile a function for different arguments at the same
    time would write to one file, which the index then hands out for the wrong arguments.
    """

    def load(self, key):
        try:
            return super().load(key)
        except Exception:  # whatever the bytes of a damaged file are taken for
            return None

    def _load_index(self):
        try:
            return super()._load_index()
        except Exception:  # the same
            return {}

    def save(self, key, data):
        base = self._index_name.removesuffix(".nbi")
        holds = repr((key, self._source_stamp)).encode()
        name = f"{base}.{blake2b(holds, digest_size=8).hexdigest()}.nbc"
        overloads = self._load_index()
        if not overloads:  # of another state of the sources, if any
            for path in Path(self._cache_path).glob(f"{base}.*.nbc"):
                path.unlink(missing_ok=True)
        self._save_data(name, data)
        self._save_index({**overloads, key: name})


class _Cache(FunctionCache):
    def __init__(self, function):
        super().__init__(function)
        stamp = (self._impl.locator.get_source_stamp(), _DIGEST)
        self._cache_file = _Entries(self._cache_path, self._impl.filename_base, stamp)

    def save_overload(self, signature, compiled):
        try:
            super().save_overload(signature, compiled)
        except OSError as error:
            _not_kept(error.strerror)


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
        nogil=True,
        error_model="numpy",
        fastmath=_FASTMATH,
        forceinline=True,
        _nrt=counted,
    )(function)
    if not numba.config.DISABLE_JIT:
        try:
            compiled._cache = _Cache(function)
        except RuntimeError:  # what numba raises if it finds none
            _not_kept("no folder for them")
    return compiled
