"""Lemmas C.8 to C.10: how far gradients drift from the server's in a step, and in a round."""

from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.linalg import norm

from linrep.claims import Cases, Identity, Readings, Search, Together, statement
from linrep.claims.evidence import LOWER, PROVED, UPPER
from linrep.claims.laws import Region, Root, at_most, lines
from linrep.claims.measurements import identities
from linrep.claims.search import search_instances
from linrep.papers.perfedsi import model
from linrep.papers.perfedsi.counterexamples.lemmac8_indicators import sides as sides_of_means
from linrep.papers.perfedsi.counterexamples.lemmac10 import sides as sides_of_C10
from linrep.theory import perfedsi as theory
from linrep.theory.perfedsi_rounds import State, Walks, balanced, sequences

STEP = 1e-3


def unit_of(state, limits, step_size, p_power=1.5) -> float:
    """Return (eta/d) p^p_power c^3 mu^{3/2} sigma_1^{3/2} sqrt(L)."""
    setting, options = state.setting(limits), {"step_size": step_size, "loss": state.loss}
    bare = theory.drift(setting, steps=1, factor=1.0, with_p=False, **options)
    return float(bare) * state.truth.p**p_power


def drift(walks, limits, s, weight=1.0) -> np.ndarray:
    """Return a_s and b_s; weight is that of the server's gradient."""
    in_U, in_V, _ = walks.drift(limits, s, weight)
    return np.array([norm(in_U), norm(in_V)])


def case_of(state, limits, step_size, **further) -> dict:
    """Return plain values of a case."""
    at = {
        **model.plain(state),
        "step_size": step_size,
        "c": limits.c,
        "mu": state.setting(limits).mu,
    }
    return {**at, **further}


def largest_step(state, limits) -> float:
    """Return that which the proof of Lemma C.8 asks for, in the unit of M*, with constant 1."""
    s = state.setting(limits)
    return s.smallest / (np.sqrt(s.p * s.k) * s.mu**1.5 * s.largest**2)


def short_step(state, limits, steps) -> float:
    """Return the largest step with eta tau k r mu^2 c^2 sigma_1 <= 1/132.

    The derivation of Lemma C.10, corrected, asks for that.
    """
    s = state.setting(limits)
    return 1.0 / (132.0 * steps * s.p * s.k * s.mu**2 * s.c**2 * s.largest)


def random_walks(budget, rng, most_steps, beyond=0.0, *, short=False):
    """Yield all walks from random states, and limits that all or some keep.

    Steps are up to 10^beyond times the largest one, or nine tenths of the short one. States are
    left out whose walks are too many: means over balanced sequences in their place are not exact.
    """
    for _ in range(budget(50, 800, 4000)):
        p = int(rng.integers(1, 5))
        d = int(rng.choice([2, 4, 8]))
        state = model.drawn(
            rng, n=p + int(rng.integers(0, 3)), d=d, p=p, k=int(rng.integers(1, min(d, p) + 1)),
            error=10.0 ** rng.uniform(-3, 0), tilt=2.0 ** rng.uniform(-2, 2),
            condition=10.0 ** rng.uniform(0, 1),
        )  # fmt: skip
        items = model.items_for(d, int(rng.integers(1, most_steps + 1)), budget(300, 520), rng)
        start, share = model.start_of(state).limits(), 10.0 ** rng.uniform(-3, beyond)
        step_size = largest_step(state, start)
        if short:
            step_size = 0.9 * short_step(state, start, items.shape[1])
        if len(items) < d ** items.shape[1]:
            continue
        with np.errstate(over="ignore", invalid="ignore"):  # walks that diverge are left out
            walks = Walks(state, items, step_size * share)
            found = [walks.limits(quantile) for quantile in (1.0, 0.9, 0.7)]
        for limits in found:
            if limits.c < model.OVERFLOW and walks.kept(limits, 0).min() > 0.0:
                yield walks, limits


# Lemma C.8: a step.


def first(state, step_size=STEP):
    """Return walks of one step, over all items, and the least limits."""
    walks = Walks(state, sequences(state.truth.d, 1), step_size)
    return walks, walks.limits()


