"""Corollary 2, and what the abstract says: how near to stationary points runs come."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np

import linrep as lr
from linrep.claims import (
    Condition,
    Exponent,
    Fact,
    Frequency,
    Identity,
    Measurement,
    Missing,
    Together,
    statement,
)
from linrep.claims.deviations import relative
from linrep.claims.pflmf._runs import Bound, averages, exact, reference
from linrep.claims.pflmf.theorem1_noise import (
    corollary_step,
    exact_left,
    late_power,
    onset,
    slope_of,
)
from linrep.theory import pflmf

_SHARES = (1.0, 0.3, 0.1, 0.02)


# Corollary 2.


def _substituted(power):
    """Yield how far Theorem 1's right side, at eta = 1/(2 L T^power), is from what it should be."""
    for L, gap, square, T in product((0.25, 1.0, 8.0), (0.5, 2.0), (0.0, 1.0), (4, 9, 100, 10**8)):
        eta = 0.5 / (L * T**power)
        bound = pflmf.theorem1(gap, smoothness=L, step_size=eta, rounds=T, noise=np.sqrt(square))
        # In whole numbers: 2 gap/(eta T (1 - 2 eta L)) with eta = 1/(2 L s), s = sqrt(T).
        s = Fraction(round(np.sqrt(T)))
        eta_s = 1 / (2 * Fraction(L) * s)
        slack = 1 - 2 * eta_s * Fraction(L)
        right = 2 * Fraction(gap) / (eta_s * T * slack)
        right += 2 * eta_s * Fraction(L) * Fraction(square) / slack
        simple = (4 * Fraction(L) * Fraction(gap) + Fraction(square)) / (s - 1)
        assert right == simple
        at = {"L": L, "gap": gap, "sigma^2": square, "T": T}
        yield relative(bound.total, float(simple)), at
        without = pflmf.theorem1(gap, smoothness=L, step_size=0.25 / L, rounds=T)
        yield relative(without.total, 16.0 * L * gap / T), {**at, "eta": "1/(4L)"}


def _run_slopes(budget, rng, T_power):
    """Yield the power of T in runs at Corollary 2's step sizes, half of it with noise.

    T is from 30/p^2 on, with noise (sigma^2 a tenth of L(F0 - F*)) from 100/p^4 on.
    """
    instance = reference(rng)
    cells = [(p, False) for p in budget((1.0, 0.3), (1.0, 0.3, 0.1))]
    cells += [(p, True) for p in budget((1.0,), (1.0, 0.5))]
    for p, noisy in cells:
        first = 100.0 / p**4 if noisy else 30.0 / p**2
        sigma = np.sqrt(0.1 * instance.smoothness * instance.gap) if noisy else 0.0
        T = [int(first * 2**place) for place in range(5)]
        groups = [(each,) for each in T] if noisy else [tuple(T)]
        rows = [
            [
                averages(
                    instance, rng, p=p, T=group, noise=sigma,
                    eta_L=corollary_step(group[0], noisy),
                )
                for group in groups
            ]
            for _ in range(budget(8, 16))
        ]  # fmt: skip
        name = f"runs, p = {p:g}, {'noise' if noisy else 'no noise'}"
        if not all(each.inside.all() for row in rows for each in row):
            yield Missing("runs left the ball", "less noise", name=name)
            continue
        left = np.array([np.concatenate([each.in_U + each.in_V for each in row]) for row in rows])
        yield Exponent(
            T, list(left.T), equals=-T_power * (0.5 if noisy else 1.0), statistic="mean", rng=rng,
            along="T", of="mean squared gradients", name=name,
        )  # fmt: skip


def _late_powers(T_power, noises, name) -> Together:
    """Return the exact powers of T for every p, T large for it; with noise half of `T_power`."""
    claimed = {noise: -T_power * (0.5 if noise else 1.0) for noise in noises}
    return Together(
        [late_power(p, noise, claimed[noise]) for p, noise in product((*_SHARES, 0.001), noises)],
        name=f"large T, exact, {name}",
    )


