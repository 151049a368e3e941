"""Remarks 5.6 and 5.7: samples against rounds, and what a small gap costs."""

import numpy as np

import linrep as lr
from linrep.claims import Exponent, Mean, Trend, statement
from linrep.papers.flute.model import DRAWN, Spectrum
from linrep.papers.flute.runs import compressed, floor, truth_of

SIZES = (10**5, 10**6, 10**7, 10**8, 10**9)


def near(best, size, rng):
    """Return factors near the optimum."""
    return [A + size * rng.standard_normal(A.shape) for A in (best.B, best.W)]


def until_floor(gap, share, rng) -> tuple[list[float], list[float]]:
    """Return, for each N, eta Delta times the rounds until no more than the floor is left, and it.

    The floor is the error of what a run converges to, what is left its distance to that.
    """
    truth = truth_of((1.0, 1.0 - 0.5 * gap), 4, 4, rng, noise=1.0)
    best, eta = truth.best(1), share / Spectrum.of(truth, 1).first
    start, unit = near(best, 0.2, rng), eta * best.gap
    counts, floors = [], []
    for m in SIZES:
        products: list[np.ndarray] = []

        def measure(B, W, products=products):
            products.append(B @ W.T)
            return {}

        trace = lr.flute(
            compressed(truth, m, rng), k=1, step_size=eta, rounds=int(60.0 / unit), start=start,
            record=int(0.8 / unit), measure=measure,
        )  # fmt: skip
        with np.errstate(divide="ignore"):
            left = np.log([np.linalg.norm(product - products[-1]) for product in products])
        target = np.log(np.linalg.norm(products[-1] - best.Phi))
        last = np.flatnonzero(left > target)[-1]
        part = (left[last] - target) / (left[last] - left[last + 1])
        counts.append(unit * (trace.recorded[last] + part * np.diff(trace.recorded)[last]))
        floors.append(float(np.exp(target)))
    return counts, floors


@statement(
    "flute.remark5.6",
    place="Remark 5.6",
    latex=r"N \propto \kappa_T^{-2} = \Big(1 - \frac{\eta\Delta}{16}\Big)^{-2T}:\ \text{the number"
    r" of samples grows exponentially in } T",
    plain="The samples needed grow exponentially with the number of rounds.",
    hypotheses=DRAWN,
    negative_control={"power": 1.0},
    stronger={"power": 0},
)
def remark_5_6(budget, rng, *, power=2.0):
    """Count rounds until the floor, and compare floors with the bound (8); power is of kappa_T.

    (8) allows an error like kappa_T, so T ends where it would be below the floor. Per log N, a
    decay by 1 - eta Delta/2 takes 1/(eta Delta) rounds, and the slower one of (8) 8 times as many.
    """
    runs, ratios = budget(60, 150), []
    for gap, share in budget(
        ((0.8, 0.1), (0.4, 0.2)), ((0.8, 0.1), (0.8, 0.05), (0.4, 0.1), (0.2, 0.1))
    ):
        found = np.array([until_floor(gap, share, rng) for _ in range(runs)])
        rounds, floors = found[:, 0], found[:, 1]
        name = f"Delta {gap:g}, eta {0.5 * share:g}"  # lambda*_1 = 2
        yield Exponent(
            SIZES, list(floors.T), equals=-1.0 / power, margin=0.15, along="N", of="floor",
            name=f"floor, {name}",
        )  # fmt: skip
        ratios.append(1.0 + 2.0 * (rounds @ [1, 0, -2, 0, 1]) / (rounds @ [-1, 0, 0, 0, 1]).mean())
        slopes = np.polyfit(np.log(SIZES), rounds.T, 1)[0]
        yield Mean(
            slopes, at_most=16.0 / power, name=f"rounds to it, {name}",
            quantity="rounds to the floor per log N", unit="1/(eta Delta)",
        )  # fmt: skip
    # Linear in log N: the last two decades take as many rounds as the first two.
    yield Mean(
        np.concatenate(ratios), at_least=0.75, at_most=1.25, name="last decades over first",
        quantity="rounds of two decades over those of others",
    )  # fmt: skip


GAPS = (0.1, 0.2, 0.4, 0.8)


def late_rate(gap, eta, rng) -> float:
    """Return the decay per round of the population's error, near the optimum."""
    truth = truth_of((1.0, 1.0 - 0.5 * gap), 4, 4, rng)
    start = near(truth.best(1), 1e-4, rng)
    stops = [int(each / (0.5 * eta * gap)) for each in (8.0, 14.0)]
    trace = lr.flute(
        truth, k=1, batches="population", step_size=eta, rounds=stops[1], record=stops, start=start
    )
    first, last = trace["error"][-2:]
    return float(np.log(first / last) / (stops[1] - stops[0]))


@statement(
    "flute.remark5.7",
    place="Remark 5.7",
    latex=r"\Delta \downarrow:\ \text{more samples and slower convergence, } 1 - \eta\Delta/16;"
    r"\quad |\hat\sigma_k - \sigma_k|, |\hat\sigma_{k+1} - \sigma_{k+1}| \le \Delta/2",
    plain="A smaller gap takes more samples and more rounds.",
    hypotheses=DRAWN,
    negative_control={"power": 2.0},
    stronger={"power": 0},
)
def remark_5_7(budget, rng, *, power=1.0):
    """Follow the rate, at fixed eta, and the error kept in Delta.

    Estimates of two neighbours keep their order up to errors of half their difference: Delta/2 if
    sigma_k is read as lambda*_k, Delta/4 if as the singular value of Phi.
    """
    rates = [[late_rate(gap, 0.05, rng) for _ in range(18)] for gap in GAPS]
    yield Exponent(
        GAPS, rates, equals=power, along=r"$\Delta$", of="decay per round", name="rate in Delta"
    )

    def kept(gap, noise):
        truth = truth_of((1.0, 1.0 - 0.5 * gap), 6, 6, rng, noise=noise)
        return floor(truth, 1, 10**5, rng)

    for noise in (0.0, 1.0):
        errors = [[kept(gap, noise) for gap in GAPS[::-1]] for _ in range(budget(20, 40))]
        yield Trend(np.array(errors), name=f"error kept as Delta shrinks, noise {noise:g}")
