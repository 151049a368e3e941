"""Theorem 1 without noise, and what holds in its place."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any

from linrep.claims import Readings, Together, statement
from linrep.claims.evidence import PROVED
from linrep.claims.laws import Open, Region, Relation, at_most, lines
from linrep.papers.pflmf import runs
from linrep.papers.pflmf.model import NOISY

HALF = Fraction(1, 2)


@lines(
    "pflmf.theorem1.corrected",
    Region(x=(Open(0), Open(HALF)), c=(HALF, 1), omega=(Open(0), 1)),
    steps=["start", "noise"],
)
def follows(x, c, omega):
    """Follow from the sharp form, x = eta L."""
    return {
        "start": at_most(1 - 2 * x, 2 * (1 - c * x)),
        "noise": at_most(omega * (1 - 2 * x), 2 * (1 - c * x)),
    }


def limit(u, p_power, ratio: Callable[[Any], Any]) -> Relation:
    """Say that the limit of left over right side, p^(p_power - 2) times a ratio, is at most 1.

    p = u^b for a power of a/b, so that all exponents are whole.
    """
    power = Fraction(p_power).limit_denominator(100)
    a, b = power.numerator, power.denominator
    if a >= 2 * b:
        return at_most((u ** (a - 2 * b) if a > 2 * b else 1) * ratio(u**b), 1)
    return at_most(ratio(u**b), u ** (2 * b - a))


@lines(
    "pflmf.theorem1.corrected", Region(u=(Open(0), 1), x=(Open(0), Open(HALF))), family=True
)  # fmt: skip
def exact_family(u, x, *, p_power=2):
    """With U fixed, K = 1, T to infinity the left side over the right one is at most 1."""
    return limit(u, p_power, lambda p: (1 - 2 * x) / (2 - p * x))


def grid(budget, noises=(0.0,)):
    """Return p, K, eta L, T and sigma^2 towards their extremes."""
    return product(
        (1.0, 0.7, 0.5, 0.25, 0.1, 0.02, 0.001, 1e-6),
        budget((1, 20), (1, 2, 5, 20, 200)),
        (1e-3, 0.05, 0.25, 0.49),
        (1, 200, 2000, 40_000, 10**7, 10**12, 10**18),
        noises,
    )


def of_runs(budget, rng, bound, instance, steps=(1,)) -> runs.Cells:
    """Return Theorem 1 on runs of an instance, over p, T and the number of local steps."""
    shares = budget((1.0, 0.5, 0.25, 0.1, 0.02), (1.0, 0.5, 0.25, 0.1, 0.05, 0.02))
    T, cells = budget((200, 4000), (200, 2000, 40_000)), runs.Cells()
    for p, K, seed in product(shares, steps, range(budget(40, 40, 80))):
        if p < 1.0 or seed < 2:  # all clients, no noise: all runs are the same
            cells.add(instance, bound, rng, p=p, K=K, T=T)
    return cells


@statement(
    "pflmf.theorem1",
    place="Theorem 1",
    latex=r"\eta_v = \tfrac{p\eta}K,\ \eta < \tfrac1{2L}:\ "
    r"\frac1T \sum_{t<T} \Big(E\|\nabla_U\|^2 + E\frac1K\sum_k \|\nabla_V(U^t, V_k^t)\|^2\Big)"
    r" \le \frac{2(F^0 - F^\star)}{\eta T(1 - 2\eta L)} + \frac{2\eta L\sigma^2}{1 - 2\eta L}",
    plain="The mean squared gradients of U and V are O(1/T), with a constant that does not "
    "contain p; L is valid where the iterates go, as with one for all U and V the theorem is about "
    "constant functions only.",
    hypotheses=NOISY,
    negative_control={"p_power": 1.0},
    holds_with={"p_power": 2.0},
)
def theorem1(budget, rng, *, p_power=0):
    """Compare lhs and rhs on a run in fractions, and draw others; p^p_power weighs Delta_V.

    L is valid on convex sets of U and of V that the iterates do not leave: with one for all U and
    V, as Assumption 1 has it, and with a lower bound, the functions are constant.

    U follows the mean gradient of all clients, or of the participants: there is one client.
    """
    bound = runs.Bound(p_power)
    found = [runs.by_hand(bound), runs.exact(bound, grid(budget))]
    yield Readings(
        [
            Together(found, name=f"U follows {whose} mean gradient")
            for whose in ("all clients'", "the participants'")
        ],
        phrase=runs.WHOSE,
    )
    yield of_runs(budget, rng, bound, runs.reference(rng)).curve()


@statement(
    "pflmf.theorem1.corrected",
    place="Theorem 1",
    latex=r"\eta_v = \tfrac{p\eta}K,\ \eta < \tfrac1{2L}:\ "
    r"\frac1T \sum_{t<T} \Big(E\|\nabla_U\|^2 + p^2 E\frac1K\sum_k \|\nabla_V(U^t, V_k^t)\|^2\Big)"
    r" \le \frac{2(F^0 - F^\star)}{\eta T(1 - 2\eta L)} + \frac{2\eta L\sigma^2}{1 - 2\eta L}",
    plain="Theorem 1's bound holds for Delta_U + p^2 Delta_V, the squared gradient of V times p^2.",
    hypotheses=NOISY,
    negative_control={"p_power": 1.8},
    corrects="pflmf.theorem1",
    stronger={"p_power": -1, "start": -1, "noise": -1, "T_power": 1},
)
def theorem1_corrected(budget, rng, *, p_power=2, start=2, noise=2, T_power=1):
    """Compare lhs and rhs exactly and on runs, and derive it from the sharp form."""
    bound = runs.Bound(p_power, start, noise, T_power)
    settings = grid(budget, (0.0, 1e-3, 1.0, 1e3))
    yield runs.exact(bound, settings, name="U fixed, exact, any noise", strength=PROVED)
    yield runs.by_hand(bound, strength=PROVED)
    yield runs.by_hand(bound, noisy=True, strength=PROVED)
    steps = (1e-6, 1e-3, 0.05, 0.25, 0.49)
    yield runs.at_rest(bound, [(x, T) for x in steps for T in (1, 200, 10**7, 10**18)], PROVED)
    yield follows.measure()
    instances = {
        "reference": (runs.reference(rng), (1, 5)),
        "two of five dimensions": (runs.reference(rng, 1e-3, (0.1, 0.1), d=5, k=2), (1,)),
        "U moves, not V": (runs.mirrored(rng), (1,)),
    }
    for name, (instance, local_steps) in instances.items():
        yield of_runs(budget, rng, bound, instance, local_steps).at_most_one(name, PROVED)
