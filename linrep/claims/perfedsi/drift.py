"""Lemmas C.8 to C.10: how far local gradients drift from the server's within a round."""

from __future__ import annotations

import numpy as np
import pandas as pd

from linrep.claims import Evidence, claim, combine, exponent, identity, inequality, log_slope
from linrep.claims._parts import at_most, readings
from linrep.claims.perfedsi._enumeration import (
    OVERFLOW,
    SHAPES,
    Walks,
    aligned,
    alike,
    balanced,
    drawn,
    edge,
    from_numbers,
    items_for,
    numbers,
    sequences,
)
from linrep.theory import perfedsi as theory

_STEP = 1e-3
_SIDES = (1, 2, 4, 8, 16)
_DIMENSIONS = (8, 16, 32, 64)
_STEPS = (1e-3, 3e-3, 1e-2)


def _unit(state, limits, step_size, p_power=1.5) -> float:
    """Return (eta/d) p^p_power c^3 mu^{3/2} sigma_1^{3/2} sqrt(L)."""
    setting = state.setting(limits)
    bare = theory.drift(
        setting, step_size=step_size, steps=1, loss=state.loss, factor=1.0, with_p=False
    )
    return float(bare) * state.truth.p**p_power


def _sizes(walks, limits, s) -> np.ndarray:
    """Return a_s and b_s."""
    in_U, in_V, _ = walks.drift(limits, s)
    return np.array([np.linalg.norm(in_U), np.linalg.norm(in_V)])


def _told(state, limits, step_size, **further) -> dict:
    return {**state.told(), "step_size": step_size, "c": limits.c,
            "mu": state.setting(limits).mu, **further}  # fmt: skip


def _largest_step(state, limits) -> float:
    """Return that which the proof of Lemma C.8 asks for, in the unit of M*, with constant 1."""
    s = state.setting(limits)
    return s.smallest / (np.sqrt(s.p * s.k) * s.mu**1.5 * s.largest**2)


def _random_walks(budget, rng, most_steps):
    """Yield walks from random states with limits that are kept by all, or by some of them."""
    for _ in range(budget(50, 800, 4000)):
        p = int(rng.integers(1, 5))
        d = int(rng.choice([2, 4, 8]))
        state = drawn(
            rng, n=p + int(rng.integers(0, 3)), d=d, p=p, k=int(rng.integers(1, min(d, p) + 1)),
            error=10.0 ** rng.uniform(-3, 0), tilt=2.0 ** rng.uniform(-2, 2),
            condition=10.0 ** rng.uniform(0, 1),
        )  # fmt: skip
        items = items_for(d, int(rng.integers(1, most_steps + 1)), 300, rng)
        step_size = _largest_step(state, Walks(state, items[:1], 0.0).limits())
        walks = Walks(state, items, step_size * 10.0 ** rng.uniform(-3, 0))
        for quantile in (1.0, 0.9, 0.7):
            limits = walks.limits(quantile)
            if limits.c < OVERFLOW and walks.kept(limits, 0).min() > 0.0:
                yield walks, limits


def _line(name, variable, sizes, values, predicted, *, at_most=True) -> Evidence:
    """Decide the exponent of enumerated values, which have no noise."""
    points = pd.DataFrame(
        {
            "panel": "", "series": "", "x": sizes, "y": values, "xlabel": variable,
            "ylabel": name, "predicted": values[0] * (np.asarray(sizes) / sizes[0]) ** predicted,
        }
    )  # fmt: skip
    slope = log_slope(sizes, [[value] * 2 for value in values])
    return exponent(
        slope, predicted, at_most=at_most, level=0.0, points=points, name=f"{name} in {variable}"
    )


def _first(state, step_size=_STEP):
    """Return walks of one step, over all items, and the least limits."""
    walks = Walks(state, sequences(state.truth.d, 1), step_size)
    return walks, walks.limits()


def _along_p(budget, factor, p_power):
    """Return what the first step needs as side information grows, against the bound."""
    cases, lines, sides = [], [], _SIDES[: budget(4, 5)]
    for name, family in (("all alike", alike), ("along the truth", aligned)):
        needed = []
        for p in sides:
            state = family(p, 8)
            walks, limits = _first(state)
            size = _sizes(walks, limits, 1).max()
            needed.append(size / _unit(state, limits, _STEP, 0.0))
            cases.append((needed[-1] / (factor * p**p_power), 1.0,
                          _told(state, limits, _STEP)))  # fmt: skip
        lines.append(_line(f"drift, clients {name},", "k", sides, needed, p_power))
    return at_most(cases, name="first step, k from 1 on"), *lines


