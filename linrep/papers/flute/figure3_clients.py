"""Appendix C.1, Figure 3: FLUTE's error with more clients."""

from __future__ import annotations

import numpy as np

from linrep.claims import Fact, Paired, statement
from linrep.claims.tables import draw_seeds
from linrep.papers.flute._races import FIGURE, NOISES, race
from linrep.papers.flute.model import FIGURES
from linrep.papers.flute.settings import NOISE, TIE

FEW, MANY = FIGURE.n
GRID = [(m, k) for m in FIGURE.m for k in FIGURE.k]
SHOWN = (20, 4)  # m, k


@statement(
    "flute.figure3.clients",
    place="Appendix C.1; Figure 3",
    latex=r"M < M' \implies \mathrm{error}(M) > \mathrm{error}(M')",
    plain="Singular values of the models fixed: with more clients (M = 15, 30) FLUTE's error is "
    "smaller.",
    hypotheses=FIGURES,
    negative_control={"smaller": FEW},
)
def clients(budget, rng, *, smaller=MANY):
    """Compare errors after 800 epochs, against the truth and, as in (7), its best of rank k.

    Truths of one seed have the same left singular vectors, whatever M. Facts are over the least
    error that rank k allows at that M: every model is shorter where there are more clients.
    """
    for noise in budget((NOISE,), NOISES):
        for m, k in budget([SHOWN], GRID):
            seeds = draw_seeds(rng, budget(60, 50, 300))
            few, many = (
                race(None, seeds, "Figure 3", n, m, k, others=(), noise=noise) for n in (FEW, MANY)
            )
            one, other = (many, few) if smaller == MANY else (few, many)
            for what in ("truth_error", "client_error"):
                yield Paired(
                    one.last("FLUTE", what),
                    other.last("FLUTE", what),
                    tie=TIE,
                    quantity="median ratio of last errors",
                    name=f"{what}, k = {k}, N = {m}, noise {noise:.2g}",
                    setting={"k": k, "m": m, "measure": what, "noise": noise},
                )
            if (m, k) == SHOWN and noise == NOISE:
                for n, found in ((FEW, few), (MANY, many)):
                    middle = float(np.median(found.last("FLUTE", "normalized")))
                    name = f"median error over the least of rank {k}"
                    yield Fact(name, middle, setting={"M": n, "N": m})
