"""(1) to (6): the objectives, and the forms of one problem; FedRep's models beside pFL^MF's."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np

import linrep as lr
from linrep.algorithms import personalized
from linrep.claims import Cases, Identity, Readings, statement
from linrep.claims.deviations import relative
from linrep.claims.evidence import PROVED
from linrep.claims.measurements import Array
from linrep.papers.pflmf import model
from linrep.papers.pflmf.counterexamples import fedrep as by_hand


@statement(
    "pflmf.eq1-2",
    place="(1), (2) and the empirical objective",
    latex=r"f_i^\natural(\theta)=\mathbb E_{\xi\sim D_i}\ell_i(\theta,\xi),\quad f_i(\theta)="
    r"\frac1{m_i}\sum_{\xi\in M_i}\ell_i(\theta,\xi)\ \text{approximates it:}\ "
    r"\mathbb E f_i=f_i^\natural",
    plain="The empirical objective of i.i.d. samples has the true one as its mean.",
    negative_control={"factor": 1.1},
    stronger={"factor": 0},
)
def eq1_2(budget, rng, *, factor=1.0):
    """Enumerate all data sets of m samples from a law on three points, in rational numbers."""
    points = ((1, 2), (-1, 0), (2, 1))  # x and y, of the loss (x theta - y)^2/2
    law = Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)
    cases = []
    for theta, m in product((Fraction(-1), Fraction(0), Fraction(3, 2)), (1, 2, 3)):
        losses = [(x * theta - y) ** 2 / 2 for x, y in points]
        true = sum((w * each for w, each in zip(law, losses, strict=True)), Fraction(0))
        mean = Fraction(0)
        for chosen in product(range(len(points)), repeat=m):
            weight = Fraction(1)
            for j in chosen:
                weight *= law[j]
            mean += weight * sum(losses[j] for j in chosen) / m
        at = {"theta": str(theta), "m": m}
        cases.append((abs(mean - model.rational(factor) * true), Fraction(0), at))
    yield Cases(
        cases, name="mean over data sets", quantity="distance of the mean from (1)", strength=PROVED
    )


@statement(
    "pflmf.eq3-4",
    place="(3) and (4)",
    latex=r"\min_{\theta_1=\dots=\theta_n}\frac1n\sum_if_i(\theta_i)=\min_\theta\frac1n\sum_if_i"
    r"(\theta)",
    plain="With all models equal the problem is that of a global model.",
    negative_control={"shifted": 0.1},
)
def eq3_4(budget, rng, *, shifted=0.0):
    """Compare gradients on the consensus set, and FedAvg's models with the minimizer of (4)."""
    slopes, models = [], []
    for _ in range(budget(20, 200)):
        n, d = int(rng.integers(1, 6)), int(rng.integers(1, 4))
        A, theta, roots = (rng.standard_normal(size) for size in ((n, d), d, (n, d, d)))
        H = roots @ roots.swapaxes(1, 2)
        problem = lr.QuadraticObjectives(A, H)
        # Of (4) by hand; of (3) the gradient's part along the consensus set.
        mean = np.mean([h @ (theta - a) for h, a in zip(H, A, strict=True)], axis=0)
        along = problem.gradients(np.tile(theta + shifted, (n, 1))).mean(axis=0)
        at = {"n": n, "d": d}
        slopes.append((relative(along, mean, 1.0), at))
        closed = np.linalg.solve(H.sum(axis=0), np.einsum("nde,ne->d", H, A))
        if np.linalg.cond(H.sum(axis=0)) < 1e3:
            found = personalized.average(problem, rounds=100_000, tolerance=1e-11).state["theta"]
            models.append((relative(found, np.tile(closed, (n, 1)), 1.0), at))
    yield Identity(slopes, 1e-12, name="gradient on the consensus set", strength=PROVED)
    if models:
        yield Identity(models, 1e-6, name="FedAvg's models minimize (4)", strength=PROVED)


def _factors(theta, k):
    """Return U (d, k), V (n, k) with V U' = theta, of rank at most k: by the SVD, as balanced."""
    left, s, right = np.linalg.svd(theta, full_matrices=False)
    V = np.zeros((theta.shape[0], k))
    U = np.zeros((theta.shape[1], k))
    size = min(k, len(s))
    V[:, :size] = left[:, :size] * np.sqrt(s[:size])
    U[:, :size] = right[:size].T * np.sqrt(s[:size])
    return U, V


