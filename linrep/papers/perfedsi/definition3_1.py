"""Definition 3.1: the event that iterates stay regular, what it entails and how often it holds."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd

from linrep.claims import (
    Cases,
    Constant,
    Curve,
    Fact,
    Readings,
    statement,
)
from linrep.claims.deviations import identities
from linrep.claims.evidence import PROVED
from linrep.claims.quantities import LOWER, UPPER
from linrep.papers.perfedsi._hypotheses import WITHIN
from linrep.papers.perfedsi._instances import (
    MU,
    SHAPES,
    C,
    event,
    longest_steps,
    needed,
    searched,
    vanishing_runs,
)
from linrep.papers.perfedsi._regular import K, P, flown, played
from linrep.papers.perfedsi._rounds import start
from linrep.papers.perfedsi.counterexamples.definition3_1 import sides
from linrep.papers.perfedsi.definition_c03 import small_U
from linrep.problems import SideInformationCompletion
from linrep.stats import proportion_interval
from linrep.theory import perfedsi as theory

#: Constants that the event is looked at with; for mu also the largest that can be needed.
CONSTANTS, INCOHERENCES = (2.0, 3.0, 4.0, 5.0, 6.0), (4.0, 8.0, 16.0)


def _server(budget, rng, power, strength=""):
    """Search the ratio of the server's norms against c^2/(1 - sqrt(s)), s = 2 c_z c c_0 below 1."""

    def lhs_rhs(truth, U, V):
        found, share = needed(truth, U, V)
        if share >= 0.9999:  # 1 - sqrt(share) would be rounding
            return None
        sizes = [np.linalg.norm(A, 2) for A in (U, V)]
        bound = found.norms ** (power - 1.0) / theory.norm_floor(found.norms, share)
        return max(sizes) / min(sizes), bound

    return searched(
        lhs_rhs,
        budget,
        rng,
        name="c_0 small enough: 2 c_z c c_0 < 1",
        shapes=budget(SHAPES[:2], SHAPES[1:]),
        strength=strength,
        known=list(small_U()),
    )


def _clients(budget, rng) -> Readings:
    """Ask whether a client's own norms are balanced after steps of any size, and of Theorem C.4's.

    The longest of these move a client's norms by at most sqrt(s)/132 times sqrt(sigma_1)/c: the
    bound is that at the server, with 133/132 sqrt(s) in the place of sqrt(s).
    """

    def lhs_rhs(truth, U, V):
        found = longest_steps(truth, U, V)
        if found is None or (root := 133.0 / 132.0 * found.share**0.5) >= 0.9999:
            return None
        sizes = [np.linalg.norm(A, 2, axis=(1, 2)) for A in (found.U, found.V)]
        ratio = np.max(np.maximum(sizes[0] / sizes[1], sizes[1] / sizes[0]))
        return ratio, found.c**2 / (1.0 - root)

    limited = searched(
        lhs_rhs,
        budget,
        rng,
        name="steps of Theorem C.4, c_0 small enough",
        shapes=budget(SHAPES[:2], SHAPES[1:]),
        strength=PROVED,
        known=list(small_U()),
    )
    return Readings(
        [_unlimited(), limited],
        name="a client's own norms are balanced",
        printed_elsewhere={limited.name: "Theorem C.4"},
    )


def _unlimited() -> Cases:
    """Follow a client's own norms through d steps: at one c_0 without bound, or as c_0 tends to 0.

    At the server, from where they start, their ratio is below the bound that is searched.
    """
    found = []
    for d, root in product((16, 64, 256), (Fraction(2, 3), Fraction(12, 17), Fraction(70, 99))):
        K = 1 / (1 - 2 * root**2)
        at = {"d": d, "M": 2, "k": 2, "r": 1, "c": 2, "c_z": 2, "c_0": f"1/{8 * d}"}
        at |= {"mu": str(min(d, K**2)), "eta": 2 * d, "tau": d, "K": str(K)}
        found.append((*sides(d, root), at))
    return Cases(
        found,
        quantity="|V|/|U|",
        name="steps of any size, in fractions",
        measured_is=LOWER,
    )


