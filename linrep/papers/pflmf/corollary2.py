"""Corollary 2, and what the abstract says: how near to stationary points runs come."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np

from linrep.claims import Cases, Condition, Fact, Readings, statement
from linrep.claims.evidence import LOWER, PROVED
from linrep.claims.laws import Open, Region, at_most, equal, lines, measured
from linrep.papers.pflmf.model import ASSUMPTIONS, NOISY
from linrep.papers.pflmf.runs import RATIO, WHOSE, Bound, at_rest, exact, from_a_minimum
from linrep.papers.pflmf.theorem1 import limit
from linrep.theory import pflmf
from linrep.theory.pflmf_rounds import fixed_U_average

SHARES = (1.0, 0.3, 0.1, 0.02)
#: Up to where small changes of exponents show.
ROUNDS = (2, 10, 100, 6400, 10**6, 10**9, 10**12, 10**30, 10**60)
NOISES = (1e-3, 0.1, 10.0)  # sigma^2 over L(F^0 - F*)

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


def substituted(power):
    """Yield Theorem 1's right side at eta = 1/(2 L T^power), and at 1/(4 L) without noise."""
    grid = product((0.25, 1.0, 8.0), (0.5, 2.0), (0.0, 1.0), (4, 9, 100, 10**8))
    for L, gap, square, T in grid:
        given = {"smoothness": L, "rounds": T}
        noise = {"step_size": 0.5 / (L * T**power), "noise": np.sqrt(square)}
        found = pflmf.theorem1(gap, **given, **noise).total
        at = {"L": L, "gap": gap, "sigma^2": square, "T": T}
        yield "substituted", equal(found, (4 * L * gap + square) / (np.sqrt(T) - 1)), at
        without = pflmf.theorem1(gap, step_size=0.25 / L, **given).total
        yield "substituted", equal(without, 16.0 * L * gap / T), {**at, "eta": "1/(4L)"}


def corollary_step(T, square) -> float:
    """Return eta L of Corollary 2."""
    return float(pflmf.corollary2_step_size(1.0, T if square else None))


def exact_left(p, T, square, K=1) -> float:
    """Return the left side there with U fixed, h = L = 1, F^0 - F* = 1 and sigma^2 = square."""
    sigma = float(np.sqrt(square))
    s = pflmf.Setting(p, K, corollary_step(T, square), 1.0, 1.0, noise=sigma)
    return float(fixed_U_average(s, 1.0, 2.0, float(T)))


def bound_over(gap, L, T, sigma, p, powers) -> float:
    """Return Corollary 2's bound over p^2, T having the powers without noise and with it."""
    found = pflmf.corollary2(gap, smoothness=L, rounds=T, **({"noise": sigma} if sigma else {}))
    more = 0.5 - powers[1] if sigma else 1.0 - powers[0]
    return float(found.total) / p**2 * float(T) ** more


def rates(powers, noises, name) -> Cases:
    """Compare exact runs, U being fixed, with the bounds over p^2: for a fixed p, O of the rate."""
    cases = []
    for p, K, T, square in product((*SHARES, 0.001), (1, 20), ROUNDS, noises):
        left = exact_left(p, T, square, K)
        right = bound_over(1.0, 1.0, T, float(np.sqrt(square)), p, powers)
        cases.append((left / right, 1.0, {"p": p, "K": K, "T": T, "sigma^2": square}))
    return Cases(cases, quantity=RATIO, name=f"U fixed, exact, {name}", strength=PROVED)


def without_noise(T_power) -> Readings:
    """Compare the rate 1/T with exact runs of Appendix A.1, and with Algorithm 1 from a minimum."""
    found = rates((T_power, 0.5 * T_power), (0.0,), "no noise")
    named = replace(found, name="U follows all clients' mean gradient")
    return Readings([named, from_a_minimum()], phrase=WHOSE)


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
    """Substitute, and compare exact runs with the bounds over p^2.

    T_power is that without noise, half of which is that with noise; power is that in eta.
    """
    yield from measured(substituted(power), strength=PROVED).values()
    yield without_noise(T_power)
    yield rates((T_power, 0.5 * T_power), NOISES, "noise")


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
        (*SHARES, 0.001, 1e-6), budget((1, 20), (1, 5, 20)), ROUNDS, (0.0, *NOISES)
    )  # fmt: skip
    settings = [(p, K, corollary_step(T, square), T, square) for p, K, T, square in grid]
    bound = Bound(p_power, start, noise, T_power)
    yield exact(bound, settings, strength=PROVED)
    yield at_rest(bound, [(corollary_step(T, 1.0), T) for T in ROUNDS], PROVED)
    yield at_the_step.measure()
    at = "before 1/T without noise, before 1/sqrt T with sigma^2 = L(F^0 - F*)/100, at the T given"
    yield Fact("constants of Delta_V", f"{at}; (uv)^2/2 attains the second of each pair")
    for p, (square, power, rate) in product(
        (1.0, 0.5, 0.3, 0.1, 0.02), ((0.0, 1.0, "1/T"), (0.01, 0.5, "1/sqrt T"))
    ):
        T = 1e8 / p ** (4 if square else 2)  # large for the p
        right = bound_over(1.0, 1.0, T, float(np.sqrt(square)), p, (1.0, 0.5))
        attained = exact_left(p, T, square)
        yield Fact(f"T for {rate}", T, setting={"p": p})
        for name, value in (("bound", right), ("attained", attained)):
            constant = value * T**power
            yield Fact(f"before {rate}: {name}", constant, "L(F^0 - F*)", setting={"p": p})


# The abstract.


def other_minimum(weighted) -> dict[str, Fraction]:
    """Return numbers, exact, of the models with the wrong signs: u = (1, -1), v = (x, -x).

    Entries off the diagonal count little if `weighted`:
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
    """Compare exact runs with the bounds over p^2, and look at another minimum."""
    yield without_noise(T_power)
    yield rates((T_power, noisy_power), NOISES, "noise")
    numbers = other_minimum(weighted)
    slope, *positive = numbers.values()
    yield Condition(
        slope == 0 and min(positive) > 0,
        float(positive[-1]),
        strength=PROVED,
        quantity="objective over the global minimum",
        name="another local minimum, exact",
        measured_is=LOWER,
        setting={name: str(number) for name, number in numbers.items()},
    )


def escaping(rounds) -> Cases:
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
    """Compare what Theorem 1 bounds, p being fixed; Algorithm 1; and iterates that are sent off.

    e^(-uv) has no stationary point but u = v = 0, which iterates from u = v = 1 go away from.
    """
    gradients = rates((T_power, 0.5 * T_power), (0.0,), "no noise")
    yield Readings(
        [
            replace(gradients, name="squared gradients of Appendix A.1, on average"),
            from_a_minimum(),
            escaping(budget((10, 1000), (10, 1000, 100_000))),
        ],
        phrase="converges to a stationary point",
    )
