"""Lemma 1: exact heads, and their error."""

from __future__ import annotations

import numpy as np

from linrep.claims import Identity, proved, statement
from linrep.claims.deviations import identities, relative
from linrep.papers.fedrep import _common


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
    names = ("rows (27)", "block matrices (19), (22)", "normal equations (18)")
    parts: dict[str, list] = {name: [] for name in names}
    product: dict[str, list] = {
        "(17), W* B*' B": [],
        "(21) as printed, W* B* B'": [],
    }
    columns: dict[str, list] = {
        "sum of w_q* <b_q*, b_p>": [],
        "(20) as printed, the sum of w_q* b_p*' times b_q": [],
    }
    short: list = []
    # In the last setting d = k, so that the shapes of (21) fit.
    shapes = [(7, 6, 9, 2), (20, 12, 15, 3), (5, 9, 12, 4), (4, 8, 6, 1), (6, 9, 3, 3)]
    for _ in range(budget(1, 5, 50)):
        for n, m, d, k in shapes:
            for design in _common.DESIGNS:
                where = {"n": n, "m": m, "d": d, "k": k, "design": design}
                truth, B = _common.instance(n, d, k, rng, design=design)
                X, y = _common.batch_of(truth, m, rng)
                condition = np.linalg.cond(B.T @ _common.moments(X) @ B).max()
                if condition > 1e8:
                    continue  # Rademacher signs can make G^i singular
                heads, F = _common.exact_heads(X, y, B), _common.head_errors(truth, B, X)
                found = truth.W @ truth.B.T @ B + sign * F
                parts["rows (27)"].append((relative(found, heads) / condition, where))
                blocks = _blocks(X, B, truth)
                vector = truth.W.T.ravel()
                stacked = np.linalg.solve(blocks[0], (blocks[0] @ blocks[2] - blocks[1]) @ vector)
                error = relative(stacked.reshape(k, n).T, F, 1.0)
                parts["block matrices (19), (22)"].append((error / condition, where))
                pair = blocks[0] @ heads.T.ravel(), blocks[1] @ vector
                parts["normal equations (18)"].append((relative(*pair) / condition, where))
                product["(17), W* B*' B"].append((relative(found, heads) / condition, where))
                if d == k:
                    printed = relative(truth.W @ truth.B @ B.T + sign * F, heads)
                    product["(21) as printed, W* B* B'"].append((printed, where))
                else:
                    product["(21) as printed, W* B* B'"].append((np.inf, where))
                for reading, value in _columns(truth, B):
                    error = relative(value + sign * F, heads) / condition
                    columns[reading].append((error, where))
        for n, m, d, k in ((6, 3, 10, 4), (6, 1, 8, 3)):
            truth, B = _common.instance(n, d, k, rng)
            X, y = _common.batch_of(truth, m, rng)
            short.append((_least_change(truth, B, X, y, sign), {"n": n, "m": m, "d": d, "k": k}))
    found = [
        *identities(parts, 1e-10),
        Identity(product["(17), W* B*' B"], 1e-10, name="(17)"),
        Identity(short, 1e-10, name="m < k, pseudo-inverse: the minimizer nearest to B' B* w*"),
    ]
    if misprints:
        found = [
            _common.misprinted(product, "(17)", 1e-10, name="(21)"),
            _common.misprinted(columns, "the line before, in (20)", 1e-10, name="(20)"),
        ]
    others = {*list(product)[1:], *list(columns)[1:]}
    yield from (proved(item, but=others) for item in found)


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


def _blocks(X, B, truth):
    """Return G, C, D of (19): rnk x rnk, block (p, q) diagonal over the clients."""
    n, k = truth.W.shape
    A = _common.sensing(X).reshape(n, -1, n, X.shape[2])
    m = A.shape[1]
    images = np.einsum("imcd,dp->pcim", A, B)  # A_ij b_p, a vector over clients c
    targets = np.einsum("imcd,dp->pcim", A, truth.B)
    G = np.einsum("pcim,qeim->pcqe", images, images).reshape(n * k, n * k) / m
    C = np.einsum("pcim,qeim->pcqe", images, targets).reshape(n * k, n * k) / m
    return G, C, np.kron(B.T @ truth.B, np.eye(n))


def _columns(truth, B):
    """Yield each reading of (20) with W* B*' B, column by column."""
    k = B.shape[1]
    good, printed = np.zeros_like(truth.W), np.zeros_like(truth.W)
    for p in range(k):
        for q in range(k):
            good[:, p] += truth.W[:, q] * (truth.B[:, q] @ B[:, p])
            printed[:, p] += truth.W[:, q] * (truth.B[:, p] @ B[:, q])
    yield "sum of w_q* <b_q*, b_p>", good
    yield "(20) as printed, the sum of w_q* b_p*' times b_q", printed


def _least_change(truth, B, X, y, sign):
    """Return how far (17) with pseudo-inverses is from the minimizer nearest to B' B* w*."""
    D = B.T @ truth.B
    worst = 0.0
    for x, z, w in zip(X, y, truth.W, strict=True):
        pi = x.T @ x / len(x)
        G, C = B.T @ pi @ B, B.T @ pi @ truth.B
        found = D @ w + sign * np.linalg.pinv(G, rcond=1e-10) @ ((G @ D - C) @ w)
        nearest = D @ w + np.linalg.lstsq(x @ B, z - x @ B @ D @ w, rcond=None)[0]
        values = np.linalg.svd(x @ B, compute_uv=False)
        worst = max(worst, relative(found, nearest) * (values[-1] / values[0]) ** 2)
    return worst