def first_in_fractions(factor, p_power, weight, name) -> Cases:
    """Enumerate the first step with 16 directions of side information, all clients regular.

    Squares of both sides are compared. All matrices are multiples of U*; the weight is that of the
    server's gradient in a_{t,s}: 1 as in Lemma C.10, d as printed.
    """
    d, k, eta, e = 16, 16, Fraction(1, 1000), Fraction(1, 100)
    c, mu = Fraction(102, 100), Fraction(12, 10)
    U, star, end = (1 + e) / 4, Fraction(1, 4), Fraction(0)  # every row; V'z = 1 for all z
    for item in range(d):
        v = 1 - eta * (U - star) * U * k  # V'z after a step
        rows = [U - eta * (U - star) * (row == item) for row in range(d)]
        # The gradient along U*.
        end += sum(((u * v - star) * v for u in rows), Fraction(0)) / 4 / d
    right = (Fraction(factor) * eta / d) ** 2 * c**6 * mu**3 * e**2 / 2
    right *= Fraction(4) ** model.whole(2 * p_power)  # the root of k
    at = {"d": d, "M": 112, "k": k, "r": 1, "c": str(c), "mu": str(mu), "eta": str(eta)}
    growth = max(abs(end - weight * e) - abs(e - weight * e), Fraction(0))
    return Cases([(growth**2, right, at)], quantity="square of the growth, k = 16", name=name)


class Step(NamedTuple):
    """A state, and how much shorter than the largest a step is, in powers of ten."""

    shorter: float
    state: State | None


def first_searched(budget, rng, factor, p_power) -> Search:
    """Search all states of small shapes for the first step."""

    def sides(step: Step):
        if step.state is None:
            return None
        state, start = step.state, model.start_of(step.state).limits()
        step_size = largest_step(state, start) * 10.0 ** -abs(step.shorter)
        walks, limits = first(state, step_size)
        right = factor * unit_of(state, limits, step_size, p_power)
        usable = limits.c < model.OVERFLOW and np.isfinite(right) and right > 0.0
        # Gradients are differences: where the step moves them less, only rounding is left.
        if not usable or right < 1e-9 * max(norm(part) for part in state.gradients):
            return None
        return float(drift(walks, limits, 1).max() / right), 1.0

    def read_step(reader, shape):
        return Step(reader.number(), model.read_state(reader, shape))

    return search_instances(
        sides, model.STATES[: budget(2, 3)], read_step, budget, rng, name="search"
    )


def step_by_step(budget, rng, factor, p_power):
    """Yield a_{s+1} - a_s over its bound: where side information grows, and along random walks."""
    families = product((model.alike, model.aligned), (1, 2, 4, 8, 16)[: budget(4, 5)])
    walked = [first(family(p, 8)) for family, p in families]
    for walks, limits in [*walked, *random_walks(budget, rng, 5)]:
        right = factor * unit_of(walks.state, limits, walks.step_size, p_power)
        sizes = np.array([drift(walks, limits, s) for s in range(walks.steps + 1)])
        for s, value in enumerate(np.diff(sizes, axis=0).max(axis=1).tolist()):
            yield value / right, 1.0, case_of(walks.state, limits, walks.step_size, s=s)


def along_k(budget, p_power):
    """Return the power of k in the drift of a step, most side information being along the truth."""
    sizes, needed = (1, 2, 4, 8, 16)[: budget(4, 5)], []
    for p in sizes:
        walks, limits = first(state := model.aligned(p, 8))
        needed.append(drift(walks, limits, 1).max() / unit_of(state, limits, STEP, 0.0))
    return model.power_of("drift", "k", sizes, needed, p_power, at_most=True)


