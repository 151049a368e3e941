"""Lemmas A.10 and A.11, Proposition A.12: linear convergence within the region R."""

from dataclasses import replace
from fractions import Fraction as Q

import numpy as np

from linrep.claims import Cases, statement
from linrep.claims.laws import Open, Region, Root, at_most, lines
from linrep.papers.flute import model
from linrep.papers.flute.model import (
    ASSUMPTIONS,
    NOISES,
    Spectrum,
    rest_of,
    searched_region,
    step,
    step_size_limits,
    thin,
)
from linrep.theory import flute, flute_samples
from linrep.theory.flute_lift import iterate, product_error

PLACE = "lemma_A10"  # whose step size limit, Delta^2/(36 lambda*_1^3), all three have
ENOUGH = 1e-9  # errors below this are rounding
SHAPES = (
    *model.SEARCH_SHAPES[1:3],
    {"n": 3, "d": 3, "k": 2, "aligned": 1},
    *model.SEARCH_SHAPES[3:],
)
ROUNDS = (0, 1, 10, 1000, 100000)

#: R in the numbers that proofs use of it, in units of lambda*_1: lambda*_k, Delta, eta,
#: sigma_1^2(Theta_res) and sigma_k^2(Theta_k).
R = Region(
    last=(Open(0), 1),
    gap=lambda last: (Open(0), last),
    eta=lambda gap, *, limit=1: (Open(0), limit * gap**2 / 36),
    size=lambda last, gap: (0, last - gap / 2),
    weak=lambda gap: (gap / 4, 2),
)

# Runs against the bounds on them, which are functions of the spectrum, eta and t.


def orbits(budget, rng):
    """Yield spectra, eta, t and iterates (starts, records, rows, k) of runs without noise from R.

    Until the error is rounding, with eta at the limit and at a tenth of it.
    """
    for values, n, d, k, share in (
        ((0.5, 0.1), 2, 3, 1, 1.0),
        ((0.5, 0.1), 2, 3, 1, 0.1),
        ((0.5, 0.5, 0.05), 3, 3, 2, 1.0),
        ((0.5, 0.45, 0.2, 0.05), 5, 4, 2, 1.0),
        ((0.5, 0.45, 0.4, 0.15), 4, 4, 3, 1.0),
        ((0.5, 0.45, 0.2, 0.05), 5, 4, 2, 0.1),
        ((0.5, 0.4, 0.3), 3, 3, 2, 1.0),
    )[: budget(4, 7)]:
        spectrum = Spectrum(np.array(values), n, d, k)
        eta = share * step_size_limits(spectrum)[PLACE]
        last = int(50.0 / (eta * spectrum.gap))
        t = np.unique(np.concatenate([np.arange(5), np.geomspace(5, last, 60).astype(int)]))
        starts = model.extreme_points(spectrum, budget(12, 40, 200), rng)
        yield spectrum, eta, t, iterate(starts, spectrum.eigenvalues, eta, t).Theta


def runs_below(budget, rng, measure, bound):
    """Return how much of a bound runs without noise use, while that is more than rounding."""
    cases = []
    for spectrum, eta, t, Theta in orbits(budget, rng):
        allowed, size = bound(spectrum, eta, t), measure(Theta, spectrum)
        setting = {
            "singular values": spectrum.singular_values.tolist(),
            "n": spectrum.n, "d": spectrum.d, "k": spectrum.k, "eta": eta,
        }  # fmt: skip
        for used, start in zip(np.where(size > ENOUGH, size, 0.0) / allowed, Theta, strict=True):
            worst = int(np.argmax(used))
            where = {**setting, "t": int(t[worst]), "Theta^0": start[0].tolist()}
            cases.append((float(used[worst]), 1.0, where))
    return Cases(cases, name="R = 0", quantity="share of the bound")


def at_rate(bound, rate):
    """Return the bound with (1 - rate eta Delta)^t in place of (1 - eta Delta/16)^t."""

    def changed(spectrum, eta, t):
        x, t = eta * spectrum.gap, np.asarray(t, dtype=float)
        return bound(spectrum, eta, 0 * t) * np.exp(t * np.log1p(-rate * x))

    return changed


# Lemma A.10: the rest.


@lines("flute.lemmaA10", R, steps=True)
def displays(eta, gap, last, size, weak, *, rate=Q(1, 16)):
    """(23) to (29); (26) with sigma_k^2, as R has it."""
    x, y = eta * gap, last - gap + gap / 8 - size - weak
    z = eta * (last - gap / 2 - size - weak)
    return {
        "(24)": at_most((1 + eta / 2 * y) ** 2, 1 + eta * y + 4 * eta**2),
        "(25)": at_most(1 + eta * y + 4 * eta**2, 1 - x / 8 + z),
        "(26)": at_most(eta * gap**2 / 128, x / 8 * weak),
        "(27)": at_most(1 + x / 8 + z, 1 + eta * (last - size - weak) - x / 4 - x / 8),
        "(28), range": at_most(z**2, Q(1, 4)),
        "(28)": at_most((1 - x / 8 + z) / (1 + x / 8 + z), (12 - x) / (12 + x)),
        "(29)": at_most((12 - x) / (12 + x), (1 - rate * x) ** 2),
    }


