"""Lemma A.5 and (16): by when the region is reached."""

import math

import numpy as np

from linrep.claims import Cases, statement
from linrep.claims.evidence import FAILS, LOWER, VALUE
from linrep.papers.flute import entering
from linrep.papers.flute.counterexamples import tr_and_lemmaa5 as one_step
from linrep.papers.flute.model import ASSUMPTIONS, NOISES, POPULATION, SCALES, noise_bounds
from linrep.theory.flute_samples import lemma_A5, lemma_A5_proof, lemma_A17

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
            k = start.spectrum.k
            R[:k] = -noise * start.step_size * start.spectrum.gap * start.Theta[:k]
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


@statement(
    "flute.lemmaA5",
    place="Lemma A.5, (17)",
    hypotheses=ASSUMPTIONS,
    latex=r"\eta \le \tfrac1{6\lambda^*_1},\; \text{Claim A.3},\; \sqrt N \ge \max\Big\{"
    r"\tfrac{\ell}{\sqrt{c_1}}, \tfrac{3456\,\ell}{\sigma_1(\Theta_{res}^0)\Delta\sqrt{c_1}}\Big\}"
    r" \;\Rightarrow\; \Pr\big[\exists t \in [0, T_{\mathcal R}]: \sigma_k(\Theta_k^t) \ge"
    r" \tfrac{\sqrt\Delta}2\big] \ge 1-ct\delta",
    plain="From starts of Claim A.3 and with N as (17), sigma_k(Theta_k) is large enough by T_R.",
    negative_control={"first_power": 0.5},
)
def lemmaA5(budget, rng, *, first_power=0.0, proof=False):
    """Time runs from starts at the boundary of Claim A.3, and bound R by the N asked for.

    With the N of the proof R is as large as the proof lets it be, eta Delta sigma_k/288.
    """
    yield exact_step(first_power)
    shares = budget((0.9, 0.3, 1e-2), (0.9, 0.5, 0.1, 1e-2, 1e-4, 1e-6))
    family = entering.boundary_family(budget(SCALES[::3], SCALES), shares, first_power=first_power)
    name = "k = 1, boundary of Claim A.3, s = 1 ... 1e6"
    yield timed(family, name, noise=proof * (1.0 / 288.0))
    random = entering.random_starts(
        budget(2, 10), rng, first_power, ranks=budget((2,), (1, 2, 3)), shapes=("d < n",)
    )
    yield timed(random, "random starts", noise=proof * (1.0 / 288.0))

    def asked(spectrum):
        root = np.sqrt(spectrum.first)
        return samples_needed(spectrum, 1e-3 * root, 1e-2 * root, 0.05, proof)

    yield noise_bounds(
        asked, lambda s, eta: eta * s.gap * 1e-3 * np.sqrt(s.first) / 288.0, "lemma_A5",
        "N gives the bound on R", noises=NOISES[:2],
    )  # fmt: skip


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
