"""Lemma A.5 and (16): by when the region is reached."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from linrep.algorithms import flute
from linrep.claims import Cases, Condition, Curve, Fact, Frequency, Identity, statement
from linrep.claims.evidence import FAILS
from linrep.claims.intervals import everywhere
from linrep.claims.quantities import LOWER, VALUE
from linrep.claims.slopes import log_slope
from linrep.papers.flute import _entering
from linrep.papers.flute._common import SCALES, SINGULAR_VALUES, scaled_spectrum, spectra
from linrep.papers.flute._hypotheses import DRAWN, POPULATION
from linrep.papers.flute.counterexamples import tr_and_lemmaa5 as one_step
from linrep.problems import LowRankRegression
from linrep.theory.flute import Spectrum, entry_time, sizes, step_size_limits
from linrep.theory.flute_lift import lift, lower
from linrep.theory.flute_samples import lemma_A5, lemma_A5_proof, lemma_A17

NOISY: dict[str, Any] = {"singular values": [1.0], "n": 60, "d": 60, "k": 1, "noise/sqrt(N)": 0.35}
LONGEST = 10  # times T_R: how long a run is followed at most
_DELAY = "hitting time over the ceiling of T_R"


def _delay(start: _entering.Start, share=1.0, R=0.0):
    """Return the hitting time over the ceiling of a share of T_R, at most `LONGEST`."""
    allowed = math.ceil(share * _entering.expected_time(start))
    return min(_entering.hitting_time(start, LONGEST * allowed, R) / allowed, float(LONGEST))


def _type(delay):
    """Tell a delay from one at which the run was broken off."""
    return LOWER if delay >= LONGEST else VALUE


def _timed(cases, name) -> Cases:
    """Return the comparison of delays with 1."""
    worst = max(delay for delay, *_ in cases)
    return Cases(cases, name=name, quantity=_DELAY, measured_is=_type(worst))


# (16) by itself.


def _with_claim_A3(budget, rng, share, first_power):
    """Time starts in Claim A.3: random ones, and those with k = 1 on its boundary, in units s."""
    starts = _entering.random_starts(
        budget(3, 10),
        rng,
        first_power,
        ranks=budget((1, 2), (1, 2, 3)),
        shapes=budget(("d < n",), ("d < n", "d = n", "d > n")),
    )
    boundary = _entering.boundary_family(
        (0.3, 0.5, 0.7, 0.9),
        SCALES[::3],
        budget((0.9, 1e-2), (0.9, 0.1, 1e-2, 1e-6)),
        first_power=first_power,
    )
    timed = [*starts, *(({"limit of eta": limit}, start) for limit, start in boundary)]
    cases = [
        (_delay(start, share), 1.0, {**setting, **start.plain()})
        for setting, start in timed
        if _entering.expected_time(start) > 0.0  # else it starts with sigma_k^2 = Delta/4
    ]
    return _timed(cases, "starts in Claim A.3")


def _in_the_limit(budget, rng):
    """Compare the growth of the hitting time with that of T_R, as alpha goes to 0."""
    cases = []
    names = budget(("gap", "even", "flat"), tuple(SINGULAR_VALUES))
    for setting, spectrum in spectra(ranks=(2,), shapes=("d < n",), names=names):
        eta = 0.05 / spectrum.first
        for unit in _entering.gaussian_lifts(spectrum, budget(1, 3), rng):
            starts = [
                _entering.Start(spectrum, eta, alpha * unit, 1.0) for alpha in (1e-40, 1e-140)
            ]
            expected = [_entering.expected_time(start) for start in starts]
            found = [
                _entering.hitting_time(start, LONGEST * math.ceil(expected[1])) for start in starts
            ]
            ratio = (found[1] - found[0]) / (expected[1] - expected[0])
            limit = np.log1p(0.5 * eta * (spectrum.last - 0.5 * spectrum.gap))
            limit /= np.log1p(0.5 * eta * spectrum.last)
            cases.append((abs(ratio / limit - 1.0), {**setting, "ratio": ratio, "limit": limit}))
    return Identity(cases, 2e-3, name="hitting time over T_R as alpha -> 0")


def _without_claim_A3(budget, rng):
    """Return how late random starts are, per spectrum and alpha, whatever Claim A.3 says."""
    rows: list[dict[str, Any]] = []
    for _, spectrum in spectra(ranks=(2,), shapes=("d < n",)):
        eta = step_size_limits(spectrum)["lemma_A5"]
        for alpha in (0.01, 0.03, 0.1):
            units = _entering.gaussian_lifts(spectrum, budget(5, 40), rng)
            starts = [_entering.Start(spectrum, eta, alpha * unit, 1.0) for unit in units]
            delays = [_delay(start) for start in starts if _entering.expected_time(start) > 0.0]
            name = ", ".join(f"{value:.2g}" for value in spectrum.singular_values)
            rows.extend({"series": name, "x": alpha, "y": delay} for delay in delays)
    return pd.DataFrame(rows)


@statement(
    "flute.TR",
    place="(16)",
    hypotheses=POPULATION,
    latex=r"\min\{t: \sigma_k^2(\Theta_k^t) \ge \tfrac\Delta4\} \le \lceil T_{\mathcal R}\rceil,"
    r"\quad T_{\mathcal R} = \frac{\log(\Delta/(4\sigma_k^2(\Theta_k^0)))}"
    r"{2\log(1+\frac\eta2(\lambda^*_k-\Delta/2))}",
    plain="From starts of Claim A.3, T_R is an upper bound on the time to the region.",
    negative_control={"share": 0.9},
    expected=FAILS,
)
def TR(budget, rng, *, share=1.0, first_power=0.0):
    """Time population runs from starts of Claim A.3, as alpha -> 0, and without it.

    T_R is a constant only with respect to T and N: it grows without bound as alpha -> 0.
    """
    yield Cases(
        [(*one_step.sides(first_power < 0), one_step.INSTANCE)],
        name="one exact step, k = 1, s = 10^8",
        quantity="Delta/4, and sigma_k^2",
    )
    yield _with_claim_A3(budget, rng, share, first_power)
    yield _in_the_limit(budget, rng)
    late = _without_claim_A3(budget, rng)
    yield Curve(
        late.assign(
            panel="without Claim A.3",
            xlabel=r"$\alpha$",
            ylabel=r"hitting time over $\lceil T_R\rceil$",
        )
    )
    large = late.loc[late["x"] == late["x"].max(), "y"]
    yield Fact("share of starts without Claim A.3 that are late, alpha = 0.1", np.mean(large > 1.0))
    longest = late["y"].max()
    yield Fact("largest hitting time over T_R without Claim A.3", longest, value_is=_type(longest))
    spectrum = next(spectra(ranks=(2,), shapes=("d < n",), names=("gap",)))[1]
    eta = step_size_limits(spectrum)["lemma_A5"]
    leading = sizes(_entering.gaussian_lifts(spectrum, budget(200, 1000), rng)).leading
    for alpha in (1e-2, 1e-32):
        median = float(np.median(entry_time(alpha * leading, spectrum, eta)))
        yield Fact(f"median T_R at alpha = {alpha:g}", median, "steps")


TR.corrected(
    "flute.TR.corrected",
    latex=r"\sigma_1^2(\Theta_{res}^0) \le \tfrac{c_1}{\sqrt{\lambda^*_1}}"
    r"\sigma_k(\Theta_k^0)^{1+\kappa} \;\Rightarrow\; \min\{t: \sigma_k^2(\Theta_k^t) \ge"
    r" \tfrac\Delta4\} \le \lceil T_{\mathcal R}\rceil",
    plain="From starts of Claim A.3 with c_1 over sqrt(lambda*_1), T_R, rounded up, is an upper "
    "bound on the time to the region.",
    constants={"first_power": -0.5},
    negative_control={"share": 0.9},
    stronger={"share": -1, "first_power": 1},
)


# Lemma A.5.


def _boundary_hits(budget, first_power):
    """Time starts with k = 1 on the boundary of Claim A.3."""
    cases, rows, whole = [], [], 0
    shares = budget((0.9, 0.3, 1e-2), (0.9, 0.5, 0.1, 1e-2, 1e-4, 1e-6))
    for name, start in _entering.boundary_family(
        (0.3, 0.5, 0.7, 0.9), budget(SCALES[::3], SCALES), shares, first_power=first_power
    ):
        delay = _delay(start)
        expected = _entering.expected_time(start)
        whole += delay <= 1.0 and delay * math.ceil(expected) > expected
        cases.append((delay, 1.0, {**start.plain(), "limit of eta": name, "T_R": expected}))
        ratio = start.spectrum.singular_values[1] / start.spectrum.singular_values[0]
        rows.append(
            {
                "panel": f"step size of the {name}",
                "series": f"lambda_2/lambda_1 = {ratio:g}",
                "x": start.s,
                "y": delay,
                "xlabel": "s",
                "ylabel": r"hitting time over $\lceil T_R\rceil$",
            }
        )
    yield _timed(cases, "R = 0, k = 1, boundary of Claim A.3, s = 1 ... 1e6")
    points = pd.DataFrame(rows).groupby(
        ["panel", "series", "x", "xlabel", "ylabel"], as_index=False
    )
    yield Curve(points["y"].max())
    late = [where["s"] for delay, _, where in cases if delay > 1.0]
    if late:
        yield Fact("smallest unit s of Phi with a late start", min(late))
    yield Fact("starts that are late by T_R, not by its ceiling", whole)


def _random_hits(budget, rng, first_power):
    """Time random starts at the largest alpha of Claim A.3, in two units."""
    starts = _entering.random_starts(
        budget(4, 10),
        rng,
        first_power,
        (1.0, 1e6),
        ranks=budget((2,), (1, 2, 3)),
        shapes=("d < n",),
        names=("gap", "even", "third 0.3"),
    )
    cases = [
        (_delay(start), 1.0, {**setting, **start.plain()})
        for setting, start in starts
        if _entering.expected_time(start) > 0.0
    ]
    return _timed(cases, "R = 0, random starts")


def _largest_noise_hits(budget):
    """Time the same starts with R as large as the proof lets it be, against Theta_k."""
    cases = []
    for name, start in _entering.boundary_family(
        (0.3, 0.5, 0.7, 0.9),
        [1.0],
        budget((0.9, 1e-2), (0.9, 0.5, 0.1, 1e-2, 1e-4)),
        first_power=-0.5,
    ):
        R = np.zeros_like(start.Theta)
        R[0] = -start.step_size * start.spectrum.gap * start.Theta[0] / 288.0
        cases.append((_delay(start, R=R), 1.0, {**start.plain(), "limit of eta": name}))
    return _timed(cases, "R of size eta Delta sigma_k/288")


def samples_needed(spectrum, leading, rest, failure, proof):
    """Return N of (17), or what the proof uses: that of (47) and with sigma_k(Theta_k)."""
    if not proof:
        return float(lemma_A5(spectrum, rest, failure=failure))
    return float(
        max(
            lemma_A5_proof(spectrum, leading, failure=failure),
            lemma_A17(spectrum, rest, failure=failure),
        )
    )


def same_samples(proof):
    """Compare N for s Phi, s noise and sqrt(s) Theta with that for s = 1."""
    cases = []
    for setting, spectrum in spectra(shapes=("d < n",), noise=0.3):
        usual = samples_needed(spectrum, 1e-3, 1e-2, 0.05, proof)
        for s in SCALES[1:]:
            root = math.sqrt(s)
            found = samples_needed(
                scaled_spectrum(spectrum, s), 1e-3 * root, 1e-2 * root, 0.05, proof
            )
            where = {**setting, "s": float(s), "N for s = 1": usual, "N for s": found}
            cases.append((abs(math.log(found / usual)), where))
    return Identity(
        cases, 1e-9, name="N in every unit of Phi", quantity="shift of the logarithm of N"
    )


def noisy_runs(trials, rng, proof, first_power, arrived) -> Frequency:
    """Count runs with much label noise that have not arrived by T_R, at the N asked for.

    Phi has rank 1 and norm 1. The noise is such that at the N of (17), which does not know it, it
    adds a matrix of norm 5 or so to Phi. At the many samples asked for, 10^9 and more, X_i'X_i/N is
    I up to 10^-4: the runs are the population's of Phi with that matrix. t delta is 1/4.
    """
    clean = Spectrum(np.array(NOISY["singular values"]), NOISY["n"], NOISY["d"], NOISY["k"])
    eta, late = step_size_limits(clean)["lemma_A5"], 0
    Phi = _entering.diagonal_truth(clean).Phi
    for unit in _entering.gaussian_lifts(clean, trials, rng):
        Theta = float(np.exp(_entering.log_scale(unit, clean, eta, first_power))) * unit
        _, leading, rest = sizes(Theta)
        steps = math.ceil(float(entry_time(leading, clean, eta)))
        failure = 0.25 / steps
        noise = NOISY["noise/sqrt(N)"] * math.sqrt(
            samples_needed(clean, leading, rest, failure, False)
        )
        needed = samples_needed(replace(clean, noise=noise), leading, rest, failure, proof)
        added = noise / math.sqrt(needed) * rng.standard_normal(Phi.shape)
        truth = LowRankRegression(Phi + added)
        B, W = lower(_entering.diagonal_truth(clean), Theta)
        trace = flute(
            truth,
            k=1,
            step_size=eta,
            rounds=steps,
            batches="population",
            start=(B, W),
            record=max(1, steps // 16),
            measure=lambda B, W: sizes(lift(_entering.diagonal_truth(clean), B, W))._asdict(),
        )
        late += not bool(np.any(arrived(trace, clean)))
    return Frequency(late, trials, 0.25, name="label noise, at the N asked for", setting=NOISY)


def _final_errors(budget, rng):
    """Return the slope of the final error in alpha, at fixed N."""
    spectrum = Spectrum(np.array([1.0, 0.9, 0.3, 0.1]), 6, 4, 2, 0.3)
    truth, alphas = _entering.diagonal_truth(spectrum), (1e-1, 1e-3, 1e-6, 1e-9, 1e-12)
    errors = [
        [
            float(
                flute(
                    truth,
                    k=2,
                    m=400,
                    step_size=0.05,
                    rounds=4000,
                    scale=alpha,
                    record=4000,
                    rng=seed,
                )["error"][-1]
            )
            for seed in range(budget(2, 6))
        ]
        for alpha in alphas
    ]
    return log_slope(alphas, errors)


def _certain_miss(first_power):
    """Follow a start of Claim A.3 until after T_R, by interval arithmetic, and see if it is late.

    n = d = 2, k = 1, Phi = s diag(1, 1/2), s = 10^6, eta = 1/(6 lambda*_1), R = 0. In units of s:
    lambda* = 2, 1, Delta = 1, eta = 1/12, Theta = (1/20, 7/10, 0, 0).
    """
    from flint import arb

    s, eta = arb(10) ** 6, arb(1) / 12
    a, b = arb(1) / 20, arb(7) / 10
    growth = 1 + eta / 2 * arb(3) / 2
    kappa = (1 + eta / 2 * arb(5) / 4).log() / growth.log()
    # c_1 sigma_k^(1 + kappa) over s is sqrt(s) a^(1 + kappa)/2^(3 - kappa), Delta being s.
    allowed = s.sqrt() * a ** (1 + kappa) / arb(2) ** (3 - kappa) * (2 * s) ** arb(first_power)
    within = a**2 + b**2 <= 2 and b**2 <= arb(3) / 2 and a**2 <= arb(1) / 4 and b**2 <= allowed
    last = ((1 / (4 * a**2)).log() / (2 * growth.log())).upper()
    t, largest, late = 0, a**2, True
    while t <= float(last) + 1:
        late = late and bool(a**2 < arb(1) / 4)
        largest = a**2 if a**2 > largest else largest
        length = a**2 + b**2
        a, b, t = a + eta / 2 * a * (2 - length), b + eta / 2 * b * (1 - length), t + 1
    if not (within and late):
        return Condition(True, name="R = 0, a start in intervals")
    return everywhere(
        lambda: arb(1) / 4,
        lambda: largest,
        {},
        name="R = 0, a start in intervals",
        quantity="1/4 less the largest sigma_k^2(Theta_k)/s by T_R",
        setting={"singular values": [1e6, 5e5], "k": 1, "Theta/sqrt(s)": [0.05, 0.7, 0.0, 0.0]},
    )


@statement(
    "flute.lemmaA5",
    place="Lemma A.5, (17)",
    hypotheses=DRAWN,
    latex=r"\eta \le \tfrac1{6\lambda^*_1},\; \text{Claim A.3},\; \sqrt N \ge \max\Big\{"
    r"\tfrac{\ell}{\sqrt{c_1}}, \tfrac{3456\,\ell}{\sigma_1(\Theta_{res}^0)\Delta\sqrt{c_1}}\Big\}"
    r" \;\Rightarrow\; \Pr\big[\exists t \in [0, T_{\mathcal R}]: \sigma_k(\Theta_k^t) \ge"
    r" \tfrac{\sqrt\Delta}2\big] \ge 1-ct\delta",
    plain="From starts of Claim A.3 and with N as (17), sigma_k(Theta_k) is large enough by T_R.",
    negative_control={"first_power": 0.5},
)
def lemmaA5(budget, rng, *, first_power=0.0, proof=False):
    """Time runs from starts at the boundary of Claim A.3, and with noise, at the N asked for."""
    yield Cases(
        [(*one_step.sides(first_power < 0), one_step.INSTANCE)],
        name="one exact step, k = 1, s = 10^8",
        quantity="Delta/4, and sigma_k^2",
    )
    yield from _boundary_hits(budget, first_power)
    yield _random_hits(budget, rng, first_power)
    yield same_samples(proof)
    yield noisy_runs(
        budget(45, 100),
        rng,
        proof,
        first_power,
        lambda trace, spectrum: trace["leading"] ** 2 >= 0.25 * spectrum.gap,
    )
    if proof:
        yield _largest_noise_hits(budget)
    else:
        yield _certain_miss(first_power)
        slope = _final_errors(budget, rng)
        yield Fact("exponent of the final error in alpha, at fixed N", slope.value)


lemmaA5.corrected(
    "flute.lemmaA5.corrected",
    latex=r"\eta \le \tfrac1{6\lambda^*_1},\; \text{Claim A.3 with } c_1/\sqrt{\lambda^*_1},\;"
    r" \sqrt N \ge \tfrac{\ell}{\sqrt{c_1}}\max\Big\{1, \tfrac{3456\sqrt{\lambda^*_1}S}"
    r"{\sigma_k(\Theta_k^0)\Delta}, \tfrac{96\sqrt{\lambda^*_1}S}{\sigma_1(\Theta_{res}^0)\Delta}"
    r"\Big\} \;\Rightarrow\; \exists t \le \lceil T_{\mathcal R}\rceil: \sigma_k(\Theta_k^t) \ge"
    r" \tfrac{\sqrt\Delta}2",
    plain="sigma_k(Theta_k) is large enough by T_R, rounded up, with c_1/sqrt(lambda*_1) in Claim "
    "A.3 and N in proportion to lambda*_1 S^2/sigma_k^2.",
    constants={"first_power": -0.5, "proof": True},
    stronger={"first_power": 1},
    negative_control={"proof": False},
)
