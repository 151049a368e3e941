"""Lemma A.8 and Proposition A.9: the leading rows stay, and with them all of R."""

from fractions import Fraction as Q
from itertools import product

import numpy as np

from linrep.claims import Frequency, Readings, Together, proved, statement
from linrep.claims.evidence import MISPRINT
from linrep.claims.laws import Open, Region, Root, at_most, lines
from linrep.papers.flute import model
from linrep.papers.flute.model import (
    ASSUMPTIONS,
    DRAWN,
    norm_of,
    rest_of,
    searched_region,
    step,
    thin,
    thinnest,
)
from linrep.papers.flute.runs import FAILURE, draw_moments, noise, truth_with
from linrep.theory import flute_samples
from linrep.theory.flute import sizes

# Lemma A.8: the leading rows stay.


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


def stays_on_samples(samples, budget, rng):
    """Count steps on samples that leave from R's thinnest corner, in several units of Phi.

    One constant c_1 that will do is enough.
    """
    readings, runs, shapes = [], budget(160, 400, 2000), ((5, 1), (10, 2))
    for constant in (1.0, 1e-2, 1e-4):
        parts, level = [], float(20.0 / np.sqrt(constant))
        for (d, k), unit in product(shapes, (1e-12, 1.0, 1e6)):
            spectrum = model.scaled_spectrum(model.flat_spectrum(d, k, level), unit)
            eta, start = model.limit_of("lemma_A8")(spectrum), thinnest(spectrum)
            m = np.floor(max(d + 1.0, samples(spectrum, failure=FAILURE, constant=constant)))
            truth, several = truth_with(spectrum, rng), np.broadcast_to(start, (runs, *start.shape))
            R = noise(truth, several, draw_moments(truth, m, runs, rng), eta)
            leading = sizes(step(several, spectrum, eta, R)).leading
            where = {"n": d, "d": d, "k": k, "lambda*_1": unit, "noise": level * unit, "N": m}
            parts.append(Frequency(
                int(np.sum(leading < np.sqrt(0.25 * spectrum.gap))), runs, 2.0 * FAILURE,
                weight=1.0 / 18, setting=where,
            ))  # fmt: skip
        readings.append(Together(parts, name=f"c_1 = {constant:g}"))
    name = "stays on samples, for some c_1"
    return Readings(readings, name=name, phrase="for some constant c_1")


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

    def worst(spectrum, eta, Theta):
        taken = eta * spectrum.gap**2 / (512 * np.sqrt(spectrum.first))
        left = thin(step(Theta, spectrum, eta), spectrum) - taken
        return np.sqrt(floor * spectrum.gap), left

    shapes = budget(model.SEARCH_SHAPES[1:4:2], model.SEARCH_SHAPES)
    yield searched_region(
        worst, budget, rng, "worst R", "lemma_A8", shapes=shapes, smallest=lambda s: floor * s.gap
    )
    parts = [
        Together([
            stays_on_samples(samples, budget, rng),
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


@statement(
    "flute.propositionA9",
    place="Proposition A.9",
    latex=r"\eta \le \tfrac{\Delta^2}{32\lambda_1^{*3}},\ \Theta^0 \in \mathcal R,"
    r"\ \sqrt N \ge c\,\frac{\sqrt{\lambda_1^*}\,S\ell}{\Delta^{3/2}}"
    r" \Rightarrow \Pr[\Theta^\tau \in \mathcal R,\ \tau \le t] \ge 1 - t\delta",
    plain="Theta stays in R with samples in proportion to lambda*_1 S^2 l^2/Delta^3.",
    hypotheses=ASSUMPTIONS,
    negative_control={"room": 0.125},
    stronger={"room": 1, "enough": -1, "limit": 1},
)
def proposition_A9(budget, rng, *, room=1.0 / 40.0, enough=1250.0, limit=1.0):
    """Search for R of norm room eta Delta^1.5 that takes Theta out of R, and bound R by N.

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
    yield proved(model.noise_bounds(
        lambda s: flute_samples.proposition_A9(s, constant=enough),
        # 22 is what the derivation of Lemma A.13 has in place of 6 sqrt(2)/sqrt(c_1).
        lambda s, eta: 6.0 * np.sqrt(2.0) / 22.0 * room * eta * s.gap**1.5,
        "lemma_A8", f"c = {enough:g} gives that bound on R",
    ))  # fmt: skip
