"""(16): the sum of the proof's inequalities, and what it uses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from linrep.claims import Evidence, claim, combine
from linrep.claims._parts import at_most
from linrep.claims.pflmf import _cases
from linrep.theory import pflmf as theory


def _chain(position, p_power, factor, noise_factor):
    """Return the function of a round's sides of one of the inequalities in (16)."""

    def sides(case):
        members = theory.equation16(case.setting, case.round, p_power=p_power)
        left, right = members[position], members[position + 1]
        if position == 1:
            s = case.setting
            noise = (1.0 + 1.0 / s.local_steps) * s.step_size**2 * s.largest * s.noise**2
            right += (noise_factor - 1.0) * noise
            left *= factor
        return left, right

    return sides


def _algebra(p_power, count) -> Evidence:
    """Decide 1 - 2 eta L <= p^power (1 - eta p L/2K) over p, eta L and K."""
    grid = [
        (1.0 - 2.0 * x, p**p_power * (1.0 - 0.5 * x * p / K), {"p": p, "eta L": x, "K": K})
        for p in np.geomspace(1e-4, 1.0, count).tolist()
        for x in np.linspace(1e-4, 0.4999, count).tolist()
        for K in (1, 2, 5, 20, 200)
    ]
    return at_most(grid, name="first <=, over p, eta L and K")


def _auxiliary(count, bound) -> Evidence:
    """Decide the auxiliary inequality on eta <= 1/(2L), where it is largest at p = K = 1."""
    values = [0.0, *np.geomspace(1e-6, 1.0, count).tolist()]
    cases = [
        (float(theory.auxiliary(0.5 * x, p, K)), bound, {"eta L": 0.5 * x, "p": p, "K": K})
        for x in values
        for p in values
        for K in (1, 2, 3, 10, 1000)
    ]
    return at_most(cases, name="auxiliary inequality")


def _weights() -> tuple[str, pd.DataFrame]:
    """Return the largest weights of Delta_V, over eta, that the rounds tried leave room for."""
    rows = []
    for p in _cases.CHANCES:
        cases = [*_cases.flat_grid(chances=(p,), steps=(1, 20)),
                 *(_cases.bilinear(p, K, x) for K in (1, 20) for x in _cases.SIZES)]  # fmt: skip
        least = np.inf
        for case in cases:
            s, r = case.setting, case.round
            rest = 2.0 * (r.value - r.after_both)
            rest -= s.step_size * (1.0 - 2.0 * s.step_size * s.largest) * r.delta_U
            least = min(least, rest / (s.step_size * r.delta_V))
        rows.append({"panel": "", "series": "", "x": p, "y": least, "predicted": 2.0 * p**2,
                     "xlabel": "p", "ylabel": r"largest weight of $\Delta_V/\eta$"})  # fmt: skip
    table = pd.DataFrame(rows)
    power = np.polyfit(np.log(table["x"][:4]), np.log(table["y"][:4]), 1)[0]
    told = ", ".join(f"{y:.2g} (p = {p:g})" for p, y in zip(table["x"], table["y"], strict=True))
    return f"weights of Delta_V over eta may be {told}, like p^{power:.2f} for small p", table


def _rewritten(name, masked, drift):
    """Return the function of a round's sides of (A) or (C) with eta and L, as rewritten."""

    def sides(case):
        s, r = case.setting, _cases.counted(case, masked)
        p, K = s.participation, s.local_steps
        common = replace(s, in_U=s.largest, in_V=s.largest)
        left, right = (theory.step_A if name == "A" else theory.step_C)(common, r)
        if name == "A":
            left, right = K * left, K * right
        noise = 0.5 * s.step_size**2 * s.largest * s.noise**2
        # eta_v^2 K L sigma^2/2 is p^2 times what the rewritten inequalities have.
        right += (1.0 - p**2) / K * noise
        return left, right + (drift * p * noise if name == "C" else 0.0)

    return sides


def _sum(budget, rng, *, p_power, factor, noise_factor, links, masked, drift) -> Evidence:
    """Try the rewritten inequalities, the links of the chain (16), and what they use."""
    rounds = {
        "affine functions": [
            _cases.bilinear(p, K, x) for p in _cases.CHANCES for K in (1, 5) for x in _cases.SIZES
        ],
        **_cases.rounds(budget, rng),
        "noise alone": [_cases.steep(x, K) for x in _cases.SIZES for K in (1, 5)],
    }
    parts = [_auxiliary(budget(20, 60), 1.0)]
    for position in links:
        prefix = f"{('first', 'second', 'third')[position]} <=, "
        sides = _chain(position, p_power, factor, noise_factor)
        if position == 1:
            parts += _cases.everywhere(rounds, sides, budget, rng, prefix)
        else:
            parts += [_cases.tried(cases, sides, prefix + name) for name, cases in rounds.items()]
    if 0 in links:
        parts.append(_algebra(p_power, budget(20, 60)))
    for name in "AC":
        sides = _rewritten(name, masked, drift)
        parts += [_cases.tried(cases, sides, f"({name}) rewritten, {kind}")
                  for kind, cases in rounds.items()]  # fmt: skip
    told, table = _weights()
    parts[0] = replace(parts[0], points=table)
    return combine(parts, f"{combine(parts).sentence}. {told}")


@claim(
    "pflmf.eq16",
    place="(16) and the inequality below it",
    kind="deterministic inequality",
    latex=r"\eta(1-2\eta L)(\Delta_U+\Delta_V)\le\eta(1-2\eta L)\Delta_U+\eta p\Big(1-\frac{\eta"
    r" pL}{2K}\Big)\Delta_V\le 2(F^t-\mathbb E F^{t+1})+\eta^2\Big(1+\frac1K\Big)L\sigma^2\le"
    r" 2(F^t-\mathbb E F^{t+1})+2\eta^2L\sigma^2",
    plain="The inequalities of steps (A) to (C) sum up to those of Theorem 1's left side.",
    mended={"p_power": 2.0, "first": False, "masked": True, "drift": 1.0},
    broken={"noise_factor": 0.4},
)
def eq16(
    budget, rng, *, p_power=1.0, first=True, factor=1.0, noise_factor=1.0, masked=False, drift=0.0
) -> Evidence:
    """Try each link; the summed inequalities have p^2, with which the first link is dropped."""
    return _sum(
        budget, rng, p_power=p_power, factor=factor, noise_factor=noise_factor,
        links=(0, 1, 2) if first else (1, 2), masked=masked, drift=drift,
    )  # fmt: skip


@claim(
    "pflmf.eq16.corrected",
    place="(16)",
    kind="deterministic inequality",
    latex=r"\eta(1-2\eta L)\Delta_U+\eta p^2\Big(1-\frac{\eta pL}{2K}\Big)\Delta_V\le"
    r" 2(F^t-\mathbb E F^{t+1})+\eta^2\Big(1+\frac1K\Big)L\sigma^2",
    plain="With p squared, as the summed inequalities have it, the sum holds.",
    broken={"p_power": 1.5},
    corrects="pflmf.eq16",
)
def eq16_corrected(budget, rng, *, p_power=2.0, factor=1.0, noise_factor=1.0) -> Evidence:
    """Try it in the same way."""
    return _sum(
        budget, rng, p_power=p_power, factor=factor, noise_factor=noise_factor, links=(1,),
        masked=True, drift=1.0,
    )  # fmt: skip
