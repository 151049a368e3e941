"""(62) to (69), in the proof of Lemma 6: what a round shrinks."""

from __future__ import annotations

import numpy as np

from linrep.claims import Identity, search, statement
from linrep.claims.fedrep._common import instance
from linrep.subspace import distance
from linrep.theory import fedrep as theory
from linrep.theory import fedrep_lemmas as lemmas


def _heads_problem(shape, x):
    """Return W*, D = B*'B, F, delta, distance and the step size over its limit."""
    n, k = shape["n"], shape["k"]
    W, F = x[: n * k].reshape(n, k), x[n * k : 2 * n * k].reshape(n, k)
    sines = np.sin(x[2 * n * k : 2 * n * k + k])
    norm = np.linalg.norm(W, 2)
    if norm == 0.0:
        return None
    far = float(np.abs(sines).max())
    delta = 0.5 / (1.0 + x[-1] ** 2)
    limit = delta / (1.0 - delta) * norm * far
    size = np.linalg.norm(F, 2)
    F = F * (limit / size) if size > 0.0 else F
    values = np.linalg.svd(W, compute_uv=False)
    least = values[-1] if n >= k else 0.0
    D = np.diag(np.sqrt(1.0 - sines**2))
    return W, D, F, delta, far, 1.0 / (1.0 + x[-2] ** 2), values[0], least


def _shrinking(cross):
    """Return a function of left and right side of (67), with its 2 replaced."""

    def lhs_rhs(shape, x):
        found = _heads_problem(shape, x)
        if found is None:
            return None
        W, D, F, delta, far, fraction, largest, least = found
        rn = len(W)
        step_size = fraction * float(theory.step_size_limit(largest / np.sqrt(rn)))
        heads = W @ D - F
        left = np.linalg.norm(np.eye(len(D)) - step_size / rn * heads.T @ heads, 2)
        sizes = {
            "step_size": step_size,
            "sigma_min": least / np.sqrt(rn),
            "sigma_max": largest / np.sqrt(rn),
            "distance": far,
        }
        right = float(lemmas.shrinking_bound(delta, **sizes))
        without = float(lemmas.shrinking_bound(0.0, **sizes))
        return float(left), without + 0.5 * cross * (right - without)

    return lhs_rhs


def _largest(factor):
    """Return a function of left and right side of (62)."""

    def lhs_rhs(shape, x):
        found = _heads_problem(shape, x)
        if found is None:
            return None
        W, D, F = found[:3]
        return float(np.linalg.norm(W @ D - F, 2) ** 2), factor * float(found[6] ** 2)

    return lhs_rhs


def _weyl(shape, x):
    """Return left and right side of (64), signs changed: it bounds an eigenvalue from below."""
    found = _heads_problem(shape, x)
    if found is None or shape["n"] < shape["k"]:
        return None
    W, D, F = found[:3]
    A = W @ D
    least = np.linalg.svd(A - F, compute_uv=False)[-1] ** 2
    claimed = (
        np.linalg.svd(A, compute_uv=False)[-1] ** 2
        - 2.0 * np.linalg.norm(F.T @ A, 2)
        + np.linalg.svd(F, compute_uv=False)[-1] ** 2
    )
    scale = 2.0 * np.linalg.norm(A, 2) ** 2 + 2.0 * np.linalg.norm(F, 2) ** 2
    return float(scale - least), float(scale - claimed)


def _joined(shape, x):
    """Return left and right side of (69): delta_k and delta'_k give way to their sum."""
    delta, prime = 0.5 / (1.0 + x[0] ** 2), x[1] ** 2
    if delta + prime >= 1.0:
        return None
    square = 1.0 + x[2] ** 2
    total = delta + prime
    return (
        2.0 * delta / (1.0 - delta) * square + prime,
        2.0 * total / (1.0 - total) * square,
    )


@statement(
    "fedrep.eq67",
    place="(62)-(69), in the proof of Lemma 6",
    kind="deterministic inequality",
    latex=r"\|F\|_2 \le \tfrac{\delta_k}{1-\delta_k}\|W^*\|_2\,\mathrm{dist},\ \delta_k \le"
    r"\tfrac12,\ \eta \le \tfrac{1}{4\sigma_{\max}^2} \implies \lambda_{\max}(W^\top W) \le"
    r"4\|W^*\|_2^2,\ \Big\|I - \frac{\eta}{rn}W^\top W\Big\|_2 \le 1 - \eta\sigma_{\min}^2"
    r"\sigma_{\min}^2(B^{*\top}B) + 2\eta\frac{\delta_k}{1-\delta_k}\sigma_{\max}^2",
    plain="With heads near W*B*'B the step shrinks what it has to shrink.",
    negative_control={"cross": 0.5},
)
def eq67(budget, rng, *, factor=4.0, cross=2.0):
    """Search over W*, angles, step sizes and F at its limit; no use is made of (64)'s condition."""
    shapes = [{"n": 1, "k": 1}, {"n": 2, "k": 2}, {"n": 4, "k": 2}, {"n": 5, "k": 4}]

    def length(shape):
        return 2 * shape["n"] * shape["k"] + shape["k"] + 2

    for name, lhs_rhs in (
        ("(62)", _largest(factor)),
        ("(64) without its condition", _weyl),
        ("(67)", _shrinking(cross)),
    ):
        yield search(lhs_rhs, shapes[: budget(2, 4)], length, budget, rng, name=name)
    yield search(_joined, [{}], lambda shape: 3, budget, rng, name="(69)")
    cases = []
    for _ in range(budget(50, 200, 1000)):
        k = int(rng.integers(1, 5))
        truth, B = instance(k, int(rng.integers(2 * k, 20)), k, rng)
        least = np.linalg.svd(B.T @ truth.B, compute_uv=False)[-1] ** 2
        expected = 1.0 - distance(B, truth.B) ** 2
        cases.append((abs(least - expected), {"d": truth.d, "k": k}))
    yield Identity(cases, 1e-12, name="(68), an equality")
