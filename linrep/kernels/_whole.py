"""Kernels compiled whole, by private parts of numba.

A kernel that Python calls is compiled whole: those it calls are simplified by themselves, and
inlined and optimized there. Compiled as numba does it, each of them would be fully optimized by
itself, again in every caller, and made an entry point of its own, in twice the time.

Numba's disk cache is keyed by the file that defines a function, so an edit in one kernel module
would leave stale machine code of its callers in others. The key here holds a digest of the modules
of this package that the file imports, directly or not, too: an edit recompiles what may depend on
it, and nothing else. So does another version of NumPy, whose C functions draw random numbers where
they can be called.
"""

import gc
import re
import sys
import threading
from contextlib import contextmanager
from functools import cache
from hashlib import blake2b
from inspect import getfile
from multiprocessing import parent_process
from pathlib import Path

import numpy as np
from numba.core import compiler, types, typing
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import CPUDispatcher

from linrep._lib import clock
from linrep.kernels._numpy_random import SHOWN

_FOLDER = Path(__file__).parent
_IMPORTS = re.compile(
    rb'^ *from linrep\.kernels(?:\.(\w+) import| import (\w+))|\bprivate\("(\w+)"\)', re.MULTILINE
)


@cache
def _source(name):
    """Return the source of a module of this folder, and which others it imports.

    A pattern finds them in a fraction of the time of a parser.
    """
    try:
        source = (_FOLDER / f"{name}.py").read_bytes()
    except OSError:  # in an archive, which numba's own key is of
        source = b""
    return source, {
        other.decode() for found in _IMPORTS.findall(source) for other in found if other
    }


@cache
def _digest(name):
    """Digest the sources of a module of this folder and of those it imports, directly or not."""
    found, left = set(), {name}
    while left:
        found |= left
        left = {other for each in left for other in _source(each)[1]} - found
    return blake2b(b"".join(_source(each)[0] for each in sorted(found)), digest_size=8).hexdigest()


def _state(function):
    """Return what a compiled function is of, beside what numba notes.

    A function that is defined elsewhere may have come by kernels in any way: it is of all sources.
    """
    path = Path(getfile(function))
    names = [path.stem] if path.parent == _FOLDER else [each.stem for each in _FOLDER.glob("*.py")]
    return sorted(map(_digest, names)), np.__version__, SHOWN


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
        stamp = (self._impl.locator.get_source_stamp(), _state(function))
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


def attempt():
    """Raise if a kernel that calls another one is not compiled as it should be."""
    options = {"nopython": True, "nogil": True, "error_model": "numpy", "_nrt": False}
    inner = Kernel(_plus_one, options)

    def outer(x):
        rest = x[1:]
        return inner(rest[0])

    if Kernel(outer, options)(np.zeros(2)) != 1.0:
        raise ArithmeticError("a compiled sum is wrong")


def _plus_one(x):
    return x + 1.0
