"""(85) and the displays before it: the arithmetic at the end of the proof of Lemma 6."""

from fractions import Fraction as Q

import numpy as np

from linrep.claims import Fact, statement
from linrep.claims.evidence import PROVED
from linrep.claims.laws import Open, Region, at_most, lines, measured
from linrep.papers.fedrep.counterexamples.eq85 import right_half as printed_half


@lines("fedrep.eq85.corrected", Region(
    e=(Open(0), 1),  # E0/kappa^2
    delta=lambda e, *, divisor=6: (0, 16 * e / (25 * divisor)),
    a=(Open(0), Q(1, 4)),
    y=lambda a, *, divisor=6: (0, a / divisor),
))  # fmt: skip
def end_of_proof(e, delta, a, y, *, divisor=6, errors=2, kept=Q(1, 2)):
    """Lead from the hypothesis on deltabar to the contraction."""
    share = delta / (1 - delta) ** 2
    return {
        "delta < 1/5": at_most(delta, Q(1, 5)),
        "delta/(1 - delta)^2 < 25 delta/16": at_most(share, Q(25, 16) * delta),
        "y <= a/divisor": at_most(share, e / divisor),
        "(85), left half": at_most(1 - a + errors * y, 1 - 4 * y),
        "conclusion": at_most((1 - a + 2 * y) ** 2, (1 - 4 * y) * (1 - kept * a)),
    }


@lines("fedrep.eq85.corrected", Region(
    delta=lambda *, divisor=6: (0, Q(16, 25) / divisor), a=(Open(0), Q(1, 4))
))  # fmt: skip
def from_hypothesis(delta, a, *, kept=Q(1, 2)):
    """Take the largest y that the hypothesis leaves, E0/kappa^2 being 1."""
    y = a * delta / (1 - delta) ** 2
    whole = at_most((1 - a + 2 * y) ** 2, (1 - 4 * y) * (1 - kept * a))
    return {"conclusion from the hypothesis": whole}


@statement(
    "fedrep.eq85",
    place="the displays after (84), and (85)",
    latex=r"\bar\delta < \frac{16 E_0}{25\cdot 5\kappa^2} \implies 1 - a + y \le 1 - 4y \le"
    r"1 - a/2, \quad \frac{1 - a + 2y}{\sqrt{1 - 4y}} \le \sqrt{1 - a/2}, \quad "
    r"a = \eta E_0\sigma_{\min}^2,\ y = \eta\hat x\sigma_{\max}^2",
    plain="With the printed constant 5 each step from (84) to (85), and so to the contraction of "
    "Lemma 6, is true.",
    negative_control={"divisor": 4},
)
def eq85(budget, rng, *, divisor=5, errors=1, right_half=True, kept=Q(1, 2)):
    """Compare each step in fractions; solvers are asked for the corrected constants.

    The left half of (85) has `errors` times y, and the right half can be left out.
    """
    yield end_of_proof.measure(divisor=divisor, errors=errors, kept=kept)
    yield from_hypothesis.measure(divisor=divisor, kept=kept)
    if right_half:
        found = (
            (
                "(85), right half",
                at_most(*printed_half(a, share * a)),
                {"a": str(a), "y/a": str(share)},
            )
            for a in (Q(1, 4), Q(1, 1000))
            for share in (Q(0), Q(1, 100), Q(1, 5))
        )
        yield from measured(found, strength=PROVED).values()
    delta = Q(16, 25) / divisor
    yield Fact("largest y/a that the hypothesis leaves", float(delta / (1 - delta) ** 2))
    # At a = 1/4 the conclusion is share^2 + 13/2 share <= 5/4.
    yield Fact("largest y/a with which the conclusion holds", (3.0 * np.sqrt(21.0) - 13.0) / 4.0)


eq85.corrected(
    "fedrep.eq85.corrected",
    latex=r"\bar\delta \le \frac{16 E_0}{25\cdot 6\kappa^2} \implies y \le a/6 \implies"
    r"\frac{1 - a + 2y}{\sqrt{1 - 4y}} \le \sqrt{1 - 4y} \ \text{and}\ \le \sqrt{1 - a/2}",
    plain="With 6 in place of 5 each step from (84) to (85), and so to the contraction of Lemma "
    "6, is true.",
    constants={"divisor": 6, "errors": 2, "right_half": False},
    stronger={"divisor": -1, "errors": 1, "kept": 1},
    negative_control={"divisor": 5},
)
