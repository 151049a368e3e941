"""Theorem 1 with stochastic gradients, at the step size that Corollary 2 has for them."""

from __future__ import annotations

from itertools import product

import numpy as np

from linrep.claims import statement
from linrep.papers.pflmf import runs
from linrep.papers.pflmf.model import NOISY


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
def theorem1_noise(budget, rng, *, p_power=0):
    """Compare lhs and rhs on a run in fractions, and draw others; p^p_power weighs Delta_V."""
    bound, sigma = runs.Bound(p_power), 0.02
    yield runs.by_hand(bound, noisy=True)
    grid = product((1.0, 0.1, 0.001), (1, 20), (100, 10**6, 10**14), (1e-3, 0.1, 10.0))
    settings = [(p, K, 0.5 / np.sqrt(T), T, square) for p, K, T, square in grid]
    yield runs.exact(bound, settings)

    T = budget((100, 400, 1600), (100, 200, 400, 800, 1600, 3200, 6400))
    # The reference instance with A of .05, and a ball that noisy runs stay in.
    instance, cells = runs.reference(rng, 0.05, (0.5, 1.2)), runs.Cells()
    for p, rounds, _ in product((1.0, 0.3, 0.1, 0.02), T, range(budget(40, 40, 80))):
        cells.add(instance, bound, rng, p=p, T=(rounds,), eta_L=0.5 / np.sqrt(rounds), noise=sigma)
    yield cells.curve()
