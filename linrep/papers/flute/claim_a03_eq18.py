"""Appendix A.2.1: Claim A.3 on the start, and the growth (18) that it is for."""

from __future__ import annotations

from functools import partial

import numpy as np

from linrep.claims import Cases, Fact, Identity, statement
from linrep.claims.evidence import PROVED
from linrep.papers.flute import _common, _entering
from linrep.papers.flute._hypotheses import POPULATION
from linrep.papers.flute.counterexamples import eq18 as one_step
from linrep.papers.flute.counterexamples import lemmaa5_display as exact_start
from linrep.theory.flute import balance_needed, entry_time, exponent, sizes, step_size_limits

ROUNDING = 1e-9
#: Units of Phi: lambda*_1 from 2e-6 to 8e6, on both sides of 1.
_UNITS = 10.0 ** np.arange(-6.0, 7.0)

# What Lemma A.5 takes from Claim A.3.


def _kappa_below_one(budget, rng):
    """Search spectra and step sizes for kappa >= 1."""

    def read(reader, shape):
        spectrum = _common.read_spectrum(reader, shape, 1e-4)
        return spectrum, reader.between(1e-6, 1e3, logarithmic=True)

    return _common.searched(
        lambda pair: (exponent(*pair), 1.0),
        _common.SEARCH_SHAPES,
        read,
        budget,
        rng,
        name="kappa < 1",
        strength=PROVED,
    )


def _on_the_boundary(first_power, budget):
    """Yield (setting, spectrum, eta, Theta) with equality in the last condition, for s = 1."""
    for setting, spectrum in _common.spectra(
        shapes=budget(("d < n",), ("d < n", "d = n", "d > n"))
    ):
        for place in _entering.LIMITS.values():
            eta = step_size_limits(spectrum)[place]
            for share in (0.99, 0.1, 1e-3, 1e-8):
                leading = np.sqrt(0.25 * share * spectrum.gap)
                Theta = _entering.two_sizes(leading, 1.0, spectrum)
                rest = np.exp(0.5 * float(_entering.balance(Theta, spectrum, eta, first_power)))
                where = {**setting, "step_size": eta, "sigma_k": leading}
                yield where, spectrum, eta, _entering.two_sizes(leading, rest, spectrum)


def _needed_at_each_scale(first_power, factor, budget):
    """Compare what the condition allows with what the proof of Lemma A.5 needs, for all s."""
    cases: dict[str, list] = {"lambda*_1 > 1": [], "lambda*_1 <= 1": []}
    for setting, spectrum, eta, Theta in _on_the_boundary(first_power, budget):
        leading = sizes(Theta).leading
        for s in _UNITS:
            other = _common.scaled(spectrum, Theta, eta, s)
            # What is allowed at s, in the unit of s.
            probe = _entering.two_sizes(np.sqrt(s) * leading, 1.0, spectrum)
            margin = float(_entering.balance(probe, *other[::2], first_power))
            rest = np.exp(0.5 * (margin + np.log(factor)))
            largest = _entering.two_sizes(np.sqrt(s) * leading, rest, spectrum)
            over = -float(balance_needed(largest, other.spectrum, other.step_size))
            where = {**setting, "s": float(s), "sigma_res": float(rest)}
            name = "lambda*_1 > 1" if other.spectrum.first > 1.0 else "lambda*_1 <= 1"
            cases[name].append((float(np.exp(over)), 1.0 + ROUNDING, where))
    return [
        Cases(
            found,
            name=f"what Lemma A.5 needs, {name}",
            strength=PROVED,
            quantity="sigma_1^2(Theta_res) allowed over that needed",
        )
        for name, found in cases.items()
    ]


def _exact(first_power):
    """Compare both sides, cubed, at an exact start, kappa being 2/3 and lambda*_1 = 4."""
    where = {
        "lambda*": [exact_start.FIRST, str(exact_start.FIRST - exact_start.GAP)],
        "kappa": "2/3",
        "eta": str(exact_start.STEP / exact_start.FIRST),
        "sigma_k": str(exact_start.SIGMA),
    }
    return Cases(
        [(*exact_start.sides(first_power), where)],
        name="exact start, lambda*_1 = 4",
        quantity="both sides of what Lemma A.5 needs, cubed",
        strength=PROVED,
    )


def _same_in_every_unit(first_power, budget):
    """Compare the margin of the last condition for all s with that for s = 1."""
    cases = []
    for setting, spectrum, eta, Theta in _on_the_boundary(first_power, budget):
        for s in _UNITS:
            other = _common.scaled(spectrum, Theta, eta, s)
            moved = float(
                _entering.balance(other.Theta, other.spectrum, other.step_size, first_power)
            )
            cases.append((abs(moved), {**setting, "s": float(s), "margin at s": moved}))
    return Identity(
        cases,
        ROUNDING,
        name="membership for s = 1e-6 ... 1e6",
        strength=PROVED,
        quantity="shift of the log margin",
    )


