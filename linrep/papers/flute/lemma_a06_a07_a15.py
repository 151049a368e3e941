"""Lemmas A.6, A.7 and A.15: how large Theta and its rest become in a step."""

from fractions import Fraction as Q
from functools import partial

import numpy as np

from linrep.claims import Cases, Identity, proved, statement
from linrep.claims.evidence import LOWER, PROVED
from linrep.claims.laws import Open, Region, Root, at_most, lines
from linrep.papers.flute import model
from linrep.papers.flute.counterexamples import lemmaa6 as signs
from linrep.papers.flute.model import (
    ASSUMPTIONS,
    FULL,
    SUB_GAUSSIAN,
    UP_TO_THE_RANK,
    norm_of,
    rest_of,
    searched_region,
    step,
    thin,
)
from linrep.theory import flute_samples

# Lemma A.6: the largest singular value.


@lines("flute.lemmaA6.corrected", Region(
    square=(0, 2), eta=lambda *, limit=1: (Open(0), limit * Q(2, 5))
))  # fmt: skip
def monotone(eta, square):
    """The derivative of s (1 + eta/2 - eta s^2/2) is not negative, lambda*_1 being 1."""
    return {"monotone on [0, sqrt(2 lambda*_1)]": at_most(0, 1 + eta / 2 - 3 * eta * square / 2)}


def with_noise(spectrum, **options):
    """Return (12 sqrt(2) S l/lambda*_1)^2/c_1, which bounds R by sqrt(2)/2 eta lambda*_1^1.5."""
    size = 8.0 * np.sqrt(2.0) * spectrum.first**1.5 / spectrum.gap
    return flute_samples.lemma_A13(spectrum, size, **options)


_A6 = (
    r"\eta \le \tfrac{2}{5\lambda_1^*},\ \Theta \in \mathcal R_s:\ \sigma_1(\Theta^+) \le \sigma_1"
    r"\big(1 + \tfrac\eta2\lambda_1^* - \tfrac\eta2\sigma_1^2\big) + \sigma_1(R) \le"
    r" \sqrt{2\lambda_1^*}\big(1 - \tfrac\eta2\lambda_1^*\big) + \sigma_1(R); \quad"
)
_STAYS = (
    r" \Rightarrow \Pr[\sigma_1(\Theta^\tau) \le \sqrt{2\lambda_1^*},\ \tau \le t] \ge 1-2t\delta"
)


@statement(
    "flute.lemmaA6",
    place="Lemma A.6",
    hypotheses=(UP_TO_THE_RANK, SUB_GAUSSIAN, FULL),
    latex=_A6 + r"\sqrt N \ge \tfrac{12\sqrt2}{\sqrt{c_1}}\sqrt{dk + k\log\tfrac1\delta}" + _STAYS,
    plain="Theta stays below sqrt(2 lambda*_1), with enough samples whatever the noise.",
    negative_control={"drop": 1.0},
    stronger={"drop": 1, "limit": 1, "asked": -1},
)
def lemma_A6(budget, rng, *, drop=0.5, limit=1.0, asked=1.0, samples=flute_samples.lemma_A6):
    """Search R_s up to the step size's limit, bound R by the samples, and take a step on signs."""

    def sides(spectrum, eta, Theta):
        before, after = norm_of(Theta), norm_of(step(Theta, spectrum, eta))
        first = before * (1 + eta * (spectrum.first - before**2) / 2)
        return after, min(first, np.sqrt(2 * spectrum.first) * (1 - drop * eta * spectrum.first))

    yield searched_region(
        sides, budget, rng, "without noise", "lemma_A6", limit, smallest=model.anything
    )
    yield monotone.measure(limit=limit)
    if samples is flute_samples.lemma_A6:
        # The least probability of leaving in one step, exactly; it is the same for any c_1.
        N = signs.samples()
        yield Cases(
            [(*signs.sides(), {"n": 2, "d": 1, "k": 1, "N": N, "sigma": N, "delta": 0.01})],
            name="one step on signs, c_1 = 1", quantity="probability of leaving", measured_is=LOWER,
        )  # fmt: skip
    yield model.noise_bounds(
        model.fewer(samples, asked), lambda s, eta: np.sqrt(0.5) * eta * s.first**1.5, "lemma_A6",
        "samples give the bound on R",
    )  # fmt: skip


lemma_A6.corrected(
    "flute.lemmaA6.corrected",
    latex=_A6 + r"\sqrt N \ge \tfrac{12\sqrt2\,S\ell}{\lambda_1^*\sqrt{c_1}}" + _STAYS,
    plain="Theta stays below sqrt(2 lambda*_1), with samples in proportion to S^2/lambda*_1^2.",
    constants={"samples": with_noise},
    negative_control={"drop": 1.0},
)


# Lemma A.7: the rest stays.


@lines("flute.lemmaA7", Region(
    last=(Open(0), 1),
    below=lambda last: (0, last),
    square=lambda last, below: (0, (last + below) / 2),
    eta=(Open(0), Q(1, 6)),
))  # fmt: skip
def side_inequalities(last, below, square, eta):
    """Of s (1 + eta (lambda*_{k+1} - s^2)/2), in units of lambda*_1, up to lambda*_k - Delta/2."""
    return {
        "1/(6 lambda*_1) <= 2/(3 lambda*_k + lambda*_k+1)": at_most(eta * (3 * last + below), 2),
        "monotone": at_most(0, 1 + eta * below / 2 - 3 * eta * square / 2),
    }