@statement(
    "pflmf.eq5-6",
    place="(5) and (6)",
    latex=r"\{\Theta:\mathrm{rank}\,\Theta\le r\}=\{UV^\top:U\in\mathbb R^{d\times r},V\in"
    r"\mathbb R^{n\times r}\},\quad\psi(U,V)=F(UV^\top)=\frac1n\sum_if_i(Uv_i)",
    plain="The factorized problem has the models of rank at most r, and no others.",
    negative_control={"missing": 1},
)
def eq5_6(budget, rng, *, missing=0):
    """Factorize matrices of rank r with r - `missing` columns, and take ranks of products."""
    lost, ranks, values = [], [], []
    for _ in range(budget(50, 1000)):
        n, d = int(rng.integers(1, 8)), int(rng.integers(1, 8))
        k = int(rng.integers(1, min(n, d) + 2))
        r = min(k, n, d)
        theta = rng.standard_normal((n, r)) @ rng.standard_normal((r, d))
        at = {"n": n, "d": d, "r": k}
        U, V = _factors(theta, max(1, k - missing))
        lost.append((relative(V @ U.T, theta), at))
        U, V = rng.standard_normal((d, k)), rng.standard_normal((n, k))
        ranks.append((float(np.linalg.matrix_rank(V @ U.T)), float(k), at))
        problem = lr.QuadraticObjectives(rng.standard_normal((n, d)))
        by_client = np.mean(
            [0.5 * np.sum((U @ v - a) ** 2) for v, a in zip(V, problem.A, strict=True)]
        )
        values.append((relative(problem.factor_gradients(U, V).value, by_client), at))
    yield Identity(lost, 1e-10, name="every matrix of rank r is a product", strength=PROVED)
    yield Cases(ranks, name="every product has rank r", quantity="rank", strength=PROVED)
    yield Identity(values, 1e-12, name="(6) client by client", strength=PROVED)


def fedrep_models(rng, n, d, k, network, shared) -> Array:
    """Return FedRep's models as rows, in whole numbers: B w_i, or a body and a head w_i.

    B and the body are the clients' own unless `shared`.
    """
    W = rng.integers(-3, 4, (n, k))
    if network:
        return np.hstack([rng.integers(-3, 4, (1 if shared else n, d)) + np.zeros((n, 1), int), W])
    B = rng.integers(-3, 4, (1 if shared else n, d, k))
    return np.einsum("ndk,nk->nd", np.broadcast_to(B, (n, d, k)), W)


@statement(
    "pflmf.fedrep",
    place="Section 2, on Collins et al. (2021)",
    latex=r"\text{FedRep: each }\theta_i\text{ of low rank};\quad\text{pFL}^{\text{MF}}:\ \Theta="
    r"[\theta_1,\dots,\theta_n]\text{ of low rank}",
    plain="Unlike pFL^MF's, FedRep's models taken together do not have low rank.",
    holds_with={"shared": False},
    negative_control={"excess": 20},
)
def fedrep(budget, rng, *, shared=True, excess=0):
    """Ask whether FedRep's models together exceed rank k: of linear models, and of networks.

    A network's model has a shared body and a head of k numbers: there the rank to exceed is k + 1.
    With `shared` false clients have representations of their own, and `excess` more rank is asked.
    """
    readings = []
    for name, network in (("linear models B w_i", False), ("a body and a head w_i", True)):
        cases = []
        for n, d, k in ((6, 5, 1), (8, 6, 2), (20, 10, 3)):
            theta = fedrep_models(rng, n, d, k, network, shared)
            rank = by_hand.rank(theta.tolist())
            at = {"n": n, "d": d, "k": k, "rank of Theta": rank, "Theta": theta.tolist()}
            cases.append((Fraction(k + network + 1 + excess), Fraction(rank), at))
        readings.append(Cases(cases, name=name, quantity="rank needed"))
    yield Readings(
        readings, name="rank of all models together", phrase="clients' parameters theta_i"
    )
