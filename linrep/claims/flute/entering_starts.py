"""Lemma A.4: which random starts satisfy Claim A.3."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd

from linrep.claims import (
    FAILS,
    LEVEL,
    Evidence,
    claim,
    combine,
    exponent,
    frequency,
    identity,
    log_slope,
)
from linrep.claims.fedrep._common import together
from linrep.claims.flute._common import spectra
from linrep.claims.flute._entering import gaussian_lifts, log_scale, satisfied, two_sizes
from linrep.theory import flute as theory
from linrep.theory.flute import Spectrum, step_size_limits
from linrep.theory.flute_lift import iterate, product_error

FIGURE_STEP = 0.03  # Appendix C.1


def _figure_spectra():
    """Yield those of Figure 3: lambda_i = 2d/(i + 1), d = 10."""
    for n in (15, 30):
        for k in (2, 4, 6, 8):
            values = 20.0 / np.arange(2.0, 12.0)
            yield {"n": n, "d": 10, "k": k}, Spectrum(values, n, 10, k, math.sqrt(0.3))


def _settings(budget):
    """Yield (setting, spectrum) of all kinds."""
    names = budget(("gap", "flat", "decay"), ("even", "gap", "flat", "third 2.8", "decay"))
    yield from spectra(ranks=budget((2,), (1, 2, 3)), shapes=("d < n", "d = n"), names=names)
    yield from _figure_spectra()


def explicit_scale(spectrum: Spectrum, step_size: float, failure: float, joint=True) -> float:
    """Return log alpha of a start that satisfies Claim A.3 with probability 1 - failure.

    For alpha = 1, sigma_1(Theta) <= sqrt(n + d) + sqrt(k) + sqrt(2 log(4/failure)) by Lemma A.19 as
    its singular values are those of [B; W], and sigma_k(Theta_k) >= failure/(2 sqrt(k)) as Theta_k
    is a normal k by k matrix (Edelman), each up to half the failure. Not joint: 2 sqrt(max(n, d))
    in place of the first two terms, as printed.
    """
    whole = _width(spectrum, joint) + math.sqrt(2.0 * math.log(4.0 / failure))
    worst = two_sizes(0.5 * failure / math.sqrt(spectrum.k), whole, spectrum)
    early = 0.5 * math.log(0.25 * spectrum.gap) - math.log(whole)
    return min(float(log_scale(worst, spectrum, step_size)), early)


def _width(spectrum, joint):
    if joint:
        return math.sqrt(spectrum.n + spectrum.d) + math.sqrt(spectrum.k)
    return 2.0 * math.sqrt(spectrum.size)


def _at(log_alpha, spectrum, eta, draws, failure, *, level, name, setting, excess=0.0):
    """Decide P(Claim A.3) >= 1 - failure at an alpha, by draws with alpha = 1."""
    bad = int(np.sum(~satisfied(draws, spectrum, eta, log_alpha, excess)))
    told = {**setting, "step_size": eta, "log10 alpha": log_alpha / math.log(10.0)}
    return frequency(bad, len(draws), failure, level=level, name=name, setting=told)


def _shares(name, spectrum, eta, draws):
    """Return what the picture of P(Claim A.3) against alpha is drawn from."""
    powers = np.arange(4, 33, 4)
    return pd.DataFrame({
        "panel": "", "series": name, "x": 10.0 ** -powers.astype(float),
        "y": [float(np.mean(satisfied(draws, spectrum, eta, -p * math.log(10.0)))) for p in powers],
        "xlabel": r"$\alpha$", "ylabel": "share of draws in Claim A.3",
    })  # fmt: skip


@claim(
    "flute.lemmaA4",
    place="Lemma A.4",
    kind="probability bound",
    latex=r"B^0, W^0 \sim \mathcal N(0, \alpha^2),\; \alpha \text{ sufficiently small}"
    r" \;\Rightarrow\; \Pr[\text{Claim A.3}] \ge 1-\delta",
    plain="A small enough random start satisfies Claim A.3 with probability 1 - delta.",
    broken={"excess": 1.0},
)
def lemmaA4(budget, rng, *, excess=0.0) -> Evidence:
    """Count draws outside Claim A.3 at an explicit alpha, however small that has to be."""
    settings = list(_settings(budget))
    failures = (0.5, 0.2)
    level = LEVEL / (len(settings) * len(failures))
    parts, tables, powers = [], [], []
    for setting, spectrum in settings:
        eta = step_size_limits(spectrum)["lemma_A5"]
        draws = gaussian_lifts(spectrum, budget(400, 1000), rng)
        first, *_, last = (f"{value:.2g}" for value in spectrum.singular_values)
        told = f"lambda {first} ... {last}, n = {spectrum.n}, d = {spectrum.d}, k = {spectrum.k}"
        for failure in failures:
            log_alpha = explicit_scale(spectrum, eta, failure)
            parts.append(_at(
                log_alpha, spectrum, eta, draws, failure, level=level, setting=setting,
                name=told, excess=excess,
            ))  # fmt: skip
        kappa = theory.exponent(spectrum, eta)
        tables.append(_shares(f"{told}, kappa = {kappa:.3f}", spectrum, eta, draws))
        powers.append(float(np.median(log_scale(draws, spectrum, eta))) / math.log(10.0))
    groups = []
    for failure in failures:
        group = [part for part in parts if part.predicted == failure]
        group.sort(key=lambda part: part.measured, reverse=True)
        groups.append(together(group, f"delta = {failure:g}, all spectra"))
    found = combine(groups)
    return replace(
        found,
        sentence=f"{found.sentence}; the largest alpha of the median draw is from "
        f"10^{max(powers):.1f} to 10^{min(powers):.0f}",
        points=pd.concat(tables, ignore_index=True),
    )


def _exponents_in_alpha(budget, rng, alpha_power, level):
    """Fit sigma_1(Theta^0) and sigma_k(Theta_k^0) against alpha, independent draws at each."""
    spectrum = next(spectra(ranks=(2,), names=("gap",)))[1]
    alphas = np.geomspace(1e-8, 1e-1, 8)
    found = [
        theory.sizes(alpha * gaussian_lifts(spectrum, budget(60, 200), rng)) for alpha in alphas
    ]
    for name in ("whole", "leading"):
        samples = [getattr(size, name) for size in found]
        yield exponent(
            log_slope(alphas, samples, level=level, rng=rng), alpha_power, level=level,
            n_trials=sum(map(len, samples)),
            name={"whole": "sigma_1(Theta) in alpha", "leading": "sigma_k(Theta_k) in alpha"}[name],
            points=pd.DataFrame({
                "panel": "", "series": name, "x": alphas, "y": [np.median(s) for s in samples],
                "xlabel": r"$\alpha$", "ylabel": "median",
            }),
        )  # fmt: skip


def _exponent_in_k(budget, rng, k_power, level):
    """Fit the median of sigma_k(Theta_k^0) against k = n = d."""
    ranks = budget((2, 4, 8, 16, 32), (2, 4, 8, 16, 32, 64))
    samples = []
    for k in ranks:
        draws = gaussian_lifts(Spectrum(np.ones(k), k, k, k), budget(800, 2000), rng)[:, :k]
        samples.append(np.linalg.svd(draws, compute_uv=False)[:, -1])
    slope = log_slope(ranks, samples, level=level, rng=rng)
    medians = [float(np.median(sample)) for sample in samples]
    return exponent(
        slope, k_power, margin=0.25, level=level, n_trials=sum(map(len, samples)),
        name="sigma_k(Theta_k) in k",
        points=pd.DataFrame({
            "panel": "", "series": "", "x": ranks, "y": medians, "xlabel": "k", "ylabel": "median",
        }),
    )  # fmt: skip


def _width_holds(budget, rng, joint, level):
    """Count sigma_1(Theta^0) above the bound with n = d = k = 100, probability 0.3."""
    spectrum, failure = Spectrum(np.ones(100), 100, 100, 100), 0.3
    bound = _width(spectrum, joint) + math.sqrt(2.0 * math.log(2.0 / failure))
    draws = gaussian_lifts(spectrum, budget(45, 150), rng)
    above = int(np.sum(np.linalg.norm(draws, 2, axis=(1, 2)) > bound))
    return frequency(
        above, len(draws), failure, level=level, name="sigma_1(Theta) at n = d = k",
        setting={"n": 100, "d": 100, "k": 100, "alpha": 1.0, "bound": bound},
    )  # fmt: skip


def _displays(budget, rng, alpha_power, k_power, joint):
    setting, spectrum = next(spectra(ranks=(2,), shapes=("d < n",), names=("gap",)))
    eta, failure = step_size_limits(spectrum)["lemma_A5"], 0.2
    log_alpha = explicit_scale(spectrum, eta, failure, joint) / alpha_power
    level = LEVEL / 5
    return combine(
        [
            *_exponents_in_alpha(budget, rng, alpha_power, level),
            _exponent_in_k(budget, rng, k_power, level),
            _width_holds(budget, rng, joint, level),
            _at(
                log_alpha, spectrum, eta, gaussian_lifts(spectrum, budget(150, 1000), rng),
                failure, level=level, name="Claim A.3 at the alpha of the displays",
                setting=setting,
            ),
        ]
    )  # fmt: skip


@claim(
    "flute.lemmaA4.proof",
    place="Lemma A.4, proof",
    kind="probability bound",
    latex=r"\sigma_k(\Theta_k^0) \ge \alpha^2K\sqrt k,\quad \sigma_1(\Theta_{res}^0) \le"
    r" \alpha^2\big(2\sqrt{\bar d}+\sqrt{2\log(2/\delta')}\big),\quad \alpha^{4-2(1+\kappa)} \le"
    r" \tfrac{c_1(K\sqrt k)^{1+\kappa}}{8\bar d+4\log(2/\delta')}",
    plain="The start's singular values are of order alpha^2, sigma_k(Theta_k) grows like sqrt(k).",
    broken={"alpha_power": 0.5},
)
def lemmaA4_proof(budget, rng, *, alpha_power=2.0, k_power=0.5, joint=False) -> Evidence:
    """Fit exponents in alpha and k, and try the alpha that the displays allow."""
    found = _displays(budget, rng, alpha_power, k_power, joint)
    if found.verdict != FAILS:
        return found
    return combine(
        found.parts,
        "; ".join(f"{part.name}: {part.sentence}" for part in found.parts)
        + ". (lambda*_1 in the second term of the minimum, where the claim has lambda*_k, does no "
        "harm: the first term makes sigma_1^2(Theta) at most Delta/4, which is less)",
    )


@claim(
    "flute.lemmaA4.proof.corrected",
    place="Lemma A.4, proof",
    kind="probability bound",
    latex=r"\sigma_k(\Theta_k^0) \ge \tfrac{\alpha\delta'}{\sqrt k},\quad \sigma_1(\Theta_{res}^0)"
    r" \le \alpha w,\; w = \sqrt{n+d}+\sqrt k+\sqrt{2\log(2/\delta')},\quad \alpha^{1-\kappa} \le"
    r" \tfrac{c_1(\delta'/\sqrt k)^{1+\kappa}}{w^2}",
    plain="They are of order alpha, the least one like 1/sqrt(k), the largest one as of [B; W].",
    broken={"alpha_power": 2.0},
    corrects="flute.lemmaA4.proof",
)
def lemmaA4_proof_corrected(budget, rng, *, alpha_power=1.0, k_power=-0.5, joint=True) -> Evidence:
    """Fit the same exponents, and try the alpha that these displays allow."""
    return _displays(budget, rng, alpha_power, k_power, joint)


# Is 1/(10 d), as in Theorem 5.1, small enough?


def _runs_from(scale, k_draws, spectrum, rng):
    """Return how many population runs from alpha = scale/d with Figure 3's eta find Phi_k."""
    draws = gaussian_lifts(spectrum, k_draws, rng)
    orbit = iterate(scale / spectrum.d * draws, spectrum.eigenvalues, FIGURE_STEP, [60000])
    error = product_error(orbit.Theta[:, -1], spectrum) / spectrum.first
    return int(np.sum(error < 1e-3)), k_draws


