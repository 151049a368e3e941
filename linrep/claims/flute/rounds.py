"""Remarks 5.6 and 5.7: samples against rounds, and what a small gap costs."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy import stats

import linrep as lr
from linrep.claims import (
    LEVEL,
    Evidence,
    Slope,
    claim,
    combine,
    exponent,
    log_slope,
    mean_between,
    trend,
)
from linrep.claims.flute._data import compressed, floor, spectrum_of, truth_of
from linrep.theory.flute import Spectrum

_SIZES = (10**4, 10**5, 10**6, 10**7, 10**8)


def _until_floor(gap, share, rng) -> tuple[list[float], list[float]]:
    """Return, for each N, eta Delta times the rounds until no more than the floor is left, and it.

    The floor is the error of what a run converges to, what is left its distance to that.
    """
    truth = truth_of((1.0, 1.0 - 0.5 * gap), 4, 4, rng, noise=1.0)
    best, eta = truth.best(1), share / Spectrum.of(truth, 1).first
    start = (
        best.B + 0.2 * rng.standard_normal(best.B.shape),
        best.W + 0.2 * rng.standard_normal(best.W.shape),
    )
    unit = eta * best.gap
    counts, floors = [], []
    for m in _SIZES:
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


@claim(
    "flute.remark5.6",
    place="Remark 5.6",
    kind="rate or exponent",
    latex=r"N \propto \kappa_T^{-2} = \Big(1 - \frac{\eta\Delta}{16}\Big)^{-2T}:\ \text{the number"
    r" of samples grows exponentially in } T",
    plain="The samples needed grow exponentially with the number of rounds.",
    broken={"power": 1.0},
)
def remark_5_6(budget, rng, *, power=2.0) -> Evidence:
    """Count rounds until the floor, and compare floors with the bound (8); power is of kappa_T."""
    settings = budget(((0.8, 0.1), (0.4, 0.2)), ((0.8, 0.1), (0.8, 0.05), (0.4, 0.1), (0.2, 0.1)))
    level, runs = LEVEL / (3 * len(settings)), budget(40, 120)
    parts, multiples, logs = [], [], np.log(_SIZES)
    for gap, share in settings:
        found = np.array([_until_floor(gap, share, rng) for _ in range(runs)])
        rounds, floors = found[:, 0], found[:, 1]
        slopes = np.polyfit(logs, rounds.T, 1)[0]
        width = stats.t.isf(level, runs - 1) * slopes.std(ddof=1) / np.sqrt(runs)
        multiples.append(slopes.mean())
        name = f"Delta {gap:g}, eta {0.5 * share:g}"  # lambda*_1 = 2
        points = pd.DataFrame(
            {
                "panel": "", "series": "", "x": _SIZES,
                "y": rounds.mean(axis=0), "predicted": logs - logs[0] + rounds[:, 0].mean(),
                "xlabel": "N", "ylabel": r"$\eta\Delta$ times rounds",
            }
        )  # fmt: skip
        parts += [
            # (8) allows an error like kappa_T, so T ends where it would be below the floor.
            exponent(
                log_slope(_SIZES, list(floors.T), level=level, rng=rng), -1.0 / power, level=level,
                n_trials=floors.size, margin=0.15,
                name=f"floor, {name}",
            ),
            # Linear in log N: the last two decades take as many rounds as the first two.
            mean_between(
                1.0 + 2.0 * (rounds @ [1, 0, -2, 0, 1]) / (rounds @ [-1, 0, 0, 0, 1]).mean(),
                0.75, 1.25, level=level, name=f"last decades over first, {name}",
            ),
            exponent(
                Slope(slopes.mean(), width, 0.0), 16.0 / power, at_most=True, level=level,
                n_trials=rounds.size, points=points, name=f"rounds to it, {name}",
            ),
        ]  # fmt: skip
    return combine(
        parts,
        f"{combine(parts).sentence} (power of N in the floor, and so in the kappa_T at which (8) "
        "meets it; eta Delta times rounds to the floor over log N). Rounds to the floor grow "
        "linearly in log N, so that N grows exponentially in T, by "
        f"{min(multiples):.2f} to {max(multiples):.2f} times log N/(eta Delta): 1 is what a "
        "decay by 1 - eta Delta/2 gives, and 8 what the slower one of (8), kappa_T^(-2), allows",
    )


_GAPS = (0.1, 0.2, 0.4, 0.8)


def _late_rate(gap, eta, rng) -> float:
    """Return the decay per round of the population's error, near the optimum."""
    truth = truth_of((1.0, 1.0 - 0.5 * gap), 4, 4, rng)
    best = truth.best(1)
    start = (
        best.B + 1e-4 * rng.standard_normal(best.B.shape),
        best.W + 1e-4 * rng.standard_normal(best.W.shape),
    )
    slow = 0.5 * eta * gap
    stops = [int(8.0 / slow), int(14.0 / slow)]
    trace = lr.flute(
        truth, k=1, batches="population", step_size=eta, rounds=stops[1], record=stops, start=start
    )
    first, last = trace["error"][-2:]
    return float(np.log(first / last) / (stops[1] - stops[0]))


