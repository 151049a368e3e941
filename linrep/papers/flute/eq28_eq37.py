"""(28), (29) and (37): what the proofs of Lemma A.10 and Proposition A.12 calculate."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from linrep.claims import Cases, Fact, search_instances, statement
from linrep.claims.evidence import PROVED
from linrep.papers.flute._checks import by_name
from linrep.papers.flute.counterexamples import eq28 as printed
from linrep.theory.flute import Spectrum, sizes
from linrep.theory.flute_lift import product_error

# (28), (29)


def _grid(top):
    """Return exact numbers from 1e-12 to a top, dense at both ends."""
    small = [top * Fraction(1, 10**power) for power in range(1, 13)]
    return [*small, *(top * Fraction(part, 60) for part in range(1, 61))]


def _links(top, divisor, rate):
    """Yield each link of (28) and (29), as (name, left, right, instance) over x up to a top."""
    upto = f"x up to {top}"
    for x in _grid(top):
        where = {"x": str(x)}
        ratio, linear = printed.sides(x, divisor)
        square = (1 - rate * x) ** 2
        yield f"(3/2 - x/8)/(3/2 + x/8) <= 1 - x/{divisor}, {upto}", ratio, linear, where
        yield f"1 - x/{divisor} <= (1 - x/16)^2, {upto}", linear, square, where
        yield f"(3/2 - x/8)/(3/2 + x/8) <= (1 - x/16)^2, {upto}", ratio, square, where
        text = f"1 - x/{divisor} <= 1 - x/16, the text's reason, {upto}"
        yield text, linear, 1 - rate * x, where
        for a in (Fraction(part, 20) for part in range(-10, 11)):
            widest, at = (1 - x / 8 + a) / (1 + x / 8 + a), where | {"a": str(a)}
            yield f"largest at 1/2 of all brackets within 1/2, {upto}", widest, ratio, at


@statement(
    "flute.eq28",
    place="Lemma A.10, (28)-(29)",
    latex=r"x = \eta\Delta:\quad \frac{3/2 - x/8}{3/2 + x/8} \le 1 - \frac x6"
    r" \le \Big(1 - \frac x{16}\Big)^2",
    plain="The ratio of the one-step bounds is at most 1 - eta Delta/6, and that at most (1 - "
    "eta Delta/16)^2, the square of the rate.",
    negative_control={"divisor": 5},
)
def eq28(budget, rng, *, divisor=6, rate=Fraction(1, 16)):
    """Compare lhs and rhs of every link in exact fractions, for x up to 1/36 and up to 1."""
    for top in (Fraction(1, 36), Fraction(1)):
        yield from by_name(_links(top, divisor, rate), strength=PROVED)


eq28.corrected(
    "flute.eq28.corrected",
    latex=r"0 < x \le 1:\quad \frac{3/2 - x/8}{3/2 + x/8} \le 1 - \frac x7"
    r" \le \Big(1 - \frac x{16}\Big)^2",
    plain="The ratio of the one-step bounds is at most 1 - eta Delta/7, and that at most (1 - "
    "eta Delta/16)^2, the square of the rate.",
    constants={"divisor": 7},
    negative_control={"divisor": 9},
    stronger={"divisor": -1, "rate": 1},
)


# (37)


class _State(NamedTuple):
    """A lifted iterate and the spectrum."""

    Theta: Any
    spectrum: Spectrum

    @classmethod
    def read(cls, reader, shape):
        """Return one with sigma_1 at most sqrt(2 lambda*_1), of which the first number is a share.

        None where it would be 0.
        """
        size, k = shape["size"], shape["k"]
        share, values = abs(reader.number()), np.abs(reader.numbers(size))
        Theta, spectrum = reader.numbers(2 * size, k), Spectrum(values, n=size, d=size, k=k)
        largest = np.linalg.norm(Theta, 2)
        if spectrum.first <= 0.0 or largest == 0.0:
            return None
        allowed = np.sqrt(2.0 * spectrum.first) * min(1.0, share)
        return cls(Theta * (allowed / largest), spectrum)

    def sides(self, factor):
        """Return both sides of (37), with a factor of the second term."""
        Theta, spectrum, k = *self, self.spectrum.k
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
    stronger={"factor": -1},
)
def eq37(budget, rng, *, factor=2.0):
    """Search over all Theta so small, and try those whose rest is as large as the leading rows."""
    yield search_instances(
        lambda state: state.sides(factor),
        [{"size": size, "k": k} for size, k in ((1, 1), (2, 1), (3, 2), (4, 3))],
        _State.read,
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
            left, right = _State(Theta, spectrum).sides(factor)
            even.append((left * (1.0 - 1e-12), right, {"k": k, "rest over leading rows": share}))
            needed.append(factor * left / right)
    yield Cases(even, name="D = 0 and rows of one length", strength=PROVED)
    yield Fact("largest factor needed in place of 2 at D = 0", max(needed))
