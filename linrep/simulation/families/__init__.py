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
    """How a cell of a grid becomes a problem.

    Attributes
    ----------
    parameters : tuple of str
        Of a cell, those that describe the problem.
    data : tuple of str
        Those that say how much is seen of it.
    options : tuple of str
        Those that change what an algorithm makes of it, with the same problem and data.
    documented : tuple of callables
        Whose docstrings say what the parameters are.
    descriptions : mapping of str to str
        One line on those that no docstring has.
    sizes : tuple of str
        Integers among the parameters without which there is no problem.
    constraints : mapping of str to str
        What every cell must meet, with the reason.
    make : callable
        ``make(parameters, settings, algorithm, rng) -> (problem, settings)``; draws the problem and
        takes what it used out of the settings.
    refuse : callable, optional
        ``refuse(parameters, settings)`` raises a ValueError where a cell cannot be run, before any
        is.
    prefix : str
        What tells a parameter from a setting of an algorithm with the same name: with
        ``"partition_"``, ``alpha`` is ``partition_alpha``, and the algorithm's ``method_alpha``.
    digests : callable, optional
        ``digests(parameters)`` returns digests of samples that are read, not drawn, by their names.
    own : tuple of str
        Parameters and settings that may name code of a user's own, as ``module:name``.
    """

    parameters: tuple[str, ...]
    data: tuple[str, ...]
    sizes: tuple[str, ...]
    constraints: Mapping[str, str]
    make: Callable[[dict, dict, Callable, np.random.Generator], tuple[Any, dict]]
    options: tuple[str, ...] = field(default=())
    documented: tuple[Callable[..., Any], ...] = ()
    descriptions: Mapping[str, str] = field(default_factory=dict)
    refuse: Callable[[dict, dict], None] | None = None
    prefix: str = ""
    digests: Callable[[dict], dict[str, str]] | None = None
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
