"""Assumption 3.2: side information's scaling."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.stats import chi2

from linrep.claims import Cases, Constant, Fact, Readings, statement
from linrep.papers.perfedsi.counterexamples.assumption3_2 import sides
from linrep.problems import SideInformationCompletion
from linrep.theory import perfedsi as theory

# Clients per dimension of the side information, at (M, k) = (20, 4) and at (1000, 32).
_FEW, _MANY = 5, 31.25
_SIZES = (4, 8, 16, 32)


def _scaled(side, n, p, power, rng):
    """Return side information of a design, rows normalized to norm p^power where it says so."""
    if side == "one-hot":
        return np.eye(n) * float(p) ** power
    Z = SideInformationCompletion.random(n=n, d=1, p=p, k=1, side=side, rng=rng).Z
    return Z * float(p) ** power if side == "unit" else Z


def _constants(side, settings, draws, rng, power) -> pd.DataFrame:
    """Return a row per draw: its setting, c_z and mu_z."""
    return pd.DataFrame(
        [
            setting
            | theory.scaling(_scaled(side, setting["M"], setting["k"], power, rng))._asdict()
            for setting in settings
            for _ in range(draws)
        ]
    ).round(9)


# Growing k, at fixed M/k, and at M = 100 in two ranges: c_z bends up where k is near M.
_WITH_RATIO = [
    {"M": round(ratio * p), "k": p, "ratio": ratio} for ratio in (_FEW, _MANY) for p in _SIZES
]
_WITH_CLIENTS = [
    {"M": 100, "k": p, "range": name}
    for name, sizes in (("to 32", (4, 8, 16, 32)), ("from 32", (32, 64, 96)))
    for p in sizes
]


def _trace_argument(budget, rng, power):
    """Yield k^(1 - 2 power) <= c_z for rows of norm k^power, whatever else they are.

    The eigenvalues of Z'Z/M have mean k^(2 power)/k, so that the least is at most that.
    """
    for _ in range(budget(100, 1000)):
        p = int(rng.integers(1, 12))
        n = int(rng.integers(p, 6 * p + 2))
        Z = rng.standard_normal((n, p)) * 10.0 ** rng.uniform(-2.0, 2.0, p)
        Z *= float(p) ** power / np.linalg.norm(Z, axis=1, keepdims=True)
        found = theory.scaling(Z).c_z
        bound = float(p) ** (1.0 - 2.0 * power)
        yield (
            min(bound, found) if np.isinf(found) else bound * (1.0 - 1e-12),
            found,
            {
                "M": n,
                "k": p,
            },
        )


def _gaussian_mu(M, k, share=0.95):
    """Return the quantile of mu_z of M Gaussian rows: that of the largest of M chi squares."""
    return max(1.0, float(chi2.ppf(share ** (1.0 / M), k)) / k)


@statement(
    "perfedsi.assumption3.2",
    place="Assumption 3.2; Appendix C.1; Appendix C.4",
    latex=r"\frac M{c_z}I \preceq Z^\top Z \preceq c_z M I,\quad \max_m\|z_m\|^2 \le \mu_z k:"
    r"\ c_z, \mu_z \text{ constants for } z_m \sim N(0, I) \text{ and the design of C.4}",
    plain="Gaussian side information, and C.4's, have scaling constants that do not grow with k.",
    negative_control={"power": 0.75},
    holds_with={"power": 0.5},
)
def assumption3_2(budget, rng, *, power=0.0):
    """Find the least constants of every design; Appendix C.4 has rows of norm k^power, power 0.

    They may be constants as k grows with M/k fixed, or, for c_z, with M fixed.
    """
    medians = {}
    for side in ("gaussian", "unit", "isometric"):
        draws = budget(100, 1000 if side == "gaussian" else 100)
        found = _constants(side, _WITH_RATIO, draws, rng, power)
        few = _constants(side, _WITH_CLIENTS, min(draws, 100), rng, power)
        known = side != "gaussian"  # of rows of one norm, or frames
        ways = [
            Constant(rows, ["k"], "c_z", by=[held], label="c_z", name=name, deterministic=known)
            for rows, held, name in ((found, "ratio", "M/k fixed"), (few, "range", "M = 100"))
        ]
        yield Readings(ways, name=f"{side}, c_z in k", phrase="constants")
        yield Constant(
            found, ["k"], "mu_z", by=["ratio"], label="mu_z", name=f"{side}, mu_z in k",
            deterministic=known,
        )  # fmt: skip
        medians[side] = few.groupby("k")["c_z"].median()
    yield Cases(
        _trace_argument(budget, rng, power),
        quantity="k^(1 - 2 power)",
        name="c_z of rows of one norm",
    )
    if power == 0.0:
        yield Cases(
            [
                (*sides(constant), {"k": 2 * constant, "candidate for c_z": constant})
                for constant in (10, 10**3, 10**6)
            ],
            quantity="least c_z of rows of norm 1",
            name="rows of norm 1: c_z is no constant",
        )
    for p in (4, 96):
        at = {"M": 100, "k": p}
        yield Fact("median c_z of Gaussian rows", medians["gaussian"][p], setting=at)
    for M in (20, 1e12):
        quantile = _gaussian_mu(M, 4)
        yield Fact("95 % quantile of mu_z of Gaussian rows", quantile, setting={"k": 4, "M": M})
