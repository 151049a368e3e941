"""Appendix B: what side information does for a regression with a bias per client."""

from fractions import Fraction

import numpy as np

from linrep.algorithms import biases as methods
from linrep.claims import Cases, Fact, Identity, Together, statement
from linrep.claims.measurements import identities, relative
from linrep.papers.perfedsi.counterexamples.appendixb import sides
from linrep.papers.perfedsi.model import EXPLAINED, NORMAL_NOISE
from linrep.problems import BiasedRegression, ClientData

DIMENSION, SIDE = 5, 3
NAMES = {"one": "one bias for all", "given": "side information"}


def drawn(rng, n, explained=1.0) -> BiasedRegression:
    """Draw a regression with noise."""
    return BiasedRegression.random(
        n=n, d=DIMENSION, p=SIDE, noise=1.0, explained=explained, rng=rng
    )


def limits(rng, count, factor):
    """Yield how far the printed limit of a client's risk is from its definition at the limit."""
    for _ in range(count):
        truth = drawn(rng, n=int(rng.integers(SIDE + 1, 30)), explained=0.5)
        mean = truth.biases.mean()
        defined = truth.excess_risks(truth.theta, np.full(truth.n, mean))
        apart = np.abs(defined - factor * (truth.biases - mean) ** 2) / defined.max()
        at = int(np.argmax(apart))
        yield apart[at], {"bias": float(truth.biases[at]), "mean bias": float(mean)}


def solutions(rng, count):
    """Return how far least squares is from what is stated, samples having the moments of p_x."""
    found: dict[str, list] = {"one": [], "given": []}
    corners = np.sqrt(DIMENSION) * np.vstack([np.eye(DIMENSION), -np.eye(DIMENSION)])
    for _ in range(count):
        truth = drawn(rng, n=int(rng.integers(4, 30)))
        labels = corners @ truth.theta + truth.biases[:, None]
        X, rows = np.tile(corners, (truth.n, 1)), len(corners) * np.arange(truth.n + 1)
        data = ClientData(X, labels.ravel(), rows, truth=truth)
        for side, mean in (("one", truth.biases.mean()), ("given", truth.biases)):
            state, biases = methods.least_squares(data, side=side).state, mean + np.zeros(truth.n)
            apart = relative(state["biases"], biases, floor=1.0)
            found[side].append((max(relative(state["theta"], truth.theta), apart), {"n": truth.n}))
    return identities({NAMES[side]: cases for side, cases in found.items()}, 1e-10)


def error_of_dependent_noise(rng) -> float:
    """Return theta's error where label noise is the covariate itself: of mean zero, d = 1."""
    truth = BiasedRegression.random(n=8, d=1, p=SIDE, noise=1.0, explained=1.0, rng=rng)
    corners = np.array([[1.0], [-1.0]])
    labels = corners @ truth.theta + truth.biases[:, None] + corners[:, 0]
    offsets = 2 * np.arange(truth.n + 1)
    data = ClientData(np.tile(corners, (truth.n, 1)), labels.ravel(), offsets, truth=truth)
    return float(methods.least_squares(data, side="given").state["theta"][0] - truth.theta[0])


@statement(
    "perfedsi.appendixB",
    place="Appendix B, (7)-(8)",
    hypotheses=[EXPLAINED, NORMAL_NOISE],
    latex=r"\mathcal{E}_m=\tfrac12\|\theta-\theta_*\|^2+\tfrac12|b-b_{m,*}|^2;\quad n\to\infty:\ "
    r"(\hat\theta,\hat b)\to(\theta_*,\bar b_*),\ \mathcal{E}_m\to(b_{m,*}-\bar b_*)^2;\quad "
    r"\mathcal{E}_m\to0\text{ if }\exists\theta_2\,\forall m:\langle\theta_2,z_m\rangle=b_m",
    plain="With infinitely many samples one bias for all leaves (b_m - mean)^2 to each client; "
    "side information that explains the biases leaves nothing.",
    negative_control={"factor": 2},
    holds_with={"factor": 0.5},
)
def appendix_b(budget, rng, *, factor=1):
    """Check the limits of risks, the printed one times a factor, and of least squares."""
    name = "limit of a client's excess risk"
    yield Identity(limits(rng, budget(20, 200), factor), 1e-12, name=name)
    yield Cases(  # two clients of biases 1 and -1: theta*, and the mean bias 0
        [(*sides(Fraction(factor)), {"biases": [1, -1], "mean bias": 0})],
        quantity="printed limit of a client's risk", name="in fractions: limit <= definition",
    )  # fmt: skip
    name = "minimizers where moments are those of p_x"
    yield Together(solutions(rng, budget(20, 200)), name=name)
    name = "theta's error where the label noise is x itself, of mean zero (d = 1)"
    yield Fact(name, error_of_dependent_noise(rng))
