"""What a bug report should say of the machine and the installation: ``linrep --version -v``."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import linrep
from linrep._lib import papers
from linrep._lib.extras import EXTRAS, installed

#: Beginnings of the variables that libraries are set by.
_VARIABLES = re.compile(r"(NUMBA|OMP|OPENBLAS|MKL|NPY|LINREP)_")


def describe() -> dict[str, list[str]]:
    """Return what is known of the surroundings, in lines; what fails says why."""
    sections: dict[str, Callable[[], list[str]]] = {
        "linrep": lambda: [f"{linrep.__version__} in {Path(linrep.__file__).parent}"],
        "python": lambda: [sys.executable],
        "digits": _digits,
        "extras": _extras,
        "kernels": _kernels,
        "settings": lambda: [
            f"{name}={value}" for name, value in os.environ.items() if _VARIABLES.match(name)
        ],
        "papers": _papers,
    }
    return {name: _lines(section) for name, section in sections.items()}


def _lines(section):
    try:
        return section()
    except Exception as error:  # a broken installation is what such a report is for
        return [f"unknown: {type(error).__name__}: {' '.join(str(error).split())}"]


def _digits():
    """Return what the digits of a result depend on beside code and seed."""
    import scipy.linalg  # noqa: F401  loads the libraries of threads that are looked for

    from linrep._lib import portable
    from linrep._lib.provenance import surroundings

    known: dict[str, Any] = surroundings()
    versions = ", ".join(f"{name} {number}" for name, number in known.pop("versions").items())
    lines = [f"{name}: {value}" for name, value in known.items()]
    return [*lines, f"portable mode {portable.reason() or 'available'}", versions]


def _extras():
    """Return the versions of what extras bring, as far as it is installed."""
    found = []
    for module in (each for modules in EXTRAS.values() for each in modules if installed(each)):
        try:
            found.append(f"{module} {version(module)}")
        except PackageNotFoundError:  # its distribution has another name
            found.append(module)
    return [", ".join(found)]


def _kernels():
    """Return where compiled kernels are kept, or that they are not."""
    import numba

    if numba.config.DISABLE_JIT:
        return ["NUMBA_DISABLE_JIT is set: nothing is compiled"]
    from linrep.kernels import linalg

    folder = linalg.dot.stats.cache_path
    if folder is None:
        return ["not kept: no folder can be written; set NUMBA_CACHE_DIR"]
    sizes = [path.stat().st_size for path in Path(folder).glob("*.nbc")]
    return [f"kept in {folder}: {len(sizes)} files, {sum(sizes) / 1e6:.1f} MB"]


def _papers():
    """Return where the statements of papers are, and why a package's paper is not taken."""
    found = [f"{name} {item.module}" for name, item in papers.papers().items()]
    return found + [f"{module} is not taken: {why}" for module, why in papers.skipped().items()]
