"""(63) and (64): the induction over rounds that ends the proof of Theorem C.4."""

from __future__ import annotations

from fractions import Fraction

from linrep.claims import Cases, statement
from linrep.papers.perfedsi._hypotheses import ROUNDS
from linrep.papers.perfedsi.counterexamples.eq63_64 import sides


@statement(
    "perfedsi.eq63_64",
    place="Proof of Theorem 3.3, (63)-(64)",
    latex=r"E[\mathcal L_t 1_{\mathcal G_{t-1,\tau}} \mid \mathcal S_{t-1}] \le (1 - \rho)"
    r"\mathcal L_{t-1}1_{\mathcal G_{t,0}},\quad E[\mathcal L_T1_{\mathcal G_{T-1,\tau}}] \le"
    r" (1 - \rho)E[\mathcal L_{T-1}1_{\mathcal G_{T-1,\tau}}]",
    plain="In the induction over rounds, the decrease in a round may be conditioned on the event "
    "of that same round.",
    hypotheses=ROUNDS,
    negative_control={"fall": 1.0 - 1e-9},
    holds_with={"before": True},
)
def eq63_64(budget, rng, *, before=False, fall=0.0):
    """Enumerate a round from which half of the items lead out; the fall is rho, or all above 0.

    Before: the right sides have the event of the round's start, which Lemma C.11 gives.
    """
    rho = Fraction(fall) if fall else None
    at = {"d": 16, "k": 1, "r": 1, "M": 20, "c": 1, "mu": 3, "eta": "1e-6", "P(stays)": 0.5}
    yield Cases([(*sides(before, rho), at)], quantity="fall of E[L 1_G]", name="(64)")
    # Outcomes of the round that leave the event: the right side of (63) is 0, the left is not.
    left = Fraction(1, 2)
    yield Cases(
        [(left, Fraction(1 if before else 0), at)],
        quantity="E[L_t 1_G] over L_{t-1}",
        name="(63), on outcomes that leave the event",
    )
