"""Theorem 1 without noise, and what holds in its place."""

from __future__ import annotations

from itertools import product

import numpy as np

from linrep.claims import (
    Cases,
    Curve,
    Fact,
    Measurement,
    Missing,
    Readings,
    Together,
    statement,
)
from linrep.claims.evidence import PROVED
from linrep.claims.slopes import log_slope
from linrep.papers.pflmf import runs
from linrep.papers.pflmf.model import NOISY
from linrep.theory import pflmf

_SHARES = (1.0, 0.5, 0.25, 0.1, 0.05, 0.02)


def _grid(budget, noises=(0.0,)):
    """Return p, K, eta L, T and sigma^2 towards their extremes."""
    return product(
        (1.0, 0.7, 0.5, 0.25, 0.1, 0.02, 0.001, 1e-6),
        budget((1, 20), (1, 2, 5, 20, 200)),
        (1e-3, 0.05, 0.25, 0.49),
        (1, 200, 2000, 40_000, 10**7, 10**12, 10**18),
        noises,
    )


def _instances(rng) -> dict[str, runs.Instance]:
    return {
        "reference": runs.reference(rng),
        "A of .05, a larger ball": runs.reference(rng, 0.05, (2.0, 1.0)),
        "two of five dimensions": runs.reference(rng, 1e-3, (0.1, 0.1), d=5, k=2),
        "matrices of their own": runs.reference(rng, own=True),
        "U moves, not V": runs.mirrored(rng),
    }


def of_instances(
    budget, rng, bound, aggregate, strength=""
) -> tuple[list[Measurement], tuple[Curve, Fact]]:
    """Return Theorem 1 on runs of several instances, a picture, and the power of p left over."""
    shares = budget((1.0, 0.5, 0.25, 0.1, 0.02), _SHARES)
    T = budget((200, 4000), (200, 2000, 40_000))
    parts: list[Measurement] = []
    chosen = _instances(rng)
    if budget.name == "quick":
        chosen = {"reference": chosen["reference"]}
    seeds = budget(40, 40, 80)
    for name, instance in chosen.items():
        cells = runs.Cells()
        first = name == "reference"
        local, many = ((1, 5), T) if first and budget.name != "quick" else ((1,), T[:2])
        for p, K, seed in product(shares, local, range(seeds)):
            if p == 1.0 and seed > 1:  # all clients, no noise: all runs are the same
                continue
            cells.add(instance, bound, rng, p=p, K=K, T=many, aggregate=aggregate)
        parts.append(cells.at_most_one(name, strength))
        if first:
            table = cells.table
            last = table[(table["T"] == max(many)) & (table["K"] == 1)]
            few = shares if budget.name != "quick" else shares[:4]
            samples = [last[last["p"] == p]["ratio"].to_numpy() for p in few]
            slope = log_slope(1.0 / np.array(few), samples)
            left_over = Fact("power of 1/p in left over right side, largest T", slope.value)
            shown = cells.curve(), left_over
    return parts, shown


def _noise_constant(budget, rng, bound, strength="") -> Together | Missing:
    """Return the noise's term from a minimum, p = 1: it is all that the right side has."""
    cells, instance = runs.Cells(), runs.at_minimum()
    for eta_L, _ in product((0.02, 0.1, 0.3), range(40)):
        T = (budget(10_000, 60_000),)
        cells.add(instance, bound, rng, p=1.0, T=T, eta_L=eta_L, noise=1e-5)
    return cells.at_most_one("noise's constant, from a minimum", strength)


def _follows() -> Cases:
    """Compare weights and noise of the round summed anew, or of (16), with the statement's."""
    cases = []
    for p, eta_L, K in product(
        np.geomspace(1e-4, 1.0, 41), np.linspace(1e-4, 0.4999, 41), (1, 2, 5, 20, 200)
    ):
        s = pflmf.Setting(float(p), K, float(eta_L), 1.0, 1.0, noise=1.0)
        r, slack = pflmf.resummed(s), 1.0 - 2.0 * eta_L
        # Multiplied so that the weight of Delta_U is (1 - 2 eta L)/2.
        scale = 0.5 * slack / r.weight_U
        at = {"p": float(p), "eta L": float(eta_L), "K": K}
        cases += [
            (scale, 1.0, {**at, "of": "start"}),
            (0.5 * slack * p**2, scale * r.weight_V, {**at, "of": "weight of V"}),
            (scale * r.noise, eta_L, {**at, "of": "noise"}),
            (slack, 1.0 - 0.5 * p * eta_L / K, {**at, "of": "(16), weight of V"}),
            (pflmf.summed_noise(s), 2.0, {**at, "of": "(16), noise"}),
        ]
    return Cases(cases, name="follows from the round summed anew, and from (16)", strength=PROVED)


_LATEX = (
    r"\frac1T \sum_{t<T} \Big(E\|\nabla_U\|^2 + %sE\frac1K\sum_k \|\nabla_V(U^t, V_k^t)\|^2\Big)"
    r" \le \frac{2(F^0 - F^\star)}{\eta T(1 - 2\eta L)} + \frac{2\eta L\sigma^2}{1 - 2\eta L}"
)


@statement(
    "pflmf.theorem1",
    place="Theorem 1",
    latex=r"\eta_v = \tfrac{p\eta}K,\ \eta < \tfrac1{2L}:\ " + _LATEX % "",
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
    found, shown = of_instances(budget, rng, bound, "full")
    everyone = [
        runs.by_hand(bound),
        *found,
        runs.exact(bound, _grid(budget)),
        _noise_constant(budget, rng, bound),
    ]
    participants, _ = of_instances(budget, rng, bound, "participants")
    yield Readings(
        [
            Together(everyone, name="U follows all clients' mean gradient"),
            Together(
                [runs.by_hand(bound), *participants],
                name="U follows the participants' mean gradient",
            ),
        ],
        phrase="the sequence generated by pFL^MF: Appendix A.1 and Algorithm 1 differ",
    )
    yield from shown


@statement(
    "pflmf.theorem1.corrected",
    place="Theorem 1",
    latex=r"\eta_v = \tfrac{p\eta}K,\ \eta < \tfrac1{2L}:\ " + _LATEX % "p^2 ",
    plain="Theorem 1's bound holds for Delta_U + p^2 Delta_V, the squared gradient of V times p^2.",
    hypotheses=NOISY,
    negative_control={"p_power": 1.8},
    corrects="pflmf.theorem1",
    stronger={"p_power": -1, "start": -1, "noise": -1, "T_power": 1},
)
def theorem1_corrected(budget, rng, *, p_power=2, start=2, noise=2, T_power=1):
    """Check it in the same way, with noise, and derive it from the round summed anew."""
    bound = runs.Bound(p_power, start, noise, T_power)
    grid = _grid(budget, (0.0, 1e-3, 1.0, 1e3))
    yield runs.exact(bound, grid, name="U fixed, exact, any noise", strength=PROVED)
    yield runs.by_hand(bound, strength=PROVED)
    yield runs.by_hand(bound, noisy=True, strength=PROVED)
    found, shown = of_instances(budget, rng, bound, "full", PROVED)
    yield from found
    yield from shown
    yield _noise_constant(budget, rng, bound, PROVED)
    steps = (1e-6, 1e-3, 0.05, 0.25, 0.49)
    yield runs.at_rest(bound, [(x, T) for x in steps for T in (1, 200, 10**7, 10**18)], PROVED)
    yield _follows()
