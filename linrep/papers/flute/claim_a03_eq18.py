"""Appendix A.2.1: Claim A.3 on the start, and the growth (18) that it is for."""

from functools import partial
from itertools import product

import numpy as np

from linrep.claims import Cases, proved, statement
from linrep.claims.evidence import PROVED
from linrep.claims.laws import at_most, measured
from linrep.papers.flute import entering, model
from linrep.papers.flute.counterexamples import eq18 as one_step
from linrep.papers.flute.counterexamples import lemmaa5_display as exact_start
from linrep.papers.flute.model import POPULATION, SEARCH_SHAPES
from linrep.theory.flute import balance_needed, exponent, step_size_limits

ROUNDING = 1e-9

# What Lemma A.5 takes from Claim A.3.


def allowed(budget, first_power, factor):
    """Yield what the condition allows, times a factor, over what Lemma A.5 needs, in units s.

    Units of Phi are such that lambda*_1 is from 2e-6 to 8e6, on both sides of 1.
    """
    spectra = model.spectra(shapes=budget(("d < n",), ("d < n", "d = n", "d > n")))
    for (setting, spectrum), place, share, s in product(
        spectra, entering.LIMITS.values(), (0.99, 0.1, 1e-3, 1e-8), 10.0 ** np.arange(-6.0, 7.0)
    ):
        leading = np.sqrt(s * 0.25 * share * spectrum.gap)
        probe = entering.two_sizes(leading, 1.0, spectrum)
        other, eta, _ = model.scaled(spectrum, probe, step_size_limits(spectrum)[place], s)
        margin = float(entering.balance(probe, other, eta, first_power))
        rest = np.exp(0.5 * (margin + np.log(factor)))
        largest = entering.two_sizes(leading, rest, spectrum)
        over = np.exp(-float(balance_needed(largest, other, eta)))
        where = {**setting, "s": float(s), "sigma_k": leading, "sigma_res": float(rest)}
        name = "lambda*_1 > 1" if other.first > 1.0 else "lambda*_1 <= 1"
        yield f"what Lemma A.5 needs, {name}", at_most(float(over), 1.0 + ROUNDING), where


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

    found, quantity = allowed(budget, first_power, factor), "allowed over needed"
    yield from measured(found, strength=PROVED, quantity=quantity).values()
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
    starts = entering.random_starts(
        budget(3, 12), rng, first_power, (1.0, 1e6), shapes=("d < n",),
        names=("gap", "even", "third 0.3"),
    )  # fmt: skip
    found = [(loss_needed(start), {**where, **start.plain()}) for where, start in starts]
    yield Cases(
        [(least, loss + ROUNDING, where) for least, where in found if least is not None],
        name="random starts, largest alpha of Claim A.3", quantity="loss of the rate in eta Delta",
    )  # fmt: skip
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
