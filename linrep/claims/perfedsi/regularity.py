"""Definition 3.1: the event that iterates stay regular, what it entails and how likely it is."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd

from linrep.claims import (
    FAILS,
    LEVEL,
    VACUOUS,
    Evidence,
    claim,
    combine,
    frequency,
    inequality,
)
from linrep.claims._parts import readings, together
from linrep.claims.perfedsi._instances import SHAPES, length, needed, unpack
from linrep.claims.perfedsi._rounds import Needs, Runs, flow, play, start
from linrep.problems import SideInformationCompletion
from linrep.stats import proportion_interval
from linrep.theory import perfedsi as theory

#: Constants that the event is looked at with; for mu also the largest that can be needed.
CONSTANTS, INCOHERENCES = (2.0, 3.0, 4.0, 5.0, 6.0), (4.0, 8.0, 16.0)
#: Runs that are regular more rarely than this leave the theorem without content.
RARE = 0.05
_STEPS = {"one-hot": 0.3, "unit": 0.3, "gaussian": 0.05, "isometric": 0.05}
_P, _K, _PARTICIPANTS = 4, 2, 4
_DECAY = 1e-6  # of L, which the limit of small steps is followed to


def _balanced(budget, rng, power) -> Evidence:
    """Return evidence that the event with small c_0 bounds ||U||/||V|| by c^2/(1 - sqrt(s))."""

    def sides(shape, x):
        instance = unpack(shape, x)
        if instance is None:
            return None
        found, share = needed(*instance)
        if share >= 0.9999:  # 1 - sqrt(share) would be rounding
            return None
        U, V = (np.linalg.norm(A, 2) for A in instance[1:])
        bound = found.norms ** (power - 1.0) / theory.norm_floor(found.norms, share)
        return max(U, V) / min(U, V), bound

    return inequality(
        sides, budget(SHAPES[:2], SHAPES[1:]), length, budget, rng,
        name="norms are balanced if 2 c_z c c_0 < 1",
    )  # fmt: skip


def _unbalanced(rng) -> str:
    """Tell what the event needs where V = V* and U = epsilon U*."""
    truth = SideInformationCompletion.random(n=20, d=16, p=_P, k=_K, rng=rng)
    told = []
    for size in (1e-3, 1e-6):
        found, share = needed(truth, size * truth.U, truth.V)
        told.append(
            f"ratio {1.0 / size:.0e} at c = {found.norms:.3g}, c c_0 = {found.loss:.3g}, mu = "
            f"{max(found.rows, found.errors):.3g}, 2 c_z c c_0 = {share:.3g}"
        )
    return "; ".join(told)


def _units(rng) -> Evidence:
    """Decide which bound on the norms of U_0 and V_0 is the same in every unit of M*."""
    cases: dict[str, list] = {"c sqrt(sigma_1)": [], "c sigma_1 as printed": []}
    truth = SideInformationCompletion.random(n=20, d=16, p=_P, k=_K, rng=rng)
    U, V = start("near", truth, rng)
    sizes: dict[str, float] = {}
    for unit in (1.0, 1e-4, 1e4):
        root = np.sqrt(unit)
        scaled = SideInformationCompletion(truth.U * root, truth.V * root, truth.Z)
        norm = needed(scaled, root * U, root * V)[0].norms
        for name, other in zip(cases, (1.0, scaled.singular_values[0] ** -0.5), strict=True):
            sizes.setdefault(name, norm * other)
            cases[name].append((abs(norm * other / sizes[name] - 1.0), {"unit": unit}))
    return readings(cases, 1e-10, name="A_{0,0} bounds norms by")


def _constants(needs: Needs, *, literal: bool, steps: int, c_0=None):
    """Return the c and mu that every run needs, for s up to tau in all rounds.

    Literally Definition 3.1 leaves out the first round, and s = 0 in all but the last. Rows of U
    are bounded by the larger one of tau and r.
    """
    loss = needs.loss
    if c_0 is not None:
        loss = loss * np.maximum(1.0, needs.level / c_0)
    c = np.maximum(needs.norms, loss)
    mu = np.maximum(needs.rows * _K / max(_K, steps), needs.errors)
    if not literal:
        return c.max(axis=(0, 1)), mu.max(axis=(0, 1))
    return tuple(np.maximum(x[1:, 1:].max(axis=(0, 1)), x[-1].max(axis=0)) for x in (c, mu))


def _drawn(side, d, n, kind, count, rng):
    """Return truths and their starts."""
    p = n if side == "one-hot" else _P
    truths = [
        SideInformationCompletion.random(n=n, d=d, p=p, k=_K, side=side, rng=rng)
        for _ in range(count)
    ]
    return truths, Runs.of(truths, [start(kind, truth, rng) for truth in truths])


def _cells(budget):
    """Yield design, start, d, M, tau, rounds."""
    if budget.name == "quick":
        yield from (("unit", "near", d, 20, 5, 20) for d in (16, 64))
        yield ("gaussian", "random", 16, 20, 5, 20)
        return
    rounds = budget(60, 60, 300)
    for side, d, n, tau in product(("unit", "gaussian"), (16, 64), (20, 100), (1, 5)):
        yield side, "near", d, n, tau, rounds
    for side, kind in (("unit", "unbalanced"), ("gaussian", "random"), ("unit", "random")):
        yield from ((side, kind, d, 20, 5, rounds) for d in (16, 64))
    yield from (("isometric", kind, 16, 100, 5, rounds) for kind in ("near", "random"))
    yield "one-hot", "near", 16, 20, 5, rounds
    yield from (("unit", "near", 64, 20, 5, 300), ("gaussian", "near", 16, 20, 5, 300))


def _played(budget, rng):
    """Return a row per cell: its name, the c and mu that its runs need, literally and not."""
    rows = []
    for side, kind, d, n, tau, rounds in _cells(budget):
        truths, runs = _drawn(side, d, n, kind, budget(16, 30, 100), rng)
        first = runs.losses()
        _, needs = play(
            runs, rng, rounds=rounds, step_size=_STEPS[side], participants=_PARTICIPANTS,
            local_steps=tau,
        )  # fmt: skip
        wide = _constants(needs, literal=False, steps=tau)
        rows.append(
            {
                "group": f"{side}, {kind}",
                "cell": f"d = {d}, M = {n}, tau = {tau}, {rounds} rounds",
                "c": wide[0], "mu": wide[1], "truths": truths, "tau": tau,
                "literal": _constants(needs, literal=True, steps=tau),
                "tight": _constants(needs, literal=False, steps=tau, c_0=first),
            }
        )  # fmt: skip
    return rows


def _flown(budget, rng):
    """Return the same in the limit of small step sizes, which Theorem C.4 asks for."""
    rows = []
    for side, d, n in product(("unit", "gaussian"), budget((16,), (16, 64)), (20, 100)):
        truths, runs = _drawn(side, d, n, "near", budget(60, 100, 400), rng)
        first, c, mu = runs.losses(), np.zeros(len(truths)), np.zeros(len(truths))
        for step, now in enumerate(flow(runs, 0.5 if side == "unit" else 0.1, 5000)):
            if step % 5:
                continue
            loss = now.losses()
            going = loss > _DECAY * first
            if not going.any():
                break
            # Of the server's iterate, which all clients share: one walker is enough for U, V.
            found = theory.local_regularity(
                now.star_U, now.star_V, now.Z, now.values,
                *(np.repeat(A[:, None], n, axis=1) for A in (now.U, now.V)),
                loss=loss, c_0=np.inf,
            ).worst()  # fmt: skip
            c = np.where(going, np.maximum(c, np.maximum(found.norms, found.loss)), c)
            mu = np.where(going, np.maximum(mu, np.maximum(found.rows, found.errors)), mu)
        rows.append(
            {
                "group": f"small steps, {side}", "cell": f"d = {d}, M = {n}", "c": c, "mu": mu,
            }
        )  # fmt: skip
    return rows


def _share(needed_by, most_c, most_mu):
    """Return the share of runs that constants up to these are enough for."""
    c, mu = needed_by
    return float(np.mean((c <= most_c) & (mu <= most_mu)))


def _likely(row, most_mu, level) -> Evidence:
    """Decide whether the event is no rare one, at c = 6 and a mu; vacuous where it is."""
    regular = (row["c"] <= CONSTANTS[-1]) & (row["mu"] <= most_mu)
    where = f"{row['group']}, {row['cell']}"
    found = frequency(
        int(np.sum(~regular)), len(regular), 1.0 - RARE, level=level, name=where,
        setting={"where": where, "c": CONSTANTS[-1]},
    )  # fmt: skip
    return replace(
        found,
        verdict=VACUOUS if found.verdict == FAILS else found.verdict,
        sentence=f"regular in {1.0 - found.measured:.0%} of {len(regular)} runs",
    )


def _picture(rows):
    """Return P(G) over c at the largest mu of the grid: a panel per design, a series per cell."""
    groups = [row["group"] for row in rows]
    found = []
    for row in rows:
        for c in CONSTANTS:
            regular = (row["c"] <= c) & (row["mu"] <= INCOHERENCES[-1])
            share, low, high = proportion_interval(int(regular.sum()), len(regular))
            if share > 0.0 and groups.count(row["group"]) > 1:
                found.append(
                    {
                        "panel": row["group"], "series": row["cell"].removesuffix(" rounds"),
                        "x": c, "y": share, "low": low, "high": high, "xlabel": "c",
                        "ylabel": f"P(G), mu = {INCOHERENCES[-1]:g}",
                    }
                )  # fmt: skip
    return pd.DataFrame(found)


def _limits(rows):
    """Tell the step sizes and rounds to 1e-6 that Theorem C.4 has at some of the constants."""
    row, told = rows[0], []
    for c, mu in ((1.0, 1.0), (CONSTANTS[0], INCOHERENCES[0]), (CONSTANTS[-1], INCOHERENCES[-1])):
        settings = [theory.Setting.of(truth, c=c, mu=mu) for truth in row["truths"]]
        eta = np.median([theory.step_size_limit(setting, row["tau"]) for setting in settings])
        rounds = np.median(
            [theory.rounds(setting, 1e-6, local_steps=row["tau"]) for setting in settings]
        )
        told.append(f"{eta:.1e} and {rounds:.1e} at c = {c:g}, mu = {mu:g}")
    return ", ".join(told)


def _table(rows):
    """Tell the constants that runs need, and how many are regular at corners of the grid."""
    corners = ((2.0, 4.0), (4.0, 8.0), (6.0, 8.0), (6.0, 16.0), (6.0, np.inf))
    told = []
    for group in dict.fromkeys(row["group"] for row in rows):
        cells = [row for row in rows if row["group"] == group]
        c, mu = (np.concatenate([row[name] for row in cells]) for name in ("c", "mu"))
        shares = [[_share((row["c"], row["mu"]), *corner) for row in cells] for corner in corners]
        told.append(
            f"{group}: c {c.min():.2g} to {c.max():.2g}, mu {mu.min():.2g} to {mu.max():.2g}, P "
            + ", ".join(f"{min(share):.2f}-{max(share):.2f}" for share in shares)
        )
    return "; ".join(told)


def _readings_of(rows):
    """Return the cell in which P(G) at the largest constants depends most on how G is read."""
    found = {
        f"{row['group']}, {row['cell']}": [
            _share(constants, CONSTANTS[-1], INCOHERENCES[-1])
            for constants in ((row["c"], row["mu"]), row["literal"], row["tight"])
        ]
        for row in rows
    }
    most = max(found, key=lambda name: max(found[name]) - min(found[name]))
    return most, ", ".join(f"{share:.2f}" for share in found[most])


@claim(
    "perfedsi.definition3.1",
    place="Definition 3.1",
    kind="specification",
    latex=r"\mathcal A_{t,s}:\ \|U\|, \|V\| \le c\sqrt{\sigma_1},\ \|e_i^\top U\| \le"
    r" \sqrt{\mu\tau\sigma_1/d},\ |e_i^\top E z_m| \le \sqrt{\mu/d}\,\|E z_m\|,\ \mathcal L_m \le"
    r" c\min(\mathcal L, c_0\sigma_r^2); \quad \mathcal G_{T-1,\tau} \Rightarrow \text{balanced}",
    plain="The regularity event balances the norms of U and V, and is not a rare one.",
    broken={"power": 1.0},
)
def definition3_1(budget, rng, *, power=2.0) -> Evidence:
    """Bound ||U||/||V|| by the event, in which c has a power, and count regular runs.

    All clients' local iterates count; c_0 is infinite, and rows of U are bounded by the larger one
    of tau and r, both in favour of the event. P(G) grows with c and mu, so that the largest ones
    decide.
    """
    played, flown = _played(budget, rng), _flown(budget, rng)
    rows = [*played, *flown]
    # The one-hot design, whose c_z is M, is a control.
    decisive = [row for row in rows if not row["group"].startswith("one-hot")]
    level = LEVEL / (2 * len(decisive))
    likely = []
    for most in (np.inf, INCOHERENCES[-1]):
        cells = [_likely(row, most, level) for row in decisive]
        mu = "any mu" if np.isinf(most) else f"mu = {most:g}"
        found = together(cells, f"P(G) > {RARE:g} at c = {CONSTANTS[-1]:g}, {mu}")
        least = max(cells, key=lambda cell: cell.measured)
        likely.append(replace(found, sentence=f"least in {least.name}: {least.sentence}"))
    parts = [
        _balanced(budget, rng, power),
        _units(rng),
        *likely,
    ]
    most, shares = _readings_of(played)
    found = combine(
        parts,
        f"{combine(parts).sentence}. ||U||/||V|| <= c^2/(1 - sqrt(2 c_z c c_0)) where 2 c_z c c_0 <"
        f" 1; unbounded for other c_0 ({_unbalanced(rng)}). A_(0,0) bounds norms by "
        f"{parts[1].sentence}. Needed, and range of P(G) at (c, mu) = (2, 4), (4, 8), (6, 8), "
        f"(6, 16), (6, any): {_table(rows)}. Step size allowed by Theorem C.4 and its rounds to "
        f"1e-6 ({played[0]['group']}, {played[0]['cell']}): {_limits(played)}. Readings (all local "
        "iterates, as printed without the first round, least c_0) differ most in "
        f"{most}: P(G) = {shares}",
    )
    return replace(found, points=_picture(rows))
