"""The portable mode: a process in which the same seed gives the same bits on many processors.

Compiled kernels, OpenBLAS and NumPy's own loops choose instructions by the processor they find:
wider registers add up in another order, and chaotic trajectories make the last digit the first.
In the portable mode all three keep to x86-64-v3 (AVX2 and FMA, processors since 2013), whatever
else the processor has, and linear algebra has one thread, since its sums depend on how many share
them. All of that is read once, when a library is loaded, so that a process has to be started in
the mode; what it starts itself, workers for instance, inherits it.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Collection, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec

#: The level of instructions, by LLVM's name.
LEVEL = "x86-64-v3"
#: What makes up the mode, beside NumPy's variable, which depends on NumPy and the processor.
VARIABLES = {
    "NUMBA_CPU_NAME": LEVEL,
    "NUMBA_CPU_FEATURES": "",
    "NUMBA_DISABLE_INTEL_SVML": "1",
    "NUMBA_DISABLE_JIT": "0",
    "OPENBLAS_CORETYPE": "Haswell",
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
}
_NUMPY = "NPY_DISABLE_CPU_FEATURES"
#: By which process this one was started in the mode; the same one, where it was replaced.
_STARTED = "LINREP_STARTED_PORTABLE_BY"
#: The level by LLVM's names of features, without those that every x86-64 processor has.
_REQUIRED = (
    "sse3", "ssse3", "sse4.1", "sse4.2", "popcnt", "cx16", "sahf",
    "avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "xsave",
)  # fmt: skip
#: And by NumPy's names of what its loops are compiled for, up to 2.3 and since.
_WITHIN = (
    "SSE", "SSE2", "SSE3", "SSSE3", "SSE41", "POPCNT", "SSE42",
    "AVX", "F16C", "FMA3", "AVX2", "X86_V2", "X86_V3",
)  # fmt: skip


def reason() -> str | None:
    """Return why the mode cannot be had here, None if it can."""
    if platform.machine().lower() not in ("x86_64", "amd64"):
        return f"this is {platform.machine()}, not x86-64"
    from llvmlite.binding import get_host_cpu_features

    features = get_host_cpu_features()
    missing = [name for name in _REQUIRED if not features.get(name)]
    return f"this processor lacks {', '.join(missing)}" if missing else None


def available() -> bool:
    """Tell whether this machine can run the mode."""
    return reason() is None


def mode() -> str:
    """Return the mode of this process, "portable" or "native".

    What is looked at is what the libraries do, not what they were asked to: a variable that is set
    after they were loaded changes nothing.
    """
    portable = (
        all(os.environ.get(name) == value for name, value in VARIABLES.items())
        and available()
        and not _beyond(*_numpy_features())
        and not _find_lacking(*_numpy_features())
        and _is_pinned()
    )
    return "portable" if portable else "native"


def environment() -> dict[str, str]:
    """Return this process's environment with what a process in the mode has to be started with."""
    disabled = {*os.environ.get(_NUMPY, "").replace(",", " ").split()}
    disabled |= {*_beyond(*_numpy_features())}
    changed = {_NUMPY: " ".join(sorted(disabled))} if disabled else {}
    return {**os.environ, **VARIABLES, **changed}


def enter(argv: Sequence[str] | None = None) -> None:
    """Start this process again in the mode; do nothing if it is in it, or cannot be.

    Nothing that was done before is kept, so that a command calls it first. Where a library does not
    do what its variables say, starting again once more would not help: then it goes on natively,
    which `mode` tells. By default Python is called with the words that it was called with.
    """
    if not available() or mode() == "portable" or was_started():
        return
    arguments = [sys.executable, *(sys.orig_argv[1:] if argv is None else argv)]
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    inside = {**environment(), _STARTED: str(os.getpid())}
    if os.name == "nt":  # there the shell would not wait for the new process
        sys.exit(subprocess.call(arguments, env=inside))
    os.execve(sys.executable, arguments, inside)


def was_started() -> bool:
    """Tell whether `enter` has started this process."""
    return os.environ.get(_STARTED) in (str(os.getpid()), str(os.getppid()))


def _numpy_features():
    """Return what NumPy's loops may be compiled for beside its baseline, and what is enabled."""
    core = "_core" if find_spec("numpy._core") else "core"  # its name before NumPy 2
    loaded = import_module(f"numpy.{core}._multiarray_umath")
    return loaded.__cpu_dispatch__, loaded.__cpu_features__


def _beyond(dispatched: Collection[str], enabled: Mapping[str, bool]) -> list[str]:
    """Return those enabled features beyond the level that NumPy has loops for.

    Naming any other makes NumPy warn.
    """
    return [name for name in dispatched if enabled.get(name) and name not in _WITHIN]


def _find_lacking(dispatched: Collection[str], enabled: Mapping[str, bool]) -> list[str]:
    """Return what of the level NumPy has loops for and may not use, as somebody disabled it."""
    return [name for name in dispatched if name in _WITHIN and not enabled.get(name)]


def _is_pinned():
    """Tell whether numba does what the variables say, and linear algebra is OpenBLAS and does."""
    import numpy.linalg  # noqa: F401  loads OpenBLAS
    from threadpoolctl import threadpool_info

    numba = sys.modules.get("numba")
    if numba is not None:
        config = numba.config
        target = (config.CPU_NAME, config.CPU_FEATURES)
        if target != (LEVEL, "") or not config.DISABLE_INTEL_SVML or config.DISABLE_JIT:
            return False
    kernel = VARIABLES["OPENBLAS_CORETYPE"]
    libraries = [each for each in threadpool_info() if each["user_api"] == "blas"]
    return bool(libraries) and all(
        each["internal_api"] == "openblas"
        and each.get("architecture") == kernel
        and each["num_threads"] == 1
        for each in libraries
    )
