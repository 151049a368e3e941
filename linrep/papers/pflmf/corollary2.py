"""Corollary 2, and what the abstract says: how near to stationary points runs come."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np

import linrep as lr
from linrep.claims import (
    Cases,
    Condition,
    Fact,
    Identity,
    Mean,
    Missing,
    Readings,
    Together,
    statement,
)
from linrep.claims.deviations import relative
from linrep.claims.evidence import PROVED
from linrep.claims.laws import Open, Region, at_most, equal, lines
from linrep.claims.quantities import LOWER, UPPER, VALUE
from linrep.papers.pflmf.model import ASSUMPTIONS, NOISY
from linrep.papers.pflmf.runs import Bound, at_rest, averages, exact, reference
from linrep.papers.pflmf.theorem1 import limit
from linrep.papers.pflmf.theorem1_noise import (
    corollary_step,
    exact_left,
    late_power,
    onset,
    slope_of,
)
from linrep.theory import pflmf

_SHARES = (1.0, 0.3, 0.1, 0.02)
#: Up to where small changes of exponents show.
_ROUNDS = (2, 10, 100, 6400, 10**6, 10**9, 10**12, 10**30, 10**60)


# Corollary 2.


@lines("pflmf.corollary2", Region(s=(1, None), p=(Open(0), 1)), family=True)
def exact_rate(s, p, *, T_power=1):
    """With U fixed, K = 1, no noise 1/T bounds a lower bound of the left side.

    T = s^b for a power of a/b. The gradient's square falls by the share d in a round, and
    (1 - d)^T <= 1/(1 + T d), so that the left side is at least 2 L(F^0 - F*)/(1 + T d).
    """
    power = Fraction(T_power).limit_denominator(100)
    a, b = power.numerator, power.denominator
    return at_most(2 * p**2 * s**a, 16 * (1 + p**2 * (8 - p) / 16 * s**b))


@lines("pflmf.corollary2.constants", Region(u=(Open(0), 1)), family=True)
def exact_constants(u, *, p_power=2, start=2):
    """With U fixed, K = 1, no noise, T to infinity the left side is at most the right one."""
    # At x = 1/4, where the start's constant is 2 in Theorem 1's family.
    return limit(u, p_power, lambda p: 4 / (start * (8 - p)))


@lines("pflmf.corollary2.constants", Region(L=(Open(0), None), root=(Open(1), None)))
def at_the_step(L, root):
    """Theorem 1's factor of the start at eta = 1/(2 L root), root^2 = T."""
    eta = 1 / (2 * L * root)
    return {"4 L": equal(2 / (eta * root**2 * (1 - 2 * eta * L)), 4 * L / (root - 1))}


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


def _runs(budget, rng, powers):
    """Yield runs at Corollary 2's step sizes against its bounds over p^2, and their powers of T.

    T is from 30/p^2 on, with noise (sigma^2 a tenth of L(F0 - F*)) from 100/p^4 on.
    """
    instance, ratios = reference(rng), []
    cells = [(p, False) for p in budget((1.0, 0.3), (1.0, 0.3, 0.1))]
    cells += [(p, True) for p in budget((1.0,), (1.0, 0.5))]
    doublings = 5
    planned = doublings * len(cells)
    for p, noisy in cells:
        first = 100.0 / p**4 if noisy else 30.0 / p**2
        sigma = np.sqrt(0.1 * instance.smoothness * instance.gap) if noisy else 0.0
        T = [int(first * 2**place) for place in range(doublings)]
        left = []
        for rounds in T:
            found = [
                averages(
                    instance,
                    rng,
                    p=p,
                    T=(rounds,),
                    noise=sigma,
                    eta_L=corollary_step(rounds, noisy),
                )
                for _ in range(40)
            ]
            inside = [float(each.in_U[0] + each.in_V[0]) for each in found if each.inside.all()]
            if len(inside) < len(found):
                continue  # L says nothing of them
            left.append(inside)
            right = _bound(instance.gap, instance.smoothness, rounds, sigma, p, powers)
            ratios.append(
                Mean(
                    np.array(inside) / right,
                    at_most=1.0,
                    quantity="left over right side",
                    setting={"p": p, "T": rounds, "sigma": float(sigma)},
                    strength=PROVED,
                    deterministic=(p, noisy) == (1.0, False),
                    weight=1.0 / planned,
                )
            )
        if len(left) == len(T):
            slope = slope_of(T, np.mean(left, axis=1)).value
            kind = "noise" if noisy else "no noise"
            yield Fact(f"power of T in runs, {kind}", slope, setting={"p": p})
    if ratios:
        yield Together(ratios, left_out=1.0 - len(ratios) / planned, name="runs")
    else:
        yield Missing("runs left the ball", "less noise", name="runs")