def _constant_in_p(noise) -> Fact:
    """Return the power of p in the exact constant before 1/T, or before 1/sqrt T."""
    shares = np.array([0.3, 0.1, 0.03, 0.01])
    constants = []
    for p in shares:
        T = 1e8 / p ** (4 if noise else 2)
        left = exact_left(p, T, corollary_step(T, noise), noise)
        constants.append(left * (np.sqrt(T) if noise else T))
    rate = "1/sqrt T, little noise" if noise else "1/T, no noise"
    return Fact(f"power of p in the constant before {rate}", slope_of(shares, constants).value)


@statement(
    "pflmf.corollary2",
    place="Corollary 2",
    latex=r"\eta = \frac1{2L\sqrt T}: O(1/\sqrt T); \qquad \sigma = 0,\ \eta = \frac1{4L}: O(1/T)",
    plain="At Corollary 2's step sizes the rates in T are 1/sqrt T with noise and 1/T without.",
    negative_control={"T_power": 1.25},
)
def corollary2(budget, rng, *, T_power=1.0, power=0.5):
    """Substitute, and decide the powers of T for every p, where T is large for it.

    T_power is that without noise, half of which is that with noise; power is that in eta.
    """
    yield Identity(_substituted(power), 1e-12, name="substituted")
    yield from _run_slopes(budget, rng, T_power)
    for noise in (0.0, 0.1, 10.0):
        name = f"sigma^2 = {noise:g} L(F^0 - F*)" if noise else "no noise"
        yield _late_powers(T_power, (noise,), name)
    for noise in (0.0, 0.01):
        yield _constant_in_p(noise)
    shares = (0.3, 0.1, 0.02)
    for noise, rate, name in ((0.0, -1.0, "no noise"), (0.1, -0.5, "noise")):
        began = [onset(p, noise, rate) for p in shares]
        yield Fact(
            f"power of p in the T from which on the rate holds, {name}",
            slope_of(shares, began).value,
        )


@statement(
    "pflmf.corollary2.constants",
    place="Corollary 2",
    latex=r"\frac1T \sum_{t<T} (\Delta_U + \Delta_V) \le \frac{4L(F^0 - F^\star) + \sigma^2}"
    r"{\sqrt T - 1} \ \text{ and }\ \frac{16L(F^0 - F^\star)}T",
    plain="The constants of Corollary 2's rates are those that Theorem 1 gives, without p.",
    negative_control={"p_power": 1.0},
    holds_with={"p_power": 2.0},
)
def corollary2_constants(budget, rng, *, p_power=0.0, start=2.0, noise=2.0):
    """Compare lhs and rhs exactly with U fixed, from T = 2 on; theorem1.noise has runs."""
    grid = product(
        (*_SHARES, 0.001), budget((1, 20), (1, 5, 20)), (2, 10, 100, 6400, 10**6, 10**9, 10**12),
        (0.0, 1e-3, 0.1, 10.0),
    )  # fmt: skip
    settings = [(p, K, corollary_step(T, square), T, square) for p, K, T, square in grid]
    yield exact(Bound(p_power, start, noise), settings)


# The abstract.


def _stuck(weighted):
    """Return a problem with convex f_i whose factors have another local minimum, if weighted.

    Entries off the diagonal count little. Models with the wrong sign there are a minimum as well.
    """
    A = np.array([[1.0, 0.5], [0.5, 1.0]])
    weights = np.array([[1.0, 0.1], [0.1, 1.0]])
    return lr.QuadraticObjectives(A, weights=weights if weighted else None)


