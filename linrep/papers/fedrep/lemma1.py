"""Lemma 1: exact heads, and their error."""

from itertools import product

import numpy as np

from linrep.claims import statement
from linrep.claims.measurements import relative
from linrep.papers.fedrep import model

#: The displays that are misprinted: where the right form is, both forms' names.
SUM, SWAPPED = "sum of w_q* <b_q*, b_p>", "(20) as printed, the sum of w_q* b_p*' times b_q"
MISPRINTS = {
    "(21)": ("(17)", "(17), W* B*' B", "(21) as printed, W* B* B'"),
    "(20)": ("the line before, in (20)", SUM, SWAPPED),
}


@statement(
    "fedrep.lemma1",
    place="Lemma 1, (17)-(19), (22), (27)",
    latex=r"W^{t+1} = W^*\hat B^{*\top}\hat B^t - F, \qquad "
    r"f_i = (G^i)^{-1}(G^i D - C^i) w_i^*",
    plain="Exact heads are B' B* w* less an explicit error.",
    stronger={"sign": 0},
    negative_control={"sign": 1.0},
)
def lemma1(budget, rng, *, sign=-1.0, misprints=False):
    """Compare least-squares heads with (17) and its proof's block matrices, or with (20), (21)."""
    found = model.displays(
        heads(budget, rng, sign), 1e-10, but=[printed for *_, printed in MISPRINTS.values()]
    )
    for name, (place, right, printed) in MISPRINTS.items():
        both = found.pop(right), found.pop(printed)
        if misprints:
            yield model.misprinted(*both, place, name=name)
    if not misprints:
        yield from found.values()


def heads(budget, rng, sign):
    """Yield how far both sides of each display are apart, m < k included."""
    # In the last setting d = k, so that the shapes of (21) fit.
    shapes = [(7, 6, 9, 2), (20, 12, 15, 3), (5, 9, 12, 4), (4, 8, 6, 1), (6, 9, 3, 3)]
    for _ in range(budget(1, 5, 50)):
        for (n, m, d, k), design in product(shapes, model.DESIGNS):
            at = {"n": n, "m": m, "d": d, "k": k, "design": design}
            truth, B = model.instance(n, d, k, rng, design=design)
            X, y = model.batch_of(truth, m, rng)
            condition = np.linalg.cond(B.T @ model.moments(X) @ B).max()
            if condition > 1e8:
                continue  # Rademacher signs can make G^i singular
            W, F = model.exact_heads(X, y, B), model.head_errors(truth, B, X)
            found = relative(truth.W @ truth.B.T @ B + sign * F, W) / condition
            yield "(17)", found, at
            yield "(17), W* B*' B", found, at
            G, C, D = blocks(X, B, truth)
            vector = truth.W.T.ravel()
            stacked = np.linalg.solve(G, (G @ D - C) @ vector).reshape(k, n).T
            yield "block matrices (19), (22)", relative(stacked, F, 1.0) / condition, at
            error = relative(G @ W.T.ravel(), C @ vector)
            yield "normal equations (18)", error / condition, at
            swapped = relative(truth.W @ truth.B @ B.T + sign * F, W) if d == k else np.inf
            yield MISPRINTS["(21)"][-1], swapped, at
            sums = {SUM: np.zeros((n, k)), SWAPPED: np.zeros((n, k))}
            for p, q in product(range(k), repeat=2):
                sums[SUM][:, p] += truth.W[:, q] * (truth.B[:, q] @ B[:, p])
                sums[SWAPPED][:, p] += truth.W[:, q] * (truth.B[:, p] @ B[:, q])
            for name, value in sums.items():
                yield name, relative(value + sign * F, W) / condition, at
        for n, m, d, k in ((6, 3, 10, 4), (6, 1, 8, 3)):
            truth, B = model.instance(n, d, k, rng)
            name = "m < k, pseudo-inverse: the minimizer nearest to B' B* w*"
            X, y = model.batch_of(truth, m, rng)
            yield name, nearest(truth, B, X, y, sign), {"n": n, "m": m, "d": d, "k": k}


def blocks(X, B, truth):
    """Return G, C, D of (19): rnk x rnk, block (p, q) diagonal over the clients."""
    n, k = truth.W.shape
    A = model.sensing(X).reshape(n, -1, n, X.shape[2])
    m = A.shape[1]
    images = np.einsum("imcd,dp->pcim", A, B)  # A_ij b_p, a vector over clients c
    targets = np.einsum("imcd,dp->pcim", A, truth.B)
    G = np.einsum("pcim,qeim->pcqe", images, images).reshape(n * k, n * k) / m
    C = np.einsum("pcim,qeim->pcqe", images, targets).reshape(n * k, n * k) / m
    return G, C, np.kron(B.T @ truth.B, np.eye(n))


def nearest(truth, B, X, y, sign):
    """Return how far (17) with pseudo-inverses is from the minimizer nearest to B' B* w*."""
    D, worst = B.T @ truth.B, 0.0
    for x, z, w in zip(X, y, truth.W, strict=True):
        pi = x.T @ x / len(x)
        G, C = B.T @ pi @ B, B.T @ pi @ truth.B
        found = D @ w + sign * np.linalg.pinv(G, rcond=1e-10) @ ((G @ D - C) @ w)
        best = D @ w + np.linalg.lstsq(x @ B, z - x @ B @ D @ w, rcond=None)[0]
        values = np.linalg.svd(x @ B, compute_uv=False)
        worst = max(worst, relative(found, best) * (values[-1] / values[0]) ** 2)
    return worst


displays = statement(
    "fedrep.lemma1.eq20_21",
    place="(20), second line, and (21)",
    latex=r"\Big(\sum_{q=1}^k w_q^*(\hat b_p^*)^\top\Big)\hat b_q^t, \qquad W^{t+1} = "
    r"W^*\hat B^*(\hat B^t)^\top - F",
    plain="Column p of the heads is the sum of w_q* b_p*' times b_q less the error, and all "
    "together W* B* B' less F.",
    constants={"misprints": True},
    negative_control={"sign": 1.0},
)(lemma1)
