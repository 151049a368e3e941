"""(1) to (6): the objectives, and the forms of one problem; FedRep's models beside pFL^MF's."""

from fractions import Fraction
from itertools import product
from math import prod

import numpy as np

import linrep as lr
from linrep.algorithms import personalized
from linrep.claims import Identity, Readings, statement
from linrep.claims.evidence import PROVED
from linrep.claims.laws import Grid, at_most, equal, law, measured
from linrep.claims.measurements import Array, relative
from linrep.papers.pflmf.counterexamples import fedrep as by_hand
from linrep.papers.pflmf.model import rational


@law(
    "pflmf.eq1-2", "(1), (2) and the empirical objective",
    r"f_i^\natural(\theta)=\mathbb E_{\xi\sim D_i}\ell_i(\theta,\xi),\quad f_i(\theta)="
    r"\frac1{m_i}\sum_{\xi\in M_i}\ell_i(\theta,\xi)\ \text{approximates it:}\ "
    r"\mathbb E f_i=f_i^\natural",
    over=Grid(theta=(Fraction(-1), Fraction(0), Fraction(3, 2)), m=(1, 2, 3)),
    wrong={"factor": 1.1}, stronger={"factor": 0},
)  # fmt: skip
def eq1_2(theta, m, *, factor=1.0):
    """The empirical objective of i.i.d. samples has the true one as its mean."""
    # All data sets of m samples (x, y) from three points, with the loss (x theta - y)^2/2.
    points, shares = ((1, 2), (-1, 0), (2, 1)), (Fraction(1, 2), Fraction(1, 3), Fraction(1, 6))
    losses = [(x * theta - y) ** 2 / 2 for x, y in points]
    true = sum((w * each for w, each in zip(shares, losses, strict=True)), Fraction(0))
    mean = Fraction(0)
    for chosen in product(range(3), repeat=m):
        weight = prod(shares[j] for j in chosen)
        mean += weight * sum(losses[j] for j in chosen) / m
    return {"mean over data sets": equal(mean, rational(factor) * true)}


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
        problem, at = lr.QuadraticObjectives(A, H), {"n": n, "d": d}
        # Of (4) by hand; of (3) the gradient's part along the consensus set.
        mean = np.mean([h @ (theta - a) for h, a in zip(H, A, strict=True)], axis=0)
        along = problem.gradients(np.tile(theta + shifted, (n, 1))).mean(axis=0)
        slopes.append((relative(along, mean, 1.0), at))
        closed = np.linalg.solve(H.sum(axis=0), np.einsum("nde,ne->d", H, A))
        if np.linalg.cond(H.sum(axis=0)) < 1e3:
            found = personalized.average(problem, rounds=100_000, tolerance=1e-11).state["theta"]
            models.append((relative(found, np.tile(closed, (n, 1)), 1.0), at))
    yield Identity(slopes, 1e-12, name="gradient on the consensus set", strength=PROVED)
    yield Identity(models, 1e-6, name="FedAvg's models minimize (4)", strength=PROVED)


def factors(theta, k):
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

    def found():
        for _ in range(budget(50, 1000)):
            n, d = int(rng.integers(1, 8)), int(rng.integers(1, 8))
            k = int(rng.integers(1, min(n, d) + 2))
            r = min(k, n, d)
            theta = rng.standard_normal((n, r)) @ rng.standard_normal((r, d))
            at = {"n": n, "d": d, "r": k}
            U, V = factors(theta, max(1, k - missing))
            yield "every matrix of rank r is a product", equal(V @ U.T, theta), at
            U, V = rng.standard_normal((d, k)), rng.standard_normal((n, k))
            rank = int(np.linalg.matrix_rank(V @ U.T))
            yield "every product has rank r", at_most(rank, k), at
            problem = lr.QuadraticObjectives(rng.standard_normal((n, d)))
            own = [0.5 * np.sum((U @ v - a) ** 2) for v, a in zip(V, problem.A, strict=True)]
            value = problem.factor_gradients(U, V).value
            yield "(6) client by client", equal(value, np.mean(own)), at

    yield from measured(found(), strength=PROVED).values()


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

    def found():
        for name, network in (("linear models B w_i", False), ("a body and a head w_i", True)):
            for n, d, k in ((6, 5, 1), (8, 6, 2), (20, 10, 3)):
                theta = fedrep_models(rng, n, d, k, network, shared)
                rank = by_hand.rank(theta.tolist())
                at = {"n": n, "d": d, "k": k, "rank of Theta": rank, "Theta": theta.tolist()}
                yield name, at_most(Fraction(k + network + 1 + excess), Fraction(rank)), at

    readings = list(measured(found(), quantity="rank needed").values())
    yield Readings(
        readings, name="rank of all models together", phrase="clients' parameters theta_i"
    )
