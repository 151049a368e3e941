"""What a bug report should say of the machine and the installation: ``linrep --version -v``."""

from __future__ import annotations

import os
import platform
import re
import sys
from collections.abc import Callable
from functools import partial
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Any

import linrep
from linrep._lib import papers

#: Beside the dependencies that the installation names.
_OPTIONAL = ("pyarrow", "scikit-learn", "torch", "torchvision", "jax", "distributed")
#: Beginnings of the variables that libraries are set by.
_VARIABLES = re.compile(r"(NUMBA|OMP|OPENBLAS|MKL|NPY|LINREP)_")


def describe() -> dict[str, list[str]]:
    """Return what is known of the surroundings, in lines; what fails says why."""
    sections: dict[str, Callable[[], Any]] = {
        "linrep": lambda: f"{linrep.__version__} in {Path(linrep.__file__).parent}",
        "python": lambda: f"{platform.python_version()} {sys.executable}",
        "system": platform.platform,
        "processor": _processor,
        **{name: partial(_version, name) for name in _libraries()},
        "BLAS": _blas,
        "mode": _mode,
        "kernels": _kernels,
        "settings": lambda: [
            f"{name}={value}" for name, value in os.environ.items() if _VARIABLES.match(name)
        ],
        "papers": _papers,
    }
    return {name: _lines(section) for name, section in sections.items()}


def _lines(section):
    try:
        found = section()
    except Exception as error:  # a broken installation is what such a report is for
        found = f"unknown: {type(error).__name__}: {' '.join(str(error).split())}"
    return found if isinstance(found, list) else [found]


def _libraries():
    """Return the names of the dependencies, also where linrep is not installed but on the path."""
    try:
        needed = [each for each in requires("linrep") or () if "extra ==" not in each]
        names = [re.split(r"[^\w.-]", each)[0] for each in needed]
    except PackageNotFoundError:
        names = ["numpy", "scipy", "numba", "pandas", "pyarrow", "matplotlib"]
    return (*names, *_OPTIONAL)


def _version(name):
    try:
        return version(name)
    except PackageNotFoundError:
        return "-"


def _processor():
    from linrep._lib.provenance import processor

    return f"{processor()}, {os.cpu_count()} of them"


def _blas():
    """Return the libraries of threads that are loaded with NumPy and SciPy."""
    import numpy as np  # noqa: F401  loads the library that is looked for
    import scipy.linalg  # noqa: F401  the same
    from threadpoolctl import threadpool_info

    keys = ("internal_api", "version", "architecture", "threading_layer", "num_threads", "filepath")
    return [
        ", ".join(f"{name} {each[name]}" for name in keys if each.get(name) is not None)
        for each in threadpool_info()
    ]


def _mode():
    from linrep._lib import portable

    return f"{portable.mode()}, portable mode {portable.reason() or 'available'}"


def _kernels():
    """Return where compiled kernels are kept, or that they are not."""
    import numba

    if numba.config.DISABLE_JIT:
        return "NUMBA_DISABLE_JIT is set: nothing is compiled"
    from linrep.kernels import linalg

    folder = linalg.dot.stats.cache_path
    if folder is None:
        return "not kept: no folder can be written; set NUMBA_CACHE_DIR"
    sizes = [path.stat().st_size for path in Path(folder).glob("*.nbc")]
    return f"kept in {folder}: {len(sizes)} files, {sum(sizes) / 1e6:.1f} MB"


def _papers():
    """Return where the statements of papers are, and why a package's paper is not taken."""
    found = [f"{name} {item.module}" for name, item in papers.papers().items()]
    return found + [f"{module} is not taken: {why}" for module, why in papers.skipped().items()]