def _ratios(rng) -> Constant:
    """Follow ||V||/||U|| over iterates in one and the same event, which may bound it."""
    runs = list(vanishing_runs())
    found = pd.DataFrame(
        [
            {
                "1/size": 1.0 / size,
                "d": d,
                "constant": min(np.linalg.norm(V, 2) / np.linalg.norm(U, 2) for U, V in iterates),
            }
            for d, size, iterates in runs
        ]
    )
    d, size, [(U, V), *_] = max(runs, key=lambda run: (-run[0], -run[1]))
    return Constant(
        found,
        ["1/size"],
        by=["d"],
        deterministic=True,
        label="|V|/|U|",
        name=f"any c_0: c = {C}, mu = {MU}, c_0 = 1/2",
        setting={
            "c": C,
            "c_0": 0.5,
            "mu": MU,
            "d": d,
            "U": U.tolist(),
            "V": V.tolist(),
            "size": size,
        },
    )


def _conditions(t, s, last, steps, first):
    """Return the (t', s') whose A_{t',s'} are in G_{t,s}: t' from first, and up to t - last."""
    whole = set(product(range(first, t - last + 1), range(0 if last else 1, steps + 1)))
    return whole | {(t, each) for each in range(s + 1)}


def _index() -> list[Readings]:
    """Ask which A_{t',s'} are in G_{t,s}: none of a later step, and in the end all.

    The printed intersection over t' goes from 1 to t, and that over s' from 1. The other reading
    has all of the rounds from 0 to t - 1. A_{0,0} is about the start alone and meant in any case.
    """
    later: dict[str, list] = {}
    left_out: dict[str, list] = {}
    for name, last, first in (("t' from 1 to t, as printed", 0, 1), ("t' from 0 to t - 1", 1, 0)):
        for t, steps in product(range(1, 6), range(1, 6)):
            for s in range(steps + 1):
                found = _conditions(t, s, last, steps, first)
                after = sum(each > (t, s) for each in found)
                later.setdefault(name, []).append((after, 0, {"t": t, "s": s, "tau": steps}))
            every = set(product(range(t + 1), range(steps + 1)))
            missing = len(every - _conditions(t, steps, last, steps, first))
            left_out.setdefault(name, []).append((missing, 0, {"T": t + 1, "tau": steps}))
    return [
        Readings(
            [Cases(cases, quantity="conditions", name=name) for name, cases in found.items()],
            name=question,
            phrase="the intersections over t' and s'",
            printed_elsewhere={"t' from 0 to t - 1": "Table 1, in words"},
        )
        for question, found in (
            ("G_{t,s} asks nothing of steps after s", later),
            ("G_{T-1,tau} asks it of all steps", left_out),
        )
    ]


def _units(rng) -> Readings:
    """Compare which bound on the norms of U_0 and V_0 is the same in every unit of M*."""
    cases: dict[str, list] = {"c sqrt(sigma_1)": [], "c sigma_1 as printed": []}
    truth = SideInformationCompletion.random(n=20, d=16, p=P, k=K, rng=rng)
    U, V = start("near", truth, rng)
    sizes: dict[str, float] = {}
    for unit in (1.0, 1e-4, 1e4):
        root = np.sqrt(unit)
        scaled = SideInformationCompletion(truth.U * root, truth.V * root, truth.Z)
        norm = event(scaled, root * U, root * V).norms
        for name, other in zip(cases, (1.0, scaled.singular_values[0] ** -0.5), strict=True):
            sizes.setdefault(name, norm * other)
            cases[name].append((abs(norm * other / sizes[name] - 1.0), {"unit": unit}))
    return Readings(
        identities(cases, 1e-10),
        name="A_{0,0} bounds norms by",
        phrase="c sigma_1",
        printed_elsewhere={"c sqrt(sigma_1)": "Definition 3.1, the other A_{t,s}"},
    )


def _point(regular, **columns):
    """Return a share with its Clopper-Pearson interval, and where it is drawn."""
    share, low, high = proportion_interval(int(regular.sum()), len(regular))
    return {**columns, "y": share, "low": low, "high": high}


def _design(row):
    """Name a cell by its side information, start and sizes."""
    truth, group = row["truths"][0], row["group"].partition(", to")[0]
    return f"{group}, d = {truth.d}, M = {truth.n}, tau = {row['tau']}"


def _picture(rows):
    """Return P(G) on the whole grid of c and mu, a panel per cell; and over rounds."""
    found = []
    for row in rows:
        panel = f"{row['group']}, {row['cell'].partition(', to')[0]}"
        for mu, c in product((*INCOHERENCES, np.inf), CONSTANTS):
            found.append(
                _point(
                    (row["c"] <= c) & (row["mu"] <= mu),
                    panel=panel,
                    series=f"mu = {mu:g}",
                    x=c,
                    xlabel="c",
                    ylabel="P(G)",
                )
            )
        if row.get("over rounds"):
            every, (c, mu) = row["over rounds"]
            for place in np.unique(np.geomspace(1, len(c), 12).astype(int)) - 1:
                regular = (c[place] <= CONSTANTS[-1]) & (mu[place] <= INCOHERENCES[-1])
                found.append(
                    _point(
                        regular,
                        panel=f"c = {CONSTANTS[-1]:g}, mu = {INCOHERENCES[-1]:g}",
                        series=_design(row),
                        x=float(place * every + 1),
                        xlabel="rounds",
                        ylabel="P(G)",
                    )
                )
    return pd.DataFrame(found)


