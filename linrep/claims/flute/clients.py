"""Appendix C.1, Figure 3: FLUTE's error with more clients."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from linrep.claims import Evidence, claim, combine, ordering
from linrep.claims._parts import decided
from linrep.claims.flute._races import NOISE, NOISES, RANKS, TIE, noted, race

Decision = Callable[..., Evidence]
FEW, MANY = 15, 30
GRID = [(m, k) for m in (12, 20) for k in RANKS]


@claim(
    "flute.figure3.clients",
    place="Appendix C.1; Figure 3",
    kind="comparison",
    latex=r"M < M' \implies \mathrm{error}(M) > \mathrm{error}(M')",
    plain="Singular values of the models fixed: with more clients (M = 15, 30) FLUTE's error is "
    "smaller.",
    broken={"smaller": FEW},
)
def clients(budget, rng, *, smaller=MANY) -> Evidence:
    """Compare errors after 800 epochs, against the truth and, as in (7), its best of rank k.

    Told are those over the least that rank k allows at that M: every model is shorter where there
    are more clients.
    """
    parts: list[Decision] = []
    told = []
    for noise in budget((NOISE,), NOISES):
        for m, k in budget([(20, 4)], GRID):
            few, many = (
                race(rng, budget(60, 60, 300), "Figure 3", n, m, k, starts=(), noise=noise)
                for n in (FEW, MANY)
            )
            one, other = (many, few) if smaller == MANY else (few, many)
            for what in ("truth_error", "client_error"):
                parts.append(
                    partial(
                        ordering, one.last("FLUTE", what), other.last("FLUTE", what), tie=TIE,
                        name=f"{what}, k = {k}, N = {m}, noise {noise:.2g}",
                        setting={"k": k, "m": m, "measure": what, "noise": noise},
                    )
                )  # fmt: skip
            before, after = (np.median(found.last("FLUTE", "normalized")) for found in (few, many))
            told.append(f"{before:.3g} to {after:.3g} (k = {k}, N = {m}, noise {noise:.2g})")
    note = f"; median error over the least of rank k, from M = {FEW} to {MANY}: "
    return noted(combine(decided(parts)), note + ", ".join(told), [])