def _growth_until_entry(budget):
    """Check (1 + eta lambda_{k+1}/2 + eta Delta/8)^T_R = (Delta/(4 sigma_k^2))^(kappa/2)."""
    cases = []
    for setting, spectrum, eta, Theta in _on_the_boundary(-0.5, budget):
        leading = float(sizes(Theta).leading)
        rate = np.log1p(eta * (0.5 * spectrum.next + 0.125 * spectrum.gap))
        left = float(entry_time(leading, spectrum, eta)) * rate
        ratio = 0.25 * spectrum.gap / leading**2
        right = 0.5 * exponent(spectrum, eta) * np.log(ratio)
        cases.append((abs(left - right) / max(1.0, abs(right)), setting))
    return Identity(cases, ROUNDING, name="growth until T_R", strength=PROVED)


def _small_steps(budget):
    """Check kappa -> (lambda_{k+1} + Delta/4)/(lambda_{k+1} + Delta/2) as eta -> 0."""
    cases = []
    for setting, spectrum, _, _ in _on_the_boundary(-0.5, budget):
        limit = (spectrum.next + 0.25 * spectrum.gap) / (spectrum.next + 0.5 * spectrum.gap)
        kappa = exponent(spectrum, 1e-9 / spectrum.first)
        cases.append((abs(kappa / limit - 1.0), {**setting, "limit": limit}))
    return Identity(cases, 1e-7, name="kappa as eta -> 0", strength=PROVED)


@statement(
    "flute.lemmaA5.display",
    place="Lemma A.5, second display of its proof",
    latex=r"\sigma_1^2(\Theta_{res}^0) \le c_1\sigma_k(\Theta_k^0)^{1+\kappa},\; c_1 ="
    r" \tfrac{\Delta^{1-\kappa/2}}{2^{3-\kappa}},\; \kappa ="
    r" \tfrac{\log(1+\eta\lambda^*_{k+1}/2+\eta\Delta/8)}"
    r"{\log(1+\frac\eta2(\lambda^*_k-\Delta/2))} < 1 \;\Rightarrow\;"
    r" \big(\tfrac{\Delta}{4\sigma_k^2}\big)^{\kappa/2}\sigma_1^2(\Theta_{res}^0) \le"
    r" \tfrac{\Delta\sigma_k}{8\sqrt{\lambda^*_1}}",
    plain="Starts of Claim A.3 are balanced enough for Lemma A.5, whatever the unit of Phi.",
    hypotheses=POPULATION,
    negative_control={"first_power": 0.5},
)
def lemmaA5_display(budget, rng, *, first_power=0.0, factor=1.0):
    """Check kappa, what the proof of Lemma A.5 draws from the claim, and changes of unit."""
    yield from _needed_at_each_scale(first_power, factor, budget)
    yield _exact(first_power)
    yield _same_in_every_unit(first_power, budget)
    yield _kappa_below_one(budget, rng)
    yield _small_steps(budget)
    yield _growth_until_entry(budget)


lemmaA5_display.corrected(
    "flute.lemmaA5.display.corrected",
    latex=r"\sigma_1^2(\Theta_{res}^0) \le \tfrac{c_1}{\sqrt{\lambda^*_1}}"
    r"\sigma_k(\Theta_k^0)^{1+\kappa} \;\Leftrightarrow\;"
    r" \big(\tfrac{\Delta}{4\sigma_k^2}\big)^{\kappa/2}\sigma_1^2(\Theta_{res}^0) \le"
    r" \tfrac{\Delta\sigma_k}{8\sqrt{\lambda^*_1}}",
    plain="With c_1 over sqrt(lambda*_1) Claim A.3 is what Lemma A.5 needs, in every unit.",
    constants={"first_power": -0.5},
    negative_control={"first_power": 0.5},
    stronger={"first_power": 0, "factor": 1},
)


# (18): growth of sigma_k(Theta_k) until the region is reached.


_LOSS = "loss of the rate in eta Delta"


def _loss_needed(start: _entering.Start):
    """Return the least c with sigma_k(Theta_k^t) >= (1 + eta lambda_k/2 - c eta Delta)^t sigma_k.

    For 1 <= t <= min(T_R, T'), integers; None if there is none.
    """
    last = int(_entering.expected_time(start))
    if last < 1:
        return None
    spectrum = start.spectrum
    found = _entering.course(start, np.unique([0, *np.geomspace(1, last, 24).round()]))
    reached = np.nonzero(found.leading**2 >= 0.25 * spectrum.gap)[0]
    upto = slice(1, reached[0] + 1 if reached.size else len(found.t))
    growth = np.expm1(np.log(found.leading[upto] / found.leading[0]) / found.t[upto])
    return float(np.max(0.5 * spectrum.last - growth / start.step_size) / spectrum.gap)


