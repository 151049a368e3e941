"""Appendix A.2.4: from the lifted iterate to the clients' mean error."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from linrep.claims import Cases, Identity, statement
from linrep.claims.evidence import PROVED
from linrep.problems import LowRankRegression


@statement(
    "flute.appendixA24",
    place="Appendix A.2.4",
    latex=r"\tfrac1M\sum_i\|Bw_i - B^*w_i^*\| \le \tfrac1{\sqrt M}\|BW - B^*W^*\|_F,\quad"
    r" \|BW - B^*W^*\|_F = \|\tilde B\tilde W - \mathrm{diag}(\Lambda_k, 0)\|_F,\quad"
    r" 400\kappa\sqrt k\rho^{t-T_{\mathcal R}} = c_4\kappa\sqrt k\rho^t",
    plain="A rotation, Cauchy-Schwarz and the rounds before R turn the bound on Theta into (8).",
    negative_control={"root": 0.6},
    stronger={"root": 1},
)
def appendix(budget, rng, *, root=0.5):
    """Compare both errors at random states of all shapes, and the constants in fractions."""
    rotated, means = [], []
    for _ in range(budget(60, 400)):
        d, n = (int(side) for side in rng.integers(1, 8, 2))
        k = int(rng.integers(1, min(d, n) + 1))
        truth = LowRankRegression(rng.standard_normal((d, n)))
        B, W = rng.standard_normal((d, k)), rng.standard_normal((n, k))
        U, values, V = truth.svd
        error = B @ W.T - truth.best(k).Phi
        diagonal = np.zeros((d, n))
        diagonal[range(k), range(k)] = values[:k]
        whole = np.linalg.norm(error)
        where: dict[str, Any] = {"d": d, "n": n, "k": k}
        inside = np.linalg.norm(U.T @ B @ W.T @ V - diagonal)
        rotated.append((float(abs(inside - whole) / max(whole, np.linalg.norm(B @ W.T))), where))
        mean = float(np.linalg.norm(error, axis=0).mean())
        means.append((mean, float(whole / n**root) * (1.0 + 1e-12), where))
    # Errors of one length: equality.
    for n in (1, 2, 5):
        means.append((1.0, float(n**0.5 / n**root) * (1.0 + 1e-12), {"n": n, "errors": "equal"}))
    yield Identity(rotated, 1e-10, name="singular bases as coordinates", strength=PROVED)
    yield Cases(means, quantity="mean error", name="Cauchy-Schwarz", strength=PROVED)
    constants = []
    for x in (Fraction(1, 36), Fraction(1, 1000)):
        for entered in (0, 1, 20):
            for t in (entered, entered + 1, entered + 50):
                rho = 1 - x / 16
                after, c4 = 400 * rho ** (t - entered), 400 / rho**entered
                off = abs(after - c4 * rho**t)
                constants.append((off, Fraction(0), {"x": str(x), "T_R": entered, "t": t}))
    yield Cases(
        constants, quantity="off by", name="c_4 counts the rounds before R", strength=PROVED
    )
