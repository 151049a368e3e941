"""(62) to (69), in the proof of Lemma 6: what a round shrinks."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from linrep.claims import Identity, search_instances, statement
from linrep.claims.evidence import PROVED
from linrep.claims.measurements import Array
from linrep.papers.fedrep._common import instance
from linrep.problems.subspace import distance
from linrep.theory import fedrep as theory
from linrep.theory import fedrep_lemmas as lemmas


class _Heads(NamedTuple):
    """W*, D = B*'B, F, delta, the distance, the step size over its limit, W*'s singular values."""

    W: Array
    D: Array
    F: Array
    delta: float
    distance: float
    fraction: float
    largest: float
    least: float


def _read(reader, shape):
    """Return the heads that numbers stand for, F as large as it may be."""
    n, k = shape["n"], shape["k"]
    W, F = reader.numbers(n, k), reader.numbers(n, k)
    sines = np.sin(reader.numbers(k))
    fraction, delta = 1.0 / (1.0 + reader.number() ** 2), 0.5 / (1.0 + reader.number() ** 2)
    norm = np.linalg.norm(W, 2)
    if norm == 0.0:
        return None
    far = float(np.abs(sines).max())
    limit = delta / (1.0 - delta) * norm * far
    size = np.linalg.norm(F, 2)
    F = F * (limit / size) if size > 0.0 else F
    values = np.linalg.svd(W, compute_uv=False)
    least = values[-1] if n >= k else 0.0
    D = np.diag(np.sqrt(1.0 - sines**2))
    return _Heads(W, D, F, delta, far, fraction, values[0], least)


def _shrinking(at, cross):
    """Return lhs and rhs of (67), with its 2 replaced."""
    root = np.sqrt(len(at.W))
    sizes = {
        "step_size": at.fraction * float(theory.step_size_limit(at.largest / root)),
        "sigma_min": at.least / root,
        "sigma_max": at.largest / root,
        "distance": at.distance,
    }
    heads = at.W @ at.D - at.F
    shrunk = np.eye(len(at.D)) - sizes["step_size"] / len(at.W) * heads.T @ heads
    right = float(lemmas.shrinking_bound(at.delta, **sizes))
    without = float(lemmas.shrinking_bound(0.0, **sizes))
    return float(np.linalg.norm(shrunk, 2)), without + 0.5 * cross * (right - without)


def _weyl(at):
    """Return lhs and rhs of (64), signs changed: it bounds an eigenvalue from below."""
    if len(at.W) < len(at.D):
        return None
    A, F = at.W @ at.D, at.F
    least = np.linalg.svd(A - F, compute_uv=False)[-1] ** 2
    claimed = (
        np.linalg.svd(A, compute_uv=False)[-1] ** 2
        - 2.0 * np.linalg.norm(F.T @ A, 2)
        + np.linalg.svd(F, compute_uv=False)[-1] ** 2
    )
    scale = 2.0 * np.linalg.norm(A, 2) ** 2 + 2.0 * np.linalg.norm(F, 2) ** 2
    return float(scale - least), float(scale - claimed)


def _apart(at):
    """Return lhs and rhs of (65), without 1 and eta/rn: W* and D apart, F'F left out."""
    if len(at.W) < len(at.D):
        return None
    A, F = at.W @ at.D, at.F
    least = np.linalg.svd(A, compute_uv=False)[-1] ** 2
    crossed = 2.0 * np.linalg.norm(F.T @ A, 2) - np.linalg.svd(F, compute_uv=False)[-1] ** 2
    smallest = np.linalg.svd(at.D, compute_uv=False)[-1] ** 2
    scale = 2.0 * at.largest**2  # so that nothing cancels
    claimed = 2.0 * np.linalg.norm(F, 2) * np.linalg.norm(A, 2) - at.least**2 * smallest
    return float(scale - least + crossed), float(scale + claimed)


def _by_the_lemma(at):
    """Return lhs and rhs of (66): what Lemma 4 makes of the cross term."""
    left = np.linalg.norm(at.F, 2) * np.linalg.norm(at.W @ at.D, 2)
    return float(left), float(at.delta / (1.0 - at.delta) * at.largest**2)


class _Deviations(NamedTuple):
    """delta_k, delta'_k and sigma_max^2."""

    head: float
    pull: float
    square: float


def _deviations(reader, shape):
    head, pull, square = reader.numbers(3)
    return _Deviations(0.5 / (1.0 + head**2), pull**2, 1.0 + square**2)


def _joined(at):
    """Return lhs and rhs of (69): delta_k and delta'_k give way to their sum."""
    total = at.head + at.pull
    if total >= 1.0:
        return None
    left = 2.0 * at.head / (1.0 - at.head) * at.square + at.pull
    return left, 2.0 * total / (1.0 - total) * at.square


@statement(
    "fedrep.eq67",
    place="(62)-(69), in the proof of Lemma 6",
    latex=r"\|F\|_2 \le \tfrac{\delta_k}{1-\delta_k}\|W^*\|_2\,\mathrm{dist},\ \delta_k \le"
    r"\tfrac12,\ \eta \le \tfrac{1}{4\sigma_{\max}^2} \implies \lambda_{\max}(W^\top W) \le"
    r"4\|W^*\|_2^2,\ \Big\|I - \frac{\eta}{rn}W^\top W\Big\|_2 \le 1 - \eta\sigma_{\min}^2"
    r"\sigma_{\min}^2(B^{*\top}B) + 2\eta\frac{\delta_k}{1-\delta_k}\sigma_{\max}^2",
    plain="With heads near W*B*'B a step at fixed heads shrinks the distance: the norm of I - "
    "(eta/rn) W'W is at most that of (67).",
    stronger={"factor": -1, "cross": -1},
    negative_control={"cross": 0.5},
)
def eq67(budget, rng, *, factor=4.0, cross=2.0):
    """Search over W*, angles, step sizes and F at its limit; no use is made of (64)'s condition.

    (67) is true with 1 in place of 2 as well.
    """
    shapes = [{"n": 1, "k": 1}, {"n": 2, "k": 2}, {"n": 4, "k": 2}, {"n": 5, "k": 4}]

    def largest(at):
        return float(np.linalg.norm(at.W @ at.D - at.F, 2) ** 2), factor * float(at.largest**2)

    # Angles 0 and 90 degrees, and F of the size of W* in the direction of the first: (62) is sharp.
    sharp = np.array([1.0, 0.0, 0.0, 1.0, -1.0, 0.0, 0.0, 0.0, 0.0, np.pi / 2, 0.0, 0.0])
    for name, sides in (
        ("(62)", largest),
        ("(64) without its condition", _weyl),
        ("(65)", _apart),
        ("(66)", _by_the_lemma),
        ("(67)", lambda at: _shrinking(at, cross)),
    ):
        yield search_instances(
            sides,
            shapes[: budget(2, 4)],
            _read,
            budget,
            rng,
            name=name,
            known=[(shapes[1], sharp)],
            strength=PROVED,
        )
    yield search_instances(_joined, [{}], _deviations, budget, rng, name="(69)", strength=PROVED)
    cases = []
    for _ in range(budget(50, 200, 1000)):
        k = int(rng.integers(1, 5))
        truth, B = instance(k, int(rng.integers(2 * k, 20)), k, rng)
        least = np.linalg.svd(B.T @ truth.B, compute_uv=False)[-1] ** 2
        expected = 1.0 - distance(B, truth.B) ** 2
        cases.append((abs(least - expected), {"d": truth.d, "k": k}))
    yield Identity(cases, 1e-12, name="(68), an equality", strength=PROVED)
