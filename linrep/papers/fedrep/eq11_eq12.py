"""(11), the rate of Theorem 1, against that of runs; (12), the samples of all rounds together."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pandas as pd

from linrep import algorithms
from linrep.claims import Cases, Condition, Curve, Exponent, Fact, Mean, statement
from linrep.claims.quantities import LOWER
from linrep.papers.fedrep._common import GAUSSIAN_ASSUMPTIONS
from linrep.papers.fedrep._runs import fewest_samples
from linrep.papers.fedrep.counterexamples.eq12 import over_claimed
from linrep.problems import SharedRepresentation
from linrep.theory.fedrep import step_size_limit, total_samples_of_theorem1
from linrep.theory.fedrep_limits import limiting_contraction

#: Rank, condition, distance of the start, samples.
_RATES = (
    (1, 1.0, 0.5, 2), (2, 1.0, 0.5, 3), (2, 1.0, 0.9, 4), (2, 1.0, 0.5, 8), (2, 3.0, 0.5, 8),
    (2, 1.0, 0.5, 400), (4, 2.0, 0.5, 6), (4, 1.0, 0.05, 40), (8, 1.0, 0.5, 12),
)  # fmt: skip


def _log_rates(n, k, condition, start, m, gain, rng):
    """Run; return mean and late logarithms of the rate, that of (11), the limit's, eta sigma^2."""
    rounds = math.ceil(60 * condition**2)
    truth = SharedRepresentation.random(n=n, d=2 * k + 2, k=k, condition=condition, rng=rng)
    eta = float(step_size_limit(truth.sigma_max()))
    trace = algorithms.fedrep(truth, m=m, rounds=rounds, batches="gram", start=start, rng=rng)
    distances = trace["distance"]
    step = eta * truth.sigma_min() ** 2
    return (
        math.log(distances[-1] / distances[0]) / rounds,
        math.log(distances[-1] / distances[rounds // 2]) / (rounds - rounds // 2),
        0.5 * math.log1p(-gain * (1.0 - start**2) * step),
        math.log(limiting_contraction(truth, step_size=eta, m=m)),
        step,
    )


def _small_dimension(n, rng):
    """Yield late factors at d = 2, where entries of x are not as good as independent, k = 1, m = 4.

    The limit is that of residuals that do not depend on the features: of normal x.
    """
    for design in ("gaussian", "sphere"):
        truth = SharedRepresentation.random(n=n, d=2, k=1, design=design, rng=rng)
        trace = algorithms.fedrep(truth, m=4, rounds=12, step_size=0.25, start=0.01, rng=rng)
        ratios = trace["distance"][1:] / trace["distance"][:-1]
        yield Fact(f"factor of a round, {design} x", float(np.median(ratios)), setting={"d": 2})
        if design == "gaussian":
            limit = float(limiting_contraction(truth, step_size=0.25, m=4))
            yield Fact("limit for normal x", limit, setting={"d": 2})


@statement(
    "fedrep.theorem1.rate",
    own=True,
    place="Theorem 1, (11)",
    latex=r"\frac{\mathrm{dist}_{t+1}}{\mathrm{dist}_t} \le"
    r"\big(1 - \eta E_0\bar\sigma_{\min,*}^2/2\big)^{1/2}, \quad \text{as } rn \to \infty:"
    r"\ 1 - \eta(1 - k/m)\bar\sigma_{\min,*}^2",
    plain="For normal x a round shrinks the distance at least by the factor of (11); with many "
    "clients the factor is 1 - eta (1 - k/m) sigma_min^2. At small d other x have other factors.",
    hypotheses=GAUSSIAN_ASSUMPTIONS,
    stronger={"gain": 1},
    negative_control={"gain": 1.9},
)
def theorem1_rate(budget, rng, *, gain=0.5):
    """Compare the rates of runs with many clients with (11), and with the derived limit.

    Truths are drawn anew for each replicate.
    """
    n = budget(500, 2000, 4000)
    kept, limits, rows = [], [], []
    for k, condition, start, m in _RATES:
        found = np.array([_log_rates(n, k, condition, start, m, gain, rng) for _ in range(80)])
        mean, late, printed, limit, step = found.T
        where = {"n": n, "d": 2 * k + 2, "k": k, "m": m, "condition": condition, "start": start}
        name = f"k = {k}, m = {m}, kappa = {condition:g}, dist_0 = {start:g}"
        kept.append(
            Mean(
                mean / printed,
                at_least=1.0,
                quantity="logarithm of the rate over that of (11)",
                name=f"over (11), {name}",
                setting=where,
            )
        )
        limits.append(
            Mean(
                late / limit,
                at_least=0.9,
                at_most=1.1,
                quantity="logarithm of the rate over that of the limit",
                name=f"over the limit, {name}",
                setting=where,
            )
        )
        rows += [
            ("late rounds", f"k = {k}", m / k, share, 1.0 - k / m)
            for share in -np.expm1(late) / step
        ]
    columns = ["panel", "series", "x", "y", "predicted"]
    points = pd.DataFrame(rows, columns=columns).assign(
        xlabel="$m/k$", ylabel=r"gain per round over $\eta\sigma_{\min}^2$"
    )
    yield from kept
    yield from limits
    yield Curve(points)
    yield from _small_dimension(budget(2000, 20_000), rng)


def _total(rng, runs, cell):
    """Return the fewest samples; m is tried from k + 1 to some multiples of k d/n."""
    k, unit = cell["k"], cell["k"] * cell["d"] / cell["n"]
    rounds = math.ceil(100 * cell["condition"] ** 2)
    return fewest_samples(
        rng, runs, 7, lambda multiple: max(k + 1, round(multiple * unit)), rounds, **cell
    )


def _exact(x, y, power, name):
    """Compare the exponent of exact numbers, which the upper half of them may change a little."""
    lx, ly = np.log(x), np.log(y)
    whole, upper = (float(np.polyfit(lx[i:], ly[i:], 1)[0]) for i in (0, len(lx) // 2))
    return Condition(
        abs(whole - power) + abs(whole - upper) <= 0.1,
        whole,
        power,
        quantity="exponent",
        name=f"{name}, from (11)",
        setting={"x": np.asarray(x).tolist(), "samples": np.asarray(y).tolist()},
    )


@statement(
    "fedrep.eq12",
    place="(12)",
    latex=r"\Theta\Big(\Big[\kappa^4 k^2\Big(\frac d{rn} + k\log(rn)\Big)\Big]"
    r"\log\frac1\epsilon\Big) \text{ samples per client}",
    plain="A client needs of the order of kappa^4 k^2 (d/(rn) + k log(rn)) log(1/eps) samples.",
    hypotheses=GAUSSIAN_ASSUMPTIONS,
    negative_control={"kappa_power": 0.0},
)
def eq12(budget, rng, *, kappa_power=4.0, rank_power=2.0, start_power=None, both_sides=True):
    """Compare (12) with m times the rounds of (11), and with the fewest samples that suffice.

    A client serves in r T of T rounds, so that r drops out where (12) has 1/r.
    """
    d, n, eps = 10.0**9, 20.0, 1e-6
    kappas, ranks = np.array([2.0, 4.0, 8.0, 16.0, 32.0]), np.array([1.0, 2.0, 4.0, 8.0])
    ratios, tolerances = np.geomspace(1e7, 1e10, 5), np.array([1e-2, 1e-4, 1e-8, 1e-16])
    samples = total_samples_of_theorem1(eps, d, 2.0, n, condition=kappas)
    yield _exact(kappas, samples, kappa_power, "kappa")
    yield _exact(ranks, total_samples_of_theorem1(eps, d, ranks, n), rank_power, "k")
    yield _exact(ratios, total_samples_of_theorem1(eps, ratios, 2.0, n), 1.0, "d/(rn)")
    samples = total_samples_of_theorem1(tolerances, d, 2.0, n)
    yield _exact(-np.log(tolerances), samples, 1.0, "log(1/eps)")
    kappa, start = Fraction(2) ** 20, Fraction(3, 4)
    found = over_claimed(kappa, start, math.ceil(kappa_power), math.ceil(start_power or 0))
    yield Cases(
        [(found, Fraction(10**6), {"kappa": int(kappa), "E0": float(start)})],
        name="no constant up to 10^6 will do",
        quantity="samples by (11) over those claimed",
        measured_is=LOWER,
    )
    runs = budget(3, 20, 20)
    centre = {"d": 2000, "n": 20, "k": 2, "condition": 1.0, "start": 0.5}
    conditions = budget((1.0, 2.0, 4.0), (1.0, 2.0, 4.0, 8.0))
    for name, x, settings, power in (
        ("kappa", conditions, [{"condition": x} for x in conditions], kappa_power),
        ("k", ranks[1:], [{"k": int(k)} for k in ranks[1:]], rank_power),
    ):
        yield Exponent(
            x,
            [_total(rng, runs, centre | setting) for setting in settings],
            along=name,
            of="fewest samples per client",
            name=f"{name}, measured",
            setting=centre,
            **{"equals" if both_sides else "at_most": power},
        )
    if start_power is not None:
        starts = 1.0 - np.geomspace(1e-1, 1e-4, 5)
        samples = total_samples_of_theorem1(1e-6, 1e6, 2.0, n, initial_distance=starts)
        yield _exact(1.0 / (1.0 - starts**2), samples, start_power, "1/E0")


eq12.corrected(
    "fedrep.eq12.corrected",
    latex=r"O\Big(\frac{\kappa^6 k^2}{E_0^3}\Big(\frac d{rn} + k\log(rn)\Big)"
    r"\log\frac1\epsilon\Big) \text{ samples per client, in rounds it serves, suffice}",
    plain="By Theorem 1 a client needs at most kappa^6 k^2 (d/(rn) + k log(rn)) log(1/eps)/E0^3.",
    constants={"kappa_power": 6.0, "start_power": 3.0, "both_sides": False},
    stronger={"kappa_power": -1, "rank_power": -1, "start_power": -1},
    negative_control={"kappa_power": 4.0},
)