def _limit(rows):
    """Return the median step size that Theorem C.4 allows at the c and mu that runs need."""
    return np.median(
        [
            theory.step_size_limit(theory.Setting.of(truth, c=c, mu=mu), row["tau"])
            for row in rows
            for truth, c, mu in zip(row["truths"], row["c"], row["mu"], strict=True)
        ]
    )


def _between_readings(rows):
    """Return the largest difference of P(G) at the largest constants, however G is read."""
    spreads = []
    for row in rows:
        shares = [
            np.mean((c <= CONSTANTS[-1]) & (mu <= INCOHERENCES[-1]))
            for c, mu in ((row["c"], row["mu"]), row["literal"], row["tight"])
        ]
        spreads.append(max(shares) - min(shares))
    return max(spreads)


@statement(
    "perfedsi.definition3.1",
    place="Definition 3.1",
    hypotheses=WITHIN,
    latex=r"\mathcal A_{t,s}:\ \|U\|, \|V\| \le c\sqrt{\sigma_1},\ \|e_i^\top U\| \le"
    r" \sqrt{\mu\tau\sigma_1/d},\ |e_i^\top E z_m| \le \sqrt{\mu/d}\,\|E z_m\|,\ \mathcal L_m \le"
    r" c\min(\mathcal L, c_0\sigma_r^2); \quad \mathcal G_{t,s} = \Big(\bigcap_{t'=1}^t"
    r"\bigcap_{s'=1}^\tau \mathcal A_{t',s'}\Big) \cap \bigcap_{s'=0}^s \mathcal A_{t,s'}; \quad"
    r" \mathcal G_{T-1,\tau} \Rightarrow \|U_{t,m,s}\|, \|V_{t,m,s}\| \text{ balanced}",
    plain="The regularity event balances the norms of U and V, of the server and of every client "
    "in all of its local steps.",
    negative_control={"power": 1.0},
)
def definition3_1(budget, rng, *, power=2.0):
    """Bound ||U||/||V|| by the event, in which c has a power, and read what the event consists of.

    At a client's own iterates nothing bounds it unless steps are as short as Theorem C.4 asks; the
    corrected statement is about the server's. How often runs are regular is a fact that decides
    nothing: P(G) counts all clients' local iterates; c_0 is infinite there, and rows of U are
    bounded by the larger one of tau and r, both in favour of the event.
    """
    yield _clients(budget, rng)
    yield from _index()
    yield Readings(
        [_server(budget, rng, power), _ratios(rng)],
        name="the server's norms are balanced",
        phrase="for some constants c_0, c",
    )
    yield _units(rng)
    runs = played(budget, rng)
    rows = [*runs, *flown(budget, rng)]
    # Not the one-hot design: its c_z is M, which is no constant.
    decisive = [row for row in rows if not row["group"].startswith("one-hot")]
    for name in ("c", "mu"):
        largest = max(row[name].max() for row in decisive)
        yield Fact(f"largest {name} that a run needs", largest, value_is=LOWER)
    yield Fact(
        "median step size that Theorem C.4 allows at what runs need",
        _limit(decisive),
        value_is=UPPER,
    )
    yield Fact("largest difference of P(G) among readings of the event", _between_readings(runs))
    yield Curve(_picture(rows))


@statement(
    "perfedsi.definition3.1.corrected",
    place="Definition 3.1",
    hypotheses=WITHIN,
    latex=r"s = 2c_zcc_0 < 1 \;\Rightarrow\; \frac{\|V_t\|}{\|U_t\|},"
    r" \frac{\|U_t\|}{\|V_t\|} \le \frac{c^2}{1 - \sqrt s}",
    plain="With a small c_0 the regularity event balances the norms of the server's U and V.",
    negative_control={"power": 1.0},
    corrects="perfedsi.definition3.1",
    stronger={"power": -1},
)
def definition3_1_corrected(budget, rng, *, power=2.0):
    """Search the ratio at iterates that all clients share; the power is that of c."""
    yield _server(budget, rng, power, PROVED)
