"""Proposition A.2: small random starts reach the region, on data."""

import math
from dataclasses import replace
from typing import Any

import numpy as np

from linrep.algorithms import flute
from linrep.claims import Fact, Frequency, statement
from linrep.claims.measurements import within_reach
from linrep.papers.flute import entering
from linrep.papers.flute.lemma_a05 import samples_needed
from linrep.papers.flute.model import DRAWN, Spectrum, scaled, spectra
from linrep.papers.flute.runs import compressed
from linrep.problems import LowRankRegression
from linrep.theory.flute import entry_time, sizes, step_size_limits
from linrep.theory.flute_lift import lift, lower

NOISY: dict[str, Any] = {"singular values": [1.0], "n": 60, "d": 60, "k": 1, "noise/sqrt(N)": 0.35}


def in_region(whole, leading, rest, spectrum):
    """Tell where a run is in R, from its recorded singular values."""
    inside = (whole**2 <= 2.0 * spectrum.first) & (rest**2 <= spectrum.last - 0.5 * spectrum.gap)
    return inside & (leading**2 >= 0.25 * spectrum.gap)


def arrives(spectrum, place, s, samples, share, first_power, unit, rng):
    """Tell whether a run on data, from the largest alpha of Claim A.3, is in R by share * T_R.

    ``samples(spectrum, leading, rest, failure)`` returns N.
    """
    eta = step_size_limits(spectrum)[place]
    spectrum, eta, unit = scaled(spectrum, unit, eta, s)
    Theta = math.exp(float(entering.log_scale(unit, spectrum, eta, first_power))) * unit
    _, leading, rest = sizes(Theta)
    expected = float(entry_time(leading, spectrum, eta))
    steps = max(1, math.ceil(share * expected))
    truth = entering.diagonal_truth(spectrum)
    m = max(samples(spectrum, leading, rest, 0.25 / max(1, math.ceil(expected))), truth.d)
    trace = flute(
        compressed(truth, m, rng), k=spectrum.k, step_size=eta, rounds=steps,
        start=lower(truth, Theta), record=max(1, steps // 8), spectrum=True,
    )  # fmt: skip
    inside = in_region(trace["sigma_1"], trace["sigma_k"], trace["sigma_res"], spectrum)
    return bool(np.any(inside))


def noisy_runs(trials, rng, proof, first_power) -> Frequency:
    """Count runs with much label noise that have not arrived by T_R, at the N asked for.

    Phi has rank 1 and norm 1. The noise is such that at the N of (17), which does not know it, it
    adds a matrix of norm 5 or so to Phi. At the many samples asked for, 10^9 and more, X_i'X_i/N is
    I up to 10^-4: the runs are the population's of Phi with that matrix. t delta is 1/4.
    """
    clean = Spectrum(np.array(NOISY["singular values"]), NOISY["n"], NOISY["d"], NOISY["k"])
    eta, late = step_size_limits(clean)["lemma_A5"], 0
    truth = entering.diagonal_truth(clean)
    for unit in entering.gaussian_lifts(clean, trials, rng):
        Theta = float(np.exp(entering.log_scale(unit, clean, eta, first_power))) * unit
        _, leading, rest = sizes(Theta)
        steps = math.ceil(float(entry_time(leading, clean, eta)))
        given = leading, rest, 0.25 / steps
        noise = NOISY["noise/sqrt(N)"] * math.sqrt(samples_needed(clean, *given, False))
        needed = samples_needed(replace(clean, noise=noise), *given, proof)
        added = noise / math.sqrt(needed) * rng.standard_normal(truth.Phi.shape)
        trace = flute(
            LowRankRegression(truth.Phi + added), k=1, step_size=eta, rounds=steps,
            batches="population", start=lower(truth, Theta), record=max(1, steps // 16),
            measure=lambda B, W: sizes(lift(truth, B, W))._asdict(),
        )  # fmt: skip
        inside = in_region(trace["whole"], trace["leading"], trace["rest"], clean)
        late += not bool(np.any(inside))
    return Frequency(late, trials, 0.25, name="label noise, at the N asked for", setting=NOISY)


def possible(budget, rng):
    """Compare N with the samples that can exist, for the median draw of each spectrum.

    alpha is such that Claim A.3 holds for 80 % of draws.
    """
    found = []
    rank_one = [
        ({"singular values": [1.0], "n": n, "d": d, "k": 1}, Spectrum(np.array([1.0]), n, d, 1))
        for n, d in ((1, 2), (2, 1), (2, 2))
    ]
    for setting, spectrum in [*rank_one, *spectra(shapes=("d < n",), ranks=(1, 2))]:
        for place in entering.LIMITS.values():
            eta = step_size_limits(spectrum)[place]
            units = entering.gaussian_lifts(spectrum, budget(200, 1000), rng)
            log_alpha = np.quantile(entering.log_scale(units, spectrum, eta, -0.5), 0.2)
            _, leading, rest = np.median(sizes(units), axis=1)
            # N goes like 1/alpha^2 where alpha is small; in logarithms, as it may overflow.
            small = samples_needed(spectrum, 1e-9 * leading, 1e-9 * rest, 0.2, True)
            powers = math.log10(small) - 2.0 * (9.0 + float(log_alpha) / math.log(10.0))
            found.append((powers, {**setting, "step_size": eta}))
    yield within_reach(found, name="samples that can exist, c_1 = 1", of="samples per client")
    yield Fact("log10 of the largest N over the spectra", max(power for power, _ in found))


def samples_that_do(budget, rng):
    """Return the least of some N that half of the runs need."""
    spectrum = next(spectra(ranks=(2,), shapes=("d < n",), names=("gap",), noise=0.5))[1]
    units = entering.gaussian_lifts(spectrum, budget(5, 20), rng)
    for m in 4.0 ** np.arange(1, 12):
        given = spectrum, "lemma_A5", 1.0, lambda *_, m=m: m, 1.0, -0.5
        if 2 * sum(not arrives(*given, unit, rng) for unit in units) <= len(units):
            break
    return float(m)


@statement(
    "flute.propositionA2",
    place="Proposition A.2",
    hypotheses=DRAWN,
    latex=r"\eta \le \tfrac1{6\lambda^*_1},\; \alpha \text{ sufficiently small},\; N \text{ as"
    r" (17)} \;\Rightarrow\; \Pr[\exists t \le T_{\mathcal R}: \Theta^t \in \mathcal R] \ge"
    r" 1-ct\delta",
    plain="From a small random start and with N as (17), Theta enters the region R by T_R.",
    negative_control={"share": 0.4},
    # Given here as the corrected version is vacuous at these.
    holds_with={"first_power": -0.5, "proof": True},
)
def propositionA2(budget, rng, *, share=1.0, first_power=0.0, proof=False):
    """Run on data with the N asked for, in several units, and with much label noise.

    With both limits of eta, with noise and without.
    """
    setting, usual = next(spectra(ranks=(2,), shapes=("d < n",), names=("gap",)))

    def samples(spectrum, leading, rest, failure):
        return samples_needed(spectrum, leading, rest, failure, proof)

    for s in (1.0, 1e6):
        found = []
        for place in entering.LIMITS.values():
            for noise in (0.0, 0.5):
                given = replace(usual, noise=noise), place, s, samples, share, first_power
                units = entering.gaussian_lifts(given[0], budget(12, 60), rng)
                found += [arrives(*given, unit, rng) for unit in units]
        where = {**setting, "s": s, "noise": "0 or s/2", "t delta": 0.25}
        late = found.count(False)
        yield Frequency(late, len(found), 0.25, name=f"data, s = {s:g}", setting=where)
    yield noisy_runs(budget(45, 100), rng, proof, first_power)
    if proof:
        yield from possible(budget, rng)
        yield Fact("N with which half of the runs are in time", samples_that_do(budget, rng))


propositionA2.corrected(
    "flute.propositionA2.corrected",
    latex=r"\alpha \text{ so small that Claim A.3 holds with } c_1/\sqrt{\lambda^*_1},\;"
    r" \sqrt N \ge \tfrac{\ell}{\sqrt{c_1}}\max\Big\{1, \tfrac{3456\sqrt{\lambda^*_1}S}"
    r"{\sigma_k(\Theta_k^0)\Delta}, \tfrac{96\sqrt{\lambda^*_1}S}{\sigma_1(\Theta_{res}^0)\Delta}"
    r"\Big\} \;\Rightarrow\; \Pr[\exists t \le \lceil T_{\mathcal R}\rceil: \Theta^t \in"
    r" \mathcal R] \ge 1-ct\delta",
    plain="From a small random start, with the N of the proofs and c_1/sqrt(lambda*_1) in Claim "
    "A.3, Theta enters the region R by T_R.",
    constants={"first_power": -0.5, "proof": True},
    negative_control={"share": 0.4},
)
