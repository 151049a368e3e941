"""(61), the size of the gradient, and what (62) makes of it; the induction, (63) and (64)."""

from fractions import Fraction
from itertools import product

import numpy as np

from linrep.claims import Cases, Fact, Readings, statement
from linrep.claims.laws import at_most, measured
from linrep.papers.perfedsi import model
from linrep.papers.perfedsi.counterexamples.eq61 import sides
from linrep.papers.perfedsi.counterexamples.eq63_64 import sides as sides_of_64
from linrep.problems import SideInformationCompletion
from linrep.theory import perfedsi as theory


def at_the_limit(c, error, c_z):
    """Return a truth of rank 2, U = diag(c, 1/c) and V = diag(1/c, c) but for an error e_1 e_2'.

    Both gradients see the error through the largest singular value of a factor, and both clients
    have the same loss.
    """
    Z = np.sqrt(c_z) * np.array([[1.0, 1.0], [1.0, -1.0]])
    truth = SideInformationCompletion(np.eye(2), np.eye(2), Z)
    U, V = np.diag([c, 1.0 / c]), np.diag([1.0 / c, c])
    V[1, 0] += error / c
    return truth, U, V


def limits():
    """Yield the gradient's norm over c sqrt(c_z sigma_1 L), norms being at their limit."""
    for c, error, c_z in product((1.0, 2.0, 4.0, 10.0), model.ERRORS, (1.0, 4.0)):
        truth, U, V = at_the_limit(c, error, c_z)
        loss, slope = model.sizes(truth, U, V)
        setting = model.setting_of(truth, model.event(truth, U, V).norms)
        ratio = 2.0 * slope / float(theory.gradient_bound(setting, loss, root=True))
        yield ratio, {"c": setting.c, "error": error, "c_z": c_z, "L": loss}


def plugged(drift):
    """Yield the steps of (62), with drift for 10, over c, c_z, mu >= 1."""
    scales, shapes = np.geomspace(1.0, 1e3, 7).tolist(), ((1, 1), (2, 1), (4, 2), (50, 50))
    for c, c_z, mu, (p, k), d in product(
        scales, (1.0, 2.0, 1e3), (1.0, 10.0, 1e3), shapes, (1, 4, 1000)
    ):
        s = theory.Setting(d=d, p=p, k=k, c=c, mu=mu, c_z=c_z)
        at = {"c": c, "c_z": c_z, "mu": mu, "k": p, "r": k, "d": d}
        beta = c_z * (6.0 * c**2 + 2.0)
        terms = drift * p**1.5 / d**2 * c**4 * np.sqrt(c_z) * mu**1.5
        terms += p * k / d * c * beta * mu**2
        joint = 66.0 * p**1.5 * k / d * c**4 * c_z * mu**2
        half, eta = 0.5 / (c * c_z**2 * d), theory.step_size_limit(s, 1)
        yield theory.smoothness(s) / beta, 1.0, at | {"step": "beta"}
        yield terms / joint, 1.0, at | {"step": "66"}
        yield eta * joint / half * (1.0 - 1e-12), 1.0, at | {"step": "132"}


def second_moments(lowest):
    """Yield (beta/2) times Lemma C.7's bounds over the last term of (60), from d = lowest on."""
    for d, k, c, mu, C in product(
        range(lowest, lowest + 8), (1, 4), (1.0, 3.0, 100.0), (1.0, 3.0, 100.0), (1, 4, 100)
    ):
        s = theory.Setting(d=d, p=max(2, k), k=k, c=c, mu=mu)
        both = theory.second_moments(s, step_size=1.0, local_steps=1, participants=C, loss=1.0)
        left, right = 0.5 * float(sum(both)), s.p * s.k / s.d * s.c * s.mu**2
        at = {"d": d, "r": k, "c": c, "mu": mu, "C": C, "ratio": left / right}
        yield left * (1.0 - 1e-12), right, at


