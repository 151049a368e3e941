"""Appendix A.2.1: one step towards the region, (19), and Lemma A.17 on the rest."""

import math
from fractions import Fraction as Q
from functools import partial

import numpy as np

from linrep.claims import proved, statement
from linrep.claims.laws import Open, Region, Root, at_most, lines
from linrep.papers.flute import model
from linrep.papers.flute.model import ASSUMPTIONS, POPULATION, SEARCH_SHAPES, step, thin
from linrep.theory.flute import sizes, step_size_limits
from linrep.theory.flute_samples import lemma_A17

#: lambda*_k, Delta and eta <= Delta^2/18, in units of lambda*_1.
STEP = {
    "last": (Open(0), 1), "gap": lambda last: (Open(0), last),
    "eta": lambda gap: (Open(0), gap**2 / 18),
}  # fmt: skip

# (19): sigma_k(Theta_k) after a step without noise. Points are of Theta_k alone.


@lines("flute.eq19", Region(**STEP, root2=Root(2)), steps=["end_of_proof"])
def end_of_proof(eta, gap, last, root2, *, loss=Q(71, 288)):
    """The bound on the weakest direction loses at most 71/288 eta Delta."""
    bracket, base = eta**2 / (2 * (1 - eta) * (1 + eta / 2)), 1 + eta * last / 2
    bound = base * (1 - bracket) * (1 - eta * gap / 8) - root2 * eta * gap / 16
    return at_most(base - loss * eta * gap, bound)


def read_block(reader, shape, whole=1.0, times=1.0):
    """Return a Theta_k with sigma_1^2 <= whole * lambda*_1 = whole and sigma_k^2 <= Delta/4."""
    k, spectrum = shape["k"], model.read_spectrum(reader, shape)
    eta = times * step_size_limits(spectrum)["lemma_A5_proof"] * reader.between(0.1, 1.0)
    least = 0.5 * np.sqrt(spectrum.gap) * reader.between(1e-5, 1.0, logarithmic=True)
    others = [reader.between(least, np.sqrt(whole)) for _ in range(k - 1)]
    left, right = reader.frame(k, k), reader.frame(k, k)
    return model.Point(spectrum, eta, (left * np.array([*others, least])) @ right.T)


def moved(block, dtype=np.float64):
    """Return Theta_k + (eta/2) Lambda_k Theta_k - (eta/2) Theta_k Theta_k' Theta_k."""
    k, size = block.spectrum.k, block.spectrum.size
    only = np.vstack([block.Theta, np.zeros((2 * size - k, k))]).astype(dtype)
    return step(only, block.spectrum, block.step_size)[:k]


def rest_term(block):
    """Return the most that (eta/2) sigma_1(Theta_k Theta_res' Theta_res) can be.

    For sigma_1^2(Theta_res) at its limit Delta sigma_k/(8 sqrt(lambda*_1)).
    """
    spectrum, leading = block.spectrum, thin(block.Theta, block.spectrum)
    square = spectrum.gap * leading / (8.0 * math.sqrt(spectrum.first))
    return 0.5 * block.step_size * np.linalg.norm(block.Theta, 2) * square


