"""Algorithm 2: what exact heads imply for a round, against (70) to (84)."""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np

from linrep.claims import Cases, Fact, Identity, search_instances, statement
from linrep.claims.deviations import relative
from linrep.claims.evidence import PROVED
from linrep.claims.measurements import Array
from linrep.papers.fedrep._common import (
    DESIGNS,
    SUB_GAUSSIAN,
    batch_of,
    by_name,
    exact_heads,
    head_errors,
    instance,
)
from linrep.problems.subspace import distance, orthonormalize
from linrep.theory.fedrep_limits import population_bound


@statement(
    "fedrep.extra_identities",
    own=True,
    place="Algorithm 2; set against (70)-(84)",
    latex=r"S^t\hat B^t = 0, \quad Q^t\hat B^t = -F, \quad R^{t+1\top}R^{t+1} = I +"
    r"\tfrac{\eta^2}{(rn)^2}W^{t+1\top}S^tS^{t\top}W^{t+1}, \quad \|(R^{t+1})^{-1}\|_2 \le 1",
    plain="On the batch of the exact heads R'R is I plus a positive semidefinite matrix.",
    stronger={"sign": 0, "longest": -1, "gain": 1},
    negative_control={"sign": -1.0},
    hypotheses=(SUB_GAUSSIAN,),
)
def extra_identities(budget, rng, *, sign=1.0, longest=1.0, gain=1.0):
    """Take rounds on the heads' batch and on a second one, for m from 1 to 20 k."""
    found = by_name(_rows(budget, rng, sign, longest))
    second = {name: [value for value, _ in found.pop(name)] for name in _SECOND}
    for name in _NAMES:
        yield Identity(found[name], name=name, strength=PROVED)
    yield Cases(found["|R^-1| <= 1"], name="|R^-1| <= 1", quantity="|R^-1|", strength=PROVED)
    yield _population(budget, rng, gain)
    for name, values in second.items():
        yield Fact(name, max(values))


_NAMES = (
    "S B = 0",
    "Q B = -F",
    "R'R",
    "m <= k: B stays",
    "span depends on the span alone",
    "split batch: Q B = -F",
    "split batch: span depends on the span alone",
)
_SECOND = (
    "largest |R^-1| on a second batch",
    "largest |S B| over |S| on a second batch",
    "largest distance that B moves with m = k on a second batch",
)


def _rows(budget, rng, sign, longest):
    """Yield deviations, and what is to be at most what, of rounds on one batch and on two."""
    shapes = ((6, 9, 2), (12, 15, 4), (5, 4, 1), (3, 12, 3))
    for _, (n, d, k) in product(range(budget(2, 15, 150)), shapes):
        for m in (1, k, k + 1, 2 * k + 1, 20 * k):
            design = DESIGNS[rng.integers(len(DESIGNS))]
            where = {"n": n, "m": m, "d": d, "k": k, "design": design}
            truth, B = instance(n, d, k, rng, design=design)
            X, y = batch_of(truth, m, rng)
            eta = 10.0 ** rng.uniform(-2.0, 1.0) / truth.sigma_max() ** 2
            W = exact_heads(X, y, B)
            squares = np.linalg.svd(X @ B, compute_uv=False) ** 2
            small = squares[:, min(m, k) - 1]
            if (small < 1e-6 * squares[:, 0]).any():
                continue  # a batch in which samples nearly repeat each other
            condition = float((np.linalg.norm(X, 2, axis=(1, 2)) ** 2 / small).max())
            Q, S, new = _step(truth, B, W, X, eta)
            scale, size = max(1.0, float(np.abs(S).max())), max(1.0, float(np.abs(W).max()))
            yield "S B = 0", float(np.abs(S @ B).max() / (scale * size * condition)), where
            second = batch_of(truth, m, rng)[0]
            _, other, moved = _step(truth, B, W, second, eta)
            yield _SECOND[1], float(np.abs(other @ B).max() / np.abs(other).max()), where
            if m >= k:
                error = relative(Q @ B, -head_errors(truth, B, X), 1.0) / condition
                yield "Q B = -F", error, where
                yield "split batch: Q B = -F", error, where
            if m <= k:
                stays = distance(new, B) / (max(1.0, eta) * condition * size)
                yield "m <= k: B stays", stays, where
                if m == k:
                    yield _SECOND[2], distance(moved, B), where
            predicted = np.eye(k) + sign * (eta / n) ** 2 * W.T @ S @ S.T @ W
            error = relative(new.T @ new, predicted) / (condition * max(1.0, eta) * size)
            yield "R'R", error, where
            inverse = 1.0 / np.linalg.svd(new, compute_uv=False)[-1]
            yield "|R^-1| <= 1", float(inverse), longest + 1e-9, where
            yield _SECOND[0], float(np.linalg.eigvalsh(moved.T @ moved)[0]) ** -0.5, where
            scale = condition * max(1.0, size**2 * eta)
            turned = B @ orthonormalize(rng.standard_normal((k, k)))
            heads = exact_heads(X, y, turned)
            for name, own, target in ((_NAMES[4], X, new), (_NAMES[6], second, moved)):
                again = _step(truth, turned, heads, own, eta)[2]
                yield name, _apart(again, target) / scale, where


def _apart(matrix, other):
    """Return the distance of two matrices' spans over the condition of the second one."""
    return distance(matrix, other) / np.linalg.cond(other)


def _step(truth, B, W, X, eta):
    """Return Q, S and B-bar of a round with heads W and the gradient on X."""
    Q = W @ B.T - truth.W @ truth.B.T
    S = np.einsum("imd,im->id", X, np.einsum("imd,id->im", X, Q)) / X.shape[1]
    return Q, S, B - eta / truth.n * S.T @ W


class _Round(NamedTuple):
    """A frame B, W*'W*/n, the least singular value of W*/sqrt(n), and the step size."""

    B: Array
    S: Array
    least: float
    step_size: float


def _round(reader, shape):
    n, d, k = shape["n"], shape["d"], shape["k"]
    share, W, raw = abs(reader.number()), reader.numbers(n, k), reader.numbers(d, k)
    values = np.linalg.svd(W, compute_uv=False) / np.sqrt(n)
    if not 0.0 < share <= 1.0 or values[0] < 1e-3:
        return None
    singular = np.linalg.svd(raw, compute_uv=False)
    if singular[-1] < 1e-3 * singular[0] or singular[0] < 1e-3:
        return None
    least = values[-1] if n >= k else 0.0
    return _Round(orthonormalize(raw), W.T @ W / n, least, share / values[0] ** 2)


def _population(budget, rng, gain):
    """Search for a round on infinitely many samples that shrinks the distance less."""

    def sides(at):
        truth = np.eye(*at.B.shape)
        D = at.B.T @ truth
        before = distance(at.B, truth)
        after = distance(at.B + at.step_size * (truth - at.B @ D) @ at.S @ D.T, truth)
        factor = population_bound(before, sigma_min=at.least, step_size=at.step_size)
        return after, (1.0 - gain * (1.0 - factor)) * before + 1e-12

    shapes = [{"n": 1, "d": 2, "k": 1}, {"n": 2, "d": 4, "k": 2}, {"n": 4, "d": 6, "k": 3}]
    name = "population: (1 - eta sigma_min^2 (1 - dist^2)) dist"
    return search_instances(sides, shapes, _round, budget, rng, name=name, strength=PROVED)
