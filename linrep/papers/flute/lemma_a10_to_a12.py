"""Lemmas A.10 and A.11, Proposition A.12: linear convergence within the region R."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from linrep.claims import Cases, Fact, statement
from linrep.papers.flute import _orbits
from linrep.papers.flute._checks import NOISES, cases_in_units, fewer, limit_of, thin
from linrep.papers.flute._common import searched_region, singular_values, step
from linrep.papers.flute._hypotheses import DRAWN
from linrep.theory import flute, flute_samples
from linrep.theory.flute import step_size_limits
from linrep.theory.flute_lift import product_error

# Lemma A.10: the rest.


def _links():
    """Yield (left, right, instance) of the steps from (23) to (29), exactly; lambda*_1 = 1."""
    grid = [Fraction(i, 10) for i in range(11)]
    for last in grid[1:]:
        for gap in (last * share for share in (Fraction(1, 20), Fraction(1, 2), Fraction(1))):
            eta, below = gap**2 / 36, last - gap
            x = eta * gap
            for size in (Fraction(0), last - gap / 2):  # sigma_1^2(Theta_res)
                for weak in (gap / 4, Fraction(1), Fraction(2)):  # sigma_k^2(Theta_k)
                    y = below + gap / 8 - size - weak
                    z = eta * (last - gap / 2 - size - weak)
                    where = {
                        "lambda*_k": float(last),
                        "Delta": float(gap),
                        "sigma_1^2(Theta_res)": float(size),
                        "sigma_k^2(Theta_k)": float(weak),
                    }
                    for place, left, right in (
                        ("(24), square", y**2, 16),
                        ("(24)", (1 + eta / 2 * y) ** 2, 1 + eta * y + x / 4),
                        ("(25)", 1 + eta * y + x / 4, 1 - x / 8 + z),
                        ("(26)", eta * gap**2 / 128, x / 8 * weak),
                        ("(27)", 1 + x / 8 + z, 1 + eta * (last - size - weak) - x / 4 - x / 8),
                        ("(28), range", abs(z), Fraction(1, 2)),
                        ("(28)", (1 - x / 8 + z) / (1 + x / 8 + z), (12 - x) / (12 + x)),
                        ("(28) to (29)", (12 - x) / (12 + x), (1 - x / 16) ** 2),
                    ):
                        yield left, right, {"place": place, **where}


def _printed_26():
    """Return how often (26) holds with sigma_k, as printed, in place of sigma_k^2."""
    gaps = np.array([spectrum.gap for _, spectrum in cases_in_units()])
    printed = np.mean(gaps**2 / 128 <= gaps / 8 * (gaps / 4) ** 2)
    return Fact("share of spectra and units with (26) as printed", float(printed))


@statement(
    "flute.lemmaA10",
    place="Lemma A.10, (22)-(29)",
    hypotheses=DRAWN,
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
    """Search R for the slowest step, follow runs without noise and on samples.

    (26) is read with sigma_k^2, as R has it. Of (28) and (29) the ends are compared.
    """

    def slowest(spectrum, eta, Theta, noisy=False):
        k, x = spectrum.k, eta * spectrum.gap
        rest, weak = singular_values(Theta[k:])[0], thin(Theta, spectrum)
        if not rest > 1e-10 * weak:
            return None
        after = step(Theta, spectrum, eta)
        grown = singular_values(after[k:])[0] + noisy * rest * x / 16
        left = thin(after, spectrum) - noisy * x * spectrum.gap / (512 * np.sqrt(spectrum.first))
        return rate * (2 - rate * x), (1 - (grown * weak / (left * rest)) ** 2) / x

    def disturbed(spectrum, eta, Theta):
        return slowest(spectrum, eta, Theta, noisy=True)

    bound = _orbits.at_rate(flute.rest_bound, rate)
    shrinking = {}
    for name, pair in (("one step", slowest), ("one step, worst R that (22) allows", disturbed)):
        found = searched_region(
            pair,
            budget,
            rng,
            limit=limit_of(_orbits.PLACE, limit),
            shapes=_orbits.few(budget),
            name=name,
        )
        shrinking[name] = 2.0 * rate / found.tightest
        yield found
    yield from _orbits.runs_below(
        _orbits.orbits(budget, rng),
        lambda orbit: flute.sizes(orbit.Theta).rest,
        bound,
        "R = 0",
        r"$\sigma_1(\Theta_{res})$",
    )
    yield Cases(_links(), name="(23) to (29)")
    yield _orbits.noise_bounds_in_time(
        fewer(flute_samples.lemma_A10, asked),
        lambda s, eta, t: np.minimum(
            np.sqrt(s.first) * flute.decay(s, eta, t + 1.0) * eta * s.gap / 16.0,
            eta * s.gap**2 / (512.0 * np.sqrt(s.first)),
        ),
        "(22): 192 and 6144 bound R",
    )
    yield _orbits.samples_below(
        budget,
        rng,
        flute_samples.lemma_A10,
        lambda state, spectrum: flute.sizes(state).rest,
        bound,
        "on samples, c_1 = 1",
    )
    for name, slow in shrinking.items():
        yield Fact(f"least 1 - rho^+/rho found, {name}", slow, "eta Delta")
    yield _printed_26()


# Lemma A.11: the leading rows.


def _excess(Theta, spectrum):
    """Return sigma_1(D), D = Theta_k Theta_k' - Lambda_k."""
    leading = Theta[: spectrum.k]
    learned = spectrum.eigenvalues[: spectrum.k].astype(Theta.dtype)
    return singular_values(leading @ leading.T - np.diag(learned))[0]


