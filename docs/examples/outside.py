"""Seven statements on shared representations, in the forms that theorems have.

They are written for this file, in the manner of the literature on multi-task representation
learning; none is quoted from a paper::

    linrep verify outside.py --budget standard
    linrep verify outside.py outside.concentration --until-decided
"""

from typing import NamedTuple

import numpy as np
import pandas as pd

import linrep as lr
from linrep.claims import (
    Cases,
    Constant,
    Fact,
    Mean,
    Paired,
    Rate,
    search_instances,
    statement,
)  # fmt: skip
from linrep.theory import minimax


@statement(
    "outside.transfer",
    plain="On a representation that is nearly right, a new client's least squares has a mean error "
    "of delta^2 times a constant, and a rest of order k/(n - k - 1).",
    latex=r"E\|\hat\theta - \theta\|^2 = \delta^2 + C \frac{k}{n - k - 1}",
    negative_control={"power": 0.5},
)
def transfer(budget, rng, *, power=1.0):
    "Fit k of the k + 1 coefficients that matter."
    k, missed, sizes = 3, 0.1, np.array([12, 24, 48, 96, 192])
    errors = []
    for n in sizes:
        X = rng.standard_normal((budget(2000, 40_000), n, k + 1))
        rest = missed * X[..., k] + rng.standard_normal(X.shape[:2])
        known = X[..., :k]
        heads = np.linalg.solve(known.mT @ known, known.mT @ rest[..., None])[..., 0]
        errors.append(np.sum(heads**2, axis=1) + missed**2)
    terms = {"(k/(n-k-1))^power": lambda n: (k / (n - k - 1.0)) ** power, "1": lambda n: 1.0}
    yield Rate(sizes, errors, terms, along="n", of="squared error")


@statement(
    "outside.concentration",
    plain="There are c, C such that for n >= c (d + log(1/delta)) a sample covariance is within "
    "C root((d + log(1/delta))/n) of the identity, with probability 1 - delta.",
    latex=r"\|\hat\Sigma - I\| \le C \sqrt{(d + \log(1/\delta))/n}",
    negative_control={"power": 1.0},
    stronger={"c": -1},
)
def concentration(budget, rng, *, power=0.5, c=2.0, delta=0.05):
    "Find the constant needed by 1 - delta of the draws, from the smallest n that is allowed."
    rows = []
    for d in (25, 50, 100, 200):
        complexity = d + np.log(1.0 / delta)
        for multiple in c * 2.0 ** np.arange(3):
            n = int(np.ceil(multiple * complexity))
            for _ in range(budget(400, 1000)):
                # Bartlett's decomposition: the Gram matrix of n normal samples is that of its rows.
                factor = np.tril(rng.standard_normal((d, d)), -1)
                np.fill_diagonal(factor, np.sqrt(rng.chisquare(n - np.arange(d))))
                error = np.abs(np.linalg.eigvalsh(factor @ factor.T / n) - 1.0).max()
                rows.append((d, multiple, error / (complexity / n) ** power))
    table = pd.DataFrame(rows, columns=["d", "n over d + log(1/delta)", "constant"])
    yield Constant(table, list(table)[:2], quantile=1.0 - delta)


class Factors(NamedTuple):
    U: np.ndarray
    X: np.ndarray


@statement(
    "outside.procrustes",
    plain="The squared distance of two factors, up to a rotation, is at most that of their Gram "
    "matrices over 2 (root(2) - 1) times the squared smallest singular value of one of them.",
    latex=r"\min_R \|U - XR\|_F^2 \le \frac{\|UU^\top - XX^\top\|_F^2}"
    r"{2(\sqrt2 - 1)\sigma_r(X)^2}",
    negative_control={"factor": 1.0},
    stronger={"factor": 1},
)
def procrustes(budget, rng, *, factor=2.0 * (2.0**0.5 - 1.0)):
    "Search for factors that violate it."

    def read(reader, shape):
        return Factors(*(reader.numbers(shape["d"], shape["r"]) for _ in range(2)))

    def sides(at):
        smallest = np.linalg.svd(at.X, compute_uv=False)[-1]
        if smallest < 1e-6:
            return None
        left, _, right = np.linalg.svd(at.X.T @ at.U)
        distance = np.linalg.norm(at.U - at.X @ left @ right) ** 2
        return factor * smallest**2 * distance, np.linalg.norm(at.U @ at.U.T - at.X @ at.X.T) ** 2

    shapes = [{"d": 2, "r": 1}, {"d": 3, "r": 2}, {"d": 6, "r": 3}]
    yield search_instances(sides, shapes, read, budget, rng)


