"""Theorem 1 with stochastic gradients, and its step sizes in Corollary 2."""

from __future__ import annotations

from itertools import product

import numpy as np

from linrep.claims import Condition, Together, statement
from linrep.claims.slopes import Slope
from linrep.papers.pflmf import runs
from linrep.papers.pflmf.model import NOISY
from linrep.theory import pflmf
from linrep.theory.pflmf_rounds import fixed_U_average

SHARES = (1.0, 0.3, 0.1, 0.02)
SIGMA = 0.02
NOISES = (1e-3, 0.1, 10.0)  # sigma^2 over L(F^0 - F*)


def exact_left(p, T, eta_L, noise, K=1) -> float:
    """Return the left side with U fixed, h = L = 1, F^0 - F* = 1, noise = sigma^2."""
    s = pflmf.Setting(p, K, eta_L, 1.0, 1.0, noise=float(np.sqrt(noise)))
    return float(fixed_U_average(s, 1.0, 2.0, float(T)))


def corollary_step(T, noise) -> float:
    """Return eta L of Corollary 2."""
    return float(pflmf.corollary2_step_size(1.0, T if noise else None))


def slope_of(x, y) -> Slope:
    """Return the slope of exact numbers; its bend is that of the upper half."""
    x, y = np.log(np.asarray(x, dtype=float)), np.log(np.asarray(y, dtype=float))
    upper = slice(len(x) // 2, None)
    whole, late = np.polyfit(x, y, 1)[0], np.polyfit(x[upper], y[upper], 1)[0]
    return Slope(float(whole), 0.0, float(abs(late - whole)))


def late_power(p, noise, claimed) -> Condition:
    """Return whether the exact power of T is the one claimed, up to 0.1, where T is large for p.

    At Corollary 2's step sizes, from T = 1e3/p^4 on.
    """
    T = 1e3 / p**4 * np.logspace(0.0, 4.0, 9)
    slope = slope_of(T, [exact_left(p, each, corollary_step(each, noise), noise) for each in T])
    return Condition(
        claimed - 0.1 <= slope.low and slope.high <= claimed + 0.1,
        slope.value,
        claimed,
        quantity="exponent",
        setting={"p": p, "sigma^2": noise},
    )


@statement(
    "pflmf.theorem1.noise",
    place="Theorem 1, Corollary 2",
    latex=r"\sigma > 0,\ \eta = \frac1{2L\sqrt T}:\ \frac1T \sum_{t<T} (\Delta_U + \Delta_V) \le"
    r" \frac{2(F^0 - F^\star)}{\eta T(1 - 2\eta L)} + \frac{2\eta L\sigma^2}{1 - 2\eta L}"
    r" = O(1/\sqrt T)",
    plain="With noise the mean squared gradients stay below Theorem 1's bound, O(1/sqrt T).",
    hypotheses=NOISY,
    negative_control={"p_power": 1.0},
    holds_with={"p_power": 2.0},
)
def theorem1_noise(budget, rng, *, p_power=0, start=2.0, noise=2.0, T_power=0.5):
    """Compare lhs and rhs exactly and on runs; the power of T is -T_power for each p.

    It is exact where T is large for p.
    """
    bound = runs.Bound(p_power, start, noise)
    yield runs.by_hand(bound, noisy=True)

    T = budget((100, 400, 1600), (100, 200, 400, 800, 1600, 3200, 6400))
    # The reference instance with A of .05, and a ball that noisy runs stay in.
    instance, cells = runs.reference(rng, 0.05, (0.5, 1.2)), runs.Cells()
    for p, rounds, _ in product(SHARES, T, range(budget(40, 40, 80))):
        cells.add(instance, bound, rng, p=p, T=(rounds,), eta_L=0.5 / np.sqrt(rounds), noise=SIGMA)
    yield cells.at_most_one(f"runs, sigma = {SIGMA:g}")
    yield cells.curve()

    grid = product(
        (1.0, 0.3, 0.1, 0.02, 0.001),
        budget((1, 20), (1, 5, 20)),
        (2, 10, 100, 800, 6400, 10**6, 10**9, 10**14),
        NOISES,
    )
    settings = [
        (p, K, eta_L, T, square)
        for p, K, T, square in grid
        for eta_L in (corollary_step(T, square), 0.01, 0.25, 0.49)
    ]
    yield runs.exact(bound, settings)
    for p in SHARES:
        powers = [late_power(p, square, -T_power) for square in NOISES]
        yield Together(powers, name=f"large T, p = {p:g}, U fixed, exact")

    steps = (1e-6, 1e-3, 0.05, 0.25, 0.49)
    yield runs.at_rest(bound, [(x, T) for x in steps for T in (1, 200, 10**7, 10**18)])