def _excesses(Theta, spectrum):
    """Return sigma_1(D) of many, (...)."""
    leading = Theta[..., : spectrum.k, :]
    D = leading @ np.swapaxes(leading, -1, -2) - np.diag(spectrum.eigenvalues[: spectrum.k])
    return np.linalg.norm(D, 2, axis=(-2, -1))


def _sums(limit, constant):
    """Yield the arithmetic of (33): cases over x = eta Delta up to 1/36."""
    for i in range(1, 37):
        x = Fraction(i, 36 * 36)
        series = Fraction(8 * 16) / (1 - x / 16)
        yield series, limit, {"place": "sum of the geometric series", "x": float(x)}
        yield 3 + limit, constant, {"place": "3 + 130", "x": float(x)}


def _reference(spectrum, eta, t):
    """Return sigma_D^(t + 1)."""
    amplitude = spectrum.first**2 / (eta * spectrum.gap**2)
    return np.minimum(3 * spectrum.first, amplitude * flute.decay(spectrum, eta, t + 1.0))


def _size(spectrum, eta, t):
    """Return what R_k is to be at most."""
    return _reference(spectrum, eta, t) * eta * spectrum.gap / (96 * np.sqrt(spectrum.first))


def _arithmetic(given):
    """Yield the inequalities about (32) and (33)."""
    for where, s, eta, t in given:
        R, unit = _size(s, eta, t), _reference(s, eta, t) * eta * s.gap
        whole = 2 * 2 * np.sqrt(s.first) * R + R**2
        yield eta * s.gap**2 / s.first, 1.0, {"place": "lambda*_1 >= eta Delta^2", **where}
        yield float(R**2 / (unit / 48)), 1.0, {"place": "(32)", **where}
        yield float(whole / (unit / 16)), 1.0 + 1e-12, {"place": "below (32)", **where}


