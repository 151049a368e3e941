"""Appendix C.1, Figure 3: FLUTE's error with more clients."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from linrep.claims import Evidence, claim, combine, ordering
from linrep.claims.fedrep._common import decided
from linrep.claims.flute._races import TIE, noted, race

Decision = Callable[..., Evidence]
FEW, MANY = 15, 30
GRID = [(m, k) for m in (12, 20) for k in (2, 4, 6, 8)]

_CLIENTS: dict[str, Any] = {
    "place": "Appendix C.1; Figure 3",
    "kind": "comparison",
}


@claim(
    "flute.figure3.clients",
    latex=r"M < M' \implies \mathrm{error}(M) > \mathrm{error}(M')",
    plain="Singular values of the models fixed: with more clients (M = 15, 30) FLUTE's error is "
    "smaller.",
    broken={"smaller": FEW},
    **_CLIENTS,
)
def clients(budget, rng, *, smaller=MANY) -> Evidence:
    """Compare errors after 800 epochs, against the truth and, as in (7), its best of rank k."""
    grid = budget([(20, 4)], GRID)
    return _compare(budget, rng, grid, smaller, ("truth_error", "client_error"))


@claim(
    "flute.figure3.clients.normalized",
    latex=r"M < M' \implies \frac{\mathrm{error}(M)}{\mathrm{error}_\star(M)} > "
    r"\frac{\mathrm{error}(M')}{\mathrm{error}_\star(M')}",
    plain="The same for the error divided by the least that rank k allows at that M: singular "
    "values that are fixed make every model shorter with more clients.",
    broken={"factor": 2.0**0.5},
    mended={"cells": ((20, 2),)},
    **_CLIENTS,
)
def normalized(budget, rng, *, factor=1.0, cells=None) -> Evidence:
    """Compare errors after 800 epochs over those of the best model of rank k."""
    grid = budget([(20, 2), (12, 8)], GRID) if cells is None else cells
    return _compare(budget, rng, grid, MANY, ("normalized",), factor)


@claim(
    "flute.figure3.clients.normalized.corrected",
    latex=r"\frac{\mathrm{error}(15)}{\mathrm{error}_\star(15)} < "
    r"\frac{\mathrm{error}(30)}{\mathrm{error}_\star(30)} \quad (N = 12,\ k = 8)",
    plain="The same at N = 12, k = 8, where it is larger with more clients: the noise stays, and "
    "the models get shorter.",
    corrects="flute.figure3.clients.normalized",
    broken={"smaller": MANY},
    **_CLIENTS,
)
def normalized_corrected(budget, rng, *, smaller=FEW) -> Evidence:
    """Compare errors after 800 epochs over those of the best model of rank k."""
    return _compare(budget, rng, [(12, 8)], smaller, ("normalized",))


def _compare(budget, rng, grid, smaller, measures, factor=1.0):
    """Decide whether the error with so many clients, times a factor, is below the other one."""
    parts: list[Decision] = []
    told = []
    for m, k in grid:
        few, many = (
            race(rng, budget(60, 80, 300), "Figure 3", n, m, k, starts=()) for n in (FEW, MANY)
        )
        one, other = (many, few) if smaller == MANY else (few, many)
        for what in measures:
            parts.append(
                partial(
                    ordering, factor * one.last("FLUTE", what), other.last("FLUTE", what), tie=TIE,
                    name=f"{what}, k = {k}, N = {m}", setting={"k": k, "m": m, "measure": what},
                )
            )  # fmt: skip
        middles = (np.median(found.last("FLUTE", measures[-1])) for found in (few, many))
        told.append("{:.3g} to {:.3g} ".format(*middles) + f"(k = {k}, N = {m})")
    note = f"; median {measures[-1].replace('_', ' ')} from M = {FEW} to {MANY}: "
    return noted(combine(decided(parts)), note + ", ".join(told), [])
