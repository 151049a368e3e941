"""Lemma C.8: how far a local step lets gradients drift from the server's."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import NamedTuple

import numpy as np

from linrep.claims import Cases, Identity, Readings, Search, Together, statement
from linrep.claims.instances import search_instances
from linrep.papers.perfedsi import _enumeration
from linrep.papers.perfedsi._drift import case_of, largest_step, random_walks, sizes_of, unit_of
from linrep.papers.perfedsi._hypotheses import SHORT_STEPS, WITHIN
from linrep.papers.perfedsi._states import SHAPES, aligned, alike, edge, read
from linrep.papers.perfedsi.counterexamples.lemmac8_indicators import sides
from linrep.theory.perfedsi_rounds import State, Walks, sequences

_STEP = 1e-3
_SIDES = (1, 2, 4, 8, 16)
_DIMENSIONS = (8, 16, 32, 64)
_STEPS = (1e-3, 3e-3, 1e-2)


def _first(state, step_size=_STEP):
    """Return walks of one step, over all items, and the least limits."""
    walks = Walks(state, sequences(state.truth.d, 1), step_size)
    return walks, walks.limits()


def _first_size(state, step_size) -> float:
    """Return the larger of a_1 and b_1."""
    walks, limits = _first(state, step_size)
    return float(sizes_of(walks, limits, 1).max())


def _first_steps(budget, factor, p_power, weights) -> Cases:
    """Compare the first step with the bound as side information grows.

    Weights are those of the server's gradient in a_{t,s}: 1 as in Lemma C.10, d as printed.
    """
    cases = []
    for family, p in product((alike, aligned), _SIDES[: budget(4, 5)]):
        state = family(p, 8)
        walks, limits = _first(state)
        unit, at = unit_of(state, limits, _STEP, 0.0), case_of(state, limits, _STEP)
        grown = sizes_of(walks, limits, 1, weights) - sizes_of(walks, limits, 0, weights)
        cases.append((grown.max() / unit / (factor * p**p_power), 1.0, at))
    name = "first step, k from 1 on"
    return Cases(cases, quantity="lhs/rhs", name=name)


def _along_p(budget, p_power):
    """Yield what the first step needs as side information grows."""
    sides_of_z = _SIDES[: budget(4, 5)]
    for name, family in (("all alike", alike), ("along the truth", aligned)):
        needed = []
        for p in sides_of_z:
            walks, limits = _first(state := family(p, 8))
            unit = unit_of(state, limits, _STEP, 0.0)
            needed.append(sizes_of(walks, limits, 1).max() / unit)
        name = f"drift (clients {name})"
        yield _enumeration.power_of(name, "k", sides_of_z, needed, p_power, at_most=True)


class _Step(NamedTuple):
    """A state, and how much shorter than the largest a step is, in powers of ten."""

    shorter: float
    state: State | None


def _searched(budget, rng, factor, p_power) -> Search:
    """Search all states of small shapes for the first step."""

    def sides(step: _Step):
        if step.state is None:
            return None
        state, start = step.state, _enumeration.start_of(step.state).limits()
        step_size = largest_step(state, start) * 10.0 ** -abs(step.shorter)
        walks, limits = _first(state, step_size)
        right = factor * unit_of(state, limits, step_size, p_power)
        usable = limits.c < _enumeration.OVERFLOW and np.isfinite(right) and right > 0.0
        # Gradients are differences: where the step moves them less, only rounding is left.
        gradients = [np.linalg.norm(part) for part in state.gradients]
        if not usable or right < 1e-9 * max(gradients):
            return None
        return float(sizes_of(walks, limits, 1).max() / right), 1.0

    def read_step(reader, shape):
        return _Step(reader.number(), read(reader, shape))

    return search_instances(sides, SHAPES[: budget(2, 3)], read_step, budget, rng, name="search")


def _step_by_step(budget, rng, factor, p_power):
    """Return a_{s+1} - a_s over its bound along random walks."""
    found: list = []
    for walks, limits, exact in random_walks(budget, rng, 5):
        right = factor * unit_of(walks.state, limits, walks.step_size, p_power)
        sizes = np.array([sizes_of(walks, limits, s) for s in range(walks.steps + 1)])
        found += [
            (value / right, 1.0, case_of(walks.state, limits, walks.step_size, s=s), exact)
            for s, value in enumerate(np.diff(sizes, axis=0).max(axis=1).tolist())
        ]
    return found


def _in_fractions(factor, p_power, weight) -> Cases:
    """Enumerate the first step with 16 directions of side information, all clients regular.

    Squares of both sides are compared. All matrices are multiples of U*; the weight is that of the
    server's gradient, 1 or d.
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
    right *= Fraction(4) ** _enumeration.whole(2 * p_power)  # the root of k
    at = {"d": d, "M": 112, "k": k, "r": 1, "c": str(c), "mu": str(mu), "eta": str(eta)}
    growth = abs(end - weight * e) - abs(e - weight * e)
    left = max(growth, Fraction(0)) ** 2
    name = "first step, k = 16, in fractions"
    return Cases([(left, right, at)], quantity="square of the growth", name=name)


