"""Lemma A.8 and Proposition A.9: the leading rows stay, and with them all of R."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.stats import norm

from linrep.claims import Cases, Fact, Readings, Together, statement
from linrep.claims.evidence import MISPRINT, PROVED
from linrep.claims.slopes import log_slope
from linrep.papers.flute import _checks, _common
from linrep.papers.flute._hypotheses import DRAWN
from linrep.papers.flute._runs import corner, spread, truth_of
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
            pair,
            budget,
            rng,
            limit=_checks.limit_of(place),
            shapes=few,
            name=name,
            smallest=lambda spectrum: floor * spectrum.gap,
        )
        yield found
    yield Fact("to spare at R = 0", 1 / 32 / found.tightest, "eta Delta^2")


#: What N is asked for, by what stands in the second term of sqrt(N).
_FORMS = {
    "6144 sqrt(lambda*_1) S/Delta": flute_samples.lemma_A8,
    "6144 lambda*_1 S/Delta^2": flute_samples.lemma_A13_second,
}
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
    hypotheses=DRAWN,
    negative_control={"floor": 0.6},
    stronger={"asked": -1},
    expected=MISPRINT,
)
def lemma_A8(budget, rng, *, floor=0.25, asked=1.0, forms=tuple(_FORMS)):
    """Search R; run from the thinnest corner in several units of Phi; bound R by the samples."""
    yield from _leading_stays(budget, rng, floor)
    cases = {}
    for constant in (1.0, 1e-2, 1e-4):
        noise = 20.0 / np.sqrt(constant)
        cases[constant] = [
            (
                {
                    "n": d,
                    "d": d,
                    "k": k,
                    "lambda*_1": s,
                    "Delta": 0.4 * s,
                    "noise": float(noise * s),
                },
                _common.scaled_spectrum(_checks.flat_spectrum(d, k, noise), s),
            )
            for d, k in ((5, 1), (10, 2))
            for s in (1e-12, 1.0, 1e6)
        ]
    found = [
        Together(
            [
                _from_thinnest(_FORMS[form]).exits_by_constant(
                    cases, budget, rng, name="stays on samples, for some c_1"
                ),
                _checks.noise_bounds(
                    _checks.fewer(_FORMS[form], asked),
                    lambda s, eta: eta * s.gap**2 / (512.0 * np.sqrt(s.first)),
                    "lemma_A8",
                    (0.0,),
                    "samples give the bound on R_k",
                ),
            ],
            name=form,
        )
        for form in forms
    ]
    if len(found) == 1:
        yield from found[0].parts
    else:
        elsewhere = "Lemma A.10, Proposition A.12 (34), Lemma A.13 (39)"
        yield Readings(
            found,
            name="samples",
            phrase="6144 sqrt(lambda*_1) S .../(Delta sqrt(c_1))",
            printed_elsewhere={"6144 lambda*_1 S/Delta^2": elsewhere},
        )


lemma_A8.corrected(
    "flute.lemmaA8.corrected",
    latex=_A8 + r"\tfrac{6144\lambda_1^*S\ell}{\Delta^2\sqrt{c_1}}\Big\} \Rightarrow"
    r" \sigma_k(\Theta_k^\tau) \ge \tfrac{\sqrt\Delta}2,\ 1 - 2t\delta",
    plain="The leading rows of Theta stay above sqrt(Delta)/2, with the samples of (39).",
    constants={"forms": ("6144 lambda*_1 S/Delta^2",)},
    stronger={"asked": -1},
    negative_control={"floor": 0.6},
)


# Proposition A.9: the whole region.

GAPS = (0.5, 0.25, 0.1, 0.05)  # Delta/lambda*_1
#: R of this size, in eta Delta^1.5, keeps Theta in R; with c it is what (Q, Q~) can be at most.
ROOM, ENOUGH = 1.0 / 40.0, 1250.0
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


def _region_kept(budget, rng, room, limit):
    """Search for R of norm room eta Delta^1.5 that takes Theta out of R."""

    def worst(spectrum, eta, Theta):
        size = room * eta * spectrum.gap**1.5
        after, full = _common.step(Theta, spectrum, eta), spectrum.last - spectrum.gap / 2
        return max(
            (_common.singular_values(after)[0] + size) / np.sqrt(2 * spectrum.first),
            (_common.singular_values(after[spectrum.k :])[0] + size) / np.sqrt(full),
            np.sqrt(spectrum.gap / 4) / (_checks.thin(after, spectrum) - size),
        ), 1

    found = _common.searched_region(
        worst,
        budget,
        rng,
        limit=_checks.limit_of("lemma_A8", limit),
        shapes=_checks.shapes(budget),
        name=f"any R of norm eta Delta^1.5/{1.0 / room:g} keeps Theta in R",
    )
    return replace(found, strength=PROVED)


def _samples_for_room(room, enough):
    """Compare what Lemmas A.13 and A.14 bound R by, at the N asked for, with the room."""
    cases = []
    for setting, spectrum in _checks.cases_in_units(_checks.NOISES):
        m = float(flute_samples.proposition_A9(spectrum, constant=enough))
        # 22 is what the derivation of Lemma A.13 has in place of 6 sqrt(2)/sqrt(c_1).
        c_1 = (6.0 * np.sqrt(2.0) / 22.0) ** 2
        bound = np.sqrt(2.0) * flute_samples.discrepancy_bound(
            spectrum, m, step_size=1.0, constant=c_1
        )
        cases.append((float(bound), float(room * spectrum.gap**1.5), setting))
    return Cases(
        cases,
        name=f"c = {enough:g} gives that bound on R",
        quantity="bound on R over eta",
        strength=PROVED,
    )


@statement(
    "flute.propositionA9",
    place="Proposition A.9",
    latex=r"\eta \le \tfrac{\Delta^2}{32\lambda_1^{*3}},\ \Theta^0 \in \mathcal R,"
    r"\ \sqrt N \ge c\,\frac{\sqrt{\lambda_1^*}\,S\ell}{\Delta^{3/2}}"
    r" \Rightarrow \Pr[\Theta^\tau \in \mathcal R,\ \tau \le t] \ge 1 - t\delta",
    plain="Theta stays in R with samples in proportion to lambda*_1 S^2 l^2/Delta^3.",
    hypotheses=DRAWN,
    negative_control={"room": 0.125},
    stronger={"room": 1, "enough": -1, "limit": 1},
)
def proposition_A9(budget, rng, *, room=ROOM, enough=ENOUGH, limit=1.0):
    """Search for R of a norm that takes Theta out of R, and run on the samples asked for.

    No step size is given: that of Lemma A.8 is taken, which is proved by (39), where N goes like
    lambda*_1^2/Delta^4. The runs have the derivation's c; facts tell how much smaller it may be.
    """
    yield _region_kept(budget, rng, room, limit)
    yield _samples_for_room(room, enough)
    cases = [
        (
            {"Delta / lambda*_1": delta, "noise / lambda*_1": noise, "c": ENOUGH},
            _narrow(delta, 2, noise, 8),
            1.0,
        )
        for delta in (GAPS[0], GAPS[-1], 0.01)
        for noise in (0.0, 50.0)
    ]
    trial = _checks.Trial(
        lambda spectrum, failure, constant: flute_samples.proposition_A9(
            spectrum, failure=failure, constant=ENOUGH
        ),
        "lemma_A8",
        _thinnest,
        lambda spectrum, state: region(state, spectrum).full,
    )
    runs = trial.exits(cases, budget, rng, steps=budget(2, 20), name="stays on samples")
    yield replace(runs, parts=[replace(part, strength=PROVED) for part in runs.parts])
    truths = budget(10, 160)
    for start in _STARTS:
        needed = [
            np.sqrt(
                _needed(start, spectrum, truths, rng).max()
                / flute_samples.proposition_A9(spectrum, failure=_checks.FAILURE)
            )
            for delta in GAPS
            for noise in (0.0, 1.0, 50.0)
            for spectrum in [_narrow(delta, 2, noise, 8)]
        ]
        yield Fact(f"largest c that a step from the boundary needs, {start}", max(needed))
    needed = [_needed("thinnest", _narrow(delta, 2, 1.0, 8), truths, rng) for delta in GAPS]
    slope = log_slope(1.0 / np.array(GAPS), needed)
    yield Fact("power of 1/Delta in the samples needed, thinnest corner", slope.value)
    narrow = _narrow(GAPS[-1], 2, 1.0, 8)
    ratio = flute_samples.lemma_A13_second(narrow, constant=1.0 / 144.0)
    ratio /= flute_samples.proposition_A9(narrow, constant=ENOUGH)
    yield Fact(
        f"samples of (39), c_1 = 1/144, over those of c = {ENOUGH:g}, Delta = {GAPS[-1]:g} "
        "lambda*_1",
        float(ratio),
    )
