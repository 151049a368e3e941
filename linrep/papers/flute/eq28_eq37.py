"""(28), (29) and (37): what the proofs of Lemma A.10 and Proposition A.12 calculate."""

from fractions import Fraction as Q

import numpy as np

from linrep.claims.evidence import FAILS
from linrep.claims.laws import Arrays, Open, Region, at_most, law
from linrep.theory.flute import Spectrum, sizes
from linrep.theory.flute_lift import product_error

# (28), (29)


@law(
    "flute.eq28", "Lemma A.10, (28)-(29)",
    r"x = \eta\Delta:\quad \frac{3/2 - x/8}{3/2 + x/8} \le 1 - \frac x6"
    r" \le \Big(1 - \frac x{16}\Big)^2",
    over=Region(
        x=lambda *, largest=Q(1, 36): (Open(0), largest),  # eta Delta
        a=(-Q(1, 2), Q(1, 2)),
    ),
    wrong={"divisor": 5}, expected=FAILS,
)  # fmt: skip
def eq28(x, a, *, divisor=6, rate=Q(1, 16)):
    """The ratio of one-step bounds is at most 1 - eta Delta/6, and that (1 - eta Delta/16)^2."""
    quotient, linear = (1 - x / 8 + a) / (1 + x / 8 + a), 1 - x / divisor
    return {
        "largest at 1/2": at_most(quotient, (12 - x) / (12 + x)),
        "(28)": at_most((12 - x) / (12 + x), linear),
        "(29)": at_most(linear, (1 - rate * x) ** 2),
        "the text's reason": at_most(linear, 1 - rate * x),
    }


eq28.corrected(
    "flute.eq28.corrected",
    latex=r"0 < x \le 1:\quad \frac{3/2 - x/8}{3/2 + x/8} \le 1 - \frac x7"
    r" \le \Big(1 - \frac x{16}\Big)^2",
    plain="The ratio of the one-step bounds is at most 1 - eta Delta/7, and that at most (1 - "
    "eta Delta/16)^2, the square of the rate.",
    constants={"divisor": 7, "largest": 1},
    negative_control={"divisor": 9},
    stronger={"divisor": -1, "rate": 1},
)


# (37)


@law(
    "flute.eq37", "Proposition A.12, (37)",
    r"\sigma_1(\Theta) \le \sqrt{2\lambda^*_1}:\quad \|\Theta\Theta^\top -"
    r" \mathrm{diag}(\tilde\Lambda_k, 0)\|_F \le \sqrt k\,\|D\| + <factor>\sqrt{k\lambda^*_1}\,"
    r"\|\Theta_{\mathrm{res}}\|",
    over=Arrays(
        *({"s": size, "k": k} for size, k in ((1, 1), (2, 1), (3, 2), (4, 3))),
        share="", values="s", upper="sk", lower="sk",
    ),
    wrong={"factor": 1.7}, stronger={"factor": -1},
)  # fmt: skip
def eq37(share, values, upper, lower, *, factor=2.0):
    """The error of Theta is bounded by those of its leading block and of the remainder."""
    (size, k), Theta = upper.shape, np.vstack([upper, lower])
    largest = np.linalg.norm(Theta, 2)
    if k > size or largest == 0.0 or not values.any():
        return None
    spectrum = Spectrum(np.sort(np.abs(values))[::-1], n=size, d=size, k=k)
    allowed = np.sqrt(2.0 * spectrum.first) * min(1.0, abs(share))
    Theta *= allowed / largest
    D = Theta[:k] @ Theta[:k].T - np.diag(spectrum.eigenvalues[:k])
    bound = np.sqrt(k) * np.linalg.norm(D, 2)
    bound += factor * np.sqrt(k * spectrum.first) * sizes(Theta).rest
    return at_most(float(product_error(Theta, spectrum)), float(bound))