@statement(
    "flute.lemmaA7",
    place="Lemma A.7, (20), (21)",
    hypotheses=ASSUMPTIONS,
    latex=r"\eta \le \tfrac{1}{6\lambda_1^*},\ \Theta \in \mathcal R_s:\ \sigma_1(\Theta_{res}^+)"
    r" \le \sqrt{\lambda_k^* - \tfrac\Delta2}\,\big(1 - \tfrac{\eta\Delta}4\big) + \sigma_1(R);"
    r"\quad \sqrt N \ge \max\Big\{\tfrac{\ell}{\sqrt{c_1}}, \tfrac{48\sqrt{\lambda_1^*}S\ell}"
    r"{\Delta\sqrt{c_1(\lambda_k^* - \Delta/2)}}\Big\} \Rightarrow \text{stays},\ 1 - 2t\delta",
    plain="The remainder of Theta stays below sqrt(lambda*_k - Delta/2).",
    negative_control={"drop": 0.5},
    stronger={"drop": 1, "limit": 1, "asked": -1},
)
def lemma_A7(budget, rng, *, drop=0.25, limit=1.0, asked=1.0):
    """Search R_s; check the side inequality and the constant 48.

    The proof also uses sigma_1(Theta) <= sqrt(2 lambda*_1) at every step, hence Lemma A.6.
    """

    def sides(spectrum, eta, Theta):
        full = np.sqrt(spectrum.last - spectrum.gap / 2)
        return rest_of(step(Theta, spectrum, eta), spectrum), full * (1 - drop * eta * spectrum.gap)

    yield searched_region(
        sides, budget, rng, "(20), without noise", "lemma_A7", limit, smallest=model.anything
    )
    yield side_inequalities.measure()
    yield model.noise_bounds(
        model.fewer(flute_samples.lemma_A7, asked),
        lambda s, eta: 0.25 * eta * s.gap * np.sqrt(s.last - 0.5 * s.gap),
        "lemma_A7", "(21): 48 gives the bound on R",
    )  # fmt: skip


# Lemma A.15: a step of the rest.


@lines("flute.lemmaA15", Region(
    eta=(Open(0), Q(1, 6)), root2=Root(2), t=lambda root2: (0, root2), s=lambda t: (0, t)
), steps=["grows"])  # fmt: skip
def grows(eta, s, t):
    """The bound of (42), s/2 - eta s^3/2, grows."""
    return at_most(s / 2 - eta * s**3 / 2, t / 2 - eta * t**3 / 2)


def thirds(spectrum, eta, Theta):
    """Return the three summands of Theta_res^+ in (41), and what (42) to (44) bound them by."""
    leading, rest = Theta[: spectrum.k], Theta[spectrum.k :]
    values = spectrum.eigenvalues[spectrum.k :, None].astype(Theta.dtype)
    size, least = rest_of(Theta, spectrum), thin(Theta, spectrum)
    return [
        (rest / 2 - eta / 2 * rest @ (rest.T @ rest), size / 2 - eta / 2 * size**3),
        ((1 / 4 + eta / 2 * values) * rest, (1 / 4 + eta / 2 * spectrum.next) * size),
        (rest / 4 - eta / 2 * rest @ (leading.T @ leading), (1 / 4 - eta / 2 * least**2) * size),
    ]


def splits(budget, rng):
    """Yield how far the sum of (41), with Theta^tau, is from the step."""
    read = partial(model.read_point, rest=model.everything, limit=model.limit_of("lemma_A15"))
    for shape in model.SEARCH_SHAPES:
        for _ in range(budget(10, 50)):
            spectrum, eta, Theta = model.drawn(read, shape, rng)
            total = sum(part for part, _ in thirds(spectrum, eta, Theta))
            after = step(Theta, spectrum, eta)[spectrum.k :]
            yield np.linalg.norm(total - after) / np.linalg.norm(Theta), shape


@statement(
    "flute.lemmaA15",
    place="Lemma A.15, (41)-(44)",
    latex=r"\eta \le \tfrac1{6\lambda_1^*},\ \sigma_1(\Theta) \le \sqrt{2\lambda_1^*}:\quad"
    r" \sigma_1(\Theta_{res}^+) \le \big(1 + \tfrac\eta2(\lambda_{k+1}^* -"
    r" \sigma_1^2(\Theta_{res}) - \sigma_k^2(\Theta_k))\big)\sigma_1(\Theta_{res}) +"
    r" \sigma_1(R_{res})",
    plain="In a step the remainder of Theta grows at most as if all its directions were the worst "
    "one.",
    negative_control={"leading": 1.5},
    stronger={"leading": 1, "limit": 1},
)
def lemma_A15(budget, rng, *, leading=1.0, limit=1.0):
    """Search for violations of the lemma and of its three summands.

    R only adds its norm.
    """

    def whole(spectrum, eta, Theta):
        size, least = rest_of(Theta, spectrum), thin(Theta, spectrum)
        after = rest_of(step(Theta, spectrum, eta), spectrum)
        return after, (1 + eta / 2 * (spectrum.next - size**2 - leading * least**2)) * size

    def summands(spectrum, eta, Theta):
        if not rest_of(Theta, spectrum) > 0:
            return None
        return max(norm_of(part) / bound for part, bound in thirds(spectrum, eta, Theta)), 1

    few = budget(model.SEARCH_SHAPES[1:3], model.SEARCH_SHAPES[:4])
    for name, sides, shapes in (("the lemma", whole, None), ("(42) to (44)", summands, few)):
        yield proved(searched_region(
            sides, budget, rng, name, "lemma_A15", limit, shapes=shapes, smallest=model.anything,
            rest=model.everything,
        ))  # fmt: skip
    yield Identity(splits(budget, rng), 1e-12, name="(41)", strength=PROVED)
