"""(3) and Example 1: what is to be learned, and what averaged representations hold of it."""

import numpy as np

from linrep.claims import Readings, statement
from linrep.claims.evidence import PROVED
from linrep.claims.laws import Arrays, at_most, equal, law, measured
from linrep.papers.flute.lifted import EXACT
from linrep.problems import LowRankRegression
from linrep.problems.subspace import random_frame


@law(
    "flute.eq3", "Section 4.1, (3)",
    r"\arg\min\|BW - \Phi\|_F^2:\quad BW = U_k\Lambda_kV_k^\top\ (k < r), \qquad"
    r" BW = \Phi\ (k \ge r)",
    over=Arrays(Phi="dn", B="dk", W="nk"), wrong={"factor": 0.99}, stronger={"factor": 0},
)  # fmt: skip
def eq3(Phi, B, W, *, factor=1.0):
    """A best model of rank k is the truncated decomposition of the truth."""
    k = B.shape[1]
    if k > min(Phi.shape):
        return None
    U, values, VT = np.linalg.svd(Phi, full_matrices=False)
    best, least = U[:, :k] * values[:k] @ VT[:k], np.sum(values[k:] ** 2)
    whole, left = np.sum(Phi**2), np.sum((factor * best - Phi) ** 2)
    return {
        "none is nearer": at_most(float(least), float(np.sum((B @ W.T - Phi) ** 2))),
        "this one is as near": equal(whole + left, whole + least),
    }


# Example 1

#: Of B*W* = u_1 lambda_1.
READINGS = "lambda_1 u_1 in column 1, zeros elsewhere", "u_1 lambda_1"


@statement(
    "flute.example1",
    place="Section 4.1, Example 1",
    latex=r"\Phi = U\,\mathrm{diag}(\lambda),\ k = 1:\quad w_i = \lambda_i \Rightarrow"
    r" B = \tfrac1M\sum_i u_i, \qquad w_i = \sqrt{\lambda_i/M} \Rightarrow"
    r" B = \sum_i u_i\sqrt{\lambda_i/M}",
    plain="Which direction averaged representations favour depends on the scaling of the heads.",
    negative_control={"power": 0.4},
    stronger={"power": 0},
)
def example1(budget, rng, *, power=0.5):
    """Average representations that fit each client exactly, and measure their angle to u_1."""

    def cosine(U, B):
        return U[:, 0] @ B / np.linalg.norm(B)

    def found(M):
        d = M + int(rng.integers(1, 6))
        values = np.sort(10.0 ** rng.uniform(-3.0, 3.0, M))[::-1]
        U = random_frame(d, M, rng)
        plain, weighted = (
            np.mean(U * values / heads, axis=1) for heads in (values, (values / M) ** power)
        )
        root, share = 1.0 / np.sqrt(M), np.sqrt(values[0] / values.sum())
        yield "w = lambda: B", equal(plain, U.mean(axis=1))
        yield "w = lambda: cos = 1/sqrt(M)", equal(cosine(U, plain), root)
        yield "w = sqrt(lambda/M): B", equal(weighted, U @ np.sqrt(values / M))
        yield "w = sqrt(lambda/M): cos = sqrt(lambda_1/sum)", equal(cosine(U, weighted), share)
        # The best model is found as exactly as the gap is wide.
        best, gap = LowRankRegression(U * values).best(1).Phi, 1.0 - values[1] / values[0]
        single, printed = np.outer(values[0] * U[:, 0], np.eye(M)[0]), values[0] * U[:, :1]
        yield READINGS[0], equal(single + gap * (best - single), single)
        same = best.shape == printed.shape
        yield READINGS[1], equal(best if same else np.full(printed.shape, np.inf), printed)
        name = "u_1 weighted more with w = sqrt(lambda/M)"
        yield name, at_most(cosine(U, plain), cosine(U, weighted))

    several = ((M, found(M)) for M in range(3, 21) for _ in range(budget(3, 20, 100)))
    each = ((*one, {"M": M}) for M, case in several for one in case)
    parts = measured(each, tolerance=EXACT, strength=PROVED)
    *exact, heavier = (part for name, part in parts.items() if name not in READINGS)
    yield from exact
    name = "B*W* = u_1 lambda_1"
    yield Readings([parts[reading] for reading in READINGS], name=name, phrase=name)
    yield heavier
