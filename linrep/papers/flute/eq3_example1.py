"""(3) and Example 1: what is to be learned, and what averaged representations hold of it."""

from __future__ import annotations

import numpy as np

from linrep.claims import Cases, Fact, Readings, proved, statement
from linrep.claims.deviations import identities, relative
from linrep.claims.evidence import PROVED
from linrep.papers.flute._lifted import EXACT
from linrep.problems import LowRankRegression
from linrep.problems.subspace import random_frame

DESCENT = 1e-6


def _descend(Phi, k, starts, rounds, rng):
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


def _decomposition_error(X, Phi, k, factor):
    """Return how far X is from U_k Lambda_k V_k' of some decomposition of Phi, lambda_1 at 1.

    X and Phi - X have to be orthogonal on both sides, and X to have the k largest singular values.
    """
    values = np.linalg.svd(Phi, compute_uv=False)
    size = values[0] ** 2
    rest = Phi - X / factor
    crossed = max(np.abs(X.T @ rest).max(), np.abs(X @ rest.T).max())
    found = np.linalg.svd(X, compute_uv=False)
    expected = np.where(np.arange(found.size) < k, factor * values, 0.0)
    return float(max(crossed / size, np.abs(found - expected).max() / values[0]))


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
    spectra = {
        "gap": ((1.0, 0.9, 0.7, 0.1), (1.0, 0.9, 0.3, 0.1), (4.0, 3.0, 1.5, 0.2, 0.1)),
        "k = r": ((1.0, 0.9), (4.0, 3.0, 1.5)),
        "k > r": ((1.0, 0.9), (4.0, 3.0, 1.5)),
        "no gap": ((1.0, 1.0, 1.0, 0.1), (2.0, 1.0, 1.0, 0.3), (1.0, 0.5, 0.5, 0.5)),
    }
    parts: dict[str, list] = {
        "gap: Phi_k": [],
        "gap: sum of the squares left": [],
        "k = r: Phi": [],
        "k > r: value 0": [],
        "no gap: some truncated decomposition": [],
    }
    spread = []
    for kind, several in spectra.items():
        for values in several:
            shapes = rng.permutation([(5, 9), (7, 7), (9, 5)]).tolist()
            for d, n in shapes[: budget(1, 3)] if kind == "k > r" else shapes:
                k = {"gap": int(rng.integers(1, 4)), "no gap": 2}.get(kind, len(values))
                k += kind == "k > r"
                # Spare columns die like 1/t, and the value 0 is approached like 1/t^2.
                rounds = 12_000 if kind == "k > r" else 20_000
                truth = LowRankRegression.random(n=n, d=d, singular_values=values, rng=rng)
                best, where = truth.best(k).Phi, {"n": n, "d": d, "k": k, "lambda": list(values)}
                found = _descend(truth.Phi, k, budget(6, 20), rounds, rng)
                left = np.sum(truth.singular_values[k:] ** 2)
                for X in found:
                    if kind == "gap":
                        parts["gap: Phi_k"].append((relative(X, factor * best), where))
                        value = np.sum((X - truth.Phi) ** 2)
                        claimed = left + (1.0 - factor) ** 2 * np.sum(best**2)
                        parts["gap: sum of the squares left"].append(
                            (abs(value - claimed) / values[0] ** 2, where)
                        )
                    elif kind == "no gap":
                        error = _decomposition_error(X, truth.Phi, k, factor)
                        parts["no gap: some truncated decomposition"].append((error, where))
                    elif kind == "k = r":
                        parts["k = r: Phi"].append((relative(X, factor * truth.Phi), where))
                    else:
                        value = np.sum((X - factor * truth.Phi) ** 2) / values[0] ** 2
                        parts["k > r: value 0"].append((value, where))
                if kind == "no gap":
                    spread.append(np.linalg.norm(found - found[0], axis=(1, 2)).max() / values[0])
    yield from map(proved, identities(parts, DESCENT))
    yield Fact("largest distance between ends without a gap", max(spread), "lambda_1")


# Example 1


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
    names = (
        "w = lambda: B",
        "w = lambda: cos = 1/sqrt(M)",
        "w = sqrt(lambda/M): B",
        "w = sqrt(lambda/M): cos = sqrt(lambda_1/sum)",
    )
    parts: dict[str, list] = {name: [] for name in names}
    target: dict[str, list] = {"lambda_1 u_1 in column 1, zeros elsewhere": [], "u_1 lambda_1": []}
    heavier, unitary, equal = [], [], []
    for M in range(3, 21):
        for _ in range(budget(3, 20, 100)):
            d = M + int(rng.integers(1, 6))
            values = np.sort(10.0 ** rng.uniform(-3.0, 3.0, M))[::-1]
            U = random_frame(d, M, rng)
            Phi, where = U * values, {"M": M, "d": d, "lambda": values.tolist()}
            best = LowRankRegression(Phi).best(1).Phi
            single = np.outer(values[0] * U[:, 0], np.eye(M)[0])
            target["lambda_1 u_1 in column 1, zeros elsewhere"].append(
                (relative(best, single) * (values[0] - values[1]) / values[0], where)
            )
            printed = values[0] * U[:, :1]
            target["u_1 lambda_1"].append(
                (relative(best, printed) if best.shape == printed.shape else np.inf, where)
            )
            unitary.append(relative(U @ U.T, np.eye(d)) < EXACT)
            plain, weighted, same = (
                np.mean(Phi / heads, axis=1)
                for heads in (values, (values / M) ** power, np.ones(M))
            )
            cosines = [U[:, 0] @ B / np.linalg.norm(B) for B in (plain, weighted, same)]
            share = values[0] / values.sum()
            for name, found, expected in zip(
                names,
                (plain, cosines[0], weighted, cosines[1]),
                (U.mean(axis=1), 1.0 / np.sqrt(M), U @ np.sqrt(values / M), np.sqrt(share)),
                strict=True,
            ):
                parts[name].append((relative(found, expected), where))
            heavier.append((cosines[0], cosines[1], where))
            equal.append(cosines[2] > cosines[1])
    yield from map(proved, identities(parts, EXACT))
    yield proved(
        Readings(
            identities(target, EXACT), name="B*W* = u_1 lambda_1", phrase="B*W* = u_1 lambda_1"
        )
    )
    yield Cases(
        heavier,
        quantity="cosine to u_1",
        name="u_1 weighted more with w = sqrt(lambda/M)",
        strength=PROVED,
    )
    yield Fact("share of cases with a unitary U, all having M < d", float(np.mean(unitary)))
    yield Fact("share of cases in which equal heads weight u_1 still more", float(np.mean(equal)))
