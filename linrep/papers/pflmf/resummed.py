"""A round summed anew, with every p and all noise: what takes the place of (12) to (16)."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import NamedTuple

import numpy as np

import linrep as lr
from linrep.claims import Cases, Mean, Reader, Together, search_instances, statement
from linrep.claims.evidence import PROVED
from linrep.claims.laws import Open, Region, at_most, lines
from linrep.claims.measurements import Array
from linrep.papers.pflmf.model import NOISE, SMOOTH
from linrep.papers.pflmf.runs import RATIO, averages, reference
from linrep.papers.pflmf.theorem1_noise import noisy_reference
from linrep.theory import pflmf, pflmf_rounds

SHARES = (1.0, 0.5, 0.25, 0.1, 0.05, 0.02)
TAIL = 8.0  # standard deviations of the noise that the ball has room for


@lines("pflmf.eq16.resummed", Region(x=(Open(0), 1), p=(Open(0), 1), K=(1, None)))
def weight(x, p, K):
    """Over p^2/C it is the factor of the participants' gradients in steps 1 and 2 together."""
    return {"w_V is not negative": at_most(0, 1 - p * x / (2 * K) - p * x**2 / 2)}


def one_round(problem, U, V, p, K, eta_L, sigma):
    """Return a setting whose L holds where the round goes, with its exact expectations.

    None if no such L is found: a larger one makes eta smaller and the round shorter.
    """
    _, in_U, _ = problem.factor_gradients(U, V)
    L = pflmf.local_smoothness(problem, U, V, 0.0, 0.0).largest
    for _ in range(6):
        if not 0.0 < L < 1e100:
            return None
        s = pflmf.Setting(p, K, eta_L / L, L, L, noise=sigma)
        path = pflmf_rounds.local_path(replace(s, noise=0.0), problem, U, V)
        of_V = float(max(np.linalg.norm(each - V) for each in path.means))
        radii = (
            s.step_size * (float(np.linalg.norm(in_U)) + TAIL * sigma),
            of_V + s.head_step_size * TAIL * sigma * np.sqrt(K),
        )
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


def read(reader: Reader, shape) -> Drawn:
    """Return the round that numbers stand for: p, eta L, sigma, centres, U and V."""
    n, d, k = shape["n"], shape["d"], shape["k"]
    chance, step, noise = reader.numbers(3)
    A, U, V = reader.numbers(n, d), reader.numbers(d, k), reader.numbers(n, k)
    size = float(np.linalg.norm(np.concatenate([A.ravel(), U.ravel(), V.ravel()])))
    p, eta_L = float(0.01 + 0.99 / (1.0 + np.exp(-chance))), float(1.0 / (1.0 + np.exp(-step)))
    sigma = min(max(float(noise), 0.0), 1.0) * size**3 / n
    return Drawn(A, U, V, p, shape["K"], eta_L, sigma, size)


