"""Lemma A.4: which random starts satisfy Claim A.3."""

import math
from fractions import Fraction

import numpy as np

from linrep.claims import Cases, Fact, Frequency, Together, statement
from linrep.claims.evidence import FAILS, UPPER
from linrep.papers.flute import entering
from linrep.papers.flute.counterexamples import lemmaa4_proof, lemmaa4_range, lemmaa4_scale
from linrep.papers.flute.model import GAP, Spectrum, spectra
from linrep.theory.flute import exponent, sizes, step_size_limits
from linrep.theory.flute_lift import iterate, product_error

FIGURE_STEP = 0.03  # Appendix C.1
LOG_10 = math.log(10.0)


def figure_spectra():
    """Yield those of Figure 3: lambda_i = 2d/(i + 1), d = 10."""
    for n in (15, 30):
        for k in (2, 4, 6, 8):
            values = 20.0 / np.arange(2.0, 12.0)
            yield {"n": n, "d": 10, "k": k}, Spectrum(values, n, 10, k, math.sqrt(0.3))


def explicit_scale(spectrum: Spectrum, step_size: float, failure: float) -> float:
    """Return log alpha of a start that satisfies Claim A.3 with probability 1 - failure.

    For alpha = 1, sigma_1(Theta) <= sqrt(n + d) + sqrt(k) + sqrt(2 log(4/failure)) by Lemma A.19 as
    its singular values are those of [B; W], and sigma_k(Theta_k) >= failure/(2 sqrt(k)) as Theta_k
    is a normal k by k matrix (Edelman), each up to half the failure.
    """
    whole = math.sqrt(spectrum.n + spectrum.d) + math.sqrt(spectrum.k)
    whole += math.sqrt(2.0 * math.log(4.0 / failure))
    worst = entering.two_sizes(0.5 * failure / math.sqrt(spectrum.k), whole, spectrum)
    early = 0.5 * math.log(0.25 * spectrum.gap) - math.log(whole)
    return min(float(entering.log_scale(worst, spectrum, step_size)), early)


def outside(log_alpha, spectrum, eta, draws, failure, *, excess=0.0, setting, **options):
    """Count draws, with alpha = 1, that are outside Claim A.3 at an alpha."""
    bad = int(np.sum(~entering.satisfied(draws, spectrum, eta, log_alpha, excess)))
    where = {**setting, "step_size": eta, "log10 alpha": log_alpha / LOG_10}
    return Frequency(bad, len(draws), failure, setting=where, **options)


def median_scale(draws, spectrum, eta):
    """Return the power of 10 that is the largest alpha in Claim A.3 of the median draw."""
    return float(np.median(entering.log_scale(draws, spectrum, eta))) / LOG_10


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
    largest = []
    names = budget(("gap", "flat", "decay"), ("even", "gap", "flat", "third 2.8", "decay"))
    usual = spectra(ranks=budget((2,), (1, 2, 3)), shapes=("d < n", "d = n"), names=names)
    for setting, spectrum in [*usual, *figure_spectra()]:
        eta = step_size_limits(spectrum)["lemma_A5"]
        draws = entering.gaussian_lifts(spectrum, budget(400, 1000), rng)
        first, *_, last = (f"{value:.2g}" for value in spectrum.singular_values)
        name = f"lambda {first} ... {last}, n = {spectrum.n}, d = {spectrum.d}, k = {spectrum.k}"
        for failure, group in groups.items():
            at = explicit_scale(spectrum, eta, failure), spectrum, eta, draws, failure
            group.append(outside(*at, setting=setting, name=name, excess=excess))
        largest.append(median_scale(draws, spectrum, eta))
    for failure, group in groups.items():
        group.sort(key=lambda part: part.violations, reverse=True)
        yield Together(group, name=f"delta = {failure:g}, all spectra")
    alphas = f"10^{min(largest):.0f} to 10^{max(largest):.0f}"
    yield Fact("largest alpha of the median draw, over the spectra", alphas)


def width(spectrum, failure):
    """Return 2 sqrt(d) + sqrt(2 log(2/delta'))."""
    return 2.0 * math.sqrt(spectrum.size) + math.sqrt(2.0 * math.log(2.0 / failure))


