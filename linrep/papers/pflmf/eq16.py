"""(16): the sum of the proof's inequalities, and what it uses."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import NamedTuple

import numpy as np
import pandas as pd

import linrep as lr
from linrep.claims import Cases, Curve, Fact, statement
from linrep.claims.evidence import PROVED
from linrep.papers.pflmf import model
from linrep.papers.pflmf.counterexamples import eq16 as by_hand
from linrep.papers.pflmf.model import NOISE, SMOOTH
from linrep.theory import pflmf as theory

_LINKS = ("first", "second", "third")


class Variant(NamedTuple):
    """The power of p at Delta_V, factors of noise and of the decrease, and whether as `derived`.

    Then the noise has the constant that is derived, in place of 1 + 1/K, and the rewritten
    inequalities count participants' gradients, and the noise that U moves by.
    """

    p_power: float
    noise_factor: float
    derived: bool
    decrease: float = 2.0


class Expected(NamedTuple):
    """F - E F^+, Delta_U and Delta_V of a round."""

    decrease: float
    delta_U: float
    delta_V: float


def _chain(position, variant: Variant):
    """Return the function of a round's lhs and rhs of one of the inequalities in (16)."""

    def lhs_rhs(case):
        s = case.setting
        members = theory.equation16(s, case.round, p_power=variant.p_power)
        left, right = members[position], members[position + 1]
        if position == 1:
            stated = printed = 1.0 + 1.0 / s.local_steps
            if variant.derived:
                linear = isinstance(case.problem, lr.QuadraticObjectives)
                stated = theory.summed_noise(s, linear=linear)
            right += (variant.noise_factor * stated - printed) * _unit(s)
            right += (variant.decrease - 2.0) * (case.round.value - case.round.after_both)
        return left, right

    return lhs_rhs


def _unit(s) -> float:
    """Return eta^2 L sigma^2."""
    return s.step_size**2 * s.largest * s.noise**2


def _algebra(p_power, count) -> Cases:
    """Return 1 - 2 eta L <= p^power (1 - eta p L/2K) over p, eta L and K."""
    grid = [
        (1.0 - 2.0 * x, p**p_power * (1.0 - 0.5 * x * p / K), {"p": p, "eta L": x, "K": K})
        for p in np.geomspace(1e-4, 1.0, count).tolist()
        for x in np.linspace(1e-4, 0.4999, count).tolist()
        for K in (1, 2, 5, 20, 200)
    ]
    return Cases(grid, name="first <=, over p, eta L and K")


def _auxiliary(count, bound, strength) -> Cases:
    """Return the auxiliary inequality on eta <= 1/(2L), where it is largest at p = K = 1."""
    values = [0.0, *np.geomspace(1e-6, 1.0, count).tolist()]
    cases = [
        (float(theory.auxiliary(0.5 * x, p, K)), bound, {"eta L": 0.5 * x, "p": p, "K": K})
        for x, p, K in product(values, values, (1, 2, 3, 10, 1000))
    ]
    return Cases(cases, name="auxiliary inequality", strength=strength)


def _derivation(count) -> Cases:
    """Return what the derivation asks of p, eta L and K, and that its constant is at most 2."""
    cases = []
    chances, sizes = np.geomspace(1e-4, 1.0, count).tolist(), np.linspace(1e-4, 0.5, count).tolist()
    for p, x, K in product(chances, sizes, (1, 2, 5, 20, 200, 10**6)):
        at, q = {"p": p, "eta L": x, "K": K}, p * x
        spread = p + (1.0 - p) * (2.0 + q**2 * (K - 1) / K)
        left = 2.0 - q**2 / (1.0 + x) / (1.0 - 0.5 * q / K)
        constant = theory.summed_noise(theory.Setting(p, K, x, 1.0, 1.0, noise=1.0))
        cases += [(spread, left, {**at, "of": "weight"}), (constant, 2.0, at)]
    return Cases(cases, name="constants of the derivation", strength=PROVED)


