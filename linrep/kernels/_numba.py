"""What kernels take from private parts of numba, and what that saves.

- Kernels are compiled whole. Those that a kernel calls are simplified by themselves, and inlined
  and optimized there. Compiled as numba does it, each of them would be fully optimized by itself,
  again in every caller, and made an entry point of its own: the first runs of FedRep on three kinds
  of batches, of FLUTE and of some public functions wait 56 s for them instead of 31 s. Numba would
  also keep none on disk that take others as arguments, which costs every process 10 s.
- Their cache on disk is keyed by all sources of this package. Numba's is keyed by the file that
  defines a function: an edit would leave stale machine code of its callers in other files.
- Least squares call LAPACK's routine. ``np.linalg.lstsq`` compiles some sixty functions, for
  shapes, types and results that heads do not have: 45 s instead of 31 s.

pyproject.toml has the newest version of numba that all tests were run with.
"""

import gc
import sys
import threading
from contextlib import contextmanager
from functools import cache
from hashlib import blake2b
from multiprocessing import parent_process
from pathlib import Path

import numba
from numba.core import compiler, types, typing
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import CPUDispatcher
from numba.np.linalg import F_INT_nbtype, F_INT_nptype, ensure_lapack

from linrep._lib import clock


@cache
def _sources():
    """Digest what all kernels are made of."""
    paths = sorted(Path(__file__).parent.glob("*.py"))
    return blake2b(b"".join(path.read_bytes() for path in paths), digest_size=8).hexdigest()


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
        stamp = (self._impl.locator.get_source_stamp(), _sources())
        self._cache_file = _Entries(self._cache_path, self._impl.filename_base, stamp)

    def _index_key(self, signature, codegen):
        """Tell named tuples apart by their fields, too: they may be of modules not imported."""
        kinds = [each for each in signature if isinstance(each, types.containers.BaseNamedTuple)]
        return super()._index_key(signature, codegen), tuple(each.fields for each in kinds)

    def save_overload(self, signature, compiled):
        try:
            super().save_overload(signature, compiled)
        except OSError as error:
            self.not_kept(error.strerror)


class _Linkable(JITCodeLibrary):
    """Code of a kernel as its callers link it: its functions simplified, and no machine code."""

    def finalize(self):
        for library in dict.fromkeys(self._linking_libraries):
            if hasattr(library, "_reload_init"):  # newer versions of numba have it
                self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalized = True


class _Callee:
    """A kernel where another one calls it, with what numba asks of a dispatcher there."""

    is_compiling = False  # no kernel calls itself

    def __init__(self, kernel):
        self._kernel = kernel
        self._compiled = {}

    @property
    def nopython_signatures(self):
        return [found.signature for found in self._compiled.values()]

    def get_call_template(self, args, kws):
        pysig, args = self._kernel.fold_argument_types(args, kws)
        args = tuple(args)
        if args not in self._compiled:
            self._compiled[args] = self._compile(args)
        name = self._kernel.py_func.__name__
        signatures = [self._compiled[args].signature]
        template = typing.make_concrete_template(name, key=name, signatures=signatures)
        return template, pysig, args, {}

    def get_overload(self, args):
        return self._compiled[tuple(args)].library

    @global_compiler_lock
    def _compile(self, args):
        kernel, function = self._kernel, self._kernel.py_func
        flags = compiler.Flags()
        kernel.targetdescr.options.parse_as_flags(flags, kernel.targetoptions)
        # Sums are then in one order, whether small kernels call it or large ones.
        flags.forceinline = True
        flags.no_compile = flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
        context = kernel.targetdescr.target_context
        found = compiler.compile_extra(
            kernel.targetdescr.typing_context,
            context,
            function,
            args=args,
            return_type=None,
            flags=flags,
            locals={},
            library=_Linkable(context.codegen(), function.__qualname__),
        )
        context.insert_user_function(found.library, found.fndesc, [found.library])
        return found


class Kernel(CPUDispatcher):
    """A compiled function of arrays; see :func:`kernel`."""

    def __init__(self, function, targetoptions):
        super().__init__(function, targetoptions=targetoptions)
        self._compiler._customize_flags = _for_python_alone
        self._callee = _Callee(self)

    @property
    def _numba_type_(self):
        return types.Dispatcher(self._callee)

    def compile(self, signature):
        """Compile, or load, the version for some types of arguments."""
        with clock.account().compiling(), _announced(self._cache_misses), _no_garbage_collection():
            return super().compile(signature)


def _for_python_alone(flags):
    flags.no_cfunc_wrapper = True
    return flags


_said = threading.Event()


@contextmanager
def _announced(misses):
    """Say what one waits for, once, if it is a compilation and takes longer than a second."""
    before = sum(misses.values())

    def say():
        if sum(misses.values()) > before and not _said.is_set() and parent_process() is None:
            _said.set()
            start = "\r\x1b[K" if sys.stderr.isatty() else ""  # in the place of a bar
            print(
                f"{start}compiling kernels that are called for the first time ...",
                file=sys.stderr,
                flush=True,
            )

    timer = threading.Timer(1.0, say)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


@contextmanager
def _no_garbage_collection():
    """Spare the collector the compiler's many objects, which live until it has finished."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def compiled(function, options, not_kept):
    """Return a kernel; what cannot be kept on disk, and why, is what `not_kept` is called with."""
    made = Kernel(function, options)
    try:
        made._cache = _Cache(function)
        made._cache.not_kept = not_kept
    except RuntimeError:  # what numba raises if it finds none
        not_kept("no folder for them")
    return made


def least_squares():
    """Return LAPACK's DGELSD, as numba itself calls it, and NumPy's type of the rank it writes."""
    ensure_lapack()  # raises where SciPy's LAPACK has integers of another width than numba's calls
    pointer, size = numba.types.CPointer(numba.float64), numba.intp
    routine = numba.types.ExternalFunction(
        "numba_ez_gelsd",
        numba.intc(
            numba.types.char,
            size,  # rows
            size,  # columns
            size,  # right-hand sides
            pointer,  # the matrix, column after column, which is destroyed
            size,  # its leading dimension
            pointer,  # the right-hand side, then the solution
            size,  # its leading dimension
            pointer,  # singular values
            numba.float64,  # share of the largest one from which on others count as 0
            numba.types.CPointer(F_INT_nbtype),  # rank
        ),
    )
    return routine, F_INT_nptype
