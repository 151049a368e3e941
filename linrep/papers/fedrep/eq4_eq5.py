"""(4) and (5), Section 2.1: the personalized objective, and that of a global model."""

from __future__ import annotations

import numpy as np
from scipy.linalg import null_space
from scipy.optimize import minimize

from linrep.claims import Fact, Mean, Together, statement
from linrep.claims.deviations import relative
from linrep.claims.evidence import PROVED
from linrep.papers.fedrep._common import DESIGNS, SUB_GAUSSIAN, covariates, derived, instance
from linrep.problems import SharedRepresentation
from linrep.problems.subspace import distance, orthonormalize, random_frame
from linrep.theory.fedrep import best_single_model


@statement(
    "fedrep.section2.1.ours",
    place="Section 2.1 (4)",
    latex=r"f_i(w_i \circ B) = \tfrac12\|Bw_i - B^*w_i^*\|_2^2, \qquad"
    r"\hat B\hat w_i = B^*w_i^*\ \forall i, \qquad"
    r"\mathrm{span}\{w_i^*\} = \mathbb R^k \Rightarrow \mathrm{col}(B^*)\text{ is recovered}",
    plain="Minimizers of the personalized objective fit every client; heads that span give "
    "col(B*).",
    stronger={"factor": 0},
    negative_control={"factor": 0.6},
    hypotheses=(SUB_GAUSSIAN,),
)
def ours(budget, rng, *, factor=0.5):
    """Sample the losses, minimize (4) alternately, and read col(B*) from the clients' models."""
    size, pairs, d, k = budget(20_000, 200_000), 20, 6, 2
    for design in (*DESIGNS, "correlated"):
        truth, _ = instance(pairs, d, k, rng)
        gaps = np.stack([rng.standard_normal((d, k)) @ w for w in rng.standard_normal((pairs, k))])
        gaps -= truth.theta
        X = covariates("gaussian" if design == "correlated" else design, size, d, rng)
        second = np.eye(d)
        if design == "correlated":  # mean and covariance of its own: E xx' takes the place of I
            mixing, mean = rng.standard_normal((d, d)), rng.standard_normal(d)
            X = X @ mixing.T + mean
            second = mixing @ mixing.T + np.outer(mean, mean)
            excess = np.einsum("id,de,ie->i", gaps, second, gaps) / np.sum(gaps**2, axis=1)
        losses = 0.5 * (X @ gaps.T) ** 2
        predicted = factor * np.einsum("id,de,ie->i", gaps, second, gaps)
        means = [
            Mean(
                losses[:, i],
                equals=float(predicted[i]),
                setting={"design": design},
                weight=1.0 / pairs,
                quantity="mean loss",
                strength=PROVED,
            )
            for i in range(pairs)
        ]
        name = f"loss, {design}" if design in DESIGNS else "loss with E xx' in place of I"
        yield Together(means, name=name)
    yield from derived(_fits(budget, rng), 1e-10)
    yield Fact("largest loss over the printed one, with another E xx'", float(excess.max()))


def _fits(budget, rng):
    for _ in range(budget(10, 40, 200)):
        k = int(rng.integers(1, 6))
        n, d = int(rng.integers(k, 4 * k + 2)), int(rng.integers(k + 1, 25))
        condition = 10.0 ** rng.uniform(0.0, 3.0) if k > 1 else 1.0
        where = {"n": n, "d": d, "k": k, "condition": condition}
        truth, _ = instance(n, d, k, rng, condition=condition)
        B, W = _minimize_alternately(truth.theta, rng.standard_normal((d, k)))
        yield "minimizers fit every client", relative(W @ B.T, truth.theta) / condition, where
        left = np.linalg.svd(truth.theta.T, full_matrices=False)[0][:, :k]
        for frame in (left, B):
            error = distance(frame, truth.B) / condition
            yield "heads that span R^k: col(B*) from the minimizer", error, where
        if k > 1:
            name = "heads that span k - 1 dimensions: one at distance 1"
            yield name, _best_and_far(truth, rng), where


def _minimize_alternately(theta, B):
    """Return a minimizer (B, W) of (4), by alternating least squares from B."""
    for _ in range(3):
        W = np.linalg.lstsq(B, theta.T, rcond=None)[0].T
        B = np.linalg.lstsq(W, theta, rcond=None)[0].T
    return B, np.linalg.lstsq(B, theta.T, rcond=None)[0].T


def _best_and_far(truth, rng):
    """Return how far a pair, for heads of rank k - 1, is from zero loss and distance 1."""
    k = truth.k
    basis = random_frame(k, k - 1, rng)
    theta = truth.W @ basis @ basis.T @ truth.B.T
    B = np.column_stack([truth.B @ basis, null_space(truth.B.T)[:, 0]])
    W = np.column_stack([truth.W @ basis, np.zeros(truth.n)])
    return max(relative(W @ B.T, theta), abs(1.0 - distance(B, truth.B)))


