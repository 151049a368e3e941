"""A round summed anew, with every p and all noise: what takes the place of (12) to (16)."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import NamedTuple

import numpy as np
import pandas as pd

import linrep as lr
from linrep.claims import (
    Cases,
    Curve,
    Fact,
    Mean,
    Reader,
    Search,
    Together,
    search_instances,
    statement,
)
from linrep.claims.evidence import PROVED
from linrep.claims.laws import Open, Region, at_most, lines
from linrep.claims.measurements import Array
from linrep.papers.pflmf.model import NOISE, SMOOTH
from linrep.papers.pflmf.runs import Bound, Instance, averages, reference
from linrep.papers.pflmf.theorem1_noise import noisy_reference
from linrep.theory import pflmf, pflmf_rounds

_SHARES = (1.0, 0.5, 0.25, 0.1, 0.05, 0.02)
_TAIL = 8.0  # standard deviations of the noise that the ball has room for


@lines("pflmf.eq16.resummed", Region(x=(Open(0), 1), p=(Open(0), 1), K=(1, None)))
def weight(x, p, K):
    """Over p^2/C it is the factor of the participants' gradients in steps 1 and 2 together."""
    return {"w_V is not negative": at_most(0, 1 - p * x / (2 * K) - p * x**2 / 2)}


class Variant(NamedTuple):
    """Factors at the weights and the noise of the sum, and the power of p in the weight of V."""

    weight_U: float = 1.0
    weight_V: float = 1.0
    p_power: float = 2.0
    noise: float = 1.0

    def of(self, s: pflmf.Setting) -> pflmf.Resummed:
        """Return the weights and the noise at a setting."""
        r = pflmf.resummed(s)
        weight_V = self.weight_V * s.participation ** (self.p_power - 2.0) * r.weight_V
        return pflmf.Resummed(self.weight_U * r.weight_U, weight_V, self.noise * r.noise)


def _reach(s, problem, U, V) -> tuple[float, float]:
    """Return how far U and V may go in a round, noise up to `_TAIL` deviations included."""
    _, in_U, _ = problem.factor_gradients(U, V)
    bare = replace(s, noise=0.0)
    path = pflmf_rounds.local_path(bare, problem, U, V)
    spread = _TAIL * s.noise
    return (
        s.step_size * (float(np.linalg.norm(in_U)) + spread),
        float(max(np.linalg.norm(each - V) for each in path.means))
        + s.head_step_size * spread * np.sqrt(s.local_steps),
    )


def one_round(problem, U, V, p, K, eta_L, sigma):
    """Return a setting whose L holds where the round goes, with its exact expectations.

    None if no such L is found: a larger one makes eta smaller and the round shorter.
    """
    L = pflmf.local_smoothness(problem, U, V, 0.0, 0.0).largest
    for _ in range(6):
        if not 0.0 < L < 1e100:
            return None
        s = pflmf.Setting(p, K, eta_L / L, L, L, noise=sigma)
        radii = _reach(s, problem, U, V)
        needed = pflmf.local_smoothness(problem, U, V, *radii).largest
        if needed <= L * (1.0 + 1e-12):
            return s, pflmf_rounds.expected_round(s, problem, U, V)
        L = needed * (1.0 + 1e-6)
    return None


class Drawn(NamedTuple):
    """A round of |x - a_i|^2/2, and the length of centres and factors together."""

    A: Array
    U: Array
    V: Array
    p: float
    K: int
    eta_L: float
    sigma: float
    size: float


def _read(reader: Reader, shape) -> Drawn:
    """Return the round that numbers stand for: p, eta L, sigma, centres, U and V."""
    n, d, k = shape["n"], shape["d"], shape["k"]
    chance, step, noise = reader.numbers(3)
    A, U, V = reader.numbers(n, d), reader.numbers(d, k), reader.numbers(n, k)
    size = float(np.linalg.norm(np.concatenate([A.ravel(), U.ravel(), V.ravel()])))
    return Drawn(
        A,
        U,
        V,
        float(0.01 + 0.99 / (1.0 + np.exp(-chance))),
        shape["K"],
        float(1.0 / (1.0 + np.exp(-step))),
        min(max(float(noise), 0.0), 1.0) * size**3 / n,
        size,
    )


def _members(variant, s, r) -> list[pflmf.Inequality]:
    """Return lhs and rhs of the sum, and of the three steps it is made of."""
    w = variant.of(s)
    # Decreases are differences of values, which are what rounding is relative to.
    rounding = 1e-13 * (abs(r.value) + abs(r.after_V) + abs(r.after_both))
    whole = pflmf.Inequality(
        s.step_size * (w.weight_U * r.delta_U + w.weight_V * r.delta_V),
        r.value - r.after_both + s.step_size * w.noise,
    )
    in_V, in_U, others = pflmf.resummed_steps(s, r)
    values = [pflmf.Inequality(each.lhs, each.rhs + rounding) for each in (whole, in_V, in_U)]
    return [*values, others]


