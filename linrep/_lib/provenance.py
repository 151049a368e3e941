"""Where a number was computed: processor, instructions, linear algebra, versions."""

from __future__ import annotations

import platform
import re
import subprocess
from collections.abc import Iterable
from functools import cache
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

import linrep
from linrep._lib import portable

LIBRARIES = ("numpy", "scipy", "numba", "pandas", "pyarrow", "matplotlib")


def versions(
    packages: Iterable[str] = (), *, libraries: Iterable[str] = LIBRARIES
) -> dict[str, str]:
    """Return the versions of linrep, of libraries that it is built on and of further packages."""
    return {
        "linrep": linrep.__version__,
        "python": platform.python_version(),
        **{library: version(library) for library in libraries},
        **{module: import_module(module).__version__ for module in packages},
        "system": f"{platform.system()} {platform.machine()}",
    }


def surroundings(
    packages: Iterable[str] = (), *, libraries: Iterable[str] = LIBRARIES
) -> dict[str, Any]:
    """Return what the digits of a result may depend on beside code and seed.

    Packages and libraries are as for :func:`versions`.
    """
    from llvmlite import binding
    from numba import config
    from threadpoolctl import threadpool_info

    names = {"name": "internal_api", "version": "version", "kernel": "architecture",
             "threads": "num_threads"}  # fmt: skip
    blas = [
        {name: each.get(key) for name, key in names.items()}
        for each in threadpool_info()
        if each["user_api"] == "blas"
    ]
    return {
        "mode": portable.mode(),
        "processor": processor(),
        "instructions": config.CPU_NAME or binding.get_host_cpu_name(),
        # In one order: libraries are listed as they happen to lie in memory.
        "BLAS": sorted((each for i, each in enumerate(blas) if each not in blas[:i]), key=str),
        "versions": {
            **versions(packages, libraries=libraries),
            "llvmlite": version("llvmlite"),
            "libc": " ".join(platform.libc_ver()),
        },
    }


@cache
def commit() -> str:
    """Return the commit of linrep's clone, ``-dirty`` where code differs, or else the version.

    It is asked for once in a process: the code may be edited while it computes.
    """

    def git(*arguments):
        here = Path(linrep.__file__).parent
        asked = ["git", *arguments]
        process = subprocess.run(asked, cwd=here, capture_output=True, text=True, check=True)
        return process.stdout.strip()

    try:
        git("ls-files", "--error-unmatch", "__init__.py")  # or it is a clone of something else
        changed = git("status", "--porcelain", "--", ".", ":/experiments")
        return git("describe", "--always", "--exclude=*") + ("-dirty" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return f"linrep {linrep.__version__}"


def processor() -> str:
    """Return the name of the processor, or of its kind where the system does not tell."""
    cpus = Path("/proc/cpuinfo")
    if cpus.is_file():
        model = re.search(r"^model name\s*:\s*(.+)$", cpus.read_text("utf-8"), re.MULTILINE)
        if model:
            return model[1]
    return platform.processor() or platform.machine()
