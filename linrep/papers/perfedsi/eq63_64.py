"""(63) and (64): the induction over rounds that ends the proof of Theorem C.4."""

from __future__ import annotations

from fractions import Fraction

from linrep.claims import Cases, statement
from linrep.papers.perfedsi import _exact
from linrep.papers.perfedsi._hypotheses import ROUNDS


def _stuck() -> tuple[_exact.Exact, _exact.Limits]:
    """Return a state with V at its limit from which items do not move, or lead out of the event.

    Half of the items have no error; the others have one that makes V larger.
    """
    low, high, size = 39599, 40399, 40001  # low^2 + high^2 = 2 size^2: M* has norm 1
    star = _exact.fractions([low, high] * (_exact.ITEMS // 2)) / (4 * size)
    U = Fraction(low, size) * _exact.FRAME
    state = _exact.Exact(star, _exact.ONE, _exact.fractions([[1]]), U, _exact.ONE, 20)
    return state, _exact.Limits(Fraction(1), Fraction(3))


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
    state, limits = _stuck()
    (walk,) = state.round(Fraction(1, 10**6), limits)
    level, d = state.loss(), len(walk)
    ends = [(state.loss(U, V), kept) for U, V, kept in walk]
    share = Fraction(sum(kept for _, kept in ends), d)
    chance = share**state.clients  # all clients walk
    left = sum(loss for loss, kept in ends if kept) / d * chance / share
    # The least fall that (15) promises is any number above 0.
    rho = Fraction(fall) if fall else Fraction(1, 10**12)
    at = state.plain() | {"eta": "1e-6", "c": "1", "mu": "3", "P(G)": float(chance)}
    yield Cases(
        [(left, (1 - rho) * level * (1 if before else kept), at) for _, kept in ends],
        quantity="E[L_t 1_G]", name="(63), on every outcome of the round",
    )  # fmt: skip
    yield Cases(
        [(left, (1 - rho) * level * (1 if before else chance), at)],
        quantity="E[L_T 1_G]", name="(64)",
    )  # fmt: skip