def _excess(pair) -> float:
    """Return how much larger the left side is, relative to both."""
    scale = abs(pair.lhs) + abs(pair.rhs)
    return (pair.lhs - pair.rhs) / scale if scale > 0.0 else 0.0


def _search(budget, rng, variant) -> Search:
    """Search for a round on which the sum, or a step of it, is violated, with noise and without."""

    def sides(at: Drawn):
        if not 1e-3 < at.size < 1e3:
            return None
        problem = lr.QuadraticObjectives(at.A)
        found = one_round(problem, at.U, at.V, at.p, at.K, at.eta_L, at.sigma)
        return None if found is None else tuple(max(_members(variant, *found), key=_excess))

    shapes = [{"n": 1, "d": 1, "k": 1, "K": 3}]
    if budget.name != "quick":
        shapes.append({"n": 3, "d": 2, "k": 1, "K": 2})
    name = "the sum and its steps, one round"
    return search_instances(sides, shapes, _read, budget, rng, name=name, strength=PROVED)


def _families(budget, variant) -> Cases:
    """Compare lhs and rhs where they are nearly equal, over p, K, eta L and the noise."""
    one = np.ones((1, 1))
    families = {
        "V moves": (1e-5, one, 0.0 * one, (0.0, 1e-7)),
        "U moves": (1e-5, 0.0 * one, one, (0.0, 1e-7)),
        "at the minimum": (1.0, one, one, (1e-5,)),
    }
    cases: list = []
    for name, (a, U, V, noises) in families.items():
        problem = lr.QuadraticObjectives(np.full((1, 1), a))
        for p, K, eta_L, sigma in product(
            (1.0, 0.7, 0.5, 0.25, 0.1, 0.02),
            budget((1, 5), (1, 2, 5, 20, 200)),
            (1e-3, 0.05, 0.25, 0.49, 1.0),
            noises,
        ):
            found = one_round(problem, U, V, p, K, eta_L, sigma)
            if found is None:
                continue
            s, r = found
            w = variant.of(s)
            at = {"family": name, "p": p, "K": K, "eta L": eta_L, "sigma": sigma}
            left = w.weight_U * r.delta_U + w.weight_V * r.delta_V
            right = (r.value - r.after_both) / s.step_size + w.noise
            # F - E F+ is below 0 at the minimum: it is compared with what the noise is allowed.
            scale = right if name != "at the minimum" else w.noise
            value = (left - right) / abs(scale) + 1.0
            cases.append((value, 1.0 + 1e-9, at))
    return Cases(
        cases, quantity="left over right side", name="families, one round", strength=PROVED
    )


def _bound(variant, s, gap, T) -> tuple[pflmf.Resummed, float]:
    """Return the weights, and the right side for a run."""
    w = variant.of(s)
    return w, gap / (s.step_size * T) + w.noise


def _exact(budget, variant):
    """Yield lhs and rhs on runs with U fixed, h = L = 1 and F^0 - F* = 1."""
    cases, rows = [], []
    for p, K, eta_L, T, square in product(
        (1.0, 0.7, 0.5, 0.25, 0.1, 0.02, 0.001),
        budget((1, 20), (1, 2, 5, 20, 200)),
        budget((1e-3, 0.25, 0.9), (1e-3, 0.05, 0.25, 0.49, 0.9)),
        budget((1, 200, 40_000, 10**12), (1, 200, 2000, 40_000, 10**8, 10**12)),
        (0.0, 1e-3, 1.0, 1e3),
    ):
        s = pflmf.Setting(p, K, eta_L, 1.0, 1.0, noise=float(np.sqrt(square)))
        w, right = _bound(variant, s, 1.0, T)
        in_V = float(pflmf_rounds.fixed_U_average(s, 1.0, 2.0, float(T)))
        at = {"p": p, "K": K, "eta L": eta_L, "T": T, "sigma^2 over L(F0 - F*)": square}
        cases.append((w.weight_V * in_V / right, 1.0 + 1e-12, at))
        if (K, eta_L, square, T) == (1, 0.25, 0.0, 10**12):
            printed = Bound().right(1.0, 1.0, eta_L, float(T))
            for series, ratio in (("Theorem 1", in_V / printed), ("summed anew", cases[-1][0])):
                rows.append({"series": series, "x": p, "y": float(ratio)})
    points = pd.DataFrame(rows).assign(
        panel="U fixed, T large",
        predicted=1.0,
        allowed="below",
        xlabel="p",
        ylabel="left over right side",
    )
    yield Cases(cases, quantity="left over right side", name="U fixed, exact", strength=PROVED)
    yield Curve(points)


