"""Theorem 1: smallest sufficient m, probability and rate; (12); the plateau that noise leaves."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd

from linrep import algorithms
from linrep.claims import Evidence, claim, combine, identity
from linrep.claims.decide import Slope, exponent, frequency, log_slope, threshold_slope
from linrep.claims.evidence import FAILS, HOLDS, LEVEL, VACUOUS
from linrep.claims.fedrep._common import ASSUMPTIONS, DESIGNS
from linrep.problems import SharedRepresentation
from linrep.stats import transition_point
from linrep.subspace import frame_at_distance
from linrep.theory.fedrep import (
    contraction,
    failure_probability,
    sample_size,
    step_size_limit,
    total_samples_of_theorem1,
)
from linrep.theory.fedrep_limits import limiting_contraction

ROUNDS = 30  # after which a run has to have come as near as the theorem promises
SHARE = 0.9  # of the runs that have to
GRID = 1.1  # ratio of neighbouring m around the smallest sufficient one
CENTRE = {"d": 10**4, "n": 20, "k": 2, "condition": 1.0, "start": 0.5, "fraction": 1.0}


def _run(rng, m, *, d, n, k, condition=None, start=0.5, fraction=1.0, design="gaussian",
         angles="equal", rounds=ROUNDS, tolerance=None):  # fmt: skip
    """Return the distances of a run, and those that (11) promises, round by round.

    fraction is that of the largest step size which the theorem allows. Normal covariates are
    simulated through their sufficient statistics, with the same law.
    """
    stored = design != "gaussian" or angles != "equal"
    truth = SharedRepresentation.random(
        n=n, d=d, k=k, condition=condition, design=design, store=stored, rng=rng
    )
    eta = fraction * float(step_size_limit(truth.sigma_max()))
    trace = algorithms.fedrep(
        truth, m=m, rounds=rounds, step_size=eta, tolerance=tolerance, rng=rng,
        batches="fresh" if design != "gaussian" else "gram",
        start=frame_at_distance(truth.B, start, angles=angles, rng=rng) if stored else start,
    )  # fmt: skip
    distances = np.full(rounds + 1, np.inf)
    distances[: trace.rounds + 1] = trace["distance"]
    if trace.stop_reason == "converged":
        distances[trace.rounds + 1 :] = 0.0
    factor = float(contraction(truth, step_size=eta, initial_distance=start))
    return distances, start * factor ** np.arange(rounds + 1)


def _smallest_m(rng, runs, **cell):
    """Return the smallest m with which 9 of 10 runs keep (11) after the rounds, and its runs."""

    def kept(m, count):
        wins = 0
        for _ in range(count):
            distances, promised = _run(rng, m, **cell)
            wins += distances[-1] <= promised[-1]
        return wins

    low, high = 1, cell["k"] + 1
    while kept(high, 2) < 2:
        low, high = high, 2 * high
    while high > low + 1 and high > GRID * low:
        middle = round(math.sqrt(low * high))
        low, high = (low, middle) if kept(middle, 2) == 2 else (middle, high)
    grid = sorted({max(1, round(high * GRID**step)) for step in range(-4, 6)} | {low, high})
    wins = [kept(m, runs) for m in grid]
    return transition_point(grid, wins, runs, level=SHARE), runs * len(grid)


def _growth(rng, runs, name, x, cells, *, power, at_most, level, margin=0.1):
    """Decide the exponent of the smallest sufficient m along a line of cells."""
    points, trials = [], 0
    for cell in cells:
        point, count = _smallest_m(rng, runs, **cell)
        points.append(point)
        trials += count
    slope = threshold_slope(x, points, level=level, rng=rng)
    table = pd.DataFrame(
        {
            "panel": "", "series": "", "x": x, "y": [point.x for point in points],
            "low": [point.low for point in points], "high": [point.high for point in points],
            "xlabel": name, "ylabel": "smallest sufficient $m$",
            "predicted": points[-1].x * (np.asarray(x) / x[-1]) ** power,
        }
    )  # fmt: skip
    shown = {key: value for key, value in cells[-1].items() if value is not None}
    return exponent(
        slope, power, at_most=at_most, margin=margin, level=level, n_trials=trials, points=table,
        name=name, setting=shown | {"m": [float(point.x) for point in points], "x": list(x)},
    )  # fmt: skip


def _instances(design, runs, rng):
    """Yield problems from the corners of what Theorem 1 allows, smaller ones if samples are drawn.

    At least 2 clients a round, and at least k.
    """
    drawn = design != "gaussian"
    for _ in range(runs):
        k = int(rng.choice([1, 2] if drawn else [1, 2, 3, 5]))
        yield {
            "k": k,
            "n": int(rng.choice([max(2, k), k + 1, 10] if drawn else [max(2, k), k + 1, 20, 200])),
            "d": int(rng.choice([2 * k, 10] if drawn else [2 * k, 20, 1000])),
            "condition": 1.0 if drawn or k == 1 else float(rng.choice([1.0, 3.0, 10.0])),
            "start": float(rng.choice([0.05, 0.5] if drawn else [0.05, 0.5, 0.95])),
            "fraction": float(rng.choice([1.0, 0.25])),
            "design": design,
        }


def _broken_promise(cell, constant, rng, rounds=ROUNDS):
    """Run with m = c times what Theorem 1 asks for; tell whether (11) fails in some round."""
    bound = sample_size(
        cell["d"], cell["k"], cell["n"], condition=cell["condition"],
        initial_distance=cell["start"], constant=constant,
    )  # fmt: skip
    m = max(1, math.ceil(float(bound)))
    distances, promised = _run(rng, m, rounds=rounds, **cell)
    return bool((distances > promised * (1.0 + 1e-9)).any()), m


def _violations(cells, constant, allowed, rng, *, level, name):
    """Decide whether (11) fails for as few runs as allowed, over a collection of problems."""
    bad, worst = 0, {}
    for cell in cells:
        broken, m = _broken_promise(cell, constant, rng)
        if broken:
            bad, worst = bad + 1, {**cell, "m": m}
    return frequency(bad, len(cells), allowed, level=level, name=name, setting=worst)


def _shares(budget, rng):
    """Return the share of runs that leave (11) in some round, against m from m <= k on."""
    rows = []
    for design in DESIGNS:
        cell = {"k": 2, "n": 20, "d": 20, "condition": 1.0, "start": 0.5, "design": design}
        for m in (1, 2, 3, 4, 5, 6, 8, 10, 14, 20):
            results = [_run(rng, m, **cell) for _ in range(budget(4, 40))]
            left = [(far > near * (1.0 + 1e-9)).any() for far, near in results]
            rows.append(("d = 20, n = 20, k = 2", design, m, np.mean(left)))
    table = pd.DataFrame(rows, columns=["panel", "series", "x", "y"])
    return table.assign(xlabel="$m$", ylabel="share of violations")


@claim(
    "fedrep.theorem1",
    place="Theorem 1, (11)",
    kind="sample-size threshold",
    latex=r"m \ge c\Big(\frac{\kappa^4 k^2 d}{E_0^2 rn} + \frac{\kappa^4 k^3 \log(rn)}{E_0^2}\Big),"
    r"\ \eta \le \frac1{4\bar\sigma_{\max,*}^2} \;\Rightarrow\; \mathrm{dist}(B^T, B^*) \le"
    r"\big(1 - \eta E_0 \bar\sigma_{\min,*}^2/2\big)^{T/2} \mathrm{dist}(B^0, B^*)",
    plain="With so many samples per client and round, FedRep converges linearly, one c for all.",
    hypotheses=ASSUMPTIONS,
    broken={"ratio_power": 0.5},
)
def theorem1(
    budget, rng, *, ratio_power=1.0, rank_power=2.0, kappa_power=4.0, start_power=2.0,
    many_power=0.0, constant=10.0,
) -> Evidence:  # fmt: skip
    """Find how the smallest sufficient m grows in each direction, and try one c everywhere."""
    runs, share = budget(5, 16, 60), LEVEL / 12.0
    parts = []

    def line(name, x, power, settings, at_most=True):
        cells = [CENTRE | setting for setting in settings]
        parts.append(
            _growth(
                rng, runs, name, np.array(x, dtype=float), cells, power=power, at_most=at_most,
                level=share,
            )
        )  # fmt: skip

    sizes = budget((10**3, 10**4, 10**5), (300, 10**3, 10**4, 10**5, 10**6))
    ratios = [d / 8 for d in sizes]
    line("d/(rn)", ratios, ratio_power, [{"n": 8, "d": d} for d in sizes], at_most=False)
    ranks = budget((1, 2, 8), (1, 2, 4, 8, 16))
    line("k", ranks, rank_power, [{"k": k} for k in ranks])
    kappas = budget((1.0, 2.0, 8.0), (1.0, 1.5, 2.0, 4.0, 8.0, 32.0))
    line("kappa", kappas, kappa_power, [{"condition": x} for x in kappas])
    starts = budget((0.5, 0.9, 0.99), (0.3, 0.5, 0.9, 0.97, 0.99, 0.997))
    inverse = [1.0 / (1.0 - start**2) for start in starts]
    line("1/E0, equal angles", inverse, start_power, [{"start": start} for start in starts])
    single = [{"start": start, "angles": "single", "d": 1000, "n": 8} for start in starts]
    line("1/E0, single angle", inverse, start_power, single)
    fractions = budget((1.0, 0.5, 0.25), (1.0, 0.5, 0.25, 0.1))
    line("1/eta", [1.0 / x for x in fractions], 0.0, [{"fraction": x} for x in fractions])
    for design in budget(("gaussian",), DESIGNS):
        many = budget((30, 100, 300), (20, 90, 400))
        if design == "gaussian":
            many = budget((30, 100, 1000), (30, 100, 1000, 10000))
        small = [{"d": 20, "k": 8, "n": n, "condition": None, "design": design} for n in many]
        line(f"rn, {design}", many, many_power, small)
    cells = [
        cell
        for design in DESIGNS
        for cell in _instances(design, budget(210, 600) if design == "gaussian" else 12, rng)
    ]
    everywhere = _violations(
        cells, constant, 0.05, rng, level=share, name=f"c = {constant:g} for all problems"
    )
    parts.append(everywhere)
    found = {part.name: part for part in parts}
    whole = combine(
        parts,
        "the smallest sufficient m grows like (d/(rn))^{:.2f}, k^{:.2f} (bound: k^2), "
        "kappa^{:.2f} (bound: kappa^4), (1/E0)^{:.2f} (bound: E0^-2), eta^{:.2f}, and at d = 20 "
        "with rn^{:.2f} (bound: log(rn)); with m <= k nothing moves; {}".format(
            *(found[name].measured for name in (
                "d/(rn)", "k", "kappa", "1/E0, equal angles"
            )),
            -found["1/eta"].measured,
            found["rn, gaussian"].measured,
            parts[-1].sentence,
        ),
    )  # fmt: skip
    return replace(whole, points=pd.concat([whole.points, _shares(budget, rng)]))


@claim(
    "fedrep.theorem1.probability",
    place="Theorem 1",
    kind="probability bound",
    latex=r"\Pr[(11)] \ge 1 - T e^{-100\min(k^2\log(rn),\, d)}",
    plain="Theorem 1's conclusion fails with a probability no experiment could notice.",
    hypotheses=ASSUMPTIONS,
    broken={"constant": 0.003},
)
def theorem1_probability(budget, rng, *, constant=10.0) -> Evidence:
    """Count violations, and compare with what is left to them; one client a round on its own."""
    parts = []
    for name, cell in (
        ("rn = 1", {"k": 1, "n": 1, "d": 20}),
        ("rn = 2", {"k": 1, "n": 2, "d": 20}),
        ("rn = 20", {"k": 2, "n": 20, "d": 200}),
        ("rn = 200", {"k": 4, "n": 200, "d": 20}),
    ):
        allowed = float(failure_probability(ROUNDS, cell["d"], cell["k"], cell["n"]))
        if allowed >= 1.0:
            parts.append(
                Evidence(
                    VACUOUS, "log(rn) = 0: the probability bound is 1 - T, and the bound on m has "
                    "no term in k^3", measured=allowed, predicted=1.0, name=name,
                )
            )  # fmt: skip
            continue
        cells = [cell | {"condition": 1.0, "start": 0.5}] * budget(60, 400)
        level = LEVEL / 3.0
        parts.append(_violations(cells, constant, allowed, rng, level=level, name=name))
    return combine(
        parts,
        ", ".join(f"{part.name}: {part.sentence}" for part in parts) + f" (c = {constant:g})",
    )


@claim(
    "fedrep.theorem1.rate",
    place="Theorem 1, (11)",
    kind="rate or exponent",
    latex=r"\frac{\mathrm{dist}_{t+1}}{\mathrm{dist}_t} \le"
    r"\big(1 - \eta E_0\bar\sigma_{\min,*}^2/2\big)^{1/2}, \quad \text{as } rn \to \infty:"
    r"\ 1 - \eta(1 - k/m)\bar\sigma_{\min,*}^2",
    plain="The rate of (11) is kept, and it is that of many clients with k/m of the step lost.",
    hypotheses=ASSUMPTIONS,
    broken={"gain": 1.9},
)
def theorem1_rate(budget, rng, *, gain=0.5) -> Evidence:
    """Compare the mean rate of runs with many clients with (11), and with the derived limit."""
    n = budget(500, 4000)
    kept, limits, ratios = [], [], []
    for k, condition, start, m in (
        (1, 1.0, 0.5, 2), (2, 1.0, 0.5, 3), (2, 1.0, 0.9, 4), (2, 1.0, 0.5, 8), (2, 3.0, 0.5, 8),
        (2, 1.0, 0.5, 400), (4, 2.0, 0.5, 6), (4, 1.0, 0.05, 40), (8, 1.0, 0.5, 12),
    ):  # fmt: skip
        rounds = math.ceil(60 * condition**2)
        truth = SharedRepresentation.random(n=n, d=2 * k + 2, k=k, condition=condition, rng=rng)
        eta = float(step_size_limit(truth.sigma_max()))
        distances = algorithms.fedrep(
            truth, m=m, rounds=rounds, batches="gram", start=start, rng=rng
        )["distance"]
        late = math.log(distances[-1] / distances[rounds // 2]) / (rounds - rounds // 2)
        printed = 0.5 * math.log1p(-gain * eta * (1.0 - start**2) * truth.sigma_min() ** 2)
        mean = math.log(distances[-1] / distances[0]) / rounds
        where = {"n": n, "d": 2 * k + 2, "k": k, "m": m, "condition": condition, "start": start}
        kept.append((mean - printed, where))
        ratios.append(mean / printed)
        limit = math.log(limiting_contraction(truth, step_size=eta, m=m))
        limits.append((abs(late / limit - 1.0), where))
    worst, where = max(kept, key=lambda item: item[0])
    bound = Evidence(
        HOLDS if worst <= 0.0 else FAILS,
        f"the rate is {min(ratios):.2f} to {max(ratios):.2f} times the one of (11)",
        measured=min(ratios), predicted=1.0, n_trials=len(kept), name="(11)",
        counterexample={**where, "log rate above (11)": worst} if worst > 0.0 else None,
    )  # fmt: skip
    many = identity(limits, 0.1, name="1 - eta (1 - k/m) sigma_min^2")
    return combine(
        [bound, many],
        f"{bound.sentence}; with {n} clients it is that of eta (1 - k/m) on infinitely many "
        f"samples, within {many.measured:.1%}",
    )


def _total(rng, runs, cell):
    """Return the fewest samples per client to 1e-3 of the starting distance, over a grid of m."""
    unit, best = cell["k"] * cell["d"] / cell["n"], []
    for _ in range(runs):
        totals = []
        for multiple in np.geomspace(0.1, 1.6, 7) * 1.5 ** rng.uniform():
            m = max(cell["k"] + 1, round(multiple * unit))
            rounds = math.ceil(100 * cell["condition"] ** 2)
            distances, _ = _run(rng, m, rounds=rounds, tolerance=1e-3 * cell["start"], **cell)
            reached = np.flatnonzero(distances <= 1e-3 * cell["start"])
            totals.append(m * reached[0] if reached.size else math.inf)
        best.append(min(totals))
    return np.array(best)


def _exact(x, y, power, name):
    """Decide the exponent of exact numbers."""
    lx, ly = np.log(x), np.log(y)
    whole, upper = (np.polyfit(lx[i:], ly[i:], 1)[0] for i in (0, len(lx) // 2))
    return exponent(
        Slope(float(whole), 0.0, float(abs(whole - upper))), power, name=name, level=0.0,
        setting={"x": np.asarray(x).tolist(), "samples": np.asarray(y).tolist()},
    )  # fmt: skip


def _totals(budget, rng, *, kappa_power, rank_power, both_sides):
    """Compare exponents of the samples that (11) asks for, and of those that suffice, with (12)."""
    d, n, eps = 10.0**9, 20.0, 1e-6
    kappas, ranks = np.array([2.0, 4.0, 8.0, 16.0, 32.0]), np.array([1.0, 2.0, 4.0, 8.0])
    ratios, tolerances = np.geomspace(1e7, 1e10, 5), np.array([1e-2, 1e-4, 1e-8, 1e-16])
    parts = [
        _exact(kappas, total_samples_of_theorem1(eps, d, 2.0, n, condition=kappas), kappa_power,
               "kappa, from (11)"),
        _exact(ranks, total_samples_of_theorem1(eps, d, ranks, n), rank_power, "k, from (11)"),
        _exact(ratios, total_samples_of_theorem1(eps, ratios, 2.0, n), 1.0, "d/(rn), from (11)"),
        _exact(-np.log(tolerances), total_samples_of_theorem1(tolerances, d, 2.0, n), 1.0,
               "log(1/eps), from (11)"),
    ]  # fmt: skip
    runs = budget(3, 8, 20)
    centre = {"d": 2000, "n": 20, "k": 2, "condition": 1.0, "start": 0.5}
    conditions = budget((1.0, 2.0, 4.0), (1.0, 2.0, 4.0, 8.0))
    for name, x, settings, power in (
        ("kappa, measured", conditions, [{"condition": x} for x in conditions], kappa_power),
        ("k, measured", ranks[1:], [{"k": int(k)} for k in ranks[1:]], rank_power),
    ):
        samples = [_total(rng, runs, centre | setting) for setting in settings]
        slope = log_slope(x, samples, level=LEVEL / 2.0, rng=rng)
        table = pd.DataFrame(
            {
                "panel": "", "series": "fewest samples found", "x": x,
                "y": [np.median(sample) for sample in samples],
                "predicted": np.median(samples[0]) * (np.asarray(x) / x[0]) ** power,
                "xlabel": name.partition(",")[0], "ylabel": "samples per client",
            }
        )  # fmt: skip
        parts.append(
            exponent(
                slope, power, at_most=not both_sides, level=LEVEL / 2.0, name=name,
                n_trials=runs * len(x), points=table,
                setting=centre | {"x": list(map(float, x)), "samples": table["y"].tolist()},
            )
        )  # fmt: skip
    return parts


@claim(
    "fedrep.eq12",
    place="(12)",
    kind="rate or exponent",
    latex=r"\Theta\Big(\Big[\kappa^4 k^2\Big(\frac d{rn} + k\log(rn)\Big)\Big]"
    r"\log\frac1\epsilon\Big) \text{ samples per client}",
    plain="A client needs of the order of kappa^4 k^2 (d/(rn) + k log(rn)) log(1/eps) samples.",
    hypotheses=ASSUMPTIONS,
    broken={"kappa_power": 0.0},
    mended={"kappa_power": 6.0, "both_sides": False},
)
def eq12(budget, rng, *, kappa_power=4.0, rank_power=2.0, both_sides=True) -> Evidence:
    """Compare (12) with m times the rounds of (11), and with the fewest samples that suffice."""
    parts = _totals(
        budget, rng, kappa_power=kappa_power, rank_power=rank_power, both_sides=both_sides
    )
    found = {part.name: part.measured for part in parts}
    return combine(
        parts,
        "the rounds of (11) at eta = 1/(4 sigma_max^2) are about 16 kappa^2 log(1/eps)/E0, so that "
        f"the samples grow like kappa^{found['kappa, from (11)']:.2f} and E0^-3, not kappa^4; the "
        f"fewest that suffice grow like kappa^{found['kappa, measured']:.2f} and "
        f"k^{found['k, measured']:.2f}: no Theta. (A client serves in r T of T rounds, so that r "
        "drops out where (12) has 1/r)",
    )


@claim(
    "fedrep.eq12.corrected",
    place="(12)",
    kind="rate or exponent",
    latex=r"O\Big(\frac{\kappa^6 k^2}{E_0^3}\Big(\frac d{rn} + k\log(rn)\Big)"
    r"\log\frac1\epsilon\Big) \text{ samples per client, in rounds it serves, suffice}",
    plain="By Theorem 1 a client needs at most kappa^6 k^2 (d/(rn) + k log(rn)) log(1/eps)/E0^3.",
    hypotheses=ASSUMPTIONS,
    broken={"kappa_power": 4.0},
    corrects="fedrep.eq12",
)
def eq12_corrected(budget, rng, *, kappa_power=6.0, start_power=3.0) -> Evidence:
    """Compare the same as an upper bound, its exponents being those of (11)."""
    parts = _totals(budget, rng, kappa_power=kappa_power, rank_power=2.0, both_sides=False)
    starts = 1.0 - np.geomspace(1e-1, 1e-4, 5)
    inverse = 1.0 / (1.0 - starts**2)
    samples = total_samples_of_theorem1(1e-6, 1e6, 2.0, 20.0, initial_distance=starts)
    return combine([*parts, _exact(inverse, samples, start_power, "1/E0, from (11)")])


def _plateaus(rng, runs, batches, *, s, d, m, n, k=2):
    """Return the distances that runs with label noise settle at, kappa = 1."""
    found = []
    for _ in range(runs):
        truth = SharedRepresentation.random(
            n=n, d=d, k=k, condition=1.0, noise=s, store=batches == "fixed", rng=rng
        )
        trace = algorithms.fedrep(
            truth, m=m, rounds=60 if batches == "fixed" else 120, batches=batches,
            start=min(0.5, 20.0 * s), rng=rng,
        )  # fmt: skip
        late = trace["distance"][-1:] if batches == "fixed" else trace["distance"][60:]
        found.append(float(np.sqrt(np.mean(late**2))))
    return np.array(found)


def _typical_norm(rows, columns, rng):
    """Return the mean largest singular value of standard normal matrices, about sqrt + sqrt."""
    return float(np.mean(np.linalg.norm(rng.standard_normal((100, rows, columns)), 2, axis=(1, 2))))


@claim(
    "fedrep.noise_floor",
    place="Section 5.1 (noise); no statement, derived here",
    kind="rate or exponent",
    latex=r"\text{fresh batches: } \mathrm{dist} \approx s\,\frac{\|N\|_2}{\sqrt{nm}}"
    r"\sqrt{\frac{\eta}{2 - \eta(1 - k/m)}}; \quad\text{fixed data: } "
    r"\mathrm{dist} \approx s\,\frac{\|N\|_2}{\sqrt{n(m - k)}}, \quad N \in"
    r" \mathbb R^{(d-k)\times k} \text{ normal, } \|N\|_2 \approx \sqrt{d - k} + \sqrt k",
    plain="With label noise s the distance settles at the order of s sqrt(d/(nm)).",
    broken={"noise_power": 2.0},
)
def noise_floor(
    budget, rng, *, noise_power=1.0, dimension_power=0.5, sample_power=-0.5, client_power=-0.5
) -> Evidence:
    """Measure plateaus against noise, d, m (m - k on fixed data) and n.

    kappa = 1 and s small. Each coordinate of B outside span(B*) follows b <- (1 - eta') b + e,
    eta' = eta (1 - k/m), and e of variance eta^2 s^2 (1 - k/m)/(nm): on fresh batches its
    stationary variance is eta s^2/(nm (2 - eta')). On fixed data e is the same every round, and b
    settles at e/eta', of variance s^2/(n (m - k)).
    """
    share = LEVEL / 8.0
    parts, floors = [], []
    for batches in ("gram", "fixed"):
        fixed = batches == "fixed"
        if fixed:
            centre = {"s": 1e-3, "d": 10, "m": 10, "n": 100}
            lines = {
                "s": ((1e-6, 1e-4, 1e-2), noise_power, {}),
                "d": ((10, 40, 160), dimension_power, {"n": 400, "m": 20}),
                "m": ((4, 10, 34), sample_power, {"n": 200}),
                "n": ((50, 200, 800), client_power, {}),
            }
        else:
            centre = {"s": 1e-3, "d": 1000, "m": 10000, "n": 20}
            lines = {
                "s": ((1e-6, 1e-4, 1e-2), noise_power, {}),
                "d": ((100, 1000, 10000), dimension_power, {}),
                "m": ((4, 20, 100), sample_power, {"n": 400, "d": 20}),
                "n": ((10, 40, 160), client_power, {}),
            }
        for name, (values, power, changed) in lines.items():
            samples, x = [], []
            for value in values:
                cell = centre | changed | {name: value}
                d, m, n = cell["d"], cell["m"], cell["n"]
                cost = 60 * n * (m * d if fixed else 20)
                runs = int(np.clip(budget(4e7, 8e8, 8e9) / cost, 4, budget(20, 200, 600)))
                found = _plateaus(rng, runs, batches, **cell)
                samples.append(found)
                spread = _typical_norm(d - 2, 2, rng)
                formula = cell["s"] * spread / math.sqrt(n * (m - 2))
                if not fixed:
                    formula *= math.sqrt((1 - 2 / m) * 0.25 / (2.0 - 0.25 * (1 - 2 / m)))
                floors.append(np.mean(found) / formula)
                x.append({"d": spread**2, "m": m - 2.0 * fixed}.get(name, value))
            label = f"{'fixed data' if fixed else 'fresh batches'}, {name}"
            slope = log_slope(x, samples, statistic=np.mean, level=share, rng=rng)
            table = pd.DataFrame(
                {
                    "panel": "", "series": "", "x": x, "xlabel": name, "ylabel": "plateau",
                    "y": [np.mean(sample) for sample in samples],
                    "predicted": np.mean(samples[-1]) * (np.array(x) / x[-1]) ** power,
                }
            )  # fmt: skip
            parts.append(
                exponent(
                    slope, power, level=share, name=label, points=table, setting=centre,
                    n_trials=sum(map(len, samples)),
                )
            )  # fmt: skip
    return combine(
        parts,
        "exponents of the plateau: "
        + ", ".join(f"{part.name} {part.measured:.3f}" for part in parts)
        + f"; over the formulas {min(floors):.2f} to {max(floors):.2f}",
    )
