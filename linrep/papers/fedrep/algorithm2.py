"""Algorithm 2: what exact heads imply for a round, against (70) to (84)."""

from itertools import product

import numpy as np

from linrep.claims import search_instances
from linrep.claims.evidence import PROVED
from linrep.claims.laws import law
from linrep.claims.measurements import relative
from linrep.papers.fedrep import model
from linrep.problems.subspace import distance, orthonormalize
from linrep.theory.fedrep_limits import population_bound


@law(
    "fedrep.extra_identities",
    "Algorithm 2; set against (70)-(84)",
    r"S^t\hat B^t = 0, \quad Q^t\hat B^t = -F, \quad R^{t+1\top}R^{t+1} = I +"
    r"\tfrac{\eta^2}{(rn)^2}W^{t+1\top}S^tS^{t\top}W^{t+1}, \quad \|(R^{t+1})^{-1}\|_2 \le 1",
    over=model.Drawn(),
    own=True,
    wrong={"sign": -1.0},
    stronger={"sign": 0, "longest": -1, "gain": 1},
    hypotheses=(model.SUB_GAUSSIAN,),
)
def extra_identities(budget, rng, *, sign=1.0, longest=1.0, gain=1.0):
    """On the batch of the exact heads R'R is I plus a positive semidefinite matrix."""
    shapes = ((6, 9, 2), (12, 15, 4), (5, 4, 1), (3, 12, 3))
    for _, (n, d, k) in product(range(budget(2, 15, 150)), shapes):
        for m in (1, k, k + 1, 2 * k + 1, 20 * k):
            design = model.DESIGNS[rng.integers(len(model.DESIGNS))]
            at = {"n": n, "m": m, "d": d, "k": k, "design": design}
            truth, B = model.instance(n, d, k, rng, design=design)
            X, y = model.batch_of(truth, m, rng)
            eta = 10.0 ** rng.uniform(-2.0, 1.0) / truth.sigma_max() ** 2
            W = model.exact_heads(X, y, B)
            squares = np.linalg.svd(X @ B, compute_uv=False) ** 2
            small = squares[:, min(m, k) - 1]
            if (small < 1e-6 * squares[:, 0]).any():
                continue  # a batch in which samples nearly repeat each other
            condition = float((np.linalg.norm(X, 2, axis=(1, 2)) ** 2 / small).max())
            Q, S, new = model.stepped(truth, B, W, X, eta)
            size = max(1.0, float(np.abs(W).max()))
            scale = max(1.0, float(np.abs(S).max())) * size * condition
            yield "S B = 0", float(np.abs(S @ B).max() / scale), at
            other = model.batch_of(truth, m, rng)[0]
            *_, moved = model.stepped(truth, B, W, other, eta)
            if m >= k:
                error = relative(Q @ B, -model.head_errors(truth, B, X), 1.0) / condition
                yield "Q B = -F", error, at
                yield "split batch: Q B = -F", error, at
            if m <= k:
                stays = distance(new, B) / (max(1.0, eta) * condition * size)
                yield "m <= k: B stays", stays, at
            predicted = np.eye(k) + sign * (eta / n) ** 2 * W.T @ S @ S.T @ W
            error = relative(new.T @ new, predicted) / (condition * max(1.0, eta) * size)
            yield "R'R", error, at
            yield "|R^-1| <= 1", float(1.0 / np.linalg.norm(new, -2)), longest + 1e-9, at
            scale = condition * max(1.0, size**2 * eta)
            turned = B @ orthonormalize(rng.standard_normal((k, k)))
            heads = model.exact_heads(X, y, turned)
            for batch, own, target in (("", X, new), ("split batch: ", other, moved)):
                again = model.stepped(truth, turned, heads, own, eta)[2]
                apart = distance(again, target) / np.linalg.cond(target)
                yield f"{batch}span depends on the span alone", apart / scale, at


@extra_identities.also
def population(budget, rng, *, sign=1.0, longest=1.0, gain=1.0):
    """Search for a round on infinitely many samples that shrinks the distance less."""

    def read(reader, shape):
        n, d, k = shape["n"], shape["d"], shape["k"]
        share, W, raw = abs(reader.number()), reader.numbers(n, k), reader.numbers(d, k)
        values = np.linalg.svd(W, compute_uv=False) / np.sqrt(n)
        singular = np.linalg.svd(raw, compute_uv=False)
        flat = singular[-1] < 1e-3 * singular[0] or singular[0] < 1e-3
        if flat or not 0.0 < share <= 1.0 or values[0] < 1e-3:
            return None
        least = values[-1] if n >= k else 0.0
        sizes = {"least": least, "step_size": share / values[0] ** 2}
        return {"B": orthonormalize(raw), "S": W.T @ W / n, **sizes}

    def sides(at):
        B, S, eta = at["B"], at["S"], at["step_size"]
        truth = np.eye(*B.shape)
        D, before = B.T @ truth, distance(B, truth)
        after = distance(B + eta * (truth - B @ D) @ S @ D.T, truth)
        factor = population_bound(before, sigma_min=at["least"], step_size=eta)
        return after, (1.0 - gain * (1.0 - factor)) * before + 1e-12

    shapes = [{"n": 1, "d": 2, "k": 1}, {"n": 2, "d": 4, "k": 2}, {"n": 4, "d": 6, "k": 3}]
    name = "population: (1 - eta sigma_min^2 (1 - dist^2)) dist"
    yield search_instances(sides, shapes, read, budget, rng, name=name, strength=PROVED)
