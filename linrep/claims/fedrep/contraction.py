"""Steps of the proof of Lemma 6: what a round shrinks, and what the QR factorization stretches."""

from __future__ import annotations

import numpy as np
import pandas as pd

from linrep.claims import Cases, Constant, Fact, Frequency, Identity, search, statement
from linrep.claims._parts import cells
from linrep.claims.fedrep._batches import gaussian_step, sampled_step, sphere_heads, tilt
from linrep.claims.fedrep._common import ASSUMPTIONS, DESIGNS, instance
from linrep.subspace import distance
from linrep.theory import fedrep as theory
from linrep.theory import fedrep_lemmas as lemmas

#: Share of runs that may break a statement whose own probability is too small to be tested.
_ALLOWED = 0.05


# (62) to (69).


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


# (70) to (84).


def _needed(triangle, step_size, sigma_max):
    """Return the delta at which (84) is an equality, 0 where R^-1 has norm at most 1."""
    loss = 1.0 - np.linalg.eigvalsh(triangle)[0]
    ratio = loss / (4.0 * step_size * sigma_max**2)  # delta / (1 - delta)^2
    if ratio <= 0.0:
        return 0.0
    # The root below 1 of ratio (1 - delta)^2 = delta.
    return float(2.0 * ratio / (2.0 * ratio + 1.0 + np.sqrt(4.0 * ratio + 1.0)))


def _first_term(step):
    """Return the first term of (72), over 2 eta."""
    inner = step.error[: step.heads.shape[1]]
    return float(np.linalg.eigvalsh(0.5 * (inner + inner.T))[-1])


_GRID = ["m", "d", "k", "distance"]


def _steps(budget, rng, split, runs):
    """Yield Gaussian steps at fixed m for growing rn, each with its setting and step size."""
    for m, d, k, far in [(16, 10, 2, 0.5), (8, 4, 1, 0.9), (20, 10, 4, 0.9)][: budget(2, 3)]:
        for setting in cells({"m": m, "d": d, "k": k, "distance": far}, rn=[100, 550, 3000]):
            for _ in range(runs):
                W, (C, Phi) = sphere_heads(setting["rn"], k, rng), tilt(k, far)
                step = gaussian_step(W, C, Phi, m, d, rng, split=split)
                yield setting, step, float(theory.step_size_limit(step.sigma_max))


def _no_stretch(budget, rng):
    """Compare, on batches drawn in full, R'R with I plus a square if the batch is the heads'."""
    formula, norms = [], []
    for _ in range(budget(60, 300, 2000)):
        k, m, rn = int(rng.integers(1, 5)), int(rng.integers(1, 30)), int(rng.integers(4, 40))
        d = int(rng.integers(2 * k, 20))
        design = DESIGNS[int(rng.integers(len(DESIGNS)))]
        eta, far = float(rng.uniform(0.0, 2.0)), float(rng.uniform(0.0, 1.0))
        truth, B = instance(rn, d, k, rng, distance=far, design=design)
        step = sampled_step(truth, B, m, rng, split=False)
        where = {"rn": rn, "m": m, "d": d, "k": k, "design": design, "eta": eta}
        found = step.triangle(eta)
        expected = np.eye(k) + eta**2 * step.gradient.T @ step.gradient
        scale = np.linalg.norm(expected, 2) + eta * np.mean(np.sum(step.heads**2, axis=1))
        formula.append((float(np.linalg.norm(found - expected, 2)) / scale, where))
        norms.append((1.0 - np.linalg.eigvalsh(found)[0] - 1e-10 * scale, 0.0, where))
    yield Identity(formula, 1e-9, name="one batch: R'R = I + a square")
    yield Cases(
        norms, name="one batch: norm of R^-1 at most 1, hence (84)",
        quantity="1 less the least eigenvalue of R'R and rounding",
    )  # fmt: skip


@statement(
    "fedrep.eq84",
    place="(70)-(84), in the proof of Lemma 6",
    kind="probability bound",
    latex=r"\|R^{-1}\|_2 \le \Big(1 - 4\eta\frac{\bar\delta}{(1-\bar\delta)^2}\sigma_{\max}^2"
    r"\Big)^{-1/2}, \qquad \max_{\|x\|=1}\frac{2\eta}{rn}x^\top W^\top\Big(\frac1m A^*A(Q) - Q"
    r"\Big)Bx \le 2\eta\delta_k'",
    plain="Orthonormalizing stretches hardly, as the gradient has little of B.",
    hypotheses=ASSUMPTIONS,
    negative_control={"size_power": 1.0},
)
def eq84(budget, rng, *, size_power=0.5):
    """Follow the constants that (73) and (84) need on separate batches, along rn at fixed m.

    On one batch B'S' = 0, so that R'R is I plus a square, and the first term of (72) has the mean
    -2 eta tr(Phi S Phi')/(m - k - 1) for Gaussian x: it is compared with (73) at c = 1.
    """
    rows: dict[str, list] = {"(73)": [], "(84)": []}
    for setting, step, eta in _steps(budget, rng, True, budget(250, 6000, 20_000)):
        rn, m, d, k = (setting[name] for name in ("rn", "m", "d", "k"))
        prime = k * np.sqrt(d) / (rn * m) ** size_power
        # A first term below 0 needs no constant, but a logarithm needs a positive one.
        first = max(_first_term(step) / prime, 1e-6)
        both = float(lemmas.delta(k, rn, m)) + prime
        inverse = max(_needed(step.triangle(eta), eta, step.sigma_max) / both, 1e-6)
        rows["(73)"].append(setting | {"constant": first})
        rows["(84)"].append(setting | {"constant": inverse})
    yield from _no_stretch(budget, rng)
    for name, entries in rows.items():
        yield Constant(
            pd.DataFrame(entries), ["rn"], by=_GRID, rng=rng, name=f"two batches: {name}",
            label="c needed",
        )  # fmt: skip
    terms, norms = [], []
    for setting, step, _ in _steps(budget, rng, False, budget(100, 300, 1000)):
        rn, m, d, k = (setting[name] for name in ("rn", "m", "d", "k"))
        prime = k * np.sqrt(d) / (rn * m) ** size_power
        terms.append(_first_term(step) / prime)
        norms.append(np.linalg.norm(step.error, 2) / prime)
    above = sum(term > 1.0 for term in terms)
    yield Frequency(above, len(terms), _ALLOWED, name="one batch: (73) at c = 1")
    yield Fact("largest (first term)/(2 eta delta'_k) on one batch, c = 1", max(terms))
    yield Fact("largest (norm in (73))/(2 eta delta'_k) on one batch, c = 1", max(norms))
