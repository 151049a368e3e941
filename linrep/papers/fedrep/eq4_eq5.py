"""(4) and (5), Section 2.1: the personalized objective, and that of a global model."""

import numpy as np
from scipy.linalg import null_space

from linrep.claims import Mean, Together, statement
from linrep.claims.evidence import PROVED
from linrep.claims.laws import law
from linrep.claims.measurements import relative
from linrep.papers.fedrep import model
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
    hypotheses=(model.SUB_GAUSSIAN,),
)
def ours(budget, rng, *, factor=0.5):
    """Sample the losses, minimize (4) alternately, and read col(B*) from the clients' models."""
    size, pairs, d, k = budget(20_000, 200_000), 20, 6, 2
    for design in model.DESIGNS:
        truth, _ = model.instance(pairs, d, k, rng)
        gaps = np.stack([rng.standard_normal((d, k)) @ w for w in rng.standard_normal((pairs, k))])
        gaps -= truth.theta
        X = model.covariates(design, (size, d), rng)
        means = [
            Mean(
                0.5 * (X @ gap) ** 2, equals=factor * float(gap @ gap), setting={"design": design},
                weight=1.0 / pairs, quantity="mean loss", strength=PROVED,
            )
            for gap in gaps
        ]  # fmt: skip
        yield Together(means, name=f"loss, {design}")
    yield from model.displays(fits(budget, rng), 1e-10).values()


def fits(budget, rng):
    """Yield how far minimizers of (4) are from fitting every client, and from col(B*)."""
    for _ in range(budget(10, 40, 200)):
        k = int(rng.integers(1, 6))
        n, d = int(rng.integers(k, 4 * k + 2)), int(rng.integers(k + 1, 25))
        condition = 10.0 ** rng.uniform(0.0, 3.0) if k > 1 else 1.0
        at = {"n": n, "d": d, "k": k, "condition": condition}
        truth, _ = model.instance(n, d, k, rng, condition=condition)
        theta, B = truth.theta, rng.standard_normal((d, k))
        for _ in range(3):  # alternating least squares
            W = np.linalg.lstsq(B, theta.T, rcond=None)[0].T
            B = np.linalg.lstsq(W, theta, rcond=None)[0].T
        W = np.linalg.lstsq(B, theta.T, rcond=None)[0].T
        yield "minimizers fit every client", relative(W @ B.T, theta) / condition, at
        for frame in (np.linalg.svd(theta.T, full_matrices=False)[0][:, :k], B):
            error = distance(frame, truth.B) / condition
            yield "heads that span R^k: col(B*) from the minimizer", error, at


@law(
    "fedrep.section2.1.global",
    "Section 2.1 (5)",
    r"B^\diamond w^\diamond = B^*\bar w^*, \qquad \min = \frac{1}{2n}\sum_{i=1}^n"
    r"\Big\|\frac1n B^*\sum_{i'=1}^n(w_{i'}^* - w_i^*)\Big\|_2^2; \qquad "
    r"k > 1:\ \mathrm{col}(B^*)\text{ cannot be recovered}",
    over=model.Drawn(1e-10),
    wrong={"factor": 1.0},
    stronger={"factor": 0},
    hypotheses=[model.SUB_GAUSSIAN],
)
def global_model(budget, rng, *, factor=0.5):
    """A global model fits the mean client, and does not say what col(B*) is for k > 1."""
    for d, k, n in ((5, 1, 4), (6, 2, 5), (9, 3, 7), (4, 3, 8)):
        for centred in (False, True):
            at = {"d": d, "k": k, "n": n, "mean head is 0": centred}
            W = rng.standard_normal((n, k)) * 10.0 ** rng.uniform(-1.0, 1.0)
            truth = SharedRepresentation(random_frame(d, k, rng), W - centred * W.mean(axis=0))
            theta = truth.theta
            best, lowest = best_single_model(theta)
            lowest *= factor / 0.5
            for _ in range(budget(2, 10, 50)):
                B, w = rng.standard_normal((d, k)), rng.standard_normal(k)
                expanded = lowest + factor * np.sum((B @ w - best) ** 2)
                error = relative(expanded, objective(B @ w, theta))
                yield "objective = minimum + |Bw - mean|^2/2", error, at
            c, mean = 10.0 ** rng.uniform(-1.0, 1.0), truth.W.mean(axis=0)
            _, wider = best_single_model((mean + c * (truth.W - mean)) @ truth.B.T)
            name = "heads c times as far from their mean: minimum c^2 times as large"
            yield name, relative(wider * factor / 0.5, c**2 * lowest), at
            B, w = far_minimizer(truth, best, centred)
            excess, apart = relative(objective(B @ w, theta), lowest), distance(B, truth.B)
            if k > 1 or centred:
                yield "k > 1: a minimizer at distance 1", max(excess, abs(1.0 - apart)), at
            else:
                yield "k = 1, mean head not 0: B spans B*", max(excess, apart), at


def objective(model_of_all, theta):
    """Return (5)."""
    return 0.5 * np.mean(np.sum((model_of_all - theta) ** 2, axis=1))


def far_minimizer(truth, best, centred):
    """Return a pair (B, w) with B w the mean model, as far from B* as that allows."""
    k = truth.k
    outside = null_space(truth.B.T)[:, :1]
    if centred:
        return np.column_stack([truth.B[:, 1:], outside]), np.zeros(k)
    w = np.zeros(k)
    w[0] = np.linalg.norm(best)
    first = best / w[0]
    inside = orthonormalize(np.column_stack([first, truth.B[:, 1:]]))[:, 1 : k - 1]
    B = np.column_stack([first, inside, outside])[:, :k] if k > 1 else first[:, None]
    return B, w