def _searched(budget, rng, factor, p_power) -> Evidence:
    """Search all states of small shapes for the first step."""

    def sides(shape, x):
        state = from_numbers(shape, x[1:])
        if state is None:
            return None
        start = Walks(state, np.zeros((1, 0), dtype=int), 0.0).limits()
        step_size = _largest_step(state, start) * 10.0 ** -abs(x[0])
        walks, limits = _first(state, step_size)
        right = factor * _unit(state, limits, step_size, p_power)
        usable = limits.c < OVERFLOW and np.isfinite(right) and right > 0.0
        # Gradients are differences: where the step moves them less, only rounding is left.
        gradients = [np.linalg.norm(part) for part in state.measured[1:]]
        if not usable or right < 1e-9 * max(gradients):
            return None
        return float(_sizes(walks, limits, 1).max() / right), 1.0

    return inequality(
        sides, SHAPES[: budget(2, 3)], lambda shape: numbers(shape) + 1, budget, rng, name="search"
    )


def _step_by_step(budget, rng, factor, p_power) -> Evidence:
    """Compare a_{s+1} - a_s with the bound along random walks."""
    cases = []
    for walks, limits in _random_walks(budget, rng, 5):
        right = factor * _unit(walks.state, limits, walks.step_size, p_power)
        sizes = np.array([_sizes(walks, limits, s) for s in range(walks.steps + 1)])
        growth = np.diff(sizes, axis=0).max(axis=1)
        cases += [
            (value / right, 1.0, _told(walks.state, limits, walks.step_size, s=s))
            for s, value in enumerate(growth.tolist())
        ]
    return at_most(cases, name="random states, up to five steps")


_C8: dict = {"place": "Lemma C.8, (39)-(52)", "kind": "deterministic inequality"}


def _lemma_c8(budget, rng, factor, p_power) -> Evidence:
    """Check the first step along k, by search, and later ones; and the powers of d and eta."""
    along_d = [_sizes(*_first(alike(4, d)), 1).max() for d in _DIMENSIONS]
    along_eta = [_sizes(*_first(alike(4, 8), step), 1).max() for step in _STEPS]
    parts = [
        *_along_p(budget, factor, p_power),
        _searched(budget, rng, factor, p_power),
        _step_by_step(budget, rng, factor, p_power),
        _line("drift", "d", _DIMENSIONS, along_d, -1.0, at_most=False),
        _line("drift", "eta", _STEPS, along_eta, 1.0, at_most=False),
    ]
    return combine(
        parts,
        f"{combine(parts).sentence}. What the first step needs grows like k^"
        f"{parts[1].measured:.2f} where c_z = mu_z = 1 and like k^{parts[2].measured:.2f} where "
        "most side information is along the truth (c_z about k); (43) has ZZ', of shape M x M, for "
        "Z'Z, and lacks its 1/M",
    )


@claim(
    "perfedsi.lemmaC8",
    latex=r"a_{t,s+1} \le a_{t,s} + 6\frac{\eta}{d} c^3\mu^{3/2}\sigma_1^{3/2}"
    r"\sqrt{\mathcal L(U_t, V_t)}\,1_{\mathcal G_{t,s}}, \quad \text{the same for } b_{t,s}",
    plain="A local step makes gradients drift by little, whatever the side information's size.",
    broken={"p_power": 1.0},
    mended={"p_power": 1.5},
    **_C8,
)
def lemma_c8(budget, rng, *, factor=6.0, p_power=0.0) -> Evidence:
    """Enumerate the drift step by step; p_power is the power of k, 3/2 at the proof's end."""
    return _lemma_c8(budget, rng, factor, p_power)


@claim(
    "perfedsi.lemmaC8.corrected",
    latex=r"a_{t,s+1} \le a_{t,s} + 6\frac{\eta k^{3/2}}{d} c^3\mu^{3/2}\sigma_1^{3/2}"
    r"\sqrt{\mathcal L(U_t, V_t)}\,1_{\mathcal G_{t,s}}, \quad \text{the same for } b_{t,s}",
    plain="A local step makes gradients drift by little, like k^(3/2).",
    broken={"p_power": 1.0},
    corrects="perfedsi.lemmaC8",
    **_C8,
)
def lemma_c8_corrected(budget, rng, *, factor=6.0, p_power=1.5) -> Evidence:
    """Check the version at which the proof ends in the same way."""
    return _lemma_c8(budget, rng, factor, p_power)


def _means(walks, limits, s):
    """Return |E X 1_{G_s}|, |E X 1_{G_{s+1}}| and E|X| under both, X the change of the gradient."""
    X = walks.gradients(s + 1)[0] - walks.state.measured[1]
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


