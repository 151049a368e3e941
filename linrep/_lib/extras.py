"""What ``pip install linrep`` does not bring, and the line that says how to get it."""

from __future__ import annotations

import sys
from importlib.util import find_spec

#: Modules by the extra of pyproject.toml that brings them; an extra may include others.
EXTRAS = {
    "sweeps": ("cloudpickle", "pyarrow", "threadpoolctl", "tqdm"),
    "claims": ("PIL", "flint", "hypothesis", "jinja2", "markdown_it", "markupsafe", "math_core"),
    "cli": ("click",),
    "data": ("sklearn",),
    "certify": ("cvc5", "z3"),
    "cluster": ("distributed",),
    "deep": ("torch",),
    "xarray": ("xarray",),
    "test": ("pytest",),  # what linrep.testing needs of it
}


class MissingPackage(ModuleNotFoundError):
    """A package that comes with an extra of linrep is not installed."""


def need(extra: str, what: str) -> None:
    """Raise MissingPackage, a line that says how to get an extra, unless it is installed.

    It begins with what cannot be done without it.
    """
    missing = [module for module in EXTRAS[extra] if not installed(module)]
    if missing:
        line = f"{what} needs {', '.join(missing)}: {command(missing[0])}"
        raise MissingPackage(line, name=missing[0])


def installed(module: str) -> bool:
    """Tell whether a module is there, without loading it."""
    if module in sys.modules:  # None stands there for a module whose import is forbidden
        return sys.modules[module] is not None
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def command(module: str) -> str:
    """Return the command that installs a module: with its extra, if it is of one."""
    for extra, modules in EXTRAS.items():
        if module in modules:
            return f"pip install 'linrep[{extra}]'"
    return f"pip install {module}"
