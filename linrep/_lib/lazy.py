"""Names of a package that load on first use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lazy_loader


def attach(
    package: str, file: str
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package, whose names its stub lists.

    The package is known by its ``__name__`` and ``__file__``. A name that it does not have is
    answered with those that are near.
    """
    load, listed, names = lazy_loader.attach_stub(package, file)

    def get(name):
        if name in names:
            return load(name)
        from linrep._lib.suggest import unknown

        known = [] if name.startswith("_") else names  # Python itself asks for those
        otherwise = f"dir({package}) lists what there is"
        raise AttributeError(
            unknown(f"module {package!r} has no attribute", name, known, otherwise=otherwise)
        )

    return get, listed, names
