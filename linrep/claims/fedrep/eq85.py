"""(85) and the displays before it: the arithmetic at the end of the proof of Lemma 6."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from linrep.claims import Evidence, claim, combine
from linrep.claims._parts import at_most

_GAINS = [Fraction(1, 4), Fraction(1, 5), Fraction(1, 10), Fraction(1, 1000)]
_SHARES = [Fraction(step, 200) for step in range(41)]  # y/a from 0 to 1/5


def _grid(sides, shares=_SHARES, limit=Fraction(1)):
    """Return cases of an inequality in a and y = share a, as exact fractions."""
    return [
        (*sides(a, share * a), {"a": str(a), "y": str(share * a)})
        for a in _GAINS
        for share in shares
        if share <= limit
    ]


def _conclusion(cross, limit):
    """Return cases of the conclusion, squared; its excess is convex in y/a and linear in a.

    So the corners of the box 0 < a <= 1/4, 0 <= y/a <= limit decide for all of it. At a = 0, the
    excess is taken after division by a.
    """

    def excess(a, share):
        return (
            2 * (cross * share - 1)
            + 4 * share
            + Fraction(1, 2)
            + a * ((cross * share - 1) ** 2 - 2 * share)
        )

    return [
        (excess(a, share), Fraction(0), {"a": str(a), "y/a": str(share)})
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
        # delta <= 1/5 makes 1/(1 - delta)^2 at most 25/16; the sides are at the ends.
        ratio.append((delta / (1 - delta) ** 2, Fraction(25, 16) * delta, where))
    return below, ratio


def _largest_share():
    """Return the largest y/a at which the conclusion holds for all a <= 1/4: 4 share^2 + ..."""
    # At a = 1/4 the excess is share^2 + 13/2 share - 5/4.
    return (3.0 * np.sqrt(21.0) - 13.0) / 4.0


@claim(
    "fedrep.eq85",
    place="the displays after (84), and (85)",
    kind="deterministic inequality",
    latex=r"\bar\delta < \frac{16 E_0}{25\cdot 5\kappa^2} \implies 1 - a + y \le 1 - 4y \le"
    r"1 - a/2, \quad \frac{1 - a + 2y}{\sqrt{1 - 4y}} \le \sqrt{1 - a/2}, \quad "
    r"a = \eta E_0\sigma_{\min}^2,\ y = \eta\hat x\sigma_{\max}^2",
    plain="The arithmetic at the end of the proof of Lemma 6.",
    broken={"divisor": 4},
    mended={"divisor": 8, "right_sign": -1},
)
def eq85(budget, rng, *, divisor=5, right_sign=1) -> Evidence:
    """Evaluate each step in exact fractions, a in (0, 1/4], y/a from 0 to 1/divisor.

    With a right_sign of -1 the right half of (85) is taken the other way round.
    """

    def right_half(a, y):
        return (1 - 4 * y, 1 - a / 2)[::right_sign]

    limit = Fraction(1, divisor)
    below, ratio = _of_delta(Fraction(16, 25) * limit)
    parts = [
        at_most(below, name="delta < 1/5"),
        at_most(ratio, name="delta/(1 - delta)^2 < 25 delta/16"),
        at_most(_grid(lambda a, y: (1 - a + y, 1 - 4 * y), limit=limit), name="(85), left"),
        at_most(_grid(right_half, limit=limit), name="(85), right"),
        at_most(_conclusion(2, limit), name="conclusion from y <= a/5"),
        at_most(_conclusion(2, _printed_share(limit)), name="conclusion from the hypothesis"),
    ]
    doubled = at_most(_grid(lambda a, y: (1 - a + 2 * y, 1 - 4 * y), limit=limit))
    single = at_most(_conclusion(1, limit))
    return combine(
        parts,
        f"the right half of (85) needs y >= a/8, the wrong way round; its left half "
        f"{doubled.verdict} with the 2y of the display before; the conclusion "
        f"{parts[-2].verdict} at y = a/{divisor} ({single.verdict} with y for 2y): it "
        f"holds for all a up to y/a = {_largest_share():.5f}, and {parts[-1].verdict} under the "
        f"hypothesis itself, which leaves y/a below {float(_printed_share(limit)):.5f}",
    )  # fmt: skip


def _printed_share(limit):
    """Return the largest y/a that the hypothesis leaves: x/(1 - x)^2 at E0/kappa^2 = 1."""
    delta = Fraction(16, 25) * limit
    return delta / (1 - delta) ** 2


@claim(
    "fedrep.eq85.corrected",
    place="the displays after (84), and (85)",
    kind="deterministic inequality",
    latex=r"\bar\delta \le \frac{16 E_0}{25\cdot 6\kappa^2} \implies y \le a/6 \implies"
    r"\frac{1 - a + 2y}{\sqrt{1 - 4y}} \le \sqrt{1 - 4y} \ \text{and}\ \le \sqrt{1 - a/2}",
    plain="With 6 in place of 5 each step of the argument is true, by convexity in y/a.",
    broken={"divisor": 5},
    corrects="fedrep.eq85",
)
def eq85_corrected(budget, rng, *, divisor=6) -> Evidence:
    """Evaluate the conclusion at the corners of the box of a and y/a, in exact fractions."""
    limit = Fraction(1, divisor)
    below, ratio = _of_delta(Fraction(16, 25) * limit)
    return combine(
        [
            at_most(below, name="delta < 1/5"),
            at_most(ratio, name="delta/(1 - delta)^2 < 25 delta/16"),
            at_most(_grid(lambda a, y: (1 - a + 2 * y, 1 - 4 * y), limit=limit), name="left step"),
            at_most(_conclusion(2, limit), name="conclusion"),
        ]
    )
