"""Lemmas A.13 and A.14, the steps of their proofs: what is not the tail bound itself."""

from fractions import Fraction as Q

import numpy as np
from numpy.linalg import norm

from linrep.claims.evidence import FAILS, PROVED
from linrep.claims.laws import Arrays, Region, at_most, law


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


def norms(Phi, B, W):
    """Return the bounds on norms, scaled to lambda*_1 = 1 and sigma_1(Theta)^2 = 2."""
    whole = norm(np.vstack([B, W]), 2)
    if not (Phi.any() and whole):
        return None
    Phi, B, W = Phi / (2.0 * norm(Phi, 2)), *(np.sqrt(2.0) / whole * A for A in (B, W))
    error, heads = norm(B @ W.T - Phi, axis=0), norm(W, axis=1).max()
    size, most = norm(error) ** 2, 3.0 * np.sqrt(2.0)
    return {
        "|B|^2 <= 2 lambda*_1": at_most(norm(B, 2) ** 2, 2.0),
        "|W|^2 <= 2 lambda*_1": at_most(norm(W, 2) ** 2, 2.0),
        "sum (c_i c_w)^2 <= 2 lambda*_1 |BW - Phi|_F^2": at_most(heads**2 * size, 2.0 * size),
        "2 lambda*_1 |BW - Phi|_F^2 <= 4 lambda*_1 (k lambda*_1^2 + E)": at_most(
            2.0 * size, 4.0 * (B.shape[1] + norm(Phi) ** 2)
        ),
        "c_i c_w <= 3 sqrt(2) lambda*_1^1.5": at_most(heads * error.max(), most),
        "c_i c_B <= 3 sqrt(2) lambda*_1^1.5": at_most(norm(B, 2) * error.max(), most),
    }


@steps.also
def bounds_on_norms(budget, rng, **constants):
    """Measure them at random arrays."""
    arrays = Arrays(Phi="dn", B="dk", W="nk")
    yield from arrays.measure(norms, budget, rng, strength=PROVED).values()


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