@statement(
    "fedrep.section2.1.global",
    place="Section 2.1 (5)",
    latex=r"B^\diamond w^\diamond = B^*\bar w^*, \qquad \min = \frac{1}{2n}\sum_{i=1}^n"
    r"\Big\|\frac1n B^*\sum_{i'=1}^n(w_{i'}^* - w_i^*)\Big\|_2^2; \qquad "
    r"k > 1:\ \mathrm{col}(B^*)\text{ cannot be recovered}",
    plain="A global model fits the mean client, and does not say what col(B*) is for k > 1.",
    hypotheses=[SUB_GAUSSIAN],
    stronger={"factor": 0},
    negative_control={"factor": 1.0},
)
def global_model(budget, rng, *, factor=0.5):
    """Minimize (5) by BFGS, expand it around its minimum, and build far minimizers."""
    yield from derived(_minima(budget, rng, factor), 1e-6)


def _minima(budget, rng, factor):
    """Yield deviations of minima of (5) from what is printed, by name.

    |Bw - mean| is squared, as the objective sees it: flat of fourth order around B = 0, w = 0.
    """
    for d, k, n in ((5, 1, 4), (6, 2, 5), (9, 3, 7), (4, 3, 8)):
        for centred in (False, True):
            where = {"d": d, "k": k, "n": n, "mean head is 0": centred}
            W = rng.standard_normal((n, k)) * 10.0 ** rng.uniform(-1.0, 1.0)
            truth = SharedRepresentation(random_frame(d, k, rng), W - centred * W.mean(axis=0))
            theta = truth.theta
            model, lowest = best_single_model(theta)
            lowest *= factor / 0.5
            for _ in range(budget(2, 10, 50)):
                B, w, value = _bfgs(theta, k, rng)
                yield "BFGS: minimum", relative(value, lowest), where
                error = 0.5 * float(np.sum((B @ w - model) ** 2)) / lowest
                yield "BFGS: |Bw - mean|^2/2 over the minimum", error, where
                B, w = rng.standard_normal((d, k)), rng.standard_normal(k)
                value = 0.5 * np.mean(np.sum((B @ w - theta) ** 2, axis=1))
                expanded = lowest + factor * np.sum((B @ w - model) ** 2)
                yield "objective = minimum + |Bw - mean|^2/2", relative(expanded, value), where
            c, mean = 10.0 ** rng.uniform(-1.0, 1.0), truth.W.mean(axis=0)
            _, wider = best_single_model((mean + c * (truth.W - mean)) @ truth.B.T)
            name = "heads c times as far from their mean: minimum c^2 times as large"
            yield name, relative(wider * factor / 0.5, c**2 * lowest), where
            B, w = _far_minimizer(truth, model, centred)
            value = 0.5 * np.mean(np.sum((B @ w - theta) ** 2, axis=1))
            apart, excess = distance(B, truth.B), relative(value, lowest)
            if k > 1 or centred:
                yield "k > 1: a minimizer at distance 1", max(excess, abs(1.0 - apart)), where
            else:
                yield "k = 1, mean head not 0: B spans B*", max(excess, apart), where


def _bfgs(theta, k, rng):
    """Return B, w and the value of (5) that BFGS ends at, from a random start."""
    n, d = theta.shape

    def objective(x):
        B, w = x[: d * k].reshape(d, k), x[d * k :]
        residual = B @ w - theta
        gradient = residual.mean(axis=0)
        return (
            0.5 * np.sum(residual**2) / n,
            np.concatenate([np.outer(gradient, w).ravel(), B.T @ gradient]),
        )

    x = rng.standard_normal(d * k + k) * np.sqrt(np.abs(theta).max())
    for _ in range(4):
        # A long step can leave B huge and w tiny: go on from the same model, sizes balanced.
        ratio = np.sqrt(np.linalg.norm(x[: d * k]) / np.linalg.norm(x[d * k :]))
        x = np.concatenate([x[: d * k] / ratio, x[d * k :] * ratio])
        result = minimize(
            objective, x, jac=True, method="BFGS", options={"gtol": 1e-10, "maxiter": 1000}
        )
        x = result.x
    return x[: d * k].reshape(d, k), x[d * k :], result.fun


def _far_minimizer(truth, model, centred):
    """Return a pair (B, w) with B w the mean model, as far from B* as that allows."""
    k = truth.k
    outside = null_space(truth.B.T)[:, :1]
    if centred:
        return np.column_stack([truth.B[:, 1:], outside]), np.zeros(k)
    w = np.zeros(k)
    w[0] = np.linalg.norm(model)
    first = model / w[0]
    inside = orthonormalize(np.column_stack([first, truth.B[:, 1:]]))[:, 1 : k - 1]
    B = np.column_stack([first, inside, outside])[:, :k] if k > 1 else first[:, None]
    return B, w