@statement(
    "perfedsi.eq61",
    place="Lemma C.11, (60)-(62)",
    hypotheses=model.COMPLETION,
    latex=r"\|\nabla\mathcal L\|_F 1_{\mathcal G} \le \sqrt2 c\frac{\sqrt{\sigma_1}}M\|Z\|_2"
    r"\|EZ^\top\|_F \le c\sqrt{c_z}\,\sigma_1\mathcal L",
    plain="The gradient's norm is at most c sqrt(c_z) sigma_1 times the loss.",
    negative_control={"factor": Fraction(9, 10)},
    holds_with={"root": True, "items": 3},
)
def eq61(budget, rng, *, root=False, items=1, factor=1):
    """Compare squares in fractions; with root, 2 c sqrt(c_z sigma_1 L), try (60) to (62) as well.

    The step into (60) is tried from so many items on. All are meant to hold for c, c_z, mu, C of 1
    or more.
    """

    def squares():
        for error in (Fraction(1, 2), Fraction(1, 100), Fraction(1, 10**4)):
            left, right = sides(error)
            at = {"error": str(error)}
            yield "as printed", at_most(left, Fraction(factor) ** 2 * right), at
            # The loss is the root of the printed bound's square.
            used = Fraction(factor) ** 2 * error**2 / 2
            yield "c sqrt(c_z sigma_1 L) as (60) uses it", at_most(left, used), at

    def searched(truth, U, V):
        if model.relative_loss(truth, U, V) < 1e-12:
            return None
        loss, slope = model.sizes(truth, U, V)
        setting = model.setting_of(truth, model.event(truth, U, V).norms)
        size = np.linalg.norm(truth.Z, 2) * np.sqrt(2.0 * loss / truth.n)
        middle = np.sqrt(2.0 * setting.largest) * setting.c * size
        return slope, min(middle, theory.gradient_bound(setting, loss, root=True))

    if root:
        cases = [(ratio * (1.0 - 1e-12), 2.0 * float(factor), at) for ratio, at in limits()]
        quantity = "|grad L| over c sqrt(c_z sigma_1 L)"
        yield Cases(cases, quantity=quantity, name="second inequality, norms at their limit")
        yield model.searched(searched, budget, rng, name="both inequalities, searched")
        name = f"Lemma C.7 gives (60)'s last term, d >= {items}"
        yield Cases(second_moments(items), quantity="lhs of (60)'s last term", name=name)
        yield Cases(plugged(10.0), quantity="lhs/rhs", name="(62) for c, c_z, mu >= 1")
        return
    yield Readings(
        list(measured(squares(), quantity="|grad L|^2").values()),
        name="squares in fractions, c = 1",
        phrase="c sqrt(c_z) sigma_1 L",
        printed_elsewhere={"c sqrt(c_z sigma_1 L) as (60) uses it": "(60)"},
    )
    yield Fact("largest |grad L| over c sqrt(c_z sigma_1 L)", max(ratio for ratio, _ in limits()))
    name = "largest lhs/rhs of (62) with 20 for (60)'s 10"
    yield Fact(name, max(case[0] for case in plugged(20.0)))
    few = [at["ratio"] for _, _, at in second_moments(1) if at["d"] == 1]
    yield Fact("Lemma C.7's bounds over (60)'s last term at d = 1, largest", max(few))


@statement(
    "perfedsi.eq63_64",
    place="Proof of Theorem 3.3, (63)-(64)",
    latex=r"E[\mathcal L_t 1_{\mathcal G_{t-1,\tau}} \mid \mathcal S_{t-1}] \le (1 - \rho)"
    r"\mathcal L_{t-1}1_{\mathcal G_{t,0}},\quad E[\mathcal L_T1_{\mathcal G_{T-1,\tau}}] \le"
    r" (1 - \rho)E[\mathcal L_{T-1}1_{\mathcal G_{T-1,\tau}}]",
    plain="In the induction over rounds, the decrease in a round may be conditioned on the event "
    "of that same round.",
    hypotheses=model.ROUNDS,
    negative_control={"fall": 1.0 - 1e-9},
    holds_with={"before": True},
)
def eq63_64(budget, rng, *, before=False, fall=0.0):
    """Enumerate a round from which half of the items lead out; the fall is rho, or all above 0.

    Before: the right sides have the event of the round's start, which Lemma C.11 gives.
    """
    rho = Fraction(fall) if fall else None
    at = {"d": 16, "k": 1, "r": 1, "M": 20, "c": 1, "mu": 3, "eta": "1e-6", "P(stays)": 0.5}
    yield Cases([(*sides_of_64(before, rho), at)], quantity="fall of E[L 1_G]", name="(64)")
    # Outcomes of the round that leave the event: the right side of (63) is 0, the left is not.
    case = (Fraction(1, 2), Fraction(1 if before else 0), at)
    name = "(63), on outcomes that leave the event"
    yield Cases([case], quantity="E[L_t 1_G] over L_{t-1}", name=name)
