"""Rounds of FLUTE that are lifted: problems of all shapes, and settings with which (13) holds."""

from __future__ import annotations

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


def draw_case(rng, shape):
    """Draw a case with d below, at or above n: any rank, ties, few samples, six units of Phi."""
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
    """Return B and W after one round of FLUTE on the case's samples."""
    k = case.B.shape[1]
    trace = flute(case.data, k=k, rounds=1, start=(case.B, case.W), **options)
    return trace.state["B"], trace.state["W"]


def deviation_from_13(case, **options):
    """Return how far a round, lifted, is from (13), R being that of (11) and (12)."""
    noise = flute_lift.discrepancy(case.data, case.truth.Phi, case.B, case.W, case.eta)
    Theta, after, R = (
        flute_lift.lift(case.truth, *pair)
        for pair in ((case.B, case.W), after_round(case, **options), noise)
    )
    eigenvalues = Spectrum.of(case.truth, case.B.shape[1]).eigenvalues
    return deviation((Theta, after, R), eigenvalues, case.eta)


def deviation(lifted, eigenvalues, eta, linear=0.5, cubic=0.5):
    """Return how far (Theta, what follows it, R) are from (13), its coefficients at eta given."""
    Theta, after, R = lifted
    drift = linear * eigenvalues[:, None] * Theta - cubic * Theta @ (Theta.T @ Theta)
    predicted = Theta + eta * drift + R
    return float(np.linalg.norm(after - predicted) / np.linalg.norm(predicted))


#: What reproduces (13) at eta_r = eta: settings, and those with them that depend on n.
CONVENTIONS = {
    "half losses, summed (A.1)": lambda n: {"step_size": 1.0},
    "losses, summed (5), eta_l = eta/2": lambda n: {"loss": "full", "step_size": 0.5},
    "losses, summed (5), eta = 2 eta_l = 2 eta_r, gammas doubled": lambda n: {
        "loss": "full",
        "step_size": 0.5,
        "regularizer_step_size": 0.5,
        "gamma1": 0.5,
        "gamma2": 0.25,
    },
    "losses averaged (4), eta_l = n eta/2": lambda n: {
        "loss": "full",
        "aggregate": "mean",
        "step_size": 0.5 * n,
    },
    "half losses averaged, eta_l = n eta": lambda n: {"aggregate": "mean", "step_size": 1.0 * n},
}
#: Settings as printed, eta_l = eta_r = eta, gamma1 = 1/4, gamma2 = 1/8, that do not.
PRINTED = {
    "(5) as printed": {"loss": "full"},
    "(4) as printed": {"loss": "full", "aggregate": "mean"},
}


def in_units(settings, eta):
    """Return settings with both step sizes, given as multiples of eta, multiplied out."""
    steps = {"step_size": 1.0, "regularizer_step_size": 1.0} | settings
    return {**steps, **{name: eta * steps[name] for name in steps if name.endswith("step_size")}}
