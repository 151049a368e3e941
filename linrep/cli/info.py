"""linrep info: what a bug report should say of the machine and the installation."""

from __future__ import annotations

import json
import os
import platform
import re
import sys
from collections.abc import Callable
from functools import partial
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Any

import click

import linrep
from linrep._lib import papers
from linrep.cli.group import DEFAULT_WORKERS, main
from linrep.cli.text import echo

#: Beside the dependencies that the installation names.
_OPTIONAL = ("scikit-learn", "torch", "torchvision", "jax", "distributed")
_THREADS = (
    "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS",
    "NUMBA_THREADING_LAYER", "NUMBA_DISABLE_JIT", "NUMBA_CACHE_DIR",
    "NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES", "OPENBLAS_CORETYPE", "NPY_DISABLE_CPU_FEATURES",
)  # fmt: skip


@main.command()
@click.option(
    "--json", "as_json", is_flag=True, help="Print a JSON object, to be read by a program."
)
def info(as_json):
    """Print versions, linear algebra, threads, caches and folders, for a bug report."""
    surroundings = collect()
    if as_json:
        echo(json.dumps(surroundings, indent=1))
        return
    for name, value in surroundings.items():
        for line in value if isinstance(value, list) else [value]:
            echo(f"{name:13} {_text(line)}")
            name = ""


def collect() -> dict[str, Any]:
    """Return what is known of the surroundings, as plain data; what fails says why."""
    sections: dict[str, Callable[[], Any]] = {
        "linrep": lambda: linrep.__version__,
        "installed": lambda: str(Path(linrep.__file__).parent),
        "python": lambda: f"{platform.python_version()} {platform.python_implementation()}",
        "executable": lambda: sys.executable,
        "system": platform.platform,
        "encoding": lambda: f"{sys.getfilesystemencoding()}, output {sys.stdout.encoding}",
        **{name: partial(_version, name) for name in _libraries()},
        "processor": _processor,
        "processors": os.cpu_count,
        "workers": lambda: DEFAULT_WORKERS,
        "BLAS": _blas,
        "mode": _mode,
        "settings": lambda: {name: os.environ[name] for name in _THREADS if name in os.environ},
        "compiler": _numba,
        "kernels": _kernels,
        "data": _data,
        "folders": lambda: {
            "record": "figures",
            "figures": "runs/figures",
            "runs": "runs",
            "checks": "runs/verify",
        },
        "papers": _papers,
        "experiments": _experiments,
    }
    return {name: _read_section(section) for name, section in sections.items()}


def _read_section(section):
    try:
        return section()
    except Exception as error:  # a broken installation is what such a report is for
        return f"unknown: {type(error).__name__}: {' '.join(str(error).split())}"


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
        return None


def _processor():
    from linrep._lib.provenance import processor

    return processor()


def _blas():
    """Return the libraries of threads that are loaded with NumPy and SciPy."""
    import numpy as np  # noqa: F401  loads the library that is looked for
    import scipy.linalg  # noqa: F401  the same
    from threadpoolctl import threadpool_info

    keys = ("internal_api", "version", "architecture", "threading_layer", "num_threads", "filepath")
    return [
        {name: each[name] for name in keys if each.get(name) is not None}
        for each in threadpool_info()
    ]


def _mode():
    from linrep._lib import portable

    return {"mode": portable.mode(), "portable mode": portable.reason() or "available"}


def _numba():
    import numba

    return {
        "compiles": not numba.config.DISABLE_JIT,
        "threads": numba.config.NUMBA_NUM_THREADS,
        "threading layer": numba.config.THREADING_LAYER,
        "vector instructions": numba.config.CPU_NAME or "of this processor",
    }


def _kernels():
    """Return where compiled kernels are kept, or that they are not."""
    import numba

    if numba.config.DISABLE_JIT:
        return {"kept in": None, "reason": "NUMBA_DISABLE_JIT is set: nothing is compiled"}
    from linrep.kernels import linalg

    folder = linalg.dot.stats.cache_path
    if folder is None:
        return {"kept in": None, "reason": "no folder can be written; set NUMBA_CACHE_DIR"}
    files = [path.stat().st_size for path in Path(folder).glob("*.nbc")]
    return {
        "kept in": str(folder),
        "writable": os.access(folder, os.W_OK),
        "files": len(files),
        "bytes": sum(files),
    }


def _data():
    from linrep.deep.readers import FOLDER_VARIABLE

    folder = os.environ.get(FOLDER_VARIABLE)
    return {FOLDER_VARIABLE: folder, "there": Path(folder).is_dir() if folder else False}


def _papers():
    """Return where the statements of papers are, and why a package's paper is not taken."""
    found = [{name: item.module} for name, item in papers.papers().items()]
    return found + [{module: f"not taken: {why}"} for module, why in papers.skipped().items()]


def _experiments():
    from linrep._lib.scripts import available, folder

    return {"in": str(folder()), "ids": available()}


def _text(value):
    if isinstance(value, dict):
        return ", ".join(f"{name} {_text(each)}" for name, each in value.items()) or "-"
    if isinstance(value, list):
        return " ".join(map(_text, value)) or "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "-" if value is None else str(value)
