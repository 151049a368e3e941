"""(3) and Example 1: what is to be learned, and what averaged representations hold of it."""

import numpy as np

from linrep.claims import Readings, proved, statement
from linrep.claims.evidence import PROVED
from linrep.claims.laws import at_most, equal, measured
from linrep.claims.measurements import identities, relative
from linrep.papers.flute.lifted import EXACT
from linrep.problems import LowRankRegression
from linrep.problems.subspace import random_frame

DESCENT = 1e-6
#: Singular values of Phi, by how k and the gap are chosen.
KINDS = {
    "gap": ((1.0, 0.9, 0.7, 0.1), (1.0, 0.9, 0.3, 0.1), (4.0, 3.0, 1.5, 0.2, 0.1)),
    "k = r": ((1.0, 0.9), (4.0, 3.0, 1.5)),
    "k > r": ((1.0, 0.9), (4.0, 3.0, 1.5)),
    "no gap": ((1.0, 1.0, 1.0, 0.1), (2.0, 1.0, 1.0, 0.3), (1.0, 0.5, 0.5, 0.5)),
}


def descend(Phi, k, starts, rounds, rng):
    """Return BW' where gradient descent on |BW' - Phi|_F^2 ends, one for each random start."""
    largest = np.linalg.norm(Phi, 2)
    B, W = (0.3 * np.sqrt(largest) * rng.standard_normal((starts, side, k)) for side in Phi.shape)
    for t in range(rounds):
        if t % 50 == 0:  # the curvature is at most twice the squares of both factors and |residual|
            size = sum(np.linalg.norm(A, 2, (1, 2)).max() ** 2 for A in (B, W))
            step = 0.4 / max(size, largest)
        residual = B @ W.swapaxes(1, 2) - Phi
        in_B, in_W = 2.0 * residual @ W, 2.0 * residual.swapaxes(1, 2) @ B
        if max(np.abs(in_B).max(), np.abs(in_W).max()) < 1e-11 * largest**1.5:
            break
        B, W = B - step * in_B, W - step * in_W
    return B @ W.swapaxes(1, 2)


def decomposition_error(X, Phi, k, factor):
    """Return how far X is from U_k Lambda_k V_k' of some decomposition of Phi, lambda_1 at 1.

    X and Phi - X have to be orthogonal on both sides, and X to have the k largest singular values.
    """
    values = np.linalg.svd(Phi, compute_uv=False)
    rest = Phi - X / factor
    crossed = max(np.abs(X.T @ rest).max(), np.abs(X @ rest.T).max())
    found = np.linalg.svd(X, compute_uv=False)
    expected = np.where(np.arange(found.size) < k, factor * values, 0.0)
    return float(max(crossed / values[0] ** 2, np.abs(found - expected).max() / values[0]))


def ends(budget, rng, factor):
    """Yield a part of (3), how far descents end from what it says, and where."""
    for kind, several in KINDS.items():
        for values in several:
            shapes = rng.permutation([(5, 9), (7, 7), (9, 5)]).tolist()
            for d, n in shapes[: budget(1, 3)] if kind == "k > r" else shapes:
                k = {"gap": int(rng.integers(1, 4)), "no gap": 2}.get(kind, len(values))
                k += kind == "k > r"
                # Spare columns die like 1/t, and the value 0 is approached like 1/t^2.
                rounds = 12_000 if kind == "k > r" else 20_000
                truth = LowRankRegression.random(n=n, d=d, singular_values=values, rng=rng)
                Phi, best = truth.Phi, truth.best(k).Phi
                where, unit = {"n": n, "d": d, "k": k, "lambda": list(values)}, values[0] ** 2
                for X in descend(Phi, k, budget(6, 20), rounds, rng):
                    if kind == "gap":
                        yield "gap: Phi_k", relative(X, factor * best), where
                        claimed = np.sum(truth.singular_values[k:] ** 2)
                        claimed += (1.0 - factor) ** 2 * np.sum(best**2)
                        off = abs(np.sum((X - Phi) ** 2) - claimed) / unit
                        yield "gap: sum of the squares left", off, where
                    elif kind == "no gap":
                        off = decomposition_error(X, Phi, k, factor)
                        yield "no gap: some truncated decomposition", off, where
                    elif kind == "k = r":
                        yield "k = r: Phi", relative(X, factor * Phi), where
                    else:
                        yield "k > r: value 0", np.sum((X - factor * Phi) ** 2) / unit, where


@statement(
    "flute.eq3",
    place="Section 4.1, (3)",
    latex=r"\arg\min\|BW - \Phi\|_F^2:\quad BW = U_k\Lambda_kV_k^\top\ (k < r), \qquad"
    r" BW = \Phi\ (k \ge r)",
    plain="The best model of rank k is the truncated decomposition of the truth.",
    negative_control={"factor": 0.99},
    stronger={"factor": 0},
)
def eq3(budget, rng, *, factor=1.0):
    """Descend from random starts, with a gap, with rank to spare, and without a gap.

    The minimizer is unique if and only if there is a gap, or k >= r.
    """
    parts: dict[str, list] = {}
    for name, *case in ends(budget, rng, factor):
        parts.setdefault(name, []).append(case)
    yield from map(proved, identities(parts, DESCENT))


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
