"""The probability in Lemma 4: log(n) in print, where delta_k has log(rn)."""

from itertools import product

import numpy as np
from scipy.stats import chi2

from linrep.claims import Readings, Together, everywhere, statement
from linrep.claims.evidence import PROVED, UPPER
from linrep.claims.laws import at_most, measured
from linrep.papers.fedrep.model import GAUSSIAN_ASSUMPTIONS

LOGARITHM = "log probability of a violation"


def refuted(c, factor, of):
    """Compare, at rn = 2, a lower bound of the probability with what is left to a violation.

    k = 1, heads 1 and -1, normal x, any m >= 4 c^2 log 2. Of one client |f|/dist = |g|/|z|, g
    standard normal in R and z, independent of it, in R^m. The bound is violated where |z|^2 <= 2m,
    of probability 1/2 at least by Markov, and |g| > 4 c sqrt(log 2) =: T.
    """
    from flint import arb

    T = 4 * c * arb(2).log().sqrt()
    least = -arb(2).log() + (2 / arb.pi()).log() / 2 + (T / (1 + T * T)).log() - T * T / 2
    # The smallest power of 2 for which the allowed probability is below the bound.
    size = max(1, int(np.ceil(float(-least) / (factor * np.log(2.0)))) + 1)
    m = max(int(np.ceil(4 * c**2 * np.log(2.0))), 2**size if of == "m" else 0)
    return everywhere(
        lambda: least, lambda: -factor * size * arb(2).log(), {}, name=f"c = {c}",
        quantity=f"{LOGARITHM}, less that allowed",
        setting={"k": 1, "rn": 2, "c": c, f"log2 {of}": size, "heads": [1, -1], "m at least": m},
    )  # fmt: skip


def bounds(name, factor, constant):
    """Yield upper bounds of the log probability of a violation at a c, and what is allowed.

    For normal x. |f_i| <= |Phi w_i*| |g_i| / (sqrt(m) (1 - delta)), g_i standard normal in R^k,
    but where a singular value of X_i B is below sqrt(m) - sqrt(k) - t, t = k sqrt(226 log rn).
    """
    for k, rn, more in product((1, 2, 3, 8, 50), (2, 3, 10, 1000, 10**6), (1.0, 4.0, 1e4)):
        L = np.log(rn)
        m = np.ceil(more * constant**2 * k**3 * L) + 1.0  # delta_k is below 1
        delta, t = constant * np.sqrt(k**3 * L / m), k * np.sqrt(226.0 * L)
        singular = L - t**2 / 2.0
        large = L + chi2.logsf(constant**2 * k**2 * L, k)
        if (np.sqrt(k) + t) / np.sqrt(m) > delta:
            singular = 0.0  # the first event is not the one that is needed
        both = at_most(float(np.logaddexp(singular, large)), -factor * k**2 * L)
        yield name, both, {"k": k, "rn": rn, "m": m, "c": constant}


@statement(
    "fedrep.lemma4.probability",
    place="Lemma 4 (40)",
    latex=r"\exists c\ \forall m, k, rn, n: \quad P\Big[\|F\|_F > \frac{\delta_k}{1 - \delta_k}"
    r"\|W^*\|_2\,\mathrm{dist}\Big] \le e^{-110 k^2\log(n)},\quad \delta_k = "
    r"c\,k^{3/2}\sqrt{\log(rn)/m}",
    plain="Heads are as close as Lemma 4 says, except with probability at most n^(-110 k^2), for "
    "any number of participants.",
    hypotheses=GAUSSIAN_ASSUMPTIONS,
    negative_control={"of": "m"},
)
def lemma4_probability(budget, rng, *, of="n", factor=110, constant=20.0):
    """Bound the probability of a violation from below at rn = 2, or from above at all rn.

    `of` is what the probability has the logarithm of: n, rn or, as a control, m.
    """
    name = f"log(rn), normal x, c = {constant:g}"
    (serves,) = measured(
        bounds(name, float(factor), constant),
        quantity=LOGARITHM,
        strength=PROVED,
        measured_is=UPPER,
    ).values()
    if of == "rn":
        yield serves
        return
    printed = Together([refuted(c, factor, of) for c in (1, 10, 100, 1000)], name=f"log({of})")
    if of != "n":
        yield printed
        return
    yield Readings(
        [printed, serves],
        name="logarithm",
        phrase="with probability at least 1 - exp(-110 k^2 log(n))",
        printed_elsewhere={name: "(61)"},
    )


lemma4_probability.corrected(
    "fedrep.lemma4.probability.corrected",
    latex=r"P\Big[\|F\|_F > \frac{\delta_k}{1 - \delta_k}\|W^*\|_2\,\mathrm{dist}\Big] \le "
    r"e^{-110 k^2\log(rn)} \quad \text{for all } k,\ rn \ge 2 \text{ and } m \text{ with }"
    r"\delta_k = 20\,k^{3/2}\sqrt{\log(rn)/m} < 1 \quad (x \sim N(0, I))",
    plain="With log(rn) in place of log(n) Lemma 4's probability is right for normal covariates, "
    "at c = 20.",
    constants={"of": "rn"},
    stronger={"factor": 1, "constant": -1},
    negative_control={"of": "m"},
)