@statement(
    "perfedsi.lemmaC8",
    place="Lemma C.8, (39)-(43) and (52)",
    hypotheses=model.SHORT_STEPS,
    latex=r"a_{t,s+1} \le a_{t,s} + 6\frac{\eta}{d} c^3\mu^{3/2}\sigma_1^{3/2}"
    r"\sqrt{\mathcal L(U_t, V_t)}\,1_{\mathcal G_{t,s}}, \quad \text{the same for } b_{t,s}",
    plain="A local step makes the gradients drift by at most of the order of (eta/d) sqrt(L), "
    "whatever k is.",
    negative_control={"p_power": 1.0},
    stronger={"factor": -1, "p_power": -1},
    expected="misprint",
)
def lemma_c8(budget, rng, *, factor=6.0, p_power=1.5, forms=True):
    """Enumerate the drift step by step; p_power is the power of k, 3/2 at the proof's end.

    As printed there is no k, and d stands before both terms of a_{t,s}; Lemma C.10 has it
    before one.
    """
    name = "families and random states, up to five steps"
    all_steps = [
        Cases(step_by_step(budget, rng, factor, p_power), quantity="lhs/rhs", name=name),
        first_searched(budget, rng, factor, p_power),
        along_k(budget, p_power),
        first_in_fractions(factor, p_power, 1, "one step, in fractions"),
    ]
    if not forms:
        yield from all_steps
        return
    own, with_k = "with C.10's factor d", "with C.10's factor d and k^(3/2)"
    yield Readings(
        [
            first_in_fractions(factor, 0.0, 16, "as printed"),
            first_in_fractions(factor, 0.0, 1, own),
            Together(all_steps, name=with_k),
        ],
        name="increments",
        phrase="a_{t,s}; 6 eta/d",
        printed_elsewhere={own: "Lemma C.10", with_k: "Lemma C.10; (52), (53)"},
    )


lemma_c8.corrected(
    "perfedsi.lemmaC8.corrected",
    latex=r"\eta \le \frac{\sigma_r}{\sqrt{kr}\mu^{3/2}\sigma_1^2} \Rightarrow"
    r" a_{t,s+1} \le a_{t,s} + 6\frac{\eta k^{3/2}}{d} c^3\mu^{3/2}\sigma_1^{3/2}"
    r"\sqrt{\mathcal L(U_t, V_t)}\,1_{\mathcal G_{t,s}}, \quad \text{the same for } b_{t,s}",
    plain="A local step makes the gradients drift by at most of the order of k^(3/2) (eta/d) "
    "sqrt(L).",
    constants={"forms": False},
    negative_control={"p_power": 1.0},
    stronger={"factor": -1, "p_power": -1},
)


def uniformity(future):
    """Yield deviations of E[ee' 1_G] from (1/d) E[1_G] I, e of step s and G of s, or s + 1."""
    for d in (2, 4, 6):
        state, limits = model.edge(d)
        items = sequences(d, 2)
        walks = Walks(state, items, STEP)
        for s in (0, 1):
            kept = walks.kept(limits, s + future).mean(axis=0)
            found = np.bincount(items[:, s], kept, minlength=d) / len(items)
            deviation = np.abs(d * found - kept.mean()).max() / kept.mean()
            yield float(deviation), {"d": d, "s": s}


@statement(
    "perfedsi.lemmaC8.indicators",
    place="Lemma C.8, from (43) on; (54); (28)",
    hypotheses=model.WITHIN,
    latex=r"\|E[X 1_{\mathcal G_{t,s+1}}]\|_F \le \|E[X 1_{\mathcal G_{t,s}}]\|_F"
    r" \ (1_{\mathcal G_{t,s+1}} \le 1_{\mathcal G_{t,s}}); \quad"
    r" E[e e^\top 1_{\mathcal G}] = \tfrac1d E[1_{\mathcal G}] I",
    plain="Restricting to a smaller event decreases the norm of a mean, and leaves items uniform.",
    negative_control={"norms": True, "larger": True},
    holds_with={"norms": True},
)
def indicators(budget, rng, *, norms=False, larger=False):
    """Enumerate a step in fractions, or E||X|| in place of ||E X|| at the edge of the event."""
    if not norms:
        at = {"d": 16, "M": 20, "k": 1, "r": 1, "c": 1, "mu": "11/10", "eta": "1e-9"}
        quantity = "|E X| on the smaller event, X of V"
        name = "one step, M = 20, in fractions"
        yield Cases([(*sides_of_means(), at)], quantity=quantity, name=name)
    cases = []
    for d, c in product((2, 4, 8, 16), (1.0, 1.5, 2.0)) if norms else ():
        state, limits = model.edge(d, c=c)
        walks = Walks(state, sequences(d, 1), STEP)
        sizes = norm(walks.gradients(1)[0] - state.gradients[0], axis=(2, 3))
        # On the start's event, and on the first step's.
        wide, narrow = (walks.mean(sizes, walks.kept(limits, last)) for last in (0, 1))
        left, right = (wide, narrow) if larger else (narrow, wide)
        cases.append((float(left), float(right), case_of(state, limits, STEP)))
    if norms:
        yield Cases(cases, quantity="E|X| on the smaller event", name="E|X|")
    parts = [
        Identity(uniformity(future), 1e-12, name=f"G of {event}")
        for future, event in ((0, "the steps before e"), (1, "e's step as well"))
    ]
    yield Readings(parts, name="items are uniform on G", phrase="G_{t,s}")