@claim(
    "flute.remark5.7",
    place="Remark 5.7",
    kind="rate or exponent",
    latex=r"\Delta \downarrow:\ \text{more samples and slower convergence, } 1 - \eta\Delta/16;"
    r"\quad |\hat\sigma_k - \sigma_k|, |\hat\sigma_{k+1} - \sigma_{k+1}| \le \Delta/2",
    plain="A smaller gap takes more samples and more rounds.",
    broken={"power": 2.0},
)
def remark_5_7(budget, rng, *, power=1.0) -> Evidence:
    """Follow the rate and the error kept in Delta, at fixed eta and at eta like Delta^2."""
    level, runs = LEVEL / 4, budget(20, 40)
    parts = []
    for name, steps, further in (
        ("eta fixed", [0.05] * len(_GAPS), 0.0),
        ("eta like Delta^2", [0.1 * gap**2 for gap in _GAPS], 2.0),
    ):
        rates = [
            [_late_rate(gap, eta, rng) for _ in range(budget(3, 6))]
            for gap, eta in zip(_GAPS, steps, strict=True)
        ]
        parts.append(
            exponent(
                log_slope(_GAPS, rates, level=level, rng=rng), power + further, level=level,
                n_trials=len(_GAPS) * len(rates[0]), name=f"rate in Delta, {name}",
                points=pd.DataFrame(
                    {
                        "panel": "", "series": "", "x": _GAPS,
                        "y": np.median(rates, axis=1), "xlabel": r"$\Delta$",
                        "ylabel": "decay per round",
                    }
                ),
            )
        )  # fmt: skip
    gaps = _GAPS[::-1]
    kept = {
        noise: np.array([
            [
                floor(truth_of((1.0, 1.0 - 0.5 * gap), 6, 6, rng, noise=noise), 1, 10**5, rng)
                for gap in gaps
            ]
            for _ in range(runs)
        ])
        for noise in (0.0, 1.0)
    }  # fmt: skip
    parts += [
        trend(errors, level=level, name=f"error kept as Delta shrinks, noise {noise:g}")
        for noise, errors in kept.items()
    ]
    slopes = [
        2.0 * log_slope(1.0 / np.array(gaps), list(errors.T), rng=rng).value
        for errors in kept.values()
    ]
    return combine(
        parts,
        f"{combine(parts).sentence}. {parts[0].sentence} (eta fixed), {parts[1].sentence} (eta "
        f"like Delta^2); N epsilon^2 goes like Delta^{-slopes[0]:.2f} without noise and "
        f"Delta^{-slopes[1]:.2f} with. {_needs()}",
    )


def _needs() -> str:
    """Tell how accurate estimates of two neighbours have to be to keep their order, over Delta.

    Half their difference: an identity, told and not judged.
    """
    spectrum = spectrum_of((1.0, 0.9, 0.7, 0.1), 3)
    shares = [
        0.5 * (values[spectrum.k - 1] - values[spectrum.k]) / spectrum.gap
        for values in (spectrum.eigenvalues, spectrum.singular_values)
    ]
    return (
        f"Estimates keep their order up to errors of {shares[0]:g} Delta if sigma_k is read as "
        f"lambda*_k, of {shares[1]:g} Delta if as the singular value of Phi"
    )
