"""Lemma A.16: how the weakest of the leading directions grows in a step."""

from fractions import Fraction as Q

import numpy as np

from linrep.claims import Cases, proved, statement
from linrep.claims.evidence import FAILS, UPPER
from linrep.claims.laws import Open, Region, Root, at_most, law, lines
from linrep.papers.flute import model
from linrep.papers.flute.counterexamples import lemmaa16 as printed
from linrep.papers.flute.model import UP_TO_THE_RANK, norm_of, rest_of, searched_region, step, thin

#: Theta_k with two singular values of very different size is where the lemma is hardest.
ALIGNED = ({"n": 3, "d": 3, "k": 2, "aligned": 1},)


@lines(
    "flute.lemmaA16.corrected", Region(root2=Root(2), s=lambda root2: (0, root2)), steps=["loss"]
)
def loss(s, root2):
    """What sigma_k = s loses is at most eta^2, in units of lambda*_1."""
    return at_most(root2 * s - s**2 / 4 - s**6 / 4, 1)


def lost(spectrum, eta, Theta):
    """Return what sigma_k^2(Theta_k) lacks after a step without noise, and what it was.

    Compared with (1 + eta (lambda*_k - sigma_1^2(Theta_res) - sigma_k^2(Theta_k))) times that.
    """
    square, rest = thin(Theta, spectrum) ** 2, rest_of(Theta, spectrum) ** 2
    gained = thin(step(Theta, spectrum, eta), spectrum) ** 2 - square
    return eta * (spectrum.last - rest - square) * square - gained, square


_A16 = (
    r"\eta \le \tfrac{\Delta^2}{16\lambda_1^{*3}},\ \sigma_1(\Theta) \le \sqrt{2\lambda_1^*}%s:\ "
    r"\sigma_k^2(\Theta_k^+) \ge \big(1 + \eta(\lambda_k^* - \sigma_1^2(\Theta_{res}) -"
    r" \sigma_k^2(\Theta_k)) - \tfrac{\eta\Delta}4\big)\sigma_k^2(\Theta_k) -"
    r" 4\sqrt{\lambda_1^*}\sigma_1(R_k)"
)


@statement(
    "flute.lemmaA16",
    place="Lemma A.16, (45), (46)",
    hypotheses=(UP_TO_THE_RANK,),
    latex=_A16 % "",
    plain="In a step the weakest leading direction grows almost as if it were alone.",
    negative_control={"loss": -0.25},
)
def lemma_A16(budget, rng, *, loss=0.25, floor=0.0, limit=1.0):
    """Take a step in fractions, and search with sigma_k(Theta_k) down to 0, or the floor.

    The noise takes at most sigma_1(R_k) from sigma_k, so that (46) follows from
    sigma_k(tilde Theta) <= 2 sqrt(lambda*_1); tilde Theta^tau there is that of tau + 1.
    """

    def second(spectrum, eta, Theta):
        less, square = lost(spectrum, eta, Theta)
        return less / (eta * spectrum.gap * square), loss + 0 * square

    def first(spectrum, eta, Theta):
        return lost(spectrum, eta, Theta)[0], eta**2 * spectrum.first**3

    def largest(spectrum, eta, Theta):
        return norm_of(step(Theta, spectrum, eta)[: spectrum.k]), 2 * np.sqrt(spectrum.first)

    if floor == 0.0:
        yield Cases(
            [(*printed.sides(loss), printed.INSTANCE)], name="(45), second line, in fractions",
            quantity="growth of sigma_k^2(Theta_k) that is claimed", predicted_is=UPPER,
        )  # fmt: skip
    least = (lambda spectrum: floor * spectrum.gap) if floor else model.anything
    shapes = budget((model.SEARCH_SHAPES[0], *ALIGNED), (*model.SEARCH_SHAPES[:5], *ALIGNED))
    for sides, name, smallest in (
        (second, "(45), second line, searched", least),
        (first, "(45), first line, searched", model.anything),
        (largest, "(46): sigma_1 at most 2 sqrt(lambda*_1)", model.anything),
    ):
        found = searched_region(
            sides, budget, rng, name, "lemma_A16", limit, shapes=shapes, smallest=smallest,
            rest=model.everything,
        )  # fmt: skip
        # The second line is proved where sigma_k^2 >= Delta/4, the others everywhere.
        yield proved(found) if floor or sides is not second else found


lemma_A16.corrected(
    "flute.lemmaA16.corrected",
    latex=_A16 % r",\ \sigma_k^2(\Theta_k) \ge \tfrac\Delta4",
    plain="If sigma_k^2(Theta_k) >= Delta/4, the weakest leading direction grows as if it were "
    "alone.",
    constants={"floor": 0.25},
    stronger={"loss": -1, "floor": -1, "limit": 1},
    negative_control={"loss": -0.25},
)


@law(
    "flute.lemmaA16.norm", "Lemma A.16, bound on sigma_1 in its proof",
    r"\eta \le \tfrac{\Delta^2}{16\lambda_1^{*3}},\ \sigma_1(\Theta) \le \sqrt{2\lambda_1^*}"
    r" \Rightarrow \sigma_1\big(\tfrac\eta2\tilde\Lambda_k\Theta_k\big) \le"
    r" \tfrac1{32}\sqrt{\lambda_1^*}",
    over=Region(eta=(Open(0), Q(1, 16)), size=(0, 2)), whole=False,
    wrong={"square": Q(1, 2)}, hypotheses=(UP_TO_THE_RANK,), expected=FAILS,
)  # fmt: skip
def summand(eta, size, *, square=1):
    """The leading rows' second summand after a step has a norm of at most sqrt(lambda*_1)/32."""
    # Squares, in units of lambda*_1; size is sigma_1^2(Theta_k).
    return at_most((eta / 2) ** 2 * size, square * Q(1, 32**2))


summand.corrected(
    "flute.lemmaA16.norm.corrected",
    latex=r"\sigma_1\big(\tfrac\eta2\tilde\Lambda_k\Theta_k\big) \le"
    r" \tfrac{\sqrt2}{32}\sqrt{\lambda_1^*}",
    plain="The leading rows' second summand after a step has a norm of at most sqrt(2 "
    "lambda*_1)/32.",
    constants={"square": 2},
    negative_control={"square": 1},
    stronger={"square": -1},
)
