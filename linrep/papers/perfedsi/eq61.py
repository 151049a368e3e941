"""(61), the size of the gradient, and what (62) makes of it."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np

from linrep.claims import Cases, Exponent, Fact, Identity, Readings, statement
from linrep.papers.perfedsi import _instances
from linrep.papers.perfedsi._hypotheses import COMPLETION
from linrep.papers.perfedsi.counterexamples.eq61 import sides
from linrep.problems import SideInformationCompletion
from linrep.theory import perfedsi as theory


def _at_the_limit(c, error, unit, c_z):
    """Return a truth of rank 2, U = diag(c, 1/c) and V = diag(1/c, c) but for an error e_1 e_2'.

    Both gradients see the error through the largest singular value of a factor, and both clients
    have the same loss.
    """
    root = np.sqrt(unit)
    Z = np.sqrt(c_z) * np.array([[1.0, 1.0], [1.0, -1.0]])
    truth = SideInformationCompletion(root * np.eye(2), root * np.eye(2), Z)
    U, V = root * np.diag([c, 1.0 / c]), root * np.diag([1.0 / c, c])
    V[1, 0] += error * root / c
    return truth, U, V


def _limits(bound):
    """Yield (61)'s left over its right as the error shrinks, norms being at their limit."""
    for c, error, unit, c_z in product(
        (1.0, 2.0, 4.0, 10.0), _instances.ERRORS, (1e-2, 1.0, 1e2, 1e6), (1.0, 4.0)
    ):
        truth, U, V = _at_the_limit(c, error, unit, c_z)
        loss, slope = _instances.sizes(truth, U, V)
        needs = _instances.event(truth, U, V)
        found = needs.norms
        right = float(bound(_instances.setting_of(truth, found), loss))
        yield (
            slope * (1.0 - 1e-12) / right,
            1.0,
            {
                "c": found,
                "error": error,
                "sigma_1": unit,
                "c_z": c_z,
                "L": loss,
                "max L_m/L": needs.loss * unit**2 / loss,
            },
        )


def _searched_61(budget, rng, bound, name):
    """Search an inequality for the gradient's norm: bound(truth, setting, loss) at the least c."""

    def lhs_rhs(truth, U, V):
        if _instances.relative_loss(truth, U, V) < 1e-12:
            return None
        loss, slope = _instances.sizes(truth, U, V)
        return slope, float(
            bound(truth, _instances.setting_of(truth, _instances.event(truth, U, V).norms), loss)
        )

    return _instances.searched(lhs_rhs, budget, rng, name=name)


def _growth(budget, rng, predicted) -> Exponent:
    """Measure the power of L in the gradient's norm, along errors that shrink towards M*."""
    losses = []
    samples: list[list[float]] = [[] for _ in _instances.ERRORS]
    for _ in range(budget(24, 40)):
        truth = _instances.random_truth((2.0, 1.0), 2.0, rng)
        U, V = _instances.split(truth, 2.0, "U")
        in_U, in_V = rng.standard_normal(U.shape), rng.standard_normal(V.shape)
        column = []
        for place, error in enumerate(_instances.ERRORS):
            loss, slope = _instances.sizes(truth, U + 0.1 * error * in_U, V + 0.1 * error * in_V)
            column.append(loss)
            samples[place].append(slope)
        losses.append(column)
    return Exponent(
        np.median(losses, axis=0),
        samples,
        equals=predicted,
        along="L",
        of="|grad L|",
        name="power of L in |grad L|",
    )


def _units(bound):
    """Yield how the bound changes against the gradient where the unit of M* does."""
    ratios = []
    for unit in (1.0, 1e-4, 1e4):
        truth, U, V = _at_the_limit(2.0, 1e-2, unit, 1.0)
        loss, slope = _instances.sizes(truth, U, V)
        ratios.append(float(bound(_instances.setting_of(truth, 2.0), loss)) / slope)
        yield abs(ratios[-1] / ratios[0] - 1.0), {"sigma_1": unit}


def _plugged(drift):
    """Yield the steps of (62), with drift for 10, over c, c_z, mu >= 1."""
    for c, c_z, mu, (p, k), d in product(
        np.geomspace(1.0, 1e3, 7).tolist(),
        (1.0, 2.0, 1e3),
        (1.0, 10.0, 1e3),
        ((1, 1), (2, 1), (4, 2), (50, 50)),
        (1, 4, 1000),
    ):
        s = theory.Setting(d=d, p=p, k=k, c=c, mu=mu, c_z=c_z)
        at = {"c": c, "c_z": c_z, "mu": mu, "k": p, "r": k, "d": d}
        beta = c_z * (6.0 * c**2 + 2.0)
        terms = drift * p**1.5 / d**2 * c**4 * np.sqrt(c_z) * mu**1.5
        terms += p * k / d * c * beta * mu**2
        joint = 66.0 * p**1.5 * k / d * c**4 * c_z * mu**2
        half = 0.5 / (c * c_z**2 * d)
        yield theory.smoothness(s) / beta, 1.0, at | {"step": "beta"}
        yield terms / joint, 1.0, at | {"step": "66"}
        eta = theory.step_size_limit(s, 1)
        yield eta * joint / half * (1.0 - 1e-12), 1.0, at | {"step": "132"}