def _ends(problem, k, runs, rng, scale, rounds=2000, step=0.1):
    """Return F at the ends of runs from random starts."""
    found = []
    for seed in map(int, rng.integers(2**63, size=runs)):
        trace = lr.pflmf(
            problem, k=k, step_size=step, head_step_size=step * problem.n, rounds=rounds,
            record=[rounds], stationarity=False, scale=scale, aggregate="full", rng=seed,
        )  # fmt: skip
        found.append(trace["objective"][-1])
    return np.array(found)


def _another_minimum(problem, step=1e-4):
    """Return F and the least eigenvalues of the Hessian at the minimum of the wrong signs."""
    x = np.array([1.0, -1.0, 1.0, -1.0])

    def gradient(x):
        found = problem.factor_gradients(x[:2, None], x[2:, None])
        return np.concatenate([found.in_U.ravel(), found.in_V.ravel()])

    for _ in range(20_000):
        x = x - 0.2 * gradient(x)
    H = np.array([gradient(x + e) - gradient(x - e) for e in step * np.eye(4)]) / (2.0 * step)
    value = problem.value(x[2:, None] @ x[:2, None].T)
    return value, float(np.linalg.norm(gradient(x))), np.linalg.eigvalsh(0.5 * (H + H.T))


def _global(budget, rng, weighted) -> list[Measurement]:
    """Return whether there is another minimum, and how often runs end in the global one."""
    problem, runs = _stuck(weighted), budget(400, 1000)
    ends = _ends(problem, 1, runs, rng, 0.5)
    best = problem.best(1)
    least = float(ends.min()) if best is None else best.value
    value, slope, eigenvalues = _another_minimum(problem)
    # One direction is flat: (U, V) and (c U, V/c) are the same models.
    strict = slope < 1e-8 and value > least + 1e-3 and eigenvalues[1] > 1e-3
    strict = strict and abs(eigenvalues[0]) < 1e-6
    return [
        Condition(
            bool(strict), float(value - least), quantity="objective over the global minimum",
            name="another local minimum", setting={"F": float(value), "|grad|": slope},
        ),
        Frequency(
            int(np.sum(ends <= least + 1e-6)), runs, 0.95, quantity="share of random starts",
            name="random starts that end in the global minimum",
            setting={"weights off the diagonal": 0.1 if weighted else 1.0},
        ),
    ]  # fmt: skip


def _with_one_matrix(budget, rng) -> Fact:
    """Return how often runs reach the truncated SVD, the minimum of unweighted quadratics."""
    shares = []
    for n, d, k, scale in ((20, 5, 2, 0.01), (20, 5, 2, 0.5), (10, 8, 4, 0.5)):
        problem = lr.QuadraticObjectives(rng.standard_normal((n, d)))
        best = problem.best(k)
        assert best is not None
        ends = _ends(problem, k, budget(10, 60), rng, scale, budget(2000, 20_000))
        shares.append(np.mean(ends / best.value - 1.0 < 1e-6))
    return Fact("share of random starts that reach the truncated SVD, no weights", min(shares))


@statement(
    "pflmf.abstract-claims",
    place="abstract, Sections 1 and 4",
    latex=r"\sigma = 0: O(1/T), \quad \sigma > 0: O(1/\sqrt T); \quad f_i \text{ convex: no global"
    r" convergence can be proved}",
    plain="Rates to a stationary point are 1/T and 1/sqrt T; the global minimum may be missed.",
    negative_control={"weighted": False},
)
def abstract_claims(budget, rng, *, T_power=1.0, noisy_power=0.5, weighted=True):
    """Decide the powers of T for every p, and where runs from random starts end."""
    parts, reached = _global(budget, rng, weighted), _with_one_matrix(budget, rng)
    yield _late_powers(T_power, (0.0,), "no noise")
    yield _late_powers(2.0 * noisy_power, (1e-3, 0.1, 10.0), "noise")
    if budget.name != "quick":
        yield from _run_slopes(budget, rng, T_power)
    yield from parts
    yield reached
    for noise in (0.0, 0.01):
        yield _constant_in_p(noise)
