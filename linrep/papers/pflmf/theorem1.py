"""Theorem 1 without noise, and what holds in its place."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any

from linrep.claims import Readings, Together, statement
from linrep.claims.evidence import PROVED
from linrep.claims.laws import Open, Region, Relation, Root, at_most, lines
from linrep.papers.pflmf import runs
from linrep.papers.pflmf.model import NOISY

HALF = Fraction(1, 2)


@lines(
    "pflmf.theorem1.corrected",
    Region(x=(Open(0), HALF), p=(Open(0), 1), K=(1, None), root2=Root(2)),
    steps=["C", "w_V", "others"],
)
def follows(x, p, K, root2):
    """Follow from the round summed anew times (1 - 2 x)/(1 - x), x = eta L, or from (16)."""
    q = p * x
    w_V = 1 - q / (2 * K) - q * x / 2  # over p^2/C
    first = (1 - x) * (1 + p**3 / K + p**3 * x) / 2
    return {
        "C": at_most(p + (1 - p) * (1 + q / root2) ** 2, 2),
        "w_V": at_most(w_V, 1),
        "others": at_most((1 - x) * (q / 2 + 1 / root2), Fraction(3, 2)),
        "start": at_most((1 - 2 * x) / (1 - x), 1),
        "weight of V": at_most((1 - x) * (2 + x), 2 * w_V),
        "noise": at_most(first + Fraction(3, 2) * p**3 * (1 - p), 1),
        "(16), weight of V": at_most(1 - 2 * x, 1 - q / (2 * K)),
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


def of_instances(budget, rng, bound, strength=""):
    """Return Theorem 1 on runs of several instances, and a picture of the first."""
    shares = budget((1.0, 0.5, 0.25, 0.1, 0.02), (1.0, 0.5, 0.25, 0.1, 0.05, 0.02))
    T = budget((200, 4000), (200, 2000, 40_000))
    instances = {
        "reference": runs.reference(rng),
        "A of .05, a larger ball": runs.reference(rng, 0.05, (2.0, 1.0)),
        "two of five dimensions": runs.reference(rng, 1e-3, (0.1, 0.1), d=5, k=2),
        "matrices of their own": runs.reference(rng, own=True),
        "U moves, not V": runs.mirrored(rng),
    }
    parts, pictures = [], []
    for name, instance in instances.items() if budget.name != "quick" else [*instances.items()][:1]:
        cells, first = runs.Cells(), name == "reference"
        local, many = ((1, 5), T) if first and budget.name != "quick" else ((1,), T[:2])
        for p, K, seed in product(shares, local, range(budget(40, 40, 80))):
            if p == 1.0 and seed > 1:  # all clients, no noise: all runs are the same
                continue
            cells.add(instance, bound, rng, p=p, K=K, T=many)
        parts.append(cells.at_most_one(name, strength))
        pictures.append(cells.curve())
    return parts, pictures[0]


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
def theorem1(budget, rng, *, p_power=0, start=2.0, noise=2.0, T_power=1.0):
    """Compare lhs and rhs: exactly where U is fixed, and on runs; p^p_power weighs Delta_V.

    L is valid on convex sets of U and of V that the iterates do not leave: with one for all U and
    V, as Assumption 1 has it, and with a lower bound, the functions are constant.

    U follows the mean gradient of all clients, or of the participants. The latter only where
    F* = 0: elsewhere their mean has a variance, and Assumption 2 a sigma above 0.
    """
    bound = runs.Bound(p_power, start, noise, T_power)
    found, picture = of_instances(budget, rng, bound)
    everyone = [runs.by_hand(bound), *found, runs.exact(bound, grid(budget))]
    yield Readings(
        [
            Together(everyone, name="U follows all clients' mean gradient"),
            Together([runs.by_hand(bound)], name="U follows the participants' mean gradient"),
        ],
        phrase="the sequence generated by pFL^MF: Appendix A.1 and Algorithm 1 differ",
    )
    yield picture


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
    """Check it in the same way, with noise, and derive it from the round summed anew."""
    bound = runs.Bound(p_power, start, noise, T_power)
    settings = grid(budget, (0.0, 1e-3, 1.0, 1e3))
    yield runs.exact(bound, settings, name="U fixed, exact, any noise", strength=PROVED)
    yield runs.by_hand(bound, strength=PROVED)
    yield runs.by_hand(bound, noisy=True, strength=PROVED)
    found, picture = of_instances(budget, rng, bound, PROVED)
    yield from found
    yield picture
    steps = (1e-6, 1e-3, 0.05, 0.25, 0.49)
    yield runs.at_rest(bound, [(x, T) for x in steps for T in (1, 200, 10**7, 10**18)], PROVED)
    yield follows.measure()
