"""Lemma A.5 and (16): by when the region is reached."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from linrep.algorithms import flute
from linrep.claims import Cases, Curve, Frequency, Identity, statement
from linrep.claims.evidence import FAILS, LOWER, VALUE
from linrep.papers.flute import entering
from linrep.papers.flute.counterexamples import tr_and_lemmaa5 as one_step
from linrep.papers.flute.model import DRAWN, POPULATION, SCALES, Spectrum, scaled_spectrum, spectra
from linrep.problems import LowRankRegression
from linrep.theory.flute import entry_time, sizes, step_size_limits
from linrep.theory.flute_lift import lift, lower
from linrep.theory.flute_samples import lemma_A5, lemma_A5_proof, lemma_A17

NOISY: dict[str, Any] = {"singular values": [1.0], "n": 60, "d": 60, "k": 1, "noise/sqrt(N)": 0.35}
LONGEST = 10  # times T_R: how long a run is followed at most


def timed(starts, name, *, share=1.0, noise=0.0) -> Cases:
    """Compare hitting times of starts, with their settings, with the ceiling of a share of T_R.

    R is a multiple of eta Delta Theta_k, against it.
    """
    cases = []
    for setting, start in starts:
        expected = entering.expected_time(start)
        if expected > 0.0:  # else it starts with sigma_k^2 = Delta/4
            allowed, R = math.ceil(share * expected), np.zeros_like(start.Theta)
            R[0] = -noise * start.step_size * start.spectrum.gap * start.Theta[0]
            found = entering.hitting_time(start, LONGEST * allowed, R if noise else 0.0)
            where = {**setting, **start.plain(), "T_R": expected}
            cases.append((min(found / allowed, float(LONGEST)), 1.0, where))
    # A run that is broken off has a lower bound.
    kind = LOWER if max(delay for delay, *_ in cases) >= LONGEST else VALUE
    quantity = "hitting time over the ceiling of T_R"
    return Cases(cases, name=name, quantity=quantity, measured_is=kind)


def exact_step(first_power):
    """Follow one step, exactly."""
    return Cases(
        [(*one_step.sides(first_power < 0), one_step.INSTANCE)],
        name="one exact step, k = 1, s = 10^8", quantity="Delta/4, and sigma_k^2",
    )  # fmt: skip


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
    """Time population runs from random starts of Claim A.3, and from its boundary, in units s.

    T_R is a constant only with respect to T and N: it grows without bound as alpha -> 0.
    """
    shapes = budget(("d < n",), ("d < n", "d = n", "d > n"))
    random = entering.random_starts(
        budget(3, 10), rng, first_power, ranks=budget((1, 2), (1, 2, 3)), shapes=shapes
    )
    boundary = entering.boundary_family(
        SCALES[::3], budget((0.9, 1e-2), (0.9, 0.1, 1e-2, 1e-6)), first_power=first_power
    )
    yield exact_step(first_power)
    yield timed([*random, *boundary], "starts in Claim A.3", share=share)


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


def samples_needed(spectrum, leading, rest, failure, proof):
    """Return N of (17), or what the proof uses: that of (47) and with sigma_k(Theta_k)."""
    if not proof:
        return float(lemma_A5(spectrum, rest, failure=failure))
    growth = lemma_A5_proof(spectrum, leading, failure=failure)
    return float(max(growth, lemma_A17(spectrum, rest, failure=failure)))


def same_samples(proof):
    """Compare N for s Phi, s noise and sqrt(s) Theta with that for s = 1."""
    cases = []
    for setting, spectrum in spectra(shapes=("d < n",), noise=0.3):
        usual = samples_needed(spectrum, 1e-3, 1e-2, 0.05, proof)
        for s in SCALES[1:]:
            given = scaled_spectrum(spectrum, s), 1e-3 * math.sqrt(s), 1e-2 * math.sqrt(s)
            found = samples_needed(*given, 0.05, proof)
            where = {**setting, "s": float(s), "N for s = 1": usual, "N for s": found}
            cases.append((abs(math.log(found / usual)), where))
    quantity = "shift of the logarithm of N"
    return Identity(cases, 1e-9, name="N in every unit of Phi", quantity=quantity)


def noisy_runs(trials, rng, proof, first_power, arrived) -> Frequency:
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
        late += not bool(np.any(arrived(trace, clean)))
    return Frequency(late, trials, 0.25, name="label noise, at the N asked for", setting=NOISY)


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
    yield exact_step(first_power)
    shares = budget((0.9, 0.3, 1e-2), (0.9, 0.5, 0.1, 1e-2, 1e-4, 1e-6))
    family = entering.boundary_family(budget(SCALES[::3], SCALES), shares, first_power=first_power)
    boundary = timed(family, "R = 0, k = 1, boundary of Claim A.3, s = 1 ... 1e6")
    yield boundary
    points = pd.DataFrame([
        {"panel": f"step size of the {where['limit of eta']}", "x": where["s"], "y": delay,
         "series": f"lambda_2/lambda_1 = {where['eigenvalues'][1] / where['eigenvalues'][0]:g}"}
        for delay, _, where in boundary.cases
    ])  # fmt: skip
    largest = points.groupby(["panel", "series", "x"], as_index=False)["y"].max()
    yield Curve(largest.assign(xlabel="s", ylabel=r"hitting time over $\lceil T_R\rceil$"))
    random = entering.random_starts(
        budget(4, 10), rng, first_power, (1.0, 1e6), ranks=budget((2,), (1, 2, 3)),
        shapes=("d < n",), names=("gap", "even", "third 0.3"),
    )  # fmt: skip
    yield timed(random, "R = 0, random starts")
    yield same_samples(proof)

    def arrived(trace, spectrum):
        return trace["leading"] ** 2 >= 0.25 * spectrum.gap

    yield noisy_runs(budget(45, 100), rng, proof, first_power, arrived)
    if proof:
        # R is as large as the proof lets it be.
        shares = budget((0.9, 1e-2), (0.9, 0.5, 0.1, 1e-2, 1e-4))
        starts = entering.boundary_family([1.0], shares, first_power=-0.5)
        yield timed(starts, "R of size eta Delta sigma_k/288", noise=1.0 / 288.0)


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
