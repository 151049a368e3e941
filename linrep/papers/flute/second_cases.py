"""Lemmas A.10 and A.11, the second cases of their proofs: after the last time below a reference."""

from fractions import Fraction as Q

from linrep.claims import Cases, statement
from linrep.claims.laws import Open, Region, at_most, law, lines
from linrep.papers.flute.counterexamples import lemmaa11_second_case as printed
from linrep.papers.flute.model import GAP


@law(
    "flute.lemmaA10.second_case", "Lemma A.10, second case",
    r"\sigma_1^2(\Theta_{res}^{t+1}) \le \tfrac{8\lambda_1^*}\Delta(\sigma_{ref}^{t+1})^2"
    r"\big(1 - \tfrac{\eta\Delta}{16}\big)^{2(t+1-t')} \le \tfrac{8\lambda_1^{*2}}\Delta"
    r"\big(1 - \tfrac{\eta\Delta}{16}\big)^{2(t+1)}",
    over=Region(
        x=(Open(0), Q(1, 36)),  # eta Delta
        a=(-Q(1, 2), Q(1, 2)),
        reference=(Open(0), 1),  # its square, over 8 lambda*_1^2/Delta
        kept=(0, 1),  # (1 - x/16)^(t + 1 - t')
    ),
    whole=False, hypotheses=(GAP,), wrong={"rate": Q(1, 10)}, stronger={"rate": 1},
)  # fmt: skip
def lemma_A10(x, a, reference, kept, *, rate=Q(1, 16)):
    """Once below its reference, the remainder stays below Lemma A.10's bound until step t + 1."""
    # The ratio of a step, (12 - x)/(12 + x), is more than 1 - x/6, as printed.
    return {
        "(28), (29)": at_most((1 - x / 8 + a) / (1 + x / 8 + a), (1 - rate * x) ** 2),
        "the lemma's bound": at_most(reference * kept**2, reference),
    }


@lines("flute.lemmaA11.second_case.corrected", Region(
    gap=(Open(0), 1),
    eta=lambda gap: (Open(0), gap**2 / 36),
    first=(0, 1),  # (1 - eta Delta/16)^t'
    later=(0, 1),  # (1 - eta Delta/16)^(t + 1 - t')
), steps=["without noise"])  # fmt: skip
def powers_kept(gap, eta, first, later, *, constant=200):
    """D after the second case over (1 - eta Delta/16)^(t + 1), in lambda*_1^2/(eta Delta^2)."""
    x = eta * gap
    series = 8 * 16 * first * (1 - later) / (1 - x / 16)
    return {
        "without noise": at_most((1 - x / 8) ** 2 + 2 * eta**2, 1 - x / 8),
        "D after the second case": at_most(later + series, constant),
    }


@statement(
    "flute.lemmaA11.second_case",
    place="Lemma A.11, second case",
    hypotheses=(GAP,),
    latex=r"\frac{\sigma_1(D^{t+1})}{(1 - \eta\Delta/16)^{t+1-t'}} \le"
    r" \frac{200\lambda_1^{*2}}{\eta\Delta^2} \;\Rightarrow\; \sigma_1(D^{t+1}) \le"
    r" \frac{200\lambda_1^{*2}}{\eta\Delta^2}\big(1 - \tfrac{\eta\Delta}{16}\big)^{t+1}",
    plain="The second case of Lemma A.11 yields the lemma's bound.",
    negative_control={"constant": 100},
)
def lemma_A11(budget, rng, *, powers=False, constant=200):
    """Compare what is left of D with the lemma's bound; or with `powers` prove it.

    Then each summand keeps the power of the rate that it comes with.
    """
    if powers:
        yield powers_kept.measure(constant=constant)
        return
    yield Cases(
        [(*printed.sides(constant=constant), {"eta Delta": "1/36", "t": 1000, "t'": 500})],
        name="D after the second case", quantity="D over (1 - eta Delta/16)^(t + 1)",
    )  # fmt: skip


lemma_A11.corrected(
    "flute.lemmaA11.second_case.corrected",
    latex=r"\sigma_1(D^{t+1}) \le \big(1 - \tfrac{\eta\Delta}{16}\big)^{t+1-t'}\sigma_D^{t+1} +"
    r" \tfrac{8\lambda_1^{*2}}\Delta\sum_{\tau=t'}^t\big(1 - \tfrac{\eta\Delta}{16}\big)^{t+\tau}"
    r" \le \frac{200\lambda_1^{*2}}{\eta\Delta^2}\big(1 - \tfrac{\eta\Delta}{16}\big)^{t+1}",
    plain="With the powers of the rate kept, the second case of Lemma A.11 yields the lemma's "
    "bound.",
    constants={"powers": True},
    negative_control={"constant": 100},
    stronger={"constant": -1},
)