@claim(
    "flute.lemmaA4.scale",
    place="Theorem 5.1, Lemma A.4",
    kind="probability bound",
    latex=r"0 < \alpha \le \tfrac1{10d} \;\Rightarrow\; \Pr[\text{Claim A.3}] \ge 1-\delta",
    plain="The start of Theorem 5.1, alpha <= 1/(10 d), is small enough for Claim A.3.",
    broken={"scale": 1.0},
)
def lemmaA4_scale(budget, rng, *, scale=0.1) -> Evidence:
    """Count draws outside Claim A.3 at alpha = 1/(10 d), in the settings of Figure 3."""
    settings = list(_figure_spectra())
    parts, reached = [], np.zeros(2, int)
    for setting, spectrum in settings:
        draws = gaussian_lifts(spectrum, budget(60, 300), rng)
        steps = {"Figure 3": FIGURE_STEP, "Theorem 5.1": step_size_limits(spectrum)["theorem_5_1"]}
        for name, eta in steps.items():
            part = _at(
                math.log(scale / spectrum.d), spectrum, eta, draws, 0.5, setting=setting,
                level=LEVEL / (2 * len(settings)),
                name=f"n = {spectrum.n}, k = {spectrum.k}, step size of {name}",
            )  # fmt: skip
            largest = np.median(log_scale(draws, spectrum, eta)) / math.log(10.0)
            parts.append(
                replace(part, sentence=f"{part.sentence}; needed alpha 10^{largest:.0f} (median)")
            )
        reached += _runs_from(scale, budget(2, 10), spectrum, rng)
    return combine(
        parts,
        "; ".join(f"{part.name}: {part.sentence}" for part in parts[:: len(parts) - 1])
        + f". All the same, {reached[0]} of {reached[1]} runs from there find Phi_k",
    )


