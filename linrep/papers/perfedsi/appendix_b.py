"""Appendix B: what side information does for a regression with a bias per client."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from linrep.algorithms import biases as methods
from linrep.claims import Cases, Exponent, Fact, Identity, Mean, Together, statement
from linrep.claims.deviations import identities, relative
from linrep.papers.perfedsi._hypotheses import EXPLAINED, NORMAL_NOISE
from linrep.papers.perfedsi.counterexamples.appendixb import sides
from linrep.problems import BiasedRegression, ClientData
from linrep.theory import perfedsi as theory

CLIENTS, DIMENSION, SIDE, NOISE = 20, 5, 3, 1.0
SAMPLES = (5, 10, 20, 40, 80, 160, 320)
_LARGE = 20  # samples per client from which on the power is taken
_MANY = (5, 10, 20, 40, 80)  # clients
_FEW = 20  # samples of each then
_SIDES = {"one": "one bias for all", "given": "side information", "each": "a bias per client"}


def _columns(truth, side):
    """Return what the biases are linear in, shape (n, q)."""
    return {"one": np.ones((truth.n, 1)), "given": truth.Z, "each": np.eye(truth.n)}[side]


def _drawn(rng, n=CLIENTS, explained=1.0) -> BiasedRegression:
    return BiasedRegression.random(
        n=n, d=DIMENSION, p=SIDE, noise=NOISE, explained=explained, rng=rng
    )


def _limit(rng, count, factor) -> Identity:
    """Compare the printed limit of a client's risk with the definition at (theta, mean bias)."""
    cases = []
    for _ in range(count):
        truth = _drawn(rng, n=int(rng.integers(SIDE + 1, 30)), explained=0.5)
        mean = truth.biases.mean()
        found = truth.excess_risks(truth.theta, np.full(truth.n, mean))
        printed = factor * (truth.biases - mean) ** 2
        place = int(np.argmax(np.abs(found - printed)))
        cases.append(
            (
                abs(found[place] - printed[place]) / found.max(),
                {
                    "bias": float(truth.biases[place]),
                    "mean bias": float(mean),
                    "definition": float(found[place]),
                    "printed": float(printed[place]),
                },
            )
        )
    return Identity(cases, 1e-12, name="limit of a client's excess risk")


def _solutions(rng, count) -> Together:
    """Compare least squares on samples with exactly the moments of p_x with what is stated."""
    found: dict[str, list] = {_SIDES["one"]: [], _SIDES["given"]: []}
    corners = np.sqrt(DIMENSION) * np.vstack([np.eye(DIMENSION), -np.eye(DIMENSION)])
    for _ in range(count):
        truth = _drawn(rng, n=int(rng.integers(4, 30)))
        labels = corners @ truth.theta + truth.biases[:, None]
        data = ClientData(
            np.tile(corners, (truth.n, 1)),
            labels.ravel(),
            len(corners) * np.arange(truth.n + 1),
            truth=truth,
        )
        for side, biases in (
            ("one", np.full(truth.n, truth.biases.mean())),
            ("given", truth.biases),
        ):
            state = methods.least_squares(data, side=side).state
            error = max(
                relative(state["theta"], truth.theta), relative(state["biases"], biases, floor=1.0)
            )
            found[_SIDES[side]].append((error, {"n": truth.n}))
    return Together(identities(found, 1e-10), name="minimizers where moments are those of p_x")


def _dependent(rng) -> float:
    """Return theta's error where label noise is the covariate itself: of mean zero, d = 1."""
    truth = BiasedRegression.random(n=8, d=1, p=SIDE, noise=NOISE, explained=1.0, rng=rng)
    corners = np.array([[1.0], [-1.0]])
    labels = corners @ truth.theta + truth.biases[:, None] + corners[:, 0]
    data = ClientData(
        np.tile(corners, (truth.n, 1)), labels.ravel(), 2 * np.arange(truth.n + 1), truth=truth
    )
    return float(methods.least_squares(data, side="given").state["theta"][0] - truth.theta[0])


def _risks(rng, replicates, samples, *, n=CLIENTS, sides=tuple(_SIDES)):
    """Return excess risks (replicates, sides) of the same draws, and what they should be."""
    truth = _drawn(rng, n=n)
    found = np.empty((replicates, len(sides)))
    for row in found:
        data = truth.draw(samples, rng=rng)
        row[:] = [methods.least_squares(data, side=side)["excess_risk"][-1] for side in sides]
    expected = [
        theory.bias_risk(_columns(truth, side), truth.biases, d=DIMENSION, m=samples, noise=NOISE)
        for side in sides
    ]
    return found, np.array(expected)


@statement(
    "perfedsi.appendixB",
    place="Appendix B, (7)-(8)",
    hypotheses=[EXPLAINED, NORMAL_NOISE],
    latex=r"\mathcal{E}_m=\tfrac12\|\theta-\theta_*\|^2+\tfrac12|b-b_{m,*}|^2;\quad n\to\infty:\ "
    r"(\hat\theta,\hat b)\to(\theta_*,\bar b_*),\ \mathcal{E}_m\to(b_{m,*}-\bar b_*)^2;\quad "
    r"\mathcal{E}_m\to0\text{ if }\exists\theta_2\,\forall m:\langle\theta_2,z_m\rangle=b_m",
    plain="With infinitely many samples one bias for all leaves (b_m - mean)^2 to each client; "
    "side information that explains the biases leaves nothing.",
    negative_control={"power": -0.5},
    holds_with={"factor": 0.5},
)
def appendix_b(budget, rng, *, factor=1.0, power=-1.0):
    """Check the limits, the risks at every number of samples, and how they fall.

    `factor` is that of the printed limit; `power` that of samples, and of clients, in the risk.
    """
    replicates = budget(120, 800)
    samples = budget(SAMPLES[2::2], SAMPLES)
    clients = budget(_MANY[::2], _MANY)
    yield _limit(rng, budget(20, 200), factor)
    yield Cases(  # two clients of biases 1 and -1: theta*, and the mean bias 0
        [(*sides(Fraction(factor)), {"biases": [1, -1], "mean bias": 0})],
        quantity="printed limit of a client's risk",
        name="in fractions: limit <= definition",
    )
    yield _solutions(rng, budget(20, 200))
    measured: dict[str, list] = {side: [] for side in _SIDES}
    for m in samples:
        found, expected = _risks(rng, replicates, m)
        for place, side in enumerate(_SIDES):
            measured[side].append(found[:, place])
            yield Mean(
                found[:, place],
                equals=expected[place],
                quantity="mean excess risk",
                name=f"{_SIDES[side]}, {m} samples per client",
                setting={"m": m, "side": side},
            )
    large = [place for place, m in enumerate(samples) if m >= _LARGE]
    for side in ("given", "each"):
        yield Exponent(
            [samples[place] for place in large],
            [measured[side][place] for place in large],
            equals=power,
            statistic="mean",
            along="samples per client",
            of="excess risk",
            name=f"{_SIDES[side]}: risk against samples",
        )
    over = [_risks(rng, replicates, _FEW, n=n, sides=("given",))[0][:, 0] for n in clients]
    yield Exponent(
        clients,
        over,
        equals=power,
        statistic="mean",
        along="clients",
        of="excess risk",
        name="side information: risk against clients",
    )
    yield Fact(
        "theta's error where the label noise is x itself, of mean zero (d = 1)", _dependent(rng)
    )