def _bound(gap, L, T, sigma, p, powers) -> float:
    """Return Corollary 2's bound over p^2, T having the powers without noise and with it."""
    if sigma == 0.0:
        found = pflmf.corollary2(gap, smoothness=L, rounds=T)
        return float(found.total) / p**2 * float(T) ** (1.0 - powers[0])
    found = pflmf.corollary2(gap, smoothness=L, rounds=T, noise=sigma)
    return float(found.total) / p**2 * float(T) ** (0.5 - powers[1])


def _rates(powers, noises, name) -> Cases:
    """Compare exact runs, U being fixed, with the bounds over p^2: for a fixed p, O of the rate."""
    cases = []
    for p, K, T, square in product((*_SHARES, 0.001), (1, 20), _ROUNDS, noises):
        left = exact_left(p, T, corollary_step(T, square), square, K)
        right = _bound(1.0, 1.0, T, float(np.sqrt(square)), p, powers)
        cases.append((left / right, 1.0, {"p": p, "K": K, "T": T, "sigma^2": square}))
    return Cases(
        cases, quantity="left over right side", name=f"U fixed, exact, {name}", strength=PROVED
    )


def _late_power(noise, name) -> Fact:
    """Return the exact power of T at p = 1/10, T large for it."""
    found = late_power(0.1, noise, -0.5 if noise else -1.0)
    return Fact(f"power of T, U fixed, T large, {name}", found.measured, setting={"p": 0.1})


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
    hypotheses=NOISY,
    negative_control={"T_power": 1.25},
    stronger={"T_power": 1, "power": 0},
)
def corollary2(budget, rng, *, T_power=1, power=0.5):
    """Substitute, and compare runs, exact ones among them, with the bounds over p^2.

    T_power is that without noise, half of which is that with noise; power is that in eta.
    """
    powers = T_power, 0.5 * T_power
    yield Identity(_substituted(power), 1e-12, name="substituted", strength=PROVED)
    yield _rates(powers, (0.0,), "no noise")
    yield _rates(powers, (1e-3, 0.1, 10.0), "noise")
    yield from _runs(budget, rng, powers)
    for noise in (0.0, 0.1, 10.0):
        yield _late_power(noise, f"sigma^2 = {noise:g} L(F^0 - F*)" if noise else "no noise")
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
    own=True,
    place="Corollary 2, whose constants are not printed",
    latex=r"\frac1T \sum_{t<T} (\Delta_U + p^2\Delta_V) \le \frac{4L(F^0 - F^\star) + \sigma^2}"
    r"{\sqrt T - 1} \ \Big(\eta = \frac1{2L\sqrt T},\ T > 1\Big), \quad \frac{16L(F^0 - F^\star)}T"
    r" \ \Big(\sigma = 0,\ \eta = \frac1{4L}\Big)",
    plain="Corollary 2's rates have the constants that Theorem 1 gives, for Delta_U + p^2 Delta_V.",
    hypotheses=NOISY,
    negative_control={"p_power": 1.0},
    stronger={"p_power": -1, "start": -1, "noise": -1, "T_power": 1},
)
def corollary2_constants(budget, rng, *, p_power=2, start=2, noise=2, T_power=1):
    """Compare lhs and rhs exactly with U fixed, from T = 2 on; theorem1.noise has runs.

    `start` and `noise` are Theorem 1's constants: twice the first, 8 times it without noise, and
    half of the second are printed here. T_power is that in the first term.
    """
    grid = product(
        (*_SHARES, 0.001, 1e-6), budget((1, 20), (1, 5, 20)), _ROUNDS, (0.0, 1e-3, 0.1, 10.0)
    )
    settings = [(p, K, corollary_step(T, square), T, square) for p, K, T, square in grid]
    bound = Bound(p_power, start, noise, T_power)
    yield exact(bound, settings, strength=PROVED)
    steps = [(corollary_step(T, 1.0), T) for T in _ROUNDS]
    yield at_rest(bound, steps, PROVED)
    at = "before 1/T without noise, before 1/sqrt T with sigma^2 = L(F^0 - F*)/100, at the T given"
    yield Fact("constants of Delta_V", f"{at}; (uv)^2/2 attains the second of each pair")
    for p in (1.0, 0.5, 0.3, 0.1, 0.02):
        yield from _constants(p)