def _second_moments(lowest):
    """Yield (beta/2) times Lemma C.7's bounds over the last term of (60), from d = lowest on."""
    for d, k, c, mu, C in product(
        range(lowest, lowest + 8), (1, 4), (1.0, 3.0, 100.0), (1.0, 3.0, 100.0), (1, 4, 100)
    ):
        s = theory.Setting(d=d, p=max(2, k), k=k, c=c, mu=mu)
        both = theory.second_moments(s, step_size=1.0, local_steps=1, participants=C, loss=1.0)
        right = s.p * s.k / s.d * s.c * s.mu**2
        yield (
            0.5 * float(sum(both)) * (1.0 - 1e-12),
            right,
            {
                "d": d,
                "r": k,
                "c": c,
                "mu": mu,
                "C": C,
                "ratio": 0.5 * float(sum(both)) / right,
            },
        )


@statement(
    "perfedsi.eq61",
    place="Lemma C.11, (60)-(62)",
    hypotheses=COMPLETION,
    latex=r"\|\nabla\mathcal L\|_F 1_{\mathcal G} \le \sqrt2 c\frac{\sqrt{\sigma_1}}M\|Z\|_2"
    r"\|EZ^\top\|_F \le c\sqrt{c_z}\,\sigma_1\mathcal L",
    plain="The gradient's norm is at most c sqrt(c_z) sigma_1 times the loss.",
    negative_control={"factor": 0.9},
    holds_with={"root": True, "items": 3},
)
def eq61(budget, rng, *, root=False, items=1, factor=1.0):
    """Try both inequalities, and the steps into (60) and (62).

    With root the second has 2 c sqrt(c_z sigma_1 L). The step into (60) is tried from so many items
    on. Both are meant to hold for c, c_z, mu, C of 1 or more.
    """

    def bound(setting, loss):
        return factor * theory.gradient_bound(setting, loss, root=root)

    def first(truth, setting, loss):
        size = np.linalg.norm(truth.Z, 2) * np.sqrt(2.0 * loss / truth.n)
        return np.sqrt(2.0 * setting.largest) * setting.c * size

    def second(truth, setting, loss):
        return bound(setting, loss)

    def used(setting, loss):  # in (60)
        return 0.5 * factor * theory.gradient_bound(setting, loss, root=True)

    limits = [("2 c sqrt(c_z sigma_1 L)" if root else "as printed", list(_limits(bound)))]
    half = list(_limits(used))
    if not root:
        limits.append(("c sqrt(c_z sigma_1 L) as (60) uses it", half))
    yield _searched_61(budget, rng, first, "first inequality, searched")
    yield Readings(
        [Cases(cases, quantity="lhs/rhs", name=name) for name, cases in limits],
        name="second inequality, norms at their limit",
        phrase="c sqrt(c_z) sigma_1 L",
        printed_elsewhere={} if root else {"c sqrt(c_z sigma_1 L) as (60) uses it": "(60)"},
    )
    yield _searched_61(budget, rng, second, "second inequality, searched")
    if not root:
        yield Cases(
            [
                (left, Fraction(factor) ** 2 * right, {"error": str(error)})
                for error in (Fraction(1, 2), Fraction(1, 100), Fraction(1, 10**4))
                for left, right in [sides(error)]
            ],
            quantity="|grad L|^2",
            name="squares in fractions, c = 1",
        )
    yield _growth(budget, rng, 0.5 if root else 1.0)
    yield Identity(_units(bound), 1e-9, name="the same in every unit of M*")
    yield Cases(
        _second_moments(items),
        quantity="lhs of (60)'s last term",
        name=f"Lemma C.7 gives (60)'s last term, d >= {items}",
    )
    yield Cases(_plugged(10.0), quantity="lhs/rhs", name="(62) for c, c_z, mu >= 1")
    yield Fact("largest |grad L| over c sqrt(c_z sigma_1 L)", max(case[0] for case in half))
    yield Fact(
        "largest lhs/rhs of (62) with 20 for (60)'s 10", max(case[0] for case in _plugged(20.0))
    )
    few = [at["ratio"] for _, _, at in _second_moments(1) if at["d"] == 1]
    yield Fact("Lemma C.7's bounds over (60)'s last term at d = 1, largest", max(few))