def _all_steps(budget, rng, factor, p_power):
    """Yield the bound's parts, a_{t,s} with Lemma C.10's factor."""
    yield _first_steps(budget, factor, p_power, 1.0)
    yield from _along_p(budget, p_power)
    yield _in_fractions(factor, p_power, 1)
    yield _searched(budget, rng, factor, p_power)
    found = _step_by_step(budget, rng, factor, p_power)
    yield _enumeration.exact_cases(found, name="random states, up to five steps")
    along_d = [_first_size(alike(4, d), _STEP) for d in _DIMENSIONS]
    yield _enumeration.power_of("drift", "d", _DIMENSIONS, along_d, -1.0)
    along_eta = [_first_size(alike(4, 8), step) for step in _STEPS]
    yield _enumeration.power_of("drift", "eta", _STEPS, along_eta, 1.0)


@statement(
    "perfedsi.lemmaC8",
    place="Lemma C.8, (39)-(43) and (52)",
    hypotheses=SHORT_STEPS,
    latex=r"a_{t,s+1} \le a_{t,s} + 6\frac{\eta}{d} c^3\mu^{3/2}\sigma_1^{3/2}"
    r"\sqrt{\mathcal L(U_t, V_t)}\,1_{\mathcal G_{t,s}}, \quad \text{the same for } b_{t,s}",
    plain="A local step makes the gradients drift by at most of the order of (eta/d) sqrt(L), "
    "whatever k is.",
    negative_control={"p_power": 1.0},
    stronger={"factor": -1, "p_power": -1},
    expected="misprint",
)
def lemma_c8(budget, rng, *, factor=6.0, p_power=1.5, printed=True):
    """Enumerate the drift step by step; p_power is the power of k, 3/2 at the proof's end.

    As printed there is no k, and d stands before both terms of a_{t,s}; Lemma C.10 has it
    before one.
    """
    whole = list(_all_steps(budget, rng, factor, p_power))
    if not printed:
        yield from whole
        return
    forms = [
        Together(
            [_first_steps(budget, factor, 0.0, weight), _in_fractions(factor, 0.0, of_start)],
            name=name,
        )
        for name, weight, of_start in (
            ("as printed", 8.0, 16),  # d items
            ("with C.10's factor d", 1.0, 1),
        )
    ]
    with_k = "with C.10's factor d and k^(3/2)"
    yield Readings(
        [*forms, Together(whole, name=with_k)],
        name="increments",
        phrase="a_{t,s}; 6 eta/d",
        printed_elsewhere={"with C.10's factor d": "Lemma C.10", with_k: "Lemma C.10; (52), (53)"},
    )


