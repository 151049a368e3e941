"""(11), the rate of Theorem 1, against that of runs; (12), the samples of all rounds together."""

import math
from fractions import Fraction

import numpy as np
import pandas as pd

from linrep import algorithms
from linrep.claims import Condition, Curve, Fact, Mean, statement
from linrep.claims.evidence import LOWER
from linrep.claims.laws import at_most, measured
from linrep.papers.fedrep.counterexamples.eq12 import over_claimed
from linrep.papers.fedrep.model import GAUSSIAN_ASSUMPTIONS
from linrep.problems import SharedRepresentation
from linrep.theory.fedrep import step_size_limit, total_samples_of_theorem1
from linrep.theory.fedrep_limits import limiting_contraction

#: Rank, condition, distance of the start, samples.
RATES = (
    (1, 1.0, 0.5, 2), (2, 1.0, 0.5, 3), (2, 1.0, 0.9, 4), (2, 1.0, 0.5, 8), (2, 3.0, 0.5, 8),
    (2, 1.0, 0.5, 400), (4, 2.0, 0.5, 6), (4, 1.0, 0.05, 40), (8, 1.0, 0.5, 12),
)  # fmt: skip


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
    n, rows = budget(500, 2000, 4000), []
    for k, condition, start, m in RATES:
        found, rounds = [], math.ceil(60 * condition**2)
        for _ in range(80):
            truth = SharedRepresentation.random(n=n, d=2 * k + 2, k=k, condition=condition, rng=rng)
            eta = float(step_size_limit(truth.sigma_max()))
            trace = algorithms.fedrep(
                truth, m=m, rounds=rounds, batches="gram", start=start, rng=rng
            )
            far, step = trace["distance"], eta * truth.sigma_min() ** 2
            whole = math.log(far[-1] / far[0]) / rounds
            late = math.log(far[-1] / far[rounds // 2]) / (rounds - rounds // 2)
            printed = 0.5 * math.log1p(-gain * (1.0 - start**2) * step)
            limit = math.log(limiting_contraction(truth, step_size=eta, m=m))
            found.append((whole / printed, late / limit, -math.expm1(late) / step))
        of_printed, of_limit, gains = np.array(found).T
        at = {"n": n, "d": 2 * k + 2, "k": k, "m": m, "condition": condition, "start": start}
        problem = f"k = {k}, m = {m}, kappa = {condition:g}, dist_0 = {start:g}"
        for over, samples, least, most in (
            ("(11)", of_printed, 1.0, None), ("the limit", of_limit, 0.9, 1.1),
        ):  # fmt: skip
            yield Mean(
                samples, at_least=least, at_most=most, name=f"over {over}, {problem}", setting=at,
                quantity=f"logarithm of the rate over that of {over}",
            )  # fmt: skip
        rows += [(f"k = {k}", m / k, share, 1.0 - k / m) for share in gains]
    points = pd.DataFrame(rows, columns=["series", "x", "y", "predicted"])
    ylabel = r"gain per round over $\eta\sigma_{\min}^2$"
    yield Curve(points.assign(panel="late rounds", xlabel="$m/k$", ylabel=ylabel))
    # At d = 2 entries of x are not as good as independent; the limit is that of residuals that do
    # not depend on the features: of normal x.
    for design in ("sphere", "gaussian"):
        many = budget(2000, 20_000)
        truth = SharedRepresentation.random(n=many, d=2, k=1, design=design, rng=rng)
        trace = algorithms.fedrep(truth, m=4, rounds=12, step_size=0.25, start=0.01, rng=rng)
        ratios = trace["distance"][1:] / trace["distance"][:-1]
        yield Fact(f"factor of a round, {design} x", float(np.median(ratios)), setting={"d": 2})
    limit = float(limiting_contraction(truth, step_size=0.25, m=4))
    yield Fact("limit for normal x", limit, setting={"d": 2})


def exponent(x, y, power, name):
    """Compare the exponent of exact numbers, which the upper half of them may change a little."""
    lx, ly = np.log(x), np.log(y)
    whole, upper = (float(np.polyfit(lx[i:], ly[i:], 1)[0]) for i in (0, len(lx) // 2))
    return Condition(
        abs(whole - power) + abs(whole - upper) <= 0.1, whole, power, quantity="exponent",
        name=f"{name}, from (11)",
        setting={"x": np.asarray(x).tolist(), "samples": np.asarray(y).tolist()},
    )  # fmt: skip


@statement(
    "fedrep.eq12",
    place="(12)",
    latex=r"\Theta\Big(\Big[\kappa^4 k^2\Big(\frac d{rn} + k\log(rn)\Big)\Big]"
    r"\log\frac1\epsilon\Big) \text{ samples per client}",
    plain="By Theorem 1 a client takes of the order of kappa^4 k^2 (d/(rn) + k log(rn)) log(1/eps) "
    "samples over all rounds.",
    hypotheses=GAUSSIAN_ASSUMPTIONS,
    negative_control={"kappa_power": 0.0},
)
def eq12(budget, rng, *, kappa_power=4.0, rank_power=2.0, start_power=None):
    """Compare (12) with m times the rounds of (11).

    A client serves in r T of T rounds, so that r drops out where (12) has 1/r.
    """
    d, n, total = 10.0**9, 20.0, total_samples_of_theorem1
    kappas, ranks = np.array([2.0, 4.0, 8.0, 16.0, 32.0]), np.array([1.0, 2.0, 4.0, 8.0])
    ratios, tolerances = np.geomspace(1e7, 1e10, 5), np.array([1e-2, 1e-4, 1e-8, 1e-16])
    for x, samples, power, name in (
        (kappas, total(1e-6, d, 2.0, n, condition=kappas), kappa_power, "kappa"),
        (ranks, total(1e-6, d, ranks, n), rank_power, "k"),
        (ratios, total(1e-6, ratios, 2.0, n), 1.0, "d/(rn)"),
        (-np.log(tolerances), total(tolerances, d, 2.0, n), 1.0, "log(1/eps)"),
    ):
        yield exponent(x, samples, power, name)
    kappa, start = Fraction(2) ** 20, Fraction(3, 4)
    found = over_claimed(kappa, start, math.ceil(kappa_power), math.ceil(start_power or 0))
    at = {"kappa": int(kappa), "E0": float(start)}
    large = [("no constant up to 10^6 will do", at_most(found, Fraction(10**6)), at)]
    quantity = "samples by (11) over those claimed"
    yield from measured(large, quantity=quantity, measured_is=LOWER).values()
    if start_power is not None:
        starts = 1.0 - np.geomspace(1e-1, 1e-4, 5)
        samples = total(1e-6, 1e6, 2.0, n, initial_distance=starts)
        yield exponent(1.0 / (1.0 - starts**2), samples, start_power, "1/E0")


eq12.corrected(
    "fedrep.eq12.corrected",
    latex=r"O\Big(\frac{\kappa^6 k^2}{E_0^3}\Big(\frac d{rn} + k\log(rn)\Big)"
    r"\log\frac1\epsilon\Big) \text{ samples per client, in rounds it serves, suffice}",
    plain="By Theorem 1 a client needs at most kappa^6 k^2 (d/(rn) + k log(rn)) log(1/eps)/E0^3.",
    constants={"kappa_power": 6.0, "start_power": 3.0},
    stronger={"kappa_power": -1, "rank_power": -1, "start_power": -1},
    negative_control={"kappa_power": 4.0},
)