def expected_cosine(s: theory.Setting, u: float, v: float, points: int = 16) -> Expected:
    """Return a round of cos(u v), whose gradients are not linear, noise by Gauss quadrature."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(points)
    weights = weights / weights.sum()
    p, h, squares = s.participation, s.head_step_size, []
    V, mass = np.array([v]), np.array([1.0])
    for _ in range(s.local_steps):
        gradient = -u * np.sin(u * V)
        squares.append(float(mass @ gradient**2))
        V = (V - h * gradient)[:, None] - h * s.noise * nodes
        V, mass = V.ravel(), np.outer(mass, weights).ravel()
    U = u - s.step_size * (-v * np.sin(u * v) + s.noise * nodes)
    after = p * mass @ np.cos(np.outer(V, U)) + (1.0 - p) * np.cos(v * U)
    return Expected(
        float(np.cos(u * v) - after @ weights),
        float((v * np.sin(u * v)) ** 2),
        p * float(np.mean(squares)) + (1.0 - p) * squares[0],
    )


def _cosines(rng, count, variant: Variant) -> Cases:
    """Return the second inequality on cos(u v): at its minimum u v = pi, and at random."""
    problem, cases = model.cosine(), []
    for place in range(count):
        rest = place % 4 == 0
        u, v = (np.sqrt(np.pi), np.sqrt(np.pi)) if rest else rng.uniform(-2.5, 2.5, 2)
        p, K = float(rng.choice(model.CHANCES)), int(rng.integers(1, 4))
        eta_L, sigma = (
            float(rng.choice(model.SIZES)),
            10.0 ** (-4.0 if rest else rng.uniform(-2, 1)),
        )
        L = theory.local_smoothness(problem, [[u]], [[v]], 0.0, 0.0).largest
        for _ in range(20):  # quadrature reaches 6.7 standard deviations in every step
            reach = eta_L / L * (max(abs(u), abs(v)) + 7.0 * sigma)
            L = max(
                L, theory.local_smoothness(problem, [[u]], [[v]], 2.0 * reach, 2.0 * reach).largest
            )
        s = theory.Setting(p, K, eta_L / L, L, L, noise=sigma)
        r = expected_cosine(s, u, v)
        left = s.step_size * (1.0 - 2.0 * eta_L) * r.delta_U
        weight = s.step_size * p**variant.p_power * (1.0 - 0.5 * eta_L * p / K)
        noise = variant.noise_factor * theory.summed_noise(s) * _unit(s)
        left, right = left + weight * r.delta_V, variant.decrease * r.decrease + noise
        scale = abs(2.0 * r.decrease) + noise + left
        at = {"u": u, "v": v, "p": p, "K": K, "eta": s.step_size, "L": L, "sigma": sigma}
        cases.append((left / scale, right / scale + 1e-14 / scale + 1e-9, at))
    return Cases(
        cases, quantity=model.QUANTITY, name="second <=, cos(u v) with noise", strength=PROVED
    )


def _weights() -> Curve:
    """Return the largest weights of Delta_V, over eta, that the rounds tried leave room for.

    With those that are guaranteed, 2 w_V of the round summed anew: the least over the same rounds.
    """
    rows = []
    for p in model.CHANCES:
        cases = [
            *model.grid(model.flat, chances=(p,), steps=(1, 20)),
            *(model.bilinear(p, K, x) for K in (1, 20) for x in model.SIZES),
        ]
        least = guaranteed = np.inf
        for case in cases:
            s, r = case.setting, case.round
            rest = 2.0 * (r.value - r.after_both)
            rest -= s.step_size * (1.0 - 2.0 * s.step_size * s.largest) * r.delta_U
            least = min(least, rest / (s.step_size * r.delta_V))
            guaranteed = min(guaranteed, 2.0 * theory.resummed(s).weight_V)
        for series, y in (("at most", least), ("guaranteed", guaranteed)):
            rows.append(
                {
                    "panel": "weights",
                    "series": series,
                    "x": p,
                    "y": y,
                    "predicted": 2.0 * p**2,
                    "xlabel": "p",
                    "ylabel": r"weight of $\Delta_V/\eta$",
                }
            )
    return Curve(pd.DataFrame(rows))


def _rewritten(name, variant: Variant):
    """Return the function of a round's lhs and rhs of (A), (B), its case K, or (C)."""

    def lhs_rhs(case):
        s, r = case.setting, model.counted(case, variant.derived)
        p, K = s.participation, s.local_steps
        common = replace(s, in_U=s.largest, in_V=s.largest)
        if name == "B":
            return theory.step_B(common, r)
        if name == "K":
            return theory.step_B_last(common, r, masked=variant.derived, head_noise=variant.derived)
        left, right = (theory.step_A if name == "A" else theory.step_C)(common, r)
        if name == "A":
            left, right = K * left, K * right
        noise = 0.5 * _unit(s)
        # eta_v^2 K L sigma^2/2 is p^2 times what the rewritten inequalities have.
        right += (1.0 - p**2) / K * noise
        return left, right + (p * noise if name == "C" and variant.derived else 0.0)

    return lhs_rhs


def _reported(cases, variant: Variant, links):
    """Yield the largest ratio of each link and the noise that is needed; the first by p, eta L."""
    plain, frames = variant._replace(noise_factor=1.0), []
    for at in links:
        name, lhs_rhs = f"{_LINKS[at]} <=", _chain(at, plain)
        table = model.largest(cases, lhs_rhs, "eta L")
        frames.append(model.drawn_as(table, name))
        yield Fact(f"largest left over right side, {name}", float(np.nanmax(table)))
    if variant.p_power != 2.0:
        table = model.largest(cases, _chain(1, plain._replace(p_power=2.0)), "eta L")
        frames.append(model.drawn_as(table, "second <= with p^2"))
    needed = model.largest(
        [case for case in cases if case.setting.noise > 0.0 and case.setting.local_steps in (1, 5)],
        _needed,
    )
    frames.append(model.drawn_as(needed, "noise", r"noise needed, over $\eta^2L\sigma^2$"))
    yield Curve(pd.concat(frames, ignore_index=True))
    yield _weights()


