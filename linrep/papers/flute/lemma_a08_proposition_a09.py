"""Lemma A.8 and Proposition A.9: the leading rows stay, and with them all of R."""

from fractions import Fraction as Q

import numpy as np

from linrep.claims import Cases, Readings, Together, proved, statement
from linrep.claims.evidence import MISPRINT, PROVED
from linrep.claims.laws import Open, Region, Root, at_most, lines
from linrep.papers.flute import model
from linrep.papers.flute.model import (
    DRAWN,
    Spectrum,
    norm_of,
    rest_of,
    searched_region,
    step,
    thin,
    thinnest,
)
from linrep.papers.flute.runs import Trial
from linrep.theory import flute_samples
from linrep.theory.flute import region, sizes

# Lemma A.8: the leading rows stay.


def leading_stays(budget, rng, floor):
    """Search for steps that leave sigma_k^2(Theta_k) >= floor Delta, at R = 0 and the worst R.

    That takes its whole size, eta Delta^2/(512 sqrt(lambda*_1)), from sigma_k(Theta_k).
    """

    def bare(spectrum, eta, Theta):
        return np.sqrt(floor * spectrum.gap), thin(step(Theta, spectrum, eta), spectrum)

    def noisy(spectrum, eta, Theta):
        taken = eta * spectrum.gap**2 / (512 * np.sqrt(spectrum.first))
        left, right = bare(spectrum, eta, Theta)
        return left, right - taken

    def slack(spectrum, eta, Theta):
        square = np.minimum(thin(Theta, spectrum) ** 2, floor * spectrum.gap)
        gained = thin(step(Theta, spectrum, eta), spectrum) ** 2 - square
        return 1 / 32, gained / (eta * spectrum.gap**2)

    shapes = budget(model.SEARCH_SHAPES[1:4:2], model.SEARCH_SHAPES)
    for sides, place, name in (
        (bare, "lemma_A16", "R = 0, eta <= Delta^2/(16 lambda*_1^3)"),
        (noisy, "lemma_A8", "worst R"),
        (slack, "lemma_A8", "eta Delta^2/32 to spare at R = 0"),
    ):
        yield searched_region(
            sides, budget, rng, name, place, shapes=shapes, smallest=lambda s: floor * s.gap
        )


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
    yield from leading_stays(budget, rng, floor)
    cases: dict[float, list] = {1.0: [], 1e-2: [], 1e-4: []}
    for constant, found in cases.items():
        noise = float(20.0 / np.sqrt(constant))
        for d, k in ((5, 1), (10, 2)):
            for s in (1e-12, 1.0, 1e6):
                where = {
                    "n": d,
                    "d": d,
                    "k": k,
                    "lambda*_1": s,
                    "Delta": 0.4 * s,
                    "noise": noise * s,
                }
                found.append((where, model.scaled_spectrum(model.flat_spectrum(d, k, noise), s)))

    def stays(spectrum, state):
        return sizes(state).leading >= np.sqrt(0.25 * spectrum.gap)

    parts = [
        Together([
            Trial(samples, "lemma_A8", thinnest, stays).exits_by_constant(
                cases, budget, rng, "stays on samples, for some c_1"
            ),
            model.noise_bounds(
                model.fewer(samples, asked),
                lambda s, eta: eta * s.gap**2 / (512.0 * np.sqrt(s.first)), "lemma_A8",
                "samples give the bound on R_k", noises=(0.0,),
            ),
        ], name=form)
        for form, samples in _FORMS.items() if form in forms
    ]  # fmt: skip
    if len(parts) == 1:
        yield from parts[0].parts
    else:
        elsewhere = "Lemma A.10, Proposition A.12 (34), Lemma A.13 (39)"
        yield Readings(
            parts, name="samples", phrase="6144 sqrt(lambda*_1) S .../(Delta sqrt(c_1))",
            printed_elsewhere={"6144 lambda*_1 S/Delta^2": elsewhere},
        )  # fmt: skip


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