@statement(
    "flute.lemmaA11",
    place="Lemma A.11, (30)-(33)",
    hypotheses=DRAWN,
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
    """Search R for the slowest step; check the constants; follow runs, also on samples."""

    def slowest(spectrum, eta, Theta):
        x, before = eta * spectrum.gap, _excess(Theta, spectrum)
        rest = singular_values(Theta[spectrum.k :])[0] ** 2
        after = _excess(step(Theta, spectrum, eta), spectrum)
        return (after - before) / x, rest / x - contraction * before

    def far(spectrum, eta, Theta):
        return _excess(Theta, spectrum), 3 * spectrum.first

    bound = _orbits.at_rate(lambda s, eta, t: constant / 200 * flute.leading_bound(s, eta, t), rate)
    given = [
        (where | {"t": t}, spectrum, step_size_limits(spectrum)[_orbits.PLACE], t)
        for where, spectrum in cases_in_units()
        for t in _orbits.ROUNDS
    ]
    for pair, shapes, name in (
        (slowest, _orbits.few(budget), "one step"),
        (far, budget(_orbits.SHAPES[:1], _orbits.SHAPES), "D at most 3 lambda*_1"),
    ):
        yield searched_region(
            pair, budget, rng, limit=limit_of(_orbits.PLACE, limit), shapes=shapes, name=name
        )
    yield from _orbits.runs_below(
        _orbits.orbits(budget, rng),
        lambda orbit: _excesses(orbit.Theta, orbit.spectrum),
        bound,
        "R = 0",
        r"$\|D\|$",
    )
    yield Cases([*_sums(130, constant), *_arithmetic(given)], name="(32), (33)")
    yield _orbits.noise_bounds_in_time(
        fewer(flute_samples.lemma_A11, asked), _size, "(31): 1152 bounds R"
    )
    yield _orbits.samples_below(
        budget, rng, flute_samples.lemma_A11, _excesses, bound, "on samples, c_1 = 1"
    )
    ratio = max(
        flute_samples.lemma_A10(s, eta, t) / flute_samples.lemma_A11(s, eta, t)
        for _, s, eta, t in given
        if t < 1000
    )
    yield Fact("samples of Lemma A.10, which the proof uses, over those of (31)", float(ratio))


# Proposition A.12: both.


def _implied():
    """Yield (left, right, where): samples that the proof needs over those of (34), and (37)."""
    for where, s in cases_in_units(NOISES[:2]):
        eta = step_size_limits(s)[_orbits.PLACE]
        for t in _orbits.ROUNDS:
            given = flute_samples.proposition_A12(s, eta, t)
            if not np.isfinite(given):
                continue
            for place, needed in (
                ("Lemma A.7", flute_samples.lemma_A7(s)),
                (
                    "Lemma A.6, corrected",
                    flute_samples.lemma_A13(s, 8.0 * np.sqrt(2.0) * s.first**1.5 / s.gap),
                ),
                ("Lemma A.8, corrected", flute_samples.lemma_A13_second(s)),
                ("Lemma A.10", flute_samples.lemma_A10(s, eta, t)),
                ("(31)", flute_samples.lemma_A11(s, eta, t)),
            ):
                yield float(needed / given), 1.0 + 1e-9, {"place": place, **where, "t": t}
        first, second = s.first**1.5 / np.sqrt(s.gap), s.first**2 / (eta * s.gap**2)
        both = 200.0 * second + 2.0 * np.sqrt(s.first) * np.sqrt(8.0 / s.gap) * s.first
        yield float(both / (400.0 * max(first, second))), 1.0, {"place": "below (37)", **where}
        yield float(first / second), 1.0, {"place": "the maximum", **where}


@statement(
    "flute.propositionA12",
    place="Proposition A.12, (34)-(37)",
    hypotheses=DRAWN,
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
    """Follow runs without noise and on samples; check what (34) is to imply, in several units."""
    bound = _orbits.at_rate(lambda s, eta, t: constant / 400 * flute.product_bound(s, eta, t), rate)
    yield from _orbits.runs_below(
        _orbits.orbits(budget, rng),
        lambda orbit: product_error(orbit.Theta, orbit.spectrum),
        bound,
        "R = 0",
        r"$\|\Theta\Theta'-\Lambda_k\|_F$",
    )
    yield Cases(_implied(), name="(34) implies (31) and Lemmas A.6 to A.8 and A.10")
    yield _orbits.samples_below(
        budget, rng, flute_samples.proposition_A12, product_error, bound, "on samples, c_1 = 1"
    )
