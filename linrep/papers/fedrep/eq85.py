"""(85) and the displays before it: the arithmetic at the end of the proof of Lemma 6."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from linrep.claims import Cases, Fact, statement
from linrep.claims.evidence import PROVED
from linrep.papers.fedrep.counterexamples.eq85 import right_half as right_half_of_85

_GAINS = [Fraction(1, 4), Fraction(1, 5), Fraction(1, 10), Fraction(1, 1000)]
_SHARES = [Fraction(step, 200) for step in range(41)]  # y/a from 0 to 1/5


def _grid(lhs_rhs, limit):
    """Return cases of an inequality in a and y, 0 <= y/a <= limit, computed as exact fractions."""
    return [
        (*lhs_rhs(a, share * a), {"a": str(a), "y": str(share * a)})
        for a in _GAINS
        for share in _SHARES
        if share <= limit
    ]


def _excess(a, share, kept):
    """Return the excess of the conclusion over a: (1 - a + 2y)^2 <= (1 - 4y)(1 - kept a)."""
    return 2 * (2 * share - 1) + 4 * share + kept + a * ((2 * share - 1) ** 2 - 4 * kept * share)


def _conclusion(limit, kept):
    """Return cases of the conclusion; its excess is convex in y/a and linear in a.

    So the corners of the box 0 < a <= 1/4, 0 <= y/a <= limit decide for all of it. At a = 0, the
    excess is taken after division by a.
    """
    return [
        (_excess(a, share, kept), 0, {"a": str(a), "y/a": str(share)})
        for a in (Fraction(0), Fraction(1, 4))
        for share in (Fraction(0), limit)
    ]


def _of_delta(limit):
    """Return cases of what (85) needs of delta < limit E0/kappa^2, by e = E0/kappa^2 in (0, 1]."""
    below, ratio = [], []
    for step in range(1, 101):
        e = Fraction(step, 100)
        delta = limit * e
        where = {"E0/kappa^2": str(e)}
        below.append((delta, Fraction(1, 5), where))
        # delta <= 1/5 makes 1/(1 - delta)^2 at most 25/16; both ends of the chain are compared.
        ratio.append((delta / (1 - delta) ** 2, Fraction(25, 16) * delta, where))
    return below, ratio


def _largest_share():
    """Return the largest y/a at which the conclusion holds for all a <= 1/4."""
    # At a = 1/4 the excess is share^2 + 13/2 share - 5/4.
    return (3.0 * np.sqrt(21.0) - 13.0) / 4.0


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
def eq85(budget, rng, *, divisor=5, errors=1, right_half=True, kept=Fraction(1, 2)):
    """Evaluate each step in exact fractions, a in (0, 1/4], y/a from 0 to 1/divisor.

    The left half of (85) has `errors` times y, and the right half can be left out.
    """
    limit = Fraction(1, divisor)
    delta = Fraction(16, 25) * limit
    below, ratio = _of_delta(delta)
    yield Cases(below, name="delta < 1/5", strength=PROVED)
    yield Cases(ratio, name="delta/(1 - delta)^2 < 25 delta/16", strength=PROVED)
    halves = {"(85), left half": lambda a, y: (1 - a + errors * y, 1 - 4 * y)}
    if right_half:
        halves["(85), right half"] = right_half_of_85
    for name, lhs_rhs in halves.items():
        yield Cases(_grid(lhs_rhs, limit), name=name, strength=PROVED)
    left = delta / (1 - delta) ** 2  # the largest y/a, at E0/kappa^2 = 1
    for name, share in ((f"y <= a/{divisor}", limit), ("the hypothesis", left)):
        yield Cases(
            _conclusion(share, kept),
            name=f"conclusion from {name}",
            quantity="excess",
            strength=PROVED,
        )
    yield Fact("largest y/a that the hypothesis leaves", float(left))
    yield Fact("largest y/a with which the conclusion holds", _largest_share())


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
