"""Lemma A.4: which random starts satisfy Claim A.3."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pandas as pd

from linrep.claims import Cases, Curve, Fact, Frequency, Together, statement
from linrep.claims.evidence import FAILS
from linrep.claims.quantities import UPPER
from linrep.papers.flute import _entering
from linrep.papers.flute._common import spectra
from linrep.papers.flute._hypotheses import GAP
from linrep.papers.flute.counterexamples import lemmaa4_proof, lemmaa4_range, lemmaa4_scale
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
    worst = _entering.two_sizes(0.5 * failure / math.sqrt(spectrum.k), whole, spectrum)
    early = 0.5 * math.log(0.25 * spectrum.gap) - math.log(whole)
    return min(float(_entering.log_scale(worst, spectrum, step_size)), early)


def _at(log_alpha, spectrum, eta, draws, failure, *, excess=0.0, setting, **options):
    """Count draws, with alpha = 1, that are outside Claim A.3 at an alpha."""
    bad = int(np.sum(~_entering.satisfied(draws, spectrum, eta, log_alpha, excess)))
    where = {**setting, "step_size": eta, "log10 alpha": log_alpha / math.log(10.0)}
    return Frequency(bad, len(draws), failure, setting=where, **options)


def _powers(logs):
    """Return the range of some numbers, as powers of 10."""
    logs = np.array(logs) / math.log(10.0)
    return f"10^{logs.min():.0f} to 10^{logs.max():.0f}"


def _shares(name, spectrum, eta, draws):
    """Return what the picture of P(Claim A.3) against alpha is drawn from."""
    powers = np.arange(4, 33, 4)
    inside = [_entering.satisfied(draws, spectrum, eta, -p * math.log(10.0)) for p in powers]
    return pd.DataFrame(
        {
            "panel": "",
            "series": name,
            "x": 10.0 ** -powers.astype(float),
            "y": [float(np.mean(each)) for each in inside],
            "xlabel": r"$\alpha$",
            "ylabel": "share of draws in Claim A.3",
        }
    )


@statement(
    "flute.lemmaA4",
    place="Lemma A.4",
    hypotheses=(GAP,),
    latex=r"B^0, W^0 \sim \mathcal N(0, \alpha^2),\; \alpha \text{ sufficiently small}"
    r" \;\Rightarrow\; \Pr[\text{Claim A.3}] \ge 1-\delta",
    plain="A small enough random start satisfies Claim A.3 with probability 1 - delta.",
    negative_control={"excess": 1.0},
)
def lemmaA4(budget, rng, *, excess=0.0):
    """Count draws outside Claim A.3 at an explicit alpha, however small that has to be."""
    groups: dict[float, list] = {0.5: [], 0.2: []}
    tables, largest = [], []
    for setting, spectrum in _settings(budget):
        eta = step_size_limits(spectrum)["lemma_A5"]
        draws = _entering.gaussian_lifts(spectrum, budget(400, 1000), rng)
        first, *_, last = (f"{value:.2g}" for value in spectrum.singular_values)
        name = f"lambda {first} ... {last}, n = {spectrum.n}, d = {spectrum.d}, k = {spectrum.k}"
        for failure, group in groups.items():
            log_alpha = explicit_scale(spectrum, eta, failure)
            group.append(
                _at(
                    log_alpha,
                    spectrum,
                    eta,
                    draws,
                    failure,
                    setting=setting,
                    name=name,
                    excess=excess,
                )
            )
        kappa = theory.exponent(spectrum, eta)
        tables.append(_shares(f"{name}, kappa = {kappa:.3f}", spectrum, eta, draws))
        largest.append(float(np.median(_entering.log_scale(draws, spectrum, eta))))
    for failure, group in groups.items():
        group.sort(key=lambda part: part.violations, reverse=True)
        yield Together(group, name=f"delta = {failure:g}, all spectra")
    yield Curve(pd.concat(tables, ignore_index=True))
    yield Fact("largest alpha of the median draw, over the spectra", _powers(largest))


_SMALL = (1e-2, 1e-4, 1e-8)  # alpha


def _least(budget, rng, alpha_power, k_power):
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
            parts.append(
                Frequency(
                    int(np.sum(alpha * least < bound)),
                    len(draws),
                    failure,
                    weight=1.0 / (len(ranks) * (1 + len(_SMALL))),
                    name=f"k = {k}, alpha {alpha:g}",
                    setting={"k": k, "alpha": alpha, "bound": bound},
                )
            )
    return Together(parts, name="sigma_k(Theta_k)")


def _rest(budget, rng, alpha_power):
    """Count sigma_1(Theta_res^0) above alpha^p (2 sqrt(d) + sqrt(2 log(2/delta')))."""
    shapes, failure, parts = ((12, 8, 2), (8, 12, 2), (20, 20, 20)), 0.3, []
    for n, d, k in shapes:
        spectrum = Spectrum(np.ones(min(n, d)), n, d, k)
        rest = theory.sizes(_entering.gaussian_lifts(spectrum, budget(60, 400), rng)).rest
        for alpha in (0.1 / spectrum.size, *_SMALL):
            bound = alpha**alpha_power * _width(spectrum, failure)
            parts.append(
                Frequency(
                    int(np.sum(alpha * rest > bound)),
                    len(rest),
                    failure,
                    weight=1.0 / (len(shapes) * (1 + len(_SMALL))),
                    name=f"n = {n}, d = {d}, k = {k}, alpha {alpha:g}",
                    setting={"n": n, "d": d, "k": k, "alpha": alpha, "bound": bound},
                )
            )
    return Together(parts, name="sigma_1(Theta_res)")


def _rest_exactly(alpha_power):
    """Compare the probability that the display claims with a bound on the true one, exactly."""
    where = {"n": 2, "d": 2, "alpha": 1e-4, "delta'": 0.5, "power of alpha": alpha_power}
    return Cases(
        [(*lemmaa4_proof.sides(alpha_power), where)],
        predicted_is=UPPER,
        name="sigma_1(Theta_res), a bound on the probability",
        quantity="probability claimed",
    )


def _width(spectrum, failure):
    return 2.0 * math.sqrt(spectrum.size) + math.sqrt(2.0 * math.log(2.0 / failure))


def _allowed_scale(spectrum, eta, failure, alpha_power, k_power):
    """Return the largest log alpha that the displays allow, K being delta'."""
    width = math.sqrt(8.0 * spectrum.size + 4.0 * math.log(2.0 / failure))
    worst = _entering.two_sizes(failure * spectrum.k**k_power, width, spectrum)
    power = alpha_power * (1.0 - theory.exponent(spectrum, eta))
    early = math.log(0.5 * math.sqrt(spectrum.gap) / _width(spectrum, failure))
    return min(float(_entering.balance(worst, spectrum, eta, 0.0)) / power, early)


def _at_allowed_scale(budget, rng, alpha_power, k_power):
    """Count draws outside Claim A.3 at the largest alpha that the displays allow."""
    names, failure, parts = budget(("gap",), ("even", "gap", "flat", "decay")), 0.2, []
    cases = list(spectra(ranks=(2,), shapes=("d < n",), names=names))
    for setting, spectrum in cases:
        eta = step_size_limits(spectrum)["lemma_A5"]
        # Four events are left out of the claim, each of probability delta'.
        log_alpha = _allowed_scale(spectrum, eta, 0.25 * failure, alpha_power, k_power)
        draws = _entering.gaussian_lifts(spectrum, budget(150, 1000), rng)
        parts.append(
            _at(
                log_alpha,
                spectrum,
                eta,
                draws,
                failure,
                weight=1.0 / len(cases),
                setting=setting,
                name=", ".join(f"{value:.2g}" for value in spectrum.singular_values),
            )
        )
    return Together(parts, name="Claim A.3 at the alpha of the displays")


@statement(
    "flute.lemmaA4.proof",
    place="Lemma A.4, proof",
    latex=r"\sigma_k(\Theta_k^0) \ge \alpha^2K\sqrt k,\quad \sigma_1(\Theta_{res}^0) \le"
    r" \alpha^2\big(2\sqrt{\bar d}+\sqrt{2\log(2/\delta')}\big),\quad \alpha^{4-2(1+\kappa)} \le"
    r" \tfrac{c_1(K\sqrt k)^{1+\kappa}}{8\bar d+4\log(2/\delta')}",
    plain="The start's remainder is at most of order alpha^2, and the displayed alpha is small "
    "enough.",
    negative_control={"alpha_power": 1.5},
)
def lemmaA4_proof(budget, rng, *, alpha_power=2.0, k_power=0.5):
    """Count violations of each display, K being delta', as alpha shrinks."""
    at_scale = _at_allowed_scale(budget, rng, alpha_power, k_power)
    yield _least(budget, rng, alpha_power, k_power)
    yield _rest(budget, rng, alpha_power)
    yield _rest_exactly(alpha_power)
    yield at_scale


lemmaA4_proof.corrected(
    "flute.lemmaA4.proof.corrected",
    latex=r"\sigma_k(\Theta_k^0) \ge \tfrac{\alpha\delta'}{\sqrt k},\quad \sigma_1(\Theta_{res}^0)"
    r" \le \alpha\big(2\sqrt{\bar d}+\sqrt{2\log(2/\delta')}\big),\quad \alpha^{1-\kappa} \le"
    r" \tfrac{c_1(\delta'/\sqrt k)^{1+\kappa}}{8\bar d+4\log(2/\delta')}",
    plain="From a start of scale alpha the k-th singular value of its first k rows is at least of"
    " order alpha/sqrt(k), and the norm of the others at most of order alpha.",
    constants={"alpha_power": 1.0, "k_power": -0.5},
    stronger={"alpha_power": 0, "k_power": 1},
    negative_control={"k_power": 0.5},
)


# Is 1/(10 d), as in Theorem 5.1, small enough?


def _runs_from(scale, k_draws, spectrum, rng):
    """Return how many population runs from alpha = scale/d with Figure 3's eta find Phi_k."""
    draws = _entering.gaussian_lifts(spectrum, k_draws, rng)
    orbit = iterate(scale / spectrum.d * draws, spectrum.eigenvalues, FIGURE_STEP, [60000])
    error = product_error(orbit.Theta[:, -1], spectrum) / spectrum.first
    return int(np.sum(error < 1e-3)), k_draws


def _small_unit():
    """Compare 1 - delta with a bound on the probability of Claim A.3, exactly, for a small Phi."""
    where = {"d": 2, "alpha": 0.05, "lambda*_1": 1e-6, "delta": 0.5}
    return Cases(
        [(*lemmaa4_scale.sides(), where)],
        name="a small Phi, a bound on the probability",
        quantity="probability claimed",
        predicted_is=UPPER,
    )


@statement(
    "flute.lemmaA4.scale",
    place="Theorem 5.1, Lemma A.4",
    hypotheses=(GAP,),
    latex=r"0 < \alpha \le \tfrac1{10d} \;\Rightarrow\; \Pr[\text{Claim A.3}] \ge 1-\delta",
    plain="The start of Theorem 5.1, alpha <= 1/(10 d), is small enough for Claim A.3.",
    negative_control={"share": 0.5},
)
def lemmaA4_scale(budget, rng, *, share=0.0):
    """Count draws outside Claim A.3 at alpha = min(1/(10 d), alpha_0^share), Figure 3's settings.

    alpha_0 is the explicit alpha that Lemma A.4 is checked at, for delta = 1/2.
    """
    failure, largest, reached = 0.5, [], np.zeros(2, int)
    for setting, spectrum in _figure_spectra():
        draws = _entering.gaussian_lifts(spectrum, budget(200, 300), rng)
        steps = {"Figure 3": FIGURE_STEP, "Theorem 5.1": step_size_limits(spectrum)["theorem_5_1"]}
        for name, eta in steps.items():
            small = share * explicit_scale(spectrum, eta, failure)
            yield _at(
                min(math.log(0.1 / spectrum.d), small),
                spectrum,
                eta,
                draws,
                failure,
                setting=setting,
                name=f"n = {spectrum.n}, k = {spectrum.k}, step size of {name}",
            )
            largest.append(float(np.median(_entering.log_scale(draws, spectrum, eta))))
        reached += _runs_from(0.1, budget(2, 10), spectrum, rng)
    if not share:
        yield _small_unit()
    yield Fact("largest alpha of the median draw, over the settings", _powers(largest))
    yield Fact("share of runs from alpha = 1/(10 d) that find Phi_k", reached[0] / reached[1])


lemmaA4_scale.corrected(
    "flute.lemmaA4.scale.corrected",
    latex=r"\alpha \le \min\Big\{\tfrac1{10d},\;"
    r" \Big(\tfrac{c_1(\delta/(2\sqrt k))^{1+\kappa}}{w^2}"
    r"\Big)^{\frac1{1-\kappa}},\; \tfrac{\sqrt\Delta}{2w}\Big\},\; w = \sqrt{n+d}+\sqrt k+"
    r"\sqrt{2\log(4/\delta)} \;\Rightarrow\; \Pr[\text{Claim A.3}] \ge 1-\delta",
    plain="An alpha computed from the spectrum, eta and delta is small enough for Claim A.3.",
    constants={"share": 1.0},
    stronger={"share": -1},
    negative_control={"share": 0.5},
)


@statement(
    "flute.lemmaA4.range",
    place="Lemma A.4, range of delta",
    latex=r"\delta \in [0, 1]:\ \exists\,\alpha > 0:\ \Pr[\text{Claim A.3}] \ge 1-\delta",
    plain="For any delta from 0 on a small enough random start satisfies Claim A.3 with "
    "probability 1 - delta.",
    hypotheses=(GAP,),
    negative_control={"delta": 0},
    holds_with={"delta": Fraction(1, 1000)},
    expected=FAILS,
)
def lemmaA4_range(budget, rng, *, delta=0):
    """Bound the probability of Claim A.3 from above, exactly, at several alpha, lambda*_1 = 1.

    It is below 1 for every alpha > 0; for delta > 0 the lemma is another claim.
    """
    cases = [
        (*lemmaa4_range.sides(delta, inverse), {"alpha": f"1/{inverse}", "delta": str(delta)})
        for inverse in (10, 20, 40)
    ]
    yield Cases(cases, quantity="probability claimed", predicted_is=UPPER, name="lambda*_1 = 1")