def _needed(case):
    """Return lhs and rhs: their ratio is the constant of the noise, Delta_V having p^2."""
    s = case.setting
    _, left, right, _ = theory.equation16(s, case.round, p_power=2)
    return left - right + (1.0 + 1.0 / s.local_steps) * _unit(s), _unit(s)


def _affine_exactly(links, p_power, strength, shares=(Fraction(1, 10), Fraction(1, 3))):
    """Yield links of the chain, and its ends, for x and -x, in rational numbers.

    These functions satisfy Assumption 1 for all U and V.
    """
    found: dict[str, list] = {f"{_LINKS[at]} <=": [] for at in links}
    if len(links) == len(_LINKS):
        found["first <= last"] = []
    for p, K, eta in product(shares, (1, 5), (Fraction(1, 4),)):
        first, second, last = by_hand.members(p, K, eta, model.power(p, p_power))
        members, one = (first, second, last, last), Fraction(1)
        at = {"f": ["x", "-x"], "u": 1, "v": [1, 1], "p": str(p), "K": K, "eta": str(eta), "L": 1}
        for place in links:
            found[f"{_LINKS[place]} <="].append((members[place] / members[place + 1], one, at))
        if "first <= last" in found:
            found["first <= last"].append((first / last, one, at))
    for name, cases in found.items():
        yield Cases(
            cases,
            name=f"{name}, x and -x, exact",
            quantity="left over right side",
            strength=strength,
        )


@statement(
    "pflmf.eq16",
    place="(16) and the inequality below it",
    latex=r"\eta(1-2\eta L)(\Delta_U+\Delta_V)\le\eta(1-2\eta L)\Delta_U+\eta p\Big(1-\frac{\eta"
    r" pL}{2K}\Big)\Delta_V\le 2(F^t-\mathbb E F^{t+1})+\eta^2\Big(1+\frac1K\Big)L\sigma^2\le"
    r" 2(F^t-\mathbb E F^{t+1})+2\eta^2L\sigma^2",
    plain="The inequalities of steps (A) to (C) sum up to (16), a bound on eta (1 - 2 eta L) "
    "(Delta_U + Delta_V), also for f = x and -x, whose L is one for all U and V.",
    hypotheses=(SMOOTH, NOISE),
    negative_control={"noise_factor": 0.95},
)
def eq16(budget, rng, *, p_power=1.0, noise_factor=1.0, decrease=2.0, derived=False):
    """Try the links of the chain (16), the rewritten inequalities, and what they use.

    As `derived` there is the second link only, noise has the constant derived for it, and the
    inequalities of steps (A) to (C) are the corrected ones.
    """
    variant = Variant(p_power, noise_factor, derived, decrease)
    links = (1,) if derived else (0, 1, 2)
    rest = budget(((1, 5), (0.001, 0.1, 0.499)), ((1, 5, 20), model.SIZES))
    rounds = {
        "affine functions": model.grid(model.bilinear, (1, 5)),
        "at rest": model.grid(model.at_rest, *rest),
        **model.rounds(budget, rng),
        "noise alone": [model.steep(x, K) for x in model.SIZES for K in (1, 5)],
    }
    strength = PROVED if derived else ""
    # Exponents near 2 are distinguished at small p.
    shares = [Fraction(1, 10), Fraction(1, 3), *[Fraction(1, 10**6)] * derived]
    yield from _affine_exactly(links, p_power, strength, shares)
    for position in links:
        prefix, lhs_rhs = f"{_LINKS[position]} <=, ", _chain(position, variant)
        if position == 1:
            yield from model.everywhere(rounds, lhs_rhs, budget, rng, prefix, strength=strength)
        else:
            for name, cases in rounds.items():
                yield model.tried(cases, lhs_rhs, prefix + name)
    if not derived:
        yield _algebra(p_power, budget(20, 60))
    for step in "ABKC":
        for name, cases in rounds.items():
            name = f"({step}) rewritten, {name}"
            yield model.tried(cases, _rewritten(step, variant), name, strength)
    yield _auxiliary(budget(20, 60), 1.0, strength)
    if derived:
        yield _cosines(rng, budget(100, 2000), variant)
        yield _derivation(budget(20, 60))
    yield from _reported([case for cases in rounds.values() for case in cases], variant, links)


eq16.corrected(
    "pflmf.eq16.corrected",
    place="(16)",
    latex=r"\eta\le\frac1{2L}:\ \eta(1-2\eta L)\Delta_U+\eta p^2"
    r"\Big(1-\frac{\eta pL}{2K}\Big)\Delta_V\le"
    r" 2(F^t-\mathbb E F^{t+1})+c\eta^2L\sigma^2,\quad c=1+\frac{p^3}K+(1-p)p^4\eta L"
    r"\frac{(K-1)(2K-1)}{3K^2}\le2,\ \text{without the last term for linear gradients}",
    plain="The inequalities of steps (A) to (C) sum up to (16) with p^2 Delta_V; its noise has 1 "
    "+ p^3/K for linear gradients, at most 2 for all.",
    constants={"p_power": 2.0, "derived": True},
    negative_control={"noise_factor": 0.95},
    stronger={"p_power": -1, "noise_factor": -1, "decrease": 0},
)
