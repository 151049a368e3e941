"""Rounds of FLUTE that are lifted: problems of all shapes, and settings with which (13) holds."""

from typing import NamedTuple

import numpy as np

from linrep.algorithms import flute
from linrep.claims.measurements import Array
from linrep.problems import ClientData, LowRankRegression
from linrep.theory import flute_lift
from linrep.theory.flute import Spectrum

EXACT = 1e-12
SHAPES = ("d < n", "d = n", "d > n")


class Case(NamedTuple):
    """A truth with samples, a state, and a step size for it."""

    truth: LowRankRegression
    data: ClientData
    B: Array
    W: Array
    eta: float

    @property
    def settings(self):
        """Plain values for a counterexample."""
        truth, k = self.truth, self.B.shape[1]
        sizes = {"n": truth.n, "d": truth.d, "k": k, "m": int(self.data.m[0])}
        return {**sizes, "step size": self.eta, "Phi": truth.Phi.tolist()}

    @property
    def spectrum(self):
        """The spectrum for the state's rank."""
        return Spectrum.of(self.truth, self.B.shape[1])

    def lift(self, B, W):
        """Return a pair of factors, lifted."""
        return flute_lift.lift(self.truth, B, W)


def draw_case(rng, shape=None):
    """Draw a case with d below, at or above n: any rank, ties, few samples, six units of Phi."""
    shape = SHAPES[rng.integers(3)] if shape is None else shape
    low, high = sorted(rng.choice(np.arange(1, 9), 2, replace=False).tolist())
    n, d = {"d < n": (high, low), "d = n": (high, high), "d > n": (low, high)}[shape]
    unit = 10.0 ** int(rng.integers(-3, 4))
    values = (None, [1.0], [2.0, 2.0][: min(n, d)])[rng.integers(3)]
    truth = LowRankRegression.random(
        n=n, d=d, singular_values=values, noise=rng.choice([0.0, 0.3]), rng=rng
    )
    truth = LowRankRegression(unit * truth.Phi, unit * truth.noise)
    k = int(rng.integers(1, min(n, d) + 1))
    B, W = (np.sqrt(unit) * rng.standard_normal((side, k)) for side in (d, n))
    return Case(truth, truth.draw(int(rng.integers(1, 11)), rng=rng), B, W, 0.05 / unit)


def after_round(case, **options):
    """Return B and W after one round of FLUTE on the case's samples, steps in units of eta."""
    steps = {"step_size": 1.0, "regularizer_step_size": 1.0} | options
    options |= {name: case.eta * steps[name] for name in steps if name.endswith("step_size")}
    trace = flute(case.data, k=case.B.shape[1], rounds=1, start=(case.B, case.W), **options)
    return trace.state["B"], trace.state["W"]


def discrepancy(case):
    """Return R's factors, by (11) and (12)."""
    return flute_lift.discrepancy(case.data, case.truth.Phi, case.B, case.W, case.eta)


def predicted(Theta, R, eigenvalues, eta, linear=0.5, cubic=0.5):
    """Return what follows Theta by (13), its coefficients at eta given."""
    drift = linear * eigenvalues[:, None] * Theta - cubic * Theta @ (Theta.T @ Theta)
    return Theta + eta * drift + R


def deviation_from_13(case, **options):
    """Return how far a round, lifted, is from (13), R being that of (11) and (12)."""
    after, Theta, R = (
        case.lift(*pair) for pair in (after_round(case, **options), case[2:4], discrepancy(case))
    )
    expected = predicted(Theta, R, case.spectrum.eigenvalues, case.eta)
    return float(np.linalg.norm(after - expected) / np.linalg.norm(expected))


#: What reproduces (13) at eta_r = eta: settings, steps in units of eta, of the number of clients.
CONVENTIONS = {
    "half losses, summed (A.1)": lambda n: {},
    "losses, summed (5), eta_l = eta/2": lambda n: {"loss": "full", "step_size": 0.5},
    "losses, summed (5), eta = 2 eta_l = 2 eta_r, gammas doubled": lambda n: {
        "loss": "full", "step_size": 0.5, "regularizer_step_size": 0.5, "gamma1": 0.5,
        "gamma2": 0.25,
    },
    "losses averaged (4), eta_l = n eta/2": lambda n: {
        "loss": "full", "aggregate": "mean", "step_size": 0.5 * n,
    },
    "half losses averaged, eta_l = n eta": lambda n: {"aggregate": "mean", "step_size": 1.0 * n},
}  # fmt: skip
