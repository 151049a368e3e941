"""(28), (29) and (37): what the proofs of Lemma A.10 and Proposition A.12 calculate."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from linrep.claims import Cases, Fact, search, statement
from linrep.claims.evidence import PROVED
from linrep.theory.flute import Spectrum, sizes
from linrep.theory.flute_lift import product_error

# (28), (29)


def _grid(top):
    """Return exact numbers from 1e-12 to a top, dense at both ends."""
    small = [top * Fraction(1, 10**power) for power in range(1, 13)]
    return [*small, *(top * Fraction(part, 60) for part in range(1, 61))]


def _links(top, divisor):
    """Yield each link of (28) and (29), as (left, right, instance) over x up to a top."""
    half, three = Fraction(1, 2), Fraction(3, 2)
    first, second, ends, text, widest = [], [], [], [], []
    for x in _grid(top):
        where = {"x": str(x)}
        ratio = (three - x / 8) / (three + x / 8)
        linear, square = 1 - x / Fraction(divisor), (1 - x / 16) ** 2
        first.append((ratio, linear, where))
        second.append((linear, square, where))
        ends.append((ratio, square, where))
        text.append((linear, 1 - x / 16, where))
        for part in range(-10, 11):
            a = half * Fraction(part, 10)
            widest.append(((1 - x / 8 + a) / (1 + x / 8 + a), ratio, where | {"a": str(a)}))
    yield f"(3/2 - x/8)/(3/2 + x/8) <= 1 - x/{divisor}", first
    yield f"1 - x/{divisor} <= (1 - x/16)^2", second
    yield "(3/2 - x/8)/(3/2 + x/8) <= (1 - x/16)^2", ends
    yield f"1 - x/{divisor} <= 1 - x/16, the text's reason", text
    yield "largest at 1/2 of all brackets within 1/2", widest


@statement(
    "flute.eq28",
    place="Lemma A.10, (28)-(29)",
    latex=r"x = \eta\Delta:\quad \frac{3/2 - x/8}{3/2 + x/8} \le 1 - \frac x6"
    r" \le \Big(1 - \frac x{16}\Big)^2",
    plain="The ratio of the one-step bounds is at most 1 - eta Delta/6, and that at most (1 - "
    "eta Delta/16)^2, the square of the rate.",
    negative_control={"divisor": 5},
)
def eq28(budget, rng, *, divisor=6):
    """Compare lhs and rhs of every link in exact fractions, for x up to 1/36 and up to 1."""
    for top in (Fraction(1, 36), Fraction(1)):
        for name, cases in _links(top, divisor):
            yield Cases(cases, name=f"{name}, x up to {top}", strength=PROVED)


eq28.corrected(
    "flute.eq28.corrected",
    latex=r"0 < x \le 1:\quad \frac{3/2 - x/8}{3/2 + x/8} \le 1 - \frac x7"
    r" \le \Big(1 - \frac x{16}\Big)^2",
    plain="The ratio of the one-step bounds is at most 1 - eta Delta/7, and that at most (1 - "
    "eta Delta/16)^2, the square of the rate.",
    constants={"divisor": 7},
    negative_control={"divisor": 9},
)


# (37)


def _theta(shape, x):
    """Return a lifted iterate with sigma_1 at most sqrt(2 lambda*_1), and the spectrum.

    The first entry sets how much of that bound is used.
    """
    size, k = shape["size"], shape["k"]
    values, entries = np.abs(x[1 : 1 + size]), x[1 + size :]
    spectrum = Spectrum(values, n=size, d=size, k=k)
    Theta = entries.reshape(2 * size, k)
    largest = np.linalg.norm(Theta, 2)
    if spectrum.first <= 0.0 or largest == 0.0:
        return None
    allowed = np.sqrt(2.0 * spectrum.first) * min(1.0, abs(x[0]))
    return Theta * (allowed / largest), spectrum


def _both_sides(instance, factor):
    Theta, spectrum = instance
    k = spectrum.k
    D = Theta[:k] @ Theta[:k].T - np.diag(spectrum.eigenvalues[:k])
    bound = np.sqrt(k) * np.linalg.norm(D, 2)
    bound += factor * np.sqrt(k * spectrum.first) * sizes(Theta).rest
    return float(product_error(Theta, spectrum)), float(bound)


@statement(
    "flute.eq37",
    place="Proposition A.12, (37)",
    latex=r"\sigma_1(\Theta) \le \sqrt{2\lambda^*_1}:\quad \|\Theta\Theta^\top -"
    r" \mathrm{diag}(\tilde\Lambda_k, 0)\|_F \le \sqrt k\,\|D\| + 2\sqrt{k\lambda^*_1}\,"
    r"\|\Theta_{\mathrm{res}}\|",
    plain="The error of Theta is bounded by those of its leading block and of the remainder.",
    negative_control={"factor": 1.7},
)
def eq37(budget, rng, *, factor=2.0):
    """Search over all Theta so small, and try those whose rest is as large as the leading rows."""

    def lhs_rhs(shape, x):
        instance = _theta(shape, x)
        return None if instance is None else _both_sides(instance, factor)

    yield search(
        lhs_rhs,
        [{"size": size, "k": k} for size, k in ((1, 1), (2, 1), (3, 2), (4, 3))],
        lambda shape: 1 + shape["size"] * (1 + 2 * shape["k"]),
        budget,
        rng,
        name="search",
        strength=PROVED,
    )
    even, needed = [], []
    for k in (1, 2, 4):
        for share in (1e-6, 1e-3, 0.1, 0.5, 0.9, 1.0):
            spectrum = Spectrum(np.ones(k), n=2 * k, d=2 * k, k=k)
            # D = 0, all singular values equal: the cross blocks and that of the rest are left.
            Theta = np.zeros((4 * k, k))
            Theta[:k] = np.sqrt(spectrum.first) * np.eye(k)
            Theta[k : 2 * k] = share * Theta[:k]
            left, right = _both_sides((Theta, spectrum), factor)
            even.append((left * (1.0 - 1e-12), right, {"k": k, "rest over leading rows": share}))
            needed.append(factor * left / right)
    yield Cases(even, name="D = 0 and rows of one length", strength=PROVED)
    yield Fact("largest factor needed in place of 2 at D = 0", max(needed))
