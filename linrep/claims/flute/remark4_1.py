"""Remark 4.1: FLUTE reaches the global minimum in the population limit."""

from __future__ import annotations

import numpy as np

from linrep.algorithms.flute import flute, gaussian_start
from linrep.claims import Fact, Frequency, statement
from linrep.problems import LowRankRegression
from linrep.theory.flute import Spectrum, step_size_limits

REACHED = 1e-3


def _problem(kind, rng):
    """Return a truth and the rank to learn: Figure 3's spectra, or small gaps in all shapes."""
    if kind.startswith("k = 2") or kind.startswith("k = 6"):
        values = 20.0 / (np.arange(1, 11) + 1.0)
        k = int(kind[4])
        return LowRankRegression.random(n=15, d=10, singular_values=values, rng=rng), k
    small = ((1.0, 0.9, 0.7, 0.1), (1.0, 0.9, 0.3, 0.1), (1.0, 0.9, 0.85, 0.8))[rng.integers(3)]
    n, d = ((5, 8), (6, 6), (8, 5))[rng.integers(3)]
    return LowRankRegression.random(n=n, d=d, singular_values=small, rng=rng), 2


def _run(kind, scale, rng):
    """Return FLUTE's error in the population limit, over |Phi_k|, and sigma_1(B0 W0)/lambda_k."""
    truth, k = _problem(kind, rng)
    spectrum = Spectrum.of(truth, k)
    eta = step_size_limits(spectrum)["proposition_A2"]
    scale *= np.sqrt(spectrum.first / 2.0)  # entries in the unit of the factors' own
    start = gaussian_start(truth.n, truth.d, k, scale, rng)
    rounds = int(np.ceil(40.0 / (0.5 * eta * spectrum.gap)))
    trace = flute(
        truth, k=k, step_size=eta, rounds=rounds, batches="population", start=start, record=rounds,
        tolerance=1e-10,
    )  # fmt: skip
    reached = trace["error"][-1] if trace.stop_reason != "diverged" else np.inf
    return float(reached), float(np.linalg.norm(start[0] @ start[1].T, 2) / (spectrum.last / 2.0))


@statement(
    "flute.remark4.1",
    place="Remark 4.1",
    latex=r"\alpha \text{ small} \Rightarrow \sigma_1(B^0W^0) \text{ small}, \quad"
    r" B^tW^t \to \Phi_k",
    plain="From small random starts FLUTE converges to the global minimum",
    negative_control={"scale": 2.0},
)
def remark4_1(budget, rng, *, scale=1e-2, allowed=0.1):
    """Run FLUTE without sampling noise from random starts.

    The product that starts is read as B0 W0; the shapes of the printed B0 (W0)' do not fit.
    """
    kinds = ("k = 2, lambda_i = 2d/(i + 1)", "k = 6, lambda_i = 2d/(i + 1)", "other spectra")
    trials, sizes = budget(115, 300, 2000), []
    setting = {"alpha over sqrt(lambda_1)": scale, "eta lambda*_1": 1.0 / 6.0}
    for kind in kinds:
        runs = [_run(kind, scale, rng) for _ in range(trials)]
        missed = sum(error > REACHED for error, _ in runs)
        sizes += [size for _, size in runs]
        yield Frequency(missed, trials, allowed, name=kind, setting=setting)
    yield Frequency(
        sum(size > 1.0 for size in sizes), len(sizes), allowed, setting=setting,
        name="sigma_1(B0 W0) above lambda_k",
    )  # fmt: skip
    yield Fact("largest sigma_1(B0 W0)", max(sizes), "lambda_k")
