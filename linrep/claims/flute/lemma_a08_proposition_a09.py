"""Lemma A.8 and Proposition A.9: the leading rows stay, and with them all of R."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.stats import norm

from linrep.claims import Constant, Exponent, Fact, statement
from linrep.claims.flute import _checks, _common
from linrep.claims.flute._runs import corner, spread, truth_of
from linrep.claims.tables import cells, table
from linrep.theory import flute_samples
from linrep.theory.flute import Spectrum, region, sizes, step_size_limits

# Lemma A.8: the leading rows stay.


def _thinnest(spectrum):
    """Return the corner of R with least sigma_k(Theta_k) and most sigma_1(Theta_res)."""
    return corner(spectrum, last=0.25 * spectrum.gap, rest=spectrum.last - 0.5 * spectrum.gap)


def _from_thinnest(samples):
    """Return trials from that corner, until sigma_k(Theta_k) is less than it was."""
    return _checks.Trial(
        samples,
        "lemma_A8",
        _thinnest,
        lambda spectrum, state: sizes(state).leading >= np.sqrt(0.25 * spectrum.gap),
    )


def _leading_stays(budget, rng, floor):
    """Search for steps that leave sigma_k^2(Theta_k) >= floor Delta, at R = 0 and the worst R.

    That takes its whole size, eta Delta^2/(512 sqrt(lambda*_1)), from sigma_k(Theta_k).
    """

    def bare(spectrum, eta, Theta):
        return np.sqrt(floor * spectrum.gap), _checks.thin(
            _common.step(Theta, spectrum, eta), spectrum
        )

    def noisy(spectrum, eta, Theta):
        taken = eta * spectrum.gap**2 / (512 * np.sqrt(spectrum.first))
        left, right = bare(spectrum, eta, Theta)
        return left, right - taken

    def slack(spectrum, eta, Theta):
        square = np.minimum(_checks.thin(Theta, spectrum) ** 2, floor * spectrum.gap)
        gained = _checks.thin(_common.step(Theta, spectrum, eta), spectrum) ** 2 - square
        return 1 / 32, gained / (eta * spectrum.gap**2)

    few = budget(_common.SEARCH_SHAPES[1:4:2], _common.SEARCH_SHAPES)
    for pair, place, name in (
        (bare, "lemma_A16", "R = 0, eta <= Delta^2/(16 lambda*_1^3)"),
        (noisy, "lemma_A8", "worst R"),
        (slack, "lemma_A8", "eta Delta^2/32 to spare at R = 0"),
    ):
        found = _common.searched_region(
            pair, budget, rng, limit=_checks.limit_of(place), shapes=few, name=name,
            smallest=lambda spectrum: floor * spectrum.gap,
        )  # fmt: skip
        yield found
    yield Fact("to spare at R = 0", 1 / 32 / found.tightest, "eta Delta^2")


_A8 = (
    r"\eta \le \tfrac{\Delta^2}{32\lambda_1^{*3}},\ \Theta \in \mathcal R,\ \sigma_1(R_k) \le"
    r" \tfrac{\eta\Delta^2}{512\sqrt{\lambda_1^*}} \Rightarrow \sigma_k(\Theta_k^+) \ge"
    r" \tfrac{\sqrt\Delta}2; \quad \sqrt N \ge \max\Big\{\tfrac{\ell}{\sqrt{c_1}}, "
)


@statement(
    "flute.lemmaA8",
    place="Lemma A.8",
    latex=_A8 + r"\tfrac{6144\sqrt{\lambda_1^*}S\ell}{\Delta\sqrt{c_1}}\Big\} \Rightarrow"
    r" \sigma_k(\Theta_k^\tau) \ge \tfrac{\sqrt\Delta}2,\ 1 - 2t\delta",
    plain="The leading rows of Theta stay above sqrt(Delta)/2.",
    negative_control={"floor": 0.6},
)
def lemma_A8(budget, rng, *, floor=0.25, samples=flute_samples.lemma_A8):
    """Search R; run from the thinnest corner in several units of Phi; bound R by the samples."""
    yield from _leading_stays(budget, rng, floor)
    cases = {}
    for constant in (1.0, 1e-2, 1e-4):
        noise = 20.0 / np.sqrt(constant)
        cases[constant] = [
            ({"n": d, "d": d, "k": k, "lambda*_1": s, "Delta": 0.4 * s, "noise": float(noise * s)},
             _common.scaled_spectrum(_checks.flat_spectrum(d, k, noise), s))
            for d, k in ((5, 1), (10, 2)) for s in (1e-12, 1.0, 1e6)
        ]  # fmt: skip
    yield _from_thinnest(samples).exits_by_constant(
        cases, budget, rng, name="stays on samples, for some c_1"
    )
    yield _checks.noise_bounds(
        samples, lambda s, eta: eta * s.gap**2 / (512.0 * np.sqrt(s.first)), "lemma_A8", (0.0,),
        "samples give the bound on R_k",
    )  # fmt: skip


lemma_A8.corrected(
    "flute.lemmaA8.corrected",
    latex=_A8 + r"\tfrac{6144\lambda_1^*S\ell}{\Delta^2\sqrt{c_1}}\Big\} \Rightarrow"
    r" \sigma_k(\Theta_k^\tau) \ge \tfrac{\sqrt\Delta}2,\ 1 - 2t\delta",
    plain="The leading rows of Theta stay above sqrt(Delta)/2, with the samples of (39).",
    constants={"samples": flute_samples.lemma_A13_second},
    negative_control={"floor": 0.6},
)


# Proposition A.9: the whole region.

GAPS = (0.5, 0.25, 0.1, 0.05)  # Delta/lambda*_1
# S is a sum: every line with next to no noise, at a moderate one, and where noise is most of it.
_BASE = {"start": "thinnest", "delta": 0.1, "k": 2, "noise": 50.0, "d": 8}
_NOISES = (1e-3, 1.0, 50.0)
_STARTS = {
    "thinnest": _thinnest,
    "full rest": lambda spectrum: corner(spectrum, rest=spectrum.last - 0.5 * spectrum.gap),
    "top": lambda spectrum: corner(spectrum, first=2.0 * spectrum.first),
}


def _narrow(delta, k, noise, d):
    """Return one with lambda*_1 = 1, Delta = delta, and lambda*_k - Delta/2 = .8 for k > 1."""
    middle = 0.5 - 0.25 * delta if k == 1 else 0.4
    values = [0.5] + [middle + 0.25 * delta] * (k - 1) + [middle - 0.25 * delta, 0.05]
    return Spectrum(np.array(values), d, d, k, noise)


def _needed(start, spectrum, truths, rng):
    """Return, for random truths, the samples with which a step stays in R with 95 %.

    For many samples: the singular value that the start has at its limit changes by u'Rv, which is
    normal, with the singular vectors u and v after the step without noise.
    """
    k = spectrum.k
    eta = step_size_limits(spectrum)["lemma_A8"]
    Theta = _STARTS[start](spectrum)
    after = _common.step(Theta, spectrum, eta)
    rows, place, limit = {
        "thinnest": (slice(0, k), k - 1, 0.25 * spectrum.gap),
        "full rest": (slice(k, None), 0, spectrum.last - 0.5 * spectrum.gap),
        "top": (slice(None), 0, 2.0 * spectrum.first),
    }[start]
    left, values, right = np.linalg.svd(after[rows], full_matrices=False)
    u = np.zeros(len(Theta))
    u[rows] = left[:, place]
    quantile = norm.isf(_checks.FAILURE) / (values[place] - np.sqrt(limit))
    return np.array(
        [
            quantile**2 * spread(truth_of(spectrum, rng), Theta, eta, u, right[place])
            for _ in range(truths)
        ]
    )


def _region_kept(budget, rng):
    """Search for R of norm eta Delta^1.5/34 that takes Theta out of R."""

    def worst(spectrum, eta, Theta):
        size = eta * spectrum.gap**1.5 / 34
        after, full = _common.step(Theta, spectrum, eta), spectrum.last - spectrum.gap / 2
        return max(
            (_common.singular_values(after)[0] + size) / np.sqrt(2 * spectrum.first),
            (_common.singular_values(after[spectrum.k :])[0] + size) / np.sqrt(full),
            np.sqrt(spectrum.gap / 4) / (_checks.thin(after, spectrum) - size),
        ), 1  # fmt: skip

    return _common.searched_region(
        worst, budget, rng, limit=_checks.limit_of("lemma_A8"), shapes=_checks.shapes(budget),
        name="any R of norm eta Delta^1.5/34 keeps Theta in R",
    )  # fmt: skip


@statement(
    "flute.propositionA9",
    place="Proposition A.9",
    latex=r"\Theta^0 \in \mathcal R,\ \sqrt N \ge c\,\frac{\sqrt{\lambda_1^*}\,S\ell}{\Delta^{3/2}}"
    r" \Rightarrow \Pr[\Theta^\tau \in \mathcal R,\ \tau \le t] \ge 1 - t\delta",
    plain="Theta stays in R with samples in proportion to lambda*_1 S^2 l^2/Delta^3.",
    negative_control={"power": 2.0},
)
def proposition_A9(budget, rng, *, power=3.0):
    """Find the samples that one step from the boundary of R needs, and run on a multiple of them.

    Any R of norm eta Delta^1.5/34 keeps Theta in R, which is searched for; by Lemmas A.13 and A.14
    that takes sqrt(N) >= 408 sqrt(lambda*_1) S l/(Delta^1.5 sqrt(c_1)). No step size is given: that
    of Lemma A.8 is taken, which is proved by (39), where N goes like lambda*_1^2/Delta^4.
    """
    truths = budget(10, 40, 200)

    def unit(spectrum, **options):
        power_3 = flute_samples.proposition_A9(spectrum, **options)
        return power_3 * (spectrum.gap / spectrum.first) ** (3.0 - power)

    def draw(start, delta, k, noise, d):
        spectrum = _narrow(delta, k, noise, d)
        return _needed(start, spectrum, truths, rng) / unit(spectrum, failure=_checks.FAILURE)

    sweeps = {"delta": GAPS, "k": (1, 2, 4), "d": (8, 16, 32)}
    noisy = {"noise": (0.5, 5.0, 50.0, 500.0, 5e3, 5e4)}
    settings = [
        cell
        for start in _STARTS
        for noise in _NOISES
        for cell in cells(
            {**_BASE, "start": start, "noise": noise}, **sweeps, **(noisy if noise == 50.0 else {})
        )
    ]
    frame = table(settings, draw, truths)
    frame["1/delta"] = 1.0 / frame["delta"]
    # Along the noise there is one line a start, the long one.
    base = frame[["delta", "k", "d"]].eq(pd.Series({x: _BASE[x] for x in ("delta", "k", "d")}))
    frame["sweep"] = np.where(base.all(axis=1), "noise", frame["noise"].astype(str))
    others = [frame[frame["noise"] == noise].assign(sweep=str(noise)) for noise in _NOISES]
    frame = pd.concat([frame[frame["sweep"] == "noise"], *others], ignore_index=True)
    needed = [
        _needed("thinnest", _narrow(delta, _BASE["k"], 1.0, _BASE["d"]), 4 * truths, rng)
        for delta in GAPS
    ]
    c = 2.0 * np.sqrt(frame["constant"].max())
    trial = _checks.Trial(
        lambda spectrum, failure, constant: unit(spectrum, failure=failure, constant=c),
        "lemma_A8", _thinnest, lambda spectrum, state: region(state, spectrum).full,
    )  # fmt: skip
    cases = [
        ({"Delta / lambda*_1": delta, "noise / lambda*_1": noise, "c": float(c)},
         _narrow(delta, 2, noise, 8), 1.0)
        for delta in (GAPS[0], GAPS[-1], 0.01) for noise in (0.0, 50.0)
    ]  # fmt: skip
    slope = Exponent(
        1.0 / np.array(GAPS), needed, at_most=power, rng=rng, along="lambda*_1/Delta", of="samples",
        name="samples from the thinnest corner, in 1/Delta",
    )  # fmt: skip
    constant = Constant(
        frame, ["1/delta", "k", "noise", "d"], by=["start", "sweep"], rng=rng, name="constant",
        label="$c^2$",
    )  # fmt: skip
    runs = trial.exits(cases, budget, rng, steps=budget(2, 20), name="stays on samples")
    yield _region_kept(budget, rng)
    yield slope
    yield constant
    yield runs
    narrow = _narrow(GAPS[-1], 2, 1.0, 8)
    ratio = flute_samples.lemma_A13_second(narrow) / flute_samples.proposition_A9(
        narrow, constant=408.0
    )
    name = f"samples of (39) over those of c = 408, Delta = {GAPS[-1]:g} lambda*_1"
    yield Fact(name, float(ratio))