@claim(
    "perfedsi.lemmaC8.indicators",
    place="Lemma C.8, from (43) on; (54)",
    kind="deterministic inequality",
    latex=r"\|E[X 1_{\mathcal G_{t,s+1}}]\|_F \le \|E[X 1_{\mathcal G_{t,s}}]\|_F"
    r" \ (1_{\mathcal G_{t,s+1}} \le 1_{\mathcal G_{t,s}}); \quad"
    r" E[e e^\top 1_{\mathcal G}] = \tfrac1d E[1_{\mathcal G}] I",
    plain="A smaller event makes the norm of a mean smaller, and leaves items uniform.",
    broken={"norms": True, "larger": True},
    mended={"norms": True},
)
def indicators(budget, rng, *, norms=False, larger=False) -> Evidence:
    """Enumerate states at the edge of the event; norms: of E|X| in place of |E X|."""
    cases = []
    for d in (2, 4, 8, 16):
        for c in (1.0, 1.5, 2.0):
            state, limits = edge(d, c=c)
            walks = Walks(state, sequences(d, 1), _STEP)
            before, after, mean_before, mean_after = _means(walks, limits, 0)
            pair = (mean_after, mean_before) if norms else (after, before)
            told = _told(state, limits, _STEP)
            cases.append((*map(float, pair[::-1] if larger else pair), told))
    parts = [
        at_most(cases, name="E|X|" if norms else "|E X|"),
        readings(
            {"G of the steps before e": _products(0), "G that knows e": _products(1)},
            1e-12, name="E[ee' 1_G]",
        ),
    ]  # fmt: skip
    return combine(parts, f"{combine(parts).sentence}. E[ee' 1_G]: {parts[1].sentence}")


_C9_LATEX = (
    r"\max(a_{t,s}, b_{t,s}) \le 6\frac{\eta k^{3/2}\tau}{d} c^3\mu^{3/2}\sigma_1^{3/2}"
    r"\sqrt{\mathcal L(U_t, V_t)}\,1_{\mathcal G_{t,0}},\ s \le \tau; \quad a_{t,0} = b_{t,0} = 0"
)


def _starts(budget, rng):
    """Yield the deviations of a_0 and b_0 from 0 relative to the gradients, for both readings."""
    first, both = [], []
    for walks, limits in _random_walks(budget, rng, 1):
        in_U, in_V, _ = walks.drift(limits, 0)
        gradients = walks.state.measured[1:]
        size = max(np.linalg.norm(part) for part in gradients)
        error = max(np.linalg.norm(in_U), np.linalg.norm(in_V)) / size
        # Rounding of U V' - M*, which the gradients do not see.
        rounding = np.finfo(float).eps / np.sqrt(walks.state.loss)
        first.append((float(error / max(1.0, 1e4 * rounding)), walks.state.told()))
        both.append((walks.state.truth.d - 1.0 + float(error), walks.state.told()))
    return readings(
        {"d with the first term": first, "d with both": both}, 1e-10, name="a_0 = b_0 = 0"
    )


@claim(
    "perfedsi.lemmaC9",
    place="Lemma C.9, (53)",
    kind="deterministic inequality",
    latex=_C9_LATEX,
    plain="Local gradients drift by at most tau times what one step does.",
    broken={"d_power": 2.0},
)
def lemma_c9(budget, rng, *, factor=6.0, d_power=1.0) -> Evidence:
    """Follow the drift from s = 0 to tau; d_power is the power of 1/d."""
    cases = []
    for walks, limits in _random_walks(budget, rng, 5):
        right = factor * _unit(walks.state, limits, walks.step_size)
        right *= walks.steps / walks.state.truth.d ** (d_power - 1.0)
        for s in range(walks.steps + 1):
            value = float(_sizes(walks, limits, s).max())
            told = _told(walks.state, limits, walks.step_size, s=s, tau=walks.steps)
            cases.append((value / right, 1.0, told))
    limit = []
    for p, d in ((1, 8), (4, 8), (4, 64), (8, 16)):
        for family in (alike, aligned):
            state = family(p, d)
            walks = Walks(state, balanced(d, 5, budget(1, 8), rng), _STEP)
            limits = walks.limits()
            for s in range(1, 6):
                right = s * factor * _unit(state, limits, _STEP) / d ** (d_power - 1.0)
                value = float(_sizes(walks, limits, s).max())
                limit.append((value / right, 1.0, _told(state, limits, _STEP, s=s, tau=s)))
    state, steps = alike(4, 8), (1, 2, 3, 4, 5)
    walks = Walks(state, balanced(8, 5, budget(4, 64), rng), _STEP)
    along_s = [_sizes(walks, walks.limits(), s).max() for s in steps]
    along_d = []
    for d in _DIMENSIONS:
        walks = Walks(alike(4, d), balanced(d, 5, budget(1, 8), rng), _STEP)
        along_d.append(_sizes(walks, walks.limits(), 5).max())
    parts = [
        at_most(cases, name="random states"),
        at_most(limit, name="clients alike or along the truth"),
        _starts(budget, rng),
        _line("drift", "s", steps, along_s, 1.0),
        _line("drift", "d", _DIMENSIONS, along_d, -d_power, at_most=False),
    ]
    return combine(parts, f"{combine(parts).sentence}. a_0 = b_0 = 0: {parts[2].sentence}")