@statement(
    "flute.lemmaA10",
    place="Lemma A.10, (22)-(29)",
    hypotheses=ASSUMPTIONS,
    latex=r"\eta \le \tfrac{\Delta^2}{36\lambda_1^{*3}},\ \Theta \in \mathcal R,\ R = 0:\ \rho^+"
    r" \le (1 - \tfrac{\eta\Delta}{16})^2\rho,\ \rho = \tfrac{\sigma_1^2(\Theta_{res})}"
    r"{\sigma_k^2(\Theta_k)}; \quad \sqrt N \ge c\,\ell\max\Big\{1, \tfrac{\sqrt{\lambda_1^*}S}"
    r"{\sigma_{ref}^{t+1}\Delta}, \tfrac{\lambda_1^*S}{\Delta^2}\Big\} \Rightarrow"
    r" \sigma_1(\Theta_{res}^{t+1}) \le \tfrac{2\sqrt2\lambda_1^*}{\sqrt\Delta}"
    r"\big(1 - \tfrac{\eta\Delta}{16}\big)^{t+1}",
    plain="Within R the remainder of Theta shrinks by the factor 1 - eta Delta/16 per step.",
    negative_control={"rate": 0.6},
    stronger={"rate": 1, "limit": 1, "asked": -1},
)
def lemma_A10(budget, rng, *, rate=1 / 16, limit=1.0, asked=1.0):
    """Prove its displays; search R for the slowest step, and bound R by the samples."""
    bound = at_rate(flute.rest_bound, rate)

    def slowest(spectrum, eta, Theta):
        x, rest, weak = eta * spectrum.gap, rest_of(Theta, spectrum), thin(Theta, spectrum)
        if not rest > 1e-10 * weak:
            return None
        after = step(Theta, spectrum, eta)
        grown = rest_of(after, spectrum) + rest * x / 16
        left = thin(after, spectrum) - x * spectrum.gap / (512 * np.sqrt(spectrum.first))
        return rate * (2 - rate * x), (1 - (grown * weak / (left * rest)) ** 2) / x

    name = "one step, worst R that (22) allows"
    yield searched_region(
        slowest, budget, rng, name, PLACE, limit, shapes=budget(SHAPES[:3], SHAPES)
    )
    yield runs_below(budget, rng, lambda Theta, _: flute.sizes(Theta).rest, bound)
    yield replace(displays.measure(rate=rate), name="(23) to (29)")
    yield model.noise_bounds(
        model.fewer(flute_samples.lemma_A10, asked),
        lambda s, eta, t: np.minimum(
            np.sqrt(s.first) * flute.decay(s, eta, t + 1.0) * eta * s.gap / 16.0,
            eta * s.gap**2 / (512.0 * np.sqrt(s.first)),
        ),
        PLACE, "(22): 192 and 6144 bound R", noises=NOISES[:2], rounds=ROUNDS,
    )  # fmt: skip


# Lemma A.11: the leading rows.


def distance(Theta, spectrum):
    """Return sigma_1(D), D = Theta_k Theta_k' - Lambda_k, of one or of many."""
    leading = Theta[..., : spectrum.k, :]
    D = leading @ np.swapaxes(leading, -1, -2)
    D = D - np.diag(spectrum.eigenvalues[: spectrum.k].astype(Theta.dtype))
    return np.linalg.norm(D, 2, axis=(-2, -1)) if D.ndim > 2 else model.norm_of(D)


def noise(spectrum, eta, t):
    """Return what R_k is to be at most, from sigma_D^(t + 1)."""
    amplitude = spectrum.first**2 / (eta * spectrum.gap**2)
    reference = np.minimum(3 * spectrum.first, amplitude * flute.decay(spectrum, eta, t + 1.0))
    return reference * eta * spectrum.gap / (96 * np.sqrt(spectrum.first))


@lines("flute.lemmaA11", Region(
    gap=(Open(0), 1),
    eta=lambda gap, *, limit=1: (Open(0), limit * gap**2 / 36),
    sigma=(Open(0), 3),  # sigma_D over lambda*_1
), steps=True)  # fmt: skip
def arithmetic(gap, eta, sigma, *, constant=200):
    """(32), where R_k is at most sigma_D eta Delta/96, and (33)."""
    x = eta * gap
    R_k = sigma * x / 96
    return {
        "lambda*_1 >= eta Delta^2": at_most(eta * gap**2, 1),
        "(32)": at_most(R_k**2, sigma * x / 48),
        "below (32)": at_most(4 * R_k + R_k**2, sigma * x / 16),
        "sum of the geometric series": at_most(8 * 16 / (1 - x / 16), 130),
        "3 + 130": at_most(133 + 0 * x, constant),
    }