@statement(
    "flute.eq19",
    place="Lemma A.5, (19)",
    latex=r"\eta \le \tfrac{\Delta^2}{18\lambda_1^{*3}},\; \sigma_k^2(\Theta_k) \le \tfrac\Delta4,"
    r"\; \sigma_1^2(\Theta_{res}) \le \tfrac{\Delta\sigma_k}{8\sqrt{\lambda^*_1}},"
    r"\; \sigma_1^2(\Theta) \le 2\lambda^*_1 \;\Rightarrow\; "
    r"\sigma_k\big(\Theta_k+\tfrac\eta2\tilde\Lambda_k\Theta_k-\tfrac\eta2\Theta_k\Theta_k^\top"
    r"\Theta_k\big)-\tfrac\eta2\sigma_1(\Theta_k\Theta_{res}^\top\Theta_{res}) \ge"
    r" \big(1+\tfrac{\eta\lambda^*_k}2-\tfrac{71}{288}\eta\Delta\big)\sigma_k(\Theta_k)",
    plain="A step without noise multiplies sigma_k by at least 1 + eta lambda*_k/2 - 71 eta "
    "Delta/288.",
    hypotheses=POPULATION,
    negative_control={"loss": 50.0 / 288.0},
    stronger={"loss": -1, "step": 1},
)
def eq19(budget, rng, *, loss=71.0 / 288.0, step=1.0):
    """Search with sigma_1^2(Theta) <= lambda*_1, as in Claim A.3, and 2 lambda*_1, as in R_s.

    Compared is what (19) loses, in eta Delta sigma_k.
    """

    def sides(block):
        spectrum, eta, Theta = block
        after = thin(moved(block), spectrum) - rest_term(block)
        lost = 1.0 + 0.5 * eta * spectrum.last - after / thin(Theta, spectrum)
        return lost / (eta * spectrum.gap), loss

    for whole in (2.0, 1.0):
        read = partial(read_block, whole=whole, times=step)
        shapes, name = SEARCH_SHAPES[:: budget(2, 1)], f"sigma_1^2(Theta) <= {whole:g} lambda*_1"
        yield proved(model.searched(sides, shapes, read, budget, rng, name=name))


@lines("flute.eq19.display.corrected", Region(
    **STEP, weak=lambda gap: (Open(0), gap / 4), leading=(0, 1)
))  # fmt: skip
def later_lines(eta, gap, last, weak, leading, *, middle=Q(1, 8), tail=Q(1, 16), loss=Q(71, 288)):
    """The lines after the first; weak and leading are squares of sigma_k and sigma_1(Theta_k)."""
    base = 1 + eta * last / 2
    line = (1 - eta**2 / 2) * base * (1 - middle * eta * gap) - tail * eta * gap
    return {
        "factor 1 - eta sigma_k^2/2": at_most(weak / 2, middle * gap),
        "term of Theta_res": at_most(leading / 16**2, tail**2),
        "last line implies (19)": at_most(base - loss * eta * gap, line),
    }


@statement(
    "flute.eq19.display",
    place="Lemma A.5, display before (19)",
    latex=r"\big(1-\tfrac{\eta^2\lambda_1^{*2}}2\big)\big(1+\tfrac{\eta\lambda^*_k}2\big)"
    r"\big(1-\tfrac{\eta\Delta}4\big)-\tfrac{\eta\Delta}8 \ge"
    r" 1+\tfrac{\eta\lambda^*_k}2-\tfrac{71}{288}\eta\Delta",
    plain="The display before (19), line by line, implies (19).",
    hypotheses=POPULATION,
    negative_control={"middle": 0.5},
)
def eq19_display(budget, rng, *, middle=0.25, tail=0.125, loss=Q(71, 288)):
    """Compare the lines of the display, and search for violations of what its first one takes.

    That is Lemma D.4 of Jiang et al. as it is quoted, with sigma_1(Lambda_k Theta_k' Theta_k) at
    most lambda*_1^2.
    """

    def first_line(block, dtype):
        spectrum, eta, k = block.spectrum, dtype(block.step_size), block.spectrum.k
        Theta, values = block.Theta.astype(dtype), spectrum.eigenvalues.astype(dtype)
        least = thin(Theta, spectrum)
        mixed = model.norm_of(values[:k, None] * (Theta.T @ Theta))
        base, unit = 1 + eta / 2 * values[k - 1], eta * dtype(spectrum.gap)
        bound = (1 - eta**2 / 2 * mixed) * base * (1 - eta / 2 * least**2)
        after = thin(moved(block, dtype), spectrum) / least
        return 1 + (bound - base) / unit, 1 + (after - base) / unit

    def kept(point):
        after = sizes(step(point.Theta, point.spectrum, point.step_size)).whole
        return after, math.sqrt(point.spectrum.first)

    inside = partial(
        model.read_point, limit=model.limit_of("lemma_A5"), smallest=lambda s: 1e-6 * s.gap,
        largest=lambda s: s.first,
    )  # fmt: skip
    for name, sides, read in (
        ("sigma_1^2(Theta) <= lambda*_1 is kept", kept, inside),
        ("first line", model.confirmed(first_line), read_block),
    ):
        few = SEARCH_SHAPES[:: budget(3, 2)]
        yield model.searched(sides, few, read, budget, rng, name=name)
    yield later_lines.measure(middle=middle, tail=tail, loss=loss)


