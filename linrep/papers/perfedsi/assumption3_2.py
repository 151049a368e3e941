"""Assumption 3.2: side information's scaling."""

from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import chi2

from linrep.claims import Cases, Constant, Fact, Readings, statement
from linrep.papers.perfedsi.counterexamples.assumption3_2 import sides
from linrep.problems import SideInformationCompletion
from linrep.theory import perfedsi as theory

# Growing k: at fixed M/k, as at (M, k) = (20, 4) and (1000, 32); and at M = 100 in two ranges, as
# c_z bends up where k is near M.
WITH_RATIO = [
    {"M": round(ratio * p), "k": p, "held": ratio} for ratio in (5, 31.25) for p in (4, 8, 16, 32)
]
WITH_CLIENTS = [
    {"M": 100, "k": p, "held": name}
    for name, sizes in (("to 32", (4, 8, 16, 32)), ("from 32", (32, 64, 96)))
    for p in sizes
]


def constants(side, settings, draws, rng, power) -> pd.DataFrame:
    """Return c_z and mu_z of draws of a design, with rows of norm k^power where it says so."""
    rows = []
    for at in settings:
        for _ in range(draws):
            drawn = SideInformationCompletion.random(
                n=at["M"], d=1, p=at["k"], k=1, side=side, rng=rng
            )
            Z = drawn.Z * float(at["k"]) ** power if side == "unit" else drawn.Z
            rows.append(at | theory.scaling(Z)._asdict())
    return pd.DataFrame(rows).round(9)


def trace_argument(budget, rng, power):
    """Yield k^(1 - 2 power) <= c_z for rows of norm k^power, whatever else they are.

    The eigenvalues of Z'Z/M have mean k^(2 power)/k, so that the least is at most that.
    """
    for _ in range(budget(100, 1000)):
        p = int(rng.integers(1, 12))
        n = int(rng.integers(p, 6 * p + 2))
        Z = rng.standard_normal((n, p)) * 10.0 ** rng.uniform(-2.0, 2.0, p)
        Z *= float(p) ** power / np.linalg.norm(Z, axis=1, keepdims=True)
        found, bound = theory.scaling(Z).c_z, float(p) ** (1.0 - 2.0 * power)
        left = min(bound, found) if np.isinf(found) else bound * (1.0 - 1e-12)
        yield left, found, {"M": n, "k": p}


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
    for side in ("gaussian", "unit"):
        draws = budget(100, 1000 if side == "gaussian" else 100)
        found = constants(side, WITH_RATIO, draws, rng, power)
        few = constants(side, WITH_CLIENTS, min(draws, 100), rng, power)
        # Of rows of one norm chance has no part in it.
        options: dict[str, Any] = {"by": ["held"], "deterministic": side != "gaussian"}
        ways = [
            Constant(rows, ["k"], "c_z", label="c_z", name=name, **options)
            for rows, name in ((found, "M/k fixed"), (few, "M = 100"))
        ]
        yield Readings(ways, name=f"{side}, c_z in k", phrase="constants")
        yield Constant(found, ["k"], "mu_z", label="mu_z", name=f"{side}, mu_z in k", **options)
    name = "c_z of rows of one norm"
    yield Cases(trace_argument(budget, rng, power), quantity="k^(1 - 2 power)", name=name)
    if power == 0.0:
        cases = [
            (*sides(constant), {"k": 2 * constant, "candidate for c_z": constant})
            for constant in (10, 10**3, 10**6)
        ]
        name = "rows of norm 1: c_z is no constant"
        yield Cases(cases, quantity="least c_z of rows of norm 1", name=name)
    for M in (20, 1e12):  # the largest of M chi squares
        largest = max(1.0, float(chi2.ppf(0.95 ** (1.0 / M), 4)) / 4)
        yield Fact("95 % quantile of mu_z of Gaussian rows", largest, setting={"k": 4, "M": M})