_C10: dict = {"place": "Lemma C.10, (54)-(55)", "kind": "deterministic inequality"}


def _sum_cases(walks, limits, tau_power, future):
    """Return left over right side, and the setting."""
    unit = _unit(walks.state, limits, walks.step_size)
    size, chance = walks.summed(limits, future=future)
    told = _told(walks.state, limits, walks.step_size, tau=walks.steps)
    return size / (10.0 * walks.steps**tau_power * unit), 1.0, {**told, "P(G)": chance}


def _at_the_edge(tau_power, future) -> Evidence:
    """Follow the smallest steps from a state at V's limit."""
    cases = []
    for d in (2, 8):
        for c in (1.0, 2.0):
            state, limits = edge(d, c=c)
            for step_size in (1e-1, 1e-2, 1e-3, 1e-4, 1e-5):
                walks = Walks(state, sequences(d, 1), step_size)
                cases.append(_sum_cases(walks, limits, tau_power, future))
    return at_most(cases, name="tau = 1, V at its limit")


def _lemma_c10(budget, rng, tau_power, future) -> Evidence:
    """Check random states, many steps and the edge of the event; and the arithmetic of (55)."""
    cases = [
        _sum_cases(walks, limits, tau_power, future)
        for walks, limits in _random_walks(budget, rng, 5)
    ]
    steps, values, long = (10, 20, 40, 80), [], []
    for tau in steps:
        walks = Walks(alike(4, 8), balanced(8, tau, budget(4, 32), rng), 1e-5)
        values.append(walks.summed(walks.limits(), future=False)[0])
        long.append(_sum_cases(walks, walks.limits(), tau_power, False))
    parts = [
        _at_the_edge(tau_power, future),
        at_most(cases, name="random states"),
        at_most(long, name="tau up to 80"),
        _line("sum", "tau", steps, values, tau_power),
        at_most([(6.0 * np.sqrt(2.0), 10.0, {})], name="sqrt(2) 6 <= 10"),
    ]
    return combine(parts, f"{combine(parts).sentence}. The sum grows like tau^"
                   f"{parts[3].measured:.2f}")  # fmt: skip


@claim(
    "perfedsi.lemmaC10",
    latex=r"\Big\|E_t\Big[\frac dM\sum_{s=0}^{\tau-1}\sum_m \nabla\hat{\mathcal L}_m(U_{t,m,s},"
    r" V_{t,m,s}, e_{t,m,s})1_{\mathcal G_{t,\tau}} - \tau\nabla\mathcal L 1_{\mathcal G_{t,\tau}}"
    r"\Big]\Big\|_F \le 10\frac{\eta k^{3/2}\tau^2}{d} c^3\mu^{3/2}\sigma_1^{3/2}\sqrt{\mathcal L}"
    r"1_{\mathcal G_{t,0}}",
    plain="Over a round the gradients, where it stays regular, drift by at most like eta tau^2.",
    broken={"tau_power": 1.0},
    mended={"future": False},
    **_C10,
)
def lemma_c10(budget, rng, *, tau_power=2.0, future=True) -> Evidence:
    """Enumerate the sum; with `future` its event is that of the whole round, as printed."""
    return _lemma_c10(budget, rng, tau_power, future)


@claim(
    "perfedsi.lemmaC10.corrected",
    latex=r"\Big\|\sum_{s=0}^{\tau-1}E_t\Big[\Big(\frac dM\sum_m \nabla\hat{\mathcal L}_m("
    r"U_{t,m,s}, V_{t,m,s}, e_{t,m,s}) - \nabla\mathcal L\Big)1_{\mathcal G_{t,s}}\Big]\Big\|_F"
    r" \le 10\frac{\eta k^{3/2}\tau^2}{d} c^3\mu^{3/2}\sigma_1^{3/2}\sqrt{\mathcal L}"
    r"1_{\mathcal G_{t,0}}",
    plain="The same, each step under the event of the steps before it.",
    broken={"tau_power": 1.0},
    corrects="perfedsi.lemmaC10",
    **_C10,
)
def lemma_c10_corrected(budget, rng, *, tau_power=2.0, future=False) -> Evidence:
    """Check it in the same way."""
    return _lemma_c10(budget, rng, tau_power, future)
