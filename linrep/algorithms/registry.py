"""The algorithms that can be swept and compared by name: each is registered where it is defined.

``make names`` writes the names that `linrep` and `linrep.algorithms` offer.
"""

import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

_Function = TypeVar("_Function", bound=Callable[..., Any])


class _Registry(Mapping[str, Callable[..., Any]]):
    """Algorithms by name, those of one family of problems after the other."""

    def __init__(self) -> None:
        self._homes: dict[str, tuple[str, str]] = {}

    def add(self, name: str, family: str, module: str) -> None:
        self._homes[name] = family, module

    def family(self, name: str) -> str:
        """Return the name of the family of problems that an algorithm is for."""
        return self._homes[name][0]

    # As the module has it now, which is with its arguments checked.
    def __getitem__(self, name: str) -> Callable[..., Any]:
        return getattr(sys.modules[self._homes[name][1]], name)

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._homes, key=lambda name: (self.family(name) != "regression", name)))

    def __len__(self) -> int:
        return len(self._homes)


ALGORITHMS = _Registry()


def algorithm(family: str) -> Callable[[_Function], _Function]:
    """Register a function as an algorithm that is swept and compared by its name.

    The family of problems that it is for is a file of `linrep.simulation.families`.
    """

    def register(function: _Function) -> _Function:
        ALGORITHMS.add(function.__name__, family, function.__module__)
        return function

    return register
