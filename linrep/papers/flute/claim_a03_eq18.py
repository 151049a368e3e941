"""Appendix A.2.1: Claim A.3 on the start, and the growth (18) that it is for."""

from functools import partial

import numpy as np

from linrep.claims import Cases, Identity, proved, statement
from linrep.claims.evidence import PROVED
from linrep.papers.flute import entering, model
from linrep.papers.flute.counterexamples import eq18 as one_step
from linrep.papers.flute.counterexamples import lemmaa5_display as exact_start
from linrep.papers.flute.model import POPULATION, SCALES, SEARCH_SHAPES
from linrep.theory.flute import balance_needed, entry_time, exponent, step_size_limits

ROUNDING = 1e-9

# What Lemma A.5 takes from Claim A.3.


def settings(budget):
    """Yield (setting, spectrum, eta, sigma_k) for s = 1."""
    for setting, spectrum in model.spectra(shapes=budget(("d < n",), ("d < n", "d = n", "d > n"))):
        for place in entering.LIMITS.values():
            eta = step_size_limits(spectrum)[place]
            for share in (0.99, 0.1, 1e-3, 1e-8):
                leading = np.sqrt(0.25 * share * spectrum.gap)
                where = {**setting, "step_size": eta, "sigma_k": leading}
                yield where, spectrum, eta, leading


def needed(budget, first_power, factor):
    """Compare what the condition allows, times a factor, with what Lemma A.5 needs, for all s.

    Units of Phi are such that lambda*_1 is from 2e-6 to 8e6, on both sides of 1.
    """
    cases: dict[str, list] = {"lambda*_1 > 1": [], "lambda*_1 <= 1": []}
    for setting, spectrum, eta, leading in settings(budget):
        for s in 10.0 ** np.arange(-6.0, 7.0):
            probe = entering.two_sizes(np.sqrt(s) * leading, 1.0, spectrum)
            other, step_size, _ = model.scaled(spectrum, probe, eta, s)
            margin = float(entering.balance(probe, other, step_size, first_power))
            rest = np.exp(0.5 * (margin + np.log(factor)))
            largest = entering.two_sizes(np.sqrt(s) * leading, rest, spectrum)
            over = np.exp(-float(balance_needed(largest, other, step_size)))
            where = {**setting, "s": float(s), "sigma_res": float(rest)}
            name = "lambda*_1 > 1" if other.first > 1.0 else "lambda*_1 <= 1"
            cases[name].append((float(over), 1.0 + ROUNDING, where))
    quantity = "sigma_1^2(Theta_res) allowed over that needed"
    for name, found in cases.items():
        title = f"what Lemma A.5 needs, {name}"
        yield Cases(found, name=title, strength=PROVED, quantity=quantity)


def growth_until_entry(budget):
    """Check (1 + eta lambda_{k+1}/2 + eta Delta/8)^T_R = (Delta/(4 sigma_k^2))^(kappa/2)."""
    for setting, spectrum, eta, leading in settings(budget):
        rate = np.log1p(eta * (0.5 * spectrum.next + 0.125 * spectrum.gap))
        left = float(entry_time(leading, spectrum, eta)) * rate
        right = 0.5 * exponent(spectrum, eta) * np.log(0.25 * spectrum.gap / leading**2)
        yield abs(left - right) / max(1.0, abs(right)), setting


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
    """Check kappa, and what the proof of Lemma A.5 draws from the claim, in several units."""

    def read(reader, shape):
        spectrum = model.read_spectrum(reader, shape, 1e-4)
        return spectrum, reader.between(1e-6, 1e3, logarithmic=True)

    yield from needed(budget, first_power, factor)
    where = {
        "lambda*": [exact_start.FIRST, str(exact_start.FIRST - exact_start.GAP)], "kappa": "2/3",
        "eta": str(exact_start.STEP / exact_start.FIRST), "sigma_k": str(exact_start.SIGMA),
    }  # fmt: skip
    yield Cases(
        [(*exact_start.sides(first_power), where)], name="exact start, lambda*_1 = 4",
        quantity="both sides of what Lemma A.5 needs, cubed", strength=PROVED,
    )  # fmt: skip
    yield proved(model.searched(
        lambda pair: (exponent(*pair), 1.0), SEARCH_SHAPES, read, budget, rng, name="kappa < 1"
    ))  # fmt: skip
    name = "growth until T_R"
    yield Identity(growth_until_entry(budget), ROUNDING, name=name, strength=PROVED)


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


def loss_needed(start: entering.Start):
    """Return the least c with sigma_k(Theta_k^t) >= (1 + eta lambda_k/2 - c eta Delta)^t sigma_k.

    For 1 <= t <= min(T_R, T'), integers; None if there is none.
    """
    last = int(entering.expected_time(start))
    if last < 1:
        return None
    spectrum = start.spectrum
    found = entering.course(start, np.unique([0, *np.geomspace(1, last, 24).round()]))
    reached = np.nonzero(found.leading**2 >= 0.25 * spectrum.gap)[0]
    upto = slice(1, reached[0] + 1 if reached.size else len(found.t))
    growth = np.expm1(np.log(found.leading[upto] / found.leading[0]) / found.t[upto])
    return float(np.max(0.5 * spectrum.last - growth / start.step_size) / spectrum.gap)


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

    def sides(start):
        found = loss_needed(start)
        return None if found is None else (found, loss)

    yield Cases(
        [(*one_step.sides(loss, first_power < 0), one_step.INSTANCE)],
        name="one exact step, k = 1, s = 10^8", quantity="growth claimed, and found",
    )  # fmt: skip
    boundary = entering.boundary_family(
        budget(SCALES[::3], SCALES),
        budget((0.3, 1e-2, 1e-4), (0.9, 0.3, 0.1, 1e-2, 1e-3, 1e-4, 1e-6)), first_power=first_power,
    )  # fmt: skip
    random = entering.random_starts(
        budget(3, 12), rng, first_power, (1.0, 1e6), shapes=("d < n",),
        names=("gap", "even", "third 0.3"),
    )  # fmt: skip
    for name, starts in (
        ("k = 1, boundary of Claim A.3, both limits of eta", boundary),
        ("random starts, largest alpha of Claim A.3", random),
    ):
        found = [(loss_needed(start), {**where, **start.plain()}) for where, start in starts]
        cases = [(least, loss + ROUNDING, where) for least, where in found if least is not None]
        yield Cases(cases, name=name, quantity="loss of the rate in eta Delta")
    shapes = budget(SEARCH_SHAPES[2:3], SEARCH_SHAPES[1:6:2])
    read = partial(entering.read_start, first_power=first_power, least_gap=0.2)
    yield model.searched(sides, shapes, read, budget, rng, name="search, any s and k")


eq18.corrected(
    "flute.eq18.corrected",
    latex=_EQ18 + r",\text{ with } c_1/\sqrt{\lambda^*_1}\text{ in Claim A.3}",
    plain="From starts of Claim A.3 with c_1 over sqrt(lambda*_1), and eta up to 1/(6 lambda*_1), "
    "sigma_k(Theta_k) grows at its rate until T_R.",
    constants={"first_power": -0.5},
    negative_control={"loss": 0.0},
)
