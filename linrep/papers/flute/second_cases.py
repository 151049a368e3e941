"""Lemmas A.10 and A.11, the second cases of their proofs: after the last time below a reference."""

from __future__ import annotations

from fractions import Fraction

from linrep.claims import Cases, statement
from linrep.claims.evidence import PROVED
from linrep.papers.flute._checks import by_name
from linrep.papers.flute._hypotheses import GAP
from linrep.papers.flute.counterexamples import lemmaa11_second_case as printed


def _grid(rounds):
    """Yield x = eta Delta up to 1/36, t and t' up to t."""
    for x in (Fraction(1, 36), Fraction(1, 100)):
        for t in rounds:
            for before in sorted({0, 1, t // 2, t}):
                if before <= t:
                    yield x, t, before


@statement(
    "flute.lemmaA10.second_case",
    place="Lemma A.10, second case",
    hypotheses=(GAP,),
    latex=r"\sigma_1^2(\Theta_{res}^{t+1}) \le \tfrac{8\lambda_1^*}\Delta(\sigma_{ref}^{t+1})^2"
    r"\big(1 - \tfrac{\eta\Delta}{16}\big)^{2(t+1-t')} \le \tfrac{8\lambda_1^{*2}}\Delta"
    r"\big(1 - \tfrac{\eta\Delta}{16}\big)^{2(t+1)}",
    plain="Once the remainder is below its reference, it stays below the bound of Lemma A.10 "
    "until step t + 1.",
    negative_control={"rate": Fraction(1, 10)},
    stronger={"rate": 1},
)
def lemma_A10(budget, rng, *, rate=Fraction(1, 16)):
    """Compare the lines in units of lambda*_1, from the ratio that a step gives, exactly.

    That ratio is (12 - x)/(12 + x): 1 - x/6, as printed, is less.
    """

    def lines():
        for x, t, before in _grid((0, 1, 2, 5, 10, 40, 200)):
            where = {"eta Delta": str(x), "t": t, "t'": before}
            steps, decay = t + 1 - before, 1 - rate * x
            reference = decay ** (2 * (t + 1))  # its square
            both = decay ** (2 * (2 * t + 2 - before))
            yield "steps after t'", ((12 - x) / (12 + x)) ** steps, decay ** (2 * steps), where
            yield "reference put in", reference * decay ** (2 * steps), both, where
            yield "the lemma's bound", both, reference, where

    yield from by_name(lines(), strength=PROVED)


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
    """Compare what is left of D with the lemma's bound, in units of lambda*_1^2/(eta Delta^2).

    With `powers` each summand keeps the power of the rate that it comes with.
    """
    cases = []
    for x, t, before in _grid((0, 1, 5, 40, 200, 1000)):
        where = {"eta Delta": str(x), "t": t, "t'": before}
        if powers:
            y, steps = x / 16, t + 1 - before
            # 8 x sum of (1 - y)^(t + tau) over tau from t' to t.
            series = 8 * x * (1 - y) ** (t + before) * (1 - (1 - y) ** steps) / y
            left = ((1 - y) ** (steps + t + 1) + series) / (1 - y) ** (t + 1)
            cases.append((left, Fraction(constant), where))
        else:
            cases.append((*printed.sides(x, t, before, constant), where))
    yield Cases(
        cases,
        name="D after the second case",
        quantity="D over (1 - eta Delta/16)^(t + 1)",
        strength=PROVED,
    )


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
