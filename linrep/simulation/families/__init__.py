"""Families of problems that algorithms are swept over: a file each, found by its name.

What a family consists of is known without loading its problems, which only its `make` does.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any

from linrep._lib.suggest import unknown

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class Family:
    """How a cell of a grid becomes a problem."""

    #: Of a cell, what describes the problem, and what says how much is seen of it.
    parameters: tuple[str, ...]
    data: tuple[str, ...]
    #: Integers among the parameters without which there is no problem.
    sizes: tuple[str, ...]
    #: What every cell must meet, with the reason.
    constraints: Mapping[str, str]
    #: ``make(parameters, settings, algorithm, rng) -> (problem, settings)`` draws the problem and
    #: takes what it used out of the settings.
    make: Callable[[dict, dict, Callable, np.random.Generator], tuple[Any, dict]]
    #: What changes what an algorithm makes of it, with the same problem and data.
    options: tuple[str, ...] = ()
    #: Whose docstrings say what the parameters are, and one line on those that no docstring has.
    documented: tuple[Callable[..., Any], ...] = ()
    descriptions: Mapping[str, str] = field(default_factory=dict)
    #: ``refuse(parameters, settings)`` raises ValueError where a cell cannot be run, before any is.
    refuse: Callable[[dict, dict], None] | None = None
    #: What tells a parameter from a setting of an algorithm with the same name: with
    #: ``"partition_"``, ``alpha`` is ``partition_alpha``, and the algorithm's ``method_alpha``.
    prefix: str = ""
    #: ``digests(parameters)`` returns digests of samples that are read, not drawn, by their names.
    digests: Callable[[dict], dict[str, str]] | None = None
    #: Parameters and settings that may name code of a user's own, as ``module:name``.
    own: tuple[str, ...] = ()


def names() -> list[str]:
    """Return the names of all families."""
    return [module.name for module in iter_modules(__path__)]


def find(name: str) -> Family:
    """Return a family by its name.

    Parameters
    ----------
    name : str
        Of its file.

    Raises
    ------
    ValueError
        If there is none.
    """
    if name not in names():
        raise ValueError(unknown("no family of problems", name, names()))
    return import_module(f"{__name__}.{name}").FAMILY


def takes(function: Callable[..., Any], name: str) -> bool:
    """Tell whether a function has a parameter, or any."""
    signature = inspect.signature(function).parameters.values()
    return any(each.name == name or each.kind is each.VAR_KEYWORD for each in signature)


def parameters_of(function: Callable[..., Any]) -> tuple[str, ...]:
    """Return the names of a function's parameters, without its random numbers."""
    return tuple(name for name in inspect.signature(function).parameters if name != "rng")