lemma_c8.corrected(
    "perfedsi.lemmaC8.corrected",
    latex=r"\eta \le \frac{\sigma_r}{\sqrt{kr}\mu^{3/2}\sigma_1^2} \Rightarrow"
    r" a_{t,s+1} \le a_{t,s} + 6\frac{\eta k^{3/2}}{d} c^3\mu^{3/2}\sigma_1^{3/2}"
    r"\sqrt{\mathcal L(U_t, V_t)}\,1_{\mathcal G_{t,s}}, \quad \text{the same for } b_{t,s}",
    plain="A local step makes the gradients drift by at most of the order of k^(3/2) (eta/d) "
    "sqrt(L).",
    constants={"printed": False},
    negative_control={"p_power": 1.0},
    stronger={"factor": -1, "p_power": -1},
)


def _means(walks, limits, s):
    """Return |E X 1_{G_s}|, |E X 1_{G_{s+1}}| and E|X| under both, X the change of the gradient."""
    X = walks.gradients(s + 1)[0] - walks.state.gradients[0]
    found = []
    for last in (s, s + 1):
        kept = walks.kept(limits, last)
        found.append(np.linalg.norm(walks.mean(X, kept)))
        found.append(walks.mean(np.linalg.norm(X, axis=(2, 3)), kept))
    return found[0], found[2], found[1], found[3]


def _products(future):
    """Yield deviations of E[ee' 1_G] from (1/d) E[1_G] I, e of step s and G of s, or s + 1."""
    for d in (2, 4, 6):
        state, limits = edge(d)
        items = sequences(d, 2)
        walks = Walks(state, items, _STEP)
        for s in (0, 1):
            kept = walks.kept(limits, s + future).mean(axis=0)
            found = np.bincount(items[:, s], kept, minlength=d) / len(items)
            deviation = np.abs(d * found - kept.mean()).max() / kept.mean()
            yield float(deviation), {"d": d, "s": s}


@statement(
    "perfedsi.lemmaC8.indicators",
    place="Lemma C.8, from (43) on; (54); (28)",
    hypotheses=WITHIN,
    latex=r"\|E[X 1_{\mathcal G_{t,s+1}}]\|_F \le \|E[X 1_{\mathcal G_{t,s}}]\|_F"
    r" \ (1_{\mathcal G_{t,s+1}} \le 1_{\mathcal G_{t,s}}); \quad"
    r" E[e e^\top 1_{\mathcal G}] = \tfrac1d E[1_{\mathcal G}] I",
    plain="Restricting to a smaller event decreases the norm of a mean, and leaves items uniform.",
    negative_control={"norms": True, "larger": True},
    holds_with={"norms": True},
)
def indicators(budget, rng, *, norms=False, larger=False):
    """Enumerate states at the edge of the event; norms: of E‖X‖ in place of ‖E X‖."""
    cases = []
    for d in (2, 4, 8, 16):
        for c in (1.0, 1.5, 2.0):
            state, limits = edge(d, c=c)
            walks = Walks(state, sequences(d, 1), _STEP)
            before, after, mean_before, mean_after = _means(walks, limits, 0)
            left, right = (mean_after, mean_before) if norms else (after, before)
            if larger:
                left, right = right, left
            at = case_of(state, limits, _STEP)
            cases.append((float(left), float(right), at))
    name = "E|X|" if norms else "|E X|"
    yield Cases(cases, quantity=f"{name} on the smaller event", name=name)
    if not norms:
        at = {"d": 16, "M": 20, "k": 1, "r": 1, "c": 1, "mu": "11/10", "eta": "1e-9"}
        yield Cases(
            [(*sides(), at)],
            quantity="|E X| on the smaller event, X of V",
            name="one step, M = 20, in fractions",
        )
    yield Readings(
        [
            Identity(list(_products(future)), 1e-12, name=f"G of {event}")
            for future, event in ((0, "the steps before e"), (1, "e's step as well"))
        ],
        name="items are uniform on G",
        phrase="G_{t,s}",
    )