@lines("flute.propositionA9", Region(
    root=(Open(0), 1),  # of Delta, in units of lambda*_1
    last=lambda root: (root**2, 1),
    eta=lambda root: (Open(0), root**4 / 32),
    size=lambda last, root: (0, last - root**2 / 2),  # sigma_1^2(Theta_res)
    root2=Root(2),
), steps=["leading rows", "other rows"])  # fmt: skip
def margins(eta, root, last, size, root2, *, room=Q(1, 40)):
    """The leading rows keep eta Delta^(3/2)/40, a step shrinks the rest by 1 - 3 eta Delta/8."""
    gap = root**2
    shrunk = 1 - (eta / 2) * (last - gap / 2) / (1 - eta)
    product = (root / 2) * (1 + eta * last / 2) * (1 - eta * gap / 8) * shrunk
    factor = 1 + (eta / 2) * (last - gap - size - gap / 4)
    edge = (last - gap / 2) * (1 - 3 * eta * gap / 8) ** 2
    return {
        "leading rows": at_most(root / 2 + room * eta * root**3, product - eta**2 * root2 / 2),
        "other rows": at_most(size * factor**2, edge),
    }


def narrow(delta, noise):
    """Return one with lambda*_1 = 1, Delta = delta, and lambda*_2 - Delta/2 = .8, d = n = 8."""
    values = np.array([0.5, 0.4 + 0.25 * delta, 0.4 - 0.25 * delta, 0.05])
    return Spectrum(values, 8, 8, 2, noise)


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
def proposition_A9(budget, rng, *, room=1.0 / 40.0, enough=1250.0, limit=1.0):
    """Search for R of norm room eta Delta^1.5 that takes Theta out of R, and run on samples.

    No step size is given: that of Lemma A.8 is taken, which is proved by (39), where N goes like
    lambda*_1^2/Delta^4. The samples, c being `enough`, are to give that bound on R.
    """

    def worst(spectrum, eta, Theta):
        size = room * eta * spectrum.gap**1.5
        after, full = step(Theta, spectrum, eta), spectrum.last - spectrum.gap / 2
        return max(
            (norm_of(after) + size) / np.sqrt(2 * spectrum.first),
            (rest_of(after, spectrum) + size) / np.sqrt(full),
            np.sqrt(spectrum.gap / 4) / (thin(after, spectrum) - size),
        ), 1

    name = f"any R of norm eta Delta^1.5/{1.0 / room:g} keeps Theta in R"
    yield proved(searched_region(worst, budget, rng, name, "lemma_A8", limit))
    bounds = []
    for setting, spectrum in model.cases_in_units(model.NOISES):
        m = float(flute_samples.proposition_A9(spectrum, constant=enough))
        # 22 is what the derivation of Lemma A.13 has in place of 6 sqrt(2)/sqrt(c_1).
        given = {"step_size": 1.0, "constant": (6.0 * np.sqrt(2.0) / 22.0) ** 2}
        bound = np.sqrt(2.0) * flute_samples.discrepancy_bound(spectrum, m, **given)
        bounds.append((float(bound), float(room * spectrum.gap**1.5), setting))
    name, quantity = f"c = {enough:g} gives that bound on R", "bound on R over eta"
    yield Cases(bounds, name=name, quantity=quantity, strength=PROVED)
    cases = [
        ({"Delta / lambda*_1": delta, "noise / lambda*_1": noise, "c": 1250.0},
         narrow(delta, noise), 1.0)
        for delta in (0.5, 0.05, 0.01) for noise in (0.0, 50.0)
    ]  # fmt: skip

    def samples(spectrum, failure, constant):
        return flute_samples.proposition_A9(spectrum, failure=failure, constant=1250.0)

    yield Trial(samples, "lemma_A8", thinnest, lambda s, state: region(state, s).full).exits(
        cases, budget, rng, "stays on samples", steps=budget(2, 20), strength=PROVED
    )
