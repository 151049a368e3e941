"""Definition 3.1: the event that iterates stay regular, what it entails and how often it holds."""

from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
from numpy.linalg import norm

from linrep.claims import Cases, Constant, Curve, Fact, Readings, Search, statement
from linrep.claims.evidence import LOWER, PROVED, UPPER
from linrep.claims.laws import at_most, measured
from linrep.claims.measurements import identities
from linrep.papers.perfedsi import model, rounds
from linrep.papers.perfedsi.counterexamples.definition3_1 import sides
from linrep.papers.perfedsi.definition_c03 import ROOT, beside_small_U
from linrep.problems import SideInformationCompletion
from linrep.stats import proportion_interval
from linrep.theory import perfedsi as theory

#: Constants that the event is looked at with; for mu also the largest that can be needed.
CONSTANTS, INCOHERENCES = (2.0, 3.0, 4.0, 5.0, 6.0), (4.0, 8.0, 16.0)


def server(budget, rng, power, strength="") -> Search:
    """Search the ratio of the server's norms against c^2/(1 - sqrt(s)), s = 2 c_z c c_0 below 1."""

    def lhs_rhs(truth, U, V):
        found, share = model.needed(truth, U, V)
        if share >= ROOT:  # 1 - sqrt(share) would be rounding
            return None
        norms = [norm(A, 2) for A in (U, V)]
        bound = found.norms ** (power - 1.0) / theory.norm_floor(found.norms, share)
        return max(norms) / min(norms), bound

    name = "c_0 small enough: 2 c_z c c_0 < 1"
    return beside_small_U(lhs_rhs, budget, rng, name=name, strength=strength)


def clients(budget, rng) -> Readings:
    """Ask whether a client's own norms are balanced after steps of any size, and of Theorem C.4's.

    The longest of these move a client's norms by at most sqrt(s)/132 times sqrt(sigma_1)/c: the
    bound is that at the server, with 133/132 sqrt(s) in the place of sqrt(s).
    """

    def lhs_rhs(truth, U, V):
        found = model.longest_steps(truth, U, V)
        if found is None or (root := 133.0 / 132.0 * found.share**0.5) >= ROOT:
            return None
        norms = [norm(A, 2, axis=(1, 2)) for A in (found.U, found.V)]
        ratio = np.max(np.maximum(norms[0] / norms[1], norms[1] / norms[0]))
        return ratio, found.c**2 / (1.0 - root)

    # A client's own norms through d steps: at one c_0 without bound, or as c_0 tends to 0. At the
    # server, from where they start, their ratio is below the bound that is searched.
    far = []
    for d, root in product((16, 64, 256), (Fraction(2, 3), Fraction(12, 17), Fraction(70, 99))):
        ratio = 1 / (1 - 2 * root**2)
        at = {"d": d, "M": 2, "k": 2, "r": 1, "c": 2, "c_z": 2, "c_0": f"1/{8 * d}"}
        at |= {"mu": str(min(d, ratio**2)), "eta": 2 * d, "tau": d, "K": str(ratio)}
        far.append((*sides(d, root), at))
    name = "steps of any size, in fractions"
    unlimited = Cases(far, quantity="|V|/|U|", name=name, measured_is=LOWER)
    name = "steps of Theorem C.4, c_0 small enough"
    limited = beside_small_U(lhs_rhs, budget, rng, name=name, strength=PROVED)
    parts, elsewhere = [unlimited, limited], {name: "Theorem C.4"}
    name = "a client's own norms are balanced"
    return Readings(parts, name=name, printed_elsewhere=elsewhere)


def ratios() -> Constant:
    """Follow ||V||/||U|| over iterates in one and the same event, which may bound it."""
    found = [
        (d, 1.0 / size, min(norm(V, 2) / norm(U, 2) for U, V in iterates))
        for d, size, iterates in model.vanishing_runs()
    ]
    rows = pd.DataFrame(found, columns=["d", "1/size", "constant"])
    c, mu = model.C, model.MU
    return Constant(
        rows, ["1/size"], by=["d"], deterministic=True, label="|V|/|U|",
        name=f"any c_0: c = {c}, mu = {mu}, c_0 = 1/2",
        setting={"c": c, "mu": mu, "c_0": 0.5, "d": 4, "size": 1.0 / rows["1/size"].max()},
    )  # fmt: skip


#: Where the first intersection of G_{t,s} begins, and where it ends before t; that over s' has 0
#: where it does.
INTERSECTIONS = {"t' from 1 to t, as printed": (1, 0), "t' from 0 to t - 1": (0, 1)}


def conditions(name, t, s, steps):
    """Return the (t', s') whose A_{t',s'} are in G_{t,s}."""
    first, before = INTERSECTIONS[name]
    whole = set(product(range(first, t - before + 1), range(0 if before else 1, steps + 1)))
    return whole | {(t, each) for each in range(s + 1)}


def later_steps():
    """Yield how many of G_{t,s}'s conditions are of a later step."""
    for name, t, steps in product(INTERSECTIONS, range(1, 6), range(1, 6)):
        for s in range(steps + 1):
            after = sum(each > (t, s) for each in conditions(name, t, s, steps))
            yield name, at_most(after, 0), {"t": t, "s": s, "tau": steps}