def displays(budget, rng, alpha_power, k_power):
    """Count violations of both bounds: of the first at alpha = 1/(10 d), of the other at 1e-8.

    sigma_k(Theta_k^0) below alpha^p delta' k^q at d = k, where Theta_k^0 is alpha times a normal k
    by k matrix, and sigma_1(Theta_res^0) above alpha^p (2 sqrt(d) + sqrt(2 log(2/delta'))).
    """

    def counted(where, values, unit, failure, alpha=1e-8, worse=1.0):
        bound = alpha**alpha_power * unit
        title = ", ".join(f"{key} = {where[key]}" for key in where)
        return Frequency(
            int(np.sum(worse * alpha * values > worse * bound)), len(values), failure,
            weight=1.0 / 3.0, name=title, setting={**where, "alpha": alpha, "bound": bound},
        )  # fmt: skip

    blocks, ends = [], []
    for k in budget((2, 8), (2, 8, 32)):
        draws = rng.standard_normal((budget(8000, 16000), k, k))
        least = np.linalg.svd(draws, compute_uv=False)[:, -1]
        blocks.append(counted({"k": k}, least, 0.5 * k**k_power, 0.5, 0.1 / k, -1.0))
    for n, d, k in ((12, 8, 2), (8, 12, 2), (20, 20, 20)):
        spectrum = Spectrum(np.ones(min(n, d)), n, d, k)
        rest = sizes(entering.gaussian_lifts(spectrum, budget(60, 400), rng)).rest
        ends.append(counted({"n": n, "d": d, "k": k}, rest, width(spectrum, 0.3), 0.3))
    yield Together(blocks, name="sigma_k(Theta_k)")
    yield Together(ends, name="sigma_1(Theta_res)")


def at_allowed_scale(budget, rng, alpha_power, k_power):
    """Count draws outside Claim A.3 at the largest alpha that the displays allow, K being delta'.

    Four events are left out of the claim, each of a fourth of the probability.
    """
    names, failure, parts = budget(("gap",), ("even", "gap", "flat", "decay")), 0.2, []
    cases = list(spectra(ranks=(2,), shapes=("d < n",), names=names))
    for setting, spectrum in cases:
        eta, each = step_size_limits(spectrum)["lemma_A5"], 0.25 * failure
        rest = math.sqrt(8.0 * spectrum.size + 4.0 * math.log(2.0 / each))
        worst = entering.two_sizes(each * spectrum.k**k_power, rest, spectrum)
        power = alpha_power * (1.0 - exponent(spectrum, eta))
        early = math.log(0.5 * math.sqrt(spectrum.gap) / width(spectrum, each))
        log_alpha = min(float(entering.balance(worst, spectrum, eta, 0.0)) / power, early)
        draws = entering.gaussian_lifts(spectrum, budget(150, 1000), rng)
        name = ", ".join(f"{value:.2g}" for value in spectrum.singular_values)
        given = log_alpha, spectrum, eta, draws, failure
        parts.append(outside(*given, weight=1.0 / len(cases), setting=setting, name=name))
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
    at_scale = at_allowed_scale(budget, rng, alpha_power, k_power)
    yield from displays(budget, rng, alpha_power, k_power)
    where = {"n": 2, "d": 2, "alpha": 1e-4, "delta'": 0.5, "power of alpha": alpha_power}
    yield Cases(
        [(*lemmaa4_proof.sides(alpha_power), where)], predicted_is=UPPER,
        name="sigma_1(Theta_res), a bound on the probability", quantity="probability claimed",
    )  # fmt: skip
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
    failure, largest, reached = 0.5, [], []
    for setting, spectrum in figure_spectra():
        draws = entering.gaussian_lifts(spectrum, budget(200, 300), rng)
        steps = {"Figure 3": FIGURE_STEP, "Theorem 5.1": step_size_limits(spectrum)["theorem_5_1"]}
        for name, eta in steps.items():
            small = share * explicit_scale(spectrum, eta, failure)
            log_alpha = min(math.log(0.1 / spectrum.d), small)
            title = f"n = {spectrum.n}, k = {spectrum.k}, step size of {name}"
            yield outside(log_alpha, spectrum, eta, draws, failure, setting=setting, name=title)
            largest.append(median_scale(draws, spectrum, eta))
        draws = entering.gaussian_lifts(spectrum, budget(2, 10), rng)
        orbit = iterate(0.1 / spectrum.d * draws, spectrum.eigenvalues, FIGURE_STEP, [60000])
        reached += list(product_error(orbit.Theta[:, -1], spectrum) < 1e-3 * spectrum.first)
    if not share:
        where = {"d": 2, "alpha": 0.05, "lambda*_1": 1e-6, "delta": 0.5}
        yield Cases(
            [(*lemmaa4_scale.sides(), where)], name="a small Phi, a bound on the probability",
            quantity="probability claimed", predicted_is=UPPER,
        )  # fmt: skip
    powers = f"10^{min(largest):.0f} to 10^{max(largest):.0f}"
    yield Fact("largest alpha of the median draw, over the settings", powers)
    yield Fact("share of runs from alpha = 1/(10 d) that find Phi_k", np.mean(reached))


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
