"""Lemma A.4: which random starts satisfy Claim A.3."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd

from linrep.claims import (
    LEVEL,
    Evidence,
    claim,
    combine,
    frequency,
)
from linrep.claims._parts import together
from linrep.claims.flute._common import spectra
from linrep.claims.flute._entering import (
    balance,
    gaussian_lifts,
    log_scale,
    satisfied,
    two_sizes,
)
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


def explicit_scale(spectrum: Spectrum, step_size: float, failure: float) -> float:
    """Return log alpha of a start that satisfies Claim A.3 with probability 1 - failure.

    For alpha = 1, sigma_1(Theta) <= sqrt(n + d) + sqrt(k) + sqrt(2 log(4/failure)) by Lemma A.19 as
    its singular values are those of [B; W], and sigma_k(Theta_k) >= failure/(2 sqrt(k)) as Theta_k
    is a normal k by k matrix (Edelman), each up to half the failure.
    """
    whole = math.sqrt(spectrum.n + spectrum.d) + math.sqrt(spectrum.k)
    whole += math.sqrt(2.0 * math.log(4.0 / failure))
    worst = two_sizes(0.5 * failure / math.sqrt(spectrum.k), whole, spectrum)
    early = 0.5 * math.log(0.25 * spectrum.gap) - math.log(whole)
    return min(float(log_scale(worst, spectrum, step_size)), early)


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


_SMALL = (1e-2, 1e-4, 1e-8)  # alpha


def _least(budget, rng, alpha_power, k_power, level):
    """Count sigma_k(Theta_k^0) below alpha^p delta' k^q at d = k, alpha = 1/(10 d) and less.

    Theta_k^0 is alpha times a normal k by k matrix.
    """
    ranks, failure, parts = budget((2, 8), (2, 8, 32)), 0.5, []
    count = budget(8000, 16000)
    for k in ranks:
        draws = rng.standard_normal((count, k, k))
        least = np.linalg.svd(draws, compute_uv=False)[:, -1]
        for alpha in (0.1 / k, *_SMALL):
            bound = alpha**alpha_power * failure * k**k_power
            parts.append(frequency(
                int(np.sum(alpha * least < bound)), len(draws), failure,
                level=level / (len(ranks) * (1 + len(_SMALL))), name=f"k = {k}, alpha {alpha:g}",
                setting={"k": k, "alpha": alpha, "bound": bound},
            ))  # fmt: skip
    return together(parts, "sigma_k(Theta_k)")


def _rest(budget, rng, alpha_power, level):
    """Count sigma_1(Theta_res^0) above alpha^p (2 sqrt(d) + sqrt(2 log(2/delta')))."""
    shapes, failure, parts = ((12, 8, 2), (8, 12, 2), (20, 20, 20)), 0.3, []
    for n, d, k in shapes:
        spectrum = Spectrum(np.ones(min(n, d)), n, d, k)
        rest = theory.sizes(gaussian_lifts(spectrum, budget(60, 400), rng)).rest
        for alpha in (0.1 / spectrum.size, *_SMALL):
            bound = alpha**alpha_power * _width(spectrum, failure)
            parts.append(frequency(
                int(np.sum(alpha * rest > bound)), len(rest), failure,
                level=level / (len(shapes) * (1 + len(_SMALL))),
                name=f"n = {n}, d = {d}, k = {k}, alpha {alpha:g}",
                setting={"n": n, "d": d, "k": k, "alpha": alpha, "bound": bound},
            ))  # fmt: skip
    return together(parts, "sigma_1(Theta_res)")


def _width(spectrum, failure):
    return 2.0 * math.sqrt(spectrum.size) + math.sqrt(2.0 * math.log(2.0 / failure))


def _allowed_scale(spectrum, eta, failure, alpha_power, k_power):
    """Return the largest log alpha that the displays allow, K being delta'."""
    width = math.sqrt(8.0 * spectrum.size + 4.0 * math.log(2.0 / failure))
    worst = two_sizes(failure * spectrum.k**k_power, width, spectrum)
    power = alpha_power * (1.0 - theory.exponent(spectrum, eta))
    early = math.log(0.5 * math.sqrt(spectrum.gap) / _width(spectrum, failure))
    return min(float(balance(worst, spectrum, eta, 0.0)) / power, early)


def _displays(budget, rng, alpha_power, k_power):
    """Check both bounds as alpha shrinks, and Claim A.3 at the largest alpha that they allow."""
    names, failure, parts = budget(("gap",), ("even", "gap", "flat", "decay")), 0.2, []
    cases = list(spectra(ranks=(2,), shapes=("d < n",), names=names))
    for setting, spectrum in cases:
        eta = step_size_limits(spectrum)["lemma_A5"]
        # Four events are left out of the claim, each of probability delta'.
        log_alpha = _allowed_scale(spectrum, eta, 0.25 * failure, alpha_power, k_power)
        parts.append(_at(
            log_alpha, spectrum, eta, gaussian_lifts(spectrum, budget(150, 1000), rng), failure,
            level=LEVEL / (3 * len(cases)), setting=setting,
            name=", ".join(f"{value:.2g}" for value in spectrum.singular_values),
        ))  # fmt: skip
    groups = [
        _least(budget, rng, alpha_power, k_power, LEVEL / 3),
        _rest(budget, rng, alpha_power, LEVEL / 3),
        together(parts, "Claim A.3 at the alpha of the displays"),
    ]
    return combine(groups, "; ".join(f"{group.name}: {group.sentence}" for group in groups))


_ALPHA = {"alpha_power": 1.0, "k_power": -0.5}


@claim(
    "flute.lemmaA4.proof",
    place="Lemma A.4, proof",
    kind="probability bound",
    latex=r"\sigma_k(\Theta_k^0) \ge \alpha^2K\sqrt k,\quad \sigma_1(\Theta_{res}^0) \le"
    r" \alpha^2\big(2\sqrt{\bar d}+\sqrt{2\log(2/\delta')}\big),\quad \alpha^{4-2(1+\kappa)} \le"
    r" \tfrac{c_1(K\sqrt k)^{1+\kappa}}{8\bar d+4\log(2/\delta')}",
    plain="The start's rest is of order alpha^2 at most, and the alpha displayed is small enough.",
    broken={"alpha_power": 1.5},
    mended=_ALPHA,
)
def lemmaA4_proof(budget, rng, *, alpha_power=2.0, k_power=0.5) -> Evidence:
    """Count violations of each display, K being delta', as alpha shrinks."""
    found = _displays(budget, rng, alpha_power, k_power)
    return replace(
        found,
        sentence=f"{found.sentence}. (The bound on sigma_k is one from below, true for alpha <= "
        "1/(10 d) and loose, sigma_k being of order alpha/sqrt(k). lambda*_1 in the second term of "
        "the minimum, where the claim has lambda*_k, does no harm: the first term makes "
        "alpha^2 (2 sqrt(d) + ...)^2 at most Delta/4, which is less)",
    )


@claim(
    "flute.lemmaA4.proof.corrected",
    place="Lemma A.4, proof",
    kind="probability bound",
    latex=r"\sigma_k(\Theta_k^0) \ge \tfrac{\alpha\delta'}{\sqrt k},\quad \sigma_1(\Theta_{res}^0)"
    r" \le \alpha\big(2\sqrt{\bar d}+\sqrt{2\log(2/\delta')}\big),\quad \alpha^{1-\kappa} \le"
    r" \tfrac{c_1(\delta'/\sqrt k)^{1+\kappa}}{8\bar d+4\log(2/\delta')}",
    plain="Both are of order alpha, the least one like 1/sqrt(k).",
    broken={"k_power": 0.5},
    corrects="flute.lemmaA4.proof",
)
def lemmaA4_proof_corrected(budget, rng, *, alpha_power=1.0, k_power=-0.5) -> Evidence:
    """Count violations of the same displays with alpha in place of alpha^2."""
    return _displays(budget, rng, alpha_power, k_power)


# Is 1/(10 d), as in Theorem 5.1, small enough?


def _runs_from(scale, k_draws, spectrum, rng):
    """Return how many population runs from alpha = scale/d with Figure 3's eta find Phi_k."""
    draws = gaussian_lifts(spectrum, k_draws, rng)
    orbit = iterate(scale / spectrum.d * draws, spectrum.eigenvalues, FIGURE_STEP, [60000])
    error = product_error(orbit.Theta[:, -1], spectrum) / spectrum.first
    return int(np.sum(error < 1e-3)), k_draws


def _scales(budget, rng, share):
    """Count draws outside Claim A.3 at alpha = min(1/(10 d), alpha_0^share).

    alpha_0 is the explicit alpha that Lemma A.4 is checked at, for delta = 1/2.
    """
    settings, failure = list(_figure_spectra()), 0.5
    parts, reached = [], np.zeros(2, int)
    for setting, spectrum in settings:
        draws = gaussian_lifts(spectrum, budget(200, 300), rng)
        steps = {"Figure 3": FIGURE_STEP, "Theorem 5.1": step_size_limits(spectrum)["theorem_5_1"]}
        for name, eta in steps.items():
            small = share * explicit_scale(spectrum, eta, failure)
            part = _at(
                min(math.log(0.1 / spectrum.d), small), spectrum, eta, draws, failure,
                setting=setting, level=LEVEL / (2 * len(settings)),
                name=f"n = {spectrum.n}, k = {spectrum.k}, step size of {name}",
            )  # fmt: skip
            largest = np.median(log_scale(draws, spectrum, eta)) / math.log(10.0)
            parts.append(
                replace(part, sentence=f"{part.sentence}; needed alpha 10^{largest:.0f} (median)")
            )
        reached += _runs_from(0.1, budget(2, 10), spectrum, rng)
    return combine(
        parts,
        "; ".join(f"{part.name}: {part.sentence}" for part in parts[:: len(parts) - 1])
        + f". All the same, {reached[0]} of {reached[1]} runs from alpha = 1/(10 d) find Phi_k",
    )


@claim(
    "flute.lemmaA4.scale",
    place="Theorem 5.1, Lemma A.4",
    kind="probability bound",
    latex=r"0 < \alpha \le \tfrac1{10d} \;\Rightarrow\; \Pr[\text{Claim A.3}] \ge 1-\delta",
    plain="The start of Theorem 5.1, alpha <= 1/(10 d), is small enough for Claim A.3.",
    broken={"share": 0.5},
    mended={"share": 1.0},
)
def lemmaA4_scale(budget, rng, *, share=0.0) -> Evidence:
    """Count draws outside Claim A.3 at alpha = 1/(10 d), in the settings of Figure 3."""
    return _scales(budget, rng, share)


@claim(
    "flute.lemmaA4.scale.corrected",
    place="Theorem 5.1, Lemma A.4",
    kind="probability bound",
    latex=r"\alpha \le \min\Big\{\tfrac1{10d},\;"
    r" \Big(\tfrac{c_1(\delta/(2\sqrt k))^{1+\kappa}}{w^2}"
    r"\Big)^{\frac1{1-\kappa}},\; \tfrac{\sqrt\Delta}{2w}\Big\},\; w = \sqrt{n+d}+\sqrt k+"
    r"\sqrt{2\log(4/\delta)} \;\Rightarrow\; \Pr[\text{Claim A.3}] \ge 1-\delta",
    plain="An alpha that is known from the spectrum, eta and delta is small enough for Claim A.3.",
    broken={"share": 0.5},
    corrects="flute.lemmaA4.scale",
)
def lemmaA4_scale_corrected(budget, rng, *, share=1.0) -> Evidence:
    """Count draws outside Claim A.3 at that alpha; share is the power that it is taken to."""
    return _scales(budget, rng, share)