class _Grid(NamedTuple):
    """Runs to decide on: by p the rounds, and how often; eta L is 1/4, or Corollary 2's."""

    name: str
    instance: Instance
    sigma: float
    rounds: dict[float, tuple[int, ...]]
    local: tuple[int, ...]
    seeds: int


def _grids(budget, rng) -> list[_Grid]:
    """Return Theorem 1's grid; where gradients vanished long ago, more rounds change no ratio."""
    quick: dict[float, tuple[int, ...]] = dict.fromkeys(_SHARES, (200, 2000))
    long = quick | {0.05: (200, 2000, 10_000), 0.02: (200, 2000, 40_000)}
    noisy: dict[float, tuple[int, ...]]
    noisy = dict.fromkeys(_SHARES, budget((100,), (100, 6400)))
    return [
        _Grid("no noise", reference(rng), 0.0, budget(quick, long), (1,), budget(40, 90)),
        *budget([], [_Grid("no noise, K = 5", reference(rng), 0.0, quick, (5,), 90)]),
        _Grid("sigma = 0.02", noisy_reference(rng), 0.02, noisy, (1,), 50),
    ]


def _runs(grid, variant, rng):
    """Yield the averaged sum on a grid, and Theorem 1's for the least p and the most rounds."""
    ratios: dict[tuple, list] = {}
    printed = []
    planned = sum(len(grid.rounds[p]) for p in _SHARES) * len(grid.local)
    gap, L = grid.instance.gap, grid.instance.smoothness
    for p, K, _ in product(_SHARES, grid.local, range(grid.seeds)):
        T = grid.rounds[p]
        for group in (T,) if grid.sigma == 0.0 else tuple((each,) for each in T):
            eta_L = 0.25 if grid.sigma == 0.0 else 0.5 / np.sqrt(group[0])
            s = pflmf.Setting(p, K, eta_L / L, L, L, noise=grid.sigma)
            row = averages(grid.instance, rng, p=p, K=K, T=group, eta_L=eta_L, noise=grid.sigma)
            if not row.inside.all():
                continue
            for place, rounds in enumerate(group):
                w, right = _bound(variant, s, gap, rounds)
                value = w.weight_U * row.in_U[place] + w.weight_V * row.in_V[place]
                ratios.setdefault((p, K, rounds), []).append(value / right)
                if (p, rounds) == (_SHARES[-1], max(T)):
                    whole = Bound().right(gap, L, eta_L / L, rounds, grid.sigma)
                    printed.append((row.in_U[place] + row.in_V[place]) / whole)
    yield Together(
        [
            Mean(
                values,
                at_most=1.0,
                weight=1.0 / planned,
                quantity="left over right side",
                strength=PROVED,
                deterministic=(key[0], grid.sigma) == (1.0, 0.0),
                setting=dict(zip(("p", "K", "T"), key, strict=True)),
            )
            for key, values in ratios.items()
        ],
        name=f"runs, {grid.name}",
    )
    if printed:
        at = f"p = {_SHARES[-1]:g}, T = {max(T)}, {grid.name}"
        yield Fact(f"Theorem 1's left over right side at {at}", float(np.mean(printed)))


@statement(
    "pflmf.eq16.resummed",
    own=True,
    corrects="pflmf.eq16",
    place="(12) to (16), derived in another way; not stated there",
    latex=r"\eta_v = \tfrac{p\eta}K,\ \eta \le \tfrac1L:\ "
    r"\frac{1 - \eta L}2 \Delta_U + \frac{p^2}C \Big(1 - \frac q{2K} - \frac{q\eta L}2\Big)"
    r" \Delta_V \le \frac{F - E F^+}\eta + \frac{\eta L\sigma^2}2 \Big(1 + \frac{p^3}K + p^3\eta L"
    r"\Big) + w_V(1 - p)\Big(\frac{q^2}2 + \frac q{\sqrt2}\Big)\sigma^2,\ q = p\eta L,\ C = p +"
    r" (1 - p)\Big(1 + \frac q{\sqrt2}\Big)^2",
    plain="Summed anew, the steps of the proof bound Delta_U and about p^2 Delta_V by the "
    "decrease of a round.",
    hypotheses=(SMOOTH, NOISE),
    negative_control={"p_power": 1.8},
    stronger={"weight_U": 1, "weight_V": 1, "p_power": -1, "noise": -1},
)
def resummed(budget, rng, *, weight_U=1.0, weight_V=1.0, p_power=2.0, noise=1.0):
    """Search one round for each step and the sum; compare the average with Theorem 1's on runs."""
    variant = Variant(weight_U, weight_V, p_power, noise)
    yield _families(budget, variant)
    yield from _exact(budget, variant)
    yield _search(budget, rng, variant)
    for grid in _grids(budget, rng):
        yield from _runs(grid, variant, rng)