def _constants(p):
    """Yield the constants before the rates of Delta_V, over L(F^0 - F*), and what (uv)^2/2 attains.

    With noise, sigma^2 = L(F^0 - F*)/100, T being large for the p.
    """
    for noise, power, rate in ((0.0, 1.0, "1/T"), (0.01, 0.5, "1/sqrt T")):
        T = 1e8 / p ** (4 if noise else 2)
        bound = _bound(1.0, 1.0, T, float(np.sqrt(noise)), p, (1.0, 0.5))
        attained = exact_left(p, T, corollary_step(T, noise), noise)
        yield Fact(f"T for {rate}", T, setting={"p": p})
        for name, value in (("bound", bound), ("attained", attained)):
            constant = value * T**power
            yield Fact(f"before {rate}: {name}", constant, "L(F^0 - F*)", setting={"p": p})


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
            problem,
            k=k,
            step_size=step,
            head_step_size=step * problem.n,
            rounds=rounds,
            record=[rounds],
            stationarity=False,
            scale=scale,
            aggregate="full",
            rng=seed,
        )
        found.append(trace["objective"][-1])
    return np.array(found)


def other_minimum(weighted) -> dict[str, Fraction]:
    """Return numbers, exact, of the models with the wrong signs: u = (1, -1), v = (x, -x).

    F = sum_ij w_ij (v_i u_j - A_ij)^2/4. The gradient's largest entry; leading minors of the
    Hessian in (u_2, v_1, v_2), as u_1 = 1 is no restriction near u_1 = 1; and how much larger F is
    than at u = (1, 1), v = (y, y).
    """
    own, other = Fraction(1), Fraction(1, 10) if weighted else Fraction(1)
    w, half, both = [[own, other], [other, own]], Fraction(1, 2), (0, 1)
    A = [[Fraction(1), half], [half, Fraction(1)]]

    def value(u, v):
        return sum(w[i][j] * (v[i] * u[j] - A[i][j]) ** 2 for i in both for j in both) / 4

    def gradient(u, v):
        e = [[w[i][j] * (v[i] * u[j] - A[i][j]) / 2 for j in both] for i in both]
        return [sum(e[i][j] * v[i] for i in both) for j in both] + [
            sum(e[i][j] * u[j] for j in both) for i in both
        ]

    x, y = (1 - other / 2) / (1 + other), (1 + other / 2) / (1 + other)
    u, v = [Fraction(1), Fraction(-1)], [x, -x]
    a = sum(w[i][1] * v[i] ** 2 for i in both) / 2
    b, c = (w[i][1] * (2 * v[i] * u[1] - A[i][1]) / 2 for i in both)
    d, e = (sum(w[i][j] * u[j] ** 2 for j in both) / 2 for i in both)
    return {
        "largest entry of the gradient": max(map(abs, gradient(u, v))),
        "first minor": a,
        "second minor": a * d - b**2,
        "third minor": a * d * e - b**2 * e - c**2 * d,
        "F less F at the right signs": value(u, v) - value([Fraction(1)] * 2, [y, y]),
    }


