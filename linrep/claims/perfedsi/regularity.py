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
    bounded_constant,
    claim,
    combine,
    frequency,
    inequality,
)
from linrep.claims._parts import readings, together
from linrep.claims.perfedsi._instances import (
    MU,
    SHAPES,
    C,
    length,
    needed,
    unpack,
    vanishing_runs,
)
from linrep.claims.perfedsi._regular import DECAY, K, P, flown, played
from linrep.claims.perfedsi._rounds import start
from linrep.problems import SideInformationCompletion
from linrep.stats import proportion_interval
from linrep.theory import perfedsi as theory

#: Constants that the event is looked at with; for mu also the largest that can be needed.
CONSTANTS, INCOHERENCES = (2.0, 3.0, 4.0, 5.0, 6.0), (4.0, 8.0, 16.0)
#: Runs that are regular more rarely than this leave the theorem without content.
RARE = 0.05


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
        name="the server's norms are balanced if 2 c_z c c_0 < 1",
    )  # fmt: skip


def _ratios(c_0, rng) -> Evidence:
    """Decide whether ||V||/||U|| is bounded over iterates in one and the same event."""
    found = pd.DataFrame(
        [
            {
                "1/size": 1.0 / size, "d": d,
                "constant": min(np.linalg.norm(V, 2) / np.linalg.norm(U, 2) for U, V in iterates),
            }
            for d, size, iterates in vanishing_runs(c_0)
        ]
    )  # fmt: skip
    evidence = bounded_constant(
        found, ["1/size"], by=("d",), level=LEVEL / 4, rng=rng,
        name=f"norms are balanced at c = {C}, mu = {MU}, c_0 = {c_0:g}", label="|V|/|U|",
    )  # fmt: skip
    if evidence.counterexample is None:
        return evidence
    d, size, [(U, V), *_] = max(vanishing_runs(c_0), key=lambda run: (-run[0], -run[1]))
    told = {"c": C, "c_0": c_0, "mu": MU, "d": d, "U": U.tolist(), "V": V.tolist()}
    return replace(evidence, counterexample={**evidence.counterexample, **told, "size": size})


def _own_condition() -> str:
    """Tell what a client's iterate U = 0, V = V* needs where z_m is orthogonal to V*'s columns."""
    star_U, star_V, Z = np.full((4, 1), 0.5), np.eye(2, 1), np.array([[0.0, 1.0]])
    found = theory.local_regularity(
        star_U, star_V, Z, np.ones(1), np.zeros((1, 4, 1)), star_V[None], loss=1.0
    )
    return (
        f"c = {found.norms[0]:.2g}, mu = {found.errors[0]:.2g} and a loss of {found.loss[0]:.2g} L"
    )


def _units(rng) -> Evidence:
    """Decide which bound on the norms of U_0 and V_0 is the same in every unit of M*."""
    cases: dict[str, list] = {"c sqrt(sigma_1)": [], "c sigma_1 as printed": []}
    truth = SideInformationCompletion.random(n=20, d=16, p=P, k=K, rng=rng)
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


def _point(regular, **columns):
    """Return a share with its Clopper-Pearson interval, and where it is drawn."""
    share, low, high = proportion_interval(int(regular.sum()), len(regular))
    return {**columns, "y": share, "low": low, "high": high}


def _design(row):
    """Tell a cell that is followed to the end by its side information, start and d."""
    return f"{row['group'].partition(', to')[0]}, d = {row['truths'][0].d}"


def _picture(rows):
    """Return P(G) on the whole grid of c and mu, a panel per cell; and over rounds."""
    found = []
    for row in rows:
        panel = f"{row['group']}, {row['cell'].partition(', to')[0]}"
        for mu, c in product((*INCOHERENCES, np.inf), CONSTANTS):
            found.append(
                _point(
                    (row["c"] <= c) & (row["mu"] <= mu), panel=panel, series=f"mu = {mu:g}", x=c,
                    xlabel="c", ylabel="P(G)",
                )
            )  # fmt: skip
        if row.get("over rounds"):
            every, (c, mu) = row["over rounds"]
            for place in np.unique(np.geomspace(1, len(c), 12).astype(int)) - 1:
                regular = (c[place] <= CONSTANTS[-1]) & (mu[place] <= INCOHERENCES[-1])
                found.append(
                    _point(
                        regular, panel=f"c = {CONSTANTS[-1]:g}, mu = {INCOHERENCES[-1]:g}",
                        series=_design(row), x=float(place * every + 1), xlabel="rounds",
                        ylabel="P(G)",
                    )
                )  # fmt: skip
    return pd.DataFrame(found)