def _search_growth(budget, rng, first_power, loss):
    def sides(start):
        needed = _loss_needed(start)
        return None if needed is None else (needed, loss)

    return _common.searched(
        sides,
        budget(_common.SEARCH_SHAPES[2:3], _common.SEARCH_SHAPES[1:6:2]),
        partial(_entering.read_start, first_power=first_power, least_gap=0.2),
        budget,
        rng,
        name="search, any s and k",
    )


def _family_growth(budget, first_power, loss):
    """Check starts with k = 1 on the boundary."""
    cases = []
    shares = budget((0.3, 1e-2, 1e-4), (0.9, 0.3, 0.1, 1e-2, 1e-3, 1e-4, 1e-6))
    for name, start in _entering.boundary_family(
        (0.3, 0.5, 0.7, 0.9),
        budget(_common.SCALES[::3], _common.SCALES),
        shares,
        first_power=first_power,
    ):
        needed = _loss_needed(start)
        if needed is not None:
            cases.append((needed, loss + ROUNDING, {**start.plain(), "limit of eta": name}))
    return Cases(cases, name="k = 1, boundary of Claim A.3, both limits of eta", quantity=_LOSS)


def _gaussian_growth(budget, rng, first_power, loss):
    """Check random starts with the largest alpha that Claim A.3 allows, or less."""
    cases = []
    for setting, start in _entering.random_starts(
        budget(3, 12),
        rng,
        first_power,
        (1.0, 1e6),
        shapes=("d < n",),
        names=("gap", "even", "third 0.3"),
    ):
        needed = _loss_needed(start)
        if needed is not None:
            cases.append((needed, loss + ROUNDING, {**setting, **start.plain()}))
    return Cases(cases, name="random starts, largest alpha of Claim A.3", quantity=_LOSS)


def _misprint():
    """Return how far too small the induction line's middle is with lambda*_{k+1} for lambda*_k.

    The middle is Delta/(8 sqrt(lambda*_1)) (1 + eta lambda/2 - eta Delta/4)^t sigma_k at t = T_R,
    where with lambda*_k it equals the left side for starts on the boundary.
    """
    worst = 0.0
    for _, start in _entering.boundary_family(
        (0.3, 0.5, 0.7, 0.9), (1.0,), (1e-2, 1e-6), first_power=-0.5
    ):
        spectrum, eta = start.spectrum, start.step_size
        rates = [
            np.log1p(eta * (0.5 * value - 0.25 * spectrum.gap))
            for value in (spectrum.last, spectrum.next)
        ]
        worst = max(worst, np.exp(_entering.expected_time(start) * (rates[0] - rates[1])))
    return float(worst)


_EQ18 = (
    r"R = 0:\quad \sigma_k(\Theta_k^t) \ge \big(1+\tfrac{\eta\lambda^*_k}2-\tfrac{\eta\Delta}4"
    r"\big)^t\sigma_k(\Theta_k^0),\quad t \le \min\{T_{\mathcal R}, T'\}"
)


@statement(
    "flute.eq18",
    place="Lemma A.5, (18)",
    latex=_EQ18,
    plain="From starts of Claim A.3, sigma_k(Theta_k) grows at its rate until T_R.",
    hypotheses=POPULATION,
    negative_control={"loss": 0.0},
    stronger={"loss": -1, "first_power": 1},
)
def eq18(budget, rng, *, first_power=0.0, loss=0.25):
    """Follow the population map from starts that Claim A.3 allows, eta up to 1/(6 lambda*_1)."""
    yield Cases(
        [(*one_step.sides(loss, first_power < 0), one_step.INSTANCE)],
        name="one exact step, k = 1, s = 10^8",
        quantity="growth claimed, and found",
    )
    yield _family_growth(budget, first_power, loss)
    yield _gaussian_growth(budget, rng, first_power, loss)
    yield _search_growth(budget, rng, first_power, loss)
    yield Fact("factor by which lambda*_{k+1} makes the induction line too small", _misprint())


eq18.corrected(
    "flute.eq18.corrected",
    latex=_EQ18 + r",\text{ with } c_1/\sqrt{\lambda^*_1}\text{ in Claim A.3}",
    plain="From starts of Claim A.3 with c_1 over sqrt(lambda*_1), and eta up to 1/(6 lambda*_1), "
    "sigma_k(Theta_k) grows at its rate until T_R.",
    constants={"first_power": -0.5},
    negative_control={"loss": 0.0},
)