@claim(
    "flute.lemmaA4.scale.corrected",
    place="Theorem 5.1, Lemma A.4",
    kind="identity",
    latex=r"\log\alpha_{\max} = \min\Big\{\cdots,\; \frac{\log c_1+(1+\kappa)\log\sigma_k("
    r"\Theta_k^1)-2\log\sigma_1(\Theta_{res}^1)}{1-\kappa}\Big\},\quad \Theta^0 = \alpha\Theta^1",
    plain="A draw satisfies Claim A.3 exactly up to an alpha that is known in closed form.",
    broken={"share": 0.5},
    corrects="flute.lemmaA4.scale",
)
def lemmaA4_scale_corrected(budget, rng, *, share=1.0) -> Evidence:
    """Compare the closed form with where Claim A.3 stops to hold, by bisection in log alpha."""
    cases = []
    for setting, spectrum in _settings(budget):
        eta = step_size_limits(spectrum)["lemma_A5"]
        draws = gaussian_lifts(spectrum, budget(4, 20), rng)
        for unit, log_alpha in zip(draws, log_scale(draws, spectrum, eta), strict=True):
            if log_alpha > -300.0:  # else alpha^2 is less than numbers can be
                found = _last_satisfied(unit, spectrum, eta)
                off = abs(found - share * log_alpha) / max(1.0, abs(log_alpha))
                told = {**setting, "log alpha": float(log_alpha), "by bisection": found}
                cases.append((float(off), told))
    return identity(cases, 1e-9)


def _last_satisfied(unit, spectrum, eta):
    """Return the log of the largest alpha for which alpha times the unit start is in Claim A.3."""
    low, high = -345.0, 10.0
    while high - low > 1e-10 * max(1.0, abs(low)):
        middle = 0.5 * (low + high)
        inside = bool(theory.claim_A3(math.exp(middle) * unit, spectrum, eta).holds)
        low, high = (middle, high) if inside else (low, middle)
    return low
