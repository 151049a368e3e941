"""One rule for what is out of reach: a statement that asks for more than can exist is vacuous."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import log10
from typing import Any

from linrep.claims.measurements import Cases, Vacuous
from linrep.theory.requirements import POSSIBLE


def within_reach(
    asked: Iterable[tuple[float, Mapping[str, Any]]], *, name: str = "", of: str = "samples"
) -> Cases | Vacuous:
    """Decide whether what a statement asks for can exist at any of some settings.

    Parameters
    ----------
    asked : iterable of (float, mapping)
        The decimal logarithm of the number of samples or rounds, as it may be too large itself, and
        the setting: the smallest that the statement allows are to be among them. Constants that the
        statement leaves open are taken as 1.
    name : str
        Of the part.
    of : str, default "samples"
        What is asked for.

    Returns
    -------
    Cases or Vacuous
        Vacuous if the least of them is beyond :data:`linrep.theory.requirements.POSSIBLE`.

    Raises
    ------
    ValueError
        If there are no settings.
    """
    found = list(asked)
    if not found:
        raise ValueError("asked must hold at least one setting, got none")
    least, setting = min(found, key=lambda pair: pair[0])
    most, quantity = log10(POSSIBLE), f"log10 of the least {of} asked for"
    if least <= most:
        return Cases([(least, most, setting)], name=name, quantity=quantity)
    why = f"10^{least:.1f} {of} at least, more than the 10^{most:.0f} that can exist"
    return Vacuous(least, most, why, name=name, quantity=quantity, setting=setting)