@statement(
    "outside.lower_bound",
    plain="No estimator of the representation has a smaller mean squared distance, in its worst "
    "case, than the van Trees inequality gives.",
    negative_control={"factor": 100.0},
)
def lower_bound(budget, rng, *, factor=1.0):
    "Try a list of estimators, none of which prefers a representation to its rotations."
    truth = lr.SharedRepresentation.random(n=40, d=10, k=2, noise=1.0, rng=rng)
    m, bound = 40, minimax.squared_chordal(truth, 40)
    draws = [truth.draw(m, rng=rng) for _ in range(budget(30, 200))]
    means = []
    for estimator in (lr.method_of_moments, lr.alternating_least_squares, lr.fedrep):
        frames = [np.linalg.qr(estimator(data, k=2).state["B"])[0] for data in draws]
        errors = [truth.k - np.linalg.norm(truth.B.T @ B) ** 2 for B in frames]
        means.append(np.mean(errors))
        yield Mean(errors, at_least=factor * bound, name=estimator.__name__)
    yield Fact("smallest mean error over the bound", min(means) / bound)


@statement(
    "outside.comparison",
    plain="FedRep, which fits the heads exactly, is nearer to the representation than ANIL after "
    "as many rounds with as many fresh samples.",
    negative_control={"swapped": True},
)
def comparison(budget, rng, *, swapped=False):
    "Pair both by truth."
    pairs = []
    for _ in range(budget(30, 100)):
        truth = lr.SharedRepresentation.random(n=40, d=20, k=2, rng=rng)
        seed = int(rng.integers(2**32))
        ends = [
            method(truth, m=20, rounds=50, start="random", rng=seed)["distance"][-1]
            for method in (lr.fedrep, lr.anil)
        ]
        pairs.append(ends[::-1] if swapped else ends)
    yield Paired(*np.transpose(pairs))


def population_anil(start, target, heads, inner, outer, rounds):
    """Return the distances of first-order ANIL's representation on exact losses."""
    B, w, models = start, np.zeros(start.shape[1]), heads @ target.T
    distances = []
    for _ in range(rounds):
        frame = np.linalg.qr(B)[0]
        distances.append(np.linalg.norm(frame - target @ (target.T @ frame), 2))
        adapted = w - inner * (B @ w - models) @ B
        residuals = adapted @ B.T - models
        B, w = B - outer * residuals.T @ adapted / len(heads), w - outer * (residuals @ B).mean(0)
    return distances


def instance(rng, spread=1.0):
    """Draw a start, a representation and heads; of spread 0 the heads are parallel."""
    d, k = int(rng.integers(4, 12)), int(rng.integers(2, 4))
    heads = rng.standard_normal((30, k))
    heads[:, 1:] *= spread
    target, noise = (np.linalg.qr(rng.standard_normal((d, k)))[0] for _ in range(2))
    start = np.linalg.qr(target + rng.uniform(0.1, 0.5) * noise)[0]
    return start, target, heads / np.linalg.norm(heads, 2) * np.sqrt(len(heads))


@statement(
    "outside.contraction",
    plain="On exact losses first-order ANIL's representation approaches the truth by a factor of "
    "1 - beta E mu^2/2 a round, with E = 0.9 - dist_0^2 and mu the heads' smallest singular value.",
    latex=r"\mathrm{dist}_t \le (1 - \tfrac12 \beta E_0 \mu^2)^{t - 1} \mathrm{dist}_0",
    negative_control={"half": 5.0},
    stronger={"half": 1},
)
def contraction(budget, rng, *, half=0.5):
    "Follow trajectories from random starts: the heads' largest singular value is 1."
    cases = []
    for _ in range(budget(50, 1000)):
        start, target, heads = instance(rng)
        beta, mu = 0.1, np.linalg.svd(heads, compute_uv=False)[-1] / np.sqrt(len(heads))
        distances = population_anil(start, target, heads, 1.0, beta, 100)
        rate = 1.0 - half * beta * (0.9 - distances[0] ** 2) * mu**2
        for t, distance in enumerate(distances[1:], 1):
            cases.append((distance, rate ** (t - 1) * distances[0], {"t": t, "mu": mu}))
    yield Cases(cases)


@statement(
    "outside.diversity",
    plain="First-order ANIL halves the distance in 1000 rounds whatever the heads.",
    expected="fails",
    negative_control={"spread": 0.0},
    holds_with={"spread": 1.0},
)
def diversity(budget, rng, *, spread=0.0):
    "Take parallel heads: one direction of the representation is all that is seen."
    cases = []
    for _ in range(budget(10, 100)):
        distances = population_anil(*instance(rng, spread), 1.0, 0.1, 1000)
        cases.append((distances[-1], 0.5 * distances[0], {"start": distances[0]}))
    yield Cases(cases)
