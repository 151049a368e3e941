"""Lemmas A.13 and A.14, the steps of their proofs: what is not the tail bound itself."""

from fractions import Fraction as Q

import numpy as np

from linrep.claims.evidence import FAILS, PROVED
from linrep.claims.laws import Region, at_most, law, measured
from linrep.problems import LowRankRegression
from linrep.theory import flute_lift


@law(
    "flute.lemmaA13.steps", "Lemmas A.13 and A.14, inner steps of their proofs",
    r"\sum_i(c_ic_w)^2 \le 4\lambda^*_1(k\lambda_1^{*2} + E),\ c_ic_w \le"
    r" 3\sqrt2\lambda_1^{*3/2};\quad N \ge \tfrac{\log(1/\delta) + 2d}{c} \Rightarrow \min\{\cdot\}"
    r" = s^2\text{-term};\quad 9^{d+k}e^{-\log(1/\delta) - 6d},\ 9^{M+k}e^{-Ncs^2/(4\lambda^*_1"
    r"(k\lambda_1^{*2} + E))} \le \delta",
    over=Region(
        ell=(0, None),  # log(1/delta)
        k=(1, None), d=lambda k: (k, None), M=lambda k: (k, None),
        larger=lambda M: (M, None),  # of d and M
        log9=(Q(21972, 10**4), Q(21973, 10**4)), log2=(Q(6931, 10**4), Q(6932, 10**4)),
    ),
    whole=False, wrong={"scale": 9}, expected=FAILS,
)  # fmt: skip
def steps(ell, k, d, M, larger, log9, log2, *, side=2, scale=1):
    """Bounds on norms, side conditions and nets give the constants of Lemmas A.13 and A.14."""
    # d is max(d, M) in all but the dimensions of a net; `side` is what stands beside
    # log(1/delta)/d in the condition on N. In Lemma A.14 s^2 is scale lambda*_1 (k lambda*_1^2 + E)
    # (log(1/delta) + 6 d)/(N c), and it is divided by what the sum of (c_i c_B)^2 is at most:
    # 4 times the first of these for scale 1, else 18 times.
    exponent = (ell + 6 * larger) * (Q(scale) / (4 if scale == 1 else 18))
    return {
        "condition on N": at_most(ell + 6 * d, ell + side * d),
        "nets in A.13": at_most(ell + (d + k) * log9, ell + 6 * d),
        "nets in A.14": at_most(ell + (M + k) * log9, exponent),
        "A_1 with c_2 = c_2'/6": at_most(72 * (ell + 6 * d), 72 * 6 * (ell + d)),
        "A_2 with c_3 = c_3'/24": at_most(8 * (ell + 6 * d), 72 * 24 * (ell + d)),
        "delta/2 and c_1 = min(c_2, c_3)/2": at_most(ell + log2 + d, 2 * (ell + d)),
    }


def norms(budget, rng):
    """Yield the bounds on norms, over Theta with |Theta|^2 <= 2, lambda*_1 being 1."""
    for _ in range(budget(60, 400, 4000)):
        d, n = (int(side) for side in rng.integers(1, 7, 2))
        k = int(rng.integers(1, min(d, n) + 1))
        values = np.sort(rng.random(min(d, n)))[::-1]
        truth = LowRankRegression.random(
            n=n, d=d, singular_values=0.5 * values / values[0], noise=0.0, rng=rng
        )
        Z = rng.standard_normal((d + n, k)) * 10.0 ** rng.uniform(-2.0, 0.0, k)
        Z *= np.sqrt(2.0 * rng.choice([1.0, rng.random()])) / np.linalg.norm(Z, 2)
        if rng.random() < 0.3:  # models of the wrong sign, as large as the bound allows
            best = truth.best(k)
            Z = np.vstack([best.B, -best.W]) * np.sqrt(2.0)
        B, W = Z[:d], Z[d:]
        where = {"n": n, "d": d, "k": k, "B": B.tolist(), "W": W.tolist()}
        error, frame = np.linalg.norm(B @ W.T - truth.Phi, axis=0), np.linalg.norm(B, 2)
        heads, E, whole = np.linalg.norm(W, axis=1).max(), np.sum(truth.Phi**2), np.sum(error**2)
        Theta = np.linalg.norm(flute_lift.lift(truth, B, W), 2) ** 2
        last = "2 lambda*_1 |BW - Phi|_F^2 <= 4 lambda*_1 (k lambda*_1^2 + E)"
        for place, left, right in (
            ("|B|^2 <= 2 lambda*_1", frame**2, Theta),
            ("|W|^2 <= 2 lambda*_1", np.linalg.norm(W, 2) ** 2, Theta),
            ("sum (c_i c_w)^2 <= 2 lambda*_1 |BW - Phi|_F^2", heads**2 * whole, 2.0 * whole),
            (last, 2.0 * whole, 4.0 * (k + E)),
            ("c_i c_w <= 3 sqrt(2) lambda*_1^1.5", heads * error.max(), 3.0 * np.sqrt(2.0)),
            ("c_i c_B <= 3 sqrt(2) lambda*_1^1.5", frame * error.max(), 3.0 * np.sqrt(2.0)),
        ):
            yield place, at_most(float(left), float(right)), where


@steps.also
def bounds_on_norms(budget, rng, **constants):
    """Measure them at random points."""
    yield from measured(norms(budget, rng), strength=PROVED).values()


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