def _over_rounds(rows):
    """Tell P(G) at the largest constants up to some rounds, where runs are followed to the end."""
    told = []
    for row in rows:
        if not row.get("over rounds"):
            continue
        every, (c, mu) = row["over rounds"]
        regular = np.mean((c <= CONSTANTS[-1]) & (mu <= INCOHERENCES[-1]), axis=1)
        places = sorted({min(len(c) - 1, at // every) for at in (60, 300, 1000)} | {len(c) - 1})
        told.append(
            f"{_design(row)}: "
            + ", ".join(f"{regular[at]:.2f} ({at * every + 1})" for at in places)
        )
    return "; ".join(told)


def _limit(rows):
    """Return the median step size that Theorem C.4 allows at the c and mu that runs need."""
    return np.median(
        [
            theory.step_size_limit(theory.Setting.of(truth, c=c, mu=mu), row["tau"])
            for row in rows
            for truth, c, mu in zip(row["truths"], row["c"], row["mu"], strict=True)
        ]
    )


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
            + f", step {_limit(cells):.0e}"
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
    mended={"c_0": 0.4},
)
def definition3_1(budget, rng, *, c_0=0.5, power=2.0) -> Evidence:
    """Bound ||U||/||V|| by the event, in which c has a power, and count regular runs.

    The definition leaves c_0 open; norms are balanced where 2 c_z c c_0 < 1, at the server's
    iterates, which is where they are looked at. P(G) counts all clients' local iterates; c_0 is
    infinite there, and rows of U are bounded by the larger one of tau and r, both in favour of the
    event. P(G) grows with c and mu, so that the largest ones decide.
    """
    runs = played(budget, rng)
    rows = [*runs, *flown(budget, rng)]
    # The one-hot design, whose c_z is M, is a control.
    decisive = [row for row in rows if not row["group"].startswith("one-hot")]
    level = LEVEL / (4 * len(decisive))
    likely = []
    for whole, most in product((False, True), (np.inf, INCOHERENCES[-1])):
        cells = [_likely(row, most, level) for row in decisive if row["whole"] == whole]
        mu = "any mu" if np.isinf(most) else f"mu = {most:g}"
        horizon = f"to L = {DECAY:g} L_0" if whole else f"{budget(20, 60)} rounds"
        found = together(cells, f"P(G) > {RARE:g} at c = {CONSTANTS[-1]:g}, {mu}, {horizon}")
        least = max(cells, key=lambda cell: cell.measured)
        likely.append(replace(found, sentence=f"least in {least.name}: {least.sentence}"))
    parts = [
        _ratios(c_0, rng),
        _balanced(budget, rng, power),
        _units(rng),
        *likely,
    ]
    most, shares = _readings_of(runs)
    found = combine(
        parts,
        f"{parts[0].name}: {parts[0].sentence}. ||U||/||V|| <= c^2/(1 - sqrt(2 c_z c c_0)) at the "
        "server's iterates where 2 c_z c c_0 < 1, for other c_0 by nothing; a client's own iterate "
        f"U = 0 needs {_own_condition()} where z_m is orthogonal to V*. A_(0,0) bounds norms by "
        f"{parts[2].sentence}. Least P(G) at c = 6: "
        + "; ".join(f"{part.name.partition('6, ')[2]} {part.sentence}" for part in likely)
        + ". Needed, range of P(G) at (c, mu) = (2, 4), (4, 8), (6, 8), (6, 16), (6, any), and the "
        f"step Theorem C.4 allows at what is needed: {_table(rows)}. P(G) at c = 6, mu = 16 up to "
        f"rounds: {_over_rounds(rows)}. Readings (all local iterates, as printed without the first "
        f"round, least c_0) differ most in {most}: P(G) = {shares}",
    )
    return replace(found, points=_picture(rows))
