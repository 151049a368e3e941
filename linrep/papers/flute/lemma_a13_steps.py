"""Lemmas A.13 and A.14, the steps of their proofs: what is not the tail bound itself."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np

from linrep.claims import Cases, statement
from linrep.claims.evidence import PROVED
from linrep.claims.quantities import LOWER, UPPER, VALUE
from linrep.papers.flute.counterexamples import lemmaa13_steps as net
from linrep.problems import LowRankRegression
from linrep.theory import flute_lift

LOG_2 = Fraction(6932, 10000)  # from above
#: What the left sides that contain them are.
_TYPES = {
    "A.13: nets and probability": LOWER,
    "A.14: nets and probability": LOWER,
    "both: delta/2 and c_1 = min(c_2, c_3)/2": UPPER,
}


def _sizes(budget, rng):
    """Yield (place, left, right, where) of the bounds on norms, over Theta with |Theta|^2 <= 2."""
    for _ in range(budget(60, 400, 4000)):
        d, n = (int(side) for side in rng.integers(1, 7, 2))
        k = int(rng.integers(1, min(d, n) + 1))
        values = np.sort(rng.random(min(d, n)))[::-1]
        truth = LowRankRegression.random(
            n=n, d=d, singular_values=0.5 * values / values[0], noise=0.0, rng=rng
        )  # lambda*_1 = 1
        Z = rng.standard_normal((d + n, k)) * 10.0 ** rng.uniform(-2.0, 0.0, k)
        Z *= np.sqrt(2.0 * rng.choice([1.0, rng.random()])) / np.linalg.norm(Z, 2)
        if rng.random() < 0.3:  # models of the wrong sign, as large as the bound allows
            best = truth.best(k)
            Z = np.vstack([best.B, -best.W]) * np.sqrt(2.0)
        B, W = Z[:d], Z[d:]
        where = {"n": n, "d": d, "k": k, "B": B.tolist(), "W": W.tolist()}
        error = np.linalg.norm(B @ W.T - truth.Phi, axis=0)
        heads, E = np.linalg.norm(W, axis=1).max(), float(np.sum(truth.Phi**2))
        whole = float(np.sum(error**2))
        whole_norm = np.linalg.norm(flute_lift.lift(truth, B, W), 2) ** 2
        for place, left, right in (
            ("|B|^2 <= 2 lambda*_1", np.linalg.norm(B, 2) ** 2, whole_norm),
            ("|W|^2 <= 2 lambda*_1", np.linalg.norm(W, 2) ** 2, whole_norm),
            ("sum (c_i c_w)^2 <= 2 lambda*_1 |BW - Phi|_F^2", heads**2 * whole, 2.0 * whole),
            (
                "2 lambda*_1 |BW - Phi|_F^2 <= 4 lambda*_1 (k lambda*_1^2 + E)",
                2.0 * whole,
                4.0 * (k + E),
            ),
            ("c_i c_w <= 3 sqrt(2) lambda*_1^1.5", heads * error.max(), 3.0 * np.sqrt(2.0)),
            (
                "c_i c_B <= 3 sqrt(2) lambda*_1^1.5",
                np.linalg.norm(B, 2) * error.max(),
                3.0 * np.sqrt(2.0),
            ),
        ):
            yield place, float(left), float(right) * (1.0 + 1e-12), where


def _arithmetic(side, scale):
    """Yield (place, left, right, where), exactly; l is log(1/delta), d the larger of d and M."""
    logs = [Fraction(log) for log in (0, 1, 10, 1000)]
    for d, k, M, ell in product((1, 2, 10, 100), (1, 2, 10), (1, 5, 100), logs):
        if k > min(d, M):
            continue
        where = {"d": d, "k": k, "M": M, "log(1/delta)": int(ell)}
        yield (
            "A.13: its condition makes s^2 at most 18 lambda*_1 (k lambda*_1^2 + E)",
            ell + 6 * d,
            ell + side * d,
            where,
        )
        yield "A.13: nets and probability", ell + (d + k) * net.LOG_9, ell + 6 * d, where
        yield "A.14: nets and probability", *net.sides(d, k, M, ell, scale), where
        yield "A.13: A_1 with c_2 = c_2'/6", 72 * (ell + 6 * d), 72 * 6 * (ell + d), where
        yield "A.13: A_2 with c_3 = c_3'/24", 8 * (ell + 6 * d), 72 * 24 * (ell + d), where
        yield "both: delta/2 and c_1 = min(c_2, c_3)/2", ell + LOG_2 + d, 2 * (ell + d), where


@statement(
    "flute.lemmaA13.steps",
    place="Lemmas A.13 and A.14, inner steps of their proofs",
    latex=r"\sum_i(c_ic_w)^2 \le 4\lambda^*_1(k\lambda_1^{*2} + E),\ c_ic_w \le"
    r" 3\sqrt2\lambda_1^{*3/2};\quad N \ge \tfrac{\log(1/\delta) + 2d}{c} \Rightarrow \min\{\cdot\}"
    r" = s^2\text{-term};\quad 9^{d+k}e^{-\log(1/\delta) - 6d},\ 9^{M+k}e^{-Ncs^2/(4\lambda^*_1"
    r"(k\lambda_1^{*2} + E))} \le \delta",
    plain="Bounds on norms, side conditions and nets give the constants of Lemmas A.13 and A.14.",
    negative_control={"scale": 9},
)
def steps(budget, rng, *, side=2, scale=1):
    """Check the bounds on norms at random points, and the arithmetic in exact fractions.

    `side` is what stands beside log(1/delta)/d in the condition on N, `scale` the factor of
    lambda*_1 (k lambda*_1^2 + E) in the s^2 of Lemma A.14.
    """
    for found in (_sizes(budget, rng), _arithmetic(side, scale)):
        parts: dict[str, list] = {}
        for place, left, right, where in found:
            parts.setdefault(place, []).append((left, right, where))
        for name, cases in parts.items():
            yield Cases(cases, name=name, strength=PROVED, measured_is=_TYPES.get(name, VALUE))


steps.corrected(
    "flute.lemmaA13.steps.corrected",
    latex=r"N \ge \tfrac{\log(1/\delta) + 6d}{c} \text{ in Lemma A.13}, \qquad"
    r" s^2 = 18\lambda^*_1(k\lambda_1^{*2} + E)\tfrac{\log(1/\delta) + 6\bar d}{Nc}"
    r" \text{ in Lemma A.14}",
    plain="With 6 in place of 2 in the side condition, and the 18 of Lemma A.13 in A.14, the "
    "steps of both lemmas' proofs are valid.",
    constants={"side": 6, "scale": 18},
    stronger={"side": -1, "scale": -1},
    negative_control={"scale": 9},
)
