"""Remark 4.1: FLUTE reaches the global minimum in the population limit."""

from __future__ import annotations

import numpy as np

from linrep.algorithms import empirical_risk_minimizer, flute, gaussian_start
from linrep.claims import Fact, Frequency, Readings, Together, statement
from linrep.claims.quantities import LOWER
from linrep.papers.flute import settings
from linrep.papers.flute._hypotheses import POPULATION
from linrep.papers.flute._races import NOISE, draw_truth
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
        truth,
        k=k,
        step_size=eta,
        rounds=rounds,
        batches="population",
        start=start,
        record=rounds,
        tolerance=1e-10,
    )
    reached = trace["error"][-1] if trace.stop_reason != "diverged" else np.inf
    return float(reached), float(np.linalg.norm(start[0] @ start[1].T, 2) / (spectrum.last / 2.0))


#: Settings of the figures, at which the training loss has several minima: models, M, N and k.
_FIGURES = (("Figure 1", 15, 12, 6), ("Figure 3", 15, 20, 6))


def _above_the_least(models, n, m, k, rng):
    """Return how far above the least training loss of rank k FLUTE ends on data, relatively.

    The least is what descents find from the clients' own models, random frames and FLUTE's end.
    """
    data = draw_truth(models, n, NOISE, rng).draw(m, rng=rng)
    start = settings.random_start(n, data.d, k, rng)
    trace = flute(
        data,
        k=k,
        step_size=settings.STEP_SIZE,
        rounds=20_000,
        record=20_000,
        start=start,
        tolerance=1e-9,
    )
    B, W = trace.state["B"], trace.state["W"]
    fit = empirical_risk_minimizer(data, k, restarts=4, starts=[B], rng=rng)
    samples = map(data.client, range(n))
    own = np.mean(
        [0.5 * np.mean((X @ (B @ w) - y) ** 2) for w, (X, y) in zip(W, samples, strict=True)]
    )
    return float(own / fit.loss - 1.0)


@statement(
    "flute.remark4.1",
    place="Remark 4.1",
    latex=r"\alpha \text{ small} \Rightarrow \sigma_1(B^0W^0) \text{ small}, \quad"
    r" B^tW^t \to \Phi_k",
    plain="From small random starts FLUTE converges to the global minimum.",
    hypotheses=POPULATION,
    negative_control={"scale": 2.0},
)
def remark4_1(budget, rng, *, scale=1e-2, allowed=0.1):
    """Run FLUTE from random starts, without sampling noise, and on data as those of the figures.

    The global minimum is that of the population, Phi_k, or the least training loss on the data.
    The product that starts is read as B0 W0; the shapes of the printed B0 (W0)' do not fit.
    """
    kinds = ("k = 2, lambda_i = 2d/(i + 1)", "k = 6, lambda_i = 2d/(i + 1)", "other spectra")
    trials, sizes = budget(115, 300, 2000), []
    where = {"alpha over sqrt(lambda_1)": scale, "eta lambda*_1": 1.0 / 6.0}
    population = []
    for kind in kinds:
        runs = [_run(kind, scale, rng) for _ in range(trials)]
        missed = sum(error > REACHED for error, _ in runs)
        sizes += [size for _, size in runs]
        population.append(Frequency(missed, trials, allowed, name=kind, setting=where))
    data = []
    for models, n, m, k in _FIGURES:
        above = [_above_the_least(models, n, m, k, rng) for _ in range(budget(8, 40, 200))]
        missed = sum(excess > REACHED for excess in above)
        name = f"{models}, M = {n}, N = {m}, k = {k}"
        # The least that descents find may be above the least.
        data.append(
            Frequency(missed, len(above), allowed, name=name, weight=0.5, measured_is=LOWER)
        )
        yield Fact(
            f"share of runs above the least training loss, {models}",
            missed / len(above),
            value_is=LOWER,
            setting={"M": n, "N": m, "k": k},
        )
    yield Readings(
        [Together(population, name="infinitely many samples"), Together(data, name="on data")],
        name="global minimum",
        phrase="FLUTE converges to the global minimum",
    )
    yield Frequency(
        sum(size > 1.0 for size in sizes),
        len(sizes),
        allowed,
        setting=where,
        name="sigma_1(B0 W0) above lambda_k",
    )
    yield Fact("largest sigma_1(B0 W0)", max(sizes), "lambda_k")