# Lemma C.9: the steps of a round.


def starts(budget, rng) -> Readings:
    """Return the deviations of a_0 and b_0 from 0 relative to the gradients, for both readings."""
    found: dict[str, list] = {
        "factor d before the first term": [],
        "factor d before both terms": [],
    }
    for walks, limits in random_walks(budget, rng, 1):
        size = max(norm(part) for part in walks.state.gradients)
        # Rounding of U V' - M*, which the gradients do not see.
        size *= max(1.0, 1e4 * np.finfo(float).eps / np.sqrt(walks.state.loss))
        for weight, cases in zip((1.0, walks.state.truth.d), found.values(), strict=True):
            error = drift(walks, limits, 0, weight).max() / size
            cases.append((float(error), model.plain(walks.state)))
    parts, elsewhere = identities(found, 1e-10), {"factor d before the first term": "Lemma C.10"}
    return Readings(parts, name="a_0 = b_0 = 0", phrase="a_{t,s}", printed_elsewhere=elsewhere)


@statement(
    "perfedsi.lemmaC9",
    place="Lemma C.9, (53)",
    hypotheses=model.WITHIN,
    latex=r"\max(a_{t,s}, b_{t,s}) \le 6\frac{\eta k^{3/2}\tau}{d} c^3\mu^{3/2}\sigma_1^{3/2}"
    r"\sqrt{\mathcal L(U_t, V_t)}\,1_{\mathcal G_{t,0}},\ s \le \tau; \quad a_{t,0} = b_{t,0} = 0",
    plain="In the steps of a round, local gradients drift by at most tau times the drift of one "
    "step.",
    negative_control={"d_power": 2.0},
    stronger={"factor": -1, "d_power": 1},
    expected="misprint",
)
def lemma_c9(budget, rng, *, factor=6.0, d_power=1.0):
    """Follow the drift from s = 0 to tau; d_power is the power of 1/d."""

    def case(walks, limits, s, steps):
        state, step_size = walks.state, walks.step_size
        right = steps * factor * unit_of(state, limits, step_size) / state.truth.d ** (d_power - 1)
        at = case_of(state, limits, step_size, s=s, tau=steps)
        return float(drift(walks, limits, s).max()) / right, 1.0, at

    cases = [
        case(walks, limits, s, walks.steps)
        for walks, limits in random_walks(budget, rng, 5, beyond=2.0)
        for s in range(walks.steps + 1)
    ]
    for (p, d), family in product(((1, 8), (4, 8), (4, 64), (8, 16)), (model.alike, model.aligned)):
        walks = Walks(family(p, d), balanced(d, 5, budget(1, 8), rng=rng), STEP)
        cases += [case(walks, walks.limits(), s, s) for s in range(1, 6)]
    name = "families, and random states at up to 100 times the proof's eta"
    yield Cases(cases, quantity="lhs/rhs", name=name)
    yield starts(budget, rng)
    along_d = []
    for d in (8, 16, 32, 64):
        walks = Walks(model.alike(4, d), balanced(d, 5, budget(1, 8), rng=rng), STEP)
        along_d.append(drift(walks, walks.limits(), 5).max())
    yield model.power_of("drift", "d", (8, 16, 32, 64), along_d, -d_power)


# Lemma C.10: their sum.


@lines("perfedsi.lemmaC10.corrected", Region(root=Root(2)), steps=["the sum over steps"])
def the_sum(root, *, factor=10):
    """By Lemma C.9 for all steps; s steps drift s/tau times as far, which sums up to half."""
    return {"the sum over steps": at_most(6 * root / 2, factor)}


