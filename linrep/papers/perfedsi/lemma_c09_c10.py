"""Lemmas C.9 and C.10: how far local gradients drift over a whole round."""

from __future__ import annotations

import numpy as np

from linrep.claims import Cases, Exponent, Readings, statement
from linrep.claims.deviations import identities
from linrep.claims.evidence import PROVED
from linrep.claims.quantities import LOWER, UPPER
from linrep.papers.perfedsi._drift import case_of, random_walks, short_step, sizes_of, unit_of
from linrep.papers.perfedsi._enumeration import exact_cases, largest_inexact, power_of
from linrep.papers.perfedsi._hypotheses import WITHIN
from linrep.papers.perfedsi._states import aligned, alike, edge, plain
from linrep.papers.perfedsi.counterexamples.lemmac10 import sides
from linrep.theory.perfedsi_rounds import Walks, balanced, sequences

_STEP = 1e-3
_DIMENSIONS = (8, 16, 32, 64)


_C9_LATEX = (
    r"\max(a_{t,s}, b_{t,s}) \le 6\frac{\eta k^{3/2}\tau}{d} c^3\mu^{3/2}\sigma_1^{3/2}"
    r"\sqrt{\mathcal L(U_t, V_t)}\,1_{\mathcal G_{t,0}},\ s \le \tau; \quad a_{t,0} = b_{t,0} = 0"
)


def _starts(budget, rng) -> Readings:
    """Return the deviations of a_0 and b_0 from 0 relative to the gradients, for both readings."""
    found: dict[str, list] = {
        "factor d before the first term": [],
        "factor d before both terms": [],
    }
    for walks, limits, _ in random_walks(budget, rng, 1):
        size = max(np.linalg.norm(part) for part in walks.state.gradients)
        # Rounding of U V' - M*, which the gradients do not see.
        size *= max(1.0, 1e4 * np.finfo(float).eps / np.sqrt(walks.state.loss))
        for weight, cases in zip((1.0, walks.state.truth.d), found.values(), strict=True):
            error = sizes_of(walks, limits, 0, weight).max() / size
            cases.append((float(error), plain(walks.state)))
    return Readings(
        identities(found, 1e-10),
        name="a_0 = b_0 = 0",
        phrase="a_{t,s}",
        printed_elsewhere={"factor d before the first term": "Lemma C.10"},
    )


@statement(
    "perfedsi.lemmaC9",
    place="Lemma C.9, (53)",
    hypotheses=WITHIN,
    latex=_C9_LATEX,
    plain="In the steps of a round, local gradients drift by at most tau times the drift of one "
    "step.",
    negative_control={"d_power": 2.0},
    stronger={"factor": -1, "d_power": 1},
    expected="misprint",
)
def lemma_c9(budget, rng, *, factor=6.0, d_power=1.0):
    """Follow the drift from s = 0 to tau; d_power is the power of 1/d."""
    cases = []
    for walks, limits, exact in random_walks(budget, rng, 5, beyond=2.0):
        right = factor * unit_of(walks.state, limits, walks.step_size)
        right *= walks.steps / walks.state.truth.d ** (d_power - 1.0)
        for s in range(walks.steps + 1):
            value = float(sizes_of(walks, limits, s).max())
            at = case_of(walks.state, limits, walks.step_size, s=s, tau=walks.steps)
            cases.append((value / right, 1.0, at, exact))
    yield exact_cases(cases, name="random states, eta up to 100 times the proof's limit")
    limit = []
    for p, d in ((1, 8), (4, 8), (4, 64), (8, 16)):
        for family in (alike, aligned):
            state = family(p, d)
            walks = Walks(state, balanced(d, 5, budget(1, 8), rng=rng), _STEP)
            limits = walks.limits()
            for s in range(1, 6):
                right = s * factor * unit_of(state, limits, _STEP) / d ** (d_power - 1.0)
                value = float(sizes_of(walks, limits, s).max())
                limit.append((value / right, 1.0, case_of(state, limits, _STEP, s=s, tau=s)))
    yield Cases(limit, quantity="lhs/rhs", name="clients alike or along the truth")
    state, steps = alike(4, 8), (1, 2, 3, 4, 5)
    walks = Walks(state, balanced(8, 5, budget(4, 64), rng=rng), _STEP)
    along_s = [sizes_of(walks, walks.limits(), s).max() for s in steps]
    along_d = []
    for d in _DIMENSIONS:
        walks = Walks(alike(4, d), balanced(d, 5, budget(1, 8), rng=rng), _STEP)
        along_d.append(sizes_of(walks, walks.limits(), 5).max())
    yield _starts(budget, rng)
    yield power_of("drift", "s", steps, along_s, 1.0, at_most=True)
    yield power_of("drift", "d", _DIMENSIONS, along_d, -d_power)
    yield _along_p(budget, rng, alike, "all alike")
    yield _along_p(budget, rng, aligned, "along the truth")
    yield largest_inexact(cases)


def _along_p(budget, rng, family, name) -> Exponent:
    """Follow the drift after 5 steps, over its bound without k, along k: at most like k^1.5."""
    sides, needed = (1, 2, 4, 8, 16)[: budget(4, 5)], []
    for p in sides:
        state = family(p, 8)
        walks = Walks(state, balanced(8, 5, 1, rng=rng), _STEP)
        limits = walks.limits()
        needed.append(sizes_of(walks, limits, 5).max() / unit_of(state, limits, _STEP, 0.0))
    return power_of(f"drift (clients {name})", "k", sides, needed, 1.5, at_most=True)