eq19_display.corrected(
    "flute.eq19.display.corrected",
    latex=r"\ge \big(1-\tfrac{\eta^2\lambda_1^{*2}}2\big)\big(1+\tfrac{\eta\lambda^*_k}2\big)"
    r"\big(1-\tfrac{\eta\Delta}8\big)\sigma_k-\tfrac{\eta\Delta}{16}\sigma_k \ge"
    r" \big(1+\tfrac{\eta\lambda^*_k}2-\tfrac{71}{288}\eta\Delta\big)\sigma_k",
    plain="With 1/8 and 1/16 in place of 1/4 and 1/8 the display before (19) holds and implies "
    "(19).",
    constants={"middle": 0.125, "tail": 0.0625},
    negative_control={"tail": 0.05},
    stronger={"middle": -1, "tail": -1, "loss": -1},
)


# Lemma A.17.


@statement(
    "flute.lemmaA17",
    place="Lemma A.17, (47)",
    latex=r"\eta \le \tfrac1{6\lambda^*_1},\; \sigma_1(\Theta^0) \le \sqrt{2\lambda^*_1},\;"
    r" N \text{ as (47)} \;\Rightarrow\; \sigma_1(\Theta_{res}^\tau) \le"
    r" \big(1+\tfrac{\eta\lambda^*_{k+1}}2+\tfrac{\eta\Delta}8\big)^\tau\sigma_1(\Theta_{res}^0)",
    plain="In each step the norm of the remainder grows at most by the factor 1 + eta "
    "lambda*_{k+1}/2 + eta Delta/8.",
    hypotheses=ASSUMPTIONS,
    negative_control={"share": 0.1},
    stronger={"share": -1},
)
def lemmaA17(budget, rng, *, share=0.125):
    """Search steps without noise, in which the eighth of Delta is not needed, and bound R by (47).

    A step is enough: none leaves sigma_1^2(Theta) <= 2 lambda*_1, which is Lemma A.6's.
    """

    def growth(point):
        before = sizes(point.Theta).rest
        if before < 1e-3:
            return None
        after = sizes(step(point.Theta, point.spectrum, point.step_size)).rest
        # Both are made positive, which they are not for small eigenvalues.
        allowed = 0.5 * point.spectrum.next + min(share, share - 0.125) * point.spectrum.gap
        return (after / before - 1.0) / point.step_size + 2.0, 2.0 + allowed

    read = partial(
        model.read_point, limit=model.limit_of("lemma_A17"), smallest=lambda s: 1e-12 * s.gap,
        rest=model.everything,
    )  # fmt: skip
    some = SEARCH_SHAPES[1 : budget(4, None) : budget(2, 1)]
    name = "R = 0, without the eighth of Delta"
    yield model.searched(growth, some, read, budget, rng, name=name)
    yield model.noise_bounds(
        lambda s: lemma_A17(s, 1e-3 * np.sqrt(s.first)),
        lambda s, eta: 0.125 * eta * s.gap * 1e-3 * np.sqrt(s.first),
        "lemma_A17", "(47): 96 gives the eighth of Delta", noises=model.NOISES[:2],
    )  # fmt: skip
