"""Remark 4.1: FLUTE reaches the global minimum in the population limit."""

import numpy as np

from linrep.algorithms import empirical_risk_minimizer, flute, gaussian_start
from linrep.claims import Fact, Frequency, Readings, Together, statement
from linrep.claims.evidence import LOWER
from linrep.papers.flute import settings
from linrep.papers.flute.model import POPULATION, Spectrum, step_size_limits
from linrep.papers.flute.runs import truth_of

REACHED = 1e-3
D = settings.Figure1().d


def problem(kind, rng):
    """Return a truth and the rank to learn: Figure 3's spectra, or small gaps in all shapes."""
    if kind != "other spectra":
        return truth_of(20.0 / (np.arange(1, 11) + 1.0), 15, 10, rng), int(kind[4])
    small = ((1.0, 0.9, 0.7, 0.1), (1.0, 0.9, 0.3, 0.1), (1.0, 0.9, 0.85, 0.8))[rng.integers(3)]
    n, d = ((5, 8), (6, 6), (8, 5))[rng.integers(3)]
    return truth_of(small, n, d, rng), 2


def population_run(kind, scale, rng):
    """Return FLUTE's error in the population limit, over |Phi_k|, and sigma_1(B0 W0)/lambda_k."""
    truth, k = problem(kind, rng)
    spectrum = Spectrum.of(truth, k)
    eta = step_size_limits(spectrum)["proposition_A2"]
    scale *= np.sqrt(spectrum.first / 2.0)  # entries in the unit of the factors' own
    start = gaussian_start(truth.n, truth.d, k, scale, rng)
    rounds = int(np.ceil(40.0 / (0.5 * eta * spectrum.gap)))
    trace = flute(
        truth, k=k, step_size=eta, rounds=rounds, batches="population", start=start,
        record=rounds, tolerance=1e-10,
    )  # fmt: skip
    reached = trace["error"][-1] if trace.stop_reason != "diverged" else np.inf
    return float(reached), float(np.linalg.norm(start[0] @ start[1].T, 2) / (spectrum.last / 2.0))


def above_the_least(models, n, m, k, rng):
    """Return how far above the least training loss of rank k FLUTE ends on data, relatively.

    The least is what descents find from the clients' own models, random frames and FLUTE's end.
    """
    data = settings.draw_truth(models, n, D, settings.NOISE, rng).draw(m, rng=rng)
    start = settings.random_start(n, data.d, k, rng)
    trace = flute(
        data, k=k, step_size=settings.STEP_SIZE, rounds=20_000, record=20_000, start=start,
        tolerance=1e-9,
    )  # fmt: skip
    B, W = trace.state["B"], trace.state["W"]
    fit = empirical_risk_minimizer(data, k, restarts=4, starts=[B], rng=rng)
    samples = zip(W, map(data.client, range(n)), strict=True)
    own = np.mean([0.5 * np.mean((X @ (B @ w) - y) ** 2) for w, (X, y) in samples])
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

    The global minimum is that of the population, Phi_k, or the least training loss on the data,
    which has several minima. The product that starts is read as B0 W0; the shapes of the printed
    B0 (W0)' do not fit.
    """
    kinds = ("k = 2, lambda_i = 2d/(i + 1)", "k = 6, lambda_i = 2d/(i + 1)", "other spectra")
    trials, sizes = budget(115, 300, 2000), []
    where = {"alpha over sqrt(lambda_1)": scale, "eta lambda*_1": 1.0 / 6.0}
    population, data = [], []
    for kind in kinds:
        runs = [population_run(kind, scale, rng) for _ in range(trials)]
        missed = sum(error > REACHED for error, _ in runs)
        sizes += [size for _, size in runs]
        population.append(Frequency(missed, trials, allowed, name=kind, setting=where))
    for figure, models, n, m, k in (
        ("Figure 1", "normal", 15, 12, 6), ("Figure 3", "decaying", 15, 20, 6),
    ):  # fmt: skip
        above = [above_the_least(models, n, m, k, rng) for _ in range(budget(8, 40, 200))]
        missed = sum(excess > REACHED for excess in above)
        name = f"{figure}, M = {n}, N = {m}, k = {k}"
        # The least that descents find may be above the least.
        data.append(
            Frequency(missed, len(above), allowed, name=name, weight=0.5, measured_is=LOWER)
        )
        name = f"share of runs above the least training loss, {figure}"
        at = {"M": n, "N": m, "k": k}
        yield Fact(name, missed / len(above), value_is=LOWER, setting=at)
    yield Readings(
        [Together(population, name="infinitely many samples"), Together(data, name="on data")],
        name="global minimum", phrase="FLUTE converges to the global minimum",
    )  # fmt: skip
    large, name = sum(size > 1.0 for size in sizes), "sigma_1(B0 W0) above lambda_k"
    yield Frequency(large, len(sizes), allowed, setting=where, name=name)
