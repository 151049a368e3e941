"""Lemma 1: exact heads, and their error."""

from __future__ import annotations

from itertools import product

import numpy as np

from linrep.claims import Identity, proved, statement
from linrep.claims.deviations import relative
from linrep.claims.evidence import PROVED
from linrep.papers.fedrep._common import (
    DESIGNS,
    batch_of,
    by_name,
    exact_heads,
    head_errors,
    instance,
    misprinted,
    moments,
    sensing,
)


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
    found = by_name(_rows(budget, rng, sign))
    wanted = (
        ("(21)", "(17)", "(17), W* B*' B", "(21) as printed, W* B* B'"),
        ("(20)", "the line before, in (20)", *_SUMS),
    )
    if misprints:
        for name, place, form, printed in wanted:
            pair = {key: found[key] for key in (form, printed)}
            yield proved(misprinted(pair, place, 1e-10, name=name), but=[printed])
        return
    for name in ("rows (27)", "block matrices (19), (22)", "normal equations (18)"):
        yield Identity(found[name], 1e-10, name=name, strength=PROVED)
    yield Identity(found["(17), W* B*' B"], 1e-10, name="(17)", strength=PROVED)
    name = "m < k, pseudo-inverse: the minimizer nearest to B' B* w*"
    yield Identity(found[name], 1e-10, name=name, strength=PROVED)


#: The readings of (20).
_SUMS = "sum of w_q* <b_q*, b_p>", "(20) as printed, the sum of w_q* b_p*' times b_q"


def _rows(budget, rng, sign):
    # In the last setting d = k, so that the shapes of (21) fit.
    shapes = [(7, 6, 9, 2), (20, 12, 15, 3), (5, 9, 12, 4), (4, 8, 6, 1), (6, 9, 3, 3)]
    for _ in range(budget(1, 5, 50)):
        for (n, m, d, k), design in product(shapes, DESIGNS):
            where = {"n": n, "m": m, "d": d, "k": k, "design": design}
            truth, B = instance(n, d, k, rng, design=design)
            X, y = batch_of(truth, m, rng)
            condition = np.linalg.cond(B.T @ moments(X) @ B).max()
            if condition > 1e8:
                continue  # Rademacher signs can make G^i singular
            heads, F = exact_heads(X, y, B), head_errors(truth, B, X)
            found = truth.W @ truth.B.T @ B + sign * F
            yield "rows (27)", relative(found, heads) / condition, where
            G, C, D = _blocks(X, B, truth)
            vector = truth.W.T.ravel()
            stacked = np.linalg.solve(G, (G @ D - C) @ vector).reshape(k, n).T
            yield "block matrices (19), (22)", relative(stacked, F, 1.0) / condition, where
            pair = G @ heads.T.ravel(), C @ vector
            yield "normal equations (18)", relative(*pair) / condition, where
            yield "(17), W* B*' B", relative(found, heads) / condition, where
            fits = d == k
            printed = relative(truth.W @ truth.B @ B.T + sign * F, heads) if fits else np.inf
            yield "(21) as printed, W* B* B'", printed, where
            for name, value in zip(_SUMS, _columns(truth, B), strict=True):
                yield name, relative(value + sign * F, heads) / condition, where
        for n, m, d, k in ((6, 3, 10, 4), (6, 1, 8, 3)):
            truth, B = instance(n, d, k, rng)
            X, y = batch_of(truth, m, rng)
            error = _least_change(truth, B, X, y, sign)
            where = {"n": n, "m": m, "d": d, "k": k}
            yield "m < k, pseudo-inverse: the minimizer nearest to B' B* w*", error, where


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
    A = sensing(X).reshape(n, -1, n, X.shape[2])
    m = A.shape[1]
    images = np.einsum("imcd,dp->pcim", A, B)  # A_ij b_p, a vector over clients c
    targets = np.einsum("imcd,dp->pcim", A, truth.B)
    G = np.einsum("pcim,qeim->pcqe", images, images).reshape(n * k, n * k) / m
    C = np.einsum("pcim,qeim->pcqe", images, targets).reshape(n * k, n * k) / m
    return G, C, np.kron(B.T @ truth.B, np.eye(n))


def _columns(truth, B):
    """Return each reading of (20) with W* B*' B, column by column."""
    k = B.shape[1]
    good, printed = np.zeros_like(truth.W), np.zeros_like(truth.W)
    for p, q in product(range(k), repeat=2):
        good[:, p] += truth.W[:, q] * (truth.B[:, q] @ B[:, p])
        printed[:, p] += truth.W[:, q] * (truth.B[:, p] @ B[:, q])
    return good, printed


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