def left_out():
    """Yield how many steps G_{T-1,tau} asks nothing of; A_{0,0} is meant in any case."""
    for name, t, steps in product(INTERSECTIONS, range(1, 6), range(1, 6)):
        every = set(product(range(t + 1), range(steps + 1)))
        missing = len(every - conditions(name, t, steps, steps))
        yield name, at_most(missing, 0), {"T": t + 1, "tau": steps}


def units(rng) -> Readings:
    """Compare which bound on the norms of U_0 and V_0 is the same in every unit of M*."""
    cases: dict[str, list] = {"c sqrt(sigma_1)": [], "c sigma_1 as printed": []}
    truth = SideInformationCompletion.random(n=20, d=16, p=rounds.P, k=rounds.K, rng=rng)
    U, V = rounds.start("near", truth, rng)
    norms: dict[str, float] = {}
    for unit in (1.0, 1e-4, 1e4):
        root = np.sqrt(unit)
        scaled = SideInformationCompletion(truth.U * root, truth.V * root, truth.Z)
        largest = model.event(scaled, root * U, root * V).norms
        for name, other in zip(cases, (1.0, scaled.singular_values[0] ** -0.5), strict=True):
            first = norms.setdefault(name, largest * other)
            cases[name].append((abs(largest * other / first - 1.0), {"unit": unit}))
    parts, name, phrase = identities(cases, 1e-10), "A_{0,0} bounds norms by", "c sigma_1"
    elsewhere = {"c sqrt(sigma_1)": "Definition 3.1, the other A_{t,s}"}
    return Readings(parts, name=name, phrase=phrase, printed_elsewhere=elsewhere)


def picture(rows) -> pd.DataFrame:
    """Return P(G) on the whole grid of c and mu, a panel per design; and over rounds."""

    def point(regular, **columns):
        share, low, high = proportion_interval(int(regular.sum()), len(regular))
        found.append({**columns, "ylabel": "P(G)", "y": share, "low": low, "high": high})

    found: list[dict] = []
    most_c, most_mu = CONSTANTS[-1], INCOHERENCES[-1]
    for row in rows:
        panel = f"{row['group']}, {row['cell'].partition(', to')[0]}"
        for mu, c in product((*INCOHERENCES, np.inf), CONSTANTS):
            regular = (row["c"] <= c) & (row["mu"] <= mu)
            point(regular, panel=panel, series=f"mu = {mu:g}", x=c, xlabel="c")
        if row.get("over rounds"):
            every, (c, mu) = row["over rounds"]
            truth, group = row["truths"][0], row["group"].partition(", to")[0]
            series = f"{group}, d = {truth.d}, M = {truth.n}, tau = {row['tau']}"
            panel = f"c = {most_c:g}, mu = {most_mu:g}"
            for t in np.unique(np.geomspace(1, len(c), 12).astype(int)) - 1:
                regular = (c[t] <= most_c) & (mu[t] <= most_mu)
                point(regular, panel=panel, series=series, x=float(t * every + 1), xlabel="rounds")
    return pd.DataFrame(found)


@statement(
    "perfedsi.definition3.1",
    place="Definition 3.1",
    hypotheses=model.WITHIN,
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
    yield clients(budget, rng)
    for question, found in (
        ("G_{t,s} asks nothing of steps after s", later_steps()),
        ("G_{T-1,tau} asks it of all steps", left_out()),
    ):
        parts = list(measured(found, quantity="conditions").values())
        phrase = "the intersections over t' and s'"
        elsewhere = {"t' from 0 to t - 1": "Table 1, in words"}
        yield Readings(parts, name=question, phrase=phrase, printed_elsewhere=elsewhere)
    yield Readings(
        [server(budget, rng, power), ratios()],
        name="the server's norms are balanced",
        phrase="for some constants c_0, c",
    )
    yield units(rng)
    rows = rounds.played(budget, rng)
    # Not the one-hot design: its c_z is M, which is no constant.
    decisive = [row for row in rows if not row["group"].startswith("one-hot")]
    for name in ("c", "mu"):
        largest = max(row[name].max() for row in decisive)
        yield Fact(f"largest {name} that a run needs", largest, value_is=LOWER)
    steps = [
        theory.step_size_limit(theory.Setting.of(truth, c=c, mu=mu), row["tau"])
        for row in decisive
        for truth, c, mu in zip(row["truths"], row["c"], row["mu"], strict=True)
    ]
    name = "median step size that Theorem C.4 allows at what runs need"
    yield Fact(name, np.median(steps), value_is=UPPER)
    yield Curve(picture(rows))


@statement(
    "perfedsi.definition3.1.corrected",
    place="Definition 3.1",
    hypotheses=model.WITHIN,
    latex=r"s = 2c_zcc_0 < 1 \;\Rightarrow\; \frac{\|V_t\|}{\|U_t\|},"
    r" \frac{\|U_t\|}{\|V_t\|} \le \frac{c^2}{1 - \sqrt s}",
    plain="With a small c_0 the regularity event balances the norms of the server's U and V.",
    negative_control={"power": 1.0},
    corrects="perfedsi.definition3.1",
    stronger={"power": -1},
)
def definition3_1_corrected(budget, rng, *, power=2.0):
    """Search the ratio at iterates that all clients share; the power is that of c."""
    yield server(budget, rng, power, PROVED)