def nearly_equal(budget):
    """Yield rounds by family where both sides are nearly equal, over p, K, eta L and the noise."""
    one = np.ones((1, 1))
    families = {
        "V moves": (1e-5, one, 0.0 * one, (0.0, 1e-7)),
        "U moves": (1e-5, 0.0 * one, one, (0.0, 1e-7)),
        "at the minimum": (1.0, one, one, (1e-5,)),
    }
    for name, (a, U, V, noises) in families.items():
        problem = lr.QuadraticObjectives(np.full((1, 1), a))
        steps, sizes = budget((1, 5), (1, 2, 5, 20, 200)), (1e-3, 0.05, 0.25, 0.49, 1.0)
        for setting in product((1.0, 0.7, 0.5, 0.25, 0.1, 0.02), steps, sizes, noises):
            found = one_round(problem, U, V, *setting)
            if found is not None:
                at = dict(zip(("p", "K", "eta L", "sigma"), setting, strict=True))
                yield *found, {"family": name, **at}


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
    """Search one round for each step and the sum; compare the average with the sum's on runs."""

    def weights(s):
        """Return the weights and the noise at a setting, as changed by the constants."""
        r = pflmf.resummed(s)
        of_V = weight_V * s.participation ** (p_power - 2.0) * r.weight_V
        return pflmf.Resummed(weight_U * r.weight_U, of_V, noise * r.noise)

    def families():
        for s, r, at in nearly_equal(budget):
            w = weights(s)
            left = w.weight_U * r.delta_U + w.weight_V * r.delta_V
            right = (r.value - r.after_both) / s.step_size + w.noise
            # F - E F+ is below 0 at the minimum: it is compared with what the noise is allowed.
            scale = w.noise if at["family"] == "at the minimum" else right
            yield (left - right) / abs(scale) + 1.0, 1.0 + 1e-9, at

    def fixed_U():
        """Yield both sides on runs with U fixed, h = L = 1 and F^0 - F* = 1."""
        for p, K, eta_L, T, square in product(
            (1.0, 0.7, 0.5, 0.25, 0.1, 0.02, 0.001),
            budget((1, 20), (1, 2, 5, 20, 200)),
            budget((1e-3, 0.25, 0.9), (1e-3, 0.05, 0.25, 0.49, 0.9)),
            budget((1, 200, 40_000, 10**12), (1, 200, 2000, 40_000, 10**8, 10**12)),
            (0.0, 1e-3, 1.0, 1e3),
        ):
            s = pflmf.Setting(p, K, eta_L, 1.0, 1.0, noise=float(np.sqrt(square)))
            w, in_V = weights(s), float(pflmf_rounds.fixed_U_average(s, 1.0, 2.0, float(T)))
            ratio = w.weight_V * in_V / (1.0 / (eta_L * T) + w.noise)
            at = {"p": p, "K": K, "eta L": eta_L, "T": T, "sigma^2 over L(F0 - F*)": square}
            yield ratio, 1.0 + 1e-12, at

    def sides(at: Drawn):
        """Return the sum, or the one of its steps that is nearest to a violation."""
        if not 1e-3 < at.size < 1e3:
            return None
        problem = lr.QuadraticObjectives(at.A)
        found = one_round(problem, at.U, at.V, at.p, at.K, at.eta_L, at.sigma)
        if found is None:
            return None
        s, r = found
        w, (in_V, in_U, others) = weights(s), pflmf.resummed_steps(s, r)
        whole = pflmf.Inequality(
            s.step_size * (w.weight_U * r.delta_U + w.weight_V * r.delta_V),
            r.value - r.after_both + s.step_size * w.noise,
        )
        # Decreases are differences of values, which are what rounding is relative to.
        room = 1e-13 * (abs(r.value) + abs(r.after_V) + abs(r.after_both))
        pairs = [(each.lhs, each.rhs + room) for each in (whole, in_V, in_U)]
        return max([*pairs, tuple(others)], key=_excess)

    def on_runs(name, instance, sigma, rounds, K, seeds):
        """Compare the averaged sum; eta L is 1/4, or with noise Corollary 2's."""
        ratios: dict[tuple, list] = {}
        gap, L = instance.gap, instance.smoothness
        for p, _ in product(SHARES, range(seeds)):
            T = rounds[p]
            for group in (T,) if sigma == 0.0 else tuple((each,) for each in T):
                eta_L = 0.25 if sigma == 0.0 else 0.5 / np.sqrt(group[0])
                s = pflmf.Setting(p, K, eta_L / L, L, L, noise=sigma)
                row = averages(instance, rng, p=p, K=K, T=group, eta_L=eta_L, noise=sigma)
                if not row.inside.all():
                    continue
                w = weights(s)
                left = w.weight_U * row.in_U + w.weight_V * row.in_V
                for each, value in zip(group, left, strict=True):
                    right = gap / (s.step_size * each) + w.noise
                    ratios.setdefault((p, K, each), []).append(value / right)
        parts = [
            Mean(
                values,
                at_most=1.0,
                weight=1.0 / sum(len(rounds[p]) for p in SHARES),
                quantity=RATIO,
                strength=PROVED,
                deterministic=(key[0], sigma) == (1.0, 0.0),
                setting=dict(zip(("p", "K", "T"), key, strict=True)),
            )
            for key, values in ratios.items()
        ]
        return Together(parts, name=f"runs, {name}")

    proved = {"quantity": RATIO, "strength": PROVED}
    yield weight.measure()
    yield Cases(families(), name="families, one round", **proved)
    yield Cases(fixed_U(), name="U fixed, exact", **proved)
    shapes = [{"n": 1, "d": 1, "k": 1, "K": 3}]
    if budget.name != "quick":
        shapes.append({"n": 3, "d": 2, "k": 1, "K": 2})
    name = "the sum and its steps, one round"
    yield search_instances(sides, shapes, read, budget, rng, name=name, strength=PROVED)

    # Where gradients vanished long ago, more rounds change no ratio.
    quick = dict.fromkeys(SHARES, (200, 2000))
    long = quick | {0.05: (200, 2000, 10_000), 0.02: (200, 2000, 40_000)}
    noisy = dict.fromkeys(SHARES, budget((100,), (100, 6400)))
    for grid in [
        ("no noise", reference(rng), 0.0, budget(quick, long), 1, budget(40, 90)),
        *budget([], [("no noise, K = 5", reference(rng), 0.0, quick, 5, 90)]),
        ("sigma = 0.02", noisy_reference(rng), 0.02, noisy, 1, 50),
    ]:
        yield on_runs(*grid)


def _excess(pair) -> float:
    """Return how much larger the left side is, relative to both."""
    left, right = pair
    scale = abs(left) + abs(right)
    return (left - right) / scale if scale > 0.0 else 0.0
