"""The number of local steps, which Theorem 1's bound does not have in it."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd

from linrep.claims import LEVEL, Evidence, claim, combine, ordering
from linrep.claims._parts import at_most
from linrep.claims.pflmf._runs import averages, reference
from linrep.theory import pflmf
from linrep.theory.pflmf_rounds import fixed_U_average

_LOCAL = (2, 5, 20)
_TIE = 0.1


def exact_ratio(p, eta_L, K, T, K_power=1.0) -> float:
    """Return the V-part at K over that at K = 1, U fixed, h = L = 1, eta_v = p eta / K^K_power."""
    parts = []
    for steps in (K, 1):
        step = p * eta_L / float(steps) ** K_power
        s = pflmf.Setting(p, steps, eta_L, 1.0, 1.0, head_step_size=step)
        parts.append(float(fixed_U_average(s, 1.0, 2.0, float(T))))
    return parts[0] / parts[1]


def _band(scaled, p, eta_L, of_U=False) -> float:
    """Return how large |log ratio| may be."""
    return -float(np.log1p(-p * eta_L * (1.0 if of_U else 0.5))) if scaled else _TIE


def _exact(budget, K_power, scaled) -> Evidence:
    """Compare V-parts, U fixed, T large for p."""
    cases, rows = [], []
    for p, eta_L, K in product(
        (1.0, 0.9, 0.5, 0.1, 0.02), budget((0.05, 0.25, 0.49), (0.01, 0.05, 0.1, 0.25, 0.4, 0.49)),
        (*_LOCAL, 200),
    ):  # fmt: skip
        ratio = exact_ratio(p, eta_L, K, 1e6 / p**2, K_power)
        at = {"p": p, "eta L": eta_L, "K": K, "V-part over that at K = 1": ratio}
        cases.append((abs(np.log(ratio)), _band(scaled, p, eta_L), at))
        rows.append({"x": eta_L, "y": ratio, "series": f"p = {p:g}", "K": K})
    table = pd.DataFrame(rows)
    table = table[table["K"] == 20].drop(columns="K")
    points = table.assign(
        panel="K = 20", xlabel=r"$\eta L$", ylabel="V-part over that at K = 1", predicted=1.0
    )
    return replace(at_most(cases, name="V-part, U fixed, exact"), points=points)


def _runs(budget, rng, K_power, scaled) -> list[Evidence]:
    """Compare both parts on runs that share participants, at eta L = 1/4 and near 1/2."""
    shares = budget((1.0, 0.1), (1.0, 0.1, 0.02))
    T = (budget(400, 4000),)
    local = budget((5, 20), _LOCAL)
    level = LEVEL / (4 * len(shares) * len(local))
    parts = []
    for p, eta_L in product(shares, (0.25, 0.49)):
        found: dict[int, list] = {K: [] for K in (1, *local)}
        for seed in map(int, rng.integers(2**63, size=28)):
            instance = reference(np.random.default_rng(seed))
            rows = {
                K: averages(instance, seed, p=p, K=K, T=T, eta_L=eta_L, K_power=K_power)
                for K in found
            }
            if all(row.inside.all() for row in rows.values()):
                for K, row in rows.items():
                    found[K].append((row.in_U[0], row.in_V[0]))
        for K, place in product(local, (0, 1)):
            columns = [np.array(found[each])[:, place] for each in (K, 1)]
            # Ratios between exp(-band) and exp(band); the narrower side is taken.
            tie = 1.0 - np.exp(-_band(scaled, p, eta_L, place == 0))
            parts.append(
                ordering(
                    *columns, tie=tie, same=True, level=level,
                    name=f"{'UV'[place]}-part, K = {K}, p = {p:g}, eta L = {eta_L:g}",
                    setting={"p": p, "K": K, "eta L": eta_L, "T": T[0]},
                )
            )  # fmt: skip
    return parts


@claim(
    "pflmf.K",
    place="Theorem 1, step sizes",
    kind="comparison",
    latex=r"\eta_v = \frac{p\eta}K:\ \text{the bound, and the averages, are the same for every } K",
    plain="With eta_v = p eta/K the number of local steps does not matter, up to 10 percent.",
    broken={"K_power": 0.0},
    mended={"scaled": True},
)
def number_of_steps(budget, rng, *, K_power=1.0, scaled=False) -> Evidence:
    """Compare averages at K with those at K = 1; eta_v is p eta / K^K_power.

    Scaled: ratios may differ from 1 by the factors 1 - p eta L/2 (V) and 1 - p eta L (U), not 10 %.
    """
    parts = [_exact(budget, K_power, scaled), *_runs(budget, rng, K_power, scaled)]
    at = {p: [exact_ratio(p, x, 20, 1e9) for x in (0.01, 0.25, 0.49)] for p in (1.0, 0.1)}
    whole = {p: exact_ratio(p, 0.25, 20, 1e9, 0.0) for p in (1.0, 0.1, 0.02)}
    away = [part.name for part in parts[1:] if part.verdict == "fails"]
    return combine(
        parts,
        f"{combine(parts).sentence}. V-part at K = 20 over that at K = 1, eta L = 0.01, 0.25, 0.49:"
        f" {', '.join(f'{each:.3f}' for each in at[1.0])} at p = 1, "
        f"{', '.join(f'{each:.3f}' for each in at[0.1])} at p = 0.1; the bound itself stays one. "
        f"Runs that are elsewhere: {', '.join(away) or 'none'}. Not divided by K: "
        + ", ".join(f"{each:.3f} at p = {p:g}" for p, each in whole.items())
        + " at K = 20, so that local steps save up to a factor of K",
    )