def _global(budget, rng, weighted) -> list[Condition | Fact]:
    """Return whether there is another minimum, and how often runs end in the global one."""
    problem, runs = _stuck(weighted), budget(100, 1000)
    ends = _ends(problem, 1, runs, rng, 0.5)
    best = problem.best(1)
    least = float(ends.min()) if best is None else best.value
    numbers = other_minimum(weighted)
    slope, *positive = numbers.values()
    share = float(np.mean(ends <= least + 1e-6))
    return [
        Condition(
            slope == 0 and min(positive) > 0,
            float(positive[-1]),
            strength=PROVED,
            quantity="objective over the global minimum",
            name="another local minimum, exact",
            measured_is=LOWER,
            setting={name: str(number) for name, number in numbers.items()},
        ),
        Fact(
            "share of random starts that end in the global minimum",
            share,
            value_is=UPPER if best is None else VALUE,
        ),
    ]


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
    place="Sections 1, 4 and 6",
    latex=r"\sigma = 0: O(1/T), \quad \sigma > 0: O(1/\sqrt T); \quad f_i \text{ convex: no global"
    r" convergence can be proved}",
    plain="Rates to a stationary point are 1/T and 1/sqrt T; the global minimum may be missed, for "
    "convex f_i, too.",
    hypotheses=NOISY,
    negative_control={"weighted": False},
    stronger={"T_power": 1, "noisy_power": 1},
)
def abstract_claims(budget, rng, *, T_power=1.0, noisy_power=0.5, weighted=True):
    """Compare runs with the bounds over p^2; look at another minimum, and where runs end."""
    parts, reached = _global(budget, rng, weighted), _with_one_matrix(budget, rng)
    powers = T_power, noisy_power
    yield _rates(powers, (0.0,), "no noise")
    yield _rates(powers, (1e-3, 0.1, 10.0), "noise")
    if budget.name != "quick":
        yield from _runs(budget, rng, powers)
    yield from parts
    yield reached
    for noise in (0.0, 0.01):
        yield _constant_in_p(noise)


def _escaping(rounds) -> Cases:
    """Return how far e^(-uv) takes u = v from 1: no step is 0 before u = v = 0, where none is left.

    L = 1 is valid for u, v >= 1, which the run does not leave; eta = 1/4.
    """
    u, cases = 1.0, []
    for t in range(1, max(rounds) + 1):
        u += 0.25 * u * np.exp(-u * u)
        if t in rounds:
            cases.append((u, 1.0, {"T": t, "u = v": u}))
    return Cases(cases, name="the iterates converge", quantity="u, of a run that leaves 1 for ever")


@statement(
    "pflmf.stationary-point",
    place="Abstract, Sections 1 and 6",
    latex=r"\text{the method converges to a stationary point at the rate } O(1/T)",
    plain="With exact gradients the method converges to a stationary point at the rate 1/T: its "
    "gradients do, its iterates need not.",
    hypotheses=ASSUMPTIONS,
    negative_control={"T_power": 1.25},
    stronger={"T_power": 1},
)
def stationary_point(budget, rng, *, T_power=1):
    """Compare what Theorem 1 bounds, p being fixed, and iterates that a bounded function sends off.

    e^(-uv) has no stationary point but u = v = 0, which iterates from u = v = 1 go away from.
    """
    gradients = _rates((T_power, 0.5 * T_power), (0.0,), "no noise")
    yield Readings(
        [
            replace(gradients, name="squared gradients, on average"),
            _escaping(budget((10, 1000), (10, 1000, 100_000))),
        ],
        phrase="converges to a stationary point",
    )