def _sum_cases(walks, limits, tau_power, future, factor=10.0):
    """Return lhs over rhs, and the setting."""
    unit = unit_of(walks.state, limits, walks.step_size)
    size, chance = walks.summed(limits, future=future)
    at = case_of(walks.state, limits, walks.step_size, tau=walks.steps)
    return size / (factor * walks.steps**tau_power * unit), 1.0, {**at, "P(G)": chance}


def _at_the_edge(tau_power, future, factor) -> Cases:
    """Follow the smallest steps from a state at V's limit."""
    cases = []
    for d in (2, 8):
        for c in (1.0, 2.0):
            state, limits = edge(d, c=c)
            for step_size in (1e-1, 1e-2, 1e-3, 1e-4, 1e-5):
                walks = Walks(state, sequences(d, 1), step_size)
                if future or step_size <= short_step(state, limits, 1):
                    cases.append(_sum_cases(walks, limits, tau_power, future, factor))
    strength = "" if future else PROVED
    return Cases(cases, quantity="lhs/rhs", name="tau = 1, V at its limit", strength=strength)


def _in_fractions(future) -> Cases:
    """Compare both sides, rounded outwards, for one step of M = 20 clients.

    Every other item leads out of the event. Without `future` the event is that of the start, which
    is sure, and the mean is the gradient.
    """
    at = {"d": 16, "M": 20, "k": 1, "r": 1, "c": 1, "mu": "11/10", "eta": "1e-9"}
    return Cases(
        [(*sides(future), at)],
        quantity="norm of the sum",
        name="tau = 1, M = 20, in fractions",
        strength="" if future else PROVED,
        measured_is=LOWER,
        predicted_is=UPPER,
    )


def _many_steps(budget, rng, tau_power):
    """Follow the sum for up to 80 steps, at means over balanced sequences of items."""
    values, long = {}, []
    for tau in (1, 2, 5, 10, 20, 40, 80):
        walks = Walks(alike(4, 8), balanced(8, tau, budget(4, 32), rng=rng), 1e-5)
        values[tau] = walks.summed(walks.limits(), future=False)[0]
        long.append(_sum_cases(walks, walks.limits(), tau_power, False))
    yield Cases(long, quantity="lhs/rhs", name="tau up to 80")
    steps = (10, 20, 40, 80)  # from where tau (tau - 1) is nearly a square
    yield power_of("sum", "tau", steps, [values[tau] for tau in steps], tau_power, at_most=True)


@statement(
    "perfedsi.lemmaC10",
    place="Lemma C.10, (54)-(55)",
    hypotheses=WITHIN,
    latex=r"\Big\|E_t\Big[\frac dM\sum_{s=0}^{\tau-1}\sum_m \nabla\hat{\mathcal L}_m(U_{t,m,s},"
    r" V_{t,m,s}, e_{t,m,s})1_{\mathcal G_{t,\tau}} - \tau\nabla\mathcal L 1_{\mathcal G_{t,\tau}}"
    r"\Big]\Big\|_F \le 10\frac{\eta k^{3/2}\tau^2}{d} c^3\mu^{3/2}\sigma_1^{3/2}\sqrt{\mathcal L}"
    r"1_{\mathcal G_{t,0}}",
    plain="Over a round that stays regular the gradients drift by at most of the order of eta "
    "tau^2.",
    negative_control={"tau_power": 1.0, "orders": True},
)
def lemma_c10(budget, rng, *, tau_power=2.0, factor=10.0, future=True, orders=True):
    """Enumerate the sum; with `future` its event is that of the whole round, as printed.

    Without, steps are as short as the derivation has them; with orders tau goes up to 80.
    """
    strength = "" if future else PROVED
    yield _at_the_edge(tau_power, future, factor)
    yield _in_fractions(future)
    cases = [
        (*_sum_cases(walks, limits, tau_power, future, factor), exact)
        for walks, limits, exact in random_walks(budget, rng, 5, short=not future)
        if future or walks.step_size <= short_step(walks.state, limits, walks.steps)
    ]
    yield exact_cases(cases, name="random states", strength=strength)
    if orders or tau_power != 2.0:  # the derivation has the square alone
        yield from _many_steps(budget, rng, tau_power)
    # By Lemma C.9 for all steps; s steps drift s/tau times as far, which sums up to half.
    bound = 6.0 * np.sqrt(2.0) / (1.0 if future else 2.0)
    yield Cases([(bound, factor, {})], name="the sum over steps", strength=strength)
    yield largest_inexact(cases)


lemma_c10.corrected(
    "perfedsi.lemmaC10.corrected",
    latex=r"\eta \le \frac1{132\tau kr\mu^2c^2\sigma_1} \Rightarrow"
    r" \Big\|\sum_{s=0}^{\tau-1}E_t\Big[\Big(\frac dM\sum_m \nabla\hat{\mathcal L}_m("
    r"U_{t,m,s}, V_{t,m,s}, e_{t,m,s}) - \nabla\mathcal L\Big)1_{\mathcal G_{t,s}}\Big]\Big\|_F"
    r" \le 10\frac{\eta k^{3/2}\tau^2}{d} c^3\mu^{3/2}\sigma_1^{3/2}\sqrt{\mathcal L}"
    r"1_{\mathcal G_{t,0}}",
    plain="For short steps, each under the event of the steps before it, a round's gradients "
    "drift by at most of the order of eta tau^2.",
    constants={"future": False, "orders": False},
    negative_control={"tau_power": 1.0, "orders": True},
    stronger={"tau_power": -1, "factor": -1},
)
