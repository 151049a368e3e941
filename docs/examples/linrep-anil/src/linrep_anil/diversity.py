"""Without diversity of the tasks nothing is gained: a start that no round changes, in fractions."""

from fractions import Fraction

import numpy as np

from linrep.claims import Cases, proved, statement
from linrep.claims.laws import Region, at_most, lines

#: Sine and cosine of an angle, in fractions.
ANGLES = [(Fraction(3, 5), Fraction(4, 5)), (Fraction(4, 5), Fraction(3, 5)),
          (Fraction(5, 13), Fraction(12, 13)), (Fraction(8, 17), Fraction(15, 17))]  # fmt: skip


def squared_chordal(B, target):
    """Return the sum of the squared sines of the principal angles of two planes."""
    (a, b), (_, d) = gram = B.T @ B
    inverse = np.array([[d, -b], [-gram[1, 0], a]]) / (a * d - b * gram[1, 0])
    inner = B.T @ target
    return 2 - np.trace(inverse @ inner @ inner.T)


@statement(
    "anil.diversity",
    latex=r"\mathrm{dist}(B_+)^2 \le \tfrac{99}{100}\, \mathrm{dist}(B)^2",
    plain="Whatever the tasks, a round of FO-ANIL on exact losses, from B'B = I and w = 0 with "
    "alpha = 1 and beta = 1/2, makes the squared distance smaller by a hundredth.",
    negative_control={"factor": Fraction(1, 4)},
    expected="fails",
    stronger={"factor": -1},
)
def diversity(budget, rng, *, factor=Fraction(99, 100), spread=0):
    """Take a plane that has the first of two directions, and heads e_1 and spread e_2."""
    target = np.array([[1, 0], [0, 1], [0, 0]]) * Fraction(1)
    models = (target * np.array([1, spread])).T
    cases = []
    for sine, cosine in ANGLES:
        B = np.array([[1, 0], [0, cosine], [0, sine]]) * Fraction(1)
        heads = models @ B
        moved = B - Fraction(1, 2) * (heads @ B.T - models).T @ heads / 2
        cases.append(
            (squared_chordal(moved, target), factor * squared_chordal(B, target), {"sine": sine})
        )
    yield proved(Cases(cases))


diversity.corrected(
    "anil.diversity.corrected",
    plain="Where the tasks' heads are e_1 and e_2, a round of FO-ANIL on exact losses, from "
    "B'B = I and w = 0 with alpha = 1 and beta = 1/2, makes the squared distance, the sum of the "
    "squared sines, smaller by a hundredth, for sines up to 4/5.",
    constants={"spread": 1},
    negative_control={"factor": Fraction(1, 4)},
)


@lines("anil.diversity.corrected", Region(s=(0, Fraction(16, 25))))
def both_heads(s, *, factor=Fraction(99, 100)):
    """The squared sine after a round, from its square s before."""
    c = 1 - s
    return {"a round": at_most((1 - c / 4) ** 2 * s, factor * s * (1 + c * s / 16))}