@statement(
    "flute.lemmaA11",
    place="Lemma A.11, (30)-(33)",
    hypotheses=ASSUMPTIONS,
    latex=r"D = \Theta_k\Theta_k^\top - \tilde\Lambda_k,\ \eta \le \tfrac{\Delta^2}"
    r"{36\lambda_1^{*3}},\ \Theta \in \mathcal R,\ R = 0:\ \|D^+\| \le (1 - \tfrac{\eta\Delta}8)"
    r"\|D\| + \sigma_1^2(\Theta_{res}); \quad \sqrt N \ge \tfrac{1152\lambda_1^*S\ell}"
    r"{\sigma_D^{t+1}\Delta\sqrt{c_1}} \Rightarrow \|D^{t+1}\| \le \tfrac{200\lambda_1^{*2}}"
    r"{\eta\Delta^2}\big(1 - \tfrac{\eta\Delta}{16}\big)^{t+1}",
    plain="Within R the leading rows approach the learned eigenvalues linearly.",
    negative_control={"contraction": 0.5},
    stronger={"contraction": 1, "constant": -1, "rate": 1, "limit": 1, "asked": -1},
)
def lemma_A11(budget, rng, *, contraction=1 / 8, constant=200.0, rate=1 / 16, limit=1.0, asked=1.0):
    """Prove its constants; search R for the slowest step, and bound R by the samples."""

    def slowest(spectrum, eta, Theta):
        x, before = eta * spectrum.gap, distance(Theta, spectrum)
        after = distance(step(Theta, spectrum, eta), spectrum)
        return (after - before) / x, rest_of(Theta, spectrum) ** 2 / x - contraction * before

    bound = at_rate(lambda s, eta, t: constant / 200 * flute.leading_bound(s, eta, t), rate)
    yield searched_region(
        slowest, budget, rng, "one step", PLACE, limit, shapes=budget(SHAPES[:3], SHAPES)
    )
    yield runs_below(budget, rng, distance, bound)
    yield replace(arithmetic.measure(constant=constant), name="(32), (33)")
    yield model.noise_bounds(
        model.fewer(flute_samples.lemma_A11, asked), noise, PLACE, "(31): 1152 bounds R",
        noises=NOISES[:2], rounds=ROUNDS,
    )  # fmt: skip


# Proposition A.12: both.


def implied():
    """Yield (left, right, where): samples that the proof needs over those of (34)."""
    for where, s in model.cases_in_units(NOISES[:2]):
        eta = step_size_limits(s)[PLACE]
        for t in ROUNDS:
            given = flute_samples.proposition_A12(s, eta, t)
            large = 8 * np.sqrt(2) * s.first**1.5 / s.gap
            needed = {
                "Lemma A.7": flute_samples.lemma_A7(s),
                "Lemma A.6, corrected": flute_samples.lemma_A13(s, large),
                "Lemma A.8, corrected": flute_samples.lemma_A13_second(s),
                "Lemma A.10": flute_samples.lemma_A10(s, eta, t),
                "(31)": flute_samples.lemma_A11(s, eta, t),
            }
            for place, samples in needed.items() if np.isfinite(given) else ():
                yield float(samples / given), 1.0 + 1e-9, {"place": place, **where, "t": t}


@lines("flute.propositionA12", Region(
    root=(Open(0), 1),  # of Delta, in units of lambda*_1
    eta=lambda root: (Open(0), root**4 / 36),
    root8=Root(8),
), steps=True)  # fmt: skip
def end_of_proof(root, eta, root8):
    """Below (37): the second member of the maximum is the larger one, and 400 of it are enough."""
    first, second = 1 / root, 1 / (eta * root**4)
    return {
        "the maximum": at_most(first, second),
        "below (37)": at_most(200 * second + 2 * root8 * first, 400 * second),
    }


@statement(
    "flute.propositionA12",
    place="Proposition A.12, (34)-(37)",
    hypotheses=ASSUMPTIONS,
    latex=r"\Theta^0 \in \mathcal R,\ \eta \le \tfrac{\Delta^2}{36\lambda_1^{*3}},\ \sqrt N \ge"
    r" \tfrac{\ell}{\sqrt{c_1}}\max\Big\{1, \tfrac{1152S}{\kappa^t\Delta},"
    r" \tfrac{6144\lambda_1^*S}{\Delta^2}\Big\} \Rightarrow \|\Theta\Theta^\top -"
    r" \mathrm{diag}(\tilde\Lambda_k, 0)\|_F \le 400\,\tfrac{\lambda_1^{*2}}{\eta\Delta^2}\sqrt k"
    r"\,\big(1 - \tfrac{\eta\Delta}{16}\big)^t",
    plain="From R, Theta Theta' converges linearly to the best of rank k.",
    negative_control={"rate": 1.0},
    stronger={"constant": -1, "rate": 1},
)
def proposition_A12(budget, rng, *, constant=400.0, rate=1 / 16):
    """Follow runs without noise; check what (34) is to imply, in several units."""
    bound = at_rate(lambda s, eta, t: constant / 400 * flute.product_bound(s, eta, t), rate)
    yield runs_below(budget, rng, product_error, bound)
    yield Cases(implied(), name="(34) implies (31) and Lemmas A.6 to A.8 and A.10")
    yield end_of_proof.measure()