@statement(
    "perfedsi.lemmaC10",
    place="Lemma C.10, (54)-(55)",
    hypotheses=model.WITHIN,
    latex=r"\Big\|E_t\Big[\frac dM\sum_{s=0}^{\tau-1}\sum_m \nabla\hat{\mathcal L}_m(U_{t,m,s},"
    r" V_{t,m,s}, e_{t,m,s})1_{\mathcal G_{t,\tau}} - \tau\nabla\mathcal L 1_{\mathcal G_{t,\tau}}"
    r"\Big]\Big\|_F \le 10\frac{\eta k^{3/2}\tau^2}{d} c^3\mu^{3/2}\sigma_1^{3/2}\sqrt{\mathcal L}"
    r"1_{\mathcal G_{t,0}}",
    plain="Over a round that stays regular the gradients drift by at most of the order of eta "
    "tau^2.",
    negative_control={"tau_power": 1.0},
)
def lemma_c10(budget, rng, *, tau_power=2.0, factor=10.0, printed=True):
    """Enumerate the sum in fractions where every other item leads out of the event.

    As corrected it is enumerated where steps are as short as the derivation has them.
    """
    at = {"d": 16, "M": 20, "k": 1, "r": 1, "c": 1, "mu": "11/10", "eta": "1e-9"}
    in_fractions = Cases(
        [(*sides_of_C10(printed), at)], quantity="norm of the sum",
        name="tau = 1, M = 20, in fractions", measured_is=LOWER, predicted_is=UPPER,
        strength="" if printed else PROVED,
    )  # fmt: skip
    if printed:
        yield in_fractions
        return

    def summed(walks, limits):
        unit = unit_of(walks.state, limits, walks.step_size)
        size, chance = walks.summed(limits, future=False)
        at = case_of(walks.state, limits, walks.step_size, tau=walks.steps)
        return size / (factor * walks.steps**tau_power * unit), 1.0, {**at, "P(G)": chance}

    edges = []  # the smallest steps from a state at V's limit
    for d, c, step_size in product((2, 8), (1.0, 2.0), (1e-1, 1e-2, 1e-3, 1e-4, 1e-5)):
        state, limits = model.edge(d, c=c)
        edges.append((Walks(state, sequences(d, 1), step_size), limits))
    cases = [
        summed(walks, limits)
        for walks, limits in [*edges, *random_walks(budget, rng, 5, short=True)]
        if walks.step_size <= short_step(walks.state, limits, walks.steps)
    ]
    name = "V at its limit, and random states"
    yield Cases(cases, quantity="lhs/rhs", name=name, strength=PROVED)
    values, steps = [], (10, 20, 40, 80)  # from where tau (tau - 1) is nearly a square
    for tau in steps:
        walks = Walks(model.alike(4, 8), balanced(8, tau, budget(4, 32), rng=rng), 1e-5)
        values.append(walks.summed(walks.limits(), future=False)[0])
    growth = model.power_of("sum", "tau", steps, values, tau_power, at_most=True)
    yield replace(growth, strength=PROVED)
    yield in_fractions  # where the event is that of the start, nothing is left


lemma_c10.corrected(
    "perfedsi.lemmaC10.corrected",
    latex=r"\eta \le \frac1{132\tau kr\mu^2c^2\sigma_1} \Rightarrow"
    r" \Big\|\sum_{s=0}^{\tau-1}E_t\Big[\Big(\frac dM\sum_m \nabla\hat{\mathcal L}_m("
    r"U_{t,m,s}, V_{t,m,s}, e_{t,m,s}) - \nabla\mathcal L\Big)1_{\mathcal G_{t,s}}\Big]\Big\|_F"
    r" \le 10\frac{\eta k^{3/2}\tau^2}{d} c^3\mu^{3/2}\sigma_1^{3/2}\sqrt{\mathcal L}"
    r"1_{\mathcal G_{t,0}}",
    plain="For short steps, each under the event of the steps before it, a round's gradients "
    "drift by at most of the order of eta tau^2.",
    constants={"printed": False},
    negative_control={"tau_power": 1.0},
    stronger={"tau_power": -1, "factor": -1},
)
